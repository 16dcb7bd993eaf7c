"""Solvers that are unsuited or not installed, bad options, and too little memory."""

import re

import cvxpy as cp
import pytest
from scipy.sparse import csr_array

from priorsvm import (
    InvariantLoss,
    Kernel,
    Knowledge,
    OddnessHint,
    PriorSVC,
    Shift,
    Terms,
    UncertainSamples,
    VirtualSupportVectors,
)
from priorsvm._utils import foreign
from priorsvm.errors import (
    Infeasible,
    InvalidInput,
    SolverFailed,
    SolverNotInstalled,
    SolverUnsuited,
    TooLarge,
)
from priorsvm.solve import solvers
from priorsvm.solve.registry import registry, selectable
from priorsvm.solve.routes import derived
from tests.bad_inputs.cases import WORDS, HeavyWork, X, Y

SHIFT = Shift([0.1, 0.0])


class Cone(Knowledge):
    """The penalty mu |w|, by a second-order cone."""

    def __init__(self, mu=1.0):
        self.mu = mu

    def build(self, f, view):
        t = cp.Variable(nonneg=True)
        return Terms({"mu": t}, {"cone": cp.SOC(t, f.coef)})


@pytest.mark.parametrize("solver", ["OSQP", "PIQP"])
def test_an_unsuited_solver_names_the_block_and_suited_solvers(solver):
    with pytest.raises(SolverUnsuited) as caught:
        PriorSVC(Cone().named("uncertain") + OddnessHint(), solver=solver).fit(X, Y)
    message = str(caught.value)
    assert f"{solver} cannot solve this SOCP" in message
    assert "block 'uncertain' adds second-order cones" in message
    assert "oddness_hint" not in message
    able = re.search(r"solvers that can: (.*)\.", message).group(1).split(", ")
    assert {"CLARABEL", "SCS", "ECOS"} <= set(able)
    assert solver not in able
    for other in able:
        assert PriorSVC(Cone(), solver=other).fit(X, Y).solver_ == other


def test_highs_is_for_linear_programmes():
    with pytest.raises(SolverUnsuited, match=r"HIGHS cannot solve this QP: the 2-norm model.*CLARABEL"):
        PriorSVC(solver="HIGHS").fit(X, Y)
    with pytest.raises(SolverUnsuited, match=r"block 'oddness_hint' adds a quadratic objective"):
        PriorSVC(OddnessHint(), solver="HIGHS", norm="l1").fit(X, Y)
    assert PriorSVC(solver="HIGHS", norm="l1").fit(X, Y).solver_ == "HIGHS"


def test_highs_and_the_squared_hinge():
    with pytest.raises(SolverUnsuited, match="squared hinge"):
        PriorSVC(solver="HIGHS", norm="l1", loss="squared_hinge").fit(X, Y)


def test_a_solver_that_is_not_installed(monkeypatch, no_heavy_work):
    monkeypatch.setattr(solvers, "installed", lambda: ("CLARABEL", "SCS"))
    with pytest.raises(SolverNotInstalled) as caught:
        PriorSVC(solver="OSQP").fit(X, Y)
    assert str(caught.value) == "solver OSQP is not installed: pip install osqp. Installed: CLARABEL, SCS."


def test_the_package_of_a_solver_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(solvers, "installed", lambda: ("CLARABEL",))
    with pytest.raises(SolverNotInstalled, match="pip install highspy"):
        PriorSVC(solver="HIGHS", norm="l1").fit(X, Y)


# Kind of problem of a route -> a model that it solves.
OF_KIND = {
    "": {"norm": "l1"},
    "weighted SVM": {},
    "1-norm SVM": {"norm": "l1", "kernel": "rbf"},
    "rows of f": {"kernel": "rbf"},
    "linear SVM": {},
    "margins less norms of slopes": {"prior": UncertainSamples(0.1), "kernel": "rbf"},
    "InvariantLoss": {"prior": InvariantLoss(SHIFT)},
}
# Routes that do not solve the model of their kind: another model, and its rows.
OF_ROUTE = {"SPARSE": ({}, csr_array(X))}


