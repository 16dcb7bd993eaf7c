"""Deadline: shares, steps, evaluations of f, and time limits of solvers."""

import pickle
import time
from math import inf

import numpy as np
import pytest

from priorsvm import RBF
from priorsvm._utils.deadline import NEVER, Deadline, limited
from priorsvm.errors import OutOfTime
from priorsvm.function.fitted import FittedKernel, FittedLinear
from priorsvm.solve.solvers import SOLVERS


def passed() -> Deadline:
    return Deadline(time.time() - 1.0, 2.0)


def test_a_deadline_without_seconds_never_passes():
    assert Deadline.after(None) == NEVER
    assert NEVER.left == inf
    assert not NEVER.passed
    assert NEVER.part(0.5) is NEVER
    assert list(NEVER.steps(3)) == [0, 1, 2]
    NEVER.check()


def test_a_deadline_passes_and_says_how_many_seconds_were_given():
    late = passed()
    assert late.passed
    assert late.left == 0.0
    with pytest.raises(OutOfTime, match=r"no answer within max_seconds=2\. Raise max_seconds"):
        late.check()


def test_the_first_step_is_taken_and_later_steps_are_not():
    assert list(passed().steps(5)) == [0]


def test_a_part_is_a_share_of_the_time_that_is_left():
    half = Deadline.after(100.0).part(0.5)
    assert 49.0 < half.left <= 50.0
    assert half.seconds == 100.0


def test_a_worker_has_the_same_end():
    deadline = Deadline.after(3.0)
    assert pickle.loads(pickle.dumps(deadline)).end == deadline.end


@pytest.mark.parametrize(
    "f",
    [
        FittedLinear(0.0, np.ones(2)),
        FittedKernel(0.0, RBF(1.0), np.zeros((1, 2)), np.ones(1)),
    ],
    ids=["linear", "kernel"],
)
def test_evaluations_of_f_end_at_the_deadline_inside_the_context_only(f):
    Z = np.zeros((3, 2))
    with limited(f, passed()), pytest.raises(OutOfTime):
        f.value(Z)
    assert f.value(Z).shape == (3,)


def test_gradients_of_f_end_at_the_deadline():
    f = FittedKernel(0.0, RBF(1.0), np.zeros((1, 2)), np.ones(1))
    with limited(f, passed()), pytest.raises(OutOfTime):
        f.values_and_gradients(np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("CLARABEL", "time_limit"),
        ("HIGHS", "time_limit"),
        ("SCS", "time_limit_secs"),
        ("OSQP", "time_limit"),
        ("SCHUR", "time_limit"),
    ],
)
def test_solvers_receive_the_time_that_is_left(name, option):
    assert SOLVERS[name].within(NEVER) == {}
    assert 4.0 < SOLVERS[name].within(Deadline.after(5.0))[option] <= 5.0
    with pytest.raises(OutOfTime):
        SOLVERS[name].within(passed())


def test_a_solver_without_an_option_receives_none():
    assert SOLVERS["ECOS"].within(Deadline.after(5.0)) == {}
