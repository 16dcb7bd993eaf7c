"""Region: where g(x) <= 0, f is at least h(x)."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from priorsvm import RBF, PriorSVC, Region, UnlabeledSamples, check_knowledge
from priorsvm.errors import InvalidInput
from priorsvm.sample import Sample

TIGHT = {"solver": "CLARABEL", "tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


def ball(X):
    return (X**2).sum(axis=1) - 1.0


def slab(X):
    """-0.5 <= x_0 <= 0.5."""
    return np.column_stack([X[:, 0] - 0.5, -X[:, 0] - 0.5])


def rising(X):
    return 1.0 + 0.3 * X[:, 1]


def eq_55(X, y, P, G, h, sign, mu, C, norm="l2", with_v=True, k=None):
    """The optimum of s f(x_p) - h_p + v'g_p + z_p >= 0, price mu sum z; on X alone as centres for norm l1."""
    if k is None:
        A, Q = X, P
        penalty = cp.norm1 if norm == "l1" else lambda w: 0.5 * cp.sum_squares(w)
        w = cp.Variable(X.shape[1])
        J = penalty(w)
    else:
        centres = X if norm == "l1" else np.vstack([X, P])
        A, Q = k(X, centres), k(P, centres)
        w = cp.Variable(len(centres))
        values, vectors = np.linalg.eigh(k(centres, centres))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        J = cp.norm1(w) if norm == "l1" else 0.5 * cp.sum_squares(root.T @ w)
    b, xi = cp.Variable(), cp.Variable(len(y), nonneg=True)
    v = cp.Variable(G.shape[1], nonneg=True)
    constraints = [cp.multiply(np.where(y == 1, 1.0, -1.0), A @ w + b) >= 1 - xi]
    left = sign * (Q @ w + b) - h + (G @ v if with_v else 0.0)
    if np.isinf(mu):
        constraints.append(left >= 0)
        J = J + C * cp.sum(xi)
    else:
        J = J + C * cp.sum(xi) + mu * cp.sum(cp.pos(-left))
    value = cp.Problem(cp.Minimize(J), constraints).solve(**TIGHT)
    return value, np.asarray(v.value if with_v else 0.0)


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("label", [0, 1])
def test_points_inside_are_samples_with_margins_h(data, rng, norm, label):
    X, y = data
    P = rng.uniform(-1, 1, size=(400, 3))
    P = P[ball(P) <= 0][:25]
    sign, C, mu = 1 if label else -1, 1.5, 0.4
    model = PriorSVC(Region(ball, P, label, mu=mu / C, h=rising), C=C, norm=norm, tol=1e-9).fit(X, y)
    value, v = eq_55(X, y, P, ball(P)[:, None], rising(P), sign, mu, C, norm)
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    without, _ = eq_55(X, y, P, ball(P)[:, None], rising(P), sign, mu, C, norm, with_v=False)
    assert model.objective_ == pytest.approx(without, rel=1e-8)
    assert np.abs(v).max() < 1e-5  # v = 0 is optimal
    samples = UnlabeledSamples(P, label, costs=mu / C, margins=rising(P))
    same = PriorSVC(samples, C=C, norm=norm, tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(same.objective_, rel=2e-9)


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("hard", [False, True])
def test_points_outside_have_a_say_through_v(data, rng, norm, label, hard):
    X, y = data
    P = rng.uniform(-1.5, 1.5, size=(30, 3))
    assert 5 < (slab(P) <= 0).all(axis=1).sum() < 25
    sign, mu = 1 if label else -1, np.inf if hard else 3.0
    model = PriorSVC(Region(slab, P, label, mu=3.0, hard=hard), norm=norm, tol=1e-9).fit(X, y)
    value, _ = eq_55(X, y, P, slab(P), 1.0, sign, mu, 1.0, norm)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    blunt, _ = eq_55(X, y, P, slab(P), 1.0, sign, mu, 1.0, norm, with_v=False)
    assert value < blunt - 1e-3


def test_an_affine_g_over_a_whole_lattice_is_a_polyhedron(data):
    """f linear, h = 1 and g affine: v is the u of duality, up to the points at hand."""
    from priorsvm import Polyhedron

    X, y = data
    line = np.linspace(-3, 3, 13)
    P = np.array(np.meshgrid(line, line, line)).reshape(3, -1).T
    row = np.array([[1.0, 0.5, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]])
    end = np.array([0.25, 1.0, 1.0, 1.0, 1.0])

    def g(Z):
        return Z @ row.T - end

    region = PriorSVC(Region(g, P, 0, hard=True)).fit(X, y)
    polyhedron = PriorSVC(Polyhedron(row, end, 0, hard=True)).fit(X, y)
    assert region.objective_ == pytest.approx(polyhedron.objective_, rel=1e-5)
    np.testing.assert_allclose(region.coef_, polyhedron.coef_, atol=1e-3)


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("outside", [False, True])
def test_kernel_models_at_points(data, rng, norm, outside):
    X, y = data
    X, y = X[:30], y[:30]
    P = rng.uniform(-1.5, 1.5, size=(20, 3))
    P = P if outside else P[(slab(P) <= 0).all(axis=1)]
    model = PriorSVC(Region(slab, P, 1, mu=0.5), kernel=RBF(0.4), norm=norm, tol=1e-8).fit(X, y)
    value, _ = eq_55(X, y, P, slab(P), 1.0, 1, 0.5, 1.0, norm, k=lambda A, B: rbf_kernel(A, B, gamma=0.4))
    assert model.objective_ == pytest.approx(value, rel=1e-6)


def test_the_negative_class_requires_minus_h(data):
    """h = +1 for both classes: -f >= 1 there, not f <= 1."""
    X, y = data
    P = np.array([[0.4, 0.0, 0.0], [0.3, 0.2, 0.1]])
    model = PriorSVC(Region(lambda Z: -np.ones(len(Z)), P, 0, hard=True)).fit(X, y)
    assert model.decision_function(P).max() < -1 + 1e-6


def test_mu_zero_is_plain(data):
    X, y = data
    model = PriorSVC(Region(ball, X[:10], 1, mu=0.0)).fit(X, y)
    np.testing.assert_allclose(model.coef_, PriorSVC(solver="CLARABEL").fit(X, y).coef_, atol=1e-5)


# ---------------------------------------------------------------------- search


@pytest.fixture(scope="module")
def plane():
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, size=(25, 2))
    return X, (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)


