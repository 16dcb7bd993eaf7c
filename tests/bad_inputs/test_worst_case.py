"""Bad parameters of blocks that share the slack of the rows."""

import numpy as np

from priorsvm import (
    FeatureDeletion,
    FeatureScaling,
    FromFunction,
    InvariantLoss,
    MissingValues,
    Reflection,
    Shift,
    Trajectories,
    Translation,
    UncertainSamples,
)
from priorsvm.errors import InvalidInput, InvalidType, MissingCapability
from tests.bad_inputs.cases import FRAME, WORDS, Case, X, Y, check, parametrize

SHIFT = Shift([0.1, 0.0])
PLANE = Shift([[0.1, 0.0], [0.0, 0.1]])
GAPS = X.copy()
GAPS[::5, 1] = np.nan
RBF = {"kernel": "rbf"}


def gaps_in(rows, column):
    """Return X without the values of a column in some rows."""
    changed = X.copy()
    changed[rows, column] = np.nan
    return changed


UNCERTAIN = [
    Case(
        "no errors given",
        InvalidInput,
        ["'uncertain_samples'", "covariance and factor", "<block>__covariance"],
        UncertainSamples(),
    ),
    Case(
        "errors given twice",
        InvalidInput,
        ["'uncertain_samples'", "covariance and factor", "both are given", "Leave one of them out"],
        UncertainSamples(0.1, factor=np.eye(2)),
    ),
    Case(
        "an error below zero",
        InvalidInput,
        ["'uncertain_samples'", "standard deviation of -1"],
        UncertainSamples(-1),
    ),
    Case(
        "errors of an unknown column",
        InvalidInput,
        ["'uncertain_samples'", "no column 'bmi'", "dose, age"],
        UncertainSamples({"bmi": 0.1}),
        X=FRAME,
    ),
    Case(
        "errors of a few rows",
        InvalidInput,
        ["'uncertain_samples'", "(3, 2)", "(30, 2)", "<block>__covariance"],
        UncertainSamples(np.ones((3, 2))),
    ),
    Case(
        "a covariance that is none",
        InvalidInput,
        ["'uncertain_samples'", "not positive semidefinite"],
        UncertainSamples([[1.0, 2.0], [2.0, 1.0]]),
    ),
    Case(
        "a covariance with two sides",
        InvalidInput,
        ["'uncertain_samples'", "not symmetric", "give it as factor"],
        UncertainSamples([[1.0, 0.5], [0.0, 1.0]]),
    ),
    Case(
        "NaN as error",
        InvalidInput,
        ["'uncertain_samples'", "covariance contains NaN or infinity. Use MissingValues"],
        UncertainSamples(float("nan")),
    ),
    Case(
        "NaN among errors",
        InvalidInput,
        ["'uncertain_samples'", "NaN", "first at [0, 0]"],
        UncertainSamples(np.full((30, 2), np.nan)),
    ),
    Case(
        "a factor of another height",
        InvalidInput,
        ["'uncertain_samples'", "factor has shape (3, 2), expected (2, k)"],
        UncertainSamples(factor=np.ones((3, 2))),
    ),
    Case(
        "percent as confidence",
        InvalidInput,
        ["'uncertain_samples'", "got 90", "Did you mean 0.9"],
        UncertainSamples(0.1, confidence=90),
    ),
    Case(
        "a list of distributions",
        InvalidInput,
        ["'uncertain_samples'", "distribution must be 'gaussian' or 'any'", "['any']"],
        UncertainSamples(0.1, distribution=["any"]),
    ),
    Case(
        "errors of no class",
        InvalidInput,
        ["'uncertain_samples'", "classes is empty"],
        UncertainSamples(0.1, classes=[]),
    ),
    Case(
        "a weight of uncertain samples",
        InvalidInput,
        ["'uncertain_samples'", "outer weight", "weight 0 disables"],
        2 * UncertainSamples(0.1),
    ),
    Case(
        "errors without derivatives",
        MissingCapability,
        ["'uncertain_samples'", "second derivatives", "RBF or Polynomial"],
        UncertainSamples(0.1),
        parameters={"kernel": lambda A, B: A @ B.T},
        late=True,
    ),
]

