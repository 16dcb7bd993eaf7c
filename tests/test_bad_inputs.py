"""What goes wrong, and what the user sees: which block, which value, what was expected, what to do.

Every row of the table is an input, the class of the exception and the words its message must have. Unless
it says ``late``, no kernel matrix is built, no problem assembled and no solver called before it is raised.
"""

import re
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError

import priorsvm.kernels.base
import priorsvm.problem.assemble
from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    InvarianceHint,
    Knowledge,
    MonotonicityHint,
    NegativeDistance,
    OddnessHint,
    Polynomial,
    Prior,
    PriorSVC,
    SampleCosts,
    Shift,
    Terms,
    Transductive,
    Translation,
    UnlabeledSamples,
    VirtualSamples,
    VirtualSupportVectors,
)
from priorsvm.errors import (
    Infeasible,
    InvalidInput,
    InvalidType,
    KernelNotPSD,
    MissingCapability,
    NameClash,
    NotFitted,
    SolverFailed,
    SolverNotInstalled,
    SolverUnsuited,
    TooLarge,
    Unbounded,
    UnknownParameter,
)
from priorsvm.solve import solvers
from priorsvm.solve.routes import libsvm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = (X[:, 0] + 0.5 * RNG.normal(size=30) > 0).astype(int)
WORDS = np.array(["ill", "so-so", "well"])[np.digitize(X[:, 0], [-0.5, 0.5])]
FRAME = pd.DataFrame(X, columns=["dose", "age"])
SHIFT = Shift([0.1, 0.0])
EMPTY = np.empty((0, 2))


def spoiled(value, at=(3, 1)):
    copy = X.copy()
    copy[at] = value
    return copy


class HeavyWork(Exception):
    "Something expensive was begun before the input was looked at."


@pytest.fixture
def no_heavy_work(monkeypatch):
    def fail(*_, **__):
        raise HeavyWork

    monkeypatch.setattr(priorsvm.kernels.base.Kernel, "__call__", fail)
    monkeypatch.setattr(priorsvm.kernels.base.Kernel, "diag", fail)
    monkeypatch.setattr(priorsvm.problem.assemble.Compiled, "__init__", fail)
    monkeypatch.setattr(libsvm, "_run", fail)


@pytest.mark.parametrize(
    "parameters", [{}, {"kernel": "rbf", "solver": "CLARABEL"}, {"kernel": lambda A, B: A @ B.T}]
)
def test_the_watch_is_awake(no_heavy_work, parameters):
    with pytest.raises(HeavyWork):
        PriorSVC(**parameters).fit(X, Y)


# -------------------------------------------------------------------------------- blocks to go wrong with


class Own(Knowledge):
    "A block that builds what it is told to."

    def __init__(self, make, mu=1.0):
        self.make, self.mu = make, mu

    def build(self, f, context):
        return self.make(f)


class Centred(Knowledge):
    "A block that evaluates f at points of its own."

    def __init__(self, points):
        self.points = points

    def build(self, f, context):
        f(self.points)
        return Terms()


class Preparing(Knowledge):
    "A block that does to the rows what it is told to."

    def __init__(self, change):
        self.change = change

    def prepare(self, sample, state):
        return self.change(sample)


class Scoring(Knowledge):
    "A block that scores as it is told to."

    def __init__(self, score):
        self.score = score

    def predict(self, f, X):
        return self.score(f, X)


class Needing(Knowledge):
    "A block that needs something of f."

    def __init__(self, what):
        self.what = what

    def build(self, f, context):
        X = context.sample.X_train
        used = {"coef": lambda: f.coef, "kernel": lambda: f.kernel(X, X), "slope": lambda: f.slope(X, X)}
        used[self.what]()
        return Terms()


class Weighing(Knowledge):
    "A block with a parameter that is called as its outer weight is."

    def __init__(self, weight=1.0):
        self.weight = weight


class Sharing(Knowledge):
    "A block whose constraints stand on the samples' own slack."

    shares_slack = True

    def build(self, f, context):
        X, y = context.sample.X[context.rows], context.sample.y[context.rows]
        return Terms(constraints={"twice": cp.multiply(y, f(2 * X)) >= 1 - context.slack})


class Cone(Knowledge):
    "mu |w| by a second-order cone."

    def __init__(self, mu=1.0):
        self.mu = mu

    def build(self, f, context):
        t = cp.Variable(nonneg=True)
        return Terms({"mu": t}, {"cone": cp.SOC(t, f.coef)})


class AtLeast(Knowledge):
    "f(point) >= value"

    def __init__(self, point, value):
        self.point, self.value = point, value

    def build(self, f, context):
        return Terms(constraints={"low": f([self.point]) >= self.value})


class AtMost(AtLeast):
    "f(point) <= value"

    def build(self, f, context):
        return Terms(constraints={"high": f([self.point]) <= self.value})


# -------------------------------------------------------------------------------- the table


