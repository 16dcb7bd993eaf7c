"""Private interfaces of scikit-learn and CVXPY: without them, the public fallback gives the same answer."""

import contextlib
import re
import sys
from importlib import import_module
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, clone
from sklearn.svm import SVC

from priorsvm import OddnessHint, PriorSVC, Rotation, Shift, Translation, UncertainSamples
from priorsvm._utils import foreign
from priorsvm._utils.foreign import (
    NamedParts,
    affine_jacobian,
    check_sample_weight,
    check_svc_options,
    dropped_errors,
    fit_liblinear,
    fit_libsvm,
    private,
    solver_interfaces,
)
from priorsvm.errors import InvalidInput, SolverFailed
from priorsvm.problem.residuals import adjoints
from priorsvm.solve import further
from priorsvm.solve.classes import CLASSES
from priorsvm.solve.registry import further_routes

OPTIONS = {"cache_size": 100, "max_iter": 100_000, "shrinking": True}


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=60) > 0, 1.0, -1.0)
    return X, y


@pytest.fixture
def without(monkeypatch):
    """Make modules impossible to import."""

    def remove(*modules):
        for module in modules:
            monkeypatch.setitem(sys.modules, module, None)

    return remove


def test_this_version_has_the_private_interfaces():
    for module, name in [
        ("sklearn.svm._libsvm", "fit"),
        ("sklearn.svm._libsvm", "set_verbosity_wrap"),
        ("sklearn.svm._liblinear", "train_wrap"),
        ("sklearn.svm._liblinear", "set_verbosity_wrap"),
        ("cvxpy.cvxcore.python.canonInterface", "get_problem_matrix"),
        ("cvxpy.lin_ops.lin_op", "CONSTANT_ID"),
        ("cvxpy.reductions.solvers.defines", "SOLVER_MAP_CONIC"),
        ("cvxpy.reductions.solvers.defines", "SOLVER_MAP_QP"),
    ]:
        assert private(module, name) is not None


def test_what_a_package_does_not_have_is_none(without):
    assert private("sklearn.svm", "no_such_name") is None
    assert private("sklearn.no_such_module", "fit") is None
    without("sklearn.svm._libsvm")
    assert private("sklearn.svm._libsvm", "fit") is None


# ---------------------------------------------------------------------- LIBSVM


@pytest.mark.parametrize(
    "kernel",
    [
        {"kernel": "linear"},
        {"kernel": "rbf", "gamma": 0.3},
        {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0},
        {"kernel": "precomputed"},
    ],
    ids=lambda kernel: kernel["kernel"],
)
def test_svc_instead_of_libsvm(rows, without, kernel):
    X, y = rows
    bound = np.where(np.arange(60) % 7 == 0, 0.1, 1.0 + (y > 0))
    points = X @ X.T if kernel["kernel"] == "precomputed" else X
    a, bias, converged, steps = fit_libsvm(points, y, bound, kernel, 1e-8, OPTIONS)
    without("sklearn.svm._libsvm")
    of_svc, bias_of_svc, converged_of_svc, steps_of_svc = fit_libsvm(points, y, bound, kernel, 1e-8, OPTIONS)
    assert_allclose(of_svc, a, atol=1e-12)
    assert bias_of_svc == pytest.approx(bias, abs=1e-12)
    assert converged
    assert converged_of_svc
    assert steps_of_svc == steps


def test_svc_that_is_stopped_early(rows, without):
    X, y = rows
    few = {**OPTIONS, "max_iter": 3}
    stopped = fit_libsvm(X, y, np.full(60, 100.0), {"kernel": "linear"}, 1e-8, few)
    without("sklearn.svm._libsvm")
    again = fit_libsvm(X, y, np.full(60, 100.0), {"kernel": "linear"}, 1e-8, few)
    assert_allclose(again[0], stopped[0], atol=1e-12)
    assert again[2] is stopped[2] is False


@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_linear_svc_instead_of_liblinear(rows, without, convert):
    X, y = rows
    bound = np.where(np.arange(60) % 7 == 0, 0.1, 1.0 + (y > 0))
    w = fit_liblinear(convert(X), y, bound, 3.0, 1e-10, 10_000)
    without("sklearn.svm._liblinear")
    assert_allclose(fit_liblinear(convert(X), y, bound, 3.0, 1e-10, 10_000), w, atol=1e-5)
    assert w @ (y @ X) > 0


