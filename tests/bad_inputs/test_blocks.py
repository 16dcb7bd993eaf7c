"""Bad parameters of blocks on rows and of hints, and a case for every block of the library.

``test_regions.py`` and ``test_worst_case.py`` have the other blocks.
"""

from collections import Counter

import numpy as np
import pytest

from priorsvm import (
    ClassCosts,
    FeatureDeletion,
    FromFunction,
    InvarianceHint,
    MonotonicityHint,
    OddnessHint,
    Reflection,
    RowPermutations,
    SampleCosts,
    Shift,
    TangentPenalty,
    Transductive,
    Translation,
    UnlabeledSamples,
    VirtualSamples,
    VirtualSupportVectors,
)
from priorsvm.cli import list_kinds
from priorsvm.errors import InvalidInput, InvalidType, MissingCapability, TooLarge
from priorsvm.knowledge.base import Knowledge
from tests.bad_inputs import test_regions, test_worst_case
from tests.bad_inputs.cases import FRAME, WORDS, Case, X, check, parametrize

SHIFT = Shift([0.1, 0.0])
EMPTY = np.empty((0, 2))


def turned(Z, theta):
    raise KeyError("angle")


CASES = [
    Case("an unknown class", InvalidInput, ["'class_costs'", "'ill'", "0, 1"], ClassCosts({"ill": 2.0})),
    Case(
        "an unknown class, words",
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
        ["'sample_costs'", "costs and margins are both None"],
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
        "an unknown label",
        InvalidInput,
        ["'unlabeled_samples'", "label 7", "0, 1"],
        UnlabeledSamples([[0, 1]], 7),
    ),
    Case(
        "an unknown label, for no points",
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
        "virtual support vectors of a class of transforms",
        InvalidType,
        ["'virtual_support_vectors'", "the class Shift", "write Shift("],
        VirtualSupportVectors(Shift),
    ),
    Case(
        "costs of copies that are not there",
        InvalidInput,
        ["'virtual_support_vectors'", "cost", "(3,)", "expected (2,)"],
        VirtualSupportVectors(SHIFT, cost=[1, 2, 3]),
    ),
    Case(
        "a function of costs below zero",
        InvalidInput,
        ["'virtual_support_vectors'", "the function cost contains -1", "at least 0"],
        VirtualSupportVectors(SHIFT, cost=lambda thetas: -np.ones(len(thetas))),
    ),
    Case(
        "a function of costs that fails",
        InvalidInput,
        ["'virtual_support_vectors'", "cost was given as a function", "ZeroDivisionError"],
        VirtualSupportVectors(SHIFT, cost=lambda thetas: 1 / 0),
    ),
    Case(
        "copies of an unknown class",
        InvalidInput,
        ["'virtual_support_vectors'", "label 7", "0, 1"],
        VirtualSupportVectors({7: SHIFT}),
    ),
    Case(
        "classes of copies twice",
        InvalidInput,
        ["'virtual_support_vectors'", "dict of class to transform, and classes is given too"],
        VirtualSupportVectors({0: SHIFT}, classes=0),
    ),
    Case(
        "classes as lists of different lengths",
        InvalidInput,
        ["'virtual_support_vectors'", "label [0, 1]", "0, 1"],
        VirtualSupportVectors(SHIFT, classes=[[0, 1], [0]]),
    ),
    Case(
        "labels as lists of different lengths",
        InvalidInput,
        ["'unlabeled_samples'", "y must be a label", "[[0, 1], [0]]"],
        UnlabeledSamples(X[:2], [[0, 1], [0]]),
    ),
    Case(
        "a transform that fails",
        InvalidInput,
        ["'virtual_samples'", "turned(X, theta) failed", "(1, 2)", "theta=2.0", "KeyError('angle')"],
        VirtualSamples(FromFunction(turned, [2.0])),
    ),
    Case(
        "matrices of another size",
        InvalidInput,
        ["'row_permutations'", "shape (2, 2) has 4 entries", "2 columns"],
        RowPermutations((2, 2)),
    ),
    Case(
        "a number as shape of matrices",
        InvalidInput,
        ["'row_permutations'", "(rows, columns)", "got 2"],
        RowPermutations(2),
    ),
    Case("rho below zero", InvalidInput, ["'row_permutations'", "rho", "-1"], RowPermutations((2, 1), -1)),
    Case(
        "an array of first orders",
        InvalidInput,
        ["'row_permutations'", "initial must be 'given' or 'sorted'", "array([0, 1])"],
        RowPermutations((2, 1), initial=np.arange(2)),
    ),
    Case(
        "orders on a kernel model",
        MissingCapability,
        ["'row_permutations'", "linear model is required", "Bhattacharyya()"],
        RowPermutations((2, 1)),
        parameters={"kernel": "rbf"},
    ),
    Case(
        "two blocks of orders",
        InvalidInput,
        ["'row_permutations' and 'again'", "Keep one block"],
        RowPermutations((2, 1)) + RowPermutations((2, 1)).named("again"),
    ),
    Case(
        "tangents of a dict",
        InvalidType,
        ["'tangent_penalty'", "must be a Transform, got dict"],
        TangentPenalty({0: SHIFT}),
    ),
    Case(
        "tangents of a reflection",
        InvalidInput,
        ["'tangent_penalty'", "discrete and has no tangents", "InvarianceHint"],
        TangentPenalty(Reflection(axis=1, shape=(1, 2))),
    ),
    Case(
        "tangents of deletions",
        InvalidInput,
        ["'tangent_penalty'", "discrete and has no tangents"],
        TangentPenalty(FeatureDeletion(1)),
    ),
    Case("gamma a word", InvalidInput, ["'tangent_penalty'", "gamma", "'x'"], TangentPenalty(SHIFT, "x")),
    Case("gamma NaN", InvalidInput, ["'tangent_penalty'", "gamma", "nan"], TangentPenalty(SHIFT, np.nan)),
    Case(
        "tangents of images of another size",
        InvalidInput,
        ["'tangent_penalty'", "16 pixels", "2 columns"],
        TangentPenalty(Translation((4, 4))),
    ),
    Case(
        "tangents on a kernel without derivatives",
        MissingCapability,
        ["'tangent_penalty'", "f.slope", "RBF or Polynomial"],
        TangentPenalty(SHIFT),
        parameters={"kernel": lambda A, B: A @ B.T},
        late=True,
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
        ["'monotonicity_hint'", "pairs", "at least 1 and at most 1000000, got 0"],
        MonotonicityHint({0: 1}, pairs=0),
    ),
    Case(
        "pairs a flag", InvalidInput, ["pairs", "whole number", "True"], MonotonicityHint({0: 1}, pairs=True)
    ),
    Case(
        "too many pairs",
        TooLarge,
        ["'monotonicity_hint'", "pairs must be at most 1000000"],
        MonotonicityHint({0: 1}, pairs=10**400),
    ),
    Case(
        "a score without its class",
        InvalidInput,
        ["'monotonicity_hint'", "3 classes", "label="],
        MonotonicityHint({0: 1}),
        y=WORDS,
    ),
    Case(
        "a score of an unknown class",
        InvalidInput,
        ["'bad'", "'ill'"],
        MonotonicityHint({0: 1}, label="bad"),
        y=WORDS,
    ),
    Case(
        "oddness of three",
        InvalidInput,
        ["'oddness_hint'", "got 3", "Remove the block"],
        OddnessHint(),
        y=WORDS,
    ),
]


