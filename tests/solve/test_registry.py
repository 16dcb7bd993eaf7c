"""The registry: one table of all routes."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import priorsvm
from priorsvm.errors import InvalidInput
from priorsvm.solve import further, solvers
from priorsvm.solve.classes import CLASSES
from priorsvm.solve.registry import (
    canonical,
    check_options,
    check_solver,
    find_route,
    further_routes,
    registry,
    selectable,
)
from priorsvm.solve.route import Route
from priorsvm.solve.routes.weighted_route import WeightedRoute


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
WEIGHTED = {name: 1e-4 for name, route in registry().items() if isinstance(route, WeightedRoute)}
ACCURACY = {
    **WEIGHTED,
    "ROWS": 1e-6,
    "COLUMNS": 1e-5,
    "CONES": 1e-5,
    "CENTRES": 1e-6,
    "CHUNKS": 1e-5,
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


ROOT = Path(__file__).parents[2]
THIS = "tests/solve/test_registry.py"


def section(page, heading):
    """Return the text of a page of the guide below a heading, up to the next one."""
    text = (ROOT / "docs/guide" / page).read_text(encoding="utf-8")
    found = re.search(rf"^#+ {re.escape(heading)}$(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"docs/guide/{page} has no heading {heading}."
    return found[1]


def unnamed(routes):
    """Return which routes have to be named, and where."""
    own = [route.name for route in routes.values() if route.kind and route.selectable]
    weighted = [name for name in own if isinstance(routes[name], WeightedRoute)]
    places = [
        ("CHANGELOG.md", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), own),
        ("docs/guide/solvers.md, section tol: the tolerance", section("solvers.md", "`tol`"), own),
        ("docs/guide/routes.md, Weighted SVMs: the method", section("routes.md", "Weighted SVMs"), weighted),
    ]
    return [
        f"Name {name} in {where}."
        for where, text, names in places
        for name in names
        if not re.search(rf"\b{name}\b", text)
    ]


def test_pages_name_every_route_for_one_kind_of_problem():
    assert not unnamed(registry()), "\n".join(unnamed(registry()))


def is_derived(route):
    """Whether a route is made from CVXPY's tables, and so differs between installations."""
    return bool(route.solves) and route.name not in solvers.SOLVERS


def check_accuracies(routes):
    """Every route of the library is in ACCURACY, and a route made from CVXPY's tables is not trusted more."""
    for name, route in routes.items():
        assert route.accuracy(1.0) in (1.0, 10.0, np.inf), f"{name}: factor must be 1, 10 or inf."
        if is_derived(route):
            assert 1e-5 <= route.accuracy(1e-6) <= 1e-2, name
        else:
            assert name in ACCURACY, f"Add {name} to ACCURACY of {THIS}, with its residual at tol=1e-6."
            assert route.accuracy(1e-6) == ACCURACY[name], name


def test_accepted_residuals():
    check_accuracies(registry())
    own = [name for name, route in registry().items() if not is_derived(route)]
    assert list(ACCURACY) == own, f"ACCURACY has another order than registry(), which is {own}."


class NewRoute(Route):
    kind = "new"
    factor = 1.0
    floor = 1e-3


def test_a_route_without_an_accepted_residual_is_noticed():
    new = NewRoute()
    new.name = "NEW"
    with pytest.raises(AssertionError, match="Add NEW to ACCURACY"):
        check_accuracies({"NEW": new})
    new.solves = frozenset({"LP"})  # as if derived from CVXPY's tables
    check_accuracies({"NEW": new})
    new.floor = 0.1
    with pytest.raises(AssertionError, match="NEW"):
        check_accuracies({"NEW": new})
    new.factor = 2.0
    with pytest.raises(AssertionError, match="NEW: factor must be 1, 10 or inf"):
        check_accuracies({"NEW": new})


def test_a_route_that_no_page_names_is_noticed():
    new = NewRoute()
    new.name = "NEW"
    assert [words.split()[:4] for words in unnamed({"NEW": new})] == [
        ["Name", "NEW", "in", "CHANGELOG.md."],
        ["Name", "NEW", "in", "docs/guide/solvers.md,"],
    ]
    new.selectable = False
    assert not unnamed({"NEW": new})