class Case(NamedTuple):
    name: str
    error: type[BaseException]
    words: list[str]
    prior: Any = None
    X: Any = X
    y: Any = Y
    parameters: dict = {}
    fit: dict = {}
    late: bool = False
    falls_short: str = ""

    def param(self):
        marks = [pytest.mark.xfail(strict=True, reason=self.falls_short)] if self.falls_short else []
        return pytest.param(self, id=self.name, marks=marks)


def svc(name, error, words, **parameters):
    """A bad argument of PriorSVC itself."""
    return Case(name, error, words, parameters=parameters)


DATA = [
    Case("NaN in X", ValueError, ["X contains NaN", "MissingValues()", "impute"], X=spoiled(np.nan)),
    Case("infinity in X", ValueError, ["X contains infinity"], X=spoiled(np.inf)),
    Case("1-D X", ValueError, ["Expected 2D array", "reshape"], X=X[:, 0]),
    Case("3-D X", ValueError, ["dim 3"], X=X[None]),
    Case(
        "sparse X and a kernel",
        TypeError,
        ["sparse X", "linear machines", "kernel='linear'", "toarray"],
        X=scipy.sparse.csr_matrix(X),
        parameters={"kernel": "rbf"},
    ),
    Case("words in X", ValueError, ["could not convert string to float", "abc"], X=np.full((30, 2), "abc")),
    Case("fewer labels than rows", ValueError, ["inconsistent", "30", "29"], y=Y[:-1]),
    Case("no labels", ValueError, ["requires y"], y=None),
    Case("NaN in y", ValueError, ["y contains NaN"], y=np.where(Y == 1, np.nan, 0.0)),
    Case("continuous y", ValueError, ["Unknown label type: continuous"], y=X[:, 0]),
    Case("two columns of y", ValueError, ["1d array", "(30, 2)"], y=np.column_stack([Y, Y])),
    Case(
        "one class",
        InvalidInput,
        ["one class only, 'ill'", "two classes are needed"],
        y=np.full(30, "ill"),
    ),
    Case("one number as class", InvalidInput, ["one class only", "7", "two classes"], y=np.full(30, 7)),
    Case(
        "words and numbers as classes",
        ValueError,
        ["y", "words and numbers"],
        y=np.array(["ill", *Y[1:]], dtype=object),
    ),
    Case(
        "negative sample_weight",
        ValueError,
        ["Negative", "sample_weight"],
        fit={"sample_weight": -np.ones(30)},
    ),
    Case("short sample_weight", ValueError, ["sample_weight", "(30,)"], fit={"sample_weight": np.ones(3)}),
    Case(
        "NaN in sample_weight",
        ValueError,
        ["sample_weight", "NaN"],
        fit={"sample_weight": np.full(30, np.nan)},
    ),
    Case("sample_weight all zero", ValueError, ["weight", "non-zero"], fit={"sample_weight": np.zeros(30)}),
    Case(
        "one class left by sample_weight",
        InvalidInput,
        ["sample_weight", "class 0", "every class needs one"],
        fit={"sample_weight": (Y == 1).astype(float)},
    ),
    Case(
        "a class left out by sample_weight",
        InvalidInput,
        ["sample_weight", "'well'"],
        y=WORDS,
        fit={"sample_weight": (WORDS != "well").astype(float)},
    ),
]