@parametrize(CASES)
def test_bad_block(case, request):
    check(case, request)


def public_blocks():
    """Return name -> class of the blocks that ``priorsvm blocks`` lists."""
    kinds = [kind for names in list_kinds().values() for kind in names.items()]
    return {name: kind for name, kind in kinds if issubclass(kind, Knowledge)}


def kinds_of(prior):
    """Return the classes of the blocks of a case, whose sum may be wrong."""
    blocks = [prior] if isinstance(prior, Knowledge) else [block for _, block in prior.blocks]
    return {type(block) for block in blocks}


def number_of_cases(tables):
    """Return class -> number of cases in which it occurs."""
    return Counter(kind for table in tables for case in table for kind in kinds_of(case.prior))


TABLES = (CASES, test_regions.CASES, test_worst_case.CASES)


@pytest.mark.parametrize("name", public_blocks())
def test_every_block_has_two_cases(name):
    found = number_of_cases(TABLES)[public_blocks()[name]]
    assert found >= 2, (
        f"{name} has {found} cases of bad parameters. Add some to test_blocks.py, test_regions.py or "
        "test_worst_case.py of this folder: wrong types, shapes, NaN, unknown columns or classes."
    )


def test_missing_cases_are_noticed():
    assert {"Box", "ClassCosts", "Trajectories"} <= set(public_blocks())
    assert not {"Knowledge", "RBF", "Shift"} & set(public_blocks())
    one = Case("one", InvalidInput, [], ClassCosts({}) + ClassCosts({}).named("again") + OddnessHint())
    assert number_of_cases([[one], [one]]) == {ClassCosts: 2, OddnessHint: 2}


def test_names_of_cases_differ_between_tables():
    names = Counter(case.name for table in TABLES for case in table)
    assert max(names.values()) == 1
