"""Polyhedron: linear models against corners and linear programmes."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from priorsvm import RBF, Polyhedron, PriorSVC, UnlabeledSamples, check_knowledge
from priorsvm.errors import CollapsedModel, InvalidInput

TIGHT = {"solver": "CLARABEL", "tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


def widths(scale, X):
    return {None: np.ones(X.shape[1]), "standard": X.std(axis=0), "minmax": np.ptp(X, axis=0)}[scale]


def by_corners(X, y, sets, C=1.0, norm="l2", scale=None):
    """Return the optimum with s f >= 1 - zeta at all corners of each set, and the penalty mu zeta."""
    w, b, xi = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(len(y), nonneg=True)
    inner = cp.multiply(widths(scale, X), w)
    objective = (0.5 * cp.sum_squares(inner) if norm == "l2" else cp.norm1(inner)) + C * cp.sum(xi)
    constraints = [cp.multiply(np.where(y == 1, 1.0, -1.0), X @ w + b) >= 1 - xi]
    for corners, sign, mu in sets:
        margins = sign * (corners @ w + b)
        if np.isinf(mu):
            constraints.append(margins >= 1)
        else:
            objective = objective + mu * cp.max(cp.pos(1 - margins))
    value = cp.Problem(cp.Minimize(objective), constraints).solve(**TIGHT)
    return value, w.value, float(b.value)


def polytope(corners):
    hull = ConvexHull(corners)
    return hull.equations[:, :-1], -hull.equations[:, -1]


def lowest(B, d, w, b, sign):
    """min s f over {Bx <= d}, by a linear programme."""
    size = np.abs(w).max() or 1.0
    answer = linprog(sign * w / size, A_ub=B, b_ub=d, bounds=(None, None), method="highs-ds")
    assert answer.status == 0
    return size * answer.fun + sign * b


def corners_of(seed, count=8, centre=(0.0, 0.0, 0.0), size=0.5):
    return np.array(centre) + size * np.random.default_rng(seed).normal(size=(count, 3))


LEFT, RIGHT = corners_of(1, centre=(-1.0, 0.0, 0.5)), corners_of(2, centre=(1.5, 1.0, 0.0))
BETWEEN = corners_of(3, centre=(0.2, 0.0, 0.0), size=0.1)


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("mu", [0.3, 2.5])
def test_a_single_point_is_a_labelled_sample(data, norm, label, mu):
    X, y = data
    x0, C = np.array([0.4, -0.7, 1.2]) * (1 if label == 0 else -1), 2.0
    point = Polyhedron(
        np.vstack([np.eye(3), -np.eye(3)]),
        np.concatenate([x0, -x0]),
        label=label,
        mu=mu / C,
        holds="everywhere",
    )
    model = PriorSVC(point, C=C, norm=norm, tol=1e-9).fit(X, y)
    value, w, b = by_corners(X, y, [(x0[None], 1 if label else -1, mu)], C, norm)
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    sample = PriorSVC(UnlabeledSamples(x0[None], label, costs=mu / C), C=C, norm=norm, tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(sample.objective_, rel=1e-9)
    if norm == "l2":
        np.testing.assert_allclose(model.coef_[0], w, atol=1e-6)
        assert model.intercept_[0] == pytest.approx(b, abs=1e-6)
    plain = PriorSVC(C=C, norm=norm).fit(X, y)
    assert model.objective_ > plain.objective_ + 0.1


@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_soft_polytopes_of_both_classes_are_the_worst_of_their_corners(data, norm, scale):
    X, y = data
    X = X * [1.0, 5.0, 0.3] + [2.0, -3.0, 0.0]
    left, right = (Z * [1.0, 5.0, 0.3] + [2.0, -3.0, 0.0] for Z in (LEFT, RIGHT))
    Bs, ds = zip(*(polytope(Z) for Z in (left, right, left[:5])), strict=True)
    two = Polyhedron(list(Bs[:2]), list(ds[:2]), label=[1, 0], mu=0.8 / 1.5, holds="everywhere").named("two")
    third = Polyhedron(Bs[2], ds[2], label=0, mu=1.7 / 1.5, holds="everywhere").named("third")
    model = PriorSVC(two + third, C=1.5, norm=norm, scale=scale, tol=1e-9).fit(X, y)
    value, w, b = by_corners(X, y, [(left, 1, 0.8), (right, -1, 0.8), (left[:5], -1, 1.7)], 1.5, norm, scale)
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    if norm == "l2":
        np.testing.assert_allclose(model.coef_[0], w, atol=2e-5)
        assert model.intercept_[0] == pytest.approx(b, abs=2e-5)
    assert PriorSVC(C=1.5, norm=norm, scale=scale).fit(X, y).objective_ < value - 0.5


@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("label", [0, 1])
def test_hard_holds_on_the_whole_polytope(data, norm, scale, label):
    X, y = data
    stretch, shift = np.array([1.0, 20.0, 0.1]), np.array([0.0, -30.0, 4.0])
    X, corners = X * stretch + shift, BETWEEN * stretch + shift
    B, d = polytope(corners)
    B, d = 7.0 * B, 7.0 * d
    model = PriorSVC(Polyhedron(B, d, label=label, hard=True), norm=norm, scale=scale, tol=1e-8).fit(X, y)
    sign = 1 if label else -1
    assert lowest(B, d, model.coef_[0], model.intercept_[0], sign) > 1 - 1e-6
    value, _, _ = by_corners(X, y, [(corners, sign, np.inf)], 1.0, norm, scale)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    plain = PriorSVC(norm=norm, scale=scale).fit(X, y)
    assert lowest(B, d, plain.coef_[0], plain.intercept_[0], sign) < 0.9
    assert np.ptp(model.decision_function(X)) > 0.5  # no constant


def test_a_large_mu_is_hard_and_mu_zero_is_plain(data):
    X, y = data
    B, d = polytope(LEFT)
    hard, plain = PriorSVC(Polyhedron(B, d, 1, hard=True)).fit(X, y), PriorSVC(solver="CLARABEL").fit(X, y)
    for norm in ("l2", "l1"):
        objective = PriorSVC(Polyhedron(B, d, 1, hard=True), norm=norm).fit(X, y).objective_
        soft = PriorSVC(Polyhedron(B, d, 1, mu=1e4, holds="everywhere"), norm=norm).fit(X, y)
        assert soft.objective_ == pytest.approx(objective, rel=1e-7)  # an exact penalty
    soft = PriorSVC(Polyhedron(B, d, 1, mu=1e4, holds="everywhere")).fit(X, y)
    np.testing.assert_allclose(soft.coef_, hard.coef_, atol=1e-5)
    none = PriorSVC(Polyhedron(B, d, 1, mu=0.0, holds="everywhere")).fit(X, y)
    np.testing.assert_allclose(none.coef_, plain.coef_, atol=1e-5)


def eq_52(X, y, sets, mu, mu_residual, C, norm, scale=None):
    """Fung, Mangasarian & Shavlik: |B'u + s w|_1 and zeta are paid for; rows of B have length 1."""
    width = widths(scale, X)
    shift = {None: 0.0, "standard": X.mean(axis=0), "minmax": X.min(axis=0)}[scale]
    Z = (X - shift) / width
    w, b, xi = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(len(y), nonneg=True)
    objective = (0.5 * cp.sum_squares(w) if norm == "l2" else cp.norm1(w)) + C * cp.sum(xi)
    constraints = [cp.multiply(np.where(y == 1, 1.0, -1.0), Z @ w + b) >= 1 - xi]
    for B, d, sign in sets:
        B, d = B * width, d - B @ np.broadcast_to(shift, B.shape[1])
        length = np.linalg.norm(B, axis=1)
        B, d = B / length[:, None], d / length
        u = cp.Variable(len(B), nonneg=True)
        objective += mu_residual * cp.norm1(B.T @ u + sign * w) + mu * cp.pos(d @ u - sign * b + 1)
        constraints.append(u >= 0)
    return cp.Problem(cp.Minimize(objective), constraints).solve(**TIGHT)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [None, "minmax"])
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("mu_residual", [0.0, 0.05, 0.4, 30.0])
def test_residuals_as_published(data, norm, mu_residual, scale):
    X, y = data
    sets = [(*polytope(LEFT), 1.0), (*polytope(RIGHT), -1.0)]
    block = Polyhedron(
        [s[0] for s in sets],
        [s[1] for s in sets],
        [1, 0],
        mu=0.6 / 1.5,
        mu_residual=mu_residual / 1.5,
        holds="everywhere",
    )
    model = PriorSVC(block, C=1.5, norm=norm, scale=scale, tol=1e-8).fit(X, y)
    assert model.objective_ == pytest.approx(eq_52(X, y, sets, 0.6, mu_residual, 1.5, norm, scale), rel=1e-7)


