"""MonotonicityHint: the order of f on drawn pairs."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

from priorsvm import MonotonicityHint, PriorSVC, check_knowledge
from priorsvm.errors import InvalidInput
from priorsvm.sample import Sample


@pytest.fixture(scope="module")
def falling():
    """Rows on which the plain model falls in column 0 and rises in column 1."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 2))
    return X, (-0.7 * X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=60) > 0).astype(int)


@pytest.mark.parametrize("scale", [None, "standard"])
def test_value_of_the_penalty_at_any_f(data, kernel, assemble, draw, scale):
    X, y = data
    compiled = assemble(MonotonicityHint({0: 1, 2: -1}, mu=3.0, pairs=20), X, y, kernel, scale=scale)
    f = draw(compiled)
    low, high = compiled.states["monotonicity_hint"]
    assert low.shape == (40, 3)
    [term] = compiled.terms
    [t] = term.expression.variables()
    violation = np.maximum(f(low) - f(high), 0)
    t.value = violation
    assert (violation > 0).any()
    assert (violation == 0).any()
    assert term.expression.value == pytest.approx(np.mean(violation**2), rel=1e-9)
    assert term.parameter.value == 3.0
    assert compiled.constraints["monotonicity_hint.violation"].violation().max() < 1e-8
    t.value = np.zeros(40)
    short = compiled.constraints["monotonicity_hint.violation"].violation()
    np.testing.assert_allclose(short, violation, atol=1e-8)


def test_value_of_the_constraint_at_any_f(data, kernel, assemble, draw):
    X, y = data
    compiled = assemble(MonotonicityHint({1: -1}, hard=True, pairs=20), X, y, kernel)
    f = draw(compiled)
    low, high = compiled.states["monotonicity_hint"]
    violation = compiled.constraints["monotonicity_hint.order"].violation()
    np.testing.assert_allclose(violation, np.maximum(f(low) - f(high), 0), atol=1e-8)
    assert compiled.terms == []


def test_pairs_differ_in_one_column_by_up_to_its_spread(data, assemble):
    X, y = data
    compiled = assemble(MonotonicityHint({0: 1, 2: -1}, pairs=500), X, y)
    low, high = compiled.states["monotonicity_hint"]
    step, spread = high - low, X.std(axis=0)
    assert (step[:500, [1, 2]] == 0).all()
    assert (step[500:, [0, 1]] == 0).all()
    assert (step[:500, 0] > 0).all()
    assert (step[500:, 2] < 0).all()
    assert 0.95 * spread[0] < step[:500, 0].max() <= spread[0]
    assert 0.95 * spread[2] < -step[500:, 2].min() <= spread[2]
    np.testing.assert_allclose(low.mean(axis=0), X.mean(axis=0), atol=0.15)
    np.testing.assert_allclose(np.cov(low.T), np.cov(X.T), atol=0.25)


def by_hand(X, y, C, extra, constraints=()):
    w, b, xi = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(len(y), nonneg=True)
    margins = cp.multiply(np.where(y == 1, 1.0, -1.0), X @ w + b) >= 1 - xi
    objective = 0.5 * cp.sum_squares(w) + C * cp.sum(xi) + extra(w)
    cp.Problem(cp.Minimize(objective), [margins, *(c(w) for c in constraints)]).solve(
        solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11
    )
    return w.value


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("column", [0, 1])
def test_hard_on_a_linear_model_is_the_sign_of_a_weight(falling, column, direction):
    X, y = falling
    plain = PriorSVC(C=2.0).fit(X, y).coef_[0]
    assert plain[0] < -0.2 < 0.2 < plain[1]
    model = PriorSVC(MonotonicityHint({column: direction}, hard=True), C=2.0).fit(X, y)
    assert direction * model.coef_[0, column] > -1e-8
    reference = by_hand(X, y, 2.0, lambda w: 0, [lambda w: direction * w[column] >= 0])
    np.testing.assert_allclose(model.coef_[0], reference, atol=1e-6)
    if direction == np.sign(plain[column]):
        np.testing.assert_allclose(model.coef_[0], plain, atol=1e-6)


@pytest.mark.parametrize("mu", [1.0, 100.0])
def test_soft_on_a_linear_model_is_a_penalty_on_the_wrong_sign(falling, assemble, mu):
    X, y = falling
    block = MonotonicityHint({0: 1}, mu=mu, pairs=30)
    low, high = assemble(block, X, y).states["monotonicity_hint"]
    square = np.mean((high - low)[:, 0] ** 2)
    reference = by_hand(X, y, 2.0, lambda w: mu * square * cp.square(cp.pos(-w[0])))
    model = PriorSVC(block, C=2.0).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], reference, atol=1e-6)
    assert reference[0] < -1e-3


def test_label_says_whose_score_rises(falling):
    X, y = falling
    named = np.where(y == 1, "ill", "well")  # +1 is "well"
    for label, sign in ((None, 1), ("well", 1), ("ill", -1)):
        model = PriorSVC(MonotonicityHint({0: 1}, hard=True, label=label)).fit(X, named)
        assert sign * model.coef_[0, 0] > -1e-8
        opposite = PriorSVC(MonotonicityHint({0: -1}, hard=True, label=label)).fit(X, named)
        assert sign * opposite.coef_[0, 0] < 1e-8


def test_renaming_the_classes_and_the_label_turns_f_round(data, new, kernel):
    X, y = data
    model = PriorSVC(MonotonicityHint({2: 1}, mu=50.0, label=1, pairs=20), kernel=kernel).fit(X, y)
    flipped = PriorSVC(MonotonicityHint({2: 1}, mu=50.0, label=0, pairs=20), kernel=kernel).fit(X, 1 - y)
    np.testing.assert_allclose(model.decision_function(new), -flipped.decision_function(new), atol=1e-5)


