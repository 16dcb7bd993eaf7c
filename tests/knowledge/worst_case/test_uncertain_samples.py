"""UncertainSamples of linear models: cones written out, other blocks, other solvers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    Ellipsoid,
    PriorSVC,
    SampleCosts,
    Shift,
    Trajectories,
    UncertainSamples,
    VirtualSamples,
    VirtualSupportVectors,
)
from priorsvm.errors import InvalidInput, ZeroedColumns

from .uncertain_problems import (
    DIGITS,
    FEWER,
    GAMMA,
    SHARP,
    WIDTH,
    N,
    certificate,
    cones,
    is_own,
    own_norm,
    own_socp,
    signs,
)


@pytest.mark.parametrize(
    "nothing",
    [0.0, {}, {1: 0.0}, np.zeros(3), np.zeros((3, 3)), np.zeros((N, 3)), np.zeros((N, 3, 3))],
    ids=["number", "empty", "dict", "d", "dd", "nd", "ndd"],
)
def test_rows_without_error_bars_are_the_plain_model(few, new, kernel, svc, nothing):
    X, y = few
    model = PriorSVC(UncertainSamples(nothing), kernel=kernel).fit(X, y)
    plain = PriorSVC(kernel=kernel).fit(X, y)
    assert model.solver_ == plain.solver_
    np.testing.assert_array_equal(model.decision_function(new), plain.decision_function(new))
    np.testing.assert_allclose(model.decision_function(new), svc(X, y, new), rtol=0, atol=1e-6)


@pytest.mark.parametrize("shape", [(3, 2), (N, 3, 1)])
def test_factors_of_zeros_are_the_plain_model(few, new, shape):
    model = PriorSVC(UncertainSamples(factor=np.zeros(shape))).fit(*few)
    plain = PriorSVC().fit(*few)
    np.testing.assert_array_equal(model.decision_function(new), plain.decision_function(new))


def test_even_odds_are_the_model_on_the_means(few, new, kernel, covariances):
    model = PriorSVC(UncertainSamples(covariances, confidence=0.5), kernel=kernel).fit(*few)
    plain = PriorSVC(kernel=kernel).fit(*few)
    assert model.solver_ == plain.solver_
    np.testing.assert_array_equal(model.decision_function(new), plain.decision_function(new))
    assert model.verify().holds


def test_even_odds_of_any_distribution_are_one_standard_deviation(few, factors, covariances):
    model = PriorSVC(UncertainSamples(covariances, 0.5, "any"), **SHARP).fit(*few)
    is_own(model, own_socp(*few, factors, gamma=1.0))


def test_confidence_in_standard_deviations():
    assert UncertainSamples(1.0, 0.975).radius == pytest.approx(1.959963984540054, rel=1e-14)
    assert UncertainSamples(1.0, 0.8, "any").radius == pytest.approx(2.0, rel=1e-14)
    for k in (0.5, 0.6, 0.9, 0.999, 1 - 1e-9):
        assert UncertainSamples(1.0, k).radius == norm.ppf(k)
        assert UncertainSamples(1.0, k, "any").radius == pytest.approx(np.sqrt(k / (1 - k)), rel=1e-14)


@pytest.mark.parametrize(("confidence", "warns"), [(0.9, True), (0.55, False)])
def test_a_best_column_with_weight_zero_is_warned_of(confidence, warns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    X[:, 1] = X[:, 0] + 0.5 * X[:, 1]
    y = (X[:, 0] + 0.3 * rng.normal(size=80) > 0).astype(int)
    plain = PriorSVC(scale="standard").fit(X, y)
    assert np.argmax(np.abs(plain.coef_[0])) == 0
    block = UncertainSamples({0: 0.8}, confidence)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ZeroedColumns)
        model = PriorSVC(block, scale="standard").fit(X, y)
    messages = [str(w.message) for w in caught if w.category is ZeroedColumns]
    assert len(messages) == warns == (abs(model.coef_[0, 0]) < 1e-4)
    assert model.findings_["uncertain_samples"].warnings == tuple(messages)
    if warns:
        assert "weights to 0, although the model without blocks mainly uses column 0." in messages[0]
        assert "lower confidence=0.9" in messages[0]


@pytest.mark.slow
@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kind", ["l2", "l1"])
def test_own_second_order_cones(few, factors, kind, loss, scale):
    stretch, shift = np.array([1.0, 10.0, 0.2]), np.array([0.0, 5.0, -1.0])
    X, y, A = few[0] * stretch + shift, few[1], factors * stretch[:, None]
    S = A @ A.swapaxes(1, 2)
    settings = {"C": 1.5, "norm": kind, "loss": loss}
    digits = DIGITS if loss == "hinge" else FEWER
    model = PriorSVC(UncertainSamples(S), scale=scale, solver_options=digits, **settings).fit(X, y)
    width = {None: 1.0, "standard": X.std(axis=0), "minmax": np.ptp(X, axis=0)}[scale]
    is_own(model, own_socp(X, y, A, width=width, **settings), atol=1e-5 if loss == "hinge" else 3e-8)


@pytest.mark.parametrize("distribution", ["gaussian", "any"])
@pytest.mark.parametrize("confidence", [0.6, 0.9, 0.99])
def test_own_cones_of_every_confidence(few, factors, covariances, confidence, distribution):
    gamma = norm.ppf(confidence) if distribution == "gaussian" else np.sqrt(confidence / (1 - confidence))
    block = UncertainSamples(0.01 * covariances, confidence, distribution)
    is_own(PriorSVC(block, **SHARP).fit(*few), own_socp(*few, 0.1 * factors, gamma))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_own_cones_with_costs_and_margins(few, factors, covariances, loss):
    X, y = few
    rng = np.random.default_rng(6)
    weight = np.where(rng.uniform(size=N) < 0.2, 0.0, rng.uniform(0.2, 2.0, size=N))
    margins = rng.uniform(0.5, 1.5, size=N)
    prior = ClassCosts({1: 2.5}) + SampleCosts(margins=margins) + UncertainSamples(covariances)
    digits = DIGITS if loss == "hinge" else FEWER
    model = PriorSVC(prior, loss=loss, solver_options=digits).fit(X, y, sample_weight=weight)
    cost = weight * np.where(y == 1, 2.5, 1.0)
    is_own(model, own_socp(X, y, factors, loss=loss, cost=cost, rho=margins))
    assert cones(model) == {3: np.count_nonzero(weight)}


def test_a_weight_of_two_is_the_row_twice(few, covariances):
    X, y = few
    weight = np.tile([1, 2, 0, 3], N // 4)
    once = PriorSVC(UncertainSamples(covariances), **SHARP).fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(N), weight)
    repeated = PriorSVC(UncertainSamples(covariances[rows]), **SHARP).fit(X[rows], y[rows])
    np.testing.assert_allclose(once.coef_, repeated.coef_, rtol=0, atol=1e-7)


def test_a_common_covariance_of_all_directions_moves_the_margin(few):
    model = PriorSVC(UncertainSamples(0.3), C=2.0, **SHARP).fit(*few)
    is_own(model, own_norm(*few, 0.3 * np.eye(3), C=2.0))


@pytest.mark.parametrize("rank", [1, 2])
def test_covariances_without_full_rank(few, factors, rank):
    A = factors[:, :, :rank]
    own = own_socp(*few, A)
    twice = np.concatenate([0.6 * A, -0.8 * A], axis=2)
    given = [{"covariance": A @ A.swapaxes(1, 2)}, {"factor": A}, {"factor": twice}]
    for how in given:
        model = PriorSVC(UncertainSamples(**how), **SHARP).fit(*few)
        is_own(model, own)
        assert cones(model) == {rank: N}


def test_rows_of_every_rank_side_by_side(few, factors):
    A = factors.copy()
    for i in range(N):
        A[i, :, i % 4 :] = 0.0
    model = PriorSVC(UncertainSamples(A @ A.swapaxes(1, 2)), **SHARP).fit(*few)
    is_own(model, own_socp(*few, A))
    assert cones(model) == {1: 10, 2: 10, 3: 10}
    assert model.verify()["uncertain_samples"].checked == 30


def test_columns_that_depend_on_each_other(few):
    """A sum among the columns: no covariance of them has full rank, and none is exactly singular."""
    X, y = few
    X = np.column_stack([X, X @ [1.0, 0.3, -0.7]])
    A = np.random.default_rng(7).normal(size=(N, 3, 3)) * 0.2
    A = np.concatenate([A, np.einsum("nij,i->nj", A, [1.0, 0.3, -0.7])[:, None]], axis=1)
    model = PriorSVC(UncertainSamples(A @ A.swapaxes(1, 2)), **SHARP).fit(X, y)
    assert cones(model) == {3: N}
    is_own(model, own_socp(X, y, A))


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("how", ["covariance", "factor"])
def test_units_do_not_matter(few, new, factors, how, rank):
    X, y = few
    A, unit = factors[:, :, :rank], np.array([1e-6, 1.0, 1e6])

    def fitted(u):
        given = A * u[:, None]
        block = (
            UncertainSamples(factor=given)
            if how == "factor"
            else UncertainSamples(given @ given.swapaxes(1, 2))
        )
        return PriorSVC(block, scale="standard", **SHARP).fit(X * u, y)

    plain, other = fitted(np.ones(3)), fitted(unit)
    assert cones(other) == cones(plain) == {rank: N}
    np.testing.assert_allclose(
        other.decision_function(new * unit), plain.decision_function(new), rtol=0, atol=1e-7
    )


def test_only_rows_with_error_bars_have_cones(few, factors, covariances):
    some = np.arange(N) % 3 == 0
    S = np.where(some[:, None, None], covariances, 0.0)
    model = PriorSVC(UncertainSamples(S), **SHARP).fit(*few)
    is_own(model, own_socp(*few, np.where(some[:, None, None], factors, 0.0)))
    assert cones(model) == {3: some.sum()}
    [margin] = [c for c in model.problem.constraints if c.label == "uncertain_samples.margin"]
    assert margin.size == some.sum()


def test_rows_of_one_covariance_share_a_cone(few, covariances):
    S = covariances[np.arange(N) % 5]
    model = PriorSVC(UncertainSamples(S)).fit(*few)
    assert cones(model) == {3: 5}
    assert cones(PriorSVC(UncertainSamples(covariances[0])).fit(*few)) == {3: 1}
    assert cones(PriorSVC(UncertainSamples(0.2)).fit(*few)) == {3: 1}


def test_larger_errors_have_a_larger_objective(few):
    values = [PriorSVC(UncertainSamples(bar)).fit(*few).objective_ for bar in (0.0, 0.1, 0.2, 0.4)]
    assert (np.diff(values) > 0.1).all()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kind", ["l2", "l1"])
def test_one_direction_is_a_shift_along_it(few, kind, loss):
    u = np.array([0.3, -0.1, 0.2])
    settings = {"norm": kind, "loss": loss, **SHARP}
    model = PriorSVC(UncertainSamples(factor=u[:, None]), **settings).fit(*few)
    moved = PriorSVC(Trajectories(Shift(GAMMA * u), degree=1), **settings).fit(*few)
    assert model.objective_ == pytest.approx(moved.objective_, rel=1e-11)
    np.testing.assert_allclose(model.coef_, moved.coef_, rtol=0, atol=1e-7)
    np.testing.assert_allclose(model.intercept_, moved.intercept_, rtol=0, atol=1e-7)


@pytest.fixture(scope="module")
def apart():
    """Two classes with room between them."""
    rng = np.random.default_rng(9)
    y = np.repeat([0, 1], 6)
    return np.array([[0.0, 0.0], [3.0, 2.0]])[y] + 0.5 * rng.normal(size=(12, 2)), y


def test_a_hard_margin_is_an_ellipsoid_around_every_row(apart):
    X, y = apart
    A = 0.25 * np.random.default_rng(10).normal(size=(12, 2, 2))
    model = PriorSVC(UncertainSamples(factor=A), C=1e5, **SHARP).fit(X, y)
    regions = sum(
        (Ellipsoid(X[i], GAMMA * A[i], y[i], hard=True).named(f"row{i}") for i in range(12)), start=0
    )
    hard = PriorSVC(regions, C=1e5, **SHARP).fit(X, y)
    assert certificate(model, X, y, A).min() == pytest.approx(1.0, abs=1e-7)
    np.testing.assert_allclose(model.coef_, hard.coef_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, hard.intercept_, rtol=0, atol=1e-6)


def test_a_hard_margin_in_one_column_is_a_box_around_every_row(apart):
    X, y = apart[0][:, :1], apart[1]
    bars = np.random.default_rng(11).uniform(0.05, 0.2, size=12)
    model = PriorSVC(UncertainSamples(bars[:, None]), C=1e5, **SHARP).fit(X, y)
    boxes = sum(
        (
            Box({0: (float(x - GAMMA * bar), float(x + GAMMA * bar))}, label, hard=True).named(f"row{i}")
            for i, (x, bar, label) in enumerate(zip(X[:, 0], bars, y, strict=True))
        ),
        start=0,
    )
    hard = PriorSVC(boxes, C=1e5, **SHARP).fit(X, y)
    lower, upper = (X[y == 0, 0] + GAMMA * bars[y == 0]).max(), (X[y == 1, 0] - GAMMA * bars[y == 1]).min()
    for found in (model, hard):
        assert found.coef_[0, 0] == pytest.approx(2 / (upper - lower), rel=1e-7)
        assert -found.intercept_[0] / found.coef_[0, 0] == pytest.approx((upper + lower) / 2, rel=1e-7)


def test_virtual_support_vectors_are_copies_of_the_active_rows(few, covariances):
    X, y = few
    block, copies = UncertainSamples(covariances), VirtualSupportVectors(Shift([0.1, 0.0, 0.0]))
    held = np.unique(PriorSVC(block).fit(X, y).findings_["uncertain_samples"].rows)
    assert 0 < len(held) < N
    model = PriorSVC(block + copies).fit(X, y)
    assert [entry["rows"] for entry in model.history_] == [N, 3 * len(held)]
    fewer = PriorSVC(UncertainSamples(covariances[held]) + VirtualSamples(Shift([0.1, 0.0, 0.0])))
    np.testing.assert_allclose(model.coef_, fewer.fit(X[held], y[held]).coef_, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("solver", "close"), [("ECOS", 1e-8), ("SCS", 1e-6), ("QOCO", 1e-8)])
@pytest.mark.parametrize("settings", ["linear", "rbf", "guarantee"])
def test_solvers_agree(few, new, covariances, settings, solver, close):
    kernel = "linear" if settings == "linear" else RBF(WIDTH)
    sure = settings == "guarantee"
    block = UncertainSamples(covariances * (0.01 if sure else 1.0), guarantee=sure)
    models = [PriorSVC(block, kernel=kernel, solver=s).fit(*few) for s in ("CLARABEL", solver)]
    ours, theirs = (m.decision_function(new) for m in models)
    assert models[1].objective_ == pytest.approx(models[0].objective_, rel=close)
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=5e-5)


@pytest.mark.slow
def test_three_classes(three):
    X, y = three
    A = 0.15 * np.random.default_rng(12).normal(size=(60, 2, 2))
    model = PriorSVC(UncertainSamples(factor=A), **SHARP).fit(X, y)
    for k, name in enumerate("abc"):
        own = (y == name).astype(int)
        is_own(model, own_socp(X, own, A), k=k)
        worst = model.findings_[k]["uncertain_samples"]
        values = signs(own)[worst.rows] * model.decision_function(worst.points)[:, k]
        np.testing.assert_allclose(values, certificate(model, X, own, A, k=k)[worst.rows], rtol=0, atol=1e-10)
    assert model.verify().holds


def test_a_path_over_c_is_separate_fits(few, covariances):
    base = PriorSVC(UncertainSamples(covariances), **SHARP)
    for model, C in zip(base.fit_path(*few, {"C": [0.1, 1.0, 10.0]}), [0.1, 1.0, 10.0], strict=True):
        alone = PriorSVC(UncertainSamples(covariances), C=C, **SHARP).fit(*few)
        np.testing.assert_allclose(model.coef_, alone.coef_, rtol=0, atol=1e-6)


@pytest.mark.parametrize("by_row", [True, False])
def test_columns_that_a_table_of_errors_leaves_out_are_exact(by_row):
    """A text column is encoded inside the model, and the errors of the numbers keep their names."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    y = (X["a"] + X["b"] > 0).astype(int)
    X["size"] = rng.choice(["small", "large"], 40)
    errors = (
        pd.DataFrame(rng.random((40, 2)), columns=["c", "a"]) if by_row else pd.Series({"c": 0.3, "a": 0.1})
    )
    found = PriorSVC(UncertainSamples(errors)).fit(X, y)
    whole = np.zeros((40, 5) if by_row else 5)
    whole[..., 0] = errors["a"]
    whole[..., 2] = errors["c"]
    expected = PriorSVC(UncertainSamples(whole)).fit(X, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-7)
    with pytest.raises(InvalidInput, match=r"size.*Leave out columns of text"):
        PriorSVC(UncertainSamples(X.assign(size=0.0))).fit(X, y)
