"""The decision function, before and after it is solved for."""

import os

import cvxpy as cp
import numpy as np
import pytest

from priorsvm import RBF, InvarianceHint, Linear, OddnessHint, Polynomial, PriorSVC, Shift
from priorsvm.errors import InvalidInput, KernelNotPSD, MissingCapability, TooLarge
from priorsvm.function.atoms import Atoms
from priorsvm.function.factor import pivoted_cholesky
from priorsvm.function.maps import FactorMap, KernelMap, LinearMap, ValueMap
from priorsvm.function.memory import refuse_beyond_memory
from priorsvm.function.scale import Scale
from priorsvm.function.symbolic import Decision
from priorsvm.function.tie import Tie
from priorsvm.kernels import FromCallable, Pairwise
from priorsvm.spec import Spec

KERNELS = [RBF(0.5), RBF(0.01), Polynomial(3, 0.5, 1.0), Polynomial(2, 1.0), Linear(), RBF(0.3) + Linear()]


@pytest.fixture(scope="module")
def centres():
    X = np.random.default_rng(0).normal(size=(60, 4))
    X.setflags(write=False)
    return X


@pytest.fixture(scope="module")
def new():
    X = np.random.default_rng(1).normal(size=(25, 4))
    X.setflags(write=False)
    return X


def decision(features, norm="l2"):
    """Return the symbolic f of a feature map, and a function that ties it and draws values for c and b."""
    spec = Spec(1.0, getattr(features, "kernel", None), norm, "hinge", features.scale, None, 1e-6)
    f = Decision(spec, features.n_features)

    def solve(seed=0):
        rng = np.random.default_rng(seed)
        tie = Tie(f, features)
        for variable in tie.c.variables():
            variable.value = np.abs(rng.normal(size=variable.shape))
        f.b.value = rng.normal()
        for definition in tie.definitions.values():
            if isinstance(definition, cp.SOC):
                f.length.value = np.linalg.norm(definition.args[1].value)
            else:
                definition.args[0].value = definition.args[1].value
        return tie

    return f, solve


# The factor of the kernel matrix


@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_features_of_the_centres_reproduce_the_kernel_matrix(centres, kernel, scale):
    features = FactorMap(kernel, centres, Scale.of(scale, centres))
    inner = centres if scale is None else (centres - centres.mean(axis=0)) / centres.std(axis=0)
    K, rows = kernel(inner), features.rows(centres)
    np.testing.assert_allclose(rows @ rows.T, K, atol=1e-10 * np.abs(K).max())
    assert rows.shape == (60, features.size)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_features_of_new_points_have_the_right_products_with_centres(centres, new, kernel):
    features = FactorMap(kernel, centres, None)
    products = features.rows(new) @ features.rows(centres).T
    K = kernel(new, centres)
    if features.size < 60:  # the kernel's own space is finite, and the pivots span it
        np.testing.assert_allclose(products, K, atol=1e-7 * np.abs(K).max())
    else:
        np.testing.assert_allclose(products, K, atol=1e-5 * np.abs(K).max())


def test_pivots_are_triangular_rows(centres):
    pivots, rows = pivoted_cholesky(RBF(0.5), centres)
    factor = rows[pivots]
    assert len(set(pivots.tolist())) == len(pivots) == rows.shape[1]
    np.testing.assert_array_equal(np.triu(factor, 1), 0.0)
    assert (np.diag(factor) > 0).all()


@pytest.mark.parametrize(
    ("kernel", "rank"), [(Linear(), 4), (Polynomial(2, 1.0), 10), (Polynomial(2, 1.0, 1.0), 15)]
)
def test_rank_is_that_of_the_feature_space(centres, kernel, rank):
    assert FactorMap(kernel, centres, None).size == rank


def test_repeated_centres_add_no_rank(centres):
    twice = np.vstack([centres[:20], centres[:20], centres[:20] + 1e-9])
    features = FactorMap(RBF(0.5), twice, None)
    assert features.size == 20
    rows = features.rows(twice)
    np.testing.assert_allclose(rows @ rows.T, RBF(0.5)(twice), atol=1e-10)


