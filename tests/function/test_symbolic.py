"""The decision function while the problem is built: what is evaluated, shared and spanned."""

import re

import numpy as np
import pytest
from scipy.sparse import csr_array

from priorsvm import RBF, InvarianceHint, OddnessHint, PriorSVC, Shift
from priorsvm.errors import InvalidInput, KernelNotPSD, MissingCapability
from priorsvm.function.maps import FactorMap, KernelMap, LinearMap
from priorsvm.function.scale import Scale
from priorsvm.kernels import FromCallable, Pairwise
from tests.function.functions import decision


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
    assert kernel.bias is kernel.b
    with pytest.raises(MissingCapability, match=r"requires f\.kernel, which a linear model"):
        linear.kernel(centres, centres)
    with pytest.raises(MissingCapability, match=r"requires f.slope.*use a linear model or a kernel"):
        rough.slope(centres, centres)
    assert kernel.slope(centres, centres).shape == linear.slope(centres, centres).shape == (60,)
    assert linear.used == {"kernel", "slope"}
    assert kernel.used == {"bias", "coef", "slope"}


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


def points_of(f):
    return sum(e.variable.size for e in f.evaluations if e.biased)


def test_a_point_evaluated_twice_is_in_the_problem_once(centres, new):
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
    values = [[v.size for v in m.problem.variables() if re.fullmatch(r"f\d+", v.name())] for m in (one, two)]
    assert list(map(sum, values)) == [180, 240]


def test_length_requires_a_definite_kernel(centres):
    with pytest.raises(KernelNotPSD, match=r"'sigmoid'.* not known to be positive semidefinite.*no norm"):
        _ = decision(KernelMap(Pairwise("sigmoid"), centres, None), "l1")[0].length


@pytest.mark.parametrize("kind", ["kernel", "linear with scale"])
def test_sparse_points_are_refused_where_they_have_no_meaning(centres, kind):
    scale = Scale.of("minmax", centres)
    features = FactorMap(RBF(0.5), centres, None) if kind == "kernel" else LinearMap(4, scale)
    f, _ = decision(features)
    Z = csr_array(centres)
    uses = [lambda: f(Z), lambda: f.span(Z), lambda: f.slope(centres, Z)]
    if kind == "kernel":
        uses += [lambda: f.slope(Z, centres), lambda: f.kernel(Z, centres), lambda: f.kernel(centres, Z)]
    for use in uses:
        with pytest.raises(InvalidInput, match=r"f.* got sparse points.*dense points\. Use Z\.toarray\(\)"):
            use()


def test_a_linear_f_without_scale_takes_sparse_points(centres):
    f, _ = decision(LinearMap(4, None))
    assert f(csr_array(centres)).shape == f.slope(centres, csr_array(centres)).shape == (60,)
