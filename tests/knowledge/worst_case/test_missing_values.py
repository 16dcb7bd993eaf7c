"""MissingValues: against Gaussians conditioned by hand, and the blocks and models it is made of."""

import pickle

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from priorsvm import (
    RBF,
    ClassCosts,
    Jitter,
    MissingValues,
    Polyhedron,
    PriorSVC,
    SampleCosts,
    Shift,
    Trajectories,
    UncertainSamples,
    VirtualSamples,
    check_knowledge,
)
from priorsvm.errors import InvalidInput, MissingCapability
from priorsvm.knowledge.worst_case.gaussian import Gaussian

GAMMA = norm.ppf(0.9)
NAMES = ["dose", "age", "weight"]
DIGITS = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
SHARP = {"solver": "CLARABEL", "solver_options": DIGITS}


def holed(X, share, seed):
    X = np.where(np.random.default_rng(seed).uniform(size=X.shape) < share, np.nan, X)
    X.setflags(write=False)
    return X


@pytest.fixture(scope="module")
def gaps(data):
    """The rows of ``data`` with a fifth of their entries missing, and one of them empty."""
    X = np.array(holed(data[0], 0.2, 20))
    X[7] = np.nan
    X.setflags(write=False)
    return X, data[1]


@pytest.fixture(scope="module")
def asked(new):
    """New rows, some with gaps, one with nothing else."""
    Z = np.array(holed(new, 0.3, 21))
    Z[3] = np.nan
    return Z