def test_a_kernel_matrix_in_the_users_hands_is_left_alone(centres):
    K = RBF(0.5)(centres)
    before = K.copy()
    FactorMap(FromCallable(lambda A, B: K), centres, None)
    np.testing.assert_array_equal(K, before)


@pytest.mark.parametrize("rank", [1, 7, 30])
def test_nystrom_takes_the_columns_of_its_pivots(centres, rank):
    kernel = RBF(0.2)
    features = FactorMap(kernel, centres, None, rank)
    assert features.size == rank
    rows = features.rows(centres)
    K = kernel(centres)
    P = features.centres
    best = kernel(centres, P) @ np.linalg.pinv(kernel(P), rcond=1e-13) @ kernel(P, centres)
    np.testing.assert_allclose(rows @ rows.T, best, atol=1e-8)
    assert np.linalg.eigvalsh(K - rows @ rows.T).min() > -1e-10
    at_pivots = features.rows(P)
    np.testing.assert_array_equal(np.triu(at_pivots, 1), 0.0)
    np.testing.assert_allclose(at_pivots @ at_pivots.T, kernel(P), atol=1e-10)


def test_nystrom_asks_for_no_other_columns(centres):
    asked = []

    def counting(A, B):
        asked.append((len(A), len(B)))
        return RBF(0.2)(A, B)

    FactorMap(FromCallable(counting), np.vstack([centres, centres + 5, centres - 5]), None, 5)
    assert asked.count((1, 180)) == 5
    assert max(a * b for a, b in asked) <= 64 * 64  # the diagonal comes in small blocks


def test_nystrom_of_full_rank_is_exact(centres):
    a, b = FactorMap(RBF(0.5), centres, None, 60), FactorMap(RBF(0.5), centres, None)
    np.testing.assert_array_equal(a.rows(centres), b.rows(centres))


def test_nystrom_stops_at_the_rank_there_is(centres):
    assert FactorMap(Linear(), centres, None, 20).size == 4


def test_minus_zero_is_zero(centres):
    plain = centres.copy()
    plain[0, 0] = 0.0
    signed = plain.copy()
    signed[0, 0] = -0.0
    features = FactorMap(RBF(0.5), plain, None)
    np.testing.assert_allclose(features.rows(signed), features.rows(plain), atol=1e-6)
    f, _ = decision(features, "l2")
    f(plain)
    f(signed)
    assert len(f.evaluations) == 1


# Affine expressions


@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
@pytest.mark.parametrize("kind", ["linear", "factor", "l1"])
def test_values_are_those_of_the_fitted_function(centres, new, kind, scale):
    units = Scale.of(scale, centres)
    features = {
        "linear": LinearMap(4, units),
        "factor": FactorMap(RBF(0.5), centres, units),
        "l1": KernelMap(RBF(0.5), centres, units),
    }[kind]
    f, solve = decision(features, "l1")
    expression = f(new)
    directions = np.random.default_rng(2).normal(size=new.shape)
    slopes = f.slope(new, directions)
    assert expression.shape == slopes.shape == (25,)
    assert expression.is_affine()
    assert slopes.is_affine()
    tie = solve()
    size = 1e-6 if kind == "factor" else 1e-10
    np.testing.assert_allclose(expression.value, tie.fitted().value(new), atol=size)
    np.testing.assert_allclose(slopes.value, tie.fitted().slope(new, directions), atol=size)


