"""Box: the exact minimum over a box on linear models, against all corners."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from priorsvm import Box, Polyhedron, PriorSVC, check_knowledge

TIGHT = {"solver": "CLARABEL", "tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


def corners_of(low, high):
    return np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(len(low), -1).T


def by_corners(X, y, sets, C=1.0, norm="l2", width=1.0, sides=()):
    """s f >= 1 - zeta at all corners of each set, price mu zeta; ``sides`` are signs (j, s): s w_j >= 0."""
    w, b, xi = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(len(y), nonneg=True)
    inner = cp.multiply(np.broadcast_to(width, X.shape[1]), w)
    objective = (0.5 * cp.sum_squares(inner) if norm == "l2" else cp.norm1(inner)) + C * cp.sum(xi)
    constraints = [cp.multiply(np.where(y == 1, 1.0, -1.0), X @ w + b) >= 1 - xi]
    constraints += [s * w[j] >= 0 for j, s in sides]
    for corners, sign, mu in sets:
        margins = sign * (corners @ w + b)
        if np.isinf(mu):
            constraints.append(margins >= 1)
        else:
            objective = objective + mu * cp.max(cp.pos(1 - margins))
    value = cp.Problem(cp.Minimize(objective), constraints).solve(**TIGHT)
    return value, w.value, float(b.value)


def bounds(low, high):
    return {j: (a, b) for j, (a, b) in enumerate(zip(low, high, strict=True))}


ONE = np.array([-1.5, -0.5, 0.0]), np.array([-0.5, 0.75, 1.0])
TWO = np.array([0.25, -2.0, -1.0]), np.array([1.25, -1.0, 1.5])


@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("hard", [False, True])
def test_a_box_is_the_worst_of_its_corners(data, norm, scale, hard):
    X, y = data
    stretch, shift = np.array([1.0, 10.0, 0.2]), np.array([0.0, 5.0, -1.0])
    X = X * stretch + shift
    boxes = [(low * stretch + shift, high * stretch + shift) for low, high in (ONE, TWO)]
    block = Box([bounds(*box) for box in boxes], label=[1, 0], mu=0.7 / 1.5, hard=hard, holds="everywhere")
    model = PriorSVC(block, C=1.5, norm=norm, scale=scale, tol=1e-9).fit(X, y)
    width = {None: 1.0, "standard": X.std(axis=0), "minmax": np.ptp(X, axis=0)}[scale]
    sets = [(corners_of(*box), s, np.inf if hard else 0.7) for box, s in zip(boxes, (1, -1), strict=True)]
    value, w, b = by_corners(X, y, sets, 1.5, norm, width)
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    if norm == "l2":
        np.testing.assert_allclose(model.coef_[0] * width, w * width, atol=2e-5)
        assert model.intercept_[0] == pytest.approx(b, abs=2e-5 * (1 + np.abs(w).max() * 5))
    assert PriorSVC(C=1.5, norm=norm, scale=scale).fit(X, y).objective_ < value - 0.1


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("label", [0, 1])
def test_hard_by_a_linear_programme(data, norm, label):
    X, y = data
    low, high = np.array([0.0, -0.2, -0.2]), np.array([0.4, 0.2, 0.2])
    model = PriorSVC(Box(bounds(low, high), label, hard=True), norm=norm).fit(X, y)
    sign = 1 if label else -1
    least = linprog(sign * model.coef_[0], bounds=list(zip(low, high, strict=True))).fun
    assert least + sign * model.intercept_[0] > 1 - 1e-6
    assert np.ptp(model.decision_function(X)) > 0.5


@pytest.mark.parametrize("hard", [False, True])
def test_box_is_the_polyhedron(data, hard):
    X, y = data
    low, high = np.array([0.0, -0.2, -0.2]), np.array([0.4, 0.2, 0.2])
    B, d = np.vstack([np.eye(3), -np.eye(3)]), np.concatenate([high, -low])
    box = PriorSVC(Box(bounds(low, high), 1, mu=0.9, hard=hard, holds="everywhere"), tol=1e-9).fit(X, y)
    polyhedron = PriorSVC(Polyhedron(B, d, 1, mu=0.9, hard=hard, holds="everywhere"), tol=1e-9).fit(X, y)
    assert box.objective_ == pytest.approx(polyhedron.objective_, rel=1e-9)
    np.testing.assert_allclose(box.coef_, polyhedron.coef_, atol=1e-6)


@pytest.mark.parametrize(
    ("label", "sides", "corner", "signs"),
    [
        # 0.5 <= x_0, x_1 <= 1, x_2 free: w_0 >= 0 >= w_1 and w_2 = 0, and then one corner is enough
        (1, {0: (0.5, None), 1: (None, 1.0)}, [0.5, 1.0, 0.0], [(0, 1), (1, -1)]),
        (0, {0: (None, 0.2), 1: (None, 1.0)}, [0.2, 1.0, 0.0], [(0, 1), (1, 1)]),
    ],
)
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_open_sides_fix_signs_of_weights(data, label, sides, corner, signs, hard, scale):
    X, y = data
    model = PriorSVC(Box(sides, label, mu=0.4, hard=hard, within=None, holds="everywhere"), scale=scale).fit(
        X, y
    )
    s, mu = (1 if label else -1), np.inf if hard else 0.4
    width = 1.0 if scale is None else X.std(axis=0)
    value, w, _ = by_corners(
        X, y, [(np.array([corner]), s, mu)], width=width, sides=[*signs, (2, 1), (2, -1)]
    )
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-5)
    rows = np.array([[-1.0 if label else 1.0, 0, 0], [0, 1.0, 0]])
    ends = [-0.5 if label else 0.2, 1.0]
    same = PriorSVC(Polyhedron(rows, ends, label, mu=0.4, hard=hard, holds="everywhere"), scale=scale).fit(
        X, y
    )
    assert model.objective_ == pytest.approx(same.objective_, rel=1e-6)


def test_several_boxes_open_on_different_sides(data):
    X, y = data
    block = Box(
        [{0: (None, -1.0), 1: (-1, 1)}, {2: (2.0, None), 0: (0, 1)}],
        label=[0, 1],
        mu=0.5,
        within=None,
        holds="everywhere",
    )
    model = PriorSVC(block).fit(X, y)
    # the first leaves column 0 open below and 2 on both sides, the second 2 above and 1 on both sides
    w0 = [(np.array([[-1.0, a, 0.0] for a in (-1, 1)]), -1, 0.5)]
    w1 = [(np.array([[a, 0.0, 2.0] for a in (0, 1)]), 1, 0.5)]
    value, w, _ = by_corners(X, y, w0 + w1, sides=[(0, 1), (1, 1), (1, -1), (2, 1), (2, -1)])
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-5)


@pytest.mark.parametrize("hard", [False, True])
def test_within_closes_the_open_sides(data, hard):
    X, y = data
    mu = np.inf if hard else 0.5
    model = PriorSVC(Box({0: (None, 0.0)}, 0, mu=0.5, hard=hard, holds="everywhere")).fit(X, y)
    low, high = X.min(axis=0), np.array([0.0, *X.max(axis=0)[1:]])
    value, w, _ = by_corners(X, y, [(corners_of(low, high), -1, mu)])
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-5)
    given = Box(
        {0: (None, 0.0)},
        0,
        mu=0.5,
        hard=hard,
        within={0: (-2, 9), 1: (-1, np.inf), 2: (-1, 1)},
        holds="everywhere",
    )
    model = PriorSVC(given).fit(X, y)
    corners = np.array([[a, -1.0, c] for a in (-2.0, 0.0) for c in (-1.0, 1.0)])
    value, w, _ = by_corners(X, y, [(corners, -1, mu)], sides=[(1, -1)])  # column 1 has no upper end
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-5)


def test_what_within_does_not_name_is_the_range_of_the_data(data):
    X, y = data
    model = PriorSVC(
        Box({0: (None, 0.0)}, 0, mu=0.5, within={0: (-2, None), 1: (None, 1.0)}, holds="everywhere")
    ).fit(X, y)
    low, high = np.array([-2.0, *X.min(axis=0)[1:]]), np.array([0.0, 1.0, X[:, 2].max()])
    value, w, _ = by_corners(X, y, [(corners_of(low, high), -1, 0.5)])
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-5)


def test_a_box_beyond_the_data_stays_whole(data):
    X, y = data
    far, column_2 = float(X[:, 1].max()) + 2.0, (X[:, 2].min(), X[:, 2].max())
    model = PriorSVC(Box({1: (far, far + 1), 0: (-1.0, 0.5)}, 1, hard=True)).fit(X, y)
    corners = corners_of([-1.0, far, column_2[0]], [0.5, far + 1, column_2[1]])
    value, w, _ = by_corners(X, y, [(corners, 1, np.inf)])
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    assert np.abs(w).min() > 0.01
    half_open = PriorSVC(Box({1: (far, None), 0: (-1.0, 0.5)}, 1, hard=True)).fit(X, y)
    value, _, _ = by_corners(X, y, [(corners, 1, np.inf)], sides=[(1, 1)])
    assert half_open.objective_ == pytest.approx(value, rel=1e-6)
    assert half_open.coef_[0, 1] > -1e-8


def test_a_degenerate_box_is_a_point(data):
    X, y = data
    x0 = np.array([-1.0, 0.5, 0.25])
    model = PriorSVC(Box(bounds(x0, x0), 1, mu=0.6, holds="everywhere"), tol=1e-9).fit(X, y)
    value, w, _ = by_corners(X, y, [(x0[None], 1, 0.6)])
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-6)


def test_columns_by_name(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["age", "body mass", "dose"])
    named = PriorSVC(Box({"age": (-1, 0), "body mass": (None, 1)}, 1, mu=0.7, holds="everywhere")).fit(
        frame, y
    )
    numbered = PriorSVC(Box({0: (-1, 0), 1: (None, 1)}, 1, mu=0.7, holds="everywhere")).fit(X, y)
    np.testing.assert_allclose(named.coef_, numbered.coef_, atol=1e-8)


def test_verify_is_exact_and_names_the_worst_corner(data):
    X, y = data
    model = PriorSVC(Box([bounds(*ONE), bounds(*TWO)], [1, 0], mu=0.01, holds="everywhere")).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    corners = np.vstack([corners_of(*ONE), corners_of(*TWO)])
    excess = np.repeat([1, -1], 8) * (corners @ w + b) - 1
    verdict = model.verify()["box"]
    assert verdict.worst == pytest.approx(excess.min(), abs=1e-10)
    np.testing.assert_allclose(verdict.where, corners[np.argmin(excess)])
    assert (verdict.holds, verdict.proven, verdict.checked, verdict.violated) == (False, True, 2, 2)
    assert "no" in str(model.verify())


def test_multi_class(three):
    X, y = three
    low, high = np.array([2.0, 2.0]), np.array([3.0, 4.0])
    model = PriorSVC(Box(bounds(low, high), "b", mu=1.3 / 0.7, holds="everywhere"), C=0.7).fit(X, y)
    for k, name in enumerate("abc"):
        value, w, _ = by_corners(
            X, (y == name).astype(int), [(corners_of(low, high), 1 if name == "b" else -1, 1.3)], 0.7
        )
        assert model.objective_[k] == pytest.approx(value, rel=1e-7)
        np.testing.assert_allclose(model.coef_[k], w, atol=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_outer_weight_multiplies_mu(data, loss):
    X, y = data
    outer = PriorSVC(3 * Box(bounds(*ONE), 1, mu=0.2, holds="everywhere"), loss=loss, tol=1e-9).fit(X, y)
    inner = PriorSVC(Box(bounds(*ONE), 1, mu=0.6, holds="everywhere"), loss=loss, tol=1e-9).fit(X, y)
    assert outer.objective_ == pytest.approx(inner.objective_, rel=1e-9)
    absent = PriorSVC(0 * Box(bounds(*ONE), 1, hard=True), loss=loss, solver="CLARABEL").fit(X, y)
    plain = PriorSVC(loss=loss, solver="CLARABEL").fit(X, y)
    np.testing.assert_allclose(absent.coef_, plain.coef_, atol=1e-6)


def test_ten_columns_need_no_thousand_corners(rng):
    X = rng.normal(size=(60, 10))
    y = (X[:, 0] > 0).astype(int)
    low, high = np.full(10, -0.3), np.full(10, 0.3)
    model = PriorSVC(Box(bounds(low, high), 1, hard=True), tol=1e-9).fit(X, y)
    value, _, _ = by_corners(X, y, [(corners_of(low, high), 1, np.inf)])
    assert model.objective_ == pytest.approx(value, rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    "block",
    [
        Box({0: (-1.0, 0.0), 1: (0.0, 1.0)}, label=1, holds="everywhere"),
        Box([{0: (1.0, 2.0)}, {0: (-2.0, -1.5)}], label=[0, 1], mu=3.0, holds="everywhere"),
        Box({0: (0.5, 1.0), 1: (-0.5, 0.5)}, label=0, hard=True),
    ],
    ids=["soft", "two", "hard"],
)
def test_laws(block, few):
    assert "weight 0 disables the block" in check_knowledge(block, *few)
