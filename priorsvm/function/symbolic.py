r"""The decision function f while the problem is built.

Blocks evaluate ``f(Z)`` and ``f.slope(Z, V)``. Both are plain cvxpy variables, and f records what is
evaluated. A :class:`.tie.Tie` connects the variables to coefficients once all blocks have built.

A kernel model expands over every evaluated point, and over slopes if its kernel has second mixed
derivatives. With the points of slopes instead of the slopes, the objective of ``Monotone`` was up to 2 %
higher. Slopes of a linear f that one block uses stay inside its constraints. As variables they took CLARABEL
1.7 times as long (300 x 50, full covariances).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse

from .._utils.arrays import Array, as_keys, as_points, distinct_rows
from .._utils.checks import dense_points
from ..errors import InvalidInput, MissingCapability, SolverUnsuited
from ..kernels.set_kernel import OnRows
from .atoms import Atoms
from .factor import require_norm

if TYPE_CHECKING:
    import cvxpy as cp

    from ..spec import Spec
    from .scale import Scale


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A variable of the problem, and what its entries are.

    Attributes
    ----------
    variable : cvxpy.Variable
    atoms : Atoms
        The entries are the inner products of f with these, in the units of X.
    biased : bool
        Whether the bias is added: True for values of f, False for slopes.
    spans : bool
        Whether f expands over the atoms.
    """

    variable: cp.Variable
    atoms: Atoms
    biased: bool
    spans: bool


class Coefficients:
    r"""The coefficient vector c of f, and its norm in the objective.

    With the 1-norm c is the difference of two nonnegative halves, which HiGHS solves twice as fast as bounds
    on :math:`|c|`.

    Parameters
    ----------
    size, norm : the number of coefficients, and ``"l2"`` or ``"l1"``.
    ids : ids of the variables; new ones by default.
    """

    def __init__(self, size: int, norm: str, ids: Sequence[int] = ()):
        import cvxpy as cp

        self.size = size
        self.norm = norm
        self.halves: list[cp.Variable]
        self.c: cp.Expression
        if norm == "l1":
            self.halves = [
                cp.Variable(size, nonneg=True, name=name, var_id=key)
                for name, key in zip_longest(("c_up", "c_down"), ids)
            ]
            self.c = self.halves[0] - self.halves[1]
        else:
            self.c = cp.Variable(size, name="c", var_id=next(iter(ids), None))
            self.halves = [self.c]

    def regulariser(self, energy: Array | None) -> cp.Expression:
        r"""Return :math:`\frac12 c^\top E c`, with E the identity if None, or :math:`\|c\|_1`."""
        import cvxpy as cp

        if self.norm == "l1":
            return cp.sum(self.halves[0]) + cp.sum(self.halves[1])
        if energy is None:
            return 0.5 * cp.sum_squares(self.c)
        return 0.5 * cp.quad_form(self.c, energy, assume_PSD=True)

    def regulariser_slope(self, energy: Array | None) -> dict[cp.Variable, Any]:
        """Return the gradient of the regulariser, variable by variable, as maps from a dual variable."""
        if self.norm == "l1":
            ones = np.ones(self.size)
            return {half: lambda m: ones for half in self.halves}
        c = np.asarray(self.c.value)
        slope = c if energy is None else energy @ c
        return {self.halves[0]: lambda m: slope}

    def adjoint(self, matrix: Any, sign: float) -> dict[cp.Variable, Any]:
        """Return the transpose of ``sign * matrix @ c``, for each variable that c consists of."""
        signs = (sign, -sign)
        return {half: partial(_transposed, matrix, s) for half, s in zip(self.halves, signs, strict=False)}


class Products:
    """Products of matrices with c in the constraints.

    A slope of a linear f that is used once needs no variable and no equation, which would cost a solver more
    than the product. For SCHUR and for residuals each product has a variable instead, so that CVXPY does not
    process its matrix.
    """

    def __init__(self) -> None:
        self.parts: list[tuple[cp.Variable, Any]] = []
        self._known: dict[int, tuple[cp.Expression, cp.Variable]] = {}

    def add(self, matrix: Any, c: cp.Expression) -> cp.Expression:
        """Return ``matrix @ c``."""
        import cvxpy as cp

        product = matrix @ c
        variable = cp.Variable(matrix.shape[0], name=f"product{len(self.parts)}")
        self.parts.append((variable, matrix))
        self._known[id(product)] = product, variable
        return product

    def replaced(self, tree: Any) -> Any:
        """Return an expression or a constraint with variables for products; a constraint keeps its id."""
        if id(tree) in self._known:
            return self._known[id(tree)][1]
        arguments = [self.replaced(argument) for argument in tree.args]
        if all(new is old for new, old in zip(arguments, tree.args, strict=True)):
            return tree
        return tree.copy(arguments)


