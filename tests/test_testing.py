"""check_knowledge lets lawful blocks pass and catches, law by law, those that are not."""

import re
from dataclasses import replace
from itertools import chain, count, repeat
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest

from priorsvm import (
    ClassCosts,
    Completes,
    Formulas,
    Iterative,
    Knowledge,
    OddnessHint,
    SampleCosts,
    Scores,
    Shift,
    Step,
    Terms,
    VirtualSupportVectors,
    check_knowledge,
)
from priorsvm.errors import InvalidInput, InvalidType, MissingCapability, PriorSVMError
from priorsvm.testing import LawBroken, _same

rng = np.random.default_rng(0)
X = rng.normal(size=(16, 2))
y = (X[:, 0] + 0.5 * rng.normal(size=16) > 0).astype(int)

ALWAYS = {
    "a block does something",
    "the constructor stores its arguments and does nothing else",
    "clone and pickle keep the parameters",
    "repr names the class",
    "prepare leaves the rows it is given as they are",
    "prepare only adds and reweights rows",
    "prepares names what prepare does",
    "prepare is deterministic",
    "build returns Terms",
    "every constraint is in the problem",
    "the problem is DPP",
    "the problem can be solved",
    "fit leaves the block as it was",
    "fit leaves the data as they were",
    "the answer satisfies KKT",
    "contributions sum to the objective",
    "formulation() can be written",
    "CLARABEL and PIQP agree",
    "weight 0 disables the block",
    "the order of the rows has no effect",
    "the linear model is the kernel model with a linear kernel",
}
PENALTIES = {
    "penalties are scalar expressions",
    "penalties are named after parameters",
    "penalties are free of cvxpy parameters",
    "penalties are convex",
    "penalties are nonnegative",
    "the assembler weighs penalties, not the block",
    "violation does not grow with the weight",
    "a path over a weight is the same as separate fits",
}


class Level(Knowledge):
    "mu * mean of (f - value)^2 at the training rows: lawful, and the base of those that are not."

    def __init__(self, value=0.5, mu=1.0):
        self.value, self.mu = value, mu

    def build(self, f, view):
        X = view.sample.X_train
        return Terms({"mu": cp.sum_squares(f(X) - self.value) / len(X)})


class Rows(Knowledge):
    "Doubles the cost of every row: lawful."

    prepares = "reweights"

    def prepare(self, sample, state):
        return sample.with_factor(np.full(sample.n_train, 2.0))


class Ceiling(Knowledge):
    "f <= 2 at the training rows: lawful, and hard."

    def build(self, f, view):
        return Terms({}, {"ceiling": f(view.sample.X_train) <= 2.0})


class Hinge(Knowledge):
    "mu * sum t with t >= f - 0.5: lawful, its slack bounded by a constraint and not by a declaration."

    def __init__(self, mu=1.0):
        self.mu = mu

    def build(self, f, view):
        X = view.sample.X_train
        t = cp.Variable(len(X))
        return Terms({"mu": cp.sum(t)}, {"above": f(X) - 0.5 <= t, "sign": t >= 0})


class Elsewhere(Level):
    "mu * sum of f^2 at points that are not rows: lawful."

    def build(self, f, view):
        return Terms({"mu": cp.sum_squares(f(view.sample.X_train + 0.5))})


class LinearOnly(Level):
    "Uses the weights of a linear model."

    def build(self, f, view):
        terms = super().build(f, view)
        return Terms(terms.penalties, {"bounded": f.coef <= 100.0})


class Iterates(Iterative, Level):
    "Lowers its value once: lawful."

    def start(self, sample):
        return 1.0

    def build(self, f, view):
        return Terms({"mu": cp.sum_squares(f(view.sample.X_train) - view.state * self.value)})

    def refine(self, f, view):
        return Step(0.5) if view.state == 1.0 else None


# Lawful blocks


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "more"),
    [
        (Level(), PENALTIES),
        (Rows(), {"CLARABEL and HIGHS agree", "violation does not grow with the weight"}),
        (Ceiling(), {"constraints are convex", "CLARABEL and HIGHS agree"}),
        (Hinge(), PENALTIES | {"constraints are convex", "CLARABEL and HIGHS agree"}),
        (Iterates(), PENALTIES | {"refinement ends in a fixed point"}),
        (Elsewhere(), PENALTIES),
    ],
    ids=["penalty", "rows", "hard", "slack", "iterative", "elsewhere"],
)
def test_lawful_blocks_pass_the_laws_that_concern_them(block, more):
    laws = check_knowledge(block, X, y)
    assert set(laws) == ALWAYS | more
    assert len(laws) == len(set(laws))


