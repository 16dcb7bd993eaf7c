"""The 1-norm model: column generation over centres against HiGHS on the dual linear programme.

With rules: SCHUR and HiGHS from its answer, against HiGHS alone on the same problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.datasets import load_digits, make_classification

from priorsvm import RBF, Box, Monotone, PriorSVC, Region

from .measure import Array, Row, finite, interleaved, refuse_trivial, same


def overlapping(n: int) -> tuple[Array, Array, float, float]:
    """Rows, signs, gamma and C: twenty columns of which eight tell, a twentieth of the labels wrong."""
    X, label = make_classification(n, 20, n_informative=8, flip_y=0.05, class_sep=0.7, random_state=0)
    return X, np.where(label == 1, 1.0, -1.0), 0.05, 1.0


def odd_digits(n: int) -> tuple[Array, Array, float, float]:
    """Even against odd digits with noise, so that no two are alike, a twentieth of the labels wrong."""
    X, digit = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    kept = rng.integers(0, len(X), n)
    sign = np.where(digit[kept] % 2 == 0, 1.0, -1.0) * np.where(rng.random(n) < 0.05, -1.0, 1.0)
    return X[kept] / 16 + 0.05 * rng.normal(size=(n, X.shape[1])), sign, 0.1, 10.0


def dual_by_highs(X: Array, y: Array, gamma: float, C: float) -> float:
    """max Σα with -1 ≤ K(yα) ≤ 1, y'α = 0, 0 ≤ α ≤ C by the dual simplex method, kernel matrix and all."""
    import highspy

    n = len(y)
    rows = np.vstack([RBF(gamma)(X) * y, y])
    programme = highspy.HighsLp()
    programme.num_col_, programme.num_row_ = n, n + 1
    programme.col_cost_, programme.col_lower_, programme.col_upper_ = -np.ones(n), np.zeros(n), np.full(n, C)
    programme.row_lower_, programme.row_upper_ = np.append(-np.ones(n), 0.0), np.append(np.ones(n), 0.0)
    matrix = programme.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kColwise
    matrix.start_, matrix.index_ = np.arange(n + 1) * (n + 1), np.tile(np.arange(n + 1), n)
    matrix.value_ = np.ravel(rows, order="F")
    solver = highspy.Highs()
    for option, value in {"output_flag": False, "solver": "simplex", "simplex_strategy": 1}.items():
        solver.setOptionValue(option, value)
    solver.passModel(programme)
    solver.run()
    return finite(-solver.getInfo().objective_function_value)


def lp_models(quick: bool) -> Iterator[Row]:
    """RBF models with norm="l1"; fit as a whole, against HiGHS without anything around it."""
    n = 200 if quick else 1000
    for name, made in (("overlapping", overlapping), ("digits", odd_digits)):
        X, y, gamma, C = made(n)
        ours = PriorSVC(C=C, kernel=RBF(gamma), norm="l1", solver="CENTRES")
        fits = partial(ours.fit, X, y), partial(dual_by_highs, X, y, gamma, C)
        timing, found, least = interleaved(*fits, least=3, most=9, seconds=10.0)
        weights = found.dual_coef_[0]
        refuse_trivial(found.objective_, float(np.abs(weights).sum()), y, np.full(n, C))
        gap = same((found.objective_ - least) / least)
        note = f"{found.report_.solves[0]['iterations']} steps, {len(weights)} of {n} centres"
        work = f"{name}, N = {n}, RBF, C = {C:g}, norm l1"
        yield Row.of("engine_lp", work, "HiGHS, dual simplex", timing, 0.5, "P", gap, note)


def lp_rules(quick: bool) -> Iterator[Row]:
    """Models with norm="l1" and a rule: what "auto" does against HiGHS, which has been its choice."""
    share = 5 if quick else 1
    box = {0: (1.0, 2.0), 1: (0.0, 1.0)}
    X, y, gamma, C = overlapping(1000 // share)
    at = X[:: len(X) // 100]
    rbf = {"kernel": RBF(gamma), "C": C}
    made = (
        ("linear, box", Box(box, label=1.0, mu=1 / C, holds="everywhere"), {"C": C}, 10_000 // share),
        ("linear, monotone", Monotone({0: +1}, mu=1 / C, holds="everywhere"), {"C": C}, 10_000 // share),
        ("RBF, box of 256 points", Box(box, label=1.0, mu=1 / C, method="points"), rbf, 500 // share),
        ("RBF, box by cuts", Box(box, label=1.0, mu=1 / C, holds="everywhere"), rbf, 500 // share),
        ("RBF, region of points", Region(_left, at, label=1.0, mu=1 / C), rbf, 1000 // share),
    )
    for name, prior, parameters, n in made:
        X, y, *_ = overlapping(n)
        ours, alone = (
            PriorSVC(prior, norm="l1", solver=solver, **parameters) for solver in ("auto", "HIGHS")
        )
        fits = partial(ours.fit, X, y), partial(alone.fit, X, y)
        timing, found, other = interleaved(*fits, least=3, most=5, seconds=20.0)
        weights, others = (_coefficients(model) for model in (found, other))
        refuse_trivial(found.objective_, float(np.abs(weights).sum()), y, np.full(n, C))
        gap = same((found.objective_ - other.objective_) / other.objective_)
        counts = " and ".join(str(np.count_nonzero(c)) for c in (weights, others))
        note = f"from {found.report_.solves[0]['start'] or 'nowhere'}; {counts} coefficients"
        yield Row.of(
            "engine_lp_rules", f"{name}, N = {n}, norm l1", "HiGHS alone", timing, 0.6, "P", gap, note
        )


def _left(Z: Array) -> Array:
    """Negative where the first column is above 1."""
    return 1.0 - np.atleast_2d(Z)[:, :1]


def _coefficients(model: PriorSVC) -> Array:
    return np.asarray(model.coef_[0] if model.kernel == "linear" else model.dual_coef_[0])
