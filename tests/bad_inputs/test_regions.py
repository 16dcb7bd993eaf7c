"""Bad parameters of blocks on regions: Box, Polyhedron, Ellipsoid, Rule, Region and Monotone."""

import numpy as np
import pandas as pd

from priorsvm import Box, Ellipsoid, Monotone, Polyhedron, Region, Rule
from priorsvm.errors import BadRule, InvalidInput, MissingCapability, TooLarge
from tests.bad_inputs.cases import FRAME, WORDS, Case, X, check, parametrize

SQUARE = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
ONES = [1.0, 1.0, 1.0, 1.0]
CATEGORIES = pd.DataFrame({"dose": X[:, 0], "sex": np.where(X[:, 1] > 0, "f", "m")})
RBF = {"kernel": "rbf"}


def inside(Z):
    return np.abs(Z[:, 0]) - 0.5


def raising(Z):
    raise KeyError("dose")


BOXES = [
    Case("a list as box", InvalidInput, ["'box'", "bounds", "dict of column"], Box([(0, 1)], 1)),
    Case("a huge box", InvalidInput, ["'box'", "column 0", "1e+308", "None"], Box({0: (-1e308, 1e308)}, 1)),
    Case("no boxes", InvalidInput, ["'box'", "bounds is an empty list"], Box([], 1)),
    Case(
        "a box upside down",
        InvalidInput,
        ["'box'", "column 0", "1 is above 0", "Exchange"],
        Box({0: (1, 0)}, 1),
    ),
    Case("NaN in a box", InvalidInput, ["'box'", "column 0", "numbers or None"], Box({0: (np.nan, 1)}, 1)),
    Case("one end of a box", InvalidInput, ["'box'", "column 0", "(low, high)", "got 3"], Box({0: 3}, 1)),
    Case(
        "an unknown column of a box",
        InvalidInput,
        ["'box'", "no column 'bmi'", "dose, age"],
        Box({"bmi": (0, 1)}, 1),
        X=FRAME,
    ),
    Case(
        "a column of a box twice",
        InvalidInput,
        ["'box'", "column 'dose' twice", "Remove one"],
        Box({"dose": (0, 1), 0: (0, 2)}, 1),
        X=FRAME,
    ),
    Case(
        "a column with categories in a box",
        InvalidInput,
        ["'box'", "'sex' has categories", "Use a Rule"],
        Box({"sex": (0, 1)}, 1),
        X=CATEGORIES,
    ),
    Case("a box of an unknown class", InvalidInput, ["'box'", "label 7", "0, 1"], Box({0: (0, 1)}, 7)),
    Case(
        "two boxes of three classes",
        InvalidInput,
        ["'box'", "2 regions and 3 labels"],
        Box([{0: (0, 1)}, {1: (0, 1)}], [0, 1, 0]),
    ),
    Case("a box of weight below zero", InvalidInput, ["'box'", "mu", "-1"], Box({0: (0, 1)}, 1, mu=-1)),
    Case("a box, hard a word", InvalidInput, ["'box'", "hard", "'no'"], Box({0: (0, 1)}, 1, hard="no")),
    Case(
        "an unknown method of a box",
        InvalidInput,
        ["'box'", "method", "'guaranteed'", "got 'proof'"],
        Box({0: (0, 1)}, 1, method="proof"),
    ),
    Case(
        "a list of methods",
        InvalidInput,
        ["'box'", "method must be one of", "got ['cuts']"],
        Box({0: (0, 1)}, 1, method=["cuts"]),
    ),
    Case(
        "an array for holds",
        InvalidInput,
        ["'box'", "holds must be one of", "'everywhere'"],
        Box({0: (0, 1)}, 1, holds=np.array(["rows", "everywhere"])),
    ),
    Case(
        "a method for rows",
        InvalidInput,
        ["'box'", "method='cuts' is for holds='everywhere'", "Leave one of them out"],
        Box({0: (0, 1)}, 1, method="cuts", holds="rows"),
    ),
    Case(
        "unlabelled rows everywhere",
        InvalidInput,
        ["'box'", "unlabeled", "holds='rows'"],
        Box({0: (0, 1)}, 1, hard=True, unlabeled=X[:3]),
    ),
    Case(
        "unlabelled rows too wide",
        InvalidInput,
        ["'box'", "unlabeled", "(2, 3)", "(n, 2)"],
        Box({0: (0, 1)}, 1, unlabeled=np.ones((2, 3))),
    ),
    Case(
        "within beside the box",
        InvalidInput,
        ["'box'", "within leaves nothing", "column 0", "Widen within"],
        Box({0: (0, 1)}, 1, within={0: (2, 3)}, holds="everywhere"),
    ),
    Case(
        "within upside down",
        InvalidInput,
        ["'box'", "within: the bounds of column 1 are empty", "Exchange"],
        Box({0: (0, 1)}, 1, within={1: (1, 0)}),
    ),
    Case(
        "an array as within",
        InvalidInput,
        ["'box'", "within must be 'data', a dict"],
        Box({0: (0, 1)}, 1, within=np.ones(2)),
    ),
    Case(
        "no points of a box",
        InvalidInput,
        ["'box'", "points", "at least 1 and at most 1000000"],
        Box({0: (0, 1)}, 1, points=0),
    ),
    Case(
        "half a point of a box",
        InvalidInput,
        ["'box'", "points must be a whole number from 1 to 1000000, 'grid' or an array", "got 2.5"],
        Box({0: (0, 1)}, 1, points=2.5),
    ),
    Case(
        "too many points of a box",
        TooLarge,
        ["'box'", "points must be at most 1000000"],
        Box({0: (0, 1)}, 1, points=10**400, method="points"),
        parameters=RBF,
    ),
    Case(
        "no cells of a box",
        InvalidInput,
        ["'box'", "max_cells", "at least 1 and at most 1000000, got 0"],
        Box({0: (0, 1)}, 1, max_cells=0),
    ),
    Case(
        "an open box on a kernel model",
        InvalidInput,
        ["'box'", "unbounded in column 1", "within='data'"],
        Box({0: (0, 1)}, 1, hard=True, within=None),
        parameters=RBF,
    ),
    Case(
        "a soft box at infinite C",
        MissingCapability,
        ["'box'", "C is infinite", "hard=True"],
        Box({0: (0, 1)}, 1),
        parameters={"C": np.inf},
    ),
]