BOUNDS = {0: (-1, 1), 1: (-1, 1)}


def ring(X):
    return np.abs(np.hypot(X[:, 0], X[:, 1]) - 0.8) - 0.1


def dense(n=301):
    line = np.linspace(-1, 1, n)
    Z = np.array(np.meshgrid(line, line)).reshape(2, -1).T
    return Z[ring(Z) <= 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "label", "h"),
    [("linear", 1, rising), (RBF(0.3), 0, 1.0), (RBF(0.3), 1, rising)],
)
def test_cuts_hold_between_points(plane, kernel, label, h):
    X, y = plane
    model = PriorSVC(Region(ring, None, label, h=h, hard=True, within=BOUNDS), kernel=kernel).fit(X, y)
    Z = dense()
    required = h(Z) if callable(h) else h
    assert ((1 if label else -1) * model.decision_function(Z) - required).min() > -1.2e-4


@pytest.mark.slow
@pytest.mark.parametrize("h", [1.0, rising])
def test_soft_cuts_pay_for_the_worst_point(plane, h):
    X, y = plane
    model = PriorSVC(
        Region(ring, None, 1, mu=0.8 / 1.5, h=h, within=BOUNDS, holds="everywhere"), kernel=RBF(0.7), C=1.5
    ).fit(X, y)
    Z = dense(61)
    centres = np.vstack([X, Z[::3]])
    values, vectors = np.linalg.eigh(rbf_kernel(centres, gamma=0.7))
    kept = values > 1e-10
    basis = vectors[:, kept] / np.sqrt(values[kept])
    A, Q = (rbf_kernel(rows, centres, gamma=0.7) @ basis for rows in (X, Z))
    w, b = cp.Variable(A.shape[1]), cp.Variable()
    required = h(Z) if callable(h) else h
    J = 0.5 * cp.sum_squares(w) + 1.5 * cp.sum(
        cp.pos(1 - cp.multiply(np.where(y == 1, 1.0, -1.0), A @ w + b))
    )
    value = cp.Problem(cp.Minimize(J + 0.8 * cp.max(cp.pos(required - Q @ w - b)))).solve(solver="CLARABEL")
    assert model.objective_ == pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize("points", [40, "grid", None])
def test_drawn_points_lie_in_the_region(plane, points):
    X, y = plane
    block = Region(ring, points, 1, hard=True, method="points", within=BOUNDS)
    model = PriorSVC(block, kernel=RBF(0.7)).fit(X, y)
    [used] = block.start(Sample.training(X, y, np.array([0, 1]), 1)).points
    assert len(used) > 5
    assert ring(used).max() <= 1e-7
    assert model.decision_function(used).min() > 1 - 1e-6


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
def test_within_data_is_the_range_of_the_rows(plane):
    X, y = plane
    model = PriorSVC(Region(lambda Z: Z[:, 0] - 0.2, None, 1, hard=True, within="data"), kernel=RBF(0.7)).fit(
        X, y
    )
    low, high = X.min(axis=0), X.max(axis=0)
    Z = np.array(np.meshgrid(np.linspace(low[0], 0.2, 60), np.linspace(low[1], high[1], 60))).reshape(2, -1).T
    assert model.decision_function(Z).min() > 1 - 1.2e-4


