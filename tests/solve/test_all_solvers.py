"""Every further solver of CVXPY that is installed: right answers, or errors in the words of the solver.

``make solvers`` installs the extra ``solvers-all`` and runs this file. Without it most tests are skipped.
"""

import json
import re
import subprocess
import sys
from functools import cache
from importlib.metadata import requires
from pathlib import Path

import pytest

from priorsvm.solve.further import PACKAGES, WITHOUT_DUALS, facts
from priorsvm.solve.registry import further_routes
from priorsvm.solve.solvers import available
from tests.solve.one_solver import fit

# Relative error of an objective at the default tolerances of a solver: two are first-order methods.
ACCURACY = 1e-6
FIRST_ORDER = {"DIFFCP": 1e-4, "MPAX": 1e-4}

# (solver, model) -> words of the error, if the solver has no answer.
FAILURES = {
    ("PROXQP", "LP"): "could not confirm",  # "infeasible", for a feasible problem
    ("GLOP", "LP"): "undefined symbol",  # its library clashes with the library of highspy
    ("PDLP", "LP"): "undefined symbol",
    ("CVXOPT", "SDP batch"): "",  # with CVXPY 1.9: several cones in one constraint
    ("SDPA", "SDP batch"): "",
}

# Solvers that require a licence; some have one for small problems in their package.
COMMERCIAL = ("COPT", "CPLEX", "GUROBI", "KNITRO", "MOSEK", "XPRESS")
LICENCE = r"(?i)licen[cs]e|size limit|too many rows|KN_new\(\) is -520"

# A test of these takes more than a second in a plain environment.
SLOW = ("ECOS_BB", "SCIPY")


def run(solver, *arguments):
    """Return what a process of its own prints."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("one_solver.py")), solver, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@cache
def optimum(name):
    return fit(name, "CLARABEL")["objective"]


def require(solver):
    if solver not in available():
        pytest.skip(f"{solver} is not installed")


@pytest.mark.parametrize(
    "solver",
    [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in sorted(PACKAGES)],
)
def test_answers_are_right_and_errors_explained(solver):
    require(solver)
    found = run(solver)
    infeasible = found.pop("LP infeasible")
    assert infeasible["error"] in ("Infeasible", "SolverFailed")
    if infeasible["error"] == "Infeasible":
        assert "'opposed'" in infeasible["message"]
    for name, answer in found.items():
        check(solver, name, answer)


def check(solver, name, answer):
    """Compare one answer with the optimum, or one error with the expected words."""
    problem_class = name.split()[0]
    if problem_class not in further_routes()[solver].solves:
        assert answer["error"] == "SolverUnsuited"
        assert f"{solver} cannot solve this {problem_class}" in answer["message"]
    elif (solver, name) in FAILURES:
        assert answer["error"] == "SolverFailed"
        assert FAILURES[solver, name] in answer["message"]
    elif "error" in answer:
        assert solver in COMMERCIAL, (name, answer)
        assert answer["error"] == "SolverFailed"
        assert re.search(LICENCE, answer["message"]), (name, answer)
    else:
        assert (answer["solver"], answer["status"]) == (solver, "optimal"), name
        accuracy = FIRST_ORDER.get(solver, ACCURACY)
        assert answer["objective"] == pytest.approx(optimum(name), rel=accuracy), name


@pytest.mark.parametrize("solver", sorted(set(WITHOUT_DUALS) & set(facts())))
def test_classes_without_dual_variables_are_without_them(solver):
    """A version of CVXPY that returns them makes an entry of the table superfluous."""
    require(solver)
    found = run(solver, "--without-table")
    for name, answer in found.items():
        if name.split()[0] in WITHOUT_DUALS[solver] and name != "EXP":
            assert answer["error"] in ("SolverFailed", "SolverUnsuited"), name


def test_packages_are_those_of_cvxpy():
    extras = {}
    for requirement in requires("cvxpy"):
        package, marker, extra = requirement.partition("; extra == ")
        if marker:
            solver = extra.strip("\"'").upper().replace("-", "_")
            extras[solver] = re.match(r"[\w-]+", package)[0].lower()
    shared = set(extras) & set(PACKAGES)
    assert len(shared) >= 10
    assert {name: extras[name] for name in shared} == {name: PACKAGES[name] for name in shared}
