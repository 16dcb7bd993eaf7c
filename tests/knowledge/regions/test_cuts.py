"""The method "cuts": no violation is left, at the optimum over a fine grid."""

from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel

from priorsvm import RBF, Box, Polynomial, PriorSVC
from priorsvm.errors import PriorSVMWarning
from priorsvm.knowledge.regions.cuts import LIFTABLE, Cuts, _Found
from priorsvm.knowledge.regions.search import Search

GAMMA = 0.6
SQUARE = {0: (-1.0, -0.3), 1: (-0.2, 0.6)}


def lattice(low, high, n=101):
    axes = [np.linspace(a, b, n) for a, b in zip(low, high, strict=True)]
    return np.array(np.meshgrid(*axes)).reshape(len(low), -1).T


@pytest.mark.slow
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_cuts_leave_no_violation(plane, square, shape, label, scale):
    X, y = plane
    model = PriorSVC(shape.block(label, hard=True), kernel=RBF(GAMMA), scale=scale, C=3.0).fit(X, y)
    values = (1 if label else -1) * model.decision_function(shape.points())
    assert values.min() > 1 - 1.05e-4
    plain = PriorSVC(kernel=RBF(GAMMA), scale=scale, C=3.0).fit(X, y)
    if label == 1:
        assert plain.decision_function(shape.points()).min() < 0.9
    assert np.ptp(model.decision_function(X)) > 0.5


def test_cuts_in_the_users_units(plane, square):
    """Stretching columns and bounds alike changes nothing on a scaled model."""
    X, y = plane
    a = PriorSVC(Box(SQUARE, 1, hard=True), kernel=RBF(GAMMA), scale="minmax").fit(X, y)
    stretch = np.array([1e4, 1e-4])
    stretched = {j: (lo * stretch[j], hi * stretch[j]) for j, (lo, hi) in SQUARE.items()}
    b = PriorSVC(Box(stretched, 1, hard=True), kernel=RBF(GAMMA), scale="minmax").fit(X * stretch, y)
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-3)
    assert b.decision_function(square.points() * stretch).min() > 1 - 1.05e-4


