"""Models without blocks, to a relative gap of 1e-6, against scikit-learn at its usual tolerances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from sklearn.datasets import make_classification, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from priorsvm import RBF, PriorSVC, load_usps
from priorsvm.errors import DataNotFound

from .measure import Array, Row, finite, interleaved, primal_objective, refuse_trivial

SIZES = (1000, 2000, 4000)
COSTS = (1.0, 10.0, 100.0)
CACHE = 500  # MB of kernel cache, what priorsvm gives LIBSVM
WANTED = 1e-6


def engine_plain(quick: bool) -> Iterator[Row]:
    """RBF models; SVC computes its own kernel (rbf), and the matrix counts for both."""
    for n in SIZES[:1] if quick else SIZES:
        for family in ("clusters", "moons", "board"):
            for C in COSTS:
                yield _kernel_row("engine_plain", family, n, C, 1.5, quick)


def engine_large_c(quick: bool) -> Iterator[Row]:
    """C = 1e4, where LIBSVM takes hundreds of iterations per row on kernels of low rank."""
    for family in ("wide", "five", "board", "moons", "spirals", "clean board", "clusters", "usps"):
        try:
            yield _kernel_row("engine_large_c", family, 500 if quick else 2000, 1e4, None, quick)
        except DataNotFound:
            continue


def _kernel_row(name: str, family: str, n: int, C: float, target: float | None, quick: bool) -> Row:
    X, labels, gamma = FAMILIES[family](n)
    y, bound = np.where(labels == 1, 1.0, -1.0), np.full(len(labels), C)
    ours, peer = PriorSVC(C=C, kernel=RBF(gamma)), SVC(C=C, gamma=gamma, tol=1e-3, cache_size=CACHE)
    least = 1 if quick else 3
    timing, fitted, svc = interleaved(partial(ours.fit, X, labels), partial(peer.fit, X, labels), least=least)
    K = rbf_kernel(X, gamma=gamma)
    alpha = fitted._models[0].alpha
    gap, half, primal = _gap(alpha, y, bound, fitted.decision_function(X), lambda a: K @ (a * y))
    refuse_trivial(primal, half, y, bound)
    of_svc = np.zeros(len(y))
    of_svc[svc.support_] = np.abs(svc.dual_coef_[0])
    theirs = _gap(of_svc, y, bound, svc.decision_function(X), lambda a: K @ (a * y), wanted=np.inf)[0]
    if target is None:
        target = 0.5 if fitted.solver_ == "NORMAL" else 1.5
    note = f"{fitted.solver_}, {len(svc.support_)} SVs, SVC P {theirs:.0e}"
    return Row.of(name, f"{family}, C={C:g}, N={len(y)}", "SVC rbf 1e-3", timing, target, "P", gap, note)


def _gap(
    alpha: Array,
    y: Array,
    bound: Array,
    scores: Array,
    inner: Callable[[Array], Array],
    wanted: float = WANTED,
) -> tuple[float, float, float]:
    """(P - D) / P with D of multipliers within their bounds, half the squared norm, and P."""
    half = 0.5 * float((alpha * y) @ inner(alpha))
    primal = primal_objective(half, scores, y, bound)
    gap = finite((primal - (alpha.sum() - half)) / primal)
    if not gap <= wanted:
        raise ArithmeticError(f"the gap is {gap:.1e}, and {wanted:.0e} was asked for")
    return gap, half, primal


def _scaled(X: Array, labels: Array, factor: float = 1.0) -> tuple[Array, Array, float]:
    return X, labels, factor / (X.shape[1] * X.var())


def _clusters(n: int) -> tuple[Array, Array, float]:
    return _scaled(
        *make_classification(
            n, 20, n_informative=8, n_redundant=0, n_clusters_per_class=4, flip_y=0.05, random_state=0
        )
    )


def _wide(n: int) -> tuple[Array, Array, float]:
    """The same rows under a kernel ten times as wide, which is ill-conditioned."""
    X, labels, gamma = _clusters(n)
    return X, labels, 0.1 * gamma


def _five(n: int) -> tuple[Array, Array, float]:
    return _scaled(*make_classification(n, 5, n_informative=4, n_redundant=0, flip_y=0.05, random_state=0))


def _moons(n: int) -> tuple[Array, Array, float]:
    return *make_moons(n, noise=0.25, random_state=0), 1.0


def _board(n: int, noise: float = 0.05) -> tuple[Array, Array, float]:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, (n, 2))
    return X, _flipped(np.floor(X).sum(axis=1) % 2, noise, rng), 1.0


def _clean_board(n: int) -> tuple[Array, Array, float]:
    return _board(n, 0.0)


def _spirals(n: int) -> tuple[Array, Array, float]:
    rng = np.random.default_rng(0)
    t, labels = np.sqrt(rng.uniform(0.05, 1, n)) * 3 * np.pi, rng.integers(0, 2, n)
    turned = t + np.pi * labels
    X = np.column_stack([t * np.cos(turned), t * np.sin(turned)]) / 5
    return X + rng.normal(0, 0.08, (n, 2)), labels, 2.0


def _usps(n: int) -> tuple[Array, Array, float]:
    """Digits 0-4 against 5-9 with 5 % wrong labels."""
    usps, rng = load_usps(), np.random.default_rng(0)
    rows = rng.permutation(len(usps.y_train))[:n]
    return _scaled(usps.X_train[rows], _flipped(usps.y_train[rows] > 4, 0.05, rng))


def _flipped(labels: Array, noise: float, rng: np.random.Generator) -> Array:
    labels = labels.astype(int)
    wrong = rng.random(len(labels)) < noise
    return np.where(wrong, 1 - labels, labels)


FAMILIES: dict[str, Callable[[int], tuple[Array, Array, float]]] = {
    "clusters": _clusters,
    "wide": _wide,
    "five": _five,
    "moons": _moons,
    "board": _board,
    "clean board": _clean_board,
    "spirals": _spirals,
    "usps": _usps,
}