@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
@pytest.mark.parametrize(
    "kernel", [None, RBF(0.5), Polynomial(3, 0.5, 1.0), Polynomial(2, 1.0) + RBF(0.1)], ids=repr
)
def test_slope_is_the_derivative(centres, new, kernel, scale):
    X = centres * [1.0, 10.0, 0.1, 1.0] + [0.0, 3.0, 0.0, -1.0]
    Z = new * [1.0, 10.0, 0.1, 1.0] + [0.0, 3.0, 0.0, -1.0]
    units = Scale.of(scale, X)
    features = LinearMap(4, units) if kernel is None else KernelMap(kernel, X, units)
    f, solve = decision(features, "l2")
    V = np.random.default_rng(2).normal(size=Z.shape) * [1.0, 10.0, 0.1, 1.0]
    expression = f.slope(Z, V)
    tie = solve()
    h = 1e-5
    difference = (tie.fitted().value(Z + h * V) - tie.fitted().value(Z - h * V)) / (2 * h)
    np.testing.assert_allclose(expression.value, difference, rtol=1e-6, atol=1e-5 * np.abs(difference).max())
    np.testing.assert_allclose(tie.fitted().slope(Z, V), expression.value, rtol=1e-9, atol=1e-9)


def test_slope_in_the_factor_basis_is_the_derivative(centres, new):
    f, solve = decision(FactorMap(RBF(0.5), centres, None), "l2")
    V = np.random.default_rng(2).normal(size=new.shape)
    expression = f.slope(new, V)
    tie = solve()
    h = 1e-5
    difference = (tie.fitted().value(new + h * V) - tie.fitted().value(new - h * V)) / (2 * h)
    np.testing.assert_allclose(expression.value, difference, atol=1e-4 * np.abs(difference).max())


def test_regulariser(centres):
    for features, norm in ((LinearMap(4, None), "l2"), (FactorMap(RBF(0.5), centres, None), "l2")):
        tie = decision(features, norm)[1]()
        assert tie.regulariser.value == pytest.approx(0.5 * np.sum(tie.c.value**2))
        assert tie.regulariser.value == pytest.approx(0.5 * tie.fitted().norm("l2") ** 2, rel=1e-6)
    tie = decision(KernelMap(RBF(0.5), centres, None), "l1")[1]()
    # At an optimum one half of each pair is zero.
    up, down = tie.coefficients.halves
    down.value = np.where(up.value > 0.5, 0.0, down.value)
    up.value = np.where(up.value > 0.5, up.value, 0.0)
    assert tie.regulariser.value == pytest.approx(np.abs(tie.c.value).sum())
    assert tie.regulariser.value == pytest.approx(tie.fitted().norm("l1"))


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_weights_and_bias_are_in_the_users_units(centres, new, scale):
    X = centres * [1.0, 100.0, 0.01, 1.0] + 5.0
    f, solve = decision(LinearMap(4, Scale.of(scale, X)), "l2")
    expression = f(new)
    tie = solve()
    np.testing.assert_allclose(new @ f.coef.value + f.bias.value, expression.value, atol=1e-9)
    fitted = tie.fitted()
    np.testing.assert_allclose(fitted.coef, f.coef.value)
    assert fitted.bias == pytest.approx(float(f.bias.value))
    assert fitted.norm("l2") == pytest.approx(np.linalg.norm(tie.c.value))
    assert fitted.norm("l1") == pytest.approx(np.abs(tie.c.value).sum())


def test_kernel_matrix_in_the_users_units(centres, new):
    X = centres * 10.0
    f, _ = decision(FactorMap(RBF(0.5), X, Scale.of("minmax", X)), "l2")
    inner = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    np.testing.assert_allclose(f.kernel(X[:5], X), RBF(0.5)(inner[:5], inner), atol=1e-12)


def test_what_a_model_lacks_is_named(centres):
    linear, _ = decision(LinearMap(4, None))
    kernel, _ = decision(FactorMap(RBF(0.5), centres, None))
    rough, _ = decision(KernelMap(FromCallable(lambda A, B: A @ B.T), centres, None), "l1")
    with pytest.raises(
        MissingCapability, match=r"requires f.coef, which a model with RBF.* use kernel='linear'"
    ):
        _ = kernel.coef
    with pytest.raises(MissingCapability, match=r"requires f\.coef"):
        _ = kernel.bias
    with pytest.raises(MissingCapability, match=r"requires f\.kernel, which a linear model"):
        linear.kernel(centres, centres)
    with pytest.raises(MissingCapability, match=r"requires f.slope.*use a linear model or a kernel"):
        rough.slope(centres, centres)
    assert kernel.slope(centres, centres).shape == linear.slope(centres, centres).shape == (60,)
    assert linear.used == {"kernel", "slope"}
    assert kernel.used == {"coef", "slope"}