@pytest.mark.parametrize("parameters", [{"kernel": "rbf"}, {}, {"kernel": lambda A, B: (1 + A @ B.T) ** 2}])
def test_a_fit_without_the_private_libsvm(rows, without, parameters):
    X, y = rows
    model = PriorSVC(solver="LIBSVM", **parameters).fit(X, y)
    without("sklearn.svm._libsvm")
    again = PriorSVC(solver="LIBSVM", **parameters).fit(X, y)
    assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-8)
    assert again.objective_ == pytest.approx(model.objective_, rel=1e-10)
    assert_array_equal(again.support_, model.support_)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"max_iter": "many"}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"cache_size": 0}, "cache_size"),
        ({"shrinking": "yes"}, "shrinking"),
        ({"verbose": "loud"}, "verbose"),
        ({"verbose": -1}, "verbose"),
        ({"random_state": "a"}, "random_state"),
    ],
    ids=str,
)
def test_options_that_svc_rejects(options, name):
    with pytest.raises(InvalidInput, match=f"LIBSVM does not take these solver_options: .*{name}"):
        check_svc_options(options)


def test_options_that_svc_accepts(capfd, recwarn):
    check_svc_options({})
    check_svc_options({"max_iter": 1, "tol": 1e-9, "verbose": True, "shrinking": False, "cache_size": 10})
    assert capfd.readouterr().out == ""
    assert not recwarn.list


# ---------------------------------------------------------------------- weights of rows


@pytest.mark.parametrize("weight", [2, 0.5, [1, 2, 0], np.array([0.0, 1.0, 3.0]), (1.0, 1.0, 1.0)], ids=str)
@pytest.mark.parametrize("X", [np.ones((3, 2)), csr_array(np.ones((3, 2)))], ids=["dense", "sparse"])
def test_weights_are_those_of_scikit_learn(weight, X):
    theirs = private("sklearn.utils.validation", "_check_sample_weight")
    ours = check_sample_weight(weight, X)
    assert ours.dtype == np.float64
    assert_array_equal(ours, np.broadcast_to(weight, 3))
    if theirs is not None:
        assert_array_equal(ours, theirs(weight, X, dtype=np.float64))


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1.0, 2.0], r"shape \(2,\), but X has 3 rows: expected \(3,\)"),
        (np.ones((3, 1)), r"shape \(3, 1\)"),
        ([1.0, -1.0, 1.0], r"Negative values .*sample_weight"),
        ([1.0, np.nan, 1.0], r"sample_weight contains NaN"),
        ([1.0, np.inf, 1.0], r"sample_weight contains infinity"),
        (np.zeros(3), r"sample_weight is 0 for every row"),
        (["a", "b", "c"], r"could not convert string"),
    ],
)
def test_weights_that_cannot_be_used(weight, words):
    with pytest.raises(ValueError, match=words):
        check_sample_weight(weight, np.ones((3, 2)))


# ---------------------------------------------------------------------- named parts


class Ours(NamedParts):
    def __init__(self, parts, extra=0):
        self.parts, self.extra = parts, extra

    def get_params(self, deep=True):
        return self._get_params("parts", deep=deep)

    def set_params(self, **params):
        self._set_params("parts", **params)
        return self


@pytest.fixture
def both():
    """The same composition by the class of this library and by scikit-learn's."""
    base = private("sklearn.utils.metaestimators", "_BaseComposition")
    if base is None:
        pytest.skip("this version of scikit-learn has no _BaseComposition")

    class Theirs(base):
        __init__ = Ours.__init__
        get_params = Ours.get_params
        set_params = Ours.set_params

    return lambda: [kind([("a", SVC(C=2.0)), ("b", SVC())]) for kind in (Ours, Theirs)]


CHANGES = [
    {"a__C": 5.0},
    {"b": SVC(C=7.0)},
    {"b": SVC(C=7.0), "b__tol": 0.5},
    {"parts": [("c", SVC())], "c__C": 3.0},
    {"extra": 4},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: " ".join(change))