def test_verify_is_sampled_and_reports_the_worst_point(plane):
    X, y = plane
    model = PriorSVC(Region(ring, None, 1, mu=1e-3, within=BOUNDS, holds="everywhere"), kernel=RBF(0.7)).fit(
        X, y
    )
    verdict = model.verify()["region"]
    least = model.decision_function(dense(501)).min() - 1
    assert (verdict.holds, verdict.proven) == (False, False)
    assert verdict.worst == pytest.approx(least, abs=2e-3)
    assert model.decision_function(verdict.where[None])[0] - 1 == pytest.approx(verdict.worst, abs=1e-9)
    assert ring(verdict.where[None])[0] < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    "block",
    [
        Region(ball, np.random.default_rng(0).uniform(-0.5, 0.5, size=(8, 3)), 1),
        Region(slab, np.random.default_rng(0).uniform(-1, 1, size=(8, 3)), 0, mu=0.5),
        Region(slab, np.random.default_rng(0).uniform(-1, 1, size=(8, 3)), 0, hard=True),
    ],
    ids=["inside", "outside", "hard"],
)
def test_laws_at_points(block):
    assert "weight 0 disables the block" in check_knowledge(block)


@pytest.mark.slow
def test_laws_of_the_search():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 1))
    y = (X[:, 0] + 0.4 * rng.normal(size=24) > 0.4).astype(int)
    block = Region(ball, None, 1, within={0: (-1, 1)}, holds="everywhere")
    assert "weight 0 disables the block" in check_knowledge(block, X, y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"g": 3}, "g must be a function"),
        ({"g": lambda X: 1.0}, r"must return \(n, q\) or \(n,\) numbers"),
        ({"g": lambda X: np.zeros(2)}, r"must return \(n, q\) or \(n,\) numbers"),
        ({"g": lambda X: np.full(len(X), np.nan)}, "g returned NaN"),
        ({"g": lambda X: X @ np.ones(7)}, "g failed on an array of shape"),
        ({"h": "one"}, "h must be a number or a function"),
        ({"h": np.inf}, "h must be a number or a function"),
        ({"h": lambda X: X}, "h must return one finite number per point"),
        ({"points": None}, "unbounded in column"),
        ({"points": 30, "within": {0: (0, np.inf)}}, "unbounded in column 0"),
        ({"points": "many"}, "points must be a whole number from 1 to 1000000, 'grid' or an array"),
        ({"points": [[1.0]]}, r"points has shape \(1, 1\)"),
        ({"method": "guaranteed"}, "method must be one of"),
        ({"label": 7}, "label 7 is not among the classes"),
        ({"points": None, "within": {0: (5, 6), 1: (5, 6)}, "g": ball}, "no point with g.* was found"),
        (
            {"points": None, "method": "points", "within": {0: (5, 6), 1: (5, 6)}, "g": ball},
            "no point with g",
        ),
        ({"within": {"age": (0, 1)}}, "there is no column 'age'"),
        ({"mu": -1}, "mu must be a nonnegative number"),
        ({"hard": "yes"}, "hard must be True or False"),
    ],
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_bad_arguments_are_named(plane, arguments, message, kernel):
    given = {"g": ring, "points": np.zeros((1, 2)), "label": 1, "holds": "everywhere", **arguments}
    with pytest.raises(InvalidInput, match="(?s)block 'region'.*" + message):
        PriorSVC(Region(**given), kernel=kernel).fit(*plane)


def test_functions_cannot_change_the_data(data):
    X, y = data
    before = X.copy()
    shifting = Region(lambda Z: np.subtract(Z, 1, out=Z)[:, 0], 8, 1, within="data", method="points")
    PriorSVC(shifting, kernel=RBF(0.3)).fit(X, y)
    np.testing.assert_array_equal(X, before)
    with pytest.raises(InvalidInput, match="h must return one finite number"):
        PriorSVC(Region(lambda Z: Z[:, 0], 8, 1, h=lambda Z: np.full(len(Z), np.inf), within="data")).fit(
            X, y
        )
    far = Region(lambda Z: np.where(Z[:, 0] > 0, np.inf, -1.0), [[1.0, 0, 0], [-1.0, 0, 0]], 1)
    with pytest.raises(InvalidInput, match="g is infinite"):
        PriorSVC(far, kernel=RBF(0.3)).fit(X, y)
