"""Blocks that ask for the margin at the worst a row may be, together and with others, in one problem."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from scipy.stats import norm

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    Ellipsoid,
    FromFunction,
    MissingValues,
    Polyhedron,
    Prior,
    PriorSVC,
    Shift,
    Trajectories,
    UncertainSamples,
    check_knowledge,
)
from priorsvm.function.fitted import FittedLinear
from priorsvm.knowledge.views import Solved
from priorsvm.sample import Sample

pytestmark = pytest.mark.slow  # all of them run in `make test`

TIGHT = {"solver": "CLARABEL", "tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
GAMMA = norm.ppf(0.9)
COVARIANCE = np.array([[0.01, 0.005, 0.0], [0.005, 0.02, 0.0], [0.0, 0.0, 0.04]])
# x0 + x1 >= 4 and |x2| <= 1, x0 <= 5, x1 <= 5: a polyhedron of class 1.
B = np.array([[-1.0, -1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1]])
D = np.array([-4.0, 5, 5, 1, 1])


def turn(X, angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.column_stack([c * X[:, 0] - s * X[:, 1], s * X[:, 0] + c * X[:, 1], X[:, 2]])


TURNS = FromFunction(turn, [-0.4, 0.4])


def signs(y):
    return np.where(y == 1, 1.0, -1.0)


@pytest.fixture(scope="module")
def data():
    """Two classes at different distances from the origin: 40 rows of 3 columns, not quite separable."""
    rng = np.random.default_rng(6)
    y = np.tile([0, 1], 20)
    X = 0.6 * rng.normal(size=(40, 3))
    X[:, 0] += 2.0 + 0.9 * signs(y)
    return X, y


def everything():
    return (
        UncertainSamples(COVARIANCE)
        + Trajectories(TURNS)
        + Polyhedron(B, D, label=1, mu=0.35, holds="everywhere")
        + ClassCosts({0: 1.0, 1: 3.0})
    )


class Own:
    """The literal problem, row by row."""

    def __init__(self, X, y, C=2.0, cost=1.0, loss="hinge", width=1.0):
        self.X, self.y, n, d = X, signs(y), *X.shape
        self.w, self.b, self.xi = cp.Variable(d), cp.Variable(), cp.Variable(n, nonneg=True)
        paid = self.xi if loss == "hinge" else cp.square(self.xi)
        inner = cp.multiply(np.broadcast_to(width, d), self.w)
        self.objective = 0.5 * cp.sum_squares(inner) + C * (np.broadcast_to(cost, n) @ paid)
        self.constraints = [self.y[i] * (X[i] @ self.w + self.b) >= 1 - self.xi[i] for i in range(n)]

    def uncertain(self, factors, gamma=GAMMA):
        """y f(x) - gamma |A'w| >= 1 - xi, with A of every row."""
        for i, A in enumerate(factors):
            lowest = self.y[i] * (self.X[i] @ self.w + self.b) - gamma * cp.norm(A.T @ self.w)
            self.constraints.append(lowest >= 1 - self.xi[i])
        return self

    def curved(self, low, high):
        """The parabola through low, x and high is above the margin: Nesterov's 3x3 matrix."""
        for i in range(len(self.y)):
            first, second = (high[i] - low[i]) / 2, (high[i] + low[i]) / 2 - self.X[i]
            p0 = self.y[i] * (self.X[i] @ self.w + self.b) - 1 + self.xi[i]
            p1, p2 = self.y[i] * (first @ self.w), self.y[i] * (second @ self.w)
            G = cp.Variable((3, 3), PSD=True)
            self.constraints += [
                G[0, 0] == p0 - p1 + p2,
                2 * G[0, 2] + G[1, 1] == 2 * (p0 - p2),
                G[2, 2] == p0 + p1 + p2,
                G[0, 1] == 0,
                G[1, 2] == 0,
            ]
        return self

    def polyhedron(self, mu):
        """f >= 1 - zeta wherever Bx <= D, by duality."""
        u, zeta = cp.Variable(len(D), nonneg=True), cp.Variable(nonneg=True)
        self.constraints += [B.T @ u + self.w == 0, D @ u - self.b + 1 <= zeta]
        self.objective = self.objective + mu * zeta
        return self

    def solve(self):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")  # than 1e-11, that is
            value = cp.Problem(cp.Minimize(self.objective), self.constraints).solve(**TIGHT)
        return float(value), self.w.value, float(self.b.value)