POLYHEDRA = [
    Case(
        "a polyhedron too wide",
        InvalidInput,
        ["'polyhedron'", "B has shape (1, 3) and d (1,)", "(m, 2)"],
        Polyhedron([[1, 2, 3]], [1], 1),
    ),
    Case(
        "sides without limits",
        InvalidInput,
        ["'polyhedron'", "B has shape (4, 2) and d (3,)"],
        Polyhedron(SQUARE, [1, 1, 1], 1),
    ),
    Case("no sides", InvalidInput, ["'polyhedron'", "m >= 1"], Polyhedron(np.empty((0, 2)), [], 1)),
    Case(
        "words as sides",
        InvalidInput,
        ["'polyhedron'", "B must be an array of numbers"],
        Polyhedron("B", [1], 1),
    ),
    Case(
        "words as limits",
        InvalidInput,
        ["'polyhedron'", "d must be an array of numbers", "'high'"],
        Polyhedron([[1.0, 0.0]], ["high"], 1),
    ),
    Case(
        "a side at infinity",
        InvalidInput,
        ["'polyhedron'", "d contains NaN or infinity", "leave out"],
        Polyhedron([[1.0, 0.0]], [np.inf], 1),
    ),
    Case(
        "NaN in a side",
        InvalidInput,
        ["'polyhedron'", "B contains NaN or infinity"],
        Polyhedron([[np.nan, 0.0]], [1.0], 1),
    ),
    Case(
        "an empty polyhedron",
        InvalidInput,
        ["'polyhedron'", "is empty", "Check the signs"],
        Polyhedron([[1.0, 0.0], [-1.0, 0.0]], [-1.0, -1.0], 1),
    ),
    Case(
        "two matrices and one vector",
        InvalidInput,
        ["'polyhedron'", "2 matrices", "d must be a list"],
        Polyhedron([np.eye(2), np.eye(2)], np.ones(2), 1),
    ),
    Case(
        "two matrices and three vectors",
        InvalidInput,
        ["'polyhedron'", "2 matrices B and 3 vectors d"],
        Polyhedron([np.eye(2), np.eye(2)], [np.ones(2)] * 3, 1),
    ),
    Case(
        "residuals below zero",
        InvalidInput,
        ["'polyhedron'", "mu_residual", "-1"],
        Polyhedron(SQUARE, ONES, 1, mu_residual=-1),
    ),
    Case(
        "hard with residuals",
        InvalidInput,
        ["'polyhedron'", "mu_residual", "hard=True", "Choose one"],
        Polyhedron(SQUARE, ONES, 1, mu_residual=1.0, hard=True),
    ),
    Case(
        "residuals of a kernel model",
        InvalidInput,
        ["'polyhedron'", "mu_residual requires a linear model or method='kernelised'"],
        Polyhedron(SQUARE, ONES, 1, mu_residual=1.0),
        parameters=RBF,
    ),
    Case(
        "a polyhedron of an unknown class",
        InvalidInput,
        ["'polyhedron'", "label 'bad'", "'ill'"],
        Polyhedron(SQUARE, ONES, "bad"),
        y=WORDS,
    ),
]