def own_completion(X, y, weight=None, ridge=1.0):
    """Gaussians, completed rows and their covariances, class by class and row by row."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, float)
    seen = ~np.isnan(X)
    known = np.where(seen, X, 0.0)
    share = seen * weight[:, None] / (seen * weight[:, None]).sum(axis=0)
    spread = np.sqrt((share * (known - (share * known).sum(axis=0)) ** 2).sum(axis=0))
    gaussians = {
        label: Gaussian.fit(
            X[(y == label) & (weight > 0)], weight[(y == label) & (weight > 0)], spread, ridge
        )
        for label in np.unique(y).tolist()
    }
    full, covariances = X.copy(), np.zeros((len(X), X.shape[1], X.shape[1]))
    for i, label in enumerate(y.tolist()):
        full[i], covariances[i] = conditioned(gaussians[label], X[i])
    return gaussians, full, covariances


def conditioned(gaussian, x):
    m, s = np.isnan(x), ~np.isnan(x)
    S = gaussian.covariance
    across = S[np.ix_(m, s)] @ np.linalg.inv(S[np.ix_(s, s)])
    full, left = x.copy(), np.zeros_like(S)
    full[m] = gaussian.mean[m] + across @ (x[s] - gaussian.mean[s])
    left[np.ix_(m, m)] = S[np.ix_(m, m)] - across @ S[np.ix_(s, m)]
    return full, left


def completed_by(gaussian, X):
    return np.array([conditioned(gaussian, x)[0] for x in X])


def values(model, Z, k=0):
    """f at complete rows."""
    scores = model.decision_function(Z)
    return scores if scores.ndim == 1 else scores[:, k]


# ---------------------------------------------------------------------- what it is


def test_without_the_block_gaps_are_refused(data, gaps):
    with pytest.raises(InvalidInput, match=r"Input X contains NaN. Add MissingValues\(\) to the prior"):
        PriorSVC().fit(*gaps)
    with pytest.raises(InvalidInput, match=r"Input X contains NaN. Add MissingValues\(\) to the prior"):
        PriorSVC(UncertainSamples(0.1)).fit(*gaps)
    model = PriorSVC().fit(*data)
    for ask in (model.predict, model.decision_function):
        with pytest.raises(InvalidInput, match=r"Add MissingValues\(\) to the prior"):
            ask(gaps[0])


def test_infinity_is_no_gap(gaps):
    X = np.array(gaps[0])
    X[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        PriorSVC(MissingValues()).fit(X, gaps[1])
    with pytest.raises(ValueError, match="infinity"):
        PriorSVC(MissingValues()).fit(*gaps).predict(X)


def test_without_gaps_it_is_the_plain_model(data, new, kernel):
    model = PriorSVC(MissingValues(), kernel=kernel).fit(*data)
    plain = PriorSVC(kernel=kernel).fit(*data)
    assert model.solver_ == plain.solver_
    np.testing.assert_array_equal(model.decision_function(new), plain.decision_function(new))


def test_without_gaps_there_is_nothing_to_verify(data):
    verdict = PriorSVC(MissingValues()).fit(*data).verify()["missing_values"]
    assert (verdict.holds, verdict.checked) == (None, 0)


def test_gaps_can_come_after_the_fit(data, asked):
    model = PriorSVC(MissingValues()).fit(*data)
    gaussians, _, _ = own_completion(*data)
    answers = [values(model, completed_by(gaussians[c], asked)) for c in (0, 1)]
    surest = np.where(np.abs(answers[1]) > np.abs(answers[0]), answers[1], answers[0])
    np.testing.assert_allclose(model.decision_function(asked), surest, rtol=0, atol=1e-9)


def test_one_class_can_be_without_gaps(data, new):
    X, y = np.array(data[0]), data[1]
    X[np.flatnonzero(y == 1)[:10], 0] = np.nan
    _, full, covariances = own_completion(X, y)
    model = PriorSVC(MissingValues(), **SHARP).fit(X, y)
    same = PriorSVC(UncertainSamples(covariances), **SHARP).fit(full, y)
    np.testing.assert_allclose(model.decision_function(new), same.decision_function(new), rtol=0, atol=1e-5)


@pytest.mark.parametrize("scale", [None, "standard"])
def test_even_odds_are_the_model_on_conditional_means(gaps, new, kernel, scale):
    X, y = gaps
    model = PriorSVC(MissingValues(0.5), kernel=kernel, scale=scale).fit(X, y)
    _, full, _ = own_completion(X, y)
    plain = PriorSVC(kernel=kernel, scale=scale, solver="CLARABEL").fit(full, y)
    np.testing.assert_allclose(model.decision_function(new), plain.decision_function(new), rtol=0, atol=1e-8)


def test_even_odds_are_imputation_and_scikit_learn(gaps, new):
    X, y = gaps
    _, full, _ = own_completion(X, y)
    reference = SVC(kernel="linear", C=0.5, tol=1e-10).fit(full, y)
    model = PriorSVC(MissingValues(0.5), C=0.5).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(new), reference.decision_function(new), rtol=0, atol=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize(("confidence", "distribution"), [(0.9, "gaussian"), (0.6, "any")])
def test_it_is_uncertain_samples_of_conditional_covariances(
    gaps, new, kernel, scale, confidence, distribution
):
    X, y = gaps
    settings = {"kernel": kernel, "scale": scale, **SHARP}
    model = PriorSVC(MissingValues(confidence, distribution), **settings).fit(X, y)
    _, full, covariances = own_completion(X, y)
    same = PriorSVC(UncertainSamples(covariances, confidence, distribution), **settings).fit(full, y)
    assert model.objective_ == pytest.approx(same.objective_, rel=1e-10)
    np.testing.assert_allclose(model.decision_function(new), same.decision_function(new), rtol=0, atol=1e-5)


def test_it_is_ones_own_cones(gaps):
    X, y = gaps
    _, full, covariances = own_completion(X, y)
    w, b, xi = cp.Variable(3), cp.Variable(), cp.Variable(80, nonneg=True)
    constraints = []
    for i in range(80):
        size, vectors = np.linalg.eigh(covariances[i])
        A = vectors * np.sqrt(np.maximum(size, 0.0))
        s = 1 if y[i] else -1
        constraints.append(s * (full[i] @ w + b) - GAMMA * cp.norm(A.T @ w) >= 1 - xi[i])
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + cp.sum(xi)), constraints)
    value = problem.solve(solver="CLARABEL", **DIGITS)
    model = PriorSVC(MissingValues(), **SHARP).fit(X, y)
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(model.coef_[0], w.value, rtol=0, atol=1e-5)
    assert model.verify().holds


def test_it_is_the_guarantee_of_uncertain_samples(gaps, new):
    X, y = np.nan_to_num(gaps[0][:40]), gaps[1][:40]
    X[:3, 0] = np.nan
    settings = {"kernel": RBF(0.4), "C": 50.0, **SHARP}
    model = PriorSVC(MissingValues(0.55, guarantee=True), **settings).fit(X, y)
    _, full, covariances = own_completion(X, y)
    same = PriorSVC(UncertainSamples(covariances, 0.55, guarantee=True), **settings).fit(full, y)
    assert model.objective_ == pytest.approx(same.objective_, rel=1e-10)
    np.testing.assert_allclose(model.decision_function(new), same.decision_function(new), rtol=0, atol=1e-5)
    verdict = model.verify()["missing_values"]
    assert (verdict.holds, verdict.proven) == (True, True)


def test_only_rows_with_gaps_have_cones_and_those_of_one_pattern_share_them(gaps):
    X, y = gaps
    model = PriorSVC(MissingValues()).fit(X, y)
    holes = np.isnan(X)
    patterns = {(c, *h) for c, h in zip(y.tolist(), holes.tolist(), strict=True) if any(h)}
    counted = 0
    for constraint in model.problem.constraints:
        if constraint.label.startswith("missing_values.cone"):
            rank_one = not isinstance(constraint, cp.SOC)
            counted += constraint.args[0].size // 2 if rank_one else constraint.args[0].size
        elif constraint.label == "missing_values.margin":
            assert constraint.size == holes.any(axis=1).sum()
    assert counted == len(patterns)
    assert model.verify()["missing_values"].checked == holes.any(axis=1).sum()


@pytest.mark.parametrize("ridge", [0.1, 20.0])
def test_ridge_is_that_of_the_gaussians(gaps, ridge):
    X, y = gaps
    gaussians, full, _ = own_completion(X, y, ridge=ridge)
    state = MissingValues(ridge=ridge).complete(X, y, np.ones(80))
    np.testing.assert_allclose(state.X, full, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(state.missing, np.isnan(X))
    for label in (0, 1):
        np.testing.assert_allclose(state.gaussians[label].mean, gaussians[label].mean, rtol=0, atol=1e-9)


def test_units_are_nothing(gaps, asked):
    unit, shift = np.array([1e-5, 1.0, 1e5]), np.array([0.0, 3.0, -1e5])
    X, y = gaps
    plain = PriorSVC(MissingValues(), scale="standard", **SHARP).fit(X, y)
    other = PriorSVC(MissingValues(), scale="standard", **SHARP).fit(X * unit + shift, y)
    np.testing.assert_allclose(
        other.decision_function(asked * unit + shift), plain.decision_function(asked), rtol=0, atol=1e-6
    )


# ---------------------------------------------------------------------- new rows


@pytest.fixture(scope="module")
def f_of():
    """The scores of whole rows, worked out from what a model shows of itself."""

    def scores(model, Z):
        if model.kernel_ is None:
            return Z @ model.coef_.T + model.intercept_
        return rbf_kernel(Z, model.centres_, gamma=0.4) @ model.dual_coef_.T + model.intercept_

    return scores


def surest(answers):
    """Of the answers of all classes, model by model, those farthest from the boundary."""
    return np.take_along_axis(answers, np.abs(answers).argmax(axis=0)[None], axis=0)[0]


def averaged(answers, gaussians, y, X):
    odds = np.zeros(answers.shape[:2])
    for k, (label, g) in enumerate(gaussians.items()):
        for i, x in enumerate(X):
            s = ~np.isnan(x)
            seen = multivariate_normal(g.mean[s], g.covariance[np.ix_(s, s)]) if s.any() else None
            odds[k, i] = np.mean(y == label) * (1.0 if seen is None else seen.pdf(x[s]))
    return np.einsum("kn,knm->nm", odds / odds.sum(axis=0), answers)


@pytest.mark.parametrize("average", [None, True, False])
def test_new_rows_of_two_classes(gaps, asked, kernel, f_of, average):
    X, y = gaps
    model = PriorSVC(MissingValues(average=average), kernel=kernel).fit(X, y)
    gaussians, _, _ = own_completion(X, y)
    answers = np.array([f_of(model, completed_by(g, asked)) for g in gaussians.values()])
    expected = averaged(answers, gaussians, y, asked) if average else surest(answers)
    np.testing.assert_allclose(model.decision_function(asked), expected[:, 0], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(model.predict(asked), (expected[:, 0] > 0).astype(int))
    holes = np.isnan(asked).any(axis=1)
    assert (np.sign(answers[0]) != np.sign(answers[1]))[holes].any()


@pytest.mark.parametrize("average", [None, True, False])
def test_new_rows_of_three_classes(three, f_of, average):
    X, y = holed(three[0], 0.2, 22), three[1]
    asked = holed(three[0], 0.4, 23)
    model = PriorSVC(MissingValues(average=average)).fit(X, y)
    gaussians, _, _ = own_completion(X, y)
    answers = np.array([f_of(model, completed_by(g, asked)) for g in gaussians.values()])
    expected = surest(answers) if average is False else averaged(answers, gaussians, y, asked)
    np.testing.assert_allclose(model.decision_function(asked), expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(model.predict(asked), model.classes_[expected.argmax(axis=1)])


def test_three_classes_are_uncertain_samples_each(three):
    X, y = holed(three[0], 0.2, 22), three[1]
    _, full, covariances = own_completion(X, y)
    model = PriorSVC(MissingValues(), **SHARP).fit(X, y)
    same = PriorSVC(UncertainSamples(covariances), **SHARP).fit(full, y)
    np.testing.assert_allclose(model.objective_, same.objective_, rtol=1e-10)
    np.testing.assert_allclose(model.coef_, same.coef_, rtol=0, atol=1e-5)
    assert model.verify().holds


def test_whole_rows_are_scored_by_f_alone(gaps, new, asked, kernel):
    model = PriorSVC(MissingValues(), kernel=kernel).fit(*gaps)
    np.testing.assert_array_equal(model.decision_function(new), values(model, new))
    mixed = np.vstack([asked, new])
    whole = ~np.isnan(mixed).any(axis=1)
    np.testing.assert_allclose(
        model.decision_function(mixed)[whole], values(model, mixed[whole]), rtol=0, atol=1e-13
    )


def test_a_row_is_scored_alone_as_among_others(gaps, asked):
    model = PriorSVC(MissingValues()).fit(*gaps)
    alone = [model.decision_function(x[None])[0] for x in asked]
    np.testing.assert_allclose(model.decision_function(asked), alone, rtol=0, atol=1e-13)


def test_scoring_leaves_rows_as_they_are(gaps, asked):
    before = asked.copy()
    PriorSVC(MissingValues()).fit(*gaps).predict(asked)
    np.testing.assert_array_equal(asked, before)
    assert np.isnan(gaps[0]).any()


# ---------------------------------------------------------------------- rows, columns, weights


def test_a_column_without_a_value_in_a_class_is_named(gaps):
    X, y = np.array(gaps[0]), np.where(gaps[1] == 1, "ill", "well")
    X[y == "ill", 1] = np.nan
    message = "block 'missing_values': {} has no value in any row of class 'ill'.*Remove the column"
    with pytest.raises(InvalidInput, match=message.format("column 1")):
        PriorSVC(MissingValues()).fit(X, y)
    with pytest.raises(InvalidInput, match=message.format("column 'age'")):
        PriorSVC(MissingValues()).fit(pd.DataFrame(X, columns=NAMES), y)


def test_a_column_without_a_value_at_all_is_named(gaps):
    X = np.array(gaps[0])
    X[:, 2] = np.nan
    with pytest.raises(InvalidInput, match="block 'missing_values': column 2 has no value"):
        PriorSVC(MissingValues()).fit(X, gaps[1])


def test_a_frame_is_its_columns(gaps, asked):
    frame = pd.DataFrame(gaps[0], columns=NAMES)
    model, plain = (PriorSVC(MissingValues()).fit(X, gaps[1]) for X in (frame, gaps[0]))
    scores = model.decision_function(pd.DataFrame(asked, columns=NAMES))
    np.testing.assert_allclose(scores, plain.decision_function(asked), rtol=0, atol=1e-8)


def test_gaps_can_be_written_as_pandas_does(gaps):
    frame = pd.DataFrame(gaps[0], columns=NAMES).astype("Float64")
    assert frame.isna().to_numpy().any()
    model = PriorSVC(MissingValues()).fit(frame, gaps[1])
    plain = PriorSVC(MissingValues()).fit(*gaps)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=0, atol=1e-8)


def test_a_row_of_gaps_alone_is_the_mean_of_its_class(gaps):
    X, y = gaps
    state = MissingValues().complete(X, y, np.ones(80))
    gaussians, _, _ = own_completion(X, y)
    np.testing.assert_allclose(state.X[7], gaussians[int(y[7])].mean, rtol=0, atol=1e-9)
    S = state.spread.directions[state.spread.start[state.spread.owner[7]] :][:3]
    np.testing.assert_allclose(S.T @ S, gaussians[int(y[7])].covariance, rtol=0, atol=1e-9)


def test_a_weight_of_zero_is_a_row_less(gaps, asked):
    X, y = gaps
    weight = np.where(np.arange(80) % 4 == 0, 0.0, 1.0)
    model = PriorSVC(MissingValues(), **SHARP).fit(X, y, sample_weight=weight)
    fewer = PriorSVC(MissingValues(), **SHARP).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(
        model.decision_function(asked), fewer.decision_function(asked), rtol=0, atol=1e-7
    )


def test_a_weight_of_two_is_the_row_twice(gaps, asked):
    X, y = gaps
    weight = np.tile([1, 2, 0, 3], 20)
    rows = np.repeat(np.arange(80), weight)
    model = PriorSVC(MissingValues(), **SHARP).fit(X, y, sample_weight=weight)
    repeated = PriorSVC(MissingValues(), **SHARP).fit(X[rows], y[rows])
    np.testing.assert_allclose(
        model.decision_function(asked), repeated.decision_function(asked), rtol=0, atol=1e-8
    )


def test_weights_are_those_of_the_gaussians(gaps):
    X, y = gaps
    weight = np.random.default_rng(26).uniform(0.1, 2.0, size=80)
    _, full, covariances = own_completion(X, y, weight)
    model = PriorSVC(MissingValues(), **SHARP).fit(X, y, sample_weight=weight)
    same = PriorSVC(UncertainSamples(covariances), **SHARP).fit(full, y, sample_weight=weight)
    assert model.objective_ == pytest.approx(same.objective_, rel=1e-10)


def test_a_column_seen_only_where_the_weight_is_zero_is_named(gaps):
    X, y = np.array(gaps[0]), gaps[1]
    kept = np.flatnonzero((y == 1) & ~np.isnan(X[:, 1]))[0]
    X[(y == 1) & (np.arange(80) != kept), 1] = np.nan
    PriorSVC(MissingValues()).fit(X, y)
    weight = np.where(np.arange(80) == kept, 0.0, 1.0)
    with pytest.raises(InvalidInput, match="column 1 has no value in any row of class 1"):
        PriorSVC(MissingValues()).fit(X, y, sample_weight=weight)


def test_a_constant_column_is_no_obstacle(gaps, asked):
    X = np.column_stack([gaps[0], np.where(np.arange(80) % 3 == 0, np.nan, 5.0)])
    model = PriorSVC(MissingValues()).fit(X, gaps[1])
    completed = MissingValues().complete(X, gaps[1], np.ones(80)).X
    np.testing.assert_allclose(completed[:, 3], 5.0, rtol=0, atol=1e-9)
    assert np.isfinite(model.decision_function(np.column_stack([asked, np.full(50, np.nan)]))).all()


def test_gamma_scale_and_scale_see_completed_rows(gaps):
    X, y = gaps
    _, full, covariances = own_completion(X, y)
    model = PriorSVC(MissingValues(), kernel="rbf").fit(X, y)
    assert model.kernel_.gamma == pytest.approx(1 / (3 * full.var()), rel=1e-9)
    scaled = PriorSVC(MissingValues(), scale="standard", **SHARP).fit(X, y)
    same = PriorSVC(UncertainSamples(covariances), scale="standard", **SHARP).fit(full, y)
    assert scaled.objective_ == pytest.approx(same.objective_, rel=1e-10)
    np.testing.assert_allclose(scaled.coef_, same.coef_, rtol=0, atol=1e-6)


# ---------------------------------------------------------------------- with other blocks


@pytest.mark.parametrize(
    "others",
    [
        ClassCosts({1: 3.0}),
        SampleCosts(np.linspace(0.5, 2.0, 80), np.linspace(0.8, 1.2, 80)),
        VirtualSamples(Shift([0.25, 0.0, -0.125]), cost=0.5),
        Polyhedron([[1.0, 0.0, 0.0]], [-1.0], label=0, holds="everywhere"),
        Trajectories(Shift([0.1, 0.0, 0.1]), degree=1),
        ClassCosts("balanced") + VirtualSamples(Shift([0.25, 0.0, 0.0])),
    ],
    ids=repr,
)
def test_other_blocks_see_completed_rows(gaps, new, others):
    X, y = gaps
    _, full, covariances = own_completion(X, y)
    model = PriorSVC(MissingValues() + others, **SHARP).fit(X, y)
    same = PriorSVC(UncertainSamples(covariances) + others, **SHARP).fit(full, y)
    assert model.objective_ == pytest.approx(same.objective_, rel=1e-10)
    # Objectives that agree to 1e-10 determine f to about the square root of that.
    np.testing.assert_allclose(model.decision_function(new), same.decision_function(new), rtol=0, atol=1e-6)


@pytest.mark.slow
def test_error_bars_and_gaps_are_two_cones_of_a_row(gaps):
    X, y = gaps
    bars = np.full((80, 3), 0.1)
    _, full, covariances = own_completion(X, y)
    w, b, xi = cp.Variable(3), cp.Variable(), cp.Variable(80, nonneg=True)
    constraints = []
    for i in range(80):
        size, vectors = np.linalg.eigh(covariances[i])
        A, s = vectors * np.sqrt(np.maximum(size, 0.0)), 1 if y[i] else -1
        for fall in (cp.norm(A.T @ w), 0.1 * cp.norm(w)):
            constraints.append(s * (full[i] @ w + b) - GAMMA * fall >= 1 - xi[i])
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + cp.sum(xi)), constraints)
    value = problem.solve(solver="CLARABEL", **DIGITS)
    model = PriorSVC(MissingValues() + UncertainSamples(), **SHARP)
    model.fit(X, y, uncertain_samples__covariance=bars)
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    assert set(model.findings_) == {"missing_values", "uncertain_samples"}
    assert model.verify().holds


def test_functions_of_rows_are_given_completed_ones(gaps):
    X, y = gaps
    _, full, _ = own_completion(X, y)
    given = []

    def bars(rows, labels):
        given.append(rows)
        return 0.1

    PriorSVC(MissingValues() + UncertainSamples(bars)).fit(X, y)
    np.testing.assert_allclose(given[0], full, rtol=0, atol=1e-9)


def test_two_of_them_are_refused(gaps):
    message = "blocks 'missing_values' and 'coarse' both handle missing values"
    with pytest.raises(InvalidInput, match=message):
        PriorSVC(MissingValues() + MissingValues(0.6).named("coarse")).fit(*gaps)


def test_an_outer_weight_is_refused_and_zero_leaves_it_out(data, gaps, new):
    with pytest.raises(InvalidInput, match="block 'missing_values' uses the slack of the training rows"):
        PriorSVC(0.5 * MissingValues()).fit(*gaps)
    with pytest.raises(InvalidInput, match="weight 0 leaves out block 'missing_values'"):
        PriorSVC(0 * MissingValues()).fit(*gaps)
    absent = PriorSVC(0 * MissingValues()).fit(*data)
    np.testing.assert_array_equal(absent.decision_function(new), PriorSVC().fit(*data).decision_function(new))
    with pytest.raises(InvalidInput, match=r"Input X contains NaN. Add MissingValues\(\)"):
        absent.predict(gaps[0])
    other = PriorSVC(0 * MissingValues(0.5) + MissingValues()).fit(*gaps)
    np.testing.assert_array_equal(other.coef_, PriorSVC(MissingValues()).fit(*gaps).coef_)


# ---------------------------------------------------------------------- what cannot be


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"confidence": 0.4}, "confidence must be at least 0.5 and below 1, got 0.4"),
        ({"confidence": 1.0}, "confidence must be at least 0.5 and below 1, got 1.0"),
        ({"confidence": np.nan}, "confidence must be .* got nan"),
        ({"confidence": "a"}, "confidence must be .* got 'a'"),
        ({"distribution": "laplace"}, "distribution must be 'gaussian' or 'any', got 'laplace'"),
        ({"guarantee": 1}, "guarantee must be True or False, got 1"),
        ({"average": "yes"}, "average must be True or False, got 'yes'"),
        ({"ridge": 0.0}, "ridge must be a positive number, got 0.0"),
        ({"ridge": -1.0}, "ridge must be a positive number, got -1.0"),
        ({"ridge": np.nan}, "ridge must be a positive number, got nan"),
        ({"ridge": np.inf}, "ridge must be a positive number, got inf"),
        ({"ridge": "1"}, "ridge must be a positive number, got '1'"),
    ],
)
def test_bad_arguments_are_named(gaps, given, message):
    with pytest.raises(InvalidInput, match=f"block 'missing_values': {message}"):
        PriorSVC(MissingValues(**given)).fit(*gaps)


def test_kernels_that_cannot_are_named(gaps):
    with pytest.raises(MissingCapability, match="'missing_values': a kernel with second derivatives"):
        PriorSVC(MissingValues(), kernel="laplacian").fit(*gaps)
    with pytest.raises(MissingCapability, match="'missing_values': guarantee=True requires"):
        PriorSVC(MissingValues(guarantee=True), kernel="laplacian").fit(*gaps)


def manhattan(A, B):
    return np.exp(-0.3 * np.abs(A[:, None] - B[None]).sum(axis=2))


@pytest.mark.parametrize(
    ("kernel", "norm"),
    [
        ("laplacian", "l2"),
        (manhattan, "l2"),
        (Jitter(RBF(0.5), Shift([0.1, 0.0, 0.0])), "l1"),
        (Jitter(RBF(0.5), Shift([0.1, 0.0, 0.0]), psd="clip"), "l2"),
    ],
    ids=["laplacian", "function", "jitter", "repaired jitter"],
)
@pytest.mark.parametrize("guarantee", [False, True])
def test_without_ellipsoids_kernels_need_no_slopes(gaps, asked, kernel, norm, guarantee):
    X, y = gaps
    block = MissingValues(confidence=0.5, guarantee=guarantee)
    model = PriorSVC(block, kernel=kernel, norm=norm).fit(X, y)
    full = model._models[0].training.X
    plain = PriorSVC(kernel=kernel, norm=norm).fit(full, y)
    np.testing.assert_array_equal(full[~np.isnan(X)], X[~np.isnan(X)])
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    if norm == "l2":  # the 1-norm has several solutions
        np.testing.assert_allclose(
            model.decision_function(full), plain.decision_function(full), rtol=0, atol=1e-5
        )
    verdict = model.verify()["missing_values"]
    assert verdict.holds
    assert verdict.proven
    assert model.predict(asked).shape == (len(asked),)


@pytest.mark.parametrize("confidence", [0.5, 0.6])
def test_without_gaussians_one_half_is_not_the_row_alone(gaps, confidence):
    block = MissingValues(confidence=confidence, distribution="any")
    with pytest.raises(MissingCapability, match=r"'gaussian' and confidence=0\.5 the radius is 0"):
        PriorSVC(block, kernel="laplacian").fit(*gaps)


# ---------------------------------------------------------------------- scikit-learn


def test_it_says_that_gaps_are_welcome():
    assert PriorSVC(MissingValues()).__sklearn_tags__().input_tags.allow_nan
    assert PriorSVC(ClassCosts("balanced") + MissingValues()).__sklearn_tags__().input_tags.allow_nan
    assert not PriorSVC(UncertainSamples(0.1)).__sklearn_tags__().input_tags.allow_nan
    assert not PriorSVC().__sklearn_tags__().input_tags.allow_nan


@pytest.mark.slow
def test_cross_validation_in_a_pipeline(gaps):
    X, y = gaps
    folds = StratifiedKFold(3)
    estimator = make_pipeline(StandardScaler(), PriorSVC(MissingValues()))
    scores = cross_val_score(estimator, X, y, cv=folds, error_score="raise")
    for score, (train, test) in zip(scores, folds.split(X, y), strict=True):
        middle, width = np.nanmean(X[train], axis=0), np.nanstd(X[train], axis=0)
        model = PriorSVC(MissingValues()).fit((X[train] - middle) / width, y[train])
        assert score == model.score((X[test] - middle) / width, y[test])


def test_a_search_over_confidence(gaps):
    X, y = gaps
    grid = {"prior__missing_values__confidence": [0.5, 0.9], "prior__missing_values__ridge": [1.0, 5.0]}
    search = GridSearchCV(PriorSVC(MissingValues()), grid, cv=2, error_score="raise").fit(X, y)
    best = search.best_estimator_.prior["missing_values"]
    alone = PriorSVC(MissingValues(best.confidence, ridge=best.ridge)).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), alone.predict(X))


def test_clone_and_pickle(gaps, asked):
    model = PriorSVC(MissingValues(0.8), kernel="rbf").fit(*gaps)
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.decision_function(asked), model.decision_function(asked))
    assert twin.verify()["missing_values"].checked == model.verify()["missing_values"].checked
    again = clone(model)
    assert (again.prior.confidence, again.prior is model.prior) == (0.8, False)
    np.testing.assert_array_equal(again.fit(*gaps).decision_function(asked), model.decision_function(asked))


def test_a_path_over_c_is_separate_fits(gaps, asked):
    X, y = gaps
    path = PriorSVC(MissingValues(), **SHARP).fit_path(X, y, {"C": [0.1, 1.0]})
    for model, C in zip(path, [0.1, 1.0], strict=True):
        alone = PriorSVC(MissingValues(), C=C, **SHARP).fit(X, y)
        np.testing.assert_allclose(
            model.decision_function(asked), alone.decision_function(asked), rtol=0, atol=1e-5
        )


def test_report_and_formulation_speak_of_it(gaps):
    model = PriorSVC(MissingValues()).fit(*gaps)
    assert {row.term.partition("_")[0] for row in model.report_["missing_values"]} == {"margin", "cone"}
    assert "missing_values: " in str(model.report_)
    assert r"missing\_values.margin" in str(model.formulation())


def test_rows_are_left_as_they_are(gaps):
    X = np.array(gaps[0])
    PriorSVC(MissingValues()).fit(X, gaps[1])
    np.testing.assert_array_equal(X, gaps[0])


@pytest.mark.parametrize("block", [MissingValues(), MissingValues(0.6, "any", ridge=3.0)], ids=repr)
def test_laws(gaps, block):
    passed = check_knowledge(block, gaps[0][:40], gaps[1][:40])
    assert {"fit leaves the data as they were", "the order of the rows has no effect"} <= set(passed)


@pytest.mark.slow
def test_laws_of_a_guarantee_and_without_gaps(data, gaps):
    assert "the answer satisfies KKT" in check_knowledge(
        MissingValues(0.55, guarantee=True), gaps[0][:40], gaps[1][:40], kernels=("rbf",)
    )
    assert "the answer satisfies KKT" in check_knowledge(MissingValues(), *data, kernels=("linear",))


def test_a_column_that_is_constant_up_to_rounding():
    rng = np.random.default_rng(0)
    constant = np.where(rng.uniform(size=20) < 0.5, 0.3, 0.1 * 3)
    y = np.repeat([0, 1], 10)
    X = np.column_stack([constant, rng.normal(size=(20, 2)) + 1.5 * y[:, None]])
    X[0, 1] = np.nan
    scores = PriorSVC(MissingValues()).fit(X, y).decision_function([[0.3, np.nan, 1.0], [0.4, np.nan, 1.0]])
    assert np.abs(scores).max() < 10


def test_advice_on_zeroed_columns_is_about_gaps():
    assert "Gaps" in MissingValues.check_of_size
    assert "errors" not in MissingValues.check_of_size
