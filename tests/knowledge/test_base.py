"""What every block has from its base, and the checks blocks share."""

import copy
import pickle

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone

from priorsvm import (
    ClassCosts,
    InvarianceHint,
    InvariantLoss,
    Knowledge,
    OddnessHint,
    Prior,
    PriorSVC,
    Shift,
    Terms,
    Transductive,
)
from priorsvm._utils.checks import check_nonnegative, is_number
from priorsvm.errors import InvalidInput, InvalidType, MissingCapability
from priorsvm.knowledge.checks import check_points
from priorsvm.prior import snake_case


class Anchor(Knowledge):
    "mu * (f(point) - value)^2"

    def __init__(self, point, value, mu=1.0):
        self.point, self.value, self.mu = point, value, mu

    def build(self, f, view):
        return Terms(penalties={"mu": cp.sum_squares(f([self.point]) - self.value)})


class PerRow(Knowledge):
    prepares = "reweights"
    row_params = ("trust",)

    def __init__(self, trust=None):
        self.trust = trust

    def prepare(self, sample, state):
        return sample


@pytest.mark.parametrize("scale", [None, "standard"])
def test_a_block_of_ones_own_needs_one_formula(data, kernel, assemble, draw, scale):
    X, y = data
    compiled = assemble(Anchor([0.5, 1.0, 0.0], 2.0, mu=3.0), X, y, kernel, scale=scale)
    f = draw(compiled)
    [term] = compiled.terms
    assert term.expression.value == pytest.approx((f([[0.5, 1.0, 0.0]])[0] - 2.0) ** 2, rel=1e-8)
    model = PriorSVC(Anchor([0.5, 1.0, 0.0], 2.0, mu=1e5), kernel=kernel, scale=scale).fit(X, y)
    assert model.decision_function([[0.5, 1.0, 0.0]])[0] == pytest.approx(2.0, abs=1e-2)


def test_a_block_that_leaves_all_rows_as_they_are_asks_nothing(data, new):
    X, y = data
    model = PriorSVC(PerRow(), solver="CLARABEL").fit(X, y, per_row__trust=np.ones(80))
    plain = PriorSVC(solver="CLARABEL").fit(X, y)
    np.testing.assert_array_equal(model.decision_function(new), plain.decision_function(new))
    assert model.verify()["per_row"].holds is None
    assert PriorSVC(PerRow()).fit(X, y).solver_ == "LIBSVM"


def test_what_a_block_is_follows_from_what_it_defines():
    assert ClassCosts({}).only_rows
    assert Transductive([]).only_rows
    assert not OddnessHint().only_rows
    assert not ClassCosts({}).may_forbid
    assert not OddnessHint().may_forbid
    assert OddnessHint(hard=True).may_forbid
    assert not InvariantLoss(Shift([1.0])).may_forbid
    assert Anchor([0.0], 1.0).may_forbid


def test_missing_capability_names_block_need_and_models(data):
    class NeedsWeights(Knowledge):
        def build(self, f, view):
            return Terms(constraints={"rising": f.coef >= 0})

    class NeedsMatrix(Knowledge):
        def build(self, f, view):
            return Terms(constraints={"near": f(view.sample.X) >= f.kernel(*[view.sample.X] * 2)[0]})

    with pytest.raises(MissingCapability, match=r"'needs_weights'.*requires f\.coef.* use kernel='linear'"):
        PriorSVC(NeedsWeights(), kernel="rbf", solver="CLARABEL").fit(*data)
    with pytest.raises(
        MissingCapability, match=r"'needs_matrix'.*requires f\.kernel.*linear model.* other than 'linear'"
    ):
        PriorSVC(NeedsMatrix()).fit(*data)


def test_row_parameters_are_arrays_functions_or_none(data, assemble):
    X, y = data
    sample = assemble(None, X, y).sample
    assert PerRow().aligned("trust", sample) is None
    np.testing.assert_array_equal(PerRow(list(range(80))).aligned("trust", sample), np.arange(80.0))
    np.testing.assert_array_equal(PerRow(lambda X, y: X[:, 0] + y).aligned("trust", sample), X[:, 0] + y)
    assert PerRow(np.zeros((80, 2, 2))).aligned("trust", sample).shape == (80, 2, 2)
    with pytest.raises(
        InvalidInput, match=r"trust was given as an array with shape \(3,\), but there are 80"
    ):
        PerRow([1, 2, 3]).aligned("trust", sample)
    with pytest.raises(InvalidInput, match=r"trust was given as a function of \(X, y\) with shape \(2,\)"):
        PerRow(lambda X, y: [1.0, 2.0]).aligned("trust", sample)
    with pytest.raises(InvalidInput, match=r"trust must be one number per training row, got 1\.0"):
        PerRow(1.0).aligned("trust", sample)
    with pytest.raises(InvalidInput, match="trust must be numbers, got"):
        PerRow(["much"] * 80).aligned("trust", sample)


def test_terms_cannot_be_changed():
    with pytest.raises(AttributeError):
        Terms().penalties = {}
    assert (Terms().penalties, Terms().constraints) == ({}, {})