ELLIPSOIDS = [
    Case(
        "a centre too long",
        InvalidInput,
        ["'ellipsoid'", "centre has shape (3,), expected (2,)"],
        Ellipsoid([0, 1, 2], 1.0, 1),
    ),
    Case("a number as centre", InvalidInput, ["'ellipsoid'", "centre has shape ()"], Ellipsoid(0.0, 1.0, 1)),
    Case(
        "words as centre",
        InvalidInput,
        ["'ellipsoid'", "centre must be 2 numbers", "['a', 'b']"],
        Ellipsoid(["a", "b"], 1.0, 1),
    ),
    Case(
        "a ragged centre",
        InvalidInput,
        ["'ellipsoid'", "centre must be 2 numbers"],
        Ellipsoid([[1, 2], [3]], 1.0, 1),
    ),
    Case("NaN in the centre", InvalidInput, ["'ellipsoid'", "centre", "NaN"], Ellipsoid([0, np.nan], 1.0, 1)),
    Case(
        "a centre with other names",
        InvalidInput,
        ["'ellipsoid'", "centre names bmi, age", "the columns are dose, age"],
        Ellipsoid(pd.Series({"bmi": 0.0, "age": 1.0}), 1.0, 1),
        X=FRAME,
    ),
    Case(
        "a radius below zero",
        InvalidInput,
        ["'ellipsoid'", "shape must be a radius, 2 semi-axes", "got -1"],
        Ellipsoid([0, 0], -1, 1),
    ),
    Case("a word as shape", InvalidInput, ["'ellipsoid'", "shape", "'round'"], Ellipsoid([0, 0], "round", 1)),
    Case(
        "too many semi-axes",
        InvalidInput,
        ["'ellipsoid'", "shape must be a radius, 2 semi-axes", "[1, 2, 3]"],
        Ellipsoid([0, 0], [1, 2, 3], 1),
    ),
    Case(
        "a matrix of three rows",
        InvalidInput,
        ["'ellipsoid'", "shape has shape (3, 3), expected (2, k)"],
        Ellipsoid([0, 0], np.eye(3), 1),
    ),
    Case(
        "NaN in the shape",
        InvalidInput,
        ["'ellipsoid'", "shape contains NaN"],
        Ellipsoid([0, 0], [[1.0, np.nan], [0.0, 1.0]], 1),
    ),
    Case(
        "an ellipsoid of a list of classes",
        InvalidInput,
        ["'ellipsoid'", "label [0, 1]"],
        Ellipsoid([0, 0], 1.0, [0, 1]),
    ),
    Case(
        "an ellipsoid between the categories",
        InvalidInput,
        ["'ellipsoid'", "no value of column 'sex'"],
        Ellipsoid([0.0, 0.5, 0.5], 0.1, 1),
        X=CATEGORIES,
    ),
    Case(
        "a proof on an ellipsoid in five columns",
        InvalidInput,
        ["'ellipsoid'", "practical to 4 dimensions, and there are 5", "method='cuts'"],
        Ellipsoid(np.zeros(5), 1.0, 1, method="guaranteed"),
        X=np.hstack([X, X, X[:, :1]]),
        parameters=RBF,
    ),
]