class Decision:
    r"""The decision function :math:`f(x) = \varphi(x)^\top c + b` while the problem is built.

    Every point is evaluated once: two blocks that evaluate f at the same rows share a variable.

    Attributes
    ----------
    spec : Spec
        The model: its kernel, norm and scaling.
    n_features : int
        The number of columns of X.
    b : cvxpy.Variable
        The bias, in the units of the model.
    slack, rows : cvxpy.Variable, ndarray of int
        The slack of the loss and the rows it belongs to; set by the assembled problem.
    lineage : int or None
        Number of the assembly whose rounds share their terms; None without one.
    evaluations : list of Evaluation
        What was evaluated, in order.
    products : Products
        Slopes of a linear f that are products in the constraints, without a variable.
    used : set of str
        What was used besides values: of ``"slope"``, ``"coef"``, ``"bias"``, ``"kernel"``, ``"length"``.

    Every variable of f has the attribute ``decision``, which is f. :mod:`.rebind` uses it.
    """

    def __init__(self, spec: Spec, n_features: int):
        import cvxpy as cp

        self.spec = spec
        self.n_features = n_features
        self.coefficients = Coefficients(n_features, spec.norm) if spec.linear else None
        # CVXPY writes entries in the order of ids, and columns in the order of the objective, which starts
        # with the coefficients. If both orders differ, sorting takes a fifth of the compilation.
        self._first_ids = [] if spec.linear else [cp.Variable().id, cp.Variable().id]
        self.b = cp.Variable(name="b")
        for variable in (self.b, *(self.coefficients.halves if self.coefficients else ())):
            variable.decision = self
        self.slack: cp.Variable | None = None
        self.rows = np.empty(0, int)
        self._most_points: int | None = None  # of one evaluation, set by the assembled problem
        self.lineage: int | None = None
        self.evaluations: list[Evaluation] = []
        self.used: set[str] = set()
        self.products = Products()
        self._spanned: list[Atoms] = []  # what a kernel model expands over, in order
        self._values = _Lookup()
        self._slopes = _Lookup()

    def __repr__(self) -> str:
        kind = "linear" if self.linear else repr(self.spec.kernel)
        return f"Decision({kind}, {self.n_features} features)"

    def _take_first_ids(self) -> list[int]:
        """Return ids below those of all other variables, once: each tie has variables of its own."""
        ids = self._first_ids
        self._first_ids = []
        return ids

    @property
    def linear(self) -> bool:
        """Whether f is linear in x."""
        return self.spec.linear

    @property
    def norm(self) -> str:
        """The norm of f in the objective, ``"l2"`` or ``"l1"``."""
        return self.spec.norm

    @property
    def scale(self) -> Scale | None:
        """The scaling inside f."""
        return self.spec.scale

    def __call__(self, Z: Any) -> cp.Expression:
        """Return the values of f at the rows of Z."""
        Z = self._points("f(Z)", Z)
        self._require_few(Z)

        def evaluation(new: Array) -> Evaluation:
            atoms = Atoms(Z[new])
            self._spanned.append(atoms)
            return Evaluation(_variable(self, new), atoms, True, True)

        return self._shared(self._values, Z, evaluation)

    def slope(self, Z: Any, V: Any, spans: bool = True) -> cp.Expression:
        r"""Return the slopes :math:`\nabla f(z_i)^\top v_i`, one for each row.

        With ``spans`` a kernel model expands over the slopes too, and is exact. This requires a kernel with
        second mixed derivatives. Without it f is the best one in the span of the points, and slopes of a
        linear model are not shared with other blocks.
        """
        # A linear f has the same slope at all points, so only V is checked.
        V = self._points("f.slope(Z, V)", V)
        Z = as_points(Z) if self.linear else self._points("f.slope(Z, V)", Z)
        if Z.shape[0] != V.shape[0]:
            raise InvalidInput(
                f"f.slope(Z, V) takes one direction for each point, got {V.shape[0]} for {Z.shape[0]} points."
            )
        self._require_few(V)
        self.used.add("slope")
        if self.linear and not spans and V.shape[0]:
            inner = V if self.scale is None else self.scale.directions(V)
            return self.products.add(sparse_if_mostly_zero(inner), self.c)
        if self.linear:
            # The slope of a linear f is equal at all points.
            key = V
        else:
            key = np.hstack([Z, V])
            self._require_slopes(spans)
            if spans and len(Z):
                self._spanned.append(Atoms(Z, V))
        return self._shared(
            self._slopes,
            key,
            lambda new: Evaluation(_variable(self, new), Atoms(Z[new], V[new]), False, spans),
        )

    def value(self, Z: Any) -> Array:
        """Raise MissingCapability: f has no numbers before it is solved."""
        raise MissingCapability("f.value is not available in build, where f has no numbers yet: use f(Z).")

    def span(self, Z: Any) -> None:
        """Let f expand over these points too, besides the points it is evaluated at."""
        self._spanned.append(Atoms(self._points("f.span(Z)", Z)))

    @property
    def c(self) -> cp.Expression:
        """The weights in the units of the model; linear models only."""
        self.used.add("coef")
        if self.coefficients is None:
            raise self._lacks("coef", "use kernel='linear'")
        return self.coefficients.c

    @property
    def coef(self) -> cp.Expression:
        """The weights in the units of X; linear models only."""
        scale = self.scale
        return self.c if scale is None else self.c / scale.width

    @property
    def bias(self) -> cp.Expression:
        """The bias: on a linear model f at 0, on a kernel model the constant besides the expansion."""
        kernel = self.spec.kernel
        if kernel is not None:
            if self.norm == "l2" and kernel.needs_bias:
                raise self._lacks("bias", "its bias has to be free, so use a positive definite kernel")
            self.used.add("bias")
            return self.b
        c = self.c
        scale = self.scale
        return self.b if scale is None else self.b - (scale.shift / scale.width) @ c

    def kernel(self, A: Any, B: Any) -> Array:
        """Return the kernel matrix between points in the units of X; kernel models only."""
        self.used.add("kernel")
        kernel = self.spec.kernel
        if kernel is None:
            raise self._lacks("kernel", "use a kernel other than 'linear'")
        A = dense_points("f.kernel(A, B)", A)
        B = dense_points("f.kernel(A, B)", B)
        scale = self.scale
        return kernel(A, B) if scale is None else kernel(scale.points(A), scale.points(B))

    @cached_property
    def length(self) -> cp.Variable:
        r"""A variable that is at least :math:`\|g\|_H`, in the units of the model."""
        import cvxpy as cp

        self.used.add("length")
        kernel = self.spec.kernel
        if kernel is not None and self.norm == "l1":
            require_norm(kernel)
        length = cp.Variable(name="length")
        length.decision = self
        return length

    @property
    def has_length(self) -> bool:
        """Whether :attr:`length` is part of the problem."""
        return "length" in vars(self)

    @property
    def n_rows(self) -> int:
        """The number of values and slopes in the problem."""
        variables = [e.variable for e in self.evaluations] + [g for g, _ in self.products.parts]
        return sum(variable.size for variable in variables)

    def expansion(self) -> tuple[Array, Array, Array]:
        """Return what f expands over: points, and points with directions."""
        values = [atoms.points for atoms in self._spanned if atoms.directions is None]
        points = np.vstack([np.empty((0, self.n_features)), *values])
        points = points[np.sort(distinct_rows(points)[1])]
        pairs = [np.hstack([a.points, a.directions]) for a in self._spanned if a.directions is not None]
        slopes = np.vstack([np.empty((0, 2 * self.n_features)), *pairs])
        slopes = slopes[np.sort(distinct_rows(slopes)[1])]
        return points, slopes[:, : self.n_features], slopes[:, self.n_features :]

    def _require_slopes(self, spans: bool) -> None:
        kernel = self.spec.kernel
        assert kernel is not None
        if not kernel.has_slope:
            raise self._lacks(
                "slope", "use a linear model or a kernel with derivatives, such as RBF or Polynomial"
            )
        if spans and self.norm == "l2":
            kernel._require("slope_slope")

    def _require_few(self, Z: Any) -> None:
        """Raise SolverUnsuited for more points than the limit of the route."""
        if self._most_points is not None and Z.shape[0] > self._most_points:
            raise SolverUnsuited(f"it evaluates f at {Z.shape[0]} points, more than {self._most_points}")

    def _lacks(self, what: str, way_out: str) -> MissingCapability:
        kind = "a linear model" if self.linear else f"a model with {self.spec.kernel!r}"
        return MissingCapability(f"it requires f.{what}, which {kind} does not have: {way_out}.")

    def _points(self, what: str, Z: Any) -> Any:
        points: Any = as_points(Z) if self.linear and self.scale is None else dense_points(what, Z)
        if points.ndim != 2 or points.shape[1] != self.n_features:
            raise InvalidInput(self._wrong_shape(what, points.shape))
        if not _all_finite(points.data if issparse(points) else points):
            raise InvalidInput(f"{what} got NaN or infinity.")
        return points

    def _wrong_shape(self, what: str, shape: tuple[int, ...]) -> str:
        """Return the message about points that do not have the columns of X."""
        kernel = self.spec.kernel
        if not isinstance(kernel, OnRows):
            return f"{what} takes points of shape (n, {self.n_features}), got shape {shape}."
        got = kernel.in_words(shape[1]) if len(shape) == 2 else f"shape {shape}"
        return (
            f"{what} takes {kernel.in_words(self.n_features)}, the largest size in X, got {got}. Encode "
            "smaller sets with check_points(name, Z, sample). Larger sets require a set of their size in X."
        )

    def _shared(self, lookup: _Lookup, key: Any, evaluate: Any) -> cp.Expression:
        """Return the variables of rows, and make one variable for the rows that have none yet."""
        import cvxpy as cp

        if key.shape[0] == 0:
            return cp.Constant(np.empty(0))
        positions, new = lookup.positions(key)
        if len(new):
            evaluation = evaluate(new)
            self.evaluations.append(evaluation)
            lookup.variables.append(evaluation.variable)
        if len(new) == key.shape[0]:
            return lookup.variables[-1]
        # Only variables with one of these rows: the expression depends on nothing else.
        sizes = np.array([variable.size for variable in lookup.variables])
        ends = np.cumsum(sizes)
        of = np.searchsorted(ends, positions, side="right")
        used, place = np.unique(of, return_inverse=True)
        within = positions - (ends - sizes)[of]
        if len(used) == 1 and np.array_equal(within, np.arange(sizes[used[0]])):
            return lookup.variables[used[0]]
        starts = np.cumsum([0, *sizes[used[:-1]]])
        return cp.hstack([lookup.variables[k] for k in used])[starts[place] + within]