def test_f_expands_over_what_is_evaluated_and_what_is_named(centres, new):
    f, _ = decision(FactorMap(RBF(0.5), centres, None))
    V = np.ones_like(new)
    f(centres[:3])
    f(centres[1:5])
    f.slope(new[:4], V[:4], spans=False)
    f.span(new[:2])
    f.slope(new[2:4], V[2:4])
    f.slope(new[3:5], V[3:5])
    points, at, along = f.expansion()
    np.testing.assert_array_equal(points, np.vstack([centres[:5], new[:2]]))
    np.testing.assert_array_equal(at, new[2:5])
    np.testing.assert_array_equal(along, V[2:5])
    assert [e.spans for e in f.evaluations] == [True, True, False, True]


# Shared variables


def points_of(f):
    return sum(e.variable.size for e in f.evaluations if e.biased)


def test_a_point_asked_twice_is_in_the_problem_once(centres, new):
    f, solve = decision(FactorMap(RBF(0.5), centres, None), "l2")
    first, again = f(new), f(new)
    part = f(new[[3, 1, 7]])
    mixed = f(np.vstack([new[5], centres[0], new[2]]))
    assert len(f.evaluations) == 2
    assert points_of(f) == 26
    tie = solve()
    np.testing.assert_array_equal(again.value, first.value)
    np.testing.assert_array_equal(part.value, first.value[[3, 1, 7]])
    expected = tie.fitted().value(np.vstack([new[5], centres[0], new[2]]))
    np.testing.assert_allclose(mixed.value, expected, atol=1e-6)


def test_duplicates_within_one_call(centres):
    f, solve = decision(LinearMap(4, None), "l2")
    Z = centres[[0, 1, 0, 2, 1]]
    expression = f(Z)
    assert points_of(f) == 3
    tie = solve()
    np.testing.assert_allclose(expression.value, tie.fitted().value(Z))


def test_order_of_calls_does_not_matter(centres):
    f, solve = decision(LinearMap(4, None), "l2")
    sets = [centres[3:5], centres[[4, 0, 4, 9]], centres[:6], centres[::-1]]
    expressions = [f(Z) for Z in sets]
    assert points_of(f) == 60
    tie = solve()
    for Z, expression in zip(sets, expressions, strict=True):
        np.testing.assert_allclose(expression.value, tie.fitted().value(Z))


def test_slopes_are_shared_by_point_and_direction(centres):
    f, solve = decision(LinearMap(4, None), "l2")
    V = np.ones_like(centres[:3])
    first, again, other = f.slope(centres[:3], V), f.slope(centres[:3], V), f.slope(centres[:3], 2 * V)
    assert len(f.evaluations) == 2
    solve()
    np.testing.assert_array_equal(first.value, again.value)
    np.testing.assert_allclose(other.value, 2 * first.value)


def test_no_points_have_no_values(centres):
    f, _ = decision(LinearMap(4, None), "l2")
    assert f(centres[:0]).shape == (0,)
    f(centres[:3])
    assert f(centres[:0]).shape == f.slope(centres[:0], centres[:0]).shape == (0,)
    assert points_of(f) == 3


def test_points_of_two_blocks_are_shared(centres):
    y = np.tile([0, 1], 30)
    shift = Shift([0.1, 0.0, 0.0, 0.0])
    one = PriorSVC(InvarianceHint(shift), solver="CLARABEL").fit(centres, y)
    two = PriorSVC(InvarianceHint(shift) + InvarianceHint(shift).named("again") + OddnessHint()).fit(
        centres, y
    )
    assert points_of(one._models[0].problem.f) == 180
    assert points_of(two._models[0].problem.f) == 240