RULES = [
    Case("a number as rule", BadRule, ["'rule'", "must be a text", "got 3"], Rule(3, 1)),
    Case("a list as rule", BadRule, ["'rule'", "must be a text", "x0 > 1"], Rule(["x0 > 1"], 1)),
    Case("a dict as rule", BadRule, ["'rule'", "must be a text"], Rule({0: (0, 1)}, 1)),
    Case("an empty rule", BadRule, ["'rule'"], Rule("", 1)),
    Case("half a rule", BadRule, ["'rule'", "a number or a column is missing"], Rule("x0 >=", 1)),
    Case(
        "a rule on an unknown column",
        BadRule,
        ["'rule'", "no column 'bmi'", "dose, age"],
        Rule("bmi > 30", 1),
        X=FRAME,
    ),
    Case(
        "names without a frame",
        BadRule,
        ["'rule'", "no column 'dose'", "fit on a DataFrame, or give columns="],
        Rule("dose > 1", 1),
    ),
    Case(
        "a rule against itself",
        BadRule,
        ["'rule'", "contradict each other", "use 'or'"],
        Rule("x0 > 1 and x0 < 0", 1),
    ),
    Case(
        "a rule of an unknown class", InvalidInput, ["'rule'", "label 'ill'", "0, 1"], Rule("x0 > 1", "ill")
    ),
    Case("a rule of a missing value", InvalidInput, ["'rule'", "label <NA>", "0, 1"], Rule("x0 > 1", pd.NA)),
    Case(
        "too few names",
        InvalidInput,
        ["'rule'", "columns must be 2 names", "['a']"],
        Rule("a > 1", 1, columns=["a"]),
    ),
    Case("a number as names", InvalidInput, ["'rule'", "columns", "got 2"], Rule("x0 > 1", 1, columns=2)),
    Case(
        "a product everywhere",
        BadRule,
        ["'rule'", "x0 * x1"],
        Rule("x0 * x1 > 1", 1, holds="everywhere"),
    ),
    Case(
        "an unknown category",
        BadRule,
        ["'rule'", "'x'", "'f'"],
        Rule("sex == 'x'", 1),
        X=CATEGORIES,
    ),
    Case(
        "an unknown column of within",
        InvalidInput,
        ["'rule'", "no column 'bmi'", "x0, x1"],
        Rule("x0 > 0", 1, within={"bmi": (0, 1)}),
    ),
]

