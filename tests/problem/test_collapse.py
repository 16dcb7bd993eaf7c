"""A constant f: blocks are blamed for it only if they are the reason."""

import warnings

import numpy as np
import pytest

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    InvarianceHint,
    Knowledge,
    PriorSVC,
    Shift,
    TangentPenalty,
    Terms,
    UncertainSamples,
)
from priorsvm.errors import CollapsedModel
from priorsvm.problem.collapse import MAX_ROWS


@pytest.fixture(scope="module")
def rare():
    """Twelve rows of 300 are 'high', in the midst of the others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2, 300)).T
    y = np.where(X.sum(axis=1) + 2 * rng.normal(size=300) > 4.2, "high", "low")
    assert np.sum(y == "high") == 12
    return X, y


def said(model, X, y):
    """The warnings of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CollapsedModel)
        model.fit(X, y)
    return [str(w.message) for w in caught if w.category is CollapsedModel]


@pytest.mark.parametrize(
    "loose", [None, UncertainSamples(1e-6), Box({0: (2, 3), 1: (2, 3)}, "high", mu=0.1, holds="everywhere")]
)
def test_a_rare_class_is_named_and_no_block_blamed(rare, loose):
    model = PriorSVC(loose)
    (message,) = said(model, *rare)
    assert "12 of 300 rows are 'high': ClassCosts('balanced')" in message
    assert "all rows are classified as 'low'" in message
    assert ("without any block" in message) == (loose is not None)
    assert set(model.predict(rare[0])) == {"low"}


def test_its_advice_is_good(rare):
    X, y = rare
    model = PriorSVC(ClassCosts("balanced") + UncertainSamples(1e-6))
    assert said(model, X, y) == []
    assert set(model.predict(X)) == {"high", "low"}


def test_a_block_is_blamed_where_costs_have_let_f_vary(rare):
    (message,) = said(PriorSVC(ClassCosts("balanced") + UncertainSamples(100.0)), *rare)
    assert message.startswith("block 'uncertain_samples' leaves a constant f")


def test_costs_are_not_advised_to_those_who_have_them(rare):
    (message,) = said(PriorSVC(ClassCosts({"high": 1.5}) + UncertainSamples(1e-6)), *rare)
    assert "ClassCosts" not in message
    assert "separates the classes at C=1" in message


def test_a_small_C_may_leave_a_constant_f_without_a_word():
    X, y = np.repeat([[0.0], [1.0]], 4, axis=0), np.array([0, 0, 1, 1, 0, 0, 1, 1])
    model = PriorSVC(C=1e-6)
    assert said(model, X, y) == []
    assert np.ptp(model.decision_function(X)) < 1e-3


def test_of_several_models_the_one_of_the_class_is_named(rare):
    X, y = rare
    y = np.where((y == "low") & (X[:, 0] > 0.5), "middle", y)
    block = UncertainSamples(1e-6)
    assert said(PriorSVC(), X, y) == []
    (message,) = said(PriorSVC(block), X, y)
    assert message.startswith("f for class 'high' is constant")
    assert "classified as another class" in message


def test_a_path_says_it_too(rare):
    with pytest.warns(CollapsedModel, match="12 of 300"):
        PriorSVC().fit_path(*rare, {"C": [0.1, 1.0]})


def test_a_kernel_that_tells_them_apart_is_silent(rare):
    assert said(PriorSVC(kernel=RBF(5.0), C=10.0), *rare) == []


def test_no_second_model_is_fitted_for_many_rows(rare, monkeypatch):
    monkeypatch.setattr("priorsvm.problem.collapse.MAX_ROWS", 299)
    (message,) = said(PriorSVC(UncertainSamples(1e-6)), *rare)
    assert message.startswith("block 'uncertain_samples'")
    assert MAX_ROWS > 299


class Smooth(Knowledge):
    """The slopes of f are small at some points."""

    way_out_of_collapse = "Lower mu."

    def __init__(self, mu=1.0):
        self.mu = mu

    def build(self, f, view):
        import cvxpy as cp

        X = view.sample.X_train
        slopes = cp.hstack([f.slope(X, np.tile(e, (len(X), 1))) for e in np.eye(X.shape[1])])
        return Terms({"mu": cp.sum_squares(slopes)})


@pytest.fixture(scope="module")
def separable():
    X = np.random.default_rng(1).normal(size=(30, 2))
    return X, np.where(X[:, 0] > 0, 1, 0)


FLAT = [
    (Smooth, "Lower mu"),
    (
        lambda mu: (
            InvarianceHint(Shift([1.0, 0.0]), mu=100 * mu) + InvarianceHint(Shift([0.0, 1.0]), mu=100 * mu)
        ),
        "lower mu",
    ),
    (lambda mu: TangentPenalty(Shift([1.0, 0.0]), mu), "Lower gamma"),
]


@pytest.mark.parametrize(("make", "advice"), FLAT)
def test_a_penalty_that_leaves_a_constant_f_is_named(separable, make, advice):
    X, y = separable
    model = PriorSVC(make(1e4))
    (message,) = said(model, X, y)
    assert np.ptp(model.decision_function(X)) < 1e-3
    assert message.startswith("block '")
    assert "leaves a constant f" in message
    assert advice in message
    assert said(PriorSVC(make(1e-3)), X, y) == []


def test_of_two_penalties_the_one_that_flattens_f_is_named(separable):
    strong = Smooth(1e4).named("strong")
    weak = Smooth(1e-6).named("weak")
    for prior in (strong + weak, weak + strong):
        (message,) = said(PriorSVC(prior), *separable)
        assert message.startswith("block 'strong'")
    (message,) = said(PriorSVC(strong + Smooth(1e4).named("second")), *separable)
    assert message.startswith("block 'second'")


def test_a_penalty_is_not_named_for_an_f_that_a_small_C_leaves(separable):
    assert said(PriorSVC(Smooth(1.0), C=1e-6), *separable) == []


def test_a_penalty_is_not_named_for_a_rare_class(rare):
    (message,) = said(PriorSVC(Smooth(1e-3)), *rare)
    assert "ClassCosts('balanced')" in message
    assert "without any block" in message


def test_a_penalty_without_advice_is_not_named(separable, monkeypatch):
    monkeypatch.setattr(Smooth, "way_out_of_collapse", None)
    assert said(PriorSVC(Smooth(1e4)), *separable) == []


def test_no_model_without_a_penalty_is_fitted_for_many_rows(separable, monkeypatch):
    monkeypatch.setattr("priorsvm.problem.collapse.MAX_ROWS", 29)
    assert said(PriorSVC(Smooth(1e4)), *separable) == []