def test_parameters_of_parts_are_those_of_scikit_learn(both, change):
    ours, theirs = both()
    for model in (ours, theirs):
        model.set_params(**clone(change, safe=False))
    plain = [
        {k: v for k, v in model.get_params().items() if not isinstance(v, (list, BaseEstimator))}
        for model in (ours, theirs)
    ]
    assert plain[0] == plain[1]
    assert list(ours.get_params()) == list(theirs.get_params())
    assert ours.get_params(deep=False).keys() == {"parts", "extra"}


def test_setting_a_part_leaves_the_given_list_alone():
    given = [("a", SVC()), ("b", SVC())]
    model = Ours(given).set_params(a=SVC(C=9.0))
    assert given[0][1].C == 1.0
    assert model.parts[0][1].C == 9.0


@pytest.mark.parametrize("parts", [None, "ab", [1, 2], [("a",)]], ids=str)
def test_a_list_of_no_parts_still_has_parameters(parts):
    assert Ours(parts).get_params() == {"parts": parts, "extra": 0}
    assert Ours(parts).set_params(extra=2).extra == 2


def test_an_unknown_part_is_an_error():
    with pytest.raises(ValueError, match="Invalid parameter 'c'"):
        Ours([("a", SVC())]).set_params(c__C=1.0)


def test_a_sum_of_transforms_is_set_and_cloned():
    both = Translation((4, 4)) | Rotation((4, 4), 10)
    twin = clone(both).set_params(rotation__degrees=20)
    assert twin.get_params()["rotation__degrees"] == 20
    assert both.get_params()["rotation__degrees"] == 10


# ---------------------------------------------------------------------- CVXPY


def expressions():
    x = cp.Variable(3)
    M = cp.Variable((2, 3))
    A = np.arange(6.0).reshape(2, 3)
    yield A @ x + 1
    yield cp.sum(x) - 2 * x[1]
    yield cp.hstack([cp.vec(M, order="F"), x[:2]])
    yield cp.trace(A.T @ M) + x[0]
    yield cp.multiply(A, M) - M
    yield cp.convolve(np.array([1.0, 2.0]), x)


@pytest.mark.parametrize("valued", [False, True], ids=["no values", "values"])
@pytest.mark.parametrize("number", range(6))
def test_derivatives_without_the_compiled_matrix(rng, without, number, valued):
    expression = list(expressions())[number]
    variables = expression.variables()
    if valued:
        for variable in variables:
            variable.value = rng.normal(size=variable.shape)
    before = [variable.value for variable in variables]
    fast = {v: as_dense(matrix, v.size) for v, matrix in affine_jacobian(expression).items()}
    without("cvxpy.cvxcore.python.canonInterface")
    slow = {v: as_dense(matrix, v.size) for v, matrix in affine_jacobian(expression).items()}
    assert fast.keys() == slow.keys() == set(variables)
    for variable in variables:
        assert_allclose(slow[variable], fast[variable], atol=1e-14)
    for variable, value in zip(variables, before, strict=True):
        assert_array_equal(variable.value, value)


def as_dense(matrix, size):
    return matrix.toarray() if issparse(matrix) else np.reshape(matrix, (size, -1))


def test_the_derivatives_are_those_of_the_values(rng):
    for expression in expressions():
        values = {v: rng.normal(size=v.shape) for v in expression.variables()}
        for variable, value in values.items():
            variable.value = np.zeros(value.shape)
        base = expression.value
        for variable, value in values.items():
            variable.value = value
        total = sum(
            as_dense(matrix, v.size).T @ values[v].ravel(order="F")
            for v, matrix in affine_jacobian(expression).items()
        )
        assert_allclose(total, np.ravel(expression.value - base, order="F"), atol=1e-12)


def test_no_parameter_and_no_slope_is_taken_for_affine():
    x, p = cp.Variable(2, value=np.ones(2)), cp.Parameter(value=2.0)
    assert np.ravel(adjoints(p * x)[x](np.ones(2))) == pytest.approx([2.0, 2.0])
    assert np.ravel(adjoints(cp.sum_squares(x))[x](np.ones(1))) == pytest.approx([2.0, 2.0])