# QOCO ignores unknown options, and PEGASOS is selected by its block.
@pytest.mark.parametrize("solver", [name for name in selectable() if name not in ("auto", "QOCO")])
def test_unknown_options_of_a_solver(solver):
    route = registry()[solver]
    if not route.installed():
        pytest.skip(f"{solver} is not installed")
    assert route.kind in OF_KIND, f"Add {route.kind!r} to OF_KIND, with a model that {solver} solves."
    parameters, rows = OF_ROUTE.get(solver, (OF_KIND[route.kind], X))
    model = PriorSVC(solver=solver, solver_options={"nonsense": 3}, **parameters)
    try:
        with pytest.raises(
            InvalidInput, match=f"{solver} (does not take these|takes no) solver_options.*nonsense"
        ):
            model.fit(rows, Y)
    except SolverUnsuited as error:
        pytest.fail(f"Add a model that {solver} solves to OF_ROUTE: {error}")


def test_an_option_of_a_value_that_libsvm_does_not_take():
    with pytest.raises(InvalidInput, match=r"LIBSVM.*solver_options.*max_iter"):
        PriorSVC(solver_options={"max_iter": "many"}).fit(X, Y)


@pytest.mark.parametrize("names", [["LIBSVM"], ["HIGHS", "LIBSVM"]], ids=str)
def test_a_list_of_solvers_of_which_none_can(names):
    with pytest.raises(SolverFailed, match=r"LIBSVM.*'oddness_hint' does more than add or reweight rows"):
        PriorSVC(OddnessHint(), solver=names).fit(X, Y)


def test_a_list_of_solvers_reports_every_error():
    with pytest.raises(SolverFailed) as caught:
        PriorSVC(Cone(), solver=["OSQP", "HIGHS"]).fit(X, Y)
    assert "OSQP: OSQP cannot solve this SOCP" in str(caught.value)
    assert "HIGHS: HIGHS cannot solve this SOCP" in str(caught.value)


def test_a_list_of_solvers_may_end_with_libsvm():
    assert PriorSVC(solver=["HIGHS", "LIBSVM"]).fit(X, Y).solver_ == "LIBSVM"


# -------------------------------------------------------------------------------- further solvers of CVXPY


@pytest.mark.parametrize(
    ("solver", "package"),
    [
        ("MOSEK", "pip install mosek"),
        ("gurobi", "pip install gurobipy"),
        ("Copt", "pip install coptpy"),
        ("XPRESS", "pip install xpress"),
        ("CVXOPT", "pip install cvxopt"),
        ("DAQP", "pip install daqp"),
        ("PROXQP", "pip install proxsuite"),
        ("SDPA", "pip install sdpa-python"),
        ("SCIP", "pip install pyscipopt"),
        ("COSMO", "see the page on solvers of CVXPY"),
    ],
)
def test_a_further_solver_that_is_not_installed(monkeypatch, no_heavy_work, solver, package):
    monkeypatch.setattr(solvers, "available", lambda: frozenset({"CLARABEL"}))
    with pytest.raises(SolverNotInstalled, match=f"^solver {solver.upper()} is not installed: {package}\\. "):
        PriorSVC(solver=solver).fit(X, Y)


@pytest.mark.parametrize(
    ("solver", "reason"),
    [
        ("CBC", "CVXPY returns no dual variables"),
        ("glpk_mi", "CVXPY returns no dual variables"),
        ("IPOPT", "nonlinear problems only"),
        ("uno", "nonlinear problems only"),
    ],
)
def test_a_solver_of_cvxpy_that_cannot_be_used(no_heavy_work, solver, reason):
    with pytest.raises(InvalidInput, match=f"solver '{solver}' cannot be used: .*{reason}"):
        PriorSVC(solver=solver).fit(X, Y)


def test_a_further_solver_for_another_class():
    with pytest.raises(SolverUnsuited, match="SCIPY cannot solve this QP: the 2-norm model has a quadratic"):
        PriorSVC(solver="scipy").fit(X, Y)


class LicenceError(Exception):
    """Exception of a commercial solver."""


@pytest.fixture
def interface():
    """CVXPY's interface to SciPy, which takes the place of a commercial solver."""
    return type(foreign.solver_interfaces()["SCIPY"][0])


def test_a_missing_licence_is_reported_in_the_words_of_the_solver(monkeypatch, interface):
    def refuse(*_, **__):
        raise LicenceError("License cannot be located")

    monkeypatch.setattr(interface, "solve_via_data", refuse)
    with pytest.raises(SolverFailed, match=r"SCIPY broke down: License cannot be located\. Try another"):
        PriorSVC(solver="SCIPY", norm="l1").fit(X, Y)
    assert PriorSVC(solver=["SCIPY", "HIGHS"], norm="l1").fit(X, Y).solver_ == "HIGHS"