MISSING = [
    Case(
        "percent as confidence in gaps",
        InvalidInput,
        ["'missing_values'", "got 90", "Did you mean 0.9"],
        MissingValues(confidence=90),
        X=GAPS,
    ),
    Case(
        "an unknown distribution of gaps",
        InvalidInput,
        ["'missing_values'", "distribution", "'normal'"],
        MissingValues(distribution="normal"),
        X=GAPS,
    ),
    Case(
        "ridge of 0", InvalidInput, ["'missing_values'", "ridge", "positive"], MissingValues(ridge=0), X=GAPS
    ),
    Case(
        "average a word",
        InvalidInput,
        ["'missing_values'", "average", "'yes'"],
        MissingValues(average="yes"),
        X=GAPS,
    ),
    Case(
        "a column without values",
        InvalidInput,
        ["'missing_values'", "column 1 has no value in any row of class 0"],
        MissingValues(),
        X=gaps_in(slice(None), 1),
    ),
    Case(
        "a column without values in one class",
        InvalidInput,
        ["'missing_values'", "column 0 has no value in any row of class 1", "impute"],
        MissingValues(),
        X=gaps_in(Y == 1, 0),
    ),
    Case(
        "gaps twice",
        InvalidInput,
        ["'missing_values' and 'again'", "both handle missing values", "Keep one block"],
        MissingValues() + MissingValues().named("again"),
        X=GAPS,
    ),
    Case(
        "gaps in a joint model",
        MissingCapability,
        ["'missing_values'", "multi_class='joint'", "'ovr'"],
        MissingValues(),
        X=GAPS,
        y=WORDS,
        parameters={"multi_class": "joint"},
    ),
]

TRAJECTORIES = [
    Case("no trajectory", InvalidInput, ["'trajectories'", "neither a transform nor"], Trajectories()),
    Case(
        "a trajectory of a word",
        InvalidType,
        ["'trajectories'", "must be a Transform, got str"],
        Trajectories("shift"),
    ),
    Case("a degree of 3", InvalidInput, ["'trajectories'", "got 3. Use 4."], Trajectories(SHIFT, degree=3)),
    Case(
        "a degree of 22", InvalidInput, ["'trajectories'", "at most 20", "narrower"], Trajectories(SHIFT, 22)
    ),
    Case("a degree of 2.0", InvalidInput, ["'trajectories'", "degree", "got 2.0"], Trajectories(SHIFT, 2.0)),
    Case(
        "a span backwards",
        InvalidInput,
        ["'trajectories'", "span must be (low, high) with low < high", "(1, 0)"],
        Trajectories(SHIFT, span=(1, 0)),
    ),
    Case(
        "an unknown span",
        InvalidInput,
        ["'trajectories'", "'transform', 'line' or (low, high)", "'all'"],
        Trajectories(SHIFT, span="all"),
    ),
    Case(
        "coefficients without a span",
        InvalidInput,
        ["'trajectories'", "span must be (low, high) or 'line' without a transform"],
        Trajectories(coefficients=np.stack([X, X], axis=1)),
    ),
    Case(
        "no coefficients",
        InvalidInput,
        ["'trajectories'", "coefficients must be 'interpolate', 'taylor', an array", "got None"],
        Trajectories(SHIFT, coefficients=None),
    ),
    Case(
        "a number as coefficients",
        InvalidInput,
        ["'trajectories'", "coefficients must be 'interpolate', 'taylor', an array", "got 1.0"],
        Trajectories(SHIFT, coefficients=1.0),
    ),
    Case(
        "coefficients of a few rows",
        InvalidInput,
        ["'trajectories'", "(3, 2, 2)", "30 training rows", "<block>__coefficients"],
        Trajectories(coefficients=np.zeros((3, 2, 2)), span=(0, 1)),
    ),
    Case(
        "coefficients too wide",
        InvalidInput,
        ["'trajectories'", "(30, 2, 3)", "(30, r + 1, 2)"],
        Trajectories(coefficients=np.zeros((30, 2, 3)), span=(0, 1)),
    ),
    Case(
        "coefficients of other rows",
        InvalidInput,
        ["'trajectories'", "coefficients[:, 0] must equal the training rows"],
        Trajectories(coefficients=np.zeros((30, 2, 2)), span=(0, 1)),
    ),
    Case(
        "a trajectory of a reflection",
        InvalidInput,
        ["'trajectories'", "Reflection is discrete", "continuous transform"],
        Trajectories(Reflection(axis=1, shape=(1, 2))),
    ),
    Case(
        "a trajectory without parameters",
        InvalidInput,
        ["'trajectories'", "has no parameters", "Give it parameters"],
        Trajectories(FromFunction(lambda Z, theta: Z, [])),
    ),
    Case(
        "a trajectory of images of another size",
        InvalidInput,
        ["'trajectories'", "16 pixels", "2 columns"],
        Trajectories(Translation((4, 4))),
    ),
    Case(
        "one parameter and two",
        InvalidInput,
        ["'trajectories'", "1 and 2 parameters", "one block for each"],
        Trajectories({0: SHIFT, 1: PLANE}),
    ),
    Case(
        "a degree of 4 with two parameters",
        InvalidInput,
        ["'trajectories'", "0 or 2 with 2 parameters"],
        Trajectories(PLANE, degree=4),
    ),
    Case(
        "classes of trajectories twice",
        InvalidInput,
        ["'trajectories'", "and classes is given too"],
        Trajectories({0: SHIFT}, classes=0),
    ),
    Case(
        "a trajectory of an unknown class",
        InvalidInput,
        ["'trajectories'", "label 9", "0, 1"],
        Trajectories(SHIFT, classes=9),
    ),
]