PARAMETERS = [
    *[
        svc(f"C={value!r}", InvalidInput, ["C must be a positive number", f"got {value!r}"], C=value)
        for value in (0, -1, float("nan"), float("inf"), "a", True, None)
    ],
    *[
        svc(f"tol={value!r}", InvalidInput, ["tol", "between 0 and 1", f"got {value!r}"], tol=value)
        for value in (0, 1, "a", None)
    ],
    *[
        svc(
            f"max_rounds={value!r}",
            InvalidInput,
            ["max_rounds", "at least 1", f"got {value!r}"],
            max_rounds=value,
        )
        for value in (0, 1.5, True, None)
    ],
    *[
        svc(
            f"n_centres={value!r}",
            InvalidInput,
            ["n_centres", "at least 1", f"got {value!r}"],
            n_centres=value,
        )
        for value in (0, -3, 2.0, "all")
    ],
    svc("C too large for a float", InvalidInput, ["C must be a positive number"], C=10**400),
    *[
        Case(f"too large for a float, {word}", InvalidInput, [word], block)
        for word, block in [
            ("mu must be a nonnegative number", OddnessHint(mu=10**400)),
            ("weight of block 'odd'", Prior([("odd", OddnessHint())], {"odd": 10**400})),
            ("the bounds of column 0", Box({0: (0, 10**400)}, 1)),
            ("costs must be numbers", SampleCosts([10**400] * len(Y))),
            ("the cost of class 1 must be", ClassCosts({1: 10**400})),
        ]
    ],
    svc("unknown norm", InvalidInput, ["norm", "'l2', 'l1'", "'l3'"], norm="l3"),
    svc("unknown loss", InvalidInput, ["loss", "'hinge', 'squared_hinge'", "'log'"], loss="log"),
    svc("unknown scale", InvalidInput, ["scale", "'standard', 'minmax', None", "'robust'"], scale="robust"),
    svc("unknown multi_class", InvalidInput, ["multi_class", "'ovr'", "'ovo'"], multi_class="ovo"),
    svc("unknown kernel", InvalidInput, ["kernel 'rfb'", "'linear'", "Did you mean 'rbf'?"], kernel="rfb"),
    svc(
        "precomputed kernel",
        InvalidInput,
        ["'precomputed'", "function of two matrices"],
        kernel="precomputed",
    ),
    svc("a number as kernel", InvalidType, ["kernel is 3", "RBF()", "function of two matrices"], kernel=3),
    svc("a kernel's class", InvalidType, ["the class RBF", "write RBF()"], kernel=RBF),
    svc("gamma below zero", InvalidInput, ["RBF", "gamma is -1", "positive number"], kernel=RBF(-1)),
    svc("unknown solver", InvalidInput, ["'GUROBI' is not known", "CLARABEL", "LIBSVM"], solver="GUROBI"),
    *[
        svc(f"a method as solver, {solver}", InvalidInput, ["InvariantLoss(method='pegasos')"], solver=solver)
        for solver in ("PEGASOS", "pegasos", ["PEGASOS"])
    ],
    svc("no solver", InvalidInput, ["empty list", "'auto'"], solver=[]),
    svc("None as solver", InvalidInput, ["solver", "None", "auto"], solver=None),
    svc("unknown solver in a list", InvalidInput, ["'GUROBI'", "Known are"], solver=["CLARABEL", "GUROBI"]),
    svc("auto in a list", InvalidInput, ["'auto'", "list"], solver=["auto", "CLARABEL"]),
    svc("a dict as solver", InvalidInput, ["solver", "name", "list"], solver={"CLARABEL": {}}),
    svc("options that are no dict", InvalidInput, ["solver_options", "dict", "list"], solver_options=[1]),
    svc("options by numbers", InvalidInput, ["solver_options", "by their names", "1"], solver_options={1: 2}),
    svc("a word as random_state", ValueError, ["'a'", "seed"], random_state="a"),
]


def called(name):
    """A block in a prior that was written as a list: ``named`` refuses such names at once."""
    return Prior([(name, OddnessHint())])


