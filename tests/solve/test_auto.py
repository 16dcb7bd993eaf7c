"""What solver="auto" tries, in order, and when it ends."""

from itertools import islice

import numpy as np
import pytest
from scipy.sparse import random_array

from priorsvm import RBF, Box, InvariantLoss, OddnessHint, Shift
from priorsvm._utils.cache import Cache
from priorsvm.errors import SolverFailed
from priorsvm.prior import as_prior
from priorsvm.sample import Sample
from priorsvm.solve import auto
from priorsvm.solve.registry import registry
from priorsvm.solve.route import Problem
from priorsvm.spec import Spec


def problem(prior=None, kernel=None, n=40, d=3, norm="l2", loss="hinge", X=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) if X is None else X
    y = np.arange(X.shape[0]) % 2
    training = Sample.training(X, y, np.array([0, 1]), 1)
    members = list(as_prior(prior))
    states = {member.name: member.block.start(training) for member in members}
    spec = Spec(1.0, kernel, norm, loss, None, None, 1e-6)
    return Problem(spec, members, states, training, training, Cache())


def names(attempts):
    return [attempt.route.name for attempt in attempts]


def test_a_plain_kernel_model_is_tried_without_cvxpy_first():
    plain = problem(kernel=RBF(1.0))
    attempts = list(islice(auto.plan(plain, {}), 3))
    assert names(attempts) == ["LIBSVM", "NORMAL", "LIBSVM"]
    assert attempts[0].options["max_iter"] < attempts[2].options["max_iter"]
    assert not any(attempt.final for attempt in attempts)
    assert plain.assembled is None


def test_many_rows_of_a_kernel_model_end_the_plan(monkeypatch):
    monkeypatch.setattr(auto, "SECOND_TRY_ROWS", 30)
    attempts = list(auto.plan(problem(kernel=RBF(1.0)), {}))
    assert names(attempts) == ["LIBSVM", "NORMAL", "LIBSVM"]
    assert [attempt.final for attempt in attempts] == [False, False, True]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["LIBSVM", "NORMAL"]),
        ({"n": 400}, ["NORMAL"]),
        ({"X": random_array((400, 2500), density=0.01, format="csr", rng=0)}, ["BAND", "SPARSE", "LIBSVM"]),
        ({"X": np.random.default_rng(0).normal(size=(400, 250))}, ["BAND", "NORMAL"]),
        ({"norm": "l1"}, ["CENTRES", "HIGHS"]),
        ({"kernel": RBF(1.0), "loss": "squared_hinge", "n": 120}, ["ROWS"]),
        ({"prior": InvariantLoss(Shift([0.1, 0.0, 0.0])), "kernel": RBF(1.0)}, ["COLUMNS", "CLARABEL"]),
        ({"prior": OddnessHint()}, ["ROWS", "CLARABEL", "SCHUR", "ECOS"]),
        (
            {"prior": Box({0: (1, 2)}, label=1, mu=1.0, holds="everywhere"), "norm": "l1"},
            ["HIGHS", "CLARABEL", "SCHUR", "ECOS"],
        ),
    ],
    ids=str,
)
def test_the_plan_begins_with(given, expected):
    attempts = auto.plan(problem(**given), {})
    assert names(islice(attempts, len(expected))) == expected


def test_large_linear_programmes_start_with_schur(monkeypatch):
    monkeypatch.setitem(auto.SCHUR_NUMBERS, "LP", 0)
    attempts = auto.plan(problem(Box({0: (1, 2)}, label=1, mu=1.0, holds="everywhere"), norm="l1"), {})
    assert names(attempts) == ["SCHUR", "HIGHS", "CLARABEL", "ECOS"]


def test_options_go_to_libsvm_or_to_the_first_cvxpy_solver():
    kernel = list(auto.plan(problem(kernel=RBF(1.0)), {"tol": 1e-4}))
    assert names(kernel)[:2] == ["LIBSVM", "LIBSVM"]
    assert all(attempt.options["tol"] == 1e-4 for attempt in kernel[:2])
    assert kernel[2].options == {}  # LIBSVM has had them
    linear = list(auto.plan(problem(n=400), {"max_iter": 7}))
    assert names(linear) == ["CLARABEL"]
    assert linear[0].options == {"max_iter": 7}


def test_the_first_final_failure_is_raised(monkeypatch):
    for name in ("CLARABEL", "SCHUR", "ECOS"):

        def fail(problem, options, name=name):
            raise SolverFailed(f"{name} has no answer.")

        monkeypatch.setattr(registry()[name], "solve", fail)
    monkeypatch.setattr("priorsvm.solve.routes.point_rows.optimise", lambda *rows, **options: None)
    with pytest.raises(SolverFailed, match="CLARABEL has no answer"):
        auto.solve(problem(OddnessHint()), "auto", None)


def test_a_block_may_require_a_route():
    streamed = problem(InvariantLoss(Shift([0.1, 0.0, 0.0]), method="pegasos"))
    assert auto.required_route(streamed) is registry()["PEGASOS"]
    assert auto.required_route(problem(OddnessHint())) is None