class CheckedRoute(NewRoute):
    name = "CHECKED"
    takes = ("steps",)

    def check_values(self, options):
        if options.get("steps", 1) < 1:
            raise InvalidInput("steps must be positive.")


def test_names_of_options_are_checked_before_their_values():
    route = CheckedRoute()
    route.check_options({"steps": 3})
    with pytest.raises(InvalidInput, match="steps must be positive"):
        route.check_options({"steps": 0})
    with pytest.raises(
        InvalidInput, match=r"CHECKED does not take these solver_options: stops\. It takes: steps"
    ):
        route.check_options({"stops": 3})


def test_every_route_refuses_unknown_options():
    for name, route in registry().items():
        assert type(route).check_options is Route.check_options, f"{name}: override check_values instead."
        if route.takes is not None:
            with pytest.raises(InvalidInput, match=f"{name} .*nonsense"):
                route.check_options({"nonsense": 1})


def test_a_weighted_svm_is_held_to_tol_while_another_route_can_follow():
    assert registry()["LIBSVM"].accuracy(1e-6, final=False) == pytest.approx(1e-5)
    assert registry()["CLARABEL"].accuracy(1e-9, final=False) == 1e-5


def test_solvers_are_the_routes_of_whole_classes():
    known = priorsvm.solvers()
    assert [name for name, facts in known.items() if facts.measured] == list(solvers.SOLVERS)
    assert [name for name, facts in known.items() if not facts.measured] == list(further_routes())
    for name, facts in known.items():
        route = find_route(name)
        assert facts.installed == (name in {*solvers.available(), "SCHUR"})
        assert set(facts.solves) == route.solves
        assert (facts.certifies, facts.accuracy) == (route.certifies, route.accuracy(0.0))


def test_installed_solvers_of_a_class_are_those_that_auto_can_use():
    for problem_class in CLASSES:
        measured = {n: facts for n, facts in priorsvm.solvers().items() if facts.measured}
        able = [n for n, facts in measured.items() if facts.installed and problem_class in facts.solves]
        assert able == solvers.able(problem_class)


def test_what_pip_calls_a_solver():
    assert priorsvm.solvers()["HIGHS"].package == "highspy"
    assert priorsvm.solvers()["QOCO"].package == "qoco"
    assert priorsvm.solvers()["SCHUR"].package == "priorsvm"
    assert priorsvm.solvers()["GUROBI"].package == "gurobipy"
    assert priorsvm.solvers()["SDPA"].package == "sdpa-python"


def test_every_selectable_name_is_accepted():
    for name in selectable():
        if name == "auto" or registry()[name].installed():
            check_solver(name)
    with pytest.raises(InvalidInput, match=r"InvariantLoss\(method='pegasos'\)"):
        check_solver("pegasos")
    with pytest.raises(InvalidInput, match="Did you mean 'LIBSVM'"):
        check_solver("LIBSWM")
    with pytest.raises(InvalidInput, match="Did you mean 'CLARABEL'"):
        check_solver("clarbel")  # and not CUCLARABEL


def test_options_by_name_require_a_list():
    check_options(["LIBSVM", "SCS"], {"SCS": {"eps_abs": 1e-9}})
    with pytest.raises(InvalidInput, match="require a list of solvers"):
        check_options("auto", {"ROWS": {}})


def test_options_by_name_in_any_case():
    check_options(["libsvm", "Scs"], {"scs": {"eps_abs": 1e-9}})
    check_options(["CLARABEL"], {"clarabel": {"max_iter": 9}})
    with pytest.raises(InvalidInput, match="require a list of solvers"):
        check_options("auto", {"clarabel": {}})
    with pytest.raises(InvalidInput, match="options of SCS are given twice"):
        check_options(["SCS", "ECOS"], {"scs": {}, "SCS": {}})
    with pytest.raises(InvalidInput, match="'ecos' must be a solver of the list"):
        check_options(["SCS", "CLARABEL"], {"ecos": {}})


def test_an_option_may_have_the_name_of_a_solver():
    """GLPK has an option ``glpk``, and solvers may have options such as ``rows``."""
    check_options("GLPK", {"glpk": {"msg_lev": "GLP_MSG_OFF"}})
    check_options("PROXQP", {"sparse": True, "rows": 3})
    with pytest.raises(InvalidInput, match="require a list of solvers"):
        check_options("SCIPY", {"glpk": {}})


