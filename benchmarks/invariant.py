"""The invariant loss: column generation against the whole orbit in one problem."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.sparse import random_array
from sklearn.datasets import load_digits

from priorsvm import RBF, FeatureDeletion, InvariantLoss, PriorSVC, Translation
from priorsvm.datasets import load_usps
from priorsvm.errors import DataNotFound

from .measure import Array, Row, finite, interleaved, refuse_trivial, same

C = 10.0


def threes_and_eights(quick: bool) -> tuple[Array, Array, int, float]:
    """Images from -1 to 1, their digits, the length of a side and gamma: 200 of USPS, or 40 small ones."""
    if quick:
        X, digit = load_digits(return_X_y=True)
        X, side, gamma, n = X / 8 - 1, 8, 1 / 32, 40
    else:
        usps = load_usps()
        X, digit, side, gamma, n = usps.X_train, usps.y_train, 16, 1 / 128, 200
    kept = np.flatnonzero(np.isin(digit, (3, 8)))[:n]
    return X[kept], digit[kept], side, gamma


def worst_case(model: PriorSVC, orbit: Array, digit: Array) -> tuple[float, float]:
    """½‖f‖² + C Σ max over the orbit [1 − y f]₊ of the fitted f, and ½‖f‖²."""
    weights = model.dual_coef_[0]
    half = 0.5 * float(weights @ model.kernel(model.centres_) @ weights)
    y = np.where(digit == model.classes_[1], 1.0, -1.0)
    n, s, d = orbit.shape
    scores = model.decision_function(orbit.reshape(n * s, d)).reshape(n, s)
    slack = np.maximum(1 - y[:, None] * scores, 0.0).max(axis=1)
    return finite(half + C * slack.sum()), half


def invariant(quick: bool) -> Iterator[Row]:
    """Images that are shifted, RBF kernel."""
    try:
        X, digit, side, gamma = threes_and_eights(quick)
    except DataNotFound as error:
        print(f"invariant: skipped, {error}\n")
        return
    y = np.where(digit == 8, 1.0, -1.0)
    for pixels, target, solvers in ((1, 0.5, ("COLUMNS", "CLARABEL")), (2, 0.3, ("COLUMNS",))):
        shift = Translation((side, side), pixels=pixels, grid="full")
        orbit = shift.orbit(X)
        work = f"{len(X)} digits, {orbit.shape[1]} translations, RBF"
        svm = partial(PriorSVC, C=C, kernel=RBF(gamma))
        ours = svm(InvariantLoss(shift, method="columns"), solver="COLUMNS")
        for solver in solvers:
            peer = svm(InvariantLoss(shift, method="all"), solver=solver)
            fits = partial(ours.fit, X, digit), partial(peer.fit, X, digit)
            timing, found, whole = interleaved(*fits, least=3, most=9, seconds=10.0)
            (value, half), (least, _) = (worst_case(model, orbit, digit) for model in (found, whole))
            refuse_trivial(value, half, y, np.full(len(y), C))
            gap = same((value - least) / least)
            last = found.history_[-1]
            note = (
                f"{last['round']} rounds, {last['columns']} of {orbit.shape[0] * (orbit.shape[1] - 1)} moves"
            )
            name = "whole orbit" if solver == "COLUMNS" else "whole orbit, CVXPY"
            bar = target if solver == "COLUMNS" else 0.1
            yield Row.of("invariant", work, name, timing, bar, "P", gap, note)


def deletion(quick: bool) -> Iterator[Row]:
    """The worst deletions of sparse rows, against the products with the rows that any round has."""
    n, d, k = (200, 2000, 5) if quick else (2000, 20_000, 5)
    rng = np.random.default_rng(0)
    X = random_array((n, d), density=140 / d if quick else 0.007, rng=rng, format="csr")
    X.sum_duplicates()  # as fit does, once
    w, y = rng.normal(size=d), rng.choice([-1.0, 1.0], n)
    moves, alpha = FeatureDeletion(k), np.abs(rng.normal(size=n))

    def products() -> tuple[Array, Array]:
        return X @ w, X.T @ (alpha * y)

    timing, moved, (scores, _) = interleaved(partial(moves.worst, X, w, y), products)
    gains = np.maximum(y[:, None] * X.toarray() * w, 0.0)
    most = np.sort(gains, axis=1)[:, -k:].sum(axis=1)
    gap = same(float(np.abs(y * scores - y * (moved @ w) - most).max() / most.max()))
    work = f"{n} x {d}, {X.nnz} entries, {k} deleted"
    yield Row.of("deletion", work, "X w and X'a", timing, 3.0, "P", gap, "one oracle of all rows")