def own_optimum(X, y, regions, C, mu, gamma=GAMMA, hard=False):
    """Over a fine grid of every region: s f >= 1 - zeta_l at its points, price mu zeta_l."""
    Z = [points for points, _ in regions]
    centres = np.vstack([X, *[points[:: max(1, len(points) // 60)] for points in Z]])
    values, vectors = np.linalg.eigh(rbf_kernel(centres, gamma=gamma))
    kept = values > 1e-10
    basis = vectors[:, kept] / np.sqrt(values[kept])
    phi = [rbf_kernel(rows, centres, gamma=gamma) @ basis for rows in (X, *Z)]
    w, b = cp.Variable(kept.sum()), cp.Variable()
    J = 0.5 * cp.sum_squares(w) + C * cp.sum(
        cp.pos(1 - cp.multiply(np.where(y == 1, 1.0, -1.0), phi[0] @ w + b))
    )
    constraints = []
    for rows, (_, sign) in zip(phi[1:], regions, strict=True):
        worst = cp.max(cp.pos(1 - sign * (rows @ w + b)))
        if hard:
            constraints.append(worst <= 0)
        else:
            J = J + mu * worst
    return cp.Problem(cp.Minimize(J), constraints).solve(solver="CLARABEL")


@pytest.mark.slow
@pytest.mark.parametrize("hard", [False, True])
def test_cuts_reach_the_optimum_of_a_fine_grid(plane, square, shape, hard):
    X, y = plane
    model = PriorSVC(shape.block(1, mu=0.8 / 1.5, hard=hard), kernel=RBF(GAMMA), C=1.5).fit(X, y)
    value = own_optimum(X, y, [(shape.points(25), 1)], 1.5, 0.8, hard=hard)
    assert model.objective_ == pytest.approx(value, rel=1e-3)


def test_several_regions_of_both_classes_have_slacks_of_their_own(plane, square):
    X, y = plane
    block = Box([SQUARE, {0: (0.5, 1.0), 1: (0.0, 0.5)}], label=[1, 0], mu=0.7 / 1.5, holds="everywhere")
    model = PriorSVC(block, kernel=RBF(GAMMA), C=1.5).fit(X, y)
    regions = [(square.points(25), 1), (lattice([0.5, 0.0], [1.0, 0.5], 25), -1)]
    assert model.objective_ == pytest.approx(own_optimum(X, y, regions, 1.5, 0.7), rel=1e-3)
    [row] = [row for row in model.report_["box"] if row.term == "mu"]
    zetas = [max(0.0, 1 - (s * model.decision_function(Z)).min()) for Z, s in regions]
    assert row.contribution == pytest.approx(0.7 * sum(zetas), abs=1e-3)
    assert min(zetas) > 0.05


def test_cuts_in_one_dimension(rng):
    X = rng.uniform(-3, 3, size=(15, 1))
    y = (np.sin(2 * X[:, 0]) > 0).astype(int)
    model = PriorSVC(Box({0: (-0.5, 1.0)}, 0, hard=True), kernel=RBF(2.0), C=10.0).fit(X, y)
    assert model.decision_function(np.linspace(-0.5, 1, 10_001)[:, None]).max() < -1 + 1.05e-4


def test_cuts_on_other_kernels_and_norms(plane, square):
    X, y = plane
    for parameters in (
        {"kernel": Polynomial(3, gamma=0.5, coef0=1.0)},
        {"kernel": lambda A, B: (1 + A @ B.T) ** 2},
        {"kernel": RBF(GAMMA), "norm": "l1"},
        {"kernel": RBF(GAMMA), "n_centres": 15},
        {"kernel": RBF(GAMMA), "loss": "squared_hinge"},
    ):
        model = PriorSVC(Box(SQUARE, 1, hard=True), C=2.0, **parameters).fit(X, y)
        assert model.decision_function(square.points()).min() > 1 - 1.1e-4, parameters


def test_cuts_without_slopes():
    """scipy takes differences; the kernel has a kink at every row."""
    X = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]])
    model = PriorSVC(Box({0: (-0.7, 0.4)}, 1, hard=True), kernel="laplacian").fit(X, [0, 0, 0, 1, 1])
    assert model.decision_function(np.linspace(-0.7, 0.4, 5001)[:, None]).min() > 1 - 1.1e-4


def test_cuts_start_though_no_given_point_lies_inside(plane, square):
    X, y = plane
    block = Box(SQUARE, 1, hard=True, method="cuts", points=np.array([[5.0, 5.0]]))
    model = PriorSVC(block, kernel=RBF(GAMMA)).fit(X, y)
    assert model.decision_function(square.points()).min() > 1 - 1.05e-4


def test_a_soft_region_is_held_to_what_its_cuts_stop_at():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.sign(X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=120))
    soft = Box({0: (1, 2)}, label=1.0, mu=5, holds="everywhere")
    model = PriorSVC(soft, kernel="rbf").fit(X, y)
    found = model.verify()["box"]
    assert found.holds
    assert found.proven
    accepted = [Cuts(hard=h, points=256, max_cells=1, max_dimension=4).accepted for h in (False, True)]
    assert accepted == pytest.approx([1e-3, 2e-4])
    assert found.worst >= -accepted[0]


def broad_problem():
    """Return rows, and a rule in two of five columns that some rows contradict."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(110, 5))
    y = (X[:, 0] + 0.6 * X[:, 1] + 0.5 * rng.normal(size=110) > 0).astype(int)
    return X, y


@pytest.mark.slow
@pytest.mark.parametrize("hard", [False, True])
def test_the_order_of_rows_does_not_matter(hard):
    X, y = broad_problem()
    order = np.random.default_rng(1).permutation(len(X))
    block = Box({0: (0.8, 2.0), 1: (-1.0, 0.5)}, 1, mu=5.0, hard=hard, holds="everywhere")
    model = PriorSVC(block, kernel=RBF(0.2), C=3.0)
    a = model.fit(X, y)
    b = PriorSVC(block, kernel=RBF(0.2), C=3.0).fit(X[order], y[order])
    assert a.n_rounds_ == b.n_rounds_ > 3
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-9)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-6)


def test_a_hard_block_in_many_columns_is_kept_without_much_to_spare():
    X, y = broad_problem()
    block = Box({0: (0.8, 2.0), 1: (-1.0, 0.5)}, 1, hard=True)
    model = PriorSVC(block, kernel=RBF(0.2), C=3.0).fit(X, y)
    found = model.verify()["box"]
    assert found.holds
    assert -2e-4 <= found.worst < 1e-3
    [state] = [binary.states["box"] for binary in model._models]
    assert max(lift.max() for lift in state.lift or [np.zeros(1)]) <= LIFTABLE


@pytest.mark.parametrize("seed", [1, 5])
def test_a_soft_block_ends_without_narrow_minima_that_verify_finds(seed):
    X, y = make_classification(200, 8, n_informative=6, n_redundant=0, flip_y=0.05, random_state=seed)
    correlation = np.array([np.corrcoef(column, y)[0, 1] for column in X.T])
    bounds = {}
    for j in np.argsort(-np.abs(correlation))[:2]:
        low, high = np.quantile(X[:, j], [0.25, 0.75])
        bounds[int(j)] = (high, X[:, j].max()) if correlation[j] > 0 else (X[:, j].min(), low)
    box = Box(bounds, 1, mu=10.0, holds="everywhere")
    model = PriorSVC(box, C=10.0, kernel=RBF("scale"), scale="standard").fit(X, y)
    assert (
        model.verify()["box"].worst > -2e-3
    )  # -4e-3 and -7e-3 by searches that start from the lowest points


@pytest.mark.parametrize(("before", "hard", "after"), [(0, True, 2), (4, True, 5), (4, False, 1)])
def test_a_hard_block_ends_after_as_many_strict_searches_as_there_were_before(
    monkeypatch, before, hard, after
):
    seeds = []

    def nothing(self, f, state, k, seed, rows, provable, tol):
        seeds.append((seed, len(rows) > 0))
        return _Found(np.ones(1, bool), np.zeros((0, 2)), np.zeros(0))

    monkeypatch.setattr(Cuts, "_search_strictly", nothing)
    monkeypatch.setattr(Cuts, "_provable", lambda *_: [False])
    monkeypatch.setattr(Cuts, "_with_duals", lambda self, state, view: state)
    sample = SimpleNamespace(seed=0, weighted_rows=lambda: (np.zeros((3, 2)), None))
    state = Search([SimpleNamespace(direction=None)], [np.zeros((1, 2))], searches=before)
    cuts = Cuts(hard=hard, points=256, max_cells=1, max_dimension=4)
    assert cuts.settle(None, SimpleNamespace(state=state, sample=sample, tol=1e-6)) is None
    assert len({seed for seed, _ in seeds}) == len(seeds) == after
    assert [rows for _, rows in seeds] == [trial == 1 for trial in range(after)]


def test_a_point_is_raised_by_its_own_violation_only():
    X, y = broad_problem()
    model = PriorSVC(Box({0: (0.8, 2.0)}, 1, hard=True), kernel=RBF(0.2), C=3.0, max_rounds=1)
    with pytest.warns(PriorSVMWarning):
        model.fit(X, y)
    binary = model._models[0]
    [state] = binary.states.values()
    cuts = Cuts(hard=True, points=256, max_cells=1, max_dimension=4)
    mask = np.ones(len(state.points[0]), bool)
    new = state.points[0][:2] + 1e-2
    extended = cuts._extended(binary.f, state, [_Found(mask, new, np.array([1e-4, 3e-4]))], True)
    np.testing.assert_array_equal(extended.lift[0], [*np.zeros(len(mask)), 1e-4, 3e-4])
    later = cuts._extended(binary.f, state, [_Found(mask, new, np.array([1e-4, 0.5]))], True)
    assert later.lift is None