def test_residuals_let_the_margin_go(data):
    """With zeta = 0 f is below 1 on the set, and verify() reports it."""
    X, y = data
    B, d = polytope(LEFT)
    model = PriorSVC(Polyhedron(B, d, 1, mu=100.0, mu_residual=0.1, holds="everywhere")).fit(X, y)
    [term] = [row for row in model.report_["polyhedron"] if row.term == "mu"]
    assert term.contribution < 1e-5
    least = lowest(B, d, model.coef_[0], model.intercept_[0], 1)
    assert least < 0.9
    verdict = model.verify()["polyhedron"]
    assert (verdict.holds, verdict.proven) == (False, True)
    assert verdict.worst == pytest.approx(least - 1, abs=1e-8)


def test_an_unbounded_set_silences_the_columns_it_leaves_open(data):
    """x_0 >= 1 leaves columns 1 and 2 open, so that any weight there violates the rule somewhere."""
    X, y = data
    row, limit = [[-1.0, 0.0, 0.0]], [-1.0]
    plain = PriorSVC().fit(X, y).coef_[0]
    assert np.abs(plain[1:]).min() > 0.02
    literal = PriorSVC(Polyhedron(row, limit, label=1, mu=1e-3, holds="everywhere")).fit(X, y)
    np.testing.assert_allclose(literal.coef_[0, 1:], 0.0, atol=1e-7)
    assert literal.coef_[0, 0] > 0.1
    with pytest.warns(CollapsedModel, match="'polyhedron'.*constant"):
        turned = PriorSVC(Polyhedron(row, limit, label=0, mu=1e-3, holds="everywhere")).fit(X, y)
    np.testing.assert_allclose(
        turned.coef_[0], 0.0, atol=1e-6
    )  # and the sign of column 0 is against the data


