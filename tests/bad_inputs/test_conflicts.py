"""Hard blocks in conflict, and objectives without a lower bound."""

import re

import cvxpy as cp
import pytest

from priorsvm import ClassCosts, Knowledge, OddnessHint, PriorSVC, Terms
from priorsvm.errors import Infeasible, SolverFailed, Unbounded
from tests.bad_inputs.cases import WORDS, X, Y


class Own(Knowledge):
    """A block whose terms are those of a function of f."""

    def __init__(self, make, mu=1.0):
        self.make = make
        self.mu = mu

    def build(self, f, view):
        return self.make(f)


class AtLeast(Knowledge):
    """The constraint f(point) >= value."""

    def __init__(self, point, value):
        self.point = point
        self.value = value

    def build(self, f, view):
        return Terms(constraints={"low": f([self.point]) >= self.value})


class AtMost(AtLeast):
    """The constraint f(point) <= value."""

    def build(self, f, view):
        return Terms(constraints={"high": f([self.point]) <= self.value})


TUMOUR = AtLeast([0.0, 0.0], 1.0).named("tumour")
BENIGN = AtMost([0.0, 0.0], -1.0).named("benign")
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
        "(removing any one restores feasibility). Leave one out, or require less."
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
        def build(self, f, view):
            at = f([self.point])
            return Terms(constraints={"low": at >= 1, "high": at <= -1})

    with pytest.raises(Infeasible, match=r"conflict: 'both' \(removing it restores feasibility\)"):
        PriorSVC(Both([0.0, 0.0], 0.0) + INNOCENT).fit(X, Y)


def test_a_conflict_in_one_of_several_classes():
    prior = AtLeast([0.0, 0.0], 1.0).named("tumour") + AtMost([0.0, 0.0], -1.0).named("benign")
    with pytest.raises(Infeasible, match="'tumour' and 'benign'"):
        PriorSVC(prior).fit(X, WORDS)


@pytest.mark.parametrize("solver", ["PIQP", "QOCO"])
def test_a_verdict_that_cannot_be_trusted_is_not_given(solver):
    pytest.importorskip(solver.lower())
    with pytest.raises(SolverFailed, match=solver):
        PriorSVC(TUMOUR + BENIGN, solver=solver).fit(X, Y)


def test_a_failed_solver_is_not_suggested_again(monkeypatch):
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