INVARIANT = [
    Case(
        "a cost above 1",
        InvalidInput,
        ["'invariant_loss'", "cost", "from 0 to 1", "got 2"],
        InvariantLoss(SHIFT, cost=2),
    ),
    Case(
        "a function of costs above 1",
        InvalidInput,
        ["'invariant_loss'", "cost must return one number from 0 to 1"],
        InvariantLoss(SHIFT, cost=lambda thetas: np.full(len(thetas), 3.0)),
    ),
    Case(
        "an unknown scaling",
        InvalidInput,
        ["'invariant_loss'", "'margin', 'slack'", "'both'"],
        InvariantLoss(SHIFT, scaling="both"),
    ),
    Case(
        "an array of methods",
        InvalidInput,
        ["'invariant_loss'", "method must be one of 'auto', 'columns'"],
        InvariantLoss(SHIFT, method=np.array(["all", "columns"])),
    ),
    Case(
        "a closed form of shifts",
        InvalidInput,
        ["'invariant_loss'", "method='closed' is for FeatureScaling"],
        InvariantLoss(SHIFT, method="closed"),
    ),
    Case(
        "a cost of deletions",
        InvalidInput,
        ["'invariant_loss'", "cost has no meaning with FeatureDeletion", "Leave it out"],
        InvariantLoss(FeatureDeletion(1), cost=0.5),
    ),
    Case(
        "passes over a span",
        InvalidInput,
        ["'invariant_loss'", "method='pegasos' requires continuous=False"],
        InvariantLoss(SHIFT, method="pegasos", continuous=True),
    ),
    Case(
        "passes with the 1-norm",
        MissingCapability,
        ["'invariant_loss'", "requires norm='l2'", "method='columns'"],
        InvariantLoss(SHIFT, method="pegasos"),
        parameters={"norm": "l1"},
    ),
    Case(
        "confusion of two classes",
        InvalidInput,
        ["'invariant_loss'", "confusion requires multi_class='joint'"],
        InvariantLoss(SHIFT, confusion={(0, 1): 2.0}),
    ),
    Case(
        "an array as confusion",
        InvalidInput,
        ["'invariant_loss'", "confusion must be a dict", "ndarray"],
        InvariantLoss(SHIFT, confusion=np.ones((3, 3))),
        y=WORDS,
        parameters={"multi_class": "joint"},
    ),
    Case(
        "shifts and deletions",
        InvalidInput,
        ["'invariant_loss'", "mixes FeatureDeletion", "one block for each"],
        InvariantLoss({0: SHIFT, 1: FeatureDeletion(1)}),
    ),
    Case(
        "scaled features on a kernel model",
        MissingCapability,
        ["'invariant_loss'", "FeatureScaling", "kernel"],
        InvariantLoss(FeatureScaling(1, 0.5, 1.5)),
        parameters=RBF,
    ),
    Case(
        "the invariant loss of an unknown class",
        InvalidInput,
        ["'invariant_loss'", "label 'ill'"],
        InvariantLoss(SHIFT, classes="ill"),
    ),
]

HUGE = Case("huge errors", InvalidInput, ["'uncertain_samples'", "1e+300"], UncertainSamples(1e300))
CASES = [HUGE, *UNCERTAIN, *MISSING, *TRAJECTORIES, *INVARIANT]


@parametrize(CASES)
def test_bad_worst_case(case, request):
    check(case, request)
