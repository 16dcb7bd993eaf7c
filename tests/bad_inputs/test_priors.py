"""Bad sums of blocks, names, weights and row parameters."""

import cvxpy as cp
import numpy as np
import pytest

from priorsvm import (
    RBF,
    ClassCosts,
    Knowledge,
    OddnessHint,
    OnRowSlack,
    Prior,
    PriorSVC,
    SampleCosts,
    Shift,
    Terms,
    Transductive,
    UnlabeledSamples,
)
from priorsvm.errors import InvalidInput, InvalidType, NameClash, UnknownParameter
from tests.bad_inputs.cases import Case, X, Y, check, parametrize


class Weighing(Knowledge):
    """A block with a parameter named as the outer weight is."""

    def __init__(self, weight=1.0):
        self.weight = weight


class Sharing(OnRowSlack, Knowledge):
    """A block whose constraints use the slack of the rows."""

    def build(self, f, view):
        X, y = view.sample.X[view.rows], view.sample.y[view.rows]
        return Terms(constraints={"twice": cp.multiply(y, f(2 * X)) >= 1 - view.slack})


def called(name):
    """Return a prior written as a list, because ``named`` refuses bad names at once."""
    return Prior([(name, OddnessHint())])


CASES = [
    Case(
        "a block's class",
        InvalidType,
        ["prior must be a block", "OddnessHint", "OddnessHint("],
        OddnessHint,
    ),
    Case(
        "a list of blocks",
        InvalidType,
        ["prior must be a block or a sum of blocks", "list", "+"],
        [OddnessHint(), ClassCosts({})],
    ),
    Case("a word as prior", InvalidType, ["prior must be a block or a sum of blocks", "str"], "balanced"),
    Case("a kernel as prior", InvalidType, ["prior must be a block", "RBF"], RBF()),
    Case("a transform as prior", InvalidType, ["prior must be a block", "Shift"], Shift([0.1, 0.0])),
    Case("a dict of blocks", InvalidType, ["list of (name, block)", "dict"], Prior({"a": OddnessHint()})),
    Case("blocks without names", InvalidType, ["(name, block)", "OddnessHint()"], Prior([OddnessHint()])),
    Case(
        "a class in a prior",
        InvalidType,
        ["'a'", "the class OddnessHint", "write OddnessHint("],
        Prior([("a", OddnessHint)]),
    ),
    Case(
        "a kernel in a prior",
        InvalidType,
        ["'a'", "must be a Knowledge block", "got RBF"],
        Prior([("a", RBF())]),
    ),
    Case(
        "a name twice",
        NameClash,
        ["'a'", "named("],
        Prior([("a", OddnessHint()), ("a", ClassCosts({}))]),
    ),
    Case("capital letters", InvalidInput, ["'Tumour'", "lower-case", "letter"], called("Tumour")),
    Case("a blank in a name", InvalidInput, ["'a b'", "lower-case"], called("a b")),
    Case("two underscores", InvalidInput, ["'a__b'", "single underscores"], called("a__b")),
    Case("no name", InvalidInput, ["''", "beginning with a letter"], called("")),
    Case("a number as name", InvalidType, ["3", "(name, block)"], called(3)),
    *[
        Case(
            f"the name {name!r}",
            InvalidInput,
            [repr(name), "reserved", "named("],
            called(name),
        )
        for name in ("svm", "blocks", "weights")
    ],
    Case(
        "a weight below zero",
        InvalidInput,
        ["'a'", "nonnegative", "-2"],
        Prior([("a", OddnessHint())], {"a": -2}),
    ),
    Case("NaN as weight", InvalidInput, ["'a'", "nan"], Prior([("a", OddnessHint())], {"a": float("nan")})),
    Case("a word as weight", InvalidInput, ["'a'", "'x'"], Prior([("a", OddnessHint())], {"a": "x"})),
    Case(
        "a weight for an unknown block",
        InvalidInput,
        ["'b'", "['a']"],
        Prior([("a", OddnessHint())], {"b": 2}),
    ),
    Case("a list of weights", InvalidType, ["weights", "dict", "[1]"], Prior([("a", OddnessHint())], [1])),
    Case(
        "a weight on margins",
        InvalidInput,
        ["'sample_costs'", "margins", "0.5", "Remove the weight"],
        0.5 * SampleCosts(margins=lambda X, y: 2.0 * np.ones(len(y))),
    ),
    Case("a weight on shared slack", InvalidInput, ["'sharing'", "Remove the weight"], 0.5 * Sharing()),
    Case(
        "a weight that makes costs negative",
        InvalidInput,
        ["'class_costs'", "weight 3", "negative", "at most 1"],
        3 * ClassCosts({1: 0.1}),
    ),
    Case(
        "a block with a parameter 'weight'",
        InvalidInput,
        ["'weighing'", "parameter called 'weight'", "Rename"],
        Weighing() + ClassCosts({}),
    ),
    Case("an unknown argument of fit", UnknownParameter, ["'covariance'", "no block"], fit={"covariance": X}),
    Case(
        "an argument of fit without its block",
        UnknownParameter,
        ["'costs'", "sensor__costs", "sensor__margins"],
        SampleCosts().named("sensor"),
        fit={"costs": np.ones(30)},
    ),
    Case(
        "an argument of fit that is misspelt",
        UnknownParameter,
        ["'sensor__cost'", "sensor__costs"],
        SampleCosts().named("sensor"),
        fit={"sensor__cost": np.ones(30)},
    ),
]


@parametrize(CASES)
def test_bad_prior(case, request):
    check(case, request)


def test_what_cannot_be_written():
    with pytest.raises(InvalidInput, match=r"weight of oddness_hint.*nonnegative.*-1"):
        -1 * OddnessHint()
    with pytest.raises(InvalidInput, match="nonnegative"):
        float("nan") * OddnessHint()
    with pytest.raises(NameClash, match=r"'a'.*named\("):
        OddnessHint().named("a") + ClassCosts({}).named("a")
    for other in ("a", 3, ClassCosts, [OddnessHint()]):
        with pytest.raises(TypeError):
            OddnessHint() + other
    with pytest.raises(TypeError):
        OddnessHint() * "a"
    with pytest.raises(InvalidInput, match=r"no block 'odd'.*'oddness_hint', 'class_costs'"):
        PriorSVC(OddnessHint() + ClassCosts({})).set_params(prior__odd__mu=2)
    with pytest.raises(ValueError, match=r"'mux'\. Did you mean 'mu'\? It has hard, mu"):
        PriorSVC(OddnessHint() + ClassCosts({})).set_params(prior__oddness_hint__mux=2)
    with pytest.raises(KeyError, match=r"no block 'odd'.*'oddness_hint'"):
        (OddnessHint() + ClassCosts({}))["odd"]


EMPTY = np.empty((0, 2))


@pytest.mark.parametrize(
    "prior",
    [UnlabeledSamples(EMPTY, 1), UnlabeledSamples(EMPTY, []), Transductive(EMPTY), Prior([]), ClassCosts({})],
    ids=["one label for none", "no labels for none", "nothing unlabelled", "no blocks", "no costs"],
)
@pytest.mark.parametrize("solver", ["LIBSVM", "CLARABEL"])
def test_nothing_is_allowed_and_changes_nothing(prior, solver):
    model, plain = (PriorSVC(p, solver=solver).fit(X, Y) for p in (prior, None))
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-8)
    assert model.objective_ == pytest.approx(plain.objective_)
    assert all(check.verdict.holds is not False for check in model.verify().checks)