@pytest.mark.parametrize("block", [None, ClassCosts, 3])
def test_only_blocks_are_checked(block):
    with pytest.raises(InvalidType, match="block must be a Knowledge object"):
        check_knowledge(block)


def test_several_classes_will_do():
    labels = np.array(["a", "b", "c"])[np.arange(16) % 3]
    laws = check_knowledge(ClassCosts({"a": 2.0}), X, labels, kernels=("linear",))
    assert {"contributions sum to the objective", "violation does not grow with the weight"} <= set(laws)


def test_kernels_can_be_left_out():
    laws = check_knowledge(Level(), X, y, kernels=("rbf",))
    assert "the linear model is the kernel model with a linear kernel" not in laws


def test_blocks_that_take_no_weight_are_not_asked_to():
    margins = SampleCosts(margins=np.linspace(0.5, 1.5, 16))
    assert "violation does not grow with the weight" not in check_knowledge(
        margins, X, y, kernels=("linear",)
    )
    local = VirtualSupportVectors(Shift([0.1, 0.0]))
    assert "violation does not grow with the weight" not in check_knowledge(local, X, y, kernels=("linear",))


def test_wrong_arguments_are_no_matter_of_law():
    with pytest.raises(InvalidInput, match="mu must be a nonnegative number"):
        check_knowledge(OddnessHint(mu=-1.0), X, y)
    with pytest.raises(MissingCapability, match=r"requires f\.coef"):
        check_knowledge(LinearOnly(), X, y)
    laws = check_knowledge(LinearOnly(), X, y, kernels=("linear",))
    assert "the linear model is the kernel model with a linear kernel" not in laws


# Blocks that break a law


class Converts(Level):
    def __init__(self, value=0.5, mu=1.0):
        self.value, self.mu = np.asarray(value), mu


class Validates(Level):
    def __init__(self, value=0.5, mu=1.0):
        if mu < 0:
            raise ValueError("mu is negative")
        self.value, self.mu = value, mu


class Prepares(Level):
    def __init__(self, value=0.5, mu=1.0):
        self.value, self.mu = value, mu
        self.cache = {}


class LosesOnPickling(Level):
    def __getstate__(self):
        return {"value": 0.0, "mu": self.mu}


class RoundsInClones(Level):
    def __sklearn_clone__(self):
        values = self.value.copy()
        values[500] = 0.0  # far from what a repr shows
        return RoundsInClones(values, self.mu)


class CannotBePickled(Level):
    def __reduce__(self):
        raise TypeError("cannot be pickled")


class Anonymous(Level):
    def __repr__(self, N_CHAR_MAX=700):
        return "a block"


class WritesIntoRows(Rows):
    def prepare(self, sample, state):
        sample.cost[0] = 5.0
        return sample


class DropsRows(Rows):
    def prepare(self, sample, state):
        return replace(sample, X=sample.X[1:], y=sample.y[1:], cost=sample.cost[1:], margin=sample.margin[1:])


class FlipsLabels(Rows):
    def prepare(self, sample, state):
        return replace(sample, y=-sample.y)


class AddsRows(Rows):
    def prepare(self, sample, state):
        return sample.with_rows(sample.X[:2] + 0.1, sample.y[:2], np.ones(2), np.ones(2))


class ThrowsDice(Rows):
    dice = np.random.default_rng(0)

    def prepare(self, sample, state):
        return sample.with_factor(self.dice.uniform(1.0, 2.0, size=sample.n_train))


class ReturnsADict(Level):
    def build(self, f, view):
        return {"mu": cp.sum_squares(f(view.sample.X_train))}


class ReturnsAVector(Level):
    def build(self, f, view):
        return Terms({"mu": cp.square(f(view.sample.X_train))})


class ReturnsANumber(Level):
    def build(self, f, view):
        return Terms({"mu": 1.0})


class WeighsByAnotherName(Level):
    scale = 2.0

    def build(self, f, view):
        return Terms({"scale": cp.sum_squares(f(view.sample.X_train))})


