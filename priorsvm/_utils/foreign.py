"""The only access to private interfaces of scikit-learn and CVXPY, each with a public fallback.

A private interface is used where it saves time; if a version of its package does not have it, the fallback
gives the same result. CVXPY is imported on first use, because a standard kernel model does not need it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from ..errors import InvalidInput
from .arrays import Array

if TYPE_CHECKING:
    import cvxpy as cp


def private(module: str, name: str) -> Any:
    """Return an object of a private module, or None if this version of the package does not have it."""
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError):
        return None


# ---------------------------------------------------------------------- scikit-learn


def fit_libsvm(
    points: Array, y: Array, bound: Array, kernel: dict[str, Any], tol: float, options: dict[str, Any]
) -> tuple[Array, float, bool, int]:
    """Solve a weighted support vector machine by LIBSVM.

    The private interface saves one millisecond, for any number of rows, because SVC checks all rows again.

    Parameters
    ----------
    points : ndarray of shape (n, d), or (n, n) for a precomputed kernel
    y : ndarray of shape (n,)
        Signs.
    bound : ndarray of shape (n,)
        Upper bound of each dual variable; positive, because LIBSVM miscounts rows of weight 0.
    kernel : dict
        LIBSVM's name of the kernel and its parameters.
    tol : float
        LIBSVM's tolerance.
    options : dict
        "cache_size", "max_iter" and "shrinking", and optionally "verbose".

    Returns
    -------
    tuple of (ndarray, float, bool, int)
        Signed dual variables, bias, whether LIBSVM converged, and its number of iterations.
    """
    a = np.zeros(len(y))
    arguments = {
        "C": 1.0,
        "tol": tol,
        "cache_size": float(options["cache_size"]),
        "max_iter": int(options["max_iter"]),
        **kernel,
    }
    fit = private("sklearn.svm._libsvm", "fit")
    set_verbosity = private("sklearn.svm._libsvm", "set_verbosity_wrap")
    if fit is None or set_verbosity is None:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import SVC

        svc = SVC(
            **arguments, shrinking=bool(options["shrinking"]), verbose=bool(options.get("verbose", False))
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            svc.fit(points, y, sample_weight=bound)
        a[svc.support_] = svc.dual_coef_[0]
        return a, float(svc.intercept_[0]), svc.fit_status_ == 0, int(svc.n_iter_[0])
    set_verbosity(int(options.get("verbose", False)))
    support, _, _, weights, bias, *_, status, iterations = fit(
        points, y, svm_type=0, sample_weight=bound, shrinking=int(options["shrinking"]), **arguments
    )
    a[support] = -weights[0]  # LIBSVM's first class is -1
    return a, -float(bias[0]), status == 0, int(iterations[0])


def fit_liblinear(points: Any, y: Array, bound: Array, bias: float, tol: float, passes: int) -> Array:
    """Return the weights of a linear model with the hinge by LIBLINEAR, accurate or not.

    The private interface does not copy the rows. Scikit-learn's model checks and copies them.

    Parameters
    ----------
    points : ndarray or csr_array of shape (n, d)
    y : ndarray of shape (n,)
        Signs.
    bound : ndarray of shape (n,)
        C of each row; positive.
    bias : float
        Value of a further feature whose weight is the bias. LIBLINEAR penalises this weight, too.
    tol : float
        LIBLINEAR's tolerance.
    passes : int
        Largest number of passes through the rows.
    """
    sparse = issparse(points)
    if sparse:
        parts = (points.data, points.indices.astype(np.int32), points.indptr.astype(np.int32))
        points = csr_matrix(parts, points.shape)
    else:
        points = np.ascontiguousarray(points)
    train = private("sklearn.svm._liblinear", "train_wrap")
    set_verbosity = private("sklearn.svm._liblinear", "set_verbosity_wrap")
    if train is None or set_verbosity is None:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import LinearSVC

        model = LinearSVC(loss="hinge", intercept_scaling=bias, tol=tol, max_iter=passes, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(points, y, sample_weight=bound)
        return np.asarray(model.coef_[0])
    set_verbosity(0)
    labels = np.where(y > 0, 1.0, 0.0)
    # 3: dual coordinate descent with the hinge; 0: seed; 0.1: a constant of regression, not used.
    weights, _ = train(points, labels, sparse, 3, tol, bias, 1.0, np.ones(2), passes, 0, 0.1, bound)
    return np.asarray(weights[0, :-1])


def check_svc_options(options: Mapping[str, Any]) -> None:
    """Raise InvalidInput if scikit-learn's SVC rejects the value of an option.

    Parameters
    ----------
    options : dict
        Parameters of SVC. A model of two rows validates them, because the check alone is private.
    """
    if not options:
        return
    from sklearn import config_context
    from sklearn.svm import SVC

    verbose = options.get("verbose", False)
    if not isinstance(verbose, (bool, int, np.integer, np.bool_)) or verbose < 0:
        raise InvalidInput(
            f"LIBSVM does not take these solver_options: verbose must be True or False, got {verbose!r}."
        )
    silent = {**options, "verbose": False}
    with warnings.catch_warnings(), config_context(skip_parameter_validation=False):
        warnings.simplefilter("ignore")
        try:
            SVC(**silent).fit([[0.0], [1.0]], [0, 1])
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"LIBSVM does not take these solver_options: {error}") from error


def check_sample_weight(sample_weight: Any, X: Any) -> Array:
    """Return nonnegative weights, one for each row of X; scikit-learn's function for it is private.

    Parameters
    ----------
    sample_weight : float or array-like of shape (n,)
    X : array or sparse matrix of shape (n, d)
    """
    n = X.shape[0]
    if isinstance(sample_weight, Number):
        sample_weight = np.full(n, sample_weight)
    weight = check_array(
        sample_weight,
        ensure_2d=False,
        dtype=np.float64,
        order="C",
        ensure_non_negative=True,
        input_name="sample_weight",
    )
    if weight.shape != (n,):
        raise InvalidInput(f"sample_weight has shape {weight.shape}, but X has {n} rows: expected ({n},).")
    if not weight.any():
        raise InvalidInput("sample_weight is 0 for every row. Sample weights must contain a non-zero number.")
    return weight


class NamedParts(BaseEstimator):
    """Estimator with a list of (name, estimator), whose parameters are ``<name>__<parameter>``.

    It replaces scikit-learn's private ``_BaseComposition``.
    """

    def _get_params(self, attribute: str, deep: bool = True) -> dict[str, Any]:
        """Return all parameters; if ``deep``, also the parts and their parameters."""
        params = super().get_params(deep=deep)
        parts = getattr(self, attribute)
        if not deep or not _is_named(parts):
            return params
        params.update(parts)
        for name, part in parts:
            if hasattr(part, "get_params"):
                params.update({f"{name}__{key}": value for key, value in part.get_params().items()})
        return params

    def _set_params(self, attribute: str, **params: Any) -> None:
        """Set the list, then whole parts, then parameters of parts."""
        if attribute in params:
            setattr(self, attribute, params.pop(attribute))
        parts = getattr(self, attribute)
        if _is_named(parts):
            given = {name: params.pop(name) for name, _ in parts if name in params}
            if given:
                setattr(self, attribute, [(name, given.get(name, part)) for name, part in parts])
        super().set_params(**params)


def _is_named(parts: Any) -> bool:
    return isinstance(parts, list) and all(isinstance(part, tuple) and len(part) == 2 for part in parts)


# ---------------------------------------------------------------------- CVXPY


def affine_jacobian(expression: cp.Expression) -> dict[cp.Variable, Any]:
    """Return the derivatives of an affine expression: for each variable, a (variable, expression) matrix.

    The private interface gives the whole matrix that CVXPY compiles, in a tenth of the time of
    ``expression.grad``, which multiplies the matrices of all atoms.

    Parameters
    ----------
    expression : cvxpy.Expression
        Affine, without parameters.
    """
    compile_matrix = private("cvxpy.cvxcore.python.canonInterface", "get_problem_matrix")
    constant = private("cvxpy.lin_ops.lin_op", "CONSTANT_ID")
    if compile_matrix is None or constant is None:
        with _zeros_where_unset(expression):
            return dict(expression.grad)
    import cvxpy as cp

    variables = expression.variables()
    offsets = {}
    total = 0
    for variable in variables:
        offsets[variable.id] = total
        total += variable.size
    backend = cp.SCIPY_CANON_BACKEND if _beyond_cpp(expression) else None
    stacked = compile_matrix(
        [expression.canonical_form[0]], total, offsets, {constant: 1}, {constant: 0}, expression.size, backend
    )
    matrix = stacked.reshape((total + 1, expression.size)).tocsr()
    return {v: matrix[offsets[v.id] : offsets[v.id] + v.size] for v in variables}


def _beyond_cpp(expression: Any) -> bool:
    """Return whether an expression requires CVXPY's SciPy backend, for its dimensions or for an atom."""
    supported = getattr(expression, "_supports_cpp", None)
    if expression.ndim > 2 or (supported is not None and not supported()):
        return True
    return any(_beyond_cpp(argument) for argument in expression.args)