def test_values_are_numbers_once_solved(centres):
    features = LinearMap(4, None)
    f, _ = decision(features)
    values = f(centres)
    tie = Tie(f, features)
    objective = tie.regulariser + cp.sum_squares(values - 1.0)
    cp.Problem(cp.Minimize(objective), list(tie.definitions.values())).solve(solver="CLARABEL")
    np.testing.assert_allclose(tie.fitted().value(centres), values.value, atol=1e-8)


# Scale


def test_standard_and_minmax():
    X = np.array([[0.0, 10.0], [2.0, 30.0], [4.0, 50.0]])
    standard, minmax = Scale.of("standard", X), Scale.of("minmax", X)
    np.testing.assert_allclose(standard.points(X).mean(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(standard.points(X).std(axis=0), 1.0)
    np.testing.assert_allclose(minmax.points(X), [[0, 0], [0.5, 0.5], [1, 1]])
    np.testing.assert_allclose(minmax.directions(np.array([[4.0, 40.0]])), [[1, 1]])
    assert Scale.of(None, X) is None
    with pytest.raises(InvalidInput, match="scale must be 'standard', 'minmax' or None, got 'robust'"):
        Scale.of("robust", X)


@pytest.mark.parametrize("kind", ["standard", "minmax"])
def test_weights_count_rows(kind):
    X = np.random.default_rng(0).normal(size=(6, 2))
    X[2], X[5] = 100.0, -100.0
    repeats = np.array([1, 2, 0, 3, 1, 0])
    weighted, repeated = (
        Scale.of(kind, X, repeats.astype(float)),
        Scale.of(kind, np.repeat(X, repeats, axis=0)),
    )
    np.testing.assert_allclose(weighted.shift, repeated.shift)
    np.testing.assert_allclose(weighted.width, repeated.width)


@pytest.mark.parametrize("kind", ["standard", "minmax"])
@pytest.mark.parametrize("value", [0.0, 5.0, 1e9 + 0.1])
def test_a_constant_column_is_left_as_wide_as_it_is(kind, value):
    scale = Scale.of(kind, np.column_stack([np.full(7, value), np.arange(7.0)]))
    assert scale.width[0] == 1.0
    assert scale.width[1] > 1.0


@pytest.mark.parametrize("scale", ["standard", "minmax"])
@pytest.mark.parametrize("solver", ["LIBSVM", "CLARABEL"])
def test_scaled_machines_are_machines_on_scaled_rows(centres, new, scale, solver):
    X, Z = centres * [1.0, 50.0, 0.02, 1.0] + 3.0, new * [1.0, 50.0, 0.02, 1.0] + 3.0
    y = (centres[:, 0] + centres[:, 1] > 0).astype(int)
    units = Scale.of(scale, X)
    for kernel in ("linear", RBF(0.5)):
        raw = PriorSVC(kernel=kernel, scale=scale, solver=solver).fit(X, y)
        by_hand = PriorSVC(kernel=kernel, solver=solver).fit(units.points(X), y)
        expected = by_hand.decision_function(units.points(Z))
        np.testing.assert_allclose(raw.decision_function(Z), expected, atol=1e-6)
        if kernel == "linear":
            np.testing.assert_allclose(raw.coef_, by_hand.coef_ / units.width, rtol=1e-5, atol=1e-9)
            np.testing.assert_allclose(Z @ raw.coef_[0] + raw.intercept_[0], expected, atol=1e-6)


# Memory


def test_what_does_not_fit_is_refused_with_its_size(centres, monkeypatch):
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**18}[name])
    refuse_beyond_memory(8192, 8192, "the kernel matrix", "Set n_centres.")  # just half of 1 GiB
    with pytest.raises(
        TooLarge, match=r"the matrix would have 8192 x 8193 entries, 0\.5 GiB of the 1\.0 GiB.*Way out"
    ):
        refuse_beyond_memory(8192, 8193, "the matrix", "Way out.")