class WeighsItself(Level):
    def build(self, f, view):
        weight = cp.Parameter(nonneg=True, value=2.0)
        return Terms({"mu": weight * cp.sum_squares(f(view.sample.X_train))})


class Nonconvex(Level):
    def build(self, f, view):
        return Terms({"mu": cp.sqrt(cp.sum(cp.square(f(view.sample.X_train)) + 1))})


class NonconvexConstraint(Level):
    def build(self, f, view):
        return Terms({}, {"far": cp.square(f(view.sample.X_train)) >= 1})


class NoConstraint(Level):
    def build(self, f, view):
        return Terms({}, {"always": True})


class Negative(Level):
    def build(self, f, view):
        return Terms({"mu": cp.sum_squares(f(view.sample.X_train)) - 0.1})


class UnboundedBelow(Level):
    def build(self, f, view):
        return Terms({"mu": cp.sum(f(view.sample.X_train))})


class TwoLabels(Ceiling):
    def build(self, f, view):
        once = f(view.sample.X_train) <= 2.0
        return Terms({}, {"ceiling": once, "again": once})


class NotParametrised(Ceiling):
    def build(self, f, view):
        p, q = cp.Parameter(nonneg=True, value=1.0), cp.Parameter(nonneg=True, value=0.5)
        return Terms({}, {"ceiling": (p * q) * f(view.sample.X_train) <= 2.0})


class Contradicts(Level):
    def build(self, f, view):
        first = f(view.sample.X_train[:1])
        return Terms({}, {"high": first >= 1.0, "low": first <= -1.0})


class Remembers(Level):
    def build(self, f, view):
        self.solved = f
        return super().build(f, view)


class Counts(Level):
    def build(self, f, view):
        self.value[600] += 1.0
        return Terms({"mu": cp.sum_squares(f(view.sample.X_train)) / 10})


class Scales(Level):
    def validate(self, sample):
        sample.X[:] = sample.X / np.abs(sample.X).max()


HELD = []


class Tampers(Iterative, Level):
    def build(self, f, view):
        t = cp.Variable(nonneg=True)
        HELD.append(t)
        return Terms({"mu": cp.square(t - 1.0)})

    def refine(self, f, view):
        HELD[-1].value = 3.0


class ChangesItsStateInPlace(Iterative, Rows):
    def start(self, sample):
        return np.ones(sample.n_train)

    def prepare(self, sample, state):
        return sample.with_factor(state)

    def refine(self, f, view):
        view.state[:] = 2.0


class NeverEnds(Iterative, Rows):
    def start(self, sample):
        return 1

    def prepare(self, sample, state):
        return sample.with_factor(np.full(sample.n_train, 1 + 1 / state))

    def refine(self, f, view):
        return Step(view.state + 1)


class Pos(Level):
    "The rows' own loss once more, with the pos that CVXPY hands to some solvers with wrong bounds."

    def build(self, f, view):
        X, y = view.sample.X_train, view.sample.y_train
        return Terms({"mu": cp.sum(cp.pos(1 - cp.multiply(y, X @ f.coef + f.bias)))})


class PosOfTheOneNorm(Pos):
    "The same, but only where the model is a linear programme."

    def build(self, f, view):
        if f.norm == "l1":
            return super().build(f, view)
        t = cp.Variable(view.sample.n_train, nonneg=True)
        X, y = view.sample.X_train, view.sample.y_train
        return Terms({"mu": cp.sum(t)}, {"above": t >= 1 - cp.multiply(y, f(X))})