@pytest.mark.parametrize("hard", [False, True])
def test_within_closes_the_open_sides(data, hard):
    X, y = data
    row, limit = [[-1.0, 0.0, 0.0]], [-1.0]
    low, high = X.min(axis=0), X.max(axis=0)
    mu = np.inf if hard else 0.5
    for within, (a, b) in (
        ("data", (np.array([1.0, *low[1:]]), high)),
        ({0: (None, 4.0), 1: (-1.0, 1.0), 2: (-0.5, 2.0)}, ([1.0, -1.0, -0.5], [4.0, 1.0, 2.0])),
    ):
        corners = np.array(np.meshgrid(*zip(a, b, strict=True))).reshape(3, -1).T
        model = PriorSVC(Polyhedron(row, limit, 1, mu=0.5, hard=hard, within=within, holds="everywhere")).fit(
            X, y
        )
        value, w, _ = by_corners(X, y, [(corners, 1, mu)])
        assert model.objective_ == pytest.approx(value, rel=1e-7)
        np.testing.assert_allclose(model.coef_[0], w, atol=1e-4)
    assert np.abs(model.coef_[0, 1:]).min() > 0.001


def test_within_data_leaves_closed_sides_alone(data):
    """A bounded polytope, partly beyond the data, is not cut."""
    X, y = data
    corners = corners_of(5, centre=(X[:, 0].max(), 0.0, 0.0), size=1.0)
    B, d = polytope(corners)
    model = PriorSVC(Polyhedron(B, d, 0, mu=2.0, within="data", holds="everywhere")).fit(X, y)
    value, _, _ = by_corners(X, y, [(corners, -1, 2.0)])
    assert model.objective_ == pytest.approx(value, rel=1e-7)


@pytest.mark.filterwarnings("ignore::priorsvm.errors.FarFromData")
def test_a_polyhedron_beyond_the_data_stays_whole(data):
    X, y = data
    far = X.max() + 5.0
    block = Polyhedron([[-1.0, -1.0, 0.0]], [-2 * far], label=1, hard=True, within="data")
    literal = Polyhedron([[-1.0, -1.0, 0.0]], [-2 * far], label=1, hard=True, within=None)
    model, same = PriorSVC(block).fit(X, y), PriorSVC(literal).fit(X, y)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-7)
    w = model.coef_[0]
    assert abs(w[0] - w[1]) < 1e-6  # parallel to the border, as the half-space requires
    assert w[0] > 0.1
    assert abs(w[2]) < 1e-6
    assert w[0] * 2 * far + model.intercept_[0] > 1 - 1e-6


@pytest.mark.parametrize("kernel", ["linear", RBF(0.5)])
@pytest.mark.parametrize("hard", [False, True])
def test_an_empty_polyhedron_is_an_error(data, kernel, hard, monkeypatch):
    def unused(*_, **__):
        raise AssertionError("solved before it was checked")

    monkeypatch.setattr(cp.Problem, "solve", unused)
    empty = Polyhedron(
        [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], [0.0, -1.0], label=1, hard=hard, holds="everywhere"
    )
    with pytest.raises(InvalidInput, match=r"block 'polyhedron'.*is empty.*[Cc]heck the signs of B and d"):
        PriorSVC(empty, kernel=kernel).fit(*data)