def test_kernel_machines_refuse_before_any_matrix_is_made(centres, monkeypatch):
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 10}[name])

    def never(A, B):
        raise AssertionError("a matrix was computed")

    with pytest.raises(TooLarge, match=r"the kernel matrix would have 60 x 60 entries.*Set n_centres"):
        FactorMap(FromCallable(never), centres, None)
    with pytest.raises(TooLarge, match=r"the Nyström factor would have 60 x 50 entries.*Lower n_centres"):
        FactorMap(FromCallable(never), centres, None, 50)
    assert FactorMap(RBF(0.5), centres, None, 40).size == 40
    with pytest.raises(TooLarge, match="60 x 60"):
        PriorSVC(kernel="rbf", solver="CLARABEL").fit(centres, np.tile([0, 1], 30))


# The fitted function


def test_fitted_values_come_in_pieces_of_any_size(centres, monkeypatch):
    y = (centres[:, 0] > 0).astype(int)
    model = PriorSVC(kernel=RBF(0.5)).fit(centres, y)
    [machine] = model._models
    whole = machine.f.value(centres)
    assert machine.f.value(centres[:0]).shape == (0,)
    many = np.tile(centres, (2000, 1))
    np.testing.assert_allclose(machine.f.value(many).reshape(2000, 60), np.tile(whole, (2000, 1)), atol=1e-12)


def test_unused_centres_are_dropped(centres):
    weights = np.where(np.arange(60) < 5, 1.0, 0.0)
    fitted = KernelMap(RBF(0.5), centres, None).fitted(weights, 0.5)
    assert fitted.centres.shape == (5, 4)
    np.testing.assert_allclose(fitted.value(centres), RBF(0.5)(centres, centres[:5]).sum(axis=1) + 0.5)


@pytest.mark.parametrize("scale", [None, Scale(np.array([1.0, 0.0, -1.0]), np.array([2.0, 0.5, 1.0]))])
def test_values_at_the_pivots_are_the_same_machine_as_the_factor(rng, scale):
    """Another basis of the same span: f, its slopes and its norm do not depend on it."""
    from priorsvm.function.maps import FactorMap, ValueMap

    centres, Z, V = rng.normal(size=(25, 3)), rng.normal(size=(7, 3)), rng.normal(size=(7, 3))
    factor = FactorMap(RBF(0.8), centres, scale)
    values = ValueMap(factor)
    assert ValueMap.suits(factor)
    c = rng.normal(size=values.size)
    same = np.linalg.solve(factor.factor, c)  # coordinates of the same g in the other basis
    for points in (centres, Z):
        np.testing.assert_allclose(values.rows(points) @ c, factor.rows(points) @ same, atol=1e-9)
    np.testing.assert_allclose(values.slopes(Z, V) @ c, factor.slopes(Z, V) @ same, atol=1e-9)
    assert c @ values.energy_matrix @ c == pytest.approx(same @ same)
    f, g = values.fitted(c, 0.3), factor.fitted(same, 0.3)
    np.testing.assert_allclose(f.value(Z), g.value(Z), atol=1e-9)
    assert f.norm("l2") == pytest.approx(g.norm("l2"))
    np.testing.assert_array_equal(values.rows(factor.centres).toarray(), np.eye(values.size))


def test_ill_conditioned_kernels_keep_the_factor():
    from priorsvm.function.maps import FactorMap, ValueMap

    X = np.random.default_rng(0).normal(size=(40, 2))
    assert not ValueMap.suits(FactorMap(RBF(1e-3), X, None))


# Curves and lengths