def solver_interfaces() -> dict[str, list[Any]]:
    """Return CVXPY's interfaces to each solver of convex problems, installed or not: conic, for QPs, or both.

    Without the private tables, return the installed solvers, each without an interface.
    """
    tables = [
        private("cvxpy.reductions.solvers.defines", name) for name in ("SOLVER_MAP_CONIC", "SOLVER_MAP_QP")
    ]
    if any(table is None for table in tables):
        import cvxpy as cp

        return {name: [] for name in cp.installed_solvers()}
    names = dict.fromkeys(name for table in tables for name in table)
    return {name: [table[name] for table in tables if name in table] for name in names}


@contextmanager
def dropped_errors() -> Iterator[list[BaseException]]:
    """Collect the exceptions which CVXPY's interface to a solver catches and drops, in order.

    Some interfaces report a missing licence as a failure without a reason. Tracing is slow: use it only to
    explain a failure.
    """
    found: list[BaseException] = []

    def in_interface(frame: Any, event: str, argument: Any) -> Any:
        if event == "exception":
            found.append(argument[1])
        return in_interface

    def trace(frame: Any, event: str, argument: Any) -> Any:
        return in_interface if frame.f_code.co_name == "solve_via_data" else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield found
    finally:
        sys.settrace(before)


@contextmanager
def _zeros_where_unset(expression: cp.Expression) -> Iterator[None]:
    """Give variables without a value the value 0, which ``grad`` requires."""
    unset = [variable for variable in expression.variables() if variable.value is None]
    for variable in unset:
        variable.save_value(np.zeros(variable.shape))
    try:
        yield
    finally:
        for variable in unset:
            variable.save_value(None)
