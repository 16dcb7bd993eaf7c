"""Bad parameters of PriorSVC, its kernel among them."""

import numpy as np
import pytest

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    Monotone,
    NegativeDistance,
    OddnessHint,
    Polyhedron,
    Polynomial,
    Prior,
    PriorSVC,
    SampleCosts,
    Shift,
    TangentPenalty,
    UncertainSamples,
    UnlabeledSamples,
    VirtualSamples,
)
from priorsvm.errors import InvalidInput, InvalidType, KernelNotPSD, MissingCapability
from priorsvm.kernels import Centred
from priorsvm.prior import snake_case
from tests.bad_inputs.cases import Case, HeavyWork, X, Y, check, parametrize, svc
from tests.solve.test_matrix import CASES as BLOCKS


@pytest.mark.parametrize(
    "parameters", [{}, {"kernel": "rbf", "solver": "CLARABEL"}, {"kernel": lambda A, B: A @ B.T}]
)
def test_heavy_work_is_noticed(no_heavy_work, parameters):
    with pytest.raises(HeavyWork):
        PriorSVC(**parameters).fit(X, Y)


PARAMETERS = [
    svc("preselect='yes'", InvalidInput, ["preselect must be True or False", "got 'yes'"], preselect="yes"),
    svc("degree", InvalidInput, ["overflows", "above 1e+100", "smaller degree"], kernel=Polynomial(10**9)),
    *[
        svc(f"C={value!r}", InvalidInput, ["C must be a positive number", f"got {value!r}"], C=value)
        for value in (0, -1, float("nan"), float("-inf"), "a", True, None)
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
    svc("unknown multi_class", InvalidInput, ["multi_class", "'ovr'", "'ovo'", "'ova'"], multi_class="ova"),
    svc("unknown kernel", InvalidInput, ["kernel 'rfb'", "'linear'", "Did you mean 'rbf'?"], kernel="rfb"),
    svc("a number as kernel", InvalidType, ["kernel is 3", "RBF()", "function of two matrices"], kernel=3),
    svc("a kernel's class", InvalidType, ["the class RBF", "write RBF()"], kernel=RBF),
    svc("gamma below zero", InvalidInput, ["RBF", "gamma is -1", "positive number"], kernel=RBF(-1)),
    svc(
        "unknown solver",
        InvalidInput,
        ["'GUROBY' is unknown", "Did you mean 'GUROBI'", "LIBSVM"],
        solver="GUROBY",
    ),
    *[
        svc(f"a method as solver, {solver}", InvalidInput, ["InvariantLoss(method='pegasos')"], solver=solver)
        for solver in ("PEGASOS", "pegasos", ["PEGASOS"])
    ],
    svc("no solver", InvalidInput, ["empty list", "'auto'"], solver=[]),
    svc("None as solver", InvalidInput, ["solver", "None", "auto"], solver=None),
    svc("unknown solver in a list", InvalidInput, ["'NONE'", "Available"], solver=["CLARABEL", "NONE"]),
    svc("auto in a list", InvalidInput, ["'auto'", "list"], solver=["auto", "CLARABEL"]),
    svc("a dict as solver", InvalidInput, ["solver", "name", "list"], solver={"CLARABEL": {}}),
    svc("options that are no dict", InvalidInput, ["solver_options", "dict", "list"], solver_options=[1]),
    svc("options by numbers", InvalidInput, ["solver_options", "by their names", "1"], solver_options={1: 2}),
    svc("a word as random_state", ValueError, ["'a'", "seed"], random_state="a"),
]

KERNELS = [
    svc(
        "a kernel that is only cpd, without a bias",
        MissingCapability,
        ["NegativeDistance()", "conditionally", "multi_class='joint'", "multi_class='ovr'"],
        kernel=NegativeDistance(),
        multi_class="joint",
    ),
    svc(
        "a centred kernel without a bias",
        MissingCapability,
        ["Centred(NegativeDistance(), point=[0., 0.])", "multi_class='ovr'"],
        kernel=Centred(NegativeDistance(), [0.0, 0.0]),
        multi_class="joint",
    ),
    svc(
        "a centred kernel at a point of another width",
        InvalidInput,
        ["2 columns", "point", "3"],
        kernel=Centred(NegativeDistance(), [0.0, 0.0, 0.0]),
    )._replace(late=True),
    Case(
        "slopes of a kernel without them where rows are equal",
        MissingCapability,
        ["block 'monotone'", "NegativeDistance()", "where two rows are equal", "norm='l1'"],
        Monotone({0: 1}, holds="everywhere"),
        parameters={"kernel": NegativeDistance()},
        late=True,
    ),
    Case(
        "slopes that f expands over",
        MissingCapability,
        ["block 'tangent_penalty'", "NegativeDistance(power=1.5)", "slope_slope"],
        TangentPenalty(Shift([1.0, 0.0]), 1.0),
        parameters={"kernel": NegativeDistance(1.5)},
        late=True,
    ),
    Case(
        "uncertain rows without second derivatives",
        MissingCapability,
        ["block 'uncertain_samples'", "NegativeDistance(power=1.5)"],
        UncertainSamples(0.1),
        parameters={"kernel": NegativeDistance(1.5)},
        late=True,
    ),
    Case(
        "the published kernel form of a polyhedron and a cpd kernel",
        MissingCapability,
        ["block 'polyhedron'", "method='kernelised'", "free bias", "method='cuts'"],
        Polyhedron([[1.0, 0.0]], [0.0], 1, method="kernelised"),
        parameters={"kernel": NegativeDistance()},
        late=True,
    ),
    svc(
        "a function that is cpd",
        KernelNotPSD,
        ["norm='l1'", "definiteness is 'cpd'"],
        kernel=lambda A, B: -np.linalg.norm(A[:, None] - B, axis=2),
    )._replace(late=True),
    svc("sigmoid", KernelNotPSD, ["sigmoid", "norm='l2'", "norm='l1'"], kernel="sigmoid"),
    svc(
        "a polynomial that is not PSD",
        KernelNotPSD,
        ["coef0=-1.0", "norm='l1'"],
        kernel=Polynomial(2, coef0=-1.0),
    ),
    svc("a kernel taken away", KernelNotPSD, ["RBF", "norm='l1'"], kernel=-1 * RBF()),
    # The definiteness of a function is unknown until it is called on a few rows.
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

GRAM = X @ X.T

# Blocks that do not accept a kernel matrix.
NEED_FEATURES = [case.block for case in BLOCKS.values() if "precomputed" not in case.block.accepts]


def precomputed(name, error, words, K, prior=None, **parameters):
    """Return the case of a bad kernel matrix."""
    return Case(f"precomputed, {name}", error, words, prior, K, Y, {"kernel": "precomputed", **parameters})


PRECOMPUTED = [
    precomputed("not square", InvalidInput, ["(30, 29)", "square", "k(X_new, X)"], GRAM[:, 1:]),
    precomputed("scaled", InvalidInput, ["scale='minmax'", "scale=None"], GRAM, scale="minmax"),
    precomputed("NaN", InvalidInput, ["contains NaN", "kernel matrix"], GRAM * np.nan),
    precomputed("indefinite", KernelNotPSD, ["not positive definite", "norm='l1'"], -GRAM),
    precomputed("not symmetric", KernelNotPSD, ["not symmetric", "norm='l1'"], np.triu(GRAM))._replace(
        late=True
    ),
    precomputed(
        "cpd without a bias",
        MissingCapability,
        ["conditionally", "multi_class='ovr'"],
        NegativeDistance()(X),
        multi_class="joint",
    ),
    *[
        precomputed(
            type(block).__name__,
            MissingCapability,
            [f"block '{snake_case(type(block).__name__)}'", "kernel='precomputed'", "Leave the block out"],
            GRAM,
            ClassCosts("balanced") + block,
        )
        for block in NEED_FEATURES
    ],
]

CASES = [*PARAMETERS, *KERNELS, *PRECOMPUTED]


@parametrize(CASES)
def test_bad_parameter(case, request):
    check(case, request)


@pytest.mark.parametrize(
    "kernel", [NegativeDistance(), "sigmoid", lambda A, B: -A @ B.T, lambda A, B: A[:, :1] - B[:, :1].T]
)
def test_the_advice_for_a_kernel_that_is_not_psd_works(kernel):
    assert PriorSVC(kernel=kernel, norm="l1").fit(X, Y).status_ == "optimal"


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (OddnessHint(mu=1e308), "mu: 1e+308 is too large. Numbers beyond 1e+100 overflow"),
        (OddnessHint(mu=1e-308), "mu: 1e-308 is too small. Use 0, or at least 1e-100"),
        (UncertainSamples(1e-308), "covariance: 1e-308 is too small"),
        (VirtualSamples(Shift([0.1, 0.0]), cost=1e308), "cost: 1e+308 is too large"),
        (VirtualSamples(Shift(np.full(2, 1e300))), "transform__vector: 1e+300 is too large"),
        (SampleCosts(np.ones(len(Y), complex)), "costs contains complex numbers"),
        (SampleCosts(np.ma.ones(len(Y))), "costs is a masked array"),
        (Box({0: (0, 1)}, 1, unlabeled=np.ones((3, 2), complex)), "unlabeled contains complex numbers"),
    ],
)
def test_numbers_that_overflow_are_refused_for_every_parameter(block, words):
    with pytest.raises(InvalidInput) as caught:
        PriorSVC(block, kernel="rbf").fit(X, Y)
    assert f"block '{snake_case(type(block).__name__)}': {words}" in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"C": 1e308}, "C: 1e+308 is too large"),
        ({"kernel": RBF(1e308)}, "kernel: gamma: 1e+308 is too large"),
        ({"kernel": PriorSVC}, "kernel is the class PriorSVC; write PriorSVC()"),
        ({"max_seconds": 1e308}, "max_seconds must be at most 1e+09"),
        ({"random_state": -1}, "random_state: Seed must be between 0 and 2**32 - 1"),
        *[
            ({name: np.ones((2, 2))}, f"{name} must be")
            for name in ("norm", "loss", "scale", "multi_class", "categories")
        ],
    ],
)
def test_parameters_that_failed_inside_other_packages(parameters, words):
    with pytest.raises((InvalidInput, InvalidType)) as caught:
        PriorSVC(**parameters).fit(X, Y)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "arguments", [{"X": 10**400}, {"sample_weight": 10**400}, {"sample_weight": np.ones(len(Y), complex)}]
)
def test_arguments_that_overflow(arguments):
    with pytest.raises(InvalidInput, match=r"too large|complex"):
        PriorSVC().fit(**{"X": X, "y": Y, **arguments})