@pytest.mark.parametrize(("loss", "scale"), [("hinge", None), ("hinge", "standard"), ("squared_hinge", None)])
def test_all_together_are_the_literal_problem(data, loss, scale):
    X, y = data
    model = PriorSVC(everything(), C=2.0, loss=loss, scale=scale, tol=1e-9).fit(X, y)
    width = 1.0 if scale is None else X.std(axis=0)
    own = Own(X, y, cost=np.where(y == 1, 3.0, 1.0), loss=loss, width=width)
    own.uncertain([np.linalg.cholesky(COVARIANCE)] * 40)
    value, w, b = own.curved(turn(X, -0.4), turn(X, 0.4)).polyhedron(0.7).solve()
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(model.coef_[0], w, atol=5e-5)
    assert model.intercept_[0] == pytest.approx(b, abs=5e-5)


@pytest.mark.slow
def test_each_of_them_matters(data):
    X, y = data
    values = [PriorSVC(everything(), C=2.0).fit(X, y).objective_]
    for left_out in everything().names:
        rest = Prior([(name, block) for name, block in everything().blocks if name != left_out])
        values.append(PriorSVC(rest, C=2.0).fit(X, y).objective_)
    assert max(values[1:]) < values[0] - 1e-3


@pytest.mark.slow
def test_rows_given_to_fit_reach_their_blocks(data):
    X, y = data
    rng = np.random.default_rng(0)
    factors = 0.15 * rng.normal(size=(40, 3, 2))
    path = np.stack([X, 0.2 * rng.normal(size=(40, 3)), 0.1 * rng.normal(size=(40, 3))], axis=1)
    prior = UncertainSamples() + Trajectories(span=(-1, 1))
    rows = {"uncertain_samples__factor": factors, "trajectories__coefficients": path}
    model = PriorSVC(prior, C=2.0, tol=1e-9).fit(X, y, **rows)
    own = Own(X, y).uncertain(factors).curved(path[:, 0] - path[:, 1] + path[:, 2], path.sum(axis=1))
    value, w, _ = own.solve()
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-5)


def test_the_report_counts_every_block_once(data):
    X, y = data
    model = PriorSVC(everything(), C=2.0).fit(X, y)
    names = {row.block for row in model.report_.rows}
    assert names == {"svm", "uncertain_samples", "trajectories", "polyhedron", "class_costs"}
    total = sum(row.contribution for row in model.report_.rows)
    assert total == pytest.approx(model.objective_, rel=1e-9)
    assert float(model.problem.value) == pytest.approx(model.objective_, rel=1e-6)
    text = str(model.report_)
    for name in ("uncertain_samples", "trajectories"):
        assert f"{name}: {model.findings_[name]}" in text
    assert "of its polynomial along every trajectory" in text


@pytest.mark.slow
def test_they_verify_and_a_tampered_f_does_not(data):
    X, y = data
    model = PriorSVC(everything(), C=2.0, tol=1e-8).fit(X, y)
    checks = {check.block: check.verdict for check in model.verify().checks}
    assert checks["uncertain_samples"].holds
    assert checks["uncertain_samples"].proven
    assert checks["trajectories"].holds
    assert not checks["trajectories"].proven
    assert checks["class_costs"].holds is None
    # By hand: the lowest value of every row, over its ellipsoid and along its curve.
    w, b = model.coef_[0], model.intercept_[0]
    [xi] = [variable.value for variable in model.problem.variables() if variable.name() == "xi"]
    slack = np.maximum(xi, 1 - signs(y) * (X @ w + b))
    lowest = signs(y) * (X @ w + b) - GAMMA * np.sqrt(w @ COVARIANCE @ w)
    assert checks["uncertain_samples"].worst == pytest.approx((lowest - 1 + slack).min(), abs=1e-9)
    curve = [signs(y) * (turn(X, t) @ w + b) - 1 + slack for t in np.linspace(-0.4, 0.4, 1001)]
    assert checks["trajectories"].worst == pytest.approx(np.min(curve), abs=1e-3)
    # The slack covers neither block for a bias that is lower by 0.3.
    sample = Sample.training(X, y, model.classes_, 1)
    for name in ("uncertain_samples", "trajectories"):
        block = everything()[name]
        for shift in (0.0, 0.3):
            view = Solved(name, sample, block.start(sample), np.arange(40), slack, tol=1e-5)
            assert block.verify(FittedLinear(b - shift, w), view).holds == (shift == 0)


