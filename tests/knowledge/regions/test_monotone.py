"""Monotone: the sign of a slope, everywhere."""

import warnings

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from priorsvm import RBF, Monotone, Polynomial, PriorSVC, check_knowledge
from priorsvm.errors import InvalidInput, MissingCapability

TIGHT = {"solver": "CLARABEL", "tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


@pytest.fixture(scope="module")
def falling():
    """Rows on which the plain model falls in column 0 and rises in column 1."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 2)) * [1.0, 10.0]
    return X, (-0.7 * X[:, 0] + 0.1 * X[:, 1] + 0.5 * rng.normal(size=60) > 0).astype(int)


def signed(X, y, signs, mu, width=1.0, norm="l2"):
    """sigma_j rho_j w_j >= -zeta_j with rho the range of column j."""
    w, b, xi = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(len(y), nonneg=True)
    inner = cp.multiply(np.broadcast_to(width, X.shape[1]), w)
    J = (0.5 * cp.sum_squares(inner) if norm == "l2" else cp.norm1(inner)) + cp.sum(xi)
    constraints = [cp.multiply(np.where(y == 1, 1.0, -1.0), X @ w + b) >= 1 - xi]
    for j, sign in signs.items():
        slope = sign * np.ptp(X[:, j]) * w[j]
        if np.isinf(mu):
            constraints.append(slope >= 0)
        else:
            J = J + mu * cp.pos(-slope)
    value = cp.Problem(cp.Minimize(J), constraints).solve(**TIGHT)
    return value, w.value


@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")  # both signs against the data
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize("signs", [{0: 1}, {1: -1}, {0: 1, 1: -1}, {0: -1, 1: 1}])
@pytest.mark.parametrize("mu", [0.3, np.inf])
def test_linear_models_fix_the_sign_of_a_weight(falling, signs, mu, scale, norm):
    X, y = falling
    hard = np.isinf(mu)
    model = PriorSVC(
        Monotone(signs, mu=1.0 if hard else mu, hard=hard, holds="everywhere"),
        scale=scale,
        norm=norm,
        tol=1e-9,
    ).fit(X, y)
    value, w = signed(X, y, signs, mu, X.std(axis=0) if scale else 1.0, norm)
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    if norm == "l2":
        np.testing.assert_allclose(model.coef_[0], w, atol=1e-5)
    if hard:
        assert all(s * model.coef_[0, j] > -1e-9 for j, s in signs.items())


@pytest.fixture(scope="module")
def bumpy():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, size=(20, 1))
    return X, (X[:, 0] + 0.8 * np.sin(6 * X[:, 0]) + 0.4 * rng.normal(size=20) > 0).astype(int)


def rises(model, Z, column, step=1e-4):
    """Slopes, by central differences."""
    up, down = Z.copy(), Z.copy()
    up[:, column] += step
    down[:, column] -= step
    return (model.decision_function(up) - model.decision_function(down)) / (2 * step)


@pytest.mark.parametrize("method", ["cuts", "guaranteed"])
@pytest.mark.parametrize("sign", [1, -1])
def test_one_column_everywhere(bumpy, method, sign):
    X, y = bumpy
    y = y if sign > 0 else 1 - y
    model = PriorSVC(Monotone({0: sign}, hard=True, method=method), kernel=RBF(2.0), C=5.0).fit(X, y)
    Z = np.linspace(X.min(), X.max(), 3001)[:, None]
    width = np.ptp(X)
    slopes = sign * width * rises(model, Z, 0)
    assert slopes.min() > (-1.2e-4 if method == "cuts" else -1e-6)
    plain = PriorSVC(kernel=RBF(2.0), C=5.0).fit(X, y)
    assert (sign * rises(plain, Z, 0)).min() < -1
    assert np.ptp(model.decision_function(X)) > 0.5
    assert model.verify().holds


def test_soft_pays_for_the_steepest_fall(bumpy):
    X, y = bumpy
    model = PriorSVC(Monotone({0: 1}, mu=0.2, holds="everywhere"), kernel=RBF(2.0), C=1.0).fit(X, y)
    Z = np.linspace(X.min(), X.max(), 401)[:, None]
    centres = np.vstack([X, Z[::4]])
    values, vectors = np.linalg.eigh(rbf_kernel(centres, gamma=2.0))
    kept = values > 1e-11
    basis = vectors[:, kept] / np.sqrt(values[kept])
    A = rbf_kernel(X, centres, gamma=2.0) @ basis
    D = (-4.0 * (Z - centres.T) * rbf_kernel(Z, centres, gamma=2.0)) @ basis
    w, b = cp.Variable(A.shape[1]), cp.Variable()
    J = 0.5 * cp.sum_squares(w) + cp.sum(cp.pos(1 - cp.multiply(np.where(y == 1, 1.0, -1.0), A @ w + b)))
    value = cp.Problem(cp.Minimize(J + 0.2 * cp.max(cp.pos(-np.ptp(X) * (D @ w))))).solve(solver="CLARABEL")
    assert model.objective_ == pytest.approx(value, rel=1e-3)


@pytest.fixture(scope="module")
def plane():
    rng = np.random.default_rng(6)
    X = rng.uniform(-1, 1, size=(15, 2)) * [1.0, 100.0]
    return X, (X[:, 0] + np.sin(X[:, 1] / 30) + 0.4 * rng.normal(size=15) > 0).astype(int)


@pytest.mark.parametrize(
    ("kernel", "method"),
    [
        (RBF(0.2), "cuts"),
        (Polynomial(3, gamma=0.5, coef0=1.0), "cuts"),
        pytest.param(RBF(0.2), "guaranteed", marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_two_columns_everywhere(plane, kernel, method):
    X, y = plane
    block = Monotone({0: 1, 1: -1}, hard=True, method=method)
    model = PriorSVC(block, kernel=kernel, scale="standard", C=3.0).fit(X, y)
    low, high = X.min(axis=0), X.max(axis=0)
    lines = [np.linspace(a, b, 61) for a, b in zip(low, high, strict=True)]
    Z = np.array(np.meshgrid(*lines)).reshape(2, -1).T
    slack = 1.5e-4 if method == "cuts" else 1e-5
    for column, sign in ((0, 1), (1, -1)):
        width = np.ptp(X[:, column])
        assert (sign * width * rises(model, Z, column, 1e-4 * width)).min() > -slack
    assert model.verify().holds
    assert np.ptp(model.decision_function(X)) > 0.2


def test_within_is_the_range_of_the_block(bumpy):
    X, y = bumpy
    model = PriorSVC(Monotone({0: 1}, hard=True, within={0: (0.0, 0.9)}), kernel=RBF(2.0), C=5.0).fit(X, y)
    inside = rises(model, np.linspace(0, 0.9, 500)[:, None], 0)
    beyond = rises(model, np.linspace(-1, -0.1, 500)[:, None], 0)
    assert inside.min() > -2e-4
    assert beyond.min() < -0.5
    one_end = PriorSVC(Monotone({0: 1}, hard=True, within={0: (None, 0.0)}), kernel=RBF(2.0), C=5.0).fit(X, y)
    assert rises(one_end, np.linspace(X.min(), 0.0, 500)[:, None], 0).min() > -2e-4


def test_label_is_the_class_whose_score_rises(falling):
    X, y = falling
    named = np.where(y == 1, "ill", "well")  # +1 is "well"
    for label, sign in ((None, 1), ("well", 1), ("ill", -1)):
        model = PriorSVC(Monotone({0: 1}, hard=True, label=label)).fit(X, named)
        assert sign * model.coef_[0, 0] > -1e-8
        opposite = PriorSVC(Monotone({0: -1}, hard=True, label=label)).fit(X, named)
        assert sign * opposite.coef_[0, 0] < 1e-8


@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
def test_applies_to_its_class_only(three):
    X, y = three
    plain = PriorSVC(solver="CLARABEL").fit(X, y)
    sign = -int(np.sign(plain.coef_[1, 0]))
    model = PriorSVC(Monotone({0: sign}, hard=True, label="b")).fit(X, y)
    assert sign * model.coef_[1, 0] > -1e-8
    np.testing.assert_allclose(model.coef_[[0, 2]], plain.coef_[[0, 2]], atol=1e-6)
    verdicts = {check.label: check.verdict for check in model.verify().checks}
    assert [verdicts[k].holds for k in "abc"] == [None, True, None]
    assert (verdicts["b"].proven, "b" in str(model.verify())) == (True, True)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["cuts", "guaranteed"])
@pytest.mark.parametrize("hard", [True, False])
def test_other_classes_of_a_kernel_model_do_not_change(three, method, hard):
    X, y = three
    X = X[:, :2]
    plain = PriorSVC(kernel=RBF(0.3), C=0.1).fit(X, y)
    block = Monotone({0: 1}, hard=hard, mu=1e-2, label="b", method=method, max_cells=4000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what a guarantee costs
        model = PriorSVC(block, kernel=RBF(0.3), C=0.1).fit(X, y)
    others = [0, 2]
    np.testing.assert_allclose(
        model.decision_function(X)[:, others], plain.decision_function(X)[:, others], atol=1e-4
    )


def test_columns_by_name(falling):
    X, y = falling
    frame = pd.DataFrame(X, columns=["age", "dose"])
    named = PriorSVC(Monotone({"age": 1}, hard=True)).fit(frame, y)
    np.testing.assert_allclose(named.coef_, PriorSVC(Monotone({0: 1}, hard=True)).fit(X, y).coef_, atol=1e-8)


def test_verify(falling, bumpy):
    X, y = falling
    model = PriorSVC(Monotone({0: 1}, mu=1e-3, holds="everywhere")).fit(X, y)
    verdict = model.verify()["monotone"]
    assert verdict.worst == pytest.approx(np.ptp(X[:, 0]) * model.coef_[0, 0])
    assert (verdict.holds, verdict.proven) == (False, True)
    X, y = bumpy
    model = PriorSVC(Monotone({0: 1}, mu=1e-3, holds="everywhere"), kernel=RBF(2.0)).fit(X, y)
    verdict = model.verify()["monotone"]
    slopes = np.ptp(X) * rises(model, np.linspace(X.min(), X.max(), 5001)[:, None], 0, 1e-6)
    assert verdict.worst == pytest.approx(slopes.min(), abs=1e-3)
    assert not verdict.holds
    at = np.ptp(X) * rises(model, verdict.where[None], 0, 1e-6)[0]
    assert at == pytest.approx(verdict.worst, abs=2e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": {}}, "features must be a dict of column to"),
        ({"features": {0: 2}}, r"direction of column 0 must be \+1 or -1, got 2"),
        ({"features": {7: 1}}, "there is no column 7"),
        ({"within": None}, "within must be 'data'"),
        ({"within": "rows"}, "within must be"),
        ({"within": {0: (50.0, None)}}, "within leaves nothing in column 0"),
        ({"method": "kernelised"}, "method must be one of"),
        ({"label": "ill"}, "label 'ill' is not among the classes"),
        ({"mu": -1}, "mu must be a nonnegative number"),
    ],
)
def test_bad_arguments_are_named(falling, arguments, message):
    with pytest.raises(InvalidInput, match="block 'monotone'.*" + message):
        PriorSVC(Monotone(**{"features": {0: 1}, **arguments})).fit(*falling)


def test_needs_a_label_beyond_two_classes(three):
    with pytest.raises(InvalidInput, match=r"'monotone'.*3 classes.*label=<class>"):
        PriorSVC(Monotone({0: 1})).fit(*three)


def test_needs_slopes(falling):
    with pytest.raises(MissingCapability, match="'monotone'"):
        PriorSVC(Monotone({0: 1}, holds="everywhere"), kernel="laplacian").fit(*falling)


def test_guaranteed_to_three_columns(rng):
    X = rng.normal(size=(20, 4))
    with pytest.raises(InvalidInput, match=r"practical to 3 dimensions, and there are 4\. Use method='cuts'"):
        PriorSVC(Monotone({0: 1}, method="guaranteed"), kernel="rbf").fit(X, np.arange(20) % 2)


def test_laws():
    assert "weight 0 disables the block" in check_knowledge(
        Monotone({0: -1, 1: 1}, mu=2.0, holds="everywhere"), kernels=("linear",)
    )


@pytest.mark.slow
@pytest.mark.parametrize("hard", [False, True])
def test_laws_of_kernel_models(hard):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 1))
    y = (np.abs(X[:, 0]) > 0.6).astype(int)
    assert "weight 0 disables the block" in check_knowledge(
        Monotone({0: 1}, hard=hard, holds="everywhere"), X, y, kernels=("rbf",)
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::priorsvm.errors.NotKept")
def test_points_of_several_directions_do_not_raise_the_norm_together():
    """Points that moved at once lowered the objective by 0.3 from round to round, and no fit ended."""
    X, y = load_breast_cancer(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(X))[:150]
    X = StandardScaler().fit_transform(X[chosen, :10])
    block = Monotone({0: 1, 1: 1, 4: 1, 6: 1}, hard=True)
    model = PriorSVC(block, kernel="rbf", max_rounds=18)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, 1 - y[chosen])
    objectives = [entry["objective"] for entry in model.history_]
    assert np.diff(objectives).min() > -1e-6