class IsNeverAbsent(Level):
    def validate(self, sample):
        sample.cost[: sample.n_train // 2] = 3.0


class AimsHigherFromSomeTimeOn(Level):
    aims = chain(repeat(0.5, 5), count(1.0))

    def build(self, f, view):
        X = view.sample.X_train
        return Terms({"mu": cp.sum_squares(f(X) - next(self.aims) * (-1.0) ** np.arange(len(X)))})


class Misspelt(Knowledge):
    "Has no build."

    def __init__(self, mu=1.0):
        self.mu = mu

    def buld(self, f, view):
        return Terms({"mu": cp.sum_squares(f(view.sample.X_train))})


class WritesAnotherTerm(Level):
    formulas = Formulas({"nu": r"\|f\|^2"})


class WeighsTwice(Level):
    def build(self, f, view):
        return Terms({"mu": self.mu * cp.sum_squares(f(view.sample.X_train) - self.value)})


class DependsOnTheModel(Level):
    def build(self, f, view):
        aim = 2.0 if f.linear else -2.0
        return Terms({"mu": cp.sum_squares(f(view.sample.X_train) - aim)})


class DependsOnTheOrder(Level):
    "Speaks about the first rows only."

    def build(self, f, view):
        return Terms({"mu": cp.sum_squares(f(view.sample.X_train[:4]) - 3.0)})


class BoundsAnotherNorm(Knowledge):
    "Has another constraint for large weights, with equal numbers, which a path does not see."

    def __init__(self, mu=1.0):
        self.mu = mu

    def build(self, f, view):
        t = cp.Variable(nonneg=True)
        size = cp.norm1 if self.mu > 2 else cp.norm2
        return Terms({"mu": t}, {"most": size(f(view.sample.X_train)) <= 1.0 + t})


class AtLeast(Knowledge):
    "f is at least 0.5 at the first rows: lawful, with a formula for each form."

    formulas = Formulas({"mu": r"\sum_p s_p", "level": r"f(x_p) \ge 0.5", "soft": r"f(x_p) \ge 0.5 - s_p"})
    soft = "soft"

    def __init__(self, mu=1.0, hard=False):
        self.mu = mu
        self.hard = hard

    def build(self, f, view):
        value = f(view.sample.X_train[view.sample.y_train > 0][:3])
        if self.hard:
            return Terms(constraints={"level": value >= 0.5})
        s = cp.Variable(3, nonneg=True)
        return Terms({"mu": cp.sum(s)}, {self.soft: value + s >= 0.5})


class OneLabelForTwoForms(AtLeast):
    "Has a slack in the soft form, which its formula does not show."

    formulas = Formulas({"mu": r"\sum_p s_p", "level": r"f(x_p) \ge 0.5"})
    soft = "level"


class WithoutAFormula(OneLabelForTwoForms):
    "Has one label and no formula of it."

    formulas = Formulas()


CONSTRUCTOR = "the constructor stores its arguments and does nothing else"
FORMS = "soft and hard constraints have formulas of their own"
COPIES = "clone and pickle keep the parameters"
MANY = np.zeros(1000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "law"),
    [
        (Misspelt(), "a block does something"),
        (WeighsTwice(mu=3.0), "the assembler weighs penalties, not the block"),
        (Converts(), CONSTRUCTOR),
        (Validates(), CONSTRUCTOR),
        (Prepares(), CONSTRUCTOR),
        (LosesOnPickling(), COPIES),
        (RoundsInClones(np.ones(1000)), COPIES),
        (CannotBePickled(), COPIES),
        (Anonymous(), "repr names the class"),
        (WritesIntoRows(), "prepare leaves the rows it is given as they are"),
        (DropsRows(), "prepare only adds and reweights rows"),
        (FlipsLabels(), "prepare only adds and reweights rows"),
        (AddsRows(), "prepares names what prepare does"),
        (ThrowsDice(), "prepare is deterministic"),
        (ReturnsADict(), "build returns Terms"),
        (ReturnsAVector(), "penalties are scalar expressions"),
        (ReturnsANumber(), "penalties are scalar expressions"),
        (WeighsByAnotherName(), "penalties are named after parameters"),
        (WeighsItself(), "penalties are free of cvxpy parameters"),
        (Nonconvex(), "penalties are convex"),
        (NonconvexConstraint(), "constraints are convex"),
        (NoConstraint(), "constraints are convex"),
        (Negative(), "penalties are nonnegative"),
        (UnboundedBelow(), "penalties are nonnegative"),
        (TwoLabels(), "every constraint is in the problem"),
        (NotParametrised(), "the problem is DPP"),
        (Contradicts(), "the problem can be solved"),
        (Remembers(), "fit leaves the block as it was"),
        (Counts(MANY.copy()), "fit leaves the block as it was"),
        (Scales(), "fit leaves the data as they were"),
        (Tampers(), "the answer satisfies KKT"),
        (ChangesItsStateInPlace(), "contributions sum to the objective"),
        (WritesAnotherTerm(), "formulation() can be written"),
        (OneLabelForTwoForms(), FORMS),
        (OneLabelForTwoForms(hard=True), FORMS),
        (NeverEnds(), "refinement ends in a fixed point"),
        (IsNeverAbsent(), "weight 0 disables the block"),
        (AimsHigherFromSomeTimeOn(), "violation does not grow with the weight"),
        (DependsOnTheOrder(), "the order of the rows has no effect"),
        (BoundsAnotherNorm(), "a path over a weight is the same as separate fits"),
        (DependsOnTheModel(), "the linear model is the kernel model with a linear kernel"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Knowledge) else "",
)
def test_broken_blocks_are_caught(block, law):
    with pytest.raises(LawBroken, match=f"^block '.*' breaks the law '{re.escape(law)}'"):
        check_knowledge(block, X, y)


@pytest.mark.skipif(
    cp.__version__ != "1.9.3", reason="the defect was seen in CVXPY 1.9.3; look again in others"
)
@pytest.mark.parametrize(
    ("block", "law"), [(Pos(), "CLARABEL and PIQP agree"), (PosOfTheOneNorm(), "CLARABEL and HIGHS agree")]
)
def test_pos_of_a_dense_expression_is_caught(block, law):
    with pytest.raises(LawBroken, match=f"breaks the law '{law}'"):
        check_knowledge(block, X, y, kernels=("linear",))


def test_every_law_has_a_block_that_breaks_it():
    [marks] = [m for m in test_broken_blocks_are_caught.pytestmark if m.name == "parametrize"]
    [pos] = [m for m in test_pos_of_a_dense_expression_is_caught.pytestmark if m.name == "parametrize"]
    broken = {law for _, law in [*marks.args[1], *pos.args[1]]}
    known = (
        ALWAYS
        | PENALTIES
        | {
            "constraints are convex",
            "CLARABEL and HIGHS agree",
            "refinement ends in a fixed point",
            FORMS,
        }
    )
    assert broken == known


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("kind", [AtLeast, WithoutAFormula])
def test_soft_and_hard_forms_with_formulas_of_their_own_are_lawful(kind, hard):
    assert FORMS in check_knowledge(kind(hard=hard), X, y, kernels=("linear",))


def test_law_broken_is_an_assertion():
    assert issubclass(LawBroken, AssertionError)
    assert issubclass(LawBroken, PriorSVMError)


# Equal parameters


class Plain:
    def __init__(self, value):
        self.value = value


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (np.arange(3), np.arange(3), True),
        (np.array([np.nan, 1.0]), np.array([np.nan, 1.0]), True),
        (np.arange(3), np.arange(3.0), False),
        (np.arange(3), [0, 1, 2], False),
        (np.array(["a"]), np.array(["a"]), True),
        ({"a": np.ones(2)}, {"a": np.ones(2)}, True),
        ({"a": np.ones(2)}, {"a": np.zeros(2)}, False),
        ({"a": 1}, {"b": 1}, False),
        ([np.ones(2), 3], [np.ones(2), 3], True),
        ([np.ones(2)], [np.ones(2), 3], False),
        (Shift([1.0]), Shift([1.0]), True),
        (Shift([1.0]), Shift([2.0]), False),
        (Plain(np.ones(2)), Plain(np.ones(2)), True),
        (Plain(1), Plain(2), False),
        (1, 1.0, False),
        ("a", "a", True),
    ],
)
def test_sameness_goes_down_to_the_entries(a, b, same):
    assert _same(a, b) is same


def test_sameness_of_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    assert _same(frame, frame.copy())
    assert not _same(frame, frame + 1)


class MeanFill(Completes, Knowledge):
    """Missing values replaced by the means of their columns."""

    def complete(self, X, labels, weight, names=None):
        return SimpleNamespace(X=np.where(np.isnan(X), np.nanmean(X, axis=0), X))


class MeanFillAndScore(Scores, MeanFill):
    """Means for new rows, too."""

    def start(self, sample):
        return np.mean(sample.X_train, axis=0)

    def predict(self, f, X, state=None):
        return f.value(np.where(np.isnan(X), state, X))


@pytest.mark.parametrize("block", [MeanFill(), MeanFillAndScore()])
def test_rows_with_missing_values_are_checked_too(block):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=40) > 0).astype(int)
    whole = check_knowledge(block, X, y)
    X[::7, 1] = np.nan
    assert set(whole) - set(check_knowledge(block, X, y)) == {"weight 0 disables the block"}