MACHINES = {
    "linear": lambda X, units: (LinearMap(X.shape[1], units), "l2"),
    "linear l1": lambda X, units: (LinearMap(X.shape[1], units), "l1"),
    "factor": lambda X, units: (FactorMap(RBF(0.3), X, units), "l2"),
    "nystrom": lambda X, units: (FactorMap(RBF(0.3), X, units, 15), "l2"),
    "values": lambda X, units: (ValueMap(FactorMap(RBF(3.0), X[:12], units)), "l2"),
    "polynomial": lambda X, units: (FactorMap(Polynomial(3, 0.3, 1.0), X, units), "l2"),
    "sum": lambda X, units: (FactorMap(0.5 * RBF(0.5) + Linear(), X, units), "l2"),
    "l1": lambda X, units: (KernelMap(RBF(0.3), X, units), "l1"),
    "polynomial l1": lambda X, units: (KernelMap(Polynomial(2, 0.3, 1.0), X, units), "l1"),
}

every_machine = pytest.mark.parametrize("kind", MACHINES)
every_scale = pytest.mark.parametrize("scale", [None, "standard"])


def made(kind, scale):
    """A decision function and its rows; the units of the features differ widely."""
    rng = np.random.default_rng(3)
    width = np.array([1.0, 20.0, 0.1]) if scale else np.ones(3)
    X = rng.normal(size=(30, 3)) * width + (5.0 * width if scale else 0.0)
    f, solve = decision(*MACHINES[kind](X, Scale.of(scale, X)))
    return f, solve, X, width


@every_scale
@every_machine
def test_curve_is_the_second_derivative(kind, scale):
    _, solve, X, width = made(kind, scale)
    Z, V = X[:6] + 0.1 * width, np.random.default_rng(4).normal(size=(6, 3)) * width
    U = V[::-1].copy()
    fitted = solve().fitted()
    h = 1e-5
    difference = (fitted.slope(Z + h * V, U) - fitted.slope(Z - h * V, U)) / (2 * h)
    np.testing.assert_allclose(fitted.curve(Z, U, V), difference, atol=1e-5 * (1 + np.abs(difference).max()))
    assert fitted.curve(Z[:0], U[:0], V[:0]).shape == (0,)


@every_scale
@every_machine
def test_length_is_the_norm(kind, scale):
    f, solve, *_ = made(kind, scale)
    assert f.length is f.length
    tie = solve()
    assert list(tie.definitions) == ["length"]
    fitted = tie.fitted()
    norm = fitted.norm("l2")
    assert f.length.value == pytest.approx(norm, rel=1e-6)
    # As a constraint: the least length is the norm of a given f.
    problem = cp.Problem(cp.Minimize(f.length), [tie.definitions["length"], tie.c == tie.c.value])
    problem.solve(solver="CLARABEL")
    assert f.length.value == pytest.approx(norm, rel=1e-5)


def test_the_norm_of_weights_that_cancel_is_rounded_up():
    """Two large weights on all but equal centres: the product w'Kw is rounding noise."""
    gap, weight = 1e-9, 1e6
    f = KernelMap(RBF(0.5), np.array([[0.0], [gap]]), None).fitted(np.array([weight, -weight]), 0.0)
    exact = weight * np.sqrt(-2 * np.expm1(-0.5 * gap**2))
    assert exact <= f.length <= weight * 1e-6
    ordinary = KernelMap(RBF(0.5), np.array([[0.0], [1.0]]), None).fitted(np.array([1.0, 2.0]), 0.0)
    assert ordinary.norm("l2") <= ordinary.length <= ordinary.norm("l2") * (1 + 1e-12)


def test_length_wants_a_definite_kernel(centres):
    with pytest.raises(KernelNotPSD, match=r"'sigmoid'.* not known to be positive semidefinite.*no norm"):
        _ = decision(KernelMap(Pairwise("sigmoid"), centres, None), "l1")[0].length


# Derivatives as centres


@pytest.fixture
def atoms(centres):
    return Atoms.both(centres[:15], centres[10:22], np.random.default_rng(5).normal(size=(12, 4)))