def test_the_formulation_has_all_of_them(data):
    X, y = data
    told = PriorSVC(everything(), C=2.0).fit(X, y).formulation()
    labels = [label for label, _, _ in told.constraints]
    for label in ("svm.margin", "uncertain_samples.margin", "uncertain_samples.cone", "trajectories.cone"):
        assert label in labels
    assert any(label.startswith("polyhedron.") for label in labels)
    text = str(told).replace(r", \\ & ", r",\; ")  # long lines are broken
    assert Trajectories.formulas.latex["cone"] in text
    assert UncertainSamples.formulas.latex["margin"] in text
    assert r"\mu_{\mathrm{polyhedron}} = 0.35" in text
    assert r"J_{\mathrm{" not in text


@pytest.mark.slow
def test_on_a_kernel_model_too(data):
    X, y = data[0][:24], data[1][:24]
    prior = (
        UncertainSamples(0.1 * COVARIANCE)
        + Trajectories(TURNS)
        + Polyhedron(B, D, label=1, mu=0.35, holds="everywhere")
        + ClassCosts({0: 1.0, 1: 3.0})
    )
    model = PriorSVC(prior, C=2.0, kernel=RBF(gamma=0.2)).fit(X, y)
    assert model.score(X, y) > 0.85
    checks = {check.block: check.verdict for check in model.verify().checks}
    assert checks["trajectories"].holds
    assert model.findings_["trajectories"].errors.max() < 0.01
    assert {"uncertain_samples", "trajectories"} <= model.findings_.keys()
    total = sum(row.contribution for row in model.report_.rows)
    assert total == pytest.approx(model.objective_, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["uncertain_samples", "trajectories", "polyhedron", "class_costs"])
def test_each_obeys_the_laws_on_these_data(data, name):
    X, y = data
    kernels = ("linear",) if name == "polyhedron" else ("linear", RBF(gamma=0.2))
    assert "the problem is DPP" in check_knowledge(everything()[name], X, y, kernels=kernels)


@pytest.mark.slow
def test_with_missing_values(data):
    X, y = data
    gaps = np.random.default_rng(1).uniform(size=X.shape) < 0.15
    gaps[:, 0] = False
    holes = np.where(gaps, np.nan, X)
    prior = (
        MissingValues()
        + Trajectories(TURNS)
        + Polyhedron(B, D, label=1, mu=0.35, holds="everywhere")
        + ClassCosts({1: 3.0})
    )
    model = PriorSVC(prior, C=2.0, tol=1e-9).fit(holes, y)
    completed = MissingValues().complete(holes, y, np.ones(40))
    full, gaussians = completed.X, completed.gaussians
    np.testing.assert_array_equal(full[~gaps], X[~gaps])
    factors = []
    for i in range(40):
        S, m, s = gaussians[y[i]].covariance, np.flatnonzero(gaps[i]), np.flatnonzero(~gaps[i])
        left = np.zeros((3, 3))
        left[np.ix_(m, m)] = S[np.ix_(m, m)] - S[np.ix_(m, s)] @ np.linalg.solve(
            S[np.ix_(s, s)], S[np.ix_(s, m)]
        )
        mean = gaussians[y[i]].mean
        by_hand = mean[m] + S[np.ix_(m, s)] @ np.linalg.solve(S[np.ix_(s, s)], X[i, s] - mean[s])
        np.testing.assert_allclose(full[i, m], by_hand, atol=1e-10)
        size, vectors = np.linalg.eigh(left)
        factors.append(vectors * np.sqrt(np.maximum(size, 0.0)))
    own = Own(full, y, cost=np.where(y == 1, 3.0, 1.0)).uncertain(factors)
    value, w, _ = own.curved(turn(full, -0.4), turn(full, 0.4)).polyhedron(0.7).solve()
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-5)
    assert {"missing_values", "trajectories", "polyhedron"} == model.findings_.keys()
    assert model.verify()["missing_values"].holds
    assert model.verify()["trajectories"].holds
    assert model.predict(holes[:5]).shape == (5,)
    assert "trajectories.cone" in {label for label, _, _ in model.formulation().constraints}


def test_two_kinds_of_uncertainty_are_not_added_up(data):
    """Each asks on its own: the slack is the worse of the two."""
    X, y = data
    step = np.array([0.3, 0.1, 0.0])
    both = UncertainSamples(COVARIANCE) + Trajectories(Shift(step), degree=1)
    model = PriorSVC(both, C=2.0, tol=1e-9).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    y_f = signs(y) * (X @ w + b)
    worse = np.maximum(GAMMA * np.sqrt(w @ COVARIANCE @ w), np.abs(step @ w))
    loss = 0.5 * w @ w + 2.0 * np.maximum(1 - y_f + worse, 0.0).sum()
    assert model.objective_ == pytest.approx(loss, rel=1e-8)