PRIORS = [
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
    Case("a transform as prior", InvalidType, ["prior must be a block", "Shift"], SHIFT),
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
            [repr(name), "taken", "named("],
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
    Case("a weight for nobody", InvalidInput, ["'b'", "['a']"], Prior([("a", OddnessHint())], {"b": 2})),
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

BLOCKS = [
    Case("a class nobody has", InvalidInput, ["'class_costs'", "'ill'", "0, 1"], ClassCosts({"ill": 2.0})),
    Case(
        "a class nobody has, words",
        InvalidInput,
        ["1", "'ill', 'so-so', 'well'"],
        ClassCosts({1: 2.0}),
        y=WORDS,
    ),
    Case("a class cost below zero", InvalidInput, ["'class_costs'", "class 1", "-2"], ClassCosts({1: -2})),
    Case(
        "a class cost that is a word", InvalidInput, ["'class_costs'", "class 1", "'x'"], ClassCosts({1: "x"})
    ),
    Case(
        "an unknown rule of costs",
        InvalidInput,
        ["'balanced'", "'brown'", "'blanced'"],
        ClassCosts("blanced"),
    ),
    Case("a list of class costs", InvalidInput, ["'class_costs'", "dict", "list"], ClassCosts([1, 2])),
    Case(
        "brown's scale of 0",
        InvalidInput,
        ["'class_costs'", "scale", "positive", "got 0"],
        ClassCosts("brown", scale=0),
    ),
    *[
        Case(
            f"no cost for a whole class, {solver}",
            InvalidInput,
            ["'class_costs'", "no cost to class 0", "two classes are needed"],
            ClassCosts({0: 0.0}),
            parameters={"solver": solver, "kernel": "rbf"},
        )
        for solver in ("LIBSVM", "CLARABEL")
    ],
    Case(
        "no cost for a whole class, by name",
        InvalidInput,
        ["'class_costs'", "class 0"],
        ClassCosts({0: 0.0}),
    ),
    Case(
        "too few costs",
        InvalidInput,
        ["'sample_costs'", "costs", "(3,)", "30 training rows", "to fit", "function of (X, y)"],
        SampleCosts(np.ones(3)),
    ),
    Case(
        "too few costs at fit",
        InvalidInput,
        ["'sensor'", "costs", "(3,)", "30 training rows"],
        SampleCosts().named("sensor"),
        fit={"sensor__costs": np.ones(3)},
    ),
    Case("a table of costs", InvalidInput, ["'sample_costs'", "(30, 2)"], SampleCosts(np.ones((30, 2)))),
    Case("a cost below zero", InvalidInput, ["row 0", "-1.0", "nonnegative"], SampleCosts(-np.ones(30))),
    Case("NaN as cost", InvalidInput, ["costs", "row 0", "nan"], SampleCosts(np.full(30, np.nan))),
    Case("a margin below zero", InvalidInput, ["margins", "row 0", "-1.0"], SampleCosts(None, -np.ones(30))),
    Case(
        "neither costs nor margins",
        InvalidInput,
        ["'sample_costs'", "neither costs nor margins"],
        SampleCosts(),
    ),
    Case(
        "words as costs",
        InvalidInput,
        ["'sample_costs'", "costs", "numbers"],
        SampleCosts(["high"] * 30),
    ),
    Case(
        "a number for all costs",
        InvalidInput,
        ["'sample_costs'", "costs", "one number per training row"],
        SampleCosts(2.0),
    ),
    Case(
        "points too wide",
        InvalidInput,
        ["'unlabeled_samples'", "(1, 3)", "(n, 2)"],
        UnlabeledSamples([[1, 2, 3]], 1),
    ),
    Case(
        "a single point",
        InvalidInput,
        ["'unlabeled_samples'", "(2,)", "(n, 2)"],
        UnlabeledSamples([1.0, 2.0], 1),
    ),
    Case(
        "no points at all", InvalidInput, ["'unlabeled_samples'", "(0,)", "(n, 2)"], UnlabeledSamples([], 1)
    ),
    Case(
        "NaN among points", InvalidInput, ["'unlabeled_samples'", "NaN"], UnlabeledSamples([[np.nan, 1]], 1)
    ),
    Case(
        "words among points",
        InvalidInput,
        ["'unlabeled_samples'", "numbers"],
        UnlabeledSamples([["a", "b"]], 1),
    ),
    Case(
        "a label nobody has",
        InvalidInput,
        ["'unlabeled_samples'", "label 7", "0, 1"],
        UnlabeledSamples([[0, 1]], 7),
    ),
    Case(
        "a label nobody has, for no points",
        InvalidInput,
        ["'unlabeled_samples'", "label 7", "0, 1"],
        UnlabeledSamples(EMPTY, 7),
    ),
    Case(
        "too many labels",
        InvalidInput,
        ["(3,)", "1 rows", "one label per row"],
        UnlabeledSamples([[0, 1]], [1, 0, 1]),
    ),
    Case("extra costs below zero", InvalidInput, ["costs", "-1"], UnlabeledSamples([[0, 1]], 1, costs=-1)),
    Case(
        "too many extra costs", InvalidInput, ["costs", "(2,)"], UnlabeledSamples([[0, 1]], 1, costs=[1, 2])
    ),
    Case(
        "words as extra costs",
        InvalidInput,
        ["'unlabeled_samples'", "costs", "'high'"],
        UnlabeledSamples([[0, 1]], 1, costs="high"),
    ),
    Case(
        "too many positives",
        InvalidInput,
        ["'transductive'", "n_positive", "0 to 2", "7"],
        Transductive(X[:2], 7),
    ),
    Case(
        "positives of which class",
        InvalidInput,
        ["'transductive'", "3 classes", "dict"],
        Transductive(X[:2], 1),
        y=WORDS,
    ),
    Case(
        "positives of a class forgotten",
        InvalidInput,
        ["'transductive'", "n_positive", "class 'so-so'"],
        Transductive(X[:2], {"ill": 1}),
        y=WORDS,
    ),
    Case(
        "a cost below zero for the unlabelled",
        InvalidInput,
        ["'transductive'", "cost", "-1"],
        Transductive(X, cost=-1),
    ),
    Case("a number as unlabelled samples", InvalidInput, ["'transductive'", "()"], Transductive(3.0)),
    Case(
        "a transform's class",
        InvalidType,
        ["'virtual_samples'", "transform", "Shift("],
        VirtualSamples(Shift),
    ),
    Case(
        "a function as transform",
        InvalidType,
        ["'virtual_samples'", "FromFunction"],
        VirtualSamples(lambda X: X),
    ),
    Case(
        "a direction too long",
        InvalidInput,
        ["'copies'", "3 entries", "2 columns"],
        VirtualSamples(Shift([1, 2, 3])).named("copies"),
    ),
    Case(
        "images of another size",
        InvalidInput,
        ["'invariance_hint'", "(4, 4)", "16 pixels", "2 columns"],
        InvarianceHint(Translation((4, 4))),
    ),
    Case(
        "virtual rows of cost below zero",
        InvalidInput,
        ["'virtual_samples'", "cost", "-1"],
        VirtualSamples(SHIFT, -1),
    ),
    Case(
        "mu below zero",
        InvalidInput,
        ["'invariance_hint'", "mu must be a nonnegative number", "got -1"],
        InvarianceHint(SHIFT, mu=-1),
    ),
    Case("mu NaN", InvalidInput, ["'oddness_hint'", "mu", "nan"], OddnessHint(mu=float("nan"))),
    Case(
        "a word for hard",
        InvalidInput,
        ["'oddness_hint'", "hard", "'no'"],
        OddnessHint(hard="no"),
    ),
    Case("mu a word", InvalidInput, ["'oddness_hint'", "mu", "'1'"], OddnessHint(mu="1")),
    Case(
        "an unknown column",
        InvalidInput,
        ["'monotonicity_hint'", "'bmi'", "dose, age"],
        MonotonicityHint({"bmi": 1}),
        X=FRAME,
    ),
    Case("a name without a frame", InvalidInput, ["'bmi'", "DataFrame"], MonotonicityHint({"bmi": 1})),
    Case(
        "a column too far",
        InvalidInput,
        ["'monotonicity_hint'", "column 7", "0 to 1"],
        MonotonicityHint({7: 1}),
    ),
    Case(
        "a direction of 2",
        InvalidInput,
        ["'monotonicity_hint'", "column 0", "+1 or -1", "got 2"],
        MonotonicityHint({0: 2}),
    ),
    Case("columns without directions", InvalidInput, ["features", "dict", "[0]"], MonotonicityHint([0])),
    Case(
        "no pairs",
        InvalidInput,
        ["'monotonicity_hint'", "pairs", "at least 1", "got 0"],
        MonotonicityHint({0: 1}, pairs=0),
    ),
    Case(
        "whose score",
        InvalidInput,
        ["'monotonicity_hint'", "3 classes", "label="],
        MonotonicityHint({0: 1}),
        y=WORDS,
    ),
    Case("nobody's score", InvalidInput, ["'bad'", "'ill'"], MonotonicityHint({0: 1}, label="bad"), y=WORDS),
    Case(
        "oddness of three",
        InvalidInput,
        ["'oddness_hint'", "there are 3", "Remove the block"],
        OddnessHint(),
        y=WORDS,
    ),
]

KERNELS = [
    svc(
        "a kernel that is only cpd",
        KernelNotPSD,
        ["NegativeDistance()", "conditionally", "norm='l1'"],
        kernel=NegativeDistance(),
    ),
    svc("sigmoid", KernelNotPSD, ["sigmoid", "norm='l2'", "norm='l1'"], kernel="sigmoid"),
    svc(
        "a polynomial that is not PSD",
        KernelNotPSD,
        ["coef0=-1.0", "norm='l1'"],
        kernel=Polynomial(2, coef0=-1.0),
    ),
    svc("a kernel taken away", KernelNotPSD, ["RBF", "norm='l1'"], kernel=-1 * RBF()),
    # Of a function nothing is known until it is called, on a few rows.
    svc(
        "a function that is not PSD", KernelNotPSD, ["eigenvalue", "norm='l1'"], kernel=lambda A, B: -A @ B.T
    )._replace(late=True),
    svc(
        "a function that is not symmetric",
        KernelNotPSD,
        ["symmetric", "norm='l1'"],
        kernel=lambda A, B: A[:, :1] - B[:, :1].T,
    )._replace(late=True),
    svc(
        "a function of wrong shape",
        InvalidInput,
        ["'<lambda>'", "(30, 30)", "(30,)"],
        kernel=lambda A, B: A @ B[0],
    )._replace(late=True),
    svc(
        "a function of one matrix", TypeError, ["positional argument", "A @ B.T"], kernel=lambda A: A
    )._replace(late=True),
    svc(
        "a function that is not finite",
        InvalidInput,
        ["'<lambda>'", "not finite"],
        kernel=lambda A, B: np.nan * (A @ B.T),
    )._replace(late=True),
    svc(
        "chi2 of negative data", InvalidInput, ["chi2", "nonnegative", "smallest value"], kernel="chi2"
    )._replace(late=True),
    *[
        Case(
            f"a function that is not PSD at a block's points, {solver}",
            KernelNotPSD,
            ["eigenvalue", "norm='l1'"],
            UnlabeledSamples([[-1.0], [-2.0], [-3.0]], [0, 1, 0]),
            X=np.abs(X[:, :1]),
            parameters={"kernel": lambda A, B: np.minimum(A, B.T), "solver": solver},
            late=True,
        )
        for solver in ("LIBSVM", "CLARABEL")
    ],
]

SQUARE = cp.sum_squares


def own(name, error, words, make, mu=1.0):
    """A block of somebody else's that builds nonsense; found when it is asked to build."""
    return Case(name, error, ["'own'", *words], Own(make, mu), late=True)


THIRD_PARTY = [
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
        "a penalty nobody weighs",
        InvalidInput,
        ["'gamma'", "no parameter"],
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
        Case(
            f"centres {shown}",
            InvalidInput,
            ["'centred'", "f(Z)", "(n, 2)"],
            Centred(points),
            parameters={"kernel": "rbf"},
            late=True,
        )
        for shown, points in [("too wide", [[1, 2, 3]]), ("a single point", [1.0, 2.0])]
    ],
    Case(
        "centres with NaN",
        InvalidInput,
        ["'centred'", "f(Z)", "NaN"],
        Centred([[np.nan, 1.0]]),
        parameters={"kernel": "rbf"},
        late=True,
    ),
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
    Case(
        "coef of a kernel machine",
        MissingCapability,
        ["'needing'", "coef", "RBF", "kernel='linear'"],
        Needing("coef"),
        parameters={"kernel": "rbf"},
        late=True,
    ),
    Case(
        "the kernel of a linear machine",
        MissingCapability,
        ["'needing'", "kernel", "a kernel other than 'linear'"],
        Needing("kernel"),
        late=True,
    ),
    Case(
        "the slope of a function",
        MissingCapability,
        ["'needing'", "slope", "RBF or Polynomial"],
        Needing("slope"),
        parameters={"kernel": lambda A, B: A @ B.T},
        late=True,
    ),
]

