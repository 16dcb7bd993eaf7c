"""What UncertainSamples guarantees and reports: sampled errors, worst points, verification, report."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from priorsvm import (
    PriorSVC,
    UncertainSamples,
)
from priorsvm.errors import CollapsedModel

from .uncertain_problems import (
    GAMMA,
    SHARP,
    N,
    ball,
    certificate,
    signs,
    slacks,
)


def test_no_sampled_point_of_an_ellipsoid_is_below_the_bound(few, factors, covariances):
    X, y = few
    model = PriorSVC(UncertainSamples(covariances), **SHARP).fit(X, y)
    sure, z = certificate(model, X, y, factors), GAMMA * ball(10_000, 3, 0)
    for i in range(N):
        values = signs(y)[i] * model.decision_function(X[i] + z @ factors[i].T)
        assert sure[i] - 1e-12 <= values.min() <= sure[i] + 0.02


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_worst_points_attain_the_bound(few, factors, rank):
    X, y = few
    A = factors[:, :, :rank]
    model = PriorSVC(UncertainSamples(factor=A), **SHARP).fit(X, y)
    worst = model.findings_["uncertain_samples"]
    sure = certificate(model, X, y, A)[worst.rows]
    values = signs(y)[worst.rows] * model.decision_function(worst.points)
    np.testing.assert_allclose(values, sure, rtol=0, atol=1e-10)
    for i, point in zip(worst.rows, worst.points, strict=True):
        z = np.linalg.pinv(A[i]) @ (point - X[i])
        np.testing.assert_allclose(X[i] + A[i] @ z, point, rtol=0, atol=1e-12)
        assert np.linalg.norm(z) <= GAMMA * (1 + 1e-9)
        if np.linalg.norm(A[i].T @ model.coef_[0]) > 1e-6:
            assert np.linalg.norm(z) == pytest.approx(GAMMA, rel=1e-9)
    rows = len(np.unique(worst.rows))
    assert str(worst) == f"{len(worst.rows)} active worst-case points of {rows} rows"


def test_w_is_a_sum_of_worst_points_in_the_units_of_the_model(few, factors):
    X, y = few
    stretch = np.array([1.0, 10.0, 0.1])
    model = PriorSVC(UncertainSamples(factor=factors * stretch[:, None]), scale="standard")
    model.fit(X * stretch + 3.0, y)
    worst = model.findings_["uncertain_samples"]
    middle, width = X.mean(axis=0) * stretch + 3.0, X.std(axis=0) * stretch
    a = worst.weights * signs(y)[worst.rows]
    found = a @ ((worst.points - middle) / width)
    np.testing.assert_allclose(found, model.coef_[0] * width, rtol=0, atol=1e-8)


def test_the_worst_points_are_those_whose_margin_is_not_exceeded(few, factors, covariances):
    X, y = few
    model = PriorSVC(UncertainSamples(covariances), **SHARP).fit(X, y)
    held = np.zeros(N, bool)
    held[model.findings_["uncertain_samples"].rows] = True
    sure = certificate(model, X, y, factors)
    assert sure[held].max() < 1 + 1e-6
    assert sure[~held].min() > 1 - 1e-6
    assert 0 < held.sum() < N


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("which", ["all", "half", "common", "shared", "thin", "line"])
def test_w_is_a_sum_of_worst_points(few, factors, which, loss):
    X, y = few
    A = {
        "all": factors,
        "half": factors * (np.arange(N) % 2)[:, None, None],
        "common": factors[0],
        "shared": factors[np.arange(N) % 3],
        "thin": factors[:, :, :2],
        "line": factors[:, :, :1],
    }[which]
    model = PriorSVC(UncertainSamples(factor=A), C=2.0, loss=loss).fit(X, y)
    worst = model.findings_["uncertain_samples"]
    a = worst.weights * signs(y)[worst.rows]
    np.testing.assert_allclose(a @ worst.points, model.coef_[0], rtol=0, atol=1e-8)
    assert a.sum() == pytest.approx(0.0, abs=1e-8)
    if loss == "hinge":
        assert np.bincount(worst.rows, worst.weights).max() < 2.0 + 1e-8


def test_w_is_a_sum_of_worst_points_if_a_weight_is_zero(few):
    X, y = few
    model = PriorSVC(UncertainSamples({1: 2.0}), **SHARP).fit(X, y)
    assert abs(model.coef_[0, 1]) < 1e-9
    worst = model.findings_["uncertain_samples"]
    a = worst.weights * signs(y)[worst.rows]
    np.testing.assert_allclose(a @ worst.points, model.coef_[0], rtol=0, atol=1e-8)
    assert (np.abs(worst.points - X[worst.rows]) <= [1e-12, 2.0 * GAMMA + 1e-9, 1e-12]).all()


def test_the_dual_variables_of_the_cones_give_w(few):
    """Stationarity as the problem states it, without the worst points."""
    X, y = few
    bars = np.random.default_rng(13).uniform(0.1, 0.5, size=(N, 3))
    model = PriorSVC(UncertainSamples(bars), **SHARP).fit(X, y)
    duals = {c.label: c.dual_value for c in model.problem.constraints}
    a = duals["svm.margin"] + duals["uncertain_samples.margin"]
    length, along = duals["uncertain_samples.cone"]
    np.testing.assert_allclose(length, GAMMA * duals["uncertain_samples.margin"], rtol=0, atol=1e-9)
    assert (np.linalg.norm(along, axis=0) - length).max() < 1e-9
    w = (a * signs(y)) @ X - np.sum(bars * np.abs(along.T) * np.sign(model.coef_[0]), axis=0)
    np.testing.assert_allclose(w, model.coef_[0], rtol=0, atol=1e-9)
    assert (a * signs(y)).sum() == pytest.approx(0.0, abs=1e-9)


def test_rows_of_active_points_are_the_support(few, covariances):
    model = PriorSVC(UncertainSamples(covariances), **SHARP).fit(*few)
    np.testing.assert_array_equal(model.support_, np.unique(model.findings_["uncertain_samples"].rows))


def test_drawn_errors_violate_the_margin_with_the_given_probability(few, factors, covariances):
    X, y = few
    model = PriorSVC(UncertainSamples(covariances, 0.8), **SHARP).fit(X, y)
    gamma, z = norm.ppf(0.8), np.random.default_rng(8).normal(size=(40_000, 3))
    asked = np.minimum(certificate(model, X, y, factors, gamma), 1.0)
    kept = np.array(
        [
            np.mean(signs(y)[i] * model.decision_function(X[i] + z @ factors[i].T) >= asked[i])
            for i in range(N)
        ]
    )
    held = model.findings_["uncertain_samples"].rows
    rounding = 4 * np.sqrt(0.8 * 0.2 / len(z))
    np.testing.assert_allclose(kept[held], 0.8, rtol=0, atol=rounding)
    assert kept.min() > 0.8 - rounding
    assert kept.max() > 0.9


def nasty(p, A, along):
    """Atoms and their odds, of mean 0 and covariance A A': one of odds p far out against ``along``."""
    q, _ = np.linalg.qr(np.column_stack([A.T @ along, np.eye(3)[:, :2]]))
    q[:, 0] *= np.sign(q[:, 0] @ (A.T @ along))
    far = [(-np.sqrt((1 - p) / p), p), (np.sqrt(p / (1 - p)), 1 - p)]
    atoms = [
        ((q * [t, u, v]).sum(axis=1) @ A.T, odds / 4)
        for (t, odds), u, v in itertools.product(far, (-1, 1), (-1, 1))
    ]
    points, odds = (np.array(part) for part in zip(*atoms, strict=True))
    np.testing.assert_allclose(odds @ points, 0.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose((points * odds[:, None]).T @ points, A @ A.T, rtol=0, atol=1e-12)
    return points, odds


@pytest.mark.slow
def test_no_distribution_violates_the_margin_with_a_higher_probability(few, factors, covariances):
    X, y = few
    lowest = {}
    for distribution in ("any", "gaussian"):
        block = UncertainSamples(0.2 * covariances, 0.8, distribution)
        model = PriorSVC(block, **SHARP).fit(X, y)
        A = np.sqrt(0.2) * factors
        asked = np.minimum(certificate(model, X, y, A, block.radius), 1.0)
        lowest[distribution] = 1.0
        for i, p in itertools.product(range(N), (0.05, 0.19, 0.2, 0.21, 0.3, 0.5, 0.7)):
            s = signs(y)[i]
            points, odds = nasty(p, A[i], s * model.coef_[0])
            kept = odds @ (s * model.decision_function(X[i] + points) >= asked[i] - 1e-9)
            lowest[distribution] = min(lowest[distribution], kept)
    assert lowest["any"] > 0.8 - 1e-9
    assert lowest["gaussian"] < 0.6


def test_verify_is_the_closed_form(few, factors, covariances):
    X, y = few
    model = PriorSVC(UncertainSamples(covariances)).fit(X, y)
    excess = certificate(model, X, y, factors) - (1 - slacks(model))
    verdict = model.verify()["uncertain_samples"]
    assert verdict.worst == pytest.approx(excess.min(), abs=1e-12)
    assert (verdict.holds, verdict.proven, verdict.checked, verdict.violated) == (True, True, N, 0)
    i = np.argmin(excess)
    w = model.coef_[0]
    step = factors[i].T @ w
    point = X[i] - signs(y)[i] * GAMMA * factors[i] @ step / np.linalg.norm(step)
    np.testing.assert_allclose(verdict.where, point, rtol=0, atol=1e-9)
    assert verdict.asked == "y f(x) >= rho - xi on 40 ellipsoids"


@pytest.mark.parametrize("what", ["steeper", "moved"])
def test_verify_detects_a_changed_f(few, factors, covariances, what):
    X, y = few
    model = PriorSVC(UncertainSamples(covariances)).fit(X, y)
    binary = model._models[0]
    before = slacks(model).copy()
    f = binary.f
    binary.f = (
        replace(f, coef=1.5 * f.coef, bias=1.5 * f.bias) if what == "steeper" else replace(f, bias=f.bias + 1)
    )
    w, b = binary.f.coef, binary.f.bias
    own = signs(y) * (X @ w + b)
    sure = own - GAMMA * np.linalg.norm(factors.swapaxes(1, 2) @ w, axis=1)
    excess = sure - (1 - np.maximum(before, 1 - own))
    verdict = model.verify()["uncertain_samples"]
    assert (verdict.holds, verdict.proven) == (False, True)
    assert verdict.worst == pytest.approx(excess.min(), abs=1e-9)
    assert verdict.worst < -0.01
    assert verdict.violated == np.sum(excess < -1e-5)
    assert not model.verify().holds


def test_nothing_uncertain_is_nothing_to_verify(few):
    verdict = PriorSVC(UncertainSamples(0.0)).fit(*few).verify()["uncertain_samples"]
    assert (verdict.holds, verdict.checked) == (None, 0)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("guarantee", [False, True])
def test_report_and_formulation_contain_the_block(few, covariances, kernel, guarantee):
    block = UncertainSamples(0.01 * covariances, guarantee=guarantee)
    model = PriorSVC(block, kernel=kernel).fit(*few)
    rows = model.report_["uncertain_samples"]
    coned = not (guarantee and kernel == "rbf")
    assert len(rows) == (2 if coned else 1)
    assert all(row.rows == N for row in rows)
    assert sum(row.contribution for row in model.report_.rows) == pytest.approx(model.objective_)
    assert f"uncertain_samples: {model.findings_['uncertain_samples']}" in str(model.report_)
    text = str(model.formulation())
    assert text.count(r"\mathrm{uncertain\_samples.") == len(rows)
    assert (
        r"\|A_i^\top \nabla f(x_i)\| \le t_i}_{c_{PK}{:}\;\mathrm{uncertain\_samples.cone,\ 40\ rows}}"
        in text
    ) == coned


def test_a_formulation_explains_every_letter(few, covariances):
    for guarantee in (False, True):
        block = UncertainSamples(0.01 * covariances, guarantee=guarantee)
        text = str(PriorSVC(block, kernel="rbf").fit(*few).formulation())
        assert text.count("t_i") != 1


def test_a_collapse_is_warned_of(few, kernel):
    with pytest.warns(
        CollapsedModel, match="block 'uncertain_samples' leaves a constant f.*lower the confidence"
    ):
        PriorSVC(UncertainSamples(100.0, guarantee=True), kernel=kernel).fit(*few)