def test_rows_of_any_length_say_the_same(data):
    X, y = data
    B, d = polytope(LEFT)
    factor = 10.0 ** np.random.default_rng(0).uniform(-4, 4, size=len(B))
    plain = PriorSVC(Polyhedron(B, d, 1, hard=True)).fit(X, y)
    scaled = PriorSVC(Polyhedron(B * factor[:, None], d * factor, 1, hard=True)).fit(X, y)
    np.testing.assert_allclose(plain.coef_, scaled.coef_, atol=1e-6)


def test_a_thin_polyhedron_is_a_segment(data):
    """An equation, as two inequalities."""
    X, y = data
    a, b = np.array([-1.0, 0.5, 0.0]), np.array([0.0, 1.0, -1.0])
    across = np.linalg.svd((b - a)[None])[2][1:]
    B = np.vstack([across, -across, (b - a)[None], (a - b)[None]])
    d = np.concatenate([across @ a, -across @ a, [(b - a) @ b], [(a - b) @ a]])
    model = PriorSVC(Polyhedron(B, d, 1, hard=True)).fit(X, y)
    value, w, _ = by_corners(X, y, [(np.array([a, b]), 1, np.inf)])
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-5)


def test_multi_class_gives_the_region_to_its_class(three):
    X, y = three
    corners = np.array([[2.5, 2.5], [3.5, 2.5], [3.0, 3.5]])
    B, d = polytope(corners)
    model = PriorSVC(Polyhedron(B, d, label="a", hard=True)).fit(X, y)
    scores = model.decision_function(corners)
    assert scores[:, 0].min() > 1 - 1e-6
    assert scores[:, 1:].max() < -1 + 1e-6
    for k, name in enumerate("abc"):
        value, w, _ = by_corners(X, (y == name).astype(int), [(corners, 1 if name == "a" else -1, np.inf)])
        assert model.objective_[k] == pytest.approx(value, rel=1e-7)
        np.testing.assert_allclose(model.coef_[k], w, atol=1e-5)


def test_kernelised_on_a_linear_model_is_exact(data):
    X, y = data
    B, d = polytope(LEFT)
    model = PriorSVC(Polyhedron(B, d, 1, hard=True, method="kernelised")).fit(X, y)  # no warning
    value, _, _ = by_corners(X, y, [(LEFT, 1, np.inf)])
    assert model.objective_ == pytest.approx(value, rel=1e-7)


def test_verify_on_a_linear_model_is_a_linear_programme(data):
    X, y = data
    sets = [polytope(LEFT), polytope(RIGHT)]
    model = PriorSVC(
        Polyhedron([s[0] for s in sets], [s[1] for s in sets], [1, 0], mu=0.05, holds="everywhere")
    ).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    excess = [lowest(*s, w, b, sign) - 1 for s, sign in zip(sets, (1, -1), strict=True)]
    verdict = model.verify()["polyhedron"]
    assert verdict.worst == pytest.approx(min(excess), abs=1e-8)
    assert (verdict.holds, verdict.proven, verdict.checked, verdict.violated) == (False, True, 2, 2)
    sign = (1, -1)[int(np.argmin(excess))]
    assert sign * (w @ verdict.where + b) - 1 == pytest.approx(min(excess), abs=1e-8)


@pytest.mark.parametrize("scale", [None, "standard"])
def test_verify_where_the_rule_leaves_a_constant(data, scale):
    X, y = data
    stretch, shift = np.array([1.0, 20.0, 0.1]), np.array([0.0, -30.0, 4.0])
    B, d = polytope(RIGHT * stretch + shift)
    block = Polyhedron(7 * B, 7 * d, label=0, hard=True)
    with pytest.warns(CollapsedModel):
        model = PriorSVC(block, scale=scale, tol=1e-8).fit(X * stretch + shift, y)
    assert np.abs(model.coef_).max() < 1e-7
    assert model.verify().holds


# A triangle left of x = -0.5.
WEDGE = [[1.0, 0.0], [-1.0, -1.0], [-1.0, 1.0]], [-0.5, 1.5, 1.5]


@pytest.mark.slow
@pytest.mark.parametrize(
    "block",
    [
        Polyhedron(*WEDGE, label=1, holds="everywhere"),
        Polyhedron(*WEDGE, label=0, hard=True),
        Polyhedron([[1.0, 1.0]], [-1.0], label=1, mu=5.0, within="data", holds="everywhere"),
    ],
    ids=["soft", "hard", "half-space"],
)
def test_laws(block, few):
    assert "weight 0 disables the block" in check_knowledge(block, *few)


def test_laws_of_the_residuals():
    block = Polyhedron(*polytope(LEFT), label=1, mu_residual=0.3, holds="everywhere")
    assert "CLARABEL and HIGHS agree" in check_knowledge(block, kernels=("linear",))