TABLE = [*DATA, *PARAMETERS, *PRIORS, *BLOCKS, *KERNELS, *THIRD_PARTY]


def said(error):
    """All that the user reads: the message and its notes."""
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


@pytest.mark.parametrize("case", [case.param() for case in TABLE])
def test_bad_input(case, request):
    if not case.late:
        request.getfixturevalue("no_heavy_work")
    with pytest.raises(case.error) as caught:
        PriorSVC(case.prior, **case.parameters).fit(case.X, case.y, **case.fit)
    for word in case.words:
        assert word in said(caught.value)


def test_the_table_is_long_and_no_row_is_there_twice():
    names = [case.name for case in TABLE]
    assert len(TABLE) > 100
    assert len(set(names)) == len(names)


# -------------------------------------------------------------------------------- writing a prior


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


# -------------------------------------------------------------------------------- nothing to be said against


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


@pytest.mark.parametrize(
    "kernel", [NegativeDistance(), "sigmoid", lambda A, B: -A @ B.T, lambda A, B: A[:, :1] - B[:, :1].T]
)
def test_the_way_out_of_a_kernel_that_is_not_psd_is_a_way(kernel):
    assert PriorSVC(kernel=kernel, norm="l1").fit(X, Y).status_ == "optimal"


# -------------------------------------------------------------------------------- new rows