class _Lookup:
    """The rows that have a variable already."""

    def __init__(self) -> None:
        self.seen: dict[bytes, int] = {}
        self.variables: list[cp.Variable] = []

    def positions(self, rows: Any) -> tuple[Array, Array]:
        """Return the position of each row among all rows so far, and which of ``rows`` are new."""
        keys = as_keys(rows)
        if not self.seen:  # the usual case: the first rows are all different
            seen = dict(zip(keys, range(len(keys)), strict=True))
            if len(seen) == len(keys):
                self.seen = seen
                return np.arange(len(keys)), np.arange(len(keys))
        before = len(self.seen)
        new: list[int] = []
        positions = np.empty(len(keys), int)
        for i, key in enumerate(keys):
            positions[i] = self.seen.setdefault(key, len(self.seen))
            if positions[i] == before + len(new):
                new.append(i)
        return positions, np.array(new, int)


def _all_finite(array: Array) -> bool:
    """Return whether all entries are finite; a finite sum settles it without a second array."""
    with np.errstate(over="ignore"):  # the padding of sets overflows
        return bool(np.isfinite(array.sum()) or np.isfinite(array).all())


def sparse_if_mostly_zero(matrix: Any) -> Any:
    """Return the matrix in sparse form if fewer than an eighth of its entries are not zero."""
    if issparse(matrix) or matrix.size == 0:
        return matrix
    found = 0
    for start in range(0, len(matrix), 1000):  # a dense matrix is recognised by its first rows
        found += int(np.count_nonzero(matrix[start : start + 1000]))
        if found >= matrix.size / 8:
            return matrix
    return csr_array(matrix)


def _variable(f: Decision, new: Array) -> cp.Variable:
    import cvxpy as cp

    variable = cp.Variable(len(new), name=f"f{len(f.evaluations)}")
    variable.decision = f
    return variable


def _transposed(matrix: Any, sign: float, dual: Array) -> Array:
    return sign * (matrix.T @ dual)
