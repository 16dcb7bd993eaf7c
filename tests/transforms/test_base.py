"""Laws of every transform, and the algebra of @ and |."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from priorsvm import transforms
from priorsvm.errors import InvalidInput
from priorsvm.transforms import (
    Composition,
    Elastic,
    FromFunction,
    Reflection,
    Rotation,
    Shear,
    Shift,
    Transform,
    Translation,
    Union,
    Zoom,
)

SHAPE = (6, 5)
D = 30
V = np.linspace(-1.0, 1.0, 2 * D).reshape(2, D)


def power(X, theta):
    return np.sign(X) * np.abs(X) ** (1 + theta)


def brighten(X, theta):
    return X * (1 + theta[0]) + theta[1]


CONTINUOUS = {
    "translation": Translation(SHAPE),
    "translation, full": Translation(SHAPE, pixels=2, fill=-1.0, grid="full"),
    "rotation": Rotation(SHAPE, degrees=15, steps=5, fill=0.3),
    "zoom": Zoom(SHAPE, percent=10),
    "shear": Shear(SHAPE, degrees=12, fill=-1.0),
    "elastic": Elastic(SHAPE, alpha=0.8, sigma=2.0, copies=3, random_state=7),
    "shift": Shift(V[0]),
    "shifts": Shift(V, steps=5),
    "function": FromFunction(power, thetas=[-0.2, 0.0, 0.2]),
    "function of vectors": FromFunction(brighten, thetas=[(0.1, 0.2), (-0.1, 0.0), (0.1, 0.2)]),
    "nothing": FromFunction(power, thetas=[]),
    "two in turn": Rotation(SHAPE, degrees=10) @ Translation(SHAPE),
    "three in turn": Zoom(SHAPE, percent=5) @ Rotation(SHAPE, degrees=10) @ Shift(V),
    "either": Rotation(SHAPE, degrees=10) | Translation(SHAPE, grid="full") | Shear(SHAPE, degrees=5),
    "either in turn": Shift(V[0]) @ (Rotation(SHAPE, degrees=10) | Zoom(SHAPE, percent=5)),
}
DISCRETE = {
    "reflection": Reflection(axis=1, shape=SHAPE),
    "reflection in turn": Reflection(axis=0, shape=SHAPE) @ Rotation(SHAPE, degrees=10),
    "reflection or": Reflection(axis=0, shape=SHAPE) | Translation(SHAPE),
}
ALL = CONTINUOUS | DISCRETE
GRID_SIZES = dict(zip(ALL, [5, 25, 5, 3, 3, 4, 3, 9, 3, 3, 1, 15, 45, 13, 15, 2, 6, 6], strict=True))

every = pytest.mark.parametrize("transform", ALL.values(), ids=ALL)
every_continuous = pytest.mark.parametrize("transform", CONTINUOUS.values(), ids=CONTINUOUS)
every_discrete = pytest.mark.parametrize("transform", DISCRETE.values(), ids=DISCRETE)


@pytest.fixture(scope="module")
def X():
    X = np.random.default_rng(0).uniform(0.1, 1.0, size=(7, D))
    X.setflags(write=False)
    return X


# Laws


@pytest.mark.parametrize("name", ALL)
def test_grid_has_the_identity_first_and_no_repeated_rows(name):
    transform, size = ALL[name], GRID_SIZES[name]
    grid = transform.theta_grid()
    assert grid.shape == (size, transform.n_parameters)
    assert not grid[0].any()
    assert not np.signbit(grid[0]).any()
    assert len({tuple(theta) for theta in grid}) == size


@every
def test_orbit_starts_with_x(transform, X):
    orbit = transform.orbit(X)
    assert orbit.shape == (len(X), len(transform.theta_grid()), D)
    np.testing.assert_array_equal(orbit[:, 0], X)


@every
def test_orbit_is_apply_over_the_grid(transform, X):
    moved = np.stack([transform.apply(X, theta) for theta in transform.theta_grid()], axis=1)
    np.testing.assert_allclose(transform.orbit(X), moved, rtol=0, atol=1e-13)


@every
def test_every_transformation_but_the_identity_changes_rows(transform, X):
    assert all(np.abs(moved - X).max() > 1e-3 for moved in transform.orbit(X).swapaxes(0, 1)[1:])


@every
def test_rows_are_transformed_independently(transform, X):
    one_by_one = np.concatenate([transform.orbit(x[None]) for x in X])
    np.testing.assert_allclose(transform.orbit(X), one_by_one, rtol=0, atol=1e-13)


@every
def test_no_rows_give_no_rows(transform):
    assert transform.orbit(np.empty((0, D))).shape == (0, len(transform.theta_grid()), D)


@every
def test_apply_returns_a_new_array(transform, X):
    moved = transform.apply(X, np.zeros(transform.n_parameters))
    np.testing.assert_array_equal(moved, X)
    assert not np.shares_memory(moved, X)


@every_continuous
def test_transformations_are_continuous_at_the_identity(transform, X):
    # Half the step halves the change; a jump at 0 would not shrink.
    for unit in np.eye(transform.n_parameters):
        far, near = (np.abs(transform.apply(X, h * unit) - X).max() for h in (1e-3, 5e-4))
        assert far < 0.02
        assert near == pytest.approx(far / 2, rel=0.02)


@every_continuous
def test_tangents_are_the_slopes_of_apply(transform, X):
    # One-sided differences of order 2: steps and formula differ from the code.
    tangents = transform.tangents(X)
    assert tangents.shape == (len(X), transform.n_parameters, D)
    for k, unit in enumerate(np.eye(transform.n_parameters)):
        h = 1e-4
        near, far = transform.apply(X, h * unit), transform.apply(X, 2 * h * unit)
        np.testing.assert_allclose(tangents[:, k], (4 * near - far - 3 * X) / (2 * h), rtol=0, atol=1e-6)


@every_continuous
def test_span_encloses_the_grid(transform):
    low, high = np.reshape(transform.span(), (-1, 2)).T
    grid = transform.theta_grid()
    np.testing.assert_array_equal(low, grid.min(axis=0))
    np.testing.assert_array_equal(high, grid.max(axis=0))
    assert transform.continuous


@every_discrete
@pytest.mark.parametrize("what", ["tangents", "span"])
def test_discrete_transforms_have_neither_tangents_nor_span(transform, what, X):
    assert not transform.continuous
    with pytest.raises(
        InvalidInput, match=rf"Reflection is discrete and has no {what}\. Use its orbit, or a continuous"
    ):
        transform.tangents(X) if what == "tangents" else transform.span()


@every
def test_clone_and_pickle_have_equal_orbits(transform, X):
    for copy in (clone(transform), pickle.loads(pickle.dumps(transform))):
        assert copy is not transform
        assert repr(copy) == repr(transform)
        np.testing.assert_array_equal(copy.orbit(X), transform.orbit(X))


@every
def test_repr_names_the_class(transform):
    assert repr(transform).startswith(type(transform).__name__ + "(")


@every
def test_arguments_are_stored_untouched(transform):
    for name, value in transform.get_params(deep=False).items():
        assert getattr(transform, name) is value
        assert type(transform)(**transform.get_params(deep=False)).get_params(deep=False)[name] is value


# Errors of every transform


@every
def test_x_must_be_two_dimensional(transform, X):
    match = r"requires X of shape \(n, d\), got shape \(30,\)\. For a single row x give x\.reshape"
    with pytest.raises(InvalidInput, match=match):
        transform.orbit(X[0])


def test_x_must_be_finite(X):
    X = X.copy()
    X[2, 3] = np.nan
    with pytest.raises(
        InvalidInput, match=r"Rotation requires finite X, but X\[2, 3\] is nan\. Impute the value"
    ):
        Rotation(SHAPE, degrees=10).orbit(X)


@pytest.mark.parametrize("bad", [sparse.eye_array(D).tocsr(), [["a", "b"]]])
def test_x_must_be_dense_and_numeric(bad):
    with pytest.raises(InvalidInput, match=r"Shift requires X as a dense array of numbers, got \w+:"):
        Shift(V).orbit(bad)


@pytest.mark.parametrize("theta", [1.0, [1.0, 2.0, 3.0], [[1.0, 0.0]], [np.nan, 0.0], "down"])
def test_theta_is_checked(theta, X):
    match = r"Translation\.apply: theta must have 2 finite numbers, one per .*, got .* theta_grid\(\) lists"
    with pytest.raises(InvalidInput, match=match):
        Translation(SHAPE).apply(X, theta)


def test_theta_may_be_a_number_if_there_is_one_parameter(X):
    rotation = Rotation(SHAPE, degrees=10)
    np.testing.assert_array_equal(rotation.apply(X, 10), rotation.apply(X, [10.0]))


def test_transforms_without_a_finite_orbit_have_no_grid(X):
    class Scaling(Transform):
        finite = False

    match = r"Scaling has no finite orbit: its transformations .* FromFunction\(function, thetas\)"
    with pytest.raises(InvalidInput, match=match):
        Scaling().orbit(X)
    assert not (Scaling() | Shift(V)).finite
    with pytest.raises(InvalidInput, match="Scaling has no finite orbit"):
        (Shift(V) | Scaling()).orbit(X)
    with pytest.raises(InvalidInput, match="Union has no finite orbit"):
        (Shift(V) | Scaling()).theta_grid()


@pytest.mark.parametrize(("method", "arguments"), [("orbit", ()), ("theta_grid", ()), ("apply", ([1.0],))])
def test_missing_methods_are_named(method, arguments):
    class Empty(Transform):
        pass

    with pytest.raises(NotImplementedError, match=r"Empty must define _grid\(\)"):
        getattr(Empty(), method)(*([np.ones((1, 2))] if method != "theta_grid" else []), *arguments)

    class Still(Transform):
        def _grid(self):
            return [[1.0]]

    with pytest.raises(NotImplementedError, match=r"Still must define _move\(X, theta\)"):
        Still().orbit(np.ones((1, 2)))


# Composition


def test_the_right_factor_of_a_composition_acts_first(X):
    rotation, translation = Rotation(SHAPE, degrees=10), Translation(SHAPE)
    expected = rotation.apply(translation.apply(X, [0, 1]), 10)
    np.testing.assert_array_equal((rotation @ translation).apply(X, [10, 0, 1]), expected)
    assert np.abs((translation @ rotation).apply(X, [0, 1, 10]) - expected).max() > 0.01


def test_composition_grid_is_the_product_with_the_left_factor_slowest():
    grid = (Rotation(SHAPE, degrees=10) @ Shift(V[0])).theta_grid()
    expected = [[a, b] for a in (0, -10, 10) for b in (0, -1, 1)]
    np.testing.assert_array_equal(grid, expected)


def test_composition_orbit_contains_every_pair(X):
    rotation, translation = Rotation(SHAPE, degrees=10), Translation(SHAPE)
    orbit = (rotation @ translation).orbit(X)
    expected = [
        rotation.apply(translation.apply(X, t), r)
        for r in rotation.theta_grid()
        for t in translation.theta_grid()
    ]
    np.testing.assert_allclose(orbit, np.stack(expected, axis=1), rtol=0, atol=1e-13)


def test_composition_is_flat_for_every_bracketing(X):
    r, s, t = Rotation(SHAPE, degrees=10), Shift(V), Zoom(SHAPE, percent=5)
    left, right = (r @ s) @ t, r @ (s @ t)
    assert repr(left) == repr(right)
    assert [name for name, _ in left.transforms] == ["rotation", "shift", "zoom"]
    np.testing.assert_array_equal(left.orbit(X), right.orbit(X))


def test_composition_with_the_identity_is_the_other_factor(X):
    still, translation = Rotation(SHAPE, degrees=0), Translation(SHAPE)
    np.testing.assert_array_equal((still @ translation).orbit(X), translation.orbit(X))


# Union


def test_union_orbit_is_one_orbit_after_the_other(X):
    rotation, translation = Rotation(SHAPE, degrees=10), Translation(SHAPE)
    expected = np.concatenate([rotation.orbit(X), translation.orbit(X)[:, 1:]], axis=1)
    np.testing.assert_array_equal((rotation | translation).orbit(X), expected)


def test_union_grid_changes_one_member_at_a_time():
    grid = (Shift(V[0]) | Rotation(SHAPE, degrees=10)).theta_grid()
    np.testing.assert_array_equal(grid, [[0, 0], [-1, 0], [1, 0], [0, -10], [0, 10]])


def test_union_is_flat_and_a_composition_in_it_is_one_member():
    r, s, t = Rotation(SHAPE, degrees=10), Shift(V), FromFunction(power, [0.1])
    assert repr((r | s) | t) == repr(r | (s | t))
    assert [name for name, _ in ((r | s) | t).transforms] == ["rotation", "shift", "from_function"]
    assert [name for name, _ in ((r @ s) | t).transforms] == ["composition", "from_function"]


def test_union_rejects_two_members_at_once(X):
    match = r"one transform at a time, but theta=\[1\.0, 10\.0\] has .* of 'shift' and 'rotation'\. Set"
    with pytest.raises(InvalidInput, match=match):
        (Shift(V[0]) | Rotation(SHAPE, degrees=10)).apply(X, [1, 10])


# Both


@pytest.mark.parametrize("join", [Shift.__matmul__, Shift.__or__])
def test_tangents_of_members_are_stacked(join, X):
    both = join(Shift(V), Rotation(SHAPE, degrees=10))
    expected = np.concatenate([Shift(V).tangents(X), Rotation(SHAPE, degrees=10).tangents(X)], axis=1)
    np.testing.assert_array_equal(both.tangents(X), expected)
    assert both.span() == [(-1.0, 1.0), (-1.0, 1.0), (-10.0, 10.0)]


@pytest.mark.parametrize("join", [Shift.__matmul__, Shift.__or__])
def test_members_are_copied_and_named(join, X):
    shift = Shift(V)
    both = join(join(shift, shift), shift)
    assert [name for name, _ in both.transforms] == ["shift", "shift_2", "shift_3"]
    assert len({id(member) for _, member in both.transforms} | {id(shift)}) == 4
    both.set_params(shift_2__steps=5)
    assert both.get_params()["shift_2__steps"] == 5
    assert both.get_params()["shift__steps"] == shift.steps == 3
    both.set_params(shift_3=Shift(V[0]))
    assert both.n_parameters == 5
    assert "shift" not in both.get_params(deep=False)


@pytest.mark.parametrize("kind", [Composition, Union])
@pytest.mark.parametrize(
    "members", [[], [Shift(V)], [("a", 1)], [("a", Shift(V)), ("a", Shift(V))], None, [(1, Shift(V))]]
)
def test_members_of_combinations_are_checked(kind, members, X):
    match = rf"(?s){kind.__name__}: transforms must be a list of \(name, transform\) with .*, got .*Write s"
    with pytest.raises(InvalidInput, match=match):
        kind(members).orbit(X)


def test_only_transforms_can_be_combined():
    with pytest.raises(TypeError, match="unsupported operand type"):
        Shift(V) @ 3
    with pytest.raises(TypeError, match="unsupported operand type"):
        Shift(V) | "rotation"


def test_a_wrong_width_is_found_in_any_member(X):
    with pytest.raises(InvalidInput, match=r"Zoom: images of shape \(4, 4\) have 16 pixels, but X has 30"):
        (Shift(V) @ Zoom((4, 4), percent=5)).orbit(X)


def test_importing_the_package_loads_neither_scipy_nor_sklearn():
    code = "import sys, priorsvm.transforms; assert not {'scipy', 'sklearn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_load_on_first_use():
    assert dir(transforms) == sorted(transforms.__all__)
    assert all(getattr(transforms, name).__name__ == name for name in transforms.__all__)
    with pytest.raises(AttributeError, match=r"'priorsvm\.transforms' has no attribute 'Warp'"):
        _ = transforms.Warp