def test_named_is_a_copy_under_that_name():
    hint = InvarianceHint(Shift([1.0]))
    prior = hint.named("tumour")
    assert isinstance(prior, Prior)
    prior.set_params(tumour__mu=5.0, tumour__transform__steps=7)
    assert prior["tumour"].mu == 5.0
    assert (hint.mu, hint.transform.steps) == (1.0, 3)


def test_blocks_hold_no_solved_problem(data):
    hint = OddnessHint()
    PriorSVC(hint).fit(*data)
    assert vars(hint) == {"mu": 1.0, "hard": False}
    for twin in (pickle.loads(pickle.dumps(hint)), copy.deepcopy(hint), clone(hint)):
        assert vars(twin) == vars(hint)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("VirtualSamples", "virtual_samples"), ("Odd", "odd"), ("SDPM2Norm", "sdpm2_norm"), ("X", "x")],
)
def test_snake_case(name, expected):
    assert snake_case(name) == expected


@pytest.mark.parametrize("value", [0, 1.5, np.float32(2), np.int64(3)])
def test_numbers(value):
    assert is_number(value)
    check_nonnegative(mu=value)


@pytest.mark.parametrize("value", [True, np.True_, "1", None, [1], 1j, -1, np.nan, np.inf])
def test_no_nonnegative_numbers(value):
    with pytest.raises(InvalidInput, match="mu must be a nonnegative number, got"):
        check_nonnegative(cost=1.0, mu=value)


def test_points_are_checked(three, assemble):
    sample = assemble(None, *three).sample
    np.testing.assert_array_equal(check_points("X", [[1, 2]], sample), [[1.0, 2.0]])
    assert check_points("X", np.empty((0, 2)), sample).shape == (0, 2)
    for bad, message in (
        ([1.0, 2.0], r"X has shape \(2,\), expected \(n, 2\)"),
        ([[1.0, 2.0, 3.0]], r"X has shape \(1, 3\), expected \(n, 2\)"),
        ([[1.0], [2.0, 3.0]], "X must be a 2-D array of numbers"),
        ([[np.inf, 0.0]], "X contains NaN or infinity"),
    ):
        with pytest.raises(InvalidInput, match=message):
            check_points("X", bad, sample)


class Wrong(Knowledge):
    """Returns what it is given."""

    def __init__(self, returned, mu=1.0):
        self.returned, self.mu = returned, mu

    def build(self, f, view):
        return self.returned(f, view.sample.X_train)


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        (lambda f, X: {"mu": cp.sum_squares(f(X))}, InvalidType, "build must return Terms.*got dict"),
        (lambda f, X: Terms({"mu": f(X)}), InvalidType, "penalty 'mu' must be a scalar"),
        (lambda f, X: Terms({"mu": 3.0}), InvalidType, "penalty 'mu' must be a scalar cvxpy expression"),
        (
            lambda f, X: Terms({"nu": cp.sum_squares(f(X))}),
            InvalidInput,
            "penalty 'nu' requires a parameter of the block called 'nu'",
        ),
        (lambda f, X: Terms({"mu": -cp.sum_squares(f(X))}), InvalidInput, "penalty 'mu' is not convex"),
        (
            lambda f, X: Terms({"mu": cp.Parameter(nonneg=True) * cp.sum_squares(f(X))}),
            InvalidInput,
            "penalty 'mu' must be free of cvxpy Parameters",
        ),
        (
            lambda f, X: Terms({}, {"rule": True}),
            InvalidType,
            "constraint 'rule' is a bool, not a cvxpy constraint",
        ),
        (
            lambda f, X: Terms({}, {"rule": cp.square(f(X)) >= 1}),
            InvalidInput,
            "constraint 'rule' is not convex",
        ),
    ],
)
def test_what_build_returns_is_checked(data, returned, error, message):
    with pytest.raises(error, match="'wrong'.*" + message):
        PriorSVC(Wrong(returned)).fit(*data)


def test_any_other_error_says_in_which_block(data):
    def returned(f, X):
        raise ZeroDivisionError("division by zero")

    with pytest.raises(ZeroDivisionError) as caught:
        PriorSVC(Wrong(returned)).fit(*data)
    assert caught.value.__notes__ == ["This happened in block 'wrong'."]


def test_points_of_f_are_checked(data):
    class Elsewhere(Anchor):
        def build(self, f, view):
            return Terms({"mu": cp.sum_squares(f([[1.0, 2.0]]))})

    with pytest.raises(InvalidInput, match=r"'elsewhere'.*points of shape \(n, 3\), got shape \(1, 2\)"):
        PriorSVC(Elsewhere([0.0, 0.0, 0.0], 1.0), kernel="rbf").fit(*data)


def test_a_parameter_that_is_not_there_is_told_with_those_that_are():
    with pytest.raises(
        InvalidInput, match=r"^OddnessHint has no parameter 'mus'\. Did you mean 'mu'\? It has"
    ) as told:
        OddnessHint().set_params(mus=3)
    assert "mu" in str(told.value).split("It has")[1]
    with pytest.raises(InvalidInput, match="Did you mean 'mu'"):
        PriorSVC(OddnessHint()).set_params(prior__mus=3)
    assert OddnessHint().set_params(mu=3.0).mu == 3.0
