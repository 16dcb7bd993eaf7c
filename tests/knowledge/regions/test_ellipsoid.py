"""Ellipsoid: the second-order cone of linear models, against a reference and sampled surfaces."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

from priorsvm import Ellipsoid, PriorSVC, check_knowledge
from priorsvm.errors import InvalidInput

TIGHT = {"solver": "CLARABEL", "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
CENTRE = np.array([-0.5, 0.5, 0.0])
SHAPES = {
    "radius": (0.6, 0.6 * np.eye(3)),
    "axes": ([0.9, 0.2, 0.0], np.diag([0.9, 0.2, 0.0])),
    "matrix": (
        np.array([[0.5, 0.2], [0.0, 0.4], [-0.3, 0.1]]),
        np.array([[0.5, 0.2], [0.0, 0.4], [-0.3, 0.1]]),
    ),
    "wide": (np.full((3, 5), 0.1) + 0.2 * np.eye(3, 5), np.full((3, 5), 0.1) + 0.2 * np.eye(3, 5)),
}


def own_socp(X, y, sets, C=1.0, norm="l2", width=1.0):
    """s f(c) - |A'w| >= 1 - zeta for each (c, A, s, mu), price mu zeta."""
    w, b, xi = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(len(y), nonneg=True)
    inner = cp.multiply(np.broadcast_to(width, X.shape[1]), w)
    objective = (0.5 * cp.sum_squares(inner) if norm == "l2" else cp.norm1(inner)) + C * cp.sum(xi)
    constraints = [cp.multiply(np.where(y == 1, 1.0, -1.0), X @ w + b) >= 1 - xi]
    for c, A, sign, mu in sets:
        shortfall = 1 - sign * (c @ w + b) + cp.norm(A.T @ w)
        if np.isinf(mu):
            constraints.append(shortfall <= 0)
        else:
            objective = objective + mu * cp.pos(shortfall)
    value = cp.Problem(cp.Minimize(objective), constraints).solve(**TIGHT)
    return value, w.value, float(b.value)


@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_own_second_order_cone(data, shape, hard, scale):
    X, y = data
    stretch, shift = np.array([1.0, 10.0, 0.2]), np.array([0.0, 5.0, -1.0])
    X, centre = X * stretch + shift, CENTRE * stretch + shift
    given, A = SHAPES[shape]
    if shape == "radius":  # a ball in the user's units
        given, A = 0.3, 0.3 * np.eye(3)
    elif shape == "axes":
        given, A = given * stretch, A * stretch[:, None]
    else:
        given = A = A * stretch[:, None]
    model = PriorSVC(
        Ellipsoid(centre, given, 1, mu=0.8, hard=hard, holds="everywhere"), scale=scale, tol=1e-9
    ).fit(X, y)
    width = {None: 1.0, "standard": X.std(axis=0), "minmax": np.ptp(X, axis=0)}[scale]
    value, w, _ = own_socp(X, y, [(centre, A, 1, np.inf if hard else 0.8)], width=width)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(model.coef_[0] * width, w * width, atol=5e-5)


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_several_of_both_classes_and_ranks(data, norm):
    X, y = data
    other = np.array([0.7, -0.5, 0.5])
    prior = (
        Ellipsoid(CENTRE, SHAPES["matrix"][0], 1, mu=0.5 / 1.3, holds="everywhere").named("disc")
        + Ellipsoid(other, 0.4, 0, mu=1.5 / 1.3, holds="everywhere").named("ball")
        + Ellipsoid(-other, SHAPES["wide"][0], 0, hard=True).named("firm")
    )
    model = PriorSVC(prior, C=1.3, norm=norm, tol=1e-9).fit(X, y)
    sets = [
        (CENTRE, SHAPES["matrix"][1], 1, 0.5),
        (other, 0.4 * np.eye(3), -1, 1.5),
        (-other, SHAPES["wide"][1], -1, np.inf),
    ]
    value, _, _ = own_socp(X, y, sets, 1.3, norm)
    assert model.objective_ == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("label", [0, 1])