REGIONS = [
    Case("a number as region", InvalidInput, ["'region'", "g must be a function", "got 1"], Region(1, 9, 1)),
    Case(
        "a function of one point",
        InvalidInput,
        ["'region'", "g is called with all points at once", "(3, 2)", "returned shape ()"],
        Region(lambda Z: Z.sum(), 9, 1, within="data"),
    ),
    Case(
        "a function that fails",
        InvalidInput,
        ["'region'", "g failed on an array of shape (3, 2)", "KeyError('dose')"],
        Region(raising, 9, 1, within="data"),
    ),
    Case(
        "a function that divides by zero",
        InvalidInput,
        ["'region'", "h failed", "ZeroDivisionError"],
        Region(inside, 9, 1, h=lambda Z: 1 / 0, within="data"),
    ),
    Case(
        "a function that returns NaN",
        InvalidInput,
        ["'region'", "g returned NaN"],
        Region(lambda Z: Z[:, 0] * np.nan, 9, 1, within="data"),
    ),
    Case(
        "two required values for a point",
        InvalidInput,
        ["'region'", "h must return one finite number per point", "(3, 2)"],
        Region(inside, 9, 1, h=lambda Z: Z, within="data"),
    ),
    Case(
        "a required value for all points",
        InvalidInput,
        ["'region'", "h is called with all points at once", "must return (n,) numbers"],
        Region(inside, 9, 1, h=lambda Z: 1.0, within="data"),
    ),
    Case(
        "a required value of infinity",
        InvalidInput,
        ["'region'", "h must be a number or a function", "inf"],
        Region(inside, 9, 1, h=np.inf, within="data"),
    ),
    Case(
        "a region without an end",
        InvalidInput,
        ["'region'", "unbounded", "within='data'"],
        Region(inside, 9, 1, hard=True),
        parameters=RBF,
    ),
    Case(
        "points of a region too wide",
        InvalidInput,
        ["'region'", "points", "(2, 3)", "(n, 2)"],
        Region(inside, np.ones((2, 3)), 1),
    ),
    Case(
        "a word as points of a region",
        InvalidInput,
        ["'region'", "points", "'grid'", "'many'"],
        Region(inside, "many", 1, within="data"),
    ),
    Case(
        "a proof of a region",
        InvalidInput,
        ["'region'", "method must be one of 'auto', 'cuts', 'points'", "'guaranteed'"],
        Region(inside, 9, 1, method="guaranteed", within="data"),
    ),
    Case(
        "a region that is empty",
        InvalidInput,
        ["'region'", "no point with g(x) <= 0", "Check the sign of g"],
        Region(lambda Z: 1.0 + Z[:, 0] ** 2, 9, 1, method="points", within="data"),
        late=True,
    ),
]

MONOTONE = [
    Case("features without directions", InvalidInput, ["'monotone'", "dict", "[0]"], Monotone([0])),
    Case("a slope of 2", InvalidInput, ["'monotone'", "column 0", "+1 or -1", "got 2"], Monotone({0: 2})),
    Case(
        "an unknown feature",
        InvalidInput,
        ["'monotone'", "no column 'bmi'", "dose, age"],
        Monotone({"bmi": 1}),
        X=FRAME,
    ),
    Case(
        "a slope without its class",
        InvalidInput,
        ["'monotone'", "3 classes", "label"],
        Monotone({0: 1}),
        y=WORDS,
    ),
    Case("a slope of an unknown class", InvalidInput, ["'monotone'", "label 7"], Monotone({0: 1}, label=7)),
    Case(
        "a slope without a place",
        InvalidInput,
        ["'monotone'", "within must be 'data' or a dict of column to (low, high), got None."],
        Monotone({0: 1}, within=None),
    ),
    Case(
        "a feature twice",
        InvalidInput,
        ["'monotone'", "column 'dose' twice"],
        Monotone({"dose": 1, 0: 1}),
        X=FRAME,
    ),
    Case(
        "slopes of a kernel without derivatives",
        MissingCapability,
        ["'monotone'", "slope"],
        Monotone({0: 1}, hard=True),
        parameters={"kernel": lambda A, B: A @ B.T},
        late=True,
    ),
]

HUGE = [
    Case("a huge ellipsoid", InvalidInput, ["'ellipsoid'", "shape: 1e+300"], Ellipsoid([0, 0], 1e300, 1)),
    Case("a huge centre", InvalidInput, ["'ellipsoid'", "centre: 1e+300"], Ellipsoid([1e300, 0], 1, 1)),
    Case("a huge polyhedron", InvalidInput, ["'polyhedron'", "d: 1e+300"], Polyhedron([[1, 0]], [1e300], 1)),
]
CASES = [*HUGE, *BOXES, *POLYHEDRA, *ELLIPSOIDS, *RULES, *REGIONS, *MONOTONE]


@parametrize(CASES)
def test_bad_region(case, request):
    check(case, request)
