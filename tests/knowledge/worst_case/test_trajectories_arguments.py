"""Trajectories: refused arguments, and use with scikit-learn."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from priorsvm import (
    RBF,
    FromFunction,
    Knowledge,
    PriorSVC,
    Reflection,
    Shift,
    Trajectories,
    check_knowledge,
)
from priorsvm.errors import CoarsePolynomial, InvalidInput, InvalidType, Recompiled

from .trajectory_problems import (
    labels,
    turn,
)


def good(**changed):
    return Trajectories(**{"transform": Shift([0.1, 0.0, 0.0]), **changed})


BAD = {
    "odd degree": (good(degree=3), InvalidInput, r"degree must be 0, 1 or an even integer, got 3\. Use 4\."),
    "negative degree": (good(degree=-2), InvalidInput, "degree must be 0, 1 or an even integer, got -2"),
    "float degree": (
        good(degree=2.0),
        InvalidInput,
        r"degree must be 0, 1 or an even integer, got 2\.0",
    ),
    "bool degree": (good(degree=True), InvalidInput, "degree must be 0, 1 or an even integer, got True"),
    "word degree": (good(degree="2"), InvalidInput, "degree must be 0, 1 or an even integer, got '2'"),
    "NaN degree": (good(degree=np.nan), InvalidInput, "degree must be 0, 1 or an even integer, got nan"),
    "huge degree": (
        good(degree=22),
        InvalidInput,
        r"degree must be at most 20, got 22\. Use a narrower",
    ),
    "degree 4 of two": (
        Trajectories(Shift(0.1 * np.eye(2, 3)), degree=4),
        InvalidInput,
        "degree must be 0 or 2 with 2 parameters, got 4",
    ),
    "taylor of two": (
        Trajectories(Shift(0.1 * np.eye(2, 3)), coefficients="taylor"),
        InvalidInput,
        "coefficients must be 'interpolate' with 2 parameters",
    ),
    "array of two": (
        Trajectories(Shift(0.1 * np.eye(2, 3)), coefficients=np.zeros((80, 2, 3))),
        InvalidInput,
        "coefficients must be 'interpolate' with 2 parameters",
    ),
    "discrete": (
        Trajectories(Reflection(1, (1, 3))),
        InvalidInput,
        "Reflection is discrete.*continuous transform",
    ),
    "class": (Trajectories(Shift), InvalidType, r"got the class Shift: write Shift\("),
    "function": (
        Trajectories(turn),
        InvalidType,
        r"got function.*FromFunction\(function, thetas\) makes one",
    ),
    "word": (Trajectories("rotation"), InvalidType, "must be a Transform, got str"),
    "wrong width": (Trajectories(Shift([1.0])), InvalidInput, "vector has 1 entries, but X has 3 columns"),
    "reversed span": (good(span=(1, -1)), InvalidInput, r"span must be \(low, high\) with low < high, got"),
    "empty span": (good(span=(1, 1)), InvalidInput, r"span must be \(low, high\) with low < high, got"),
    "NaN span": (good(span=(0, np.nan)), InvalidInput, r"span must be \(low, high\) with low < high, got"),
    "infinite span": (good(span=(0, np.inf)), InvalidInput, r"span must be \(low, high\) with low < high"),
    "number as span": (good(span=0.5), InvalidInput, r"span must be \(low, high\) with low < high, got 0\.5"),
    "None as span": (good(span=None), InvalidInput, r"span must be \(low, high\) with low < high, got None"),
    "two pairs": (good(span=[(-1, 1), (-1, 1)]), InvalidInput, r"span must be \(low, high\)"),
    "one pair of two": (
        Trajectories(Shift(0.1 * np.eye(2, 3)), span=(-1, 1)),
        InvalidInput,
        r"span must be \(low, high\) with low < high for each of the 2 parameters",
    ),
    "unknown span": (good(span="all"), InvalidInput, r"span must be 'transform', 'line' or \(low, high\)"),
    "no range": (Trajectories(FromFunction(turn, [])), InvalidInput, "has no parameters"),
    "unknown word": (
        good(coefficients="chebyshev"),
        InvalidInput,
        r"coefficients must be 'interpolate', 'taylor', an array or a function of \(X, y\), got 'chebyshev'",
    ),
    "nothing": (Trajectories(), InvalidInput, "neither a transform nor an array of coefficients"),
    "taylor of nothing": (
        Trajectories(span=(-1, 1), coefficients="taylor"),
        InvalidInput,
        "neither a transform nor an array of coefficients",
    ),
    "no span": (
        Trajectories(coefficients=np.zeros((80, 2, 3))),
        InvalidInput,
        r"span must be \(low, high\) or 'line' without a transform",
    ),
    "too few rows": (
        Trajectories(span=(-1, 1), coefficients=np.zeros((79, 2, 3))),
        InvalidInput,
        r"coefficients was given as an array with shape \(79, 2, 3\), but there are 80.*__coefficients",
    ),
    "flat": (
        Trajectories(span=(-1, 1), coefficients=np.zeros((80, 3))),
        InvalidInput,
        r"coefficients has shape \(80, 3\), expected \(80, r \+ 1, 3\)",
    ),
    "wrong columns": (
        Trajectories(span=(-1, 1), coefficients=np.zeros((80, 2, 4))),
        InvalidInput,
        r"coefficients has shape \(80, 2, 4\), expected \(80, r \+ 1, 3\)",
    ),
    "no powers": (
        Trajectories(span=(-1, 1), coefficients=np.zeros((80, 0, 3))),
        InvalidInput,
        r"coefficients has shape \(80, 0, 3\), expected \(80, r \+ 1, 3\)",
    ),
    "NaN coefficients": (
        Trajectories(span=(-1, 1), coefficients=np.full((80, 2, 3), np.nan)),
        InvalidInput,
        "finite numbers",
    ),
    "not the rows": (
        Trajectories(span=(-1, 1), coefficients=np.ones((80, 2, 3))),
        InvalidInput,
        r"coefficients\[:, 0\] must equal the training rows",
    ),
    "words": (
        Trajectories(span=(-1, 1), coefficients=[["a"] * 3] * 80),
        InvalidInput,
        "coefficients must be numbers",
    ),
    "function of the wrong shape": (
        Trajectories(span=(-1, 1), coefficients=lambda X, y: X[:10, None]),
        InvalidInput,
        r"as a function of \(X, y\) with shape \(10, 1, 3\), but there are 80",
    ),
    "union": (
        Trajectories(Shift([0.1, 0, 0]) | Shift([0, 0.1, 0])),
        InvalidInput,
        r"s \| t has no common trajectory.*Trajectories\(s\) \+ Trajectories\(t\)",
    ),
}


class Expensive(Knowledge):
    """A block that fails after the checks of all arguments."""

    prepares = "adds"

    def prepare(self, sample, state):
        raise AssertionError("arguments must be checked first")


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_refused_before_expensive_work(data, case):
    block, error, message = BAD[case]
    with pytest.raises(error, match=f"(?s)block 'trajectories': .*{message}"):
        PriorSVC(Expensive() + block).fit(*data)


def test_an_outer_weight_has_no_meaning(data):
    with pytest.raises(
        InvalidInput, match=r"'trajectories' uses the slack of the training rows.*Remove the weight"
    ):
        PriorSVC(0.5 * good()).fit(*data)


def test_a_transform_that_fails_is_named(data):
    def broken(X, theta):
        return X[:, :1]

    with pytest.raises(
        InvalidInput, match=r"block 'trajectories': FromFunction: broken\(X, theta\) must return"
    ):
        PriorSVC(Trajectories(FromFunction(broken, [-1, 1]))).fit(*data)


def test_a_clone_has_the_same_parameters():
    block = Trajectories(Shift([1.0, 2.0]), degree=4, span=(-0.5, 0.5), coefficients="taylor")
    twin = clone(block)
    assert twin is not block
    assert repr(twin) == repr(block)
    assert {"degree": 4, "span": (-0.5, 0.5), "coefficients": "taylor"}.items() <= twin.get_params().items()
    assert twin.set_params(transform__steps=5).transform.steps == 5
    assert block.transform.steps == 3


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_fitted_model_can_be_pickled(moons, kernel):
    X, y = moons
    kernel = "linear" if kernel == "linear" else RBF(gamma=1.0)
    model = PriorSVC(Trajectories(Shift([0.1, 0.1])), kernel=kernel).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert str(again.findings_["trajectories"]) == str(model.findings_["trajectories"])
    assert str(again.verify()) == str(model.verify())
    assert str(again.formulation()) == str(model.formulation())
    assert str(again.report_) == str(model.report_)


@pytest.mark.slow
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_a_path_over_C_is_separate_fits(ring, degree):
    X, y = ring
    block = Trajectories(FromFunction(turn, [-0.2, 0.2]), degree=degree)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarsePolynomial)
        path = PriorSVC(block, tol=1e-9).fit_path(X, y, {"C": [0.1, 1.0, 5.0]})
        for model, C in zip(path, (0.1, 1.0, 5.0), strict=True):
            alone = PriorSVC(block, C=C, tol=1e-9).fit(X, y)
            assert model.objective_ == pytest.approx(alone.objective_, rel=1e-9)
            np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-6)
            assert str(model.findings_["trajectories"]) == str(alone.findings_["trajectories"])


def test_a_path_over_degrees_is_compiled_again(ring):
    X, y = ring
    block = Trajectories(FromFunction(turn, [-0.2, 0.2]))
    with pytest.warns(Recompiled, match="trajectories__degree"):
        path = PriorSVC(block).fit_path(X, y, {"trajectories__degree": [2, 4]})
    assert ["trajectories.squares" in labels(model) for model in path] == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize(
    "block",
    [
        Trajectories(Shift([0.2, 0.1, 0.0]), degree=1),
        Trajectories(FromFunction(turn, [-0.2, 0.2]), degree=2),
        Trajectories(FromFunction(turn, [-0.2, 0.3]), degree=4),
        Trajectories(FromFunction(turn, [-0.2, 0.2]), degree=2, coefficients="taylor"),
        Trajectories(Shift(0.1 * np.eye(3))),
    ],
    ids=["ends", "cone", "squares", "taylor", "matrix"],
)
def test_laws(block):
    assert "the answer satisfies KKT" in check_knowledge(block)


@pytest.mark.slow
def test_laws_with_coefficients(data):
    X, y = data
    coefficients = np.stack([X[:30], 0.1 * np.ones((30, 3)), -0.05 * np.ones((30, 3))], axis=1)
    block = Trajectories(span=(-1, 1))
    passed = check_knowledge(block, X[:30], y[:30], trajectories__coefficients=coefficients)
    assert "the order of the rows has no effect" in passed
