"""What Trajectories reports after the fit: worst points, errors, formulation, verification."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from priorsvm import (
    RBF,
    FromFunction,
    PriorSVC,
    Rotation,
    Trajectories,
)
from priorsvm.errors import CoarsePolynomial
from priorsvm.knowledge.worst_case.base import WorstCase

from .trajectory_problems import (
    FINE,
    TURNS,
    along,
    derivatives,
    expansion,
    fitted,
    lagrange,
    paths,
    signs,
    slacks,
    turn,
)

pytestmark = pytest.mark.slow  # part of `make test` only


@pytest.mark.parametrize("span", ["span", "line"])
@pytest.mark.parametrize("degree", [1, 2, 4, 6])
def test_w_is_the_sum_of_the_worst_points(degree, span):
    X, y, coefficients = paths(degree, line=span == "line")
    model = fitted(coefficients, X, y, "line" if span == "line" else (-1.0, 1.0))
    np.testing.assert_allclose(expansion(model, y), model.coef_[0], atol=1e-8)


@pytest.mark.parametrize(("span", "scale"), [("span", "standard"), ("line", "standard"), ("span", "minmax")])
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_w_is_the_sum_of_the_worst_points_in_the_models_units(degree, span, scale):
    X, y, coefficients = paths(degree, line=span == "line")
    units, origin = np.array([1.0, 20.0, 0.1, 3.0]), np.array([5.0, -2.0, 0.0, 1.0])
    X, coefficients = X * units + origin, coefficients * units
    coefficients[:, 0] = X
    model = fitted(coefficients, X, y, "line" if span == "line" else (-1.0, 1.0), scale=scale)
    shift, width = (
        (X.mean(axis=0), X.std(axis=0)) if scale == "standard" else (X.min(axis=0), np.ptp(X, axis=0))
    )
    np.testing.assert_allclose(expansion(model, y, width, shift), model.coef_[0] * width, atol=1e-8)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_row_that_holds_f_still_from_far_away_is_not_lost(seed):
    X, y, coefficients = paths(1, line=True, seed=seed)
    model = fitted(coefficients, X, y, "line", C=0.3)
    np.testing.assert_allclose(expansion(model, y), model.coef_[0], atol=1e-8)


@pytest.mark.parametrize("span", ["span", "line"])
@pytest.mark.parametrize("degree", [1, 2, 4, 6])
def test_support_trajectories_touch_the_margin_at_their_worst_points(degree, span):
    X, y, coefficients = paths(degree, line=span == "line")
    model = fitted(coefficients, X, y, "line" if span == "line" else (-1.0, 1.0))
    w, b, worst = model.coef_[0], model.intercept_[0], model.findings_["trajectories"]
    thetas = np.linspace(-1, 1, 4001) if span == "span" else np.tan(np.linspace(-1.57, 1.57, 40001))
    lowest = (signs(y)[:, None] * (along(coefficients, thetas) @ w + b)).min(axis=1)
    finite = worst.support & np.isfinite(worst.thetas)
    rows, y_f = worst.rows[finite], signs(y)[worst.rows] * (worst.points @ w + b)
    np.testing.assert_allclose(y_f[finite], lowest[rows], atol=2e-7)
    assert (y_f[finite] < 1 + 1e-6).all()
    assert (lowest[np.setdiff1d(np.arange(len(y)), worst.rows[worst.support])] > 1 - 1e-6).all()
    np.testing.assert_allclose(
        worst.points[finite],
        [along(coefficients[i : i + 1], [t])[0, 0] for i, t in zip(rows, worst.thetas[finite], strict=True)],
        atol=1e-5,
    )


@pytest.mark.parametrize("scale", [None, "standard"])
def test_errors_and_worst_points_of_images_are_those_of_all_rotated_images(scale):
    """A linear f is pulled back through the rotations, and 700 rows need two parts of the angles."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(700, 20))
    y = (X[:, :10].sum(axis=1) > X[:, 10:].sum(axis=1)).astype(int)
    turn = Rotation((4, 5), degrees=25, fill=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarsePolynomial)
        model = PriorSVC(Trajectories(turn, degree=2), scale=scale).fit(X, y)
    u = np.linspace(-1, 1, 201)
    moved = np.stack([model.decision_function(turn.apply(X, 25 * t)) for t in u], axis=1)
    at_nodes = moved[:, [0, 100, 200]]
    polynomial = at_nodes @ np.stack([u * (u - 1) / 2, 1 - u**2, u * (u + 1) / 2])
    errors = np.abs(moved - polynomial).max(axis=1)
    assert errors.max() > 0.01
    np.testing.assert_allclose(model.findings_["trajectories"].errors, errors, atol=1e-11)
    found = model.verify()["trajectories"]
    places = np.linspace(-1, 1, found.checked // 700 + 1)
    places = (places[1:] + places[:-1]) / 2
    moved = np.stack([model.decision_function(turn.apply(X, 25 * t)) for t in places], axis=1)
    excess = signs(y)[:, None] * moved - (1 - slacks(model, X, y))[:, None]
    assert found.worst == pytest.approx(excess.min(), abs=1e-10)
    i, k = np.unravel_index(excess.argmin(), excess.shape)
    np.testing.assert_allclose(found.where, turn.apply(X[i : i + 1], 25 * places[k])[0], atol=1e-10)
    assert found.violated == np.sum(excess < -0.01)


def test_errors_of_a_taylor_polynomial_are_those_against_the_true_path(ring):
    X, y = ring
    block = Trajectories(FromFunction(turn, [-0.8, 0.8]), degree=2, coefficients="taylor")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarsePolynomial)
        model = PriorSVC(block).fit(X, y)
    thetas, path = np.linspace(-0.8, 0.8, 201), derivatives(X, 2)
    moved = np.stack([turn(X, theta) for theta in thetas], axis=1)
    errors = np.abs((moved - along(path, thetas)) @ model.coef_[0]).max(axis=1)
    np.testing.assert_allclose(model.findings_["trajectories"].errors, errors, atol=1e-6)
    assert errors.max() > 0.01