def test_hard_holds_on_a_sampled_surface_and_touches_it(data, rng, label):
    X, y = data
    centre, A = np.array([0.2, 0.0, 0.0]), SHAPES["wide"][0] / 2
    model = PriorSVC(Ellipsoid(centre, A, label, hard=True)).fit(X, y)
    z = rng.normal(size=(100_000, 5))
    surface = centre + (z / np.linalg.norm(z, axis=1, keepdims=True)) @ A.T
    values = (1 if label else -1) * model.decision_function(surface)
    assert 1 - 1e-6 < values.min() < 1.01
    assert np.ptp(model.decision_function(X)) > 0.5


def test_radius_zero_is_a_point(data):
    X, y = data
    value, w, _ = own_socp(X, y, [(CENTRE, np.zeros((3, 1)), 1, 0.6)])
    model = PriorSVC(Ellipsoid(CENTRE, 0.0, 1, mu=0.6, holds="everywhere"), tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-6)


def test_verify_is_the_closed_form(data):
    X, y = data
    A = SHAPES["matrix"][1]
    model = PriorSVC(Ellipsoid(CENTRE, A, 1, mu=0.01, holds="everywhere")).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    verdict = model.verify()["ellipsoid"]
    least = w @ CENTRE + b - np.linalg.norm(A.T @ w)
    assert verdict.worst == pytest.approx(least - 1, abs=1e-10)
    assert (verdict.holds, verdict.proven) == (False, True)
    assert w @ verdict.where + b == pytest.approx(least, abs=1e-10)
    z = np.linalg.pinv(A) @ (verdict.where - CENTRE)
    assert np.linalg.norm(z) == pytest.approx(1.0)


def test_multi_class(three):
    X, y = three
    centre = np.array([2.5, 2.5])
    model = PriorSVC(Ellipsoid(centre, 0.5, "c", hard=True)).fit(X, y)
    for k, name in enumerate("abc"):
        value, w, _ = own_socp(
            X, (y == name).astype(int), [(centre, 0.5 * np.eye(2), 1 if name == "c" else -1, np.inf)]
        )
        assert model.objective_[k] == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(model.coef_[k], w, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "block",
    [
        Ellipsoid([-0.5, 0.5], 0.4, label=1, holds="everywhere"),
        Ellipsoid([0.6, 0.0], [0.4, 0.2], label=0, hard=True),
    ],
    ids=["soft", "hard"],
)
def test_laws(block, few):
    assert "weight 0 disables the block" in check_knowledge(block, *few)


@pytest.mark.filterwarnings("ignore::priorsvm.errors.PriorSVMWarning")
@pytest.mark.parametrize("seed", range(6))
def test_ellipsoids_of_too_many_columns(data, seed):
    X, y = data
    g = np.random.default_rng(seed)
    centre, A = g.normal(size=3), g.normal(size=(3, 5))
    wide = PriorSVC(Ellipsoid(centre, A, 1, mu=2.0, holds="everywhere"), loss="squared_hinge").fit(X, y)
    root = np.linalg.cholesky(A @ A.T)
    thin = PriorSVC(Ellipsoid(centre, root, 1, mu=2.0, holds="everywhere"), loss="squared_hinge").fit(X, y)
    assert wide.objective_ == pytest.approx(thin.objective_, rel=1e-6)


def test_a_centre_with_names_is_taken_by_them(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = Ellipsoid(pd.Series({"c": 2.0, "a": 0.5, "b": 1.0}), 0.3, 1, hard=True)
    plain = Ellipsoid([0.5, 1.0, 2.0], 0.3, 1, hard=True)
    models = [PriorSVC(block).fit(frame, y) for block in (named, plain)]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_)
    with pytest.raises(InvalidInput, match="centre names a, b, d, but the columns are a, b, c"):
        PriorSVC(Ellipsoid(pd.Series({"a": 0.5, "b": 1.0, "d": 2.0}), 0.3, 1)).fit(frame, y)
