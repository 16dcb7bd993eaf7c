"""Sparse rows with more columns than rows: conjugate gradients against LIBSVM on the dense inner products."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from priorsvm import PriorSVC

from .measure import Array, Row, interleaved, refuse_trivial, same


def texts(n: int, d: int, words: int = 50) -> tuple[Any, Array]:
    """Rows of word counts, rare words weighing more, of length one; a twentieth of the labels wrong.

    Words are as frequent as in natural language, and each is a little more frequent in one of the classes.
    """
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    often, tilt = 1.0 / (np.arange(d) + 10.0), 0.3 * rng.normal(size=d)
    word = np.empty((n, words), int)
    for sign in (1.0, -1.0):
        up_to = np.cumsum(often * np.exp(sign * tilt))
        drawn = rng.random((np.count_nonzero(y == sign), words)) * up_to[-1]
        word[y == sign] = np.searchsorted(up_to, drawn)
    row = np.repeat(np.arange(n), words)
    X = csr_array((np.ones(n * words), (row, np.minimum(word, d - 1).ravel())), (n, d))
    X.sum_duplicates()
    X = csr_array(X @ diags_array(np.log(n / (1.0 + np.bincount(X.indices, minlength=d)) + 1.0)))
    X = csr_array(diags_array(1.0 / np.sqrt(X.multiply(X).sum(axis=1))) @ X)
    return X, np.where(rng.random(n) < 0.05, -y, y)


def engine_sparse(quick: bool) -> Iterator[Row]:
    """Plain linear models, both brought to the exact answer."""
    for n, C in ((500, 1.0),) if quick else ((2000, 1.0), (5000, 1.0), (5000, 100.0)):
        X, y = texts(n, 10 * n)
        ours, peer = (PriorSVC(C=C, solver=solver) for solver in ("auto", "LIBSVM"))
        fits = partial(ours.fit, X, y), partial(peer.fit, X, y)
        timing, found, other = interleaved(*fits, least=3, most=9, seconds=15.0)
        refuse_trivial(found.objective_, float(np.abs(found.coef_).sum()), y, np.full(n, C))
        gap = same((found.objective_ - other.objective_) / other.objective_)
        note = f"{found.solver_}, {found.report_.solves[0]['iterations']} steps"
        work = f"{n} sparse rows of {10 * n} columns, C = {C:g}"
        yield Row.of("engine_sparse", work, "LIBSVM, precomputed", timing, 0.3, "P", gap, note)
