"""Weighted and virtual-sample kernel models against scikit-learn's SVC on the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from priorsvm import RBF, ClassCosts, PriorSVC, Translation, VirtualSamples

from .measure import Array, Row, dual_objective, interleaved, refuse_trivial, same

SIZES = (500, 1000, 2000, 4000)
TOLERANCES = (1e-3, 1e-6)
TARGET = 1.1
CACHE = 500  # MB of kernel cache, what priorsvm gives LIBSVM


def weighted(quick: bool) -> Iterator[Row]:
    """A cost per class. Noisy: at C = 1 most support vectors are at their bound, at C = 100 none is.

    Separated: few support vectors, so that LIBSVM has little to do and whatever is around it shows.
    """
    costs = {0: 1.0, 1: 3.0}
    for n in SIZES[:1] if quick else SIZES:
        for kind, C in (("noisy", 1.0), ("noisy", 100.0), ("separated", 1.0)):
            X, labels = _clusters(n, kind)
            gamma = 1 / (X.shape[1] * X.var())
            y = np.where(labels == 1, 1.0, -1.0)
            bound = C * np.where(y > 0, costs[1], costs[0])
            for tol in TOLERANCES:
                ours = PriorSVC(ClassCosts(costs), C=C, kernel=RBF(gamma), tol=tol)
                peer = SVC(C=C, gamma=gamma, class_weight=costs, tol=tol, cache_size=CACHE)
                yield _row(
                    "weighted",
                    f"ClassCosts, {kind}, C={C:g}, tol={tol:.0e}, N={n}",
                    "SVC(class_weight)",
                    partial(ours.fit, X, labels),
                    partial(peer.fit, X, labels),
                    (X, y, bound, gamma),
                    quick,
                )


def _clusters(n: int, kind: str) -> tuple[Array, Array]:
    how = {
        "noisy": {"n_clusters_per_class": 4, "flip_y": 0.05},
        "separated": {"n_clusters_per_class": 1, "flip_y": 0.0, "class_sep": 3.0},
    }[kind]
    return make_classification(n, 20, n_informative=8, n_redundant=0, weights=[0.7], random_state=0, **how)


def virtual(quick: bool) -> Iterator[Row]:
    """Digits 0–4 against 5–9 with 5 % wrong labels, moved by one pixel; N counts originals and copies."""
    C, cost = 10.0, 0.5
    moves = Translation((8, 8), pixels=1, fill=0.0)
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    images, classes = digits.data[order] / 16.0, (digits.target[order] > 4).astype(int)
    classes[::20] = 1 - classes[::20]
    for n in SIZES[:1] if quick else SIZES:
        X, labels = images[: n // 5], classes[: n // 5]
        orbit = moves.orbit(X)
        copies = orbit[:, 1:].reshape(-1, 64)
        rows = np.vstack([X, copies])
        all_labels = np.concatenate([labels, np.repeat(labels, 4)])
        weight = np.concatenate([np.ones(len(X)), np.full(len(copies), cost)])
        y = np.where(all_labels == 1, 1.0, -1.0)
        gamma = 1 / (64 * rows.var())
        for tol in TOLERANCES:
            ours = PriorSVC(VirtualSamples(moves, cost), C=C, kernel=RBF(gamma), tol=tol)
            peer = SVC(C=C, gamma=gamma, tol=tol, cache_size=CACHE)
            yield _row(
                "virtual",
                f"VirtualSamples, RBF, C={C:g}, tol={tol:.0e}, N={n}",
                "SVC(sample_weight)",
                partial(ours.fit, X, labels),
                partial(peer.fit, rows, all_labels, sample_weight=weight),
                (rows, y, C * weight, gamma),
                quick,
            )


def _row(
    name: str,
    work: str,
    peer: str,
    fit_ours: Callable[[], Any],
    fit_peer: Callable[[], Any],
    problem: tuple[Array, Array, Array, float],
    quick: bool,
) -> Row:
    X, y, bound, gamma = problem
    timing, ours, svc = interleaved(fit_ours, fit_peer, least=5 if quick else 7, seconds=0.5 if quick else 3)
    binary = ours._models[0]
    if not np.array_equal(binary.sample.X, X) or binary.outcome.solver != "LIBSVM":
        raise ArithmeticError("PriorSVC did not solve these rows by LIBSVM")
    K = rbf_kernel(X, gamma=gamma)
    alpha = np.zeros(len(y))
    alpha[svc.support_] = np.abs(svc.dual_coef_[0])
    D, D_peer = (dual_objective(K, y, a, bound) for a in (binary.alpha, alpha))
    refuse_trivial(D, binary.alpha.sum() - D, y, bound)
    note = f"{len(svc.support_)} SVs"
    return Row.of(name, work, peer, timing, TARGET, "D", same((D_peer - D) / D_peer), note)