@pytest.mark.parametrize("solver", ["auto", "CLARABEL", "SCHUR"])
@pytest.mark.parametrize(
    "prior", [OddnessHint(), UncertainSamples(0.1), OddnessHint(hard=True)], ids=["hint", "cones", "hard"]
)
def test_a_fit_without_private_modules_of_cvxpy(rows, without, prior, solver):
    X, y = rows
    model = PriorSVC(prior, solver=solver).fit(X, y)
    without("cvxpy.cvxcore.python.canonInterface", "cvxpy.lin_ops.lin_op", "sklearn.svm._libsvm")
    again = PriorSVC(prior, solver=solver).fit(X, y)
    assert again.status_ == model.status_ == "optimal"
    assert again.objective_ == pytest.approx(model.objective_, rel=1e-8)
    assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-6)
    report, report_again = (m.report_ for m in (model, again))
    assert str(report_again).splitlines()[0] == str(report).splitlines()[0]


def test_schur_finds_the_interface_of_clarabel_elsewhere(monkeypatch, without):
    before = import_module("priorsvm.schur.interface")
    without("cvxpy.reductions.solvers.conic_solvers.clarabel_conif")
    monkeypatch.setattr(sys.modules["priorsvm.schur"], "interface", before)  # restores it after the test
    monkeypatch.delitem(sys.modules, "priorsvm.schur.interface")
    again = import_module("priorsvm.schur.interface")
    assert again.SCHUR is not before.SCHUR
    assert again.SCHUR.__mro__[1] is before.SCHUR.__mro__[1]
    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 2) + cp.norm(x)), [x <= 1, cp.sum(x) == 2])
    values = [problem.solve(solver=module.SCHUR()) for module in (before, again)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    assert values[0] == pytest.approx(problem.solve(solver="CLARABEL"), rel=1e-6)


def test_interfaces_of_solvers():
    interfaces = solver_interfaces()
    assert {len(found) for found in interfaces.values()} == {1, 2}
    assert set(interfaces) >= {"CLARABEL", "OSQP", "SCIPY", "MOSEK", "GUROBI"}
    assert len(interfaces["GUROBI"]) == 2


def test_names_of_solvers_without_the_tables_of_cvxpy(rows, without):
    X, y = rows
    model = PriorSVC(norm="l1", solver="SCIPY").fit(X, y)
    without("cvxpy.reductions.solvers.defines")
    assert solver_interfaces() == {name: [] for name in cp.installed_solvers()}
    further.facts.cache_clear()
    further_routes.cache_clear()
    try:
        assert further_routes()["SCIPY"].solves == set(CLASSES)
        again = PriorSVC(norm="l1", solver="SCIPY").fit(X, y)
        with pytest.raises(
            SolverFailed, match="SCIPY broke down: The solver SCIPY cannot solve this problem"
        ):
            PriorSVC(solver="SCIPY").fit(X, y)
    finally:
        further.facts.cache_clear()
        further_routes.cache_clear()
    assert again.solver_ == "SCIPY"
    assert again.objective_ == pytest.approx(model.objective_, rel=1e-12)


def test_errors_which_an_interface_drops_are_collected():
    def solve_via_data():
        try:
            raise KeyError("first")
        except KeyError:
            pass
        with contextlib.suppress(ValueError):
            float("word")

    before = sys.gettrace()
    with dropped_errors() as errors:
        solve_via_data()
        with contextlib.suppress(OSError):
            raise OSError
    assert [type(error) for error in errors] == [KeyError, ValueError]
    assert sys.gettrace() is before


# ---------------------------------------------------------------------- what is imported


def test_a_model_of_transforms_needs_no_private_class(without):
    without("sklearn.utils.metaestimators")
    both = Shift([0.1, 0.0]) @ Shift([0.0, 0.1])
    assert list(both.get_params(deep=False)) == ["transforms"]


def test_foreign_is_the_only_file_with_private_imports():
    """No other file of the package imports a private name of scikit-learn, SciPy or CVXPY."""
    package = Path(foreign.__file__).parents[1]
    pattern = re.compile(
        r"^\s*(from|import) (sklearn|scipy|cvxpy)\S*\._"
        r"|^\s*from (sklearn|scipy|cvxpy)\S* import .*(?<!\w)_\w"
        r"|cvxcore|lin_ops|cvxpy\.reductions",
        re.MULTILINE,
    )
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if pattern.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"_utils/foreign.py", "schur/interface.py"}