def test_a_coarse_polynomial_is_named_with_row_and_degree(moons):
    X, y = moons
    with pytest.warns(CoarsePolynomial) as caught:
        model = PriorSVC(Trajectories(TURNS, degree=2).named("turns"), kernel=RBF(gamma=1.0), C=10).fit(X, y)
    [warning] = caught
    errors = model.findings_["turns"].errors
    assert str(warning.message).startswith(
        f"block 'turns': along the trajectory of row {errors.argmax()}, f differs from its polynomial "
        f"by up to {errors.max():.2g}, "
    )
    assert "Use degree=4, a narrower span" in str(warning.message)
    assert errors.max() > 0.1


@pytest.mark.parametrize(("degree", "higher"), [(0, 2), (1, 2), (2, 4), (4, 6)])
def test_the_degree_advised_is_the_next_one(moons, degree, higher):
    X, y = moons
    with pytest.warns(CoarsePolynomial, match=f"Use degree={higher},"):
        PriorSVC(Trajectories(FromFunction(turn, [-1.2, 1.2]), degree=degree), kernel=RBF(gamma=2.0)).fit(
            X, y
        )


def test_errors_are_those_at_201_angles(moons):
    X, y = moons
    for kernel, degree in ((RBF(gamma=1.0), 4), ("linear", 2)):
        model = PriorSVC(Trajectories(TURNS), kernel=kernel).fit(X, y)
        nodes, u = -np.cos(np.pi * np.arange(degree + 1) / degree), np.linspace(-1, 1, 201)
        at_nodes = np.array([model.decision_function(turn(X, 0.5 * z)) for z in nodes])
        true = np.array([model.decision_function(turn(X, 0.5 * t)) for t in u])
        errors = np.abs(true - lagrange(nodes, u) @ at_nodes).max(axis=0)
        np.testing.assert_allclose(model.findings_["trajectories"].errors, errors, atol=1e-12)
        assert errors.max() > 1e-4


def test_findings_have_one_entry_for_each_worst_point(ring):
    X, y = ring
    model = PriorSVC(Trajectories(FromFunction(turn, [-0.3, 0.3])), **FINE).fit(X, y)
    worst = model.findings_["trajectories"]
    assert isinstance(worst, WorstCase)
    m = len(worst.rows)
    assert worst.points.shape == (m, 3)
    assert worst.weights.shape == worst.thetas.shape == worst.support.shape == (m,)
    assert worst.errors.shape == (60,)
    assert (worst.weights > 0).all()
    assert (np.abs(worst.thetas) <= 0.3 + 1e-9).all()
    assert (np.diff(worst.rows) >= 0).all()
    assert 2 < len(np.unique(worst.rows)) < 60
    total = np.bincount(worst.rows, worst.weights, minlength=60)
    assert total.max() < 2 + 1e-6  # together they are the row's dual variable, at most C
    assert worst.weights @ signs(y)[worst.rows] == pytest.approx(0.0, abs=1e-7)


def test_the_report_contains_the_findings(ring):
    X, y = ring
    model = PriorSVC(Trajectories(FromFunction(turn, [-0.3, 0.3])).named("turns")).fit(X, y)
    worst = model.findings_["turns"]
    rows, points = len(np.unique(worst.rows[worst.support])), int(worst.support.sum())
    error = worst.errors.max()
    counts = f"{points} active worst-case points of {rows} rows"
    line = f"turns: {counts}; f is within {error:.2g} of its polynomial"
    assert line in str(model.report_)
    assert line in model.report_._repr_html_()
    [cone] = [row for row in model.report_["turns"] if row.term == "cone"]
    assert cone.rows == 60
    assert sum(row.contribution for row in model.report_.rows) == pytest.approx(model.objective_)


