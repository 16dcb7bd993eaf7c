"""Blocks of users whose terms, rows or scores are wrong."""

import cvxpy as cp
import numpy as np
import pytest

from priorsvm import Knowledge, Prior, PriorSVC, Scores, Terms
from priorsvm.errors import InvalidInput, InvalidType, MissingCapability
from tests.bad_inputs.cases import Case, X, Y, check, parametrize


class Own(Knowledge):
    """A block whose terms are those of a function of f."""

    def __init__(self, make, mu=1.0):
        self.make = make
        self.mu = mu

    def build(self, f, view):
        return self.make(f)


class Preparing(Knowledge):
    """A block that changes rows by a function."""

    prepares = "reweights"

    def __init__(self, change):
        self.change = change

    def prepare(self, sample, state):
        return self.change(sample)


class Scoring(Scores, Knowledge):
    """A block that scores rows by a function."""

    def __init__(self, score):
        self.score = score

    def predict(self, f, X):
        return self.score(f, X)


SQUARE = cp.sum_squares


def spanning(points):
    """Return a function that expands f over these points and builds no terms."""

    def make(f):
        f.span(points)
        return Terms()

    return make


def own(name, error, words, make, mu=1.0):
    """Return the case of a block whose terms are wrong, found when it builds."""
    return Case(name, error, ["'own'", *words], Own(make, mu), late=True)


CASES = [
    own("no terms", InvalidType, ["Terms", "NoneType"], lambda f: None),
    own("a tuple for terms", InvalidType, ["Terms", "tuple"], lambda f: ({}, {})),
    own(
        "a penalty without a name",
        InvalidType,
        ["penalties", "dict"],
        lambda f: Terms(SQUARE(f(X))),
    ),
    own(
        "a list of constraints",
        InvalidType,
        ["constraints", "dict"],
        lambda f: Terms({}, [f(X) >= 0]),
    ),
    own("a penalty that is a vector", InvalidType, ["'mu'", "scalar"], lambda f: Terms({"mu": f(X)})),
    own(
        "a penalty that is a number",
        InvalidType,
        ["'mu'", "scalar cvxpy expression"],
        lambda f: Terms({"mu": 3.0}),
    ),
    own(
        "a penalty that is not convex",
        InvalidInput,
        ["'mu'", "not convex"],
        lambda f: Terms({"mu": -SQUARE(f(X))}),
    ),
    own(
        "a penalty without a parameter",
        InvalidInput,
        ["'gamma'", "requires a parameter"],
        lambda f: Terms({"gamma": SQUARE(f(X))}),
    ),
    own(
        "a penalty with a parameter",
        InvalidInput,
        ["'mu'", "Parameters", "assembler"],
        lambda f: Terms({"mu": cp.Parameter(nonneg=True) * SQUARE(f(X))}),
    ),
    own("a truth value for a constraint", InvalidType, ["'low'", "bool"], lambda f: Terms({}, {"low": True})),
    own(
        "an expression for a constraint",
        InvalidType,
        ["'low'", "not a cvxpy constraint"],
        lambda f: Terms({}, {"low": f(X)}),
    ),
    own(
        "a constraint that is not convex",
        InvalidInput,
        ["'low'", "not convex"],
        lambda f: Terms({}, {"low": SQUARE(f(X)) >= 1}),
    ),
    *[
        own(
            f"a weight of {mu!r}",
            InvalidInput,
            ["mu", repr(mu), "nonnegative number"],
            lambda f: Terms({"mu": SQUARE(f(X))}),
            mu=mu,
        )
        for mu in (-1.0, float("nan"), "a", None)
    ],
    own(
        "f at points too wide", ValueError, ["(1, 3)"], lambda f: Terms({"mu": SQUARE(f([[1.0, 2.0, 3.0]]))})
    ),
    own(
        "f at a single point",
        InvalidInput,
        ["(2,)", "(n, 2)"],
        lambda f: Terms({"mu": SQUARE(f([1.0, 2.0]))}),
    ),
    own(
        "f at NaN",
        InvalidInput,
        ["NaN"],
        lambda f: Terms({"mu": SQUARE(f([[np.nan, 2.0]]))}),
    ),
    *[
        own(f"f.span at {shown}", InvalidInput, ["f.span(Z)", words], spanning(points))._replace(
            parameters={"kernel": "rbf"}
        )
        for shown, points, words in [
            ("points too wide", [[1, 2, 3]], "(n, 2)"),
            ("a single point", [1.0, 2.0], "(n, 2)"),
            ("NaN", [[np.nan, 1.0]], "NaN"),
        ]
    ],
    Case(
        "rows that are no sample",
        InvalidType,
        ["'preparing'", "prepare", "Sample"],
        Preparing(lambda sample: None),
    ),
    Case(
        "rows of negative cost",
        InvalidInput,
        ["'preparing'", "cost", "negative"],
        Preparing(lambda sample: sample.with_factor(np.where(np.arange(30) < 3, -1.0, 1.0))),
    ),
    Case(
        "rows of cost NaN",
        InvalidInput,
        ["'preparing'", "cost", "nan"],
        Preparing(lambda sample: sample.with_factor(np.where(np.arange(30) < 3, np.nan, 1.0))),
    ),
    own(
        "coef of a kernel model", MissingCapability, ["f.coef", "kernel='linear'"], lambda f: f.coef
    )._replace(parameters={"kernel": "rbf"}),
    own(
        "the kernel of a linear model",
        MissingCapability,
        ["f.kernel", "a kernel other than 'linear'"],
        lambda f: f.kernel(X, X),
    ),
    own(
        "the slope of a function",
        MissingCapability,
        ["f.slope", "RBF or Polynomial"],
        lambda f: f.slope(X, X),
    )._replace(parameters={"kernel": lambda A, B: A @ B.T}),
]


@parametrize(CASES)
def test_bad_own_block(case, request):
    check(case, request)


@pytest.mark.parametrize(
    "score",
    [lambda f, X: np.ones((len(X), 2)), lambda f, X: [1.0, 2.0, 3.0], lambda f, X: np.full(len(X), np.nan)],
    ids=["two columns", "three rows", "NaN"],
)
def test_scores_of_a_block_that_cannot_be_used(score):
    model = PriorSVC(Scoring(score)).fit(X, Y)
    with pytest.raises(InvalidInput, match=r"'scoring'.*predict"):
        model.predict(X)


def test_two_blocks_that_score_rows_are_refused_by_fit():
    first = Scoring(lambda f, X: f.value(X))
    second = Scoring(lambda f, X: None)
    message = "blocks 'scoring' and 'other' both score new rows. Keep one block"
    with pytest.raises(InvalidInput, match=message):
        PriorSVC(Prior([("scoring", first), ("other", second)])).fit(X, Y)
    model = PriorSVC(first + 0 * second).fit(X, Y)
    assert model.predict(X).shape == np.shape(Y)
