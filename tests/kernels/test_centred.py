"""Conditionally positive definite kernels: the centred kernel, and models of the 2-norm."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import additive_chi2_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    HaarIntegration,
    InvarianceHint,
    Linear,
    Monotone,
    NegativeDistance,
    Polynomial,
    PriorSVC,
    SampleCosts,
    Shift,
    Translation,
    UncertainSamples,
    VirtualSamples,
    check_knowledge,
    load,
    save,
)
from priorsvm.errors import Infeasible, InvalidInput, MissingCapability
from priorsvm.kernels import Centred, FromCallable, Pairwise, SetKernel
from priorsvm.kernels.centred import CANDIDATES, central_row

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] + X[:, 1] ** 2 + 0.5 * RNG.normal(size=40) > 0.7).astype(int)
SIGN = 2.0 * Y - 1.0
NEW = RNG.normal(size=(25, 3))
THREE = np.digitize(X[:, 0], [-0.5, 0.5])

POWERS = [0.5, 1.0, 1.5, 2.0]


def svc_scores(kernel, A, labels, Z, **parameters):
    """Return the scores of SVC, which uses the kernel as it is."""
    model = SVC(kernel="precomputed", tol=1e-10, **parameters).fit(kernel(A), labels)
    return model.decision_function(kernel(Z, A))


class Expansion:
    """f(x) = sum_j beta_j k(x, z_j) + b with beta_1 + ... + beta_m = 0, written out in CVXPY."""

    def __init__(self, kernel, centres):
        self.kernel = kernel
        self.centres = np.unique(centres, axis=0)
        m = len(self.centres)
        self.beta = cp.Variable(m)
        self.b = cp.Variable()
        zero_sum = np.eye(m) - 1.0 / m
        K = zero_sum @ kernel(self.centres) @ zero_sum
        self.half = 0.5 * cp.quad_form(self.beta, cp.psd_wrap((K + K.T) / 2))

    def __call__(self, Z):
        return self.kernel(Z, self.centres) @ self.beta + self.b

    def slope(self, Z, V):
        return self.kernel.slope(Z, V, self.centres) @ self.beta

    def solved(self, loss, constraints, Z):
        problem = cp.Problem(cp.Minimize(self.half + loss), [cp.sum(self.beta) == 0, *constraints])
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
        return problem.value, self(Z).value


def hinge(f, Z=X, sign=SIGN):
    return cp.pos(1 - cp.multiply(sign, f(Z)))


# ---------------------------------------------------------------------- models without blocks


@pytest.mark.parametrize("solver", ["auto", "LIBSVM", "ROWS", "SCHUR", "CLARABEL"])
@pytest.mark.parametrize("power", POWERS)
def test_the_model_equals_svc_with_the_same_kernel(power, solver):
    kernel = NegativeDistance(power)
    model = PriorSVC(kernel=kernel, C=3.0, solver=solver).fit(X, Y)
    expected = svc_scores(kernel, X, Y, NEW, C=3.0)
    np.testing.assert_allclose(model.decision_function(NEW), expected, atol=1e-6 * np.abs(expected).max())


def test_the_route_of_low_rank_kernels_agrees():
    kernel = NegativeDistance(2)
    models = [PriorSVC(kernel=kernel, solver=solver).fit(X, Y) for solver in ("NORMAL", "CLARABEL")]
    a, b = (model.decision_function(NEW) for model in models)
    np.testing.assert_allclose(a, b, atol=1e-7)


def test_the_squared_distance_is_the_linear_model():
    # -|x - z|² = 2 x·z up to terms that coefficients of sum zero cancel.
    model = PriorSVC(kernel=NegativeDistance(2), C=1.0).fit(X, Y)
    linear = PriorSVC(C=2.0).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(NEW), linear.decision_function(NEW), atol=1e-8)


@pytest.mark.parametrize(
    "kernel",
    [
        Pairwise("additive_chi2"),
        2.5 * NegativeDistance() + RBF(gamma=0.4),
        NegativeDistance(0.5) + Linear(),
        Polynomial(degree=1, gamma=0.7, coef0=-2.0),
        HaarIntegration(NegativeDistance(), Shift([0.3, 0.0, 0.0]) | Shift([0.0, 0.2, 0.0])),
    ],
    ids=repr,
)
def test_every_conditionally_definite_kernel_equals_svc(kernel):
    rows, new = np.abs(X), np.abs(NEW)
    assert kernel.definiteness == "cpd"
    model = PriorSVC(kernel=kernel, C=2.0).fit(rows, Y)
    assert isinstance(model.kernel_, Centred)
    expected = svc_scores(kernel, rows, Y, new, C=2.0)
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-6 * np.abs(expected).max())


def test_against_scikit_learns_own_kernel_function():
    rows = np.abs(X)
    model = PriorSVC(kernel="additive_chi2", C=2.0).fit(rows, Y)
    reference = SVC(kernel=additive_chi2_kernel, C=2.0, tol=1e-10).fit(rows, Y)
    np.testing.assert_allclose(
        model.decision_function(rows), reference.decision_function(rows), rtol=1e-5, atol=1e-6
    )


def test_one_model_per_class_equals_svc_against_the_rest():
    kernel = NegativeDistance()
    scores = PriorSVC(kernel=kernel).fit(X, THREE).decision_function(NEW)
    expected = np.column_stack([svc_scores(kernel, X, label == THREE, NEW) for label in range(3)])
    np.testing.assert_allclose(scores, expected, atol=1e-6)


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_scaled_columns(scale):
    rows = X * [1.0, 100.0, 0.01] + [5.0, 0.0, -3.0]
    new = NEW * [1.0, 100.0, 0.01] + [5.0, 0.0, -3.0]
    shift, width = (rows.mean(0), rows.std(0)) if scale == "standard" else (rows.min(0), np.ptp(rows, axis=0))
    model = PriorSVC(kernel=NegativeDistance(), scale=scale).fit(rows, Y)
    expected = svc_scores(NegativeDistance(), (rows - shift) / width, Y, (new - shift) / width)
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-6)


def test_sample_weights_and_rows_of_weight_zero():
    weight = RNG.integers(0, 3, len(X)).astype(float)
    model = PriorSVC(kernel=NegativeDistance()).fit(X, Y, sample_weight=weight)
    copies = np.repeat(np.arange(len(X)), weight.astype(int))
    expected = svc_scores(NegativeDistance(), X[copies], Y[copies], NEW)
    np.testing.assert_allclose(model.decision_function(NEW), expected, atol=1e-6)
    removed = PriorSVC(kernel=NegativeDistance()).fit(
        X[weight > 0], Y[weight > 0], sample_weight=weight[weight > 0]
    )
    np.testing.assert_array_equal(removed.kernel_.point, model.kernel_.point)


def test_all_centres_of_a_nystroem_model_give_the_model_itself():
    whole = PriorSVC(kernel=NegativeDistance()).fit(X, Y)
    all_centres = PriorSVC(kernel=NegativeDistance(), n_centres=len(X)).fit(X, Y)
    np.testing.assert_allclose(all_centres.decision_function(NEW), whole.decision_function(NEW), atol=1e-6)
    few = PriorSVC(kernel=NegativeDistance(), n_centres=12).fit(X, Y)
    assert len(few.centres_) <= 12
    assert few.objective_ > whole.objective_
    # The projection of Φ(x) - Φ(z₀) on the span of Φ(p) - Φ(z₀), by the matrix of these differences.
    k = few.kernel_
    P = few.centres_
    gram = k(X, P) @ np.linalg.solve(k(P), k(P, X))
    reference = SVC(kernel="precomputed", tol=1e-10).fit(gram, Y)
    np.testing.assert_allclose(few.decision_function(X), reference.decision_function(gram), atol=1e-5)


def test_the_squared_hinge():
    f = Expansion(NegativeDistance(), X)
    value, scores = f.solved(2.0 * cp.sum(hinge(f) ** 2), [], NEW)
    model = PriorSVC(kernel=NegativeDistance(), C=2.0, loss="squared_hinge").fit(X, Y)
    np.testing.assert_allclose(model.objective_, value, rtol=1e-7)
    np.testing.assert_allclose(model.decision_function(NEW), scores, atol=1e-5)


def test_preselect_uses_the_base_of_an_invariant_kernel():
    images = RNG.normal(size=(30, 16))
    labels = (images[:, :8].sum(axis=1) > 0).astype(int)
    kernel = HaarIntegration(NegativeDistance(), Translation((4, 4), 1))
    model = PriorSVC(kernel=kernel, preselect=True, C=0.5).fit(images, labels)
    first = SVC(kernel="precomputed", C=0.5, tol=1e-10).fit(NegativeDistance()(images), labels).support_
    expected = svc_scores(kernel, images[first], labels[first], images, C=0.5)
    np.testing.assert_allclose(model.decision_function(images), expected, atol=1e-6)


# ---------------------------------------------------------------------- models with blocks


def test_costs_equal_svc_with_weights():
    costs = np.linspace(0.5, 2.0, len(X))
    model = PriorSVC(ClassCosts({1: 3.0}) + SampleCosts(costs), kernel=NegativeDistance()).fit(X, Y)
    svc = SVC(kernel="precomputed", tol=1e-10, class_weight={1: 3.0})
    svc.fit(NegativeDistance()(X), Y, sample_weight=costs)
    expected = svc.decision_function(NegativeDistance()(NEW, X))
    np.testing.assert_allclose(model.decision_function(NEW), expected, atol=1e-6)


@pytest.mark.parametrize("solver", ["auto", "CLARABEL", "ROWS", "SCHUR"])
def test_virtual_samples_and_a_soft_invariance_hint(solver):
    shift = Shift([0.4, -0.2, 0.0])
    moved = shift.orbit(X)[:, 1:].reshape(-1, 3)
    count = len(moved) // len(X)
    rows, signs = np.vstack([X, moved]), np.concatenate([SIGN, np.repeat(SIGN, count)])
    f = Expansion(NegativeDistance(), rows)
    hint = 5.0 / len(moved) * cp.sum_squares(f(moved) - f(np.repeat(X, count, axis=0)))
    value, scores = f.solved(cp.sum(hinge(f, rows, signs)) + hint, [], NEW)
    prior = VirtualSamples(shift) + InvarianceHint(shift, mu=5.0)
    model = PriorSVC(prior, kernel=NegativeDistance(), solver=solver).fit(X, Y)
    np.testing.assert_allclose(model.objective_, value, rtol=1e-6)
    np.testing.assert_allclose(model.decision_function(NEW), scores, atol=1e-4)


@pytest.mark.parametrize("solver", ["auto", "CLARABEL", "ROWS", "SCHUR"])
def test_a_hard_invariance_hint_and_a_rule_at_points(solver):
    shift = Shift([0.4, -0.2, 0.0])
    moved = shift.orbit(X)[:, 1:].reshape(-1, 3)
    count = len(moved) // len(X)
    points = np.array([[2.0, 2.0, 0.0], [2.5, 2.5, 0.5], [3.0, 2.0, 1.0]])
    f = Expansion(NegativeDistance(), np.vstack([X, moved, points]))
    constraints = [f(moved) == f(np.repeat(X, count, axis=0)), f(points) <= -1]
    value, scores = f.solved(cp.sum(hinge(f)), constraints, NEW)
    box = Box({0: (2, 3), 1: (2, 3), 2: (0, 1)}, 0, hard=True, method="points", points=points)
    prior = InvarianceHint(shift, hard=True) + box
    model = PriorSVC(prior, kernel=NegativeDistance(), solver=solver).fit(X, Y)
    np.testing.assert_allclose(model.objective_, value, rtol=1e-6)
    np.testing.assert_allclose(model.decision_function(NEW), scores, atol=1e-4)


def test_slopes_of_a_smooth_power():
    points = RNG.uniform(-1, 1, size=(6, 3))
    along = np.zeros_like(points)
    along[:, 2] = 1.0
    kernel = NegativeDistance(1.5)
    f = Expansion(kernel, np.vstack([X, points]))
    value, scores = f.solved(cp.sum(hinge(f)), [f.slope(points, along) >= 0], NEW)
    block = Monotone({2: 1}, hard=True, method="points", points=points)
    model = PriorSVC(block, kernel=kernel).fit(X, Y)
    free = PriorSVC(kernel=kernel).fit(X, Y)
    assert value > free.objective_ + 1e-4
    np.testing.assert_allclose(model.objective_, value, rtol=1e-6)
    np.testing.assert_allclose(model.decision_function(NEW), scores, atol=1e-4)


def test_a_rule_on_a_region_holds():
    box = Box({0: (2, 3), 1: (2, 3), 2: (0, 1)}, 0, hard=True)
    model = PriorSVC(box, kernel=NegativeDistance()).fit(X, Y)
    inside = RNG.uniform([2, 2, 0], [3, 3, 1], size=(500, 3))
    assert model.decision_function(inside).max() < -1 + 1e-3
    assert model.verify().holds


def test_the_1_norm_uses_the_kernel_as_it_is():
    model = PriorSVC(kernel=NegativeDistance(), norm="l1").fit(X, Y)
    assert repr(model.kernel_) == "NegativeDistance()"
    assert PriorSVC(Monotone({0: 1}, method="points"), kernel=NegativeDistance(), norm="l1").fit(X, Y)


@pytest.mark.parametrize("power", [0.5, 1.0])
@pytest.mark.parametrize(
    "block", [Monotone({0: 1}, holds="everywhere"), UncertainSamples(0.1)], ids=lambda b: type(b).__name__
)
def test_blocks_on_slopes_are_refused_without_a_derivative_at_equal_rows(block, power):
    with pytest.raises(MissingCapability, match=r"block '(monotone|uncertain_samples)'.*NegativeDistance"):
        PriorSVC(block, kernel=NegativeDistance(power)).fit(X, Y)


@pytest.mark.slow
@pytest.mark.parametrize("block", [InvarianceHint(Shift([0.3, 0.0, 0.0])), ClassCosts({1: 2.0})], ids=repr)
def test_blocks_obey_their_laws(block):
    assert check_knowledge(block, kernels=(NegativeDistance(),))


def test_contradictions_are_named():
    both = Box({0: (1, 2)}, 1, hard=True) + Box({0: (1.5, 2)}, 0, hard=True).named("other")
    with pytest.raises(Infeasible, match=r"'box'.*'other'"):
        PriorSVC(both, kernel=NegativeDistance()).fit(X, Y)


def test_an_assembled_problem_gives_the_classifier_and_keeps_its_bias_free():
    assembly = PriorSVC(kernel=NegativeDistance()).assemble(X, Y)
    with pytest.raises(MissingCapability, match=r"f\.bias, which a model with Centred.* positive definite"):
        _ = assembly.f.bias
    assembly.solve()
    expected = svc_scores(NegativeDistance(), X, Y, NEW)
    np.testing.assert_allclose(assembly.classifier().decision_function(NEW), expected, atol=1e-6)


# ---------------------------------------------------------------------- the point


@pytest.mark.parametrize(
    "prior", [None, InvarianceHint(Shift([0.4, -0.2, 0.0]), mu=5.0)], ids=["plain", "hint"]
)
def test_the_point_does_not_matter(prior):
    scores = []
    norms = []
    for point in (X[3], NEW[0], [5.0, 5.0, 5.0], [0.0, 0.0, 0.0]):
        model = PriorSVC(prior, kernel=Centred(NegativeDistance(), point), tol=1e-9).fit(X, Y)
        scores.append(model.decision_function(NEW))
        norms.append(model._models[0].f.norm("l2"))
    np.testing.assert_allclose(scores, [scores[0]] * 4, atol=1e-6)
    np.testing.assert_allclose(norms, [norms[0]] * 4, rtol=1e-7)


@pytest.mark.parametrize("offset", [2.0**10, 2.0**30])
def test_large_offsets_keep_the_digits(offset):
    rows, new = (np.round(2.0**20 * A) / 2.0**20 for A in (X, NEW))  # offsets are added without rounding
    near = PriorSVC(kernel=NegativeDistance()).fit(rows, Y)
    far = PriorSVC(kernel=NegativeDistance()).fit(rows + offset, Y)
    np.testing.assert_array_equal(far.kernel_.point, near.kernel_.point + offset)
    np.testing.assert_allclose(far.decision_function(new + offset), near.decision_function(new), atol=1e-9)
    # The origin as the point loses the digits that the values at the rows have in common.
    lost = PriorSVC(kernel=Centred(NegativeDistance(), np.zeros(3))).fit(rows + 2.0**30, Y)
    assert np.abs(lost.decision_function(new + 2.0**30) - near.decision_function(new)).max() > 1e-9


def test_the_point_is_not_an_outlier():
    rows = np.vstack([X, [[1e9, -1e9, 1e9], [1e8, 1e8, 1e8]]])
    labels = np.append(Y, [0, 1])
    model = PriorSVC(kernel=NegativeDistance()).fit(
        rows, labels, sample_weight=np.append(np.ones(40), [0, 0])
    )
    assert np.abs(central_row(NegativeDistance(), rows)).max() < 5
    alone = PriorSVC(kernel=NegativeDistance()).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(NEW), alone.decision_function(NEW), atol=1e-9)


def test_the_point_is_independent_of_order_and_copies():
    order = RNG.permutation(len(X))
    a, b = (central_row(NegativeDistance(), rows) for rows in (X, np.vstack([X[order], X[order[:9]]])))
    np.testing.assert_array_equal(a, b)
    many = RNG.normal(size=(3 * CANDIDATES, 3))
    point = central_row(NegativeDistance(), many)
    assert (many == point).all(axis=1).any()
    np.testing.assert_array_equal(point, central_row(NegativeDistance(), many[::-1]))
    distances = np.median(cdist(X, X), axis=1)
    np.testing.assert_array_equal(a, X[np.argmin(distances)])


# ---------------------------------------------------------------------- the kernel


@pytest.mark.parametrize(
    "kernel", [NegativeDistance(1.5), RBF(0.3), RBF(0.3) + Polynomial(2, 0.5, 1.0)], ids=repr
)
def test_values_are_the_formula(kernel):
    point = NEW[0]
    expected = kernel(X, NEW) - kernel(X, [point]) - kernel([point], NEW) + kernel([point])[0, 0]
    np.testing.assert_allclose(Centred(kernel, point)(X, NEW), expected, atol=1e-12)


def test_bounds_of_a_centred_kernel_are_bounds_of_its_base():
    base = RBF(0.3)
    kernel = Centred(base, NEW[0])
    np.testing.assert_array_equal(kernel.derivative_bound(2, [1.0]), base.derivative_bound(2, [1.0]))
    np.testing.assert_array_equal(
        kernel.displacement_bound([0.5], [1.0]), base.displacement_bound([0.5], [1.0])
    )


def test_claims():
    kernel = Centred(NegativeDistance(), NEW[0])
    assert kernel.definiteness == "psd"
    assert kernel.needs_bias
    assert not kernel.has_slope
    assert Centred(NegativeDistance(1.5), NEW[0]).has_slope
    assert not Centred(RBF(0.3), NEW[0]).needs_bias
    assert (kernel + RBF(0.3)).needs_bias
    assert Centred(FromCallable(np.dot)).definiteness == "unknown"
    with pytest.raises(
        MissingCapability, match=r"NegativeDistance\(\) has no slope where two rows are equal"
    ):
        kernel.slope(X, X, X)


def test_without_a_point_it_refuses_to_compute():
    with pytest.raises(InvalidInput, match=r"point is None.*resolved\(X\)"):
        Centred(NegativeDistance())(X)
    resolved = Centred(NegativeDistance()).resolved(X)
    np.testing.assert_array_equal(resolved.point, central_row(NegativeDistance(), X))
    assert repr(Centred(NegativeDistance())) == "Centred(NegativeDistance(), point=None)"


def test_a_conditionally_definite_kernel_between_sets():
    class MeanDistance(SetKernel):
        """Negative distance of the means of two sets."""

        base = None
        definiteness = "cpd"

        def _matrix(self, A, B):
            return -cdist(*(sets.elements.sum(axis=1) / sets.sizes[:, None] for sets in (A, B)))

    sets = [RNG.normal(size=(RNG.integers(1, 4), 2)) + 2 * label for label in Y]
    means = np.array([one.mean(axis=0) for one in sets])
    model = PriorSVC(kernel=MeanDistance()).fit(sets, Y)
    expected = svc_scores(NegativeDistance(), means, Y, means)
    np.testing.assert_allclose(model.decision_function(sets), expected, atol=1e-6)


# ---------------------------------------------------------------------- reports and files


def test_the_report_and_the_formulation_state_the_centred_kernel():
    model = PriorSVC(kernel=NegativeDistance()).fit(X, Y)
    shown = model.kernel_.shown_point()
    assert repr(model.kernel_) == f"Centred(NegativeDistance(), point={shown})"
    latex = str(model.formulation())
    assert "k(x, z) - k(x, z_0) - k(z_0, z) + k(z_0, z_0)" in latex
    assert r"k = \mathrm{NegativeDistance()}" in latex
    assert f"z₀ = {shown}" in model.formulation().text()
    assert f"kernel: {model.kernel_!r}; conditionally positive definite" in str(model.report_)
    assert PriorSVC(kernel="rbf").fit(X, Y).report_.kernel == ""


def test_the_shown_point_is_short():
    assert len(repr(Centred(NegativeDistance(), np.arange(100.0)))) < 80


def test_coefficients_and_centres_give_the_scores():
    model = PriorSVC(kernel=NegativeDistance()).fit(X, Y)
    by_hand = model.kernel_(NEW, model.centres_) @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(by_hand[:, 0], model.decision_function(NEW), atol=1e-10)
    assert abs(model.dual_coef_.sum()) < 1e-10
    # The coefficients sum to zero, so the kernel as given has the same scores up to a constant.
    given = NegativeDistance()(NEW, model.centres_) @ model.dual_coef_[0]
    assert np.ptp(given - model.decision_function(NEW)) < 1e-10


def test_files_keep_the_point(tmp_path):
    pytest.importorskip("skops.io")
    model = PriorSVC(Box({0: (1, None)}, 0, method="points", points=16), kernel=NegativeDistance()).fit(X, Y)
    save(model, tmp_path / "model.skops")
    loaded = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.kernel_.point, model.kernel_.point)
    np.testing.assert_array_equal(loaded.decision_function(NEW), model.decision_function(NEW))


def test_a_grid_search_sets_the_power():
    search = GridSearchCV(PriorSVC(kernel=NegativeDistance()), {"kernel__power": [0.5, 1.5]}, cv=3).fit(X, Y)
    assert search.best_estimator_.kernel_.base.power == search.best_params_["kernel__power"]


def test_a_path_over_c_keeps_the_point():
    models = PriorSVC(kernel=NegativeDistance()).fit_path(X, Y, {"C": [0.1, 1.0, 10.0]})
    for model in models:
        expected = svc_scores(NegativeDistance(), X, Y, NEW, C=model.C)
        np.testing.assert_allclose(model.decision_function(NEW), expected, atol=1e-6 * max(1, model.C))