FORMS = {
    "ends": (1, "span", ["ends"], [120]),
    "still": (1, "line", ["ends", "still"], [120, 60]),
    "cone": (2, "span", ["cone"], [60]),
    "cone on the line": (2, "line", ["line"], [60]),
    "squares": (4, "span", ["squares", "sigma_0", "sigma_1"], [300, 60, 60]),
    "squares on the line": (4, "line", ["squares_line", "sigma_0"], [300, 60]),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_formulation_names_every_constraint(form):
    degree, span, labels, rows = FORMS[form]
    X, y, coefficients = paths(degree, line=span == "line", n=60)
    model = fitted(coefficients, X, y, "line" if span == "line" else (-1.0, 1.0))
    formulation = model.formulation()
    assert [label for label, _, _ in formulation.constraints] == [
        "svm.margin",
        *(f"trajectories.{k}" for k in labels),
    ]
    assert [count for _, _, count in formulation.constraints[1:]] == rows
    for (_, latex, _), label in zip(formulation.constraints[1:], labels, strict=True):
        assert latex == Trajectories.formulas.latex[label]
        assert latex in str(formulation).replace(r", \\ & ", r",\; ")  # long lines are broken


@pytest.mark.parametrize("degree", [2, 4])
def test_formulas_of_the_line_do_not_contain_the_factors_of_a_span(degree):
    X, y, coefficients = paths(degree, line=True)
    latex = str(fitted(coefficients, X, y, "line").formulation())
    assert "s_i" not in latex
    assert r"\sigma_1" not in latex


def test_verify_samples_all_trajectories(moons):
    X, y = moons
    model = PriorSVC(Trajectories(TURNS), kernel=RBF(gamma=2.0)).fit(X, y)
    verdict = model.verify()["trajectories"]
    u = np.linspace(-1, 1, 1001)
    u = (u[1:] + u[:-1]) / 2
    slack = slacks(model, X, y)
    excess = np.array([signs(y) * model.decision_function(turn(X, 0.5 * t)) - 1 + slack for t in u])
    assert verdict.worst == pytest.approx(excess.min(), abs=1e-12)
    k, i = np.unravel_index(excess.argmin(), excess.shape)
    np.testing.assert_allclose(verdict.where, turn(X[i : i + 1], 0.5 * u[k])[0], atol=1e-12)
    assert (verdict.holds, verdict.proven, verdict.checked) == (True, False, 60_000)
    assert -model.findings_["trajectories"].errors.max() * 1.01 < verdict.worst < 0
    assert "60 trajectories" in str(model.verify())


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_verify_of_a_polynomial_path_is_exact(degree):
    X, y, coefficients = paths(degree)
    model = fitted(coefficients, X, y)
    verdict = model.verify()["trajectories"]
    assert verdict.holds
    assert -1e-8 < verdict.worst < 1e-3


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_an_f_without_margins_along_the_trajectories_does_not_hold(moons, kernel):
    """Degree 0 adds no constraint along the trajectories."""
    X, y = moons
    kernel = "linear" if kernel == "linear" else RBF(gamma=1.0)
    assert PriorSVC(Trajectories(TURNS), kernel=kernel).fit(X, y).verify().holds
    with pytest.warns(CoarsePolynomial):
        model = PriorSVC(Trajectories(TURNS, degree=0), kernel=kernel).fit(X, y)
    verdict = model.verify()["trajectories"]
    assert not verdict.holds
    assert verdict.violated > 0
    assert verdict.worst < -0.1


def test_on_the_line_verify_looks_far_out():
    """w turned a little: fine where |theta| <= 1, and wrong far out, where the highest power decides."""
    X = np.array([[-2.0, 0.0], [-3.0, 0.5], [2.0, 0.0], [3.0, 0.5]])
    y = np.array([0, 0, 1, 1])
    coefficients = np.stack([X, 0 * X, signs(y)[:, None] * [0.0, 1.0]], axis=1)
    model = fitted(coefficients, X, y, "line")
    assert model.verify().holds
    binary = model._models[0]
    binary.f = replace(binary.f, coef=binary.f.coef - [0.0, 0.1])
    binary.shared_slack = binary.shared_slack + 0.5
    assert (signs(y) * (along(coefficients, [4.0])[:, 0] @ model.coef_[0] + model.intercept_[0]) < 0).any()
    assert not model.verify().holds