def by_differences(kernel, a, b, h=1e-3):
    """Inner products of atoms from values of the kernel alone: a slope is the limit of two values."""

    def ends(atoms):
        step = h * np.where(atoms.slopes[:, None], atoms.directions, 0.0)
        return atoms.points + step, atoms.points - step

    def joined(K_plus, K_minus, slope):
        return np.where(slope, (K_plus - K_minus) / (2 * h), K_plus)

    (up, down), (left, right) = ends(a), ends(b)
    first = joined(kernel(up, left), kernel(down, left), a.slopes[:, None])
    second = joined(kernel(up, right), kernel(down, right), a.slopes[:, None])
    return joined(first, second, b.slopes[None])


@pytest.mark.parametrize("kernel", [RBF(0.1), Polynomial(3, 0.2, 1.0), RBF(0.1) + Linear()], ids=repr)
def test_products_of_atoms_are_limits_of_kernel_values(atoms, kernel):
    K = atoms.products(kernel, atoms)
    np.testing.assert_allclose(K, by_differences(kernel, atoms, atoms), atol=1e-4 * np.abs(K).max())
    np.testing.assert_allclose(K, K.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(atoms.diag(kernel), np.diagonal(K), rtol=1e-12)
    some = atoms[[20, 3, 16]]
    np.testing.assert_allclose(some.products(kernel, atoms), K[[20, 3, 16]], rtol=1e-12, atol=1e-13)
    assert len(set(atoms.labels())) == len(atoms) == 27


@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize("rank", [None, 12])
def test_slopes_as_centres_span_what_they_stand_for(atoms, new, scale, rank):
    units = Scale.of(scale, atoms.points)
    features = FactorMap(RBF(0.2), atoms, units, rank)
    assert features.size == (27 if rank is None else rank)
    rng = np.random.default_rng(0)
    c, V = rng.normal(size=features.size), rng.normal(size=new.shape)
    f = features.fitted(c, 0.7)
    np.testing.assert_allclose(f.value(new), features.rows(new) @ c + 0.7, atol=1e-9)
    np.testing.assert_allclose(f.slope(new, V), features.slopes(new, V) @ c, atol=1e-9)
    assert f.norm("l2") == pytest.approx(np.linalg.norm(c), rel=1e-9)
    assert f.norm("l2") <= f.length <= f.norm("l2") * (1 + 1e-5)
    h = 1e-5
    np.testing.assert_allclose(
        f.slope(new, V), (f.value(new + h * V) - f.value(new - h * V)) / (2 * h), atol=1e-6
    )
    U = rng.normal(size=new.shape)
    central = (f.slope(new + h * U, V) - f.slope(new - h * U, V)) / (2 * h)
    np.testing.assert_allclose(f.curve(new, U, V), central, atol=1e-6)
    own = atoms[atoms.slopes]
    known = features.slopes(own.points, own.directions)
    if rank is None:
        joint = np.vstack([features.rows(atoms.points[:15]), known])
        K = atoms.scaled(units).products(RBF(0.2), atoms.scaled(units))
        np.testing.assert_allclose(joint @ joint.T, K, atol=1e-10 * np.abs(K).max())


def test_values_of_f_with_slopes_come_in_pieces(atoms, new, monkeypatch):
    f = FactorMap(RBF(0.2), atoms, None).fitted(np.random.default_rng(0).normal(size=27), 0.0)
    by_hand = RBF(0.2)(new, f.centres) @ f.weights
    by_hand += RBF(0.2).slope(f.slopes.points, f.slopes.directions, new).T @ f.slopes.weights
    np.testing.assert_allclose(f.value(new), by_hand, atol=1e-12)
    many = np.tile(new, (2**22 // 12 // len(new) + 1, 1))
    np.testing.assert_allclose(f.value(many)[-len(new) :], by_hand, atol=1e-12)
    assert f.value(np.empty((0, 4))).shape == f.curve(*[np.empty((0, 4))] * 3).shape == (0,)