# ---------------------------------------------------------------------- regions of the same shape


@pytest.fixture(scope="module")
def apart():
    """Two classes that stay apart whatever their rows may be: 16 rows of 2 columns."""
    rng = np.random.default_rng(7)
    y = np.tile([0, 1], 8)
    X = rng.normal(size=(16, 2))
    X[:, 0] += 3.0 * signs(y)
    return X, y


def summed(blocks):
    return sum(block.named(f"row_{i}") for i, block in enumerate(blocks))


@pytest.mark.parametrize("shape", ["ball", "axes", "matrix"])
def test_ellipsoids_around_rows_are_uncertain_rows(apart, shape):
    X, y = apart
    A = {
        "ball": 0.4 * np.eye(2),
        "axes": np.diag([0.5, 0.2]),
        "matrix": np.array([[0.4, 0.1], [-0.2, 0.3]]),
    }[shape]
    given = {"ball": 0.4 * GAMMA, "axes": GAMMA * np.diag(A), "matrix": GAMMA * A}[shape]
    uncertain = PriorSVC(UncertainSamples(factor=A), C=1e4, tol=1e-9).fit(X, y)
    regions = summed(Ellipsoid(x, given, int(k), hard=True) for x, k in zip(X, y, strict=True))
    model = PriorSVC(regions, C=1e4, tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(uncertain.objective_, rel=1e-8)
    np.testing.assert_allclose(model.coef_, uncertain.coef_, atol=5e-6)
    np.testing.assert_allclose(model.intercept_, uncertain.intercept_, atol=5e-6)
    plain = PriorSVC(C=1e4, tol=1e-9).fit(X, y)
    assert np.abs(model.coef_ - plain.coef_).max() > 0.05


def test_boxes_around_rows_are_shifted_rows(apart):
    X, y = apart
    r = np.array([0.5, 0.3])
    moved = PriorSVC(Trajectories(Shift(np.diag(r))), C=1e4, tol=1e-9).fit(X, y)
    bounds = [{j: (x[j] - r[j], x[j] + r[j]) for j in (0, 1)} for x in X]
    model = PriorSVC(Box(bounds, y.tolist(), hard=True), C=1e4, tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(moved.objective_, rel=1e-7)
    np.testing.assert_allclose(model.coef_, moved.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, moved.intercept_, atol=1e-6)


def test_soft_regions_instead_of_rows_are_uncertain_rows(data):
    """mu = 1 and no row of its own: the same slack by another name."""
    X, y = data
    uncertain = np.arange(40) >= 34
    A = np.linalg.cholesky(COVARIANCE)
    factors = np.where(uncertain[:, None, None], A, 0.0)
    rows = PriorSVC(UncertainSamples(factor=factors), C=2.0, tol=1e-9).fit(X, y)
    regions = summed(
        Ellipsoid(X[i], GAMMA * A, int(y[i]), mu=1.0, holds="everywhere") for i in np.flatnonzero(uncertain)
    )
    model = PriorSVC(regions, C=2.0, tol=1e-9).fit(X[~uncertain], y[~uncertain])
    assert model.objective_ == pytest.approx(rows.objective_, rel=1e-9)
    np.testing.assert_allclose(model.coef_, rows.coef_, atol=1e-6)


def test_soft_segments_instead_of_rows_are_straight_trajectories(data):
    X, y = data
    moving = np.arange(40) >= 34
    step = np.array([0.0, 0.6, 0.0])
    path = np.stack([X, np.where(moving[:, None], step, 0.0)], axis=1)
    rows = PriorSVC(Trajectories(span=(-1, 1), coefficients=path), C=2.0, tol=1e-9).fit(X, y)
    bounds = [{j: (x[j] - step[j], x[j] + step[j]) for j in range(3)} for x in X[moving]]
    box = Box(bounds, y[moving].tolist(), mu=1.0, holds="everywhere")
    model = PriorSVC(box, C=2.0, tol=1e-9).fit(X[~moving], y[~moving])
    assert model.objective_ == pytest.approx(rows.objective_, rel=1e-9)
    np.testing.assert_allclose(model.coef_, rows.coef_, atol=1e-6)
