"""The registry: one table of all routes."""

import subprocess
import sys

import numpy as np
import pytest

import priorsvm
from priorsvm.errors import InvalidInput
from priorsvm.solve import solvers
from priorsvm.solve.classes import CLASSES
from priorsvm.solve.registry import check_options, check_solver, registry, selectable
from priorsvm.solve.route import Route


def test_every_route_has_a_name_and_something_to_solve():
    for name, route in registry().items():
        assert route.name == name
        assert bool(route.solves) != bool(route.kind)
        assert route.solves <= set(CLASSES)
        assert route.note
        assert route.package


def test_every_route_solves_and_has_obstacles_of_its_own():
    for route in registry().values():
        assert type(route).obstacle is not Route.obstacle
        assert type(route).solve is not Route.solve


# The residual that each route is accurate up to, at tol=1e-6.
ACCURACY = {
    "LIBSVM": 1e-4,
    "NORMAL": 1e-4,
    "SPARSE": 1e-4,
    "ROWS": 1e-6,
    "COLUMNS": 1e-5,
    "CENTRES": 1e-6,
    "PEGASOS": np.inf,
    "CLARABEL": 1e-5,
    "HIGHS": 1e-5,
    "ECOS": 1e-4,
    "SCS": 1e-3,
    "OSQP": 1e-3,
    "PIQP": 1e-5,
    "QOCO": 1e-5,
    "SCHUR": 1e-5,
}


def is_derived(route):
    """Whether a route is made from CVXPY's tables, and so differs between installations."""
    return bool(route.solves) and route.name not in solvers.SOLVERS


def check_accuracies(routes):
    """Every route of the library is in ACCURACY, and a route made from CVXPY's tables is not trusted more."""
    for name, route in routes.items():
        assert route.accuracy(1.0) in (1.0, 10.0, np.inf)
        if is_derived(route):
            assert 1e-5 <= route.accuracy(1e-6) <= 1e-2, name
        else:
            assert name in ACCURACY, f"Add {name} to ACCURACY, with its residual at tol=1e-6."
            assert route.accuracy(1e-6) == ACCURACY[name], name


def test_accepted_residuals():
    check_accuracies(registry())
    assert list(ACCURACY) == [name for name, route in registry().items() if not is_derived(route)]


class NewRoute(Route):
    kind = "new"
    factor = 1.0
    floor = 1e-3


def test_a_route_without_an_accepted_residual_is_noticed():
    new = NewRoute()
    new.name = "NEW"
    with pytest.raises(AssertionError, match="Add NEW to ACCURACY"):
        check_accuracies({**registry(), "NEW": new})
    new.solves = frozenset({"LP"})  # as if derived from CVXPY's tables
    check_accuracies({"NEW": new})
    new.floor = np.inf
    with pytest.raises(AssertionError):
        check_accuracies({"NEW": new})


def test_a_weighted_svm_is_held_to_tol_while_another_route_can_follow():
    assert registry()["LIBSVM"].accuracy(1e-6, final=False) == pytest.approx(1e-5)
    assert registry()["CLARABEL"].accuracy(1e-9, final=False) == 1e-5


def test_solvers_are_the_routes_of_whole_classes():
    known = priorsvm.solvers()
    assert list(known) == list(solvers.SOLVERS)
    for name, facts in known.items():
        route = registry()[name]
        assert facts.installed == (name in solvers.installed())
        assert set(facts.solves) == route.solves
        assert (facts.certifies, facts.accuracy) == (route.certifies, route.accuracy(0.0))


def test_installed_solvers_of_a_class_are_those_that_auto_can_use():
    for problem_class in CLASSES:
        able = [
            n for n, facts in priorsvm.solvers().items() if facts.installed and problem_class in facts.solves
        ]
        assert able == solvers.able(problem_class)


def test_what_pip_calls_a_solver():
    assert priorsvm.solvers()["HIGHS"].package == "highspy"
    assert priorsvm.solvers()["QOCO"].package == "qoco"
    assert priorsvm.solvers()["SCHUR"].package == "priorsvm"


def test_every_selectable_name_is_accepted():
    for name in selectable():
        if name == "auto" or registry()[name].installed():
            check_solver(name)
    with pytest.raises(InvalidInput, match=r"InvariantLoss\(method='pegasos'\)"):
        check_solver("pegasos")
    with pytest.raises(InvalidInput, match="Did you mean 'LIBSVM'"):
        check_solver("LIBSWM")


def test_options_by_name_require_a_list():
    check_options(["LIBSVM", "SCS"], {"SCS": {"eps_abs": 1e-9}})
    with pytest.raises(InvalidInput, match="require a list of solvers"):
        check_options("auto", {"ROWS": {}})


def test_the_registry_does_not_import_cvxpy():

    code = (
        "import sys; from priorsvm.solve.registry import registry; registry(); print('cvxpy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "False"