def test_names_in_any_case():
    assert canonical("Auto") == "auto"
    assert canonical("clarabel") == canonical("Clarabel") == "CLARABEL"
    assert canonical(["libsvm", "scipy"]) == ["LIBSVM", "SCIPY"]
    for solver in ("AUTO", "libsvm", "Ecos_bb", ["scipy", "Clarabel"]):
        check_solver(solver)
    with pytest.raises(InvalidInput, match="'auto' cannot be part of a list"):
        check_solver(["Auto", "SCS"])


def test_the_further_solvers_are_all_others_of_cvxpy():
    import cvxpy as cp

    assert not set(further_routes()) & set(registry())
    known = {*registry(), *further_routes(), *further.NONLINEAR, *further.WITHOUT_DUALS}
    assert set(cp.installed_solvers()) <= known
    assert {"SCIPY", "ECOS_BB"} <= set(further_routes())
    assert not set(further_routes()) & {"CBC", "GLPK_MI", "IPOPT", "UNO"}


@pytest.mark.parametrize(
    ("name", "solves"),
    [
        ("SCIPY", {"LP"}),
        ("GLPK", {"LP"}),
        ("DAQP", {"LP", "QP"}),
        ("PROXQP", {"LP", "QP"}),
        ("GUROBI", {"LP", "QP", "SOCP"}),
        ("ECOS_BB", {"LP", "QP", "SOCP", "EXP"}),
        ("CVXOPT", {"LP", "QP", "SOCP", "SDP"}),
        ("SDPA", {"LP", "QP", "SOCP", "SDP"}),
        ("COPT", {"LP", "QP"}),
        ("SCIP", {"LP"}),
        ("XPRESS", {"LP", "QP"}),
    ],
)
def test_problem_classes_of_further_solvers(name, solves):
    assert further_routes()[name].solves == solves


def test_derived_classes_of_known_solvers_contain_the_measured_ones():
    from priorsvm._utils.foreign import solver_interfaces

    interfaces = solver_interfaces()
    for name in set(solvers.SOLVERS) - {"SCHUR"}:
        derived = further.classes(interfaces[name])
        assert derived == solvers.SOLVERS[name].solves or name == "HIGHS"
    assert further.classes(interfaces["HIGHS"]) == {"LP", "QP"}


def test_facts_of_further_solvers():
    for route in further_routes().values():
        assert not route.certifies
        assert route.accuracy(1e-6) == 1e-3
        assert route.note
        assert route.takes is None


def test_a_further_solver_is_reported_by_its_name():
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = X[:, 0] > 0.1
    model = priorsvm.PriorSVC(solver="scipy", norm="l1").fit(X, y)
    right = priorsvm.PriorSVC(solver="HIGHS", norm="l1").fit(X, y)
    assert model.solver_ == "SCIPY"
    assert model.solver == "scipy"
    assert model.objective_ == pytest.approx(right.objective_, rel=1e-9)
    listed = priorsvm.PriorSVC(solver=["scipy", "Clarabel"], solver_options={"clarabel": {"max_iter": 60}})
    assert listed.fit(X, y).solver_ == "CLARABEL"


def test_options_of_a_further_solver_are_passed_on():
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = priorsvm.PriorSVC(solver="SCIPY", norm="l1")
    model.set_params(solver_options={"scipy_options": {"method": "highs-ipm"}}).fit(X, X[:, 0] > 0.1)
    assert model.status_ == "optimal"
    model.set_params(solver_options={"scipy_options": {"method": "nonsense"}})
    with pytest.raises(InvalidInput, match="SCIPY does not take these solver_options"):
        model.fit(X, X[:, 0] > 0.1)


def test_the_registry_does_not_import_cvxpy():
    steps = [
        "from priorsvm.solve.registry import registry; registry()",
        "from priorsvm import PriorSVC; PriorSVC(kernel='rbf').fit([[0.0], [1.0]], [0, 1])",
        "PriorSVC(solver='libsvm').fit([[0.0], [1.0]], [0, 1])",
    ]
    code = "import sys\n" + "".join(f"{step}\nprint('cvxpy' in sys.modules)\n" for step in steps)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.split() == ["False"] * len(steps)