def test_new_rows_that_do_not_fit():
    model = PriorSVC(kernel="rbf").fit(FRAME, Y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(FRAME[["age", "dose"]])
    with pytest.raises(ValueError, match="NaN"):
        model.decision_function(pd.DataFrame(spoiled(np.nan), columns=["dose", "age"]))
    with pytest.raises(ValueError, match=r"1 features.*expecting 2"):
        PriorSVC().fit(X, Y).predict(X[:, :1])
    with pytest.raises(ValueError, match="Expected 2D"):
        PriorSVC().fit(X, Y).predict(X[0])


@pytest.mark.parametrize(
    "name",
    [
        "coef_",
        "centres_",
        "dual_coef_",
        "support_",
        "objective_",
        "history_",
        "problem",
        "report_",
        "solver_",
        "status_",
        "n_rounds_",
    ],
)
def test_an_unfitted_model_has_no_attributes(name):
    with pytest.raises(NotFitted, match=r"not fitted yet: call fit\(X, y\)"):
        getattr(PriorSVC(), name)
    assert not hasattr(PriorSVC(), name)


def test_an_unfitted_model_answers_nothing():
    for ask in (lambda m: m.predict(X), lambda m: m.decision_function(X), lambda m: m.score(X, Y)):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask(PriorSVC())
    for ask in (PriorSVC.formulation, PriorSVC.verify):
        with pytest.raises(NotFitted, match="not fitted yet"):
            ask(PriorSVC())


def test_not_fitted_is_one_error_for_all_who_catch_it():
    for ask in (lambda m: m.coef_, lambda m: m.report_, PriorSVC.formulation, PriorSVC.verify):
        for kind in (NotFitted, NotFittedError, AttributeError, ValueError):
            with pytest.raises(kind, match="not fitted yet"):
                ask(PriorSVC())


def test_attributes_of_the_other_kind_of_machine():
    with pytest.raises(AttributeError, match=r"coef_ is for linear machines: use kernel='linear'"):
        PriorSVC(kernel="rbf").fit(X, Y).coef_  # noqa: B018
    with pytest.raises(AttributeError, match=r"kernel machines.*coef_"):
        PriorSVC().fit(X, Y).centres_  # noqa: B018


@pytest.mark.parametrize(
    "score",
    [lambda f, X: np.ones((len(X), 2)), lambda f, X: [1.0, 2.0, 3.0], lambda f, X: np.full(len(X), np.nan)],
    ids=["two columns", "three rows", "NaN"],
)
def test_scores_of_a_block_that_are_no_scores(score):
    model = PriorSVC(Scoring(score)).fit(X, Y)
    with pytest.raises(InvalidInput, match=r"'scoring'.*predict"):
        model.predict(X)


# -------------------------------------------------------------------------------- solvers


@pytest.mark.parametrize("solver", ["OSQP", "PIQP"])
def test_a_solver_that_cannot_says_which_block_and_who_can(solver):
    with pytest.raises(SolverUnsuited) as caught:
        PriorSVC(Cone().named("uncertain") + OddnessHint(), solver=solver).fit(X, Y)
    message = str(caught.value)
    assert f"{solver} cannot solve this SOCP" in message
    assert "block 'uncertain' adds second-order cones" in message
    assert "oddness_hint" not in message
    able = re.search(r"solvers that can: (.*)\.", message).group(1).split(", ")
    assert {"CLARABEL", "SCS", "ECOS"} <= set(able)
    assert solver not in able
    for other in able:
        assert PriorSVC(Cone(), solver=other).fit(X, Y).solver_ == other


def test_highs_is_for_linear_programmes():
    with pytest.raises(SolverUnsuited, match=r"HIGHS cannot solve this QP: the 2-norm machine.*CLARABEL"):
        PriorSVC(solver="HIGHS").fit(X, Y)
    with pytest.raises(SolverUnsuited, match=r"block 'oddness_hint' adds a quadratic objective"):
        PriorSVC(OddnessHint(), solver="HIGHS", norm="l1").fit(X, Y)
    assert PriorSVC(solver="HIGHS", norm="l1").fit(X, Y).solver_ == "HIGHS"


def test_highs_and_the_squared_hinge():
    with pytest.raises(SolverUnsuited, match="squared hinge"):
        PriorSVC(solver="HIGHS", norm="l1", loss="squared_hinge").fit(X, Y)


def test_a_solver_that_is_not_installed(monkeypatch, no_heavy_work):
    monkeypatch.setattr(solvers, "installed", lambda: ("CLARABEL", "SCS"))
    with pytest.raises(SolverNotInstalled) as caught:
        PriorSVC(solver="OSQP").fit(X, Y)
    assert str(caught.value) == "solver OSQP is not installed: pip install osqp. Installed: CLARABEL, SCS."


def test_the_package_of_a_solver_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(solvers, "installed", lambda: ("CLARABEL",))
    with pytest.raises(SolverNotInstalled, match="pip install highspy"):
        PriorSVC(solver="HIGHS", norm="l1").fit(X, Y)


# QOCO is not among them: it takes any option in silence.
@pytest.mark.parametrize("solver", ["LIBSVM", "CLARABEL", "ECOS", "SCS", "PIQP", "OSQP", "HIGHS"])
def test_options_that_the_solver_does_not_know(solver):
    pytest.importorskip({"HIGHS": "highspy", "LIBSVM": "sklearn"}.get(solver, solver.lower()))
    norm = "l1" if solver == "HIGHS" else "l2"
    with pytest.raises(InvalidInput, match=f"{solver} does not take these solver_options.*nonsense"):
        PriorSVC(solver=solver, norm=norm, solver_options={"nonsense": 3}).fit(X, Y)


def test_an_option_of_a_value_that_libsvm_does_not_take():
    with pytest.raises(InvalidInput, match=r"LIBSVM.*solver_options.*max_iter"):
        PriorSVC(solver_options={"max_iter": "many"}).fit(X, Y)


@pytest.mark.parametrize("names", [["LIBSVM"], ["HIGHS", "LIBSVM"]], ids=str)
def test_a_list_of_solvers_of_which_none_can(names):
    with pytest.raises(SolverFailed, match=r"LIBSVM.*'oddness_hint' does more than add or reweight rows"):
        PriorSVC(OddnessHint(), solver=names).fit(X, Y)


def test_a_list_of_solvers_tells_what_each_said():
    with pytest.raises(SolverFailed) as caught:
        PriorSVC(Cone(), solver=["OSQP", "HIGHS"]).fit(X, Y)
    assert "OSQP: OSQP cannot solve this SOCP" in str(caught.value)
    assert "HIGHS: HIGHS cannot solve this SOCP" in str(caught.value)


def test_a_list_of_solvers_may_end_with_libsvm():
    assert PriorSVC(solver=["HIGHS", "LIBSVM"]).fit(X, Y).solver_ == "LIBSVM"


# -------------------------------------------------------------------------------- memory


@pytest.fixture
def small_machine(monkeypatch):
    """A machine with 10 kB of memory: a kernel matrix of 30 rows takes 7.2."""
    pages = {"SC_PAGE_SIZE": 1000, "SC_PHYS_PAGES": 10}
    monkeypatch.setattr("priorsvm.function.memory.os.sysconf", pages.__getitem__)


@pytest.mark.parametrize("solver", ["CLARABEL", "LIBSVM"])
def test_a_kernel_matrix_beyond_memory_is_refused_with_its_size(small_machine, monkeypatch, solver):
    class Own(priorsvm.Kernel):
        "A kernel LIBSVM does not know."

        definiteness = "psd"

        def _matrix(self, A, B):
            raise HeavyWork

    with pytest.raises(TooLarge, match=r"kernel matrix.*30 x 30 entries.*GiB.*n_centres"):
        PriorSVC(kernel=Own(), solver=solver).fit(X, Y)


@pytest.mark.parametrize(
    ("kernel", "parameters"), [("linear", {}), ("linear", {"solver": "CLARABEL"}), ("rbf", {})]
)
def test_what_needs_no_kernel_matrix_is_not_refused(small_machine, kernel, parameters):
    assert PriorSVC(kernel=kernel, **parameters).fit(X, Y).status_ == "optimal"


def test_the_way_out_of_little_memory_is_a_way(small_machine):
    model = PriorSVC(kernel="rbf", n_centres=5, solver="CLARABEL").fit(X, Y)
    assert len(model.centres_) == 5
    with pytest.raises(TooLarge, match=r"Nyström factor.*30 x 25.*Lower n_centres"):
        PriorSVC(kernel="rbf", n_centres=25, solver="CLARABEL").fit(X, Y)


@pytest.mark.parametrize("y", [WORDS, Y], ids=["three classes", "iterative block"])
def test_a_kernel_matrix_that_is_only_convenient_is_not_refused(small_machine, y):
    prior = VirtualSupportVectors(SHIFT) if y is Y else None
    assert "LIBSVM" in PriorSVC(prior, kernel="rbf").fit(X, y).solver_


# -------------------------------------------------------------------------------- conflicts

TUMOUR, BENIGN = AtLeast([0.0, 0.0], 1.0).named("tumour"), AtMost([0.0, 0.0], -1.0).named("benign")
INNOCENT = AtLeast([1.0, 1.0], 1.0).named("innocent") + ClassCosts("balanced") + OddnessHint(mu=0.1)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"kernel": "rbf"},
        {"norm": "l1"},
        {"norm": "l1", "kernel": "rbf"},
        {"solver": "SCS"},
        {"solver": "ECOS"},
        {"solver": "OSQP"},
        {"scale": "standard"},
    ],
    ids=str,
)
def test_hard_blocks_that_contradict_each_other_are_named(parameters):
    with pytest.raises(Infeasible) as caught:
        PriorSVC(INNOCENT + TUMOUR + BENIGN, **parameters).fit(X, Y)
    assert str(caught.value) == (
        "No decision function satisfies every hard constraint. These conflict: 'tumour' and 'benign' "
        "(removing any one restores feasibility). Leave one out, or ask for less."
    )