@pytest.mark.parametrize("patience", [10.0, -1.0], ids=["repeated", "too slow to repeat"])
def test_a_reason_which_cvxpy_drops(monkeypatch, interface, patience):
    calls = []

    def fail():
        raise LicenceError("Model too large for size-limited license")

    def solve_via_data(self, *_, **__):
        calls.append(1)
        try:
            fail()
        except LicenceError:
            raise cp.SolverError("Solver 'SCIPY' failed. Try another solver, or use verbose.") from None

    monkeypatch.setattr(interface, "solve_via_data", solve_via_data)
    monkeypatch.setattr(derived, "REPEAT_SECONDS", patience)
    with pytest.raises(SolverFailed) as caught:
        PriorSVC(solver="SCIPY", norm="l1").fit(X, Y)
    words = "Model too large for size-limited license."
    assert (words in str(caught.value)) == (len(calls) == 2) == (patience > 0)


def test_an_answer_without_dual_variables(monkeypatch, interface):
    original = interface.invert

    def invert(self, solution, inverse_data):
        found = original(self, solution, inverse_data)
        found.dual_vars = {}
        return found

    monkeypatch.setattr(interface, "invert", invert)
    with pytest.raises(
        SolverFailed, match="SCIPY returned no dual variables, so its answer cannot be judged"
    ):
        PriorSVC(solver="SCIPY", norm="l1").fit(X, Y)


def test_dual_variables_of_a_wrong_sign(monkeypatch, interface):
    original = interface.invert

    def invert(self, solution, inverse_data):
        found = original(self, solution, inverse_data)
        found.dual_vars = {key: -value for key, value in found.dual_vars.items()}
        return found

    monkeypatch.setattr(interface, "invert", invert)
    with pytest.raises(SolverFailed, match="SCIPY reported 'optimal', but the residuals"):
        PriorSVC(solver="SCIPY", norm="l1").fit(X, Y)


def test_infeasible_of_a_further_solver_is_confirmed(monkeypatch):
    class Value(Knowledge):
        """f(0) = value, hard."""

        hard = True

        def __init__(self, value):
            self.value = value

        def build(self, f, view):
            return Terms(constraints={"value": f([[0.0] * X.shape[1]]) == self.value})

    both = Value(1.0).named("one") + Value(2.0).named("two")
    with pytest.raises(Infeasible, match="'one' and 'two'"):
        PriorSVC(both, solver="SCIPY", norm="l1").fit(X, Y)

    def lost(problem, name, **_):
        problem._status = "infeasible" if name == "SCIPY" else "optimal"

    monkeypatch.setattr(solvers, "run", lost)
    with pytest.raises(
        SolverFailed, match="SCIPY reported 'infeasible', and another solver could not confirm"
    ):
        PriorSVC(Value(1.0), solver="SCIPY", norm="l1").fit(X, Y)


# -------------------------------------------------------------------------------- memory


@pytest.fixture
def little_memory(monkeypatch):
    """A computer with 10 kB of memory; a kernel matrix of 30 rows takes 7.2 kB."""
    pages = {"SC_PAGE_SIZE": 1000, "SC_PHYS_PAGES": 10}
    monkeypatch.setattr("os.sysconf", pages.__getitem__)


@pytest.mark.parametrize("solver", ["CLARABEL", "LIBSVM"])
def test_a_kernel_matrix_beyond_memory_is_refused_with_its_size(little_memory, solver):
    class Own(Kernel):
        """A kernel that LIBSVM does not have."""

        definiteness = "psd"

        def _matrix(self, A, B):
            raise HeavyWork

    with pytest.raises(TooLarge, match=r"kernel matrix.*30 x 30 entries.*GiB.*n_centres"):
        PriorSVC(kernel=Own(), solver=solver).fit(X, Y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_what_needs_no_kernel_matrix_is_not_refused(little_memory, kernel):
    assert PriorSVC(kernel=kernel).fit(X, Y).status_ == "optimal"


def test_the_advice_for_little_memory_works(little_memory):
    model = PriorSVC(kernel="rbf", n_centres=5, solver="CLARABEL").fit(X, Y)
    assert len(model.centres_) == 5
    with pytest.raises(TooLarge, match=r"Nyström factor.*30 x 25.*Lower n_centres"):
        PriorSVC(kernel="rbf", n_centres=25, solver="CLARABEL").fit(X, Y)


@pytest.mark.parametrize("y", [WORDS, Y], ids=["three classes", "iterative block"])
def test_a_kernel_matrix_that_is_only_convenient_is_not_refused(little_memory, y):
    prior = VirtualSupportVectors(SHIFT) if y is Y else None
    assert "LIBSVM" in PriorSVC(prior, kernel="rbf").fit(X, y).solver_