def test_hard_holds_on_every_pair_of_a_kernel_model(data, assemble):
    X, y = data
    block = MonotonicityHint({0: -1}, hard=True, pairs=30)
    model = PriorSVC(block, kernel="rbf").fit(X, y)
    low, high = assemble(block, X, y).states["monotonicity_hint"]
    assert (model.decision_function(high) - model.decision_function(low)).min() > -1e-7
    plain = PriorSVC(kernel="rbf").fit(X, y)
    assert (plain.decision_function(high) - plain.decision_function(low)).min() < -0.1


@pytest.mark.parametrize(
    "prior", [MonotonicityHint({0: -1}, mu=0.0), 0 * MonotonicityHint({0: -1}, hard=True)], ids=repr
)
def test_weight_zero_is_the_plain_model(data, new, kernel, svc, prior):
    X, y = data
    model = PriorSVC(prior, kernel=kernel, solver="CLARABEL").fit(X, y)
    np.testing.assert_allclose(model.decision_function(new), svc(X, y, new), atol=1e-6)


def test_a_large_mu_tends_to_hard(falling):
    X, y = falling
    target = PriorSVC(MonotonicityHint({0: 1}, hard=True)).fit(X, y).coef_
    distance = [
        np.abs(PriorSVC(MonotonicityHint({0: 1}, mu=mu)).fit(X, y).coef_ - target).max()
        for mu in (1e2, 1e4, 1e6)
    ]
    assert distance[0] > 10 * distance[1] > 100 * distance[2]
    assert distance[2] < 1e-3


def test_speaks_to_the_model_of_its_class_only(three):
    X, y = three
    plain = PriorSVC(solver="CLARABEL").fit(X, y)
    sign = -int(np.sign(plain.coef_[1, 0]))
    model = PriorSVC(MonotonicityHint({0: sign}, hard=True, label="b")).fit(X, y)
    assert sign * model.coef_[1, 0] > -1e-8
    np.testing.assert_allclose(model.coef_[[0, 2]], plain.coef_[[0, 2]], atol=1e-7)
    verdicts = {check.label: check.verdict for check in model.verify().checks}
    assert [verdicts[k].holds for k in "abc"] == [None, True, None]


def test_needs_a_label_beyond_two_classes(three):
    with pytest.raises(InvalidInput, match=r"'monotonicity_hint'.*3 classes.*label=<class>"):
        PriorSVC(MonotonicityHint({0: 1})).fit(*three)


def test_columns_by_name(falling):
    X, y = falling
    frame = pd.DataFrame(X, columns=["age", "dose"])
    named = PriorSVC(MonotonicityHint({"age": 1}, hard=True)).fit(frame, y)
    numbered = PriorSVC(MonotonicityHint({0: 1}, hard=True)).fit(X, y)
    np.testing.assert_allclose(named.coef_, numbered.coef_, atol=1e-8)


def test_draws_come_from_random_state(data):
    X, y = data

    def drawn(seed):
        model = PriorSVC(MonotonicityHint({0: 1}, pairs=5), random_state=seed).fit(X, y)
        return model.verify()["monotonicity_hint"].where

    np.testing.assert_array_equal(drawn(None), drawn(None))
    np.testing.assert_array_equal(drawn(3), drawn(3))
    assert not np.array_equal(drawn(3), drawn(4))


def test_a_constant_column_still_has_steps(falling):
    X, y = falling
    X = np.column_stack([X, np.ones(60)])
    low, high = MonotonicityHint({2: 1}, pairs=5).start(Sample.training(X, y, np.unique(y), 1))
    assert (high[:, 2] > low[:, 2]).all()


def test_verify_is_sampled(data):
    X, y = data
    block = MonotonicityHint({0: -1}, mu=0.01, pairs=30)
    model = PriorSVC(block, kernel="rbf").fit(X, y)
    low, high = block.start(Sample.training(X, y, np.unique(y), 1))
    rise = model.decision_function(high) - model.decision_function(low)
    verdict = model.verify()["monotonicity_hint"]
    assert verdict.worst == pytest.approx(rise.min())
    assert (verdict.holds, verdict.proven, verdict.checked) == (False, False, 30)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": {}}, "features must be a dict of column to"),
        ({"features": [0]}, "features must be a dict of column to"),
        ({"features": {0: 2}}, r"direction of column 0 must be \+1 or -1, got 2"),
        ({"features": {7: 1}}, "there is no column 7: give a name, or an index from 0 to 2"),
        ({"features": {"age": 1}}, "there is no column 'age'. Fit on a DataFrame to use names"),
        ({"features": {0: 1}, "mu": -1}, "mu must be a nonnegative number, got -1"),
        (
            {"features": {0: 1}, "pairs": 0},
            "pairs must be a whole number of at least 1 and at most 1000000, got 0",
        ),
        ({"features": {0: 1}, "label": "ill"}, "label 'ill' is not among the classes"),
    ],
)
def test_bad_arguments_are_named(data, arguments, message):
    with pytest.raises(InvalidInput, match="'monotonicity_hint'.*" + message):
        PriorSVC(MonotonicityHint(**arguments)).fit(*data)


@pytest.mark.slow
@pytest.mark.parametrize(
    "block",
    [
        MonotonicityHint({0: 1}, pairs=10),
        MonotonicityHint({0: -1, 1: 1}, mu=50.0, pairs=5),
        MonotonicityHint({0: -1}, hard=True, pairs=10),
        MonotonicityHint({0: 1}, hard=True, label=0, pairs=10),
    ],
    ids=repr,
)
def test_laws(block):
    laws = check_knowledge(block)
    assert ("violation does not grow with the weight" in laws) is (not block.hard)