def test_a_conflict_of_three_is_named_whole():
    """On a line: high at 0, high at 2, and low between."""
    left, right = AtLeast([0.0, 0.0], 1.0).named("left"), AtLeast([2.0, 0.0], 1.0).named("right")
    between = AtMost([1.0, 0.0], 0.0).named("between")
    with pytest.raises(Infeasible) as caught:
        PriorSVC(left + INNOCENT + between + right).fit(X, Y)
    assert set(re.findall(r"'(\w+)'", str(caught.value))) == {"left", "right", "between"}
    for pair in (left + between, left + right, between + right):
        assert PriorSVC(pair).fit(X, Y).status_ == "optimal"
    assert PriorSVC(left + between + right, kernel="rbf").fit(X, Y).status_ == "optimal"


def test_a_block_that_contradicts_itself():
    class Both(AtLeast):
        def build(self, f, context):
            at = f([self.point])
            return Terms(constraints={"low": at >= 1, "high": at <= -1})

    with pytest.raises(Infeasible, match=r"conflict: 'both' \(removing it restores feasibility\)"):
        PriorSVC(Both([0.0, 0.0], 0.0) + INNOCENT).fit(X, Y)


def test_a_conflict_in_one_of_several_machines():
    prior = AtLeast([0.0, 0.0], 1.0).named("tumour") + AtMost([0.0, 0.0], -1.0).named("benign")
    with pytest.raises(Infeasible, match="'tumour' and 'benign'"):
        PriorSVC(prior).fit(X, WORDS)


@pytest.mark.parametrize("solver", ["PIQP", "QOCO"])
def test_a_verdict_that_cannot_be_trusted_is_not_given(solver):
    pytest.importorskip(solver.lower())
    with pytest.raises(SolverFailed, match=solver):
        PriorSVC(TUMOUR + BENIGN, solver=solver).fit(X, Y)


def test_a_break_down_does_not_send_the_user_back(monkeypatch):
    def breaks(*_, **__):
        raise cp.SolverError("Solver 'ECOS' failed.")

    monkeypatch.setattr(cp.Problem, "solve", breaks)
    with pytest.raises(SolverFailed) as caught:
        PriorSVC(OddnessHint(), solver="ECOS").fit(X, Y)
    assert "ECOS" not in str(caught.value).partition("Try another solver (")[2]


@pytest.mark.parametrize("parameters", [{}, {"norm": "l1"}, {"kernel": "rbf", "solver": "SCS"}], ids=str)
def test_an_objective_without_a_lower_bound(parameters):
    falling = Own(lambda f: Terms({"mu": cp.sum(f([[0.0, 0.0]]))}), mu=1e4).named("falling")
    with pytest.raises(Unbounded, match="no lower bound"):
        PriorSVC(falling + OddnessHint(mu=0.0), **parameters).fit(X, Y)


def test_the_block_that_has_no_lower_bound_is_named():
    falling = Own(lambda f: Terms({"mu": cp.sum(f([[0.0, 0.0]]))}), mu=1e4).named("falling")
    with pytest.raises(Unbounded, match="'falling'"):
        PriorSVC(falling + OddnessHint(mu=0.0)).fit(X, Y)
