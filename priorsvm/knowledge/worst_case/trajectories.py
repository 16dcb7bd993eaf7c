r"""Rows that move along a curve: the margin holds all along it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from scipy.stats.qmc import Sobol

from ..._utils.arrays import Array
from ..._utils.checks import described, is_whole
from ..._utils.messages import warn
from ...errors import CoarsePolynomial, InvalidInput, InvalidType
from ...sample import Sample
from ...transforms.base import Transform, Union
from ..base import Context, Knowledge, Terms, Verdict
from .base import ROUNDING, WorstCase
from .polynomials import atoms_of_each, lobatto, squares, through, upper

# Angles per row at which f is compared with its polynomial, and the difference that is worth a warning.
ANGLES = 201
COARSE = 0.1
# By so much the margin may be missed between the nodes.
FINE = 0.01
# So many values of f along trajectories are looked at in one piece.
BLOCK = 2**17


@dataclass(frozen=True, eq=False)
class Path:
    r"""The curves :math:`\theta \mapsto T_\theta x_i`, and the polynomials that stand for f on them.

    Attributes
    ----------
    low, high : (q,) arrays, the range of each parameter; u = -1 there and 1 here.
    nodes : (m, q) array, the u where f is evaluated.
    points : (n, m, d) array, the training rows there.
    coefficients : (n, r + 1, d) array of a polynomial path, or None for that of the transform.
    """

    low: Array
    high: Array
    nodes: Array
    points: Array
    coefficients: Array | None = None

    def theta(self, u: Array) -> Array:
        """The parameters, from (k, q) places."""
        middle = (self.low + self.high) / 2
        half = (self.high - self.low) / 2
        return np.where(np.isinf(u), u, middle + half * np.where(np.isinf(u), 0.0, u))

    def basis(self, u: Array) -> Array:
        """The matrix that takes values at the nodes to those of the polynomial at u, (k, m)."""
        if len(self.nodes) == 1:
            return np.ones((len(u), 1))
        if self.nodes.shape[1] == 1:
            return through(self.nodes[:, 0], u[:, 0])
        return np.linalg.solve(_monomials(self.nodes).T, _monomials(u).T).T


class Trajectories(Knowledge):
    r"""Every training row moves along a curve, and has its margin all along it.

    .. math:: y_i f(T_\theta x_i) \ge \rho_i - \xi_i \quad\text{for all } \theta ,

    with the slack of the row itself: the loss is the worst of the curve. :math:`f(T_\theta x_i)` is replaced
    by the polynomial in :math:`\theta` through its values at a few nodes, on linear and kernel machines
    alike, and a polynomial is nonnegative on a span if and only if it is a certain sum of squares: two
    points for degree 1, one second-order cone for degree 2, two small semidefinite matrices beyond. How far
    f is from its polynomial is measured after the fit, at 201 places of each trajectory, and reported.

    Parameters
    ----------
    transform : Transform
        A continuous one. May be None if ``coefficients`` are given.
    degree : int, optional
        Of the polynomial: 0, 1 or even. By default 2 on a linear machine and 4 on a kernel machine; 2 for
        several parameters, where a span then asks for slightly more than it means.
    span : "transform", (low, high), a list of these, or "line"
        For which :math:`\theta`: the transform's own range, one of yours (a pair for each parameter), or all
        numbers, where the polynomial is taken far beyond what it was made from.
    coefficients : "interpolate", "taylor", array or function
        Where the polynomial comes from: the nodes of the span (of the transform's own range, for the
        line); or the path is first replaced by :math:`\sum_j \theta^j X_{ij}`, its Taylor polynomial about 0
        by differences; or the :math:`X_{ij}` themselves, (n, r + 1, d) with :math:`X_{i0} = x_i`, better
        given to ``fit`` as ``<block>__coefficients``, or a function of (X, y) that returns them.

    References
    ----------
    Graepel & Herbrich 2004; Nesterov 2000 for sums of squares; Lauer & Bloch 2008, eqs. (43)-(44), where the
    sign of (44) has to be turned. The slack, the span by the S-lemma and kernel machines are additions.

    Examples
    --------
    >>> import numpy as np
    >>> from priorsvm import FromFunction, PriorSVC, Trajectories
    >>> def turn(X, angle):
    ...     return X @ [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    >>> turns = FromFunction(turn, thetas=[-0.4, 0.4])
    >>> model = PriorSVC(Trajectories(turns), C=100).fit([[1.0, 0.0], [3.0, 0.0]], [0, 1])
    >>> worst = model.findings_["trajectories"]
    >>> [(int(i), round(abs(float(t)), 2)) for i, t in zip(worst.rows, worst.thetas)]
    [(0, 0.0), (1, 0.4), (1, 0.4)]
    """

    shares_slack: ClassVar[bool] = True
    row_params: ClassVar[tuple[str, ...]] = ("coefficients",)
    way_out_of_collapse: ClassVar[str] = "Trajectories overlap too much: give it a span, or a narrower one."
    latex: ClassVar[dict[str, str]] = {
        "ends": r"y_i f(T_\theta x_i) \ge \rho_i - \xi_i \text{ at both ends of the span}",
        "still": r"f(T_\theta x_i) \text{ does not depend on } \theta",
        "cone": r"\|(p_1,\; p_0 - p_2 - 2 s_i)\| \le p_0 + p_2,\; "
        r"p(u) = y_i f(T_{\theta(u)} x_i) - \rho_i + \xi_i,\; s_i \ge 0",
        "squares": r"y_i f(T_\theta x_i) - \rho_i + \xi_i = \sigma_0 + (1 - u^2)\,\sigma_1 "
        r"\text{ at the nodes}",
        "line": r"\|(p_1,\; p_0 - p_2)\| \le p_0 + p_2,\; p(u) = y_i f(T_{\theta(u)} x_i) - \rho_i + \xi_i",
        "squares_line": r"y_i f(T_\theta x_i) - \rho_i + \xi_i = \sigma_0 \text{ at the nodes}",
        "sigma_0": r"\sigma_0(u) = t(u)^\top P_i\, t(u),\; P_i \succeq 0",
        "sigma_1": r"\sigma_1(u) = t(u)^\top Q_i\, t(u),\; Q_i \succeq 0",
        "matrix": r"\begin{pmatrix} p_0 - \sum_k s_k & p_1^\top / 2 \\ p_1 / 2 & P_2 + \mathrm{diag}(s) "
        r"\end{pmatrix} \succeq 0,\; s \ge 0",
        "matrix_line": r"\begin{pmatrix} p_0 & p_1^\top / 2 \\ p_1 / 2 & P_2 \end{pmatrix} \succeq 0",
    }
    letters: ClassVar[dict[str, str]] = {
        r"T_\theta": r"\text{the move by } \theta",
        r"T_{\theta(u)}": r"\text{the move by } \theta, \text{ which } u \in [-1, 1] \text{ runs through}",
        "p_0": r"\text{with } p_1, p_2 \text{ the coefficients of the polynomial } p(u)",
        "P_2": r"\text{with } p_0, p_1 \text{ those of the polynomial } p_0 + p_1^\top u + u^\top P_2 u",
        "s_i": r"\text{a variable, the multiplier of } 1 - u^2",
        "s": r"\text{variables } s_k, \text{ the multipliers of } 1 - u_k^2",
        "u": r"\text{the place along the trajectory, from -1 to 1}",
        r"\sigma_0": r"\text{a sum of squares of polynomials in } u",
        r"\sigma_1": r"\text{another}",
        "t(u)": r"(1, u, u^2, \dots), \text{ or as good a basis}",
        "P_i": r"\text{a matrix of variables}",
        "Q_i": r"\text{a matrix of variables}",
    }

    def __init__(
        self,
        transform: Any = None,
        degree: int | None = None,
        span: Any = "transform",
        coefficients: Any = "interpolate",
    ):
        self.transform = transform
        self.degree = degree
        self.span = span
        self.coefficients = coefficients

    # ------------------------------------------------------------------ what was asked

    def validate(self, sample: Sample) -> None:
        transform = self.transform
        degree = self.degree
        if transform is None and self._named:
            raise InvalidInput("it needs a transform, or the coefficients of the trajectories.")
        if transform is not None:
            if not isinstance(transform, Transform):
                raise InvalidType(
                    f"transform must be a Transform, got {described(transform)}. "
                    "FromFunction(function, thetas) makes one of a function."
                )
            transform.validate(sample.X.shape[1])
            transform.tangents(
                sample.X_train[:1]
            )  # refuses those that are discrete, or do not pass through x
            if isinstance(transform, Union):
                raise InvalidInput(
                    "s | t has no common trajectory. Use two blocks, Trajectories(s) + Trajectories(t), or "
                    "s @ t for both moves at once."
                )
        if isinstance(self.coefficients, str) and not self._named:
            raise InvalidInput(
                "coefficients must be 'interpolate', 'taylor', an array or a function of (X, y), "
                f"got {self.coefficients!r}."
            )
        low, _ = self._range()
        if degree is not None and (not is_whole(degree) or degree < 0 or (degree > 1 and degree % 2)):
            raise InvalidInput(
                f"degree must be a whole number, 0, 1 or even, got {degree!r}"
                + (f": use {degree + 1}." if is_whole(degree) and degree > 1 else ".")
            )
        if degree is not None and degree > 20:
            raise InvalidInput(f"degree must be at most 20, got {degree}: narrow the span instead.")
        if len(low) > 1 and degree not in (None, 0, 2):
            raise InvalidInput(
                f"degree must be 2 (or 0) with {len(low)} parameters, got {degree}. Leave it out, or use a "
                "block for each parameter."
            )
        if len(low) > 1 and not self._is("interpolate"):
            raise InvalidInput(f"coefficients must be 'interpolate' with {len(low)} parameters.")
        if not self._named and self._given(sample).shape[1] > 21:
            raise InvalidInput("coefficients must be of degree 20 at most: narrow the span instead.")
        if transform is not None and sample.n_train:
            transform.apply(sample.X_train[:1], low)

    @property
    def _named(self) -> bool:
        return self._is("interpolate") or self._is("taylor")

    def _is(self, word: str) -> bool:
        return isinstance(self.coefficients, str) and self.coefficients == word

    @property
    def machine_decides(self) -> bool:
        return self.degree is None

    @property
    def on_line(self) -> bool:
        """Whether all numbers are meant."""
        return isinstance(self.span, str) and self.span == "line"

    def _range(self) -> tuple[Array, Array]:
        """Low and high of every parameter; on the line, of what the polynomial is made from."""
        span = self.span
        if isinstance(span, str):
            if span not in ("transform", "line"):
                raise InvalidInput(f"span must be 'transform', 'line' or (low, high), got {span!r}.")
            if self.transform is None:
                if span == "transform":
                    raise InvalidInput("without a transform span must be (low, high) or 'line'.")
                return np.array([-1.0]), np.array([1.0])
            span = self.transform.span()
            if any(low == high for low, high in span):
                raise InvalidInput(f"{self.transform!r} does not move anything: its range is {span}.")
        try:
            pairs = np.atleast_2d(np.asarray(span, float))
        except (TypeError, ValueError, OverflowError):
            pairs = np.empty((0, 0))
        q = 1 if self.transform is None else self.transform.n_parameters
        if pairs.shape != (q, 2) or not np.isfinite(pairs).all() or not (pairs[:, 0] < pairs[:, 1]).all():
            each = "" if q == 1 else f" for each of the {q} parameters"
            raise InvalidInput(f"span must be (low, high) with low < high{each}, got {span!r}.")
        return pairs[:, 0], pairs[:, 1]

    def _given(self, sample: Sample) -> Array:
        """The coefficients that were given, (n, r + 1, d)."""
        array = self.aligned("coefficients", sample)
        assert array is not None
        n = sample.n_train
        d = sample.X.shape[1]
        if array.ndim != 3 or array.shape[2] != d or array.shape[1] == 0 or not np.isfinite(array).all():
            raise InvalidInput(
                f"coefficients has shape {array.shape}, expected ({n}, r + 1, {d}) and finite numbers: the "
                "powers 0 to r of the parameter for each row."
            )
        size = float(np.abs(sample.X_train).max(initial=0.0))
        if not np.allclose(array[:, 0], sample.X_train, rtol=1e-6, atol=1e-9 * size):
            raise InvalidInput("coefficients[:, 0] must be the rows themselves: theta = 0 moves nothing.")
        return array

    # ------------------------------------------------------------------ the polynomials

    def start(self, sample: Sample) -> Path:
        low, high = self._range()
        X = sample.X_train
        q = len(low)
        degree = self.degree
        kernel = None if sample.machine is None else sample.machine.kernel
        path = None
        if not self._named:
            path = self._given(sample)
        if degree is None:
            degree = 4 if kernel is not None and q == 1 else 2
            if path is not None and kernel is None:
                degree = path.shape[1] - 1
                degree += degree > 1 and degree % 2
        if self._is("taylor"):
            path = self._taylor(X, int(degree))
        nodes = lobatto(int(degree))[:, None] if q == 1 or degree == 0 else _quadratic_nodes(q)
        if degree == 0:
            return Path(low, high, np.zeros((1, q)), X[:, None], path)
        empty = Path(low, high, nodes, np.empty((len(X), 0, X.shape[1])), path)
        moved = [
            self.transform.apply(X, theta) if path is None else moved_along(path, theta)
            for theta in empty.theta(nodes)
        ]
        return Path(low, high, nodes, np.stack(moved, axis=1), path)

    def _taylor(self, X: Array, degree: int) -> Array:
        """The Taylor coefficients of the path about 0, from differences over a step that suits the degree."""
        [(low, high)] = self.transform.span()
        # Two more nodes than needed, and a step that makes rounding and what is left out about equal.
        h = (high - low) / 2 * (2 ** (degree + 1) * np.finfo(float).eps) ** (1.0 / (degree + 4))
        nodes = lobatto(degree + 2)
        moved = np.stack([self.transform.apply(X, u * h) for u in nodes], axis=1)
        inverse = np.linalg.inv(np.vander(nodes, increasing=True))[: degree + 1]
        found = np.einsum("jm,nmd->njd", inverse / h ** np.arange(degree + 1)[:, None], moved)
        found[:, 0] = X
        return found

    def build(self, f: Any, context: Context) -> Terms:
        import cvxpy as cp

        path: Path = context.state
        n_nodes, q = path.nodes.shape
        if context.rows is None or n_nodes == 1:
            return Terms()
        sample = context.sample
        rows = context.rows
        n = len(rows)
        y = sample.y[rows]
        points = path.points[rows]
        if n_nodes == 3 and q == 1:
            return Terms(constraints=self._cone(f, points, y, context.slack - sample.margin[rows]))
        values = cp.reshape(f(points.reshape(n * n_nodes, -1)), (n, n_nodes), order="C")
        shortfall = cp.reshape(context.slack - sample.margin[rows], (n, 1), order="C")
        p = cp.multiply(y[:, None] * np.ones(n_nodes), values) + shortfall @ np.ones((1, n_nodes))
        if q > 1:
            return Terms(constraints=self._matrix(p, path.nodes))
        if n_nodes == 2:
            if self.on_line:
                return Terms(constraints={"ends": p >= 0, "still": values[:, 1] == values[:, 0]})
            return Terms(constraints={"ends": p >= 0})
        return Terms(constraints=self._squares(p, path.nodes[:, 0]))

    def _cone(self, f: Any, points: Array, y: Array, shortfall: Any) -> dict[str, Any]:
        r"""Of degree 2: :math:`p_0 + p_2` is the mean of both ends, :math:`p_1` half their difference."""
        import cvxpy as cp

        low, middle, high = points.swapaxes(0, 1)
        if f.linear:  # a linear f has its mean at the mean: fewer values to keep
            mean = f((low + high) / 2)
            half = f.slope(low, (high - low) / 2)
        else:
            ends = f(low), f(high)
            mean = (ends[0] + ends[1]) / 2
            half = (ends[1] - ends[0]) / 2
        height = cp.multiply(y, mean) + shortfall
        s = 0.0 if self.on_line else cp.Variable(len(y), nonneg=True, name="s")
        twice = 2 * (cp.multiply(y, f(middle)) + shortfall - s)
        cone = cp.SOC(height, cp.vstack([cp.multiply(y, half), twice - height]), axis=0)
        return {"line" if self.on_line else "cone": cone}

    def _squares(self, p: Any, nodes: Array) -> dict[str, Any]:
        """p is a sum of squares, and on a span another one times 1 - u^2 besides."""
        import cvxpy as cp

        n = p.shape[0]
        size = (len(nodes) + 1) // 2
        total = 0
        cones = {}
        parts = [("sigma_0", size, np.ones(len(nodes)))]
        if not self.on_line:
            parts.append(("sigma_1", size - 1, 1.0 - nodes**2))
        for label, k, factor in parts:
            full = cp.Variable((n, k * (k + 1) // 2), name=label) @ upper(k)
            total = total + full @ (factor[:, None] * squares(nodes, k)).T
            cones[label] = cp.constraints.PSD(cp.reshape(full, (n, k, k), order="C"))
        return {"squares_line" if self.on_line else "squares": p == total, **cones}

    def _matrix(self, p: Any, nodes: Array) -> dict[str, Any]:
        """A quadratic in several parameters is nonnegative if its matrix is, less what the span allows."""
        import cvxpy as cp

        n = p.shape[0]
        q = nodes.shape[1]
        # p at the nodes -> coefficients of 1, u_k, u_j u_k -> the entries of the matrix.
        entries = p @ (np.linalg.inv(_monomials(nodes)).T @ _homogeneous(q))
        if not self.on_line:
            s = cp.Variable((n, q), nonneg=True, name="s")
            signed = np.zeros((q, 1 + q, 1 + q))
            signed[:, 0, 0] = -1.0
            signed[np.arange(q), 1 + np.arange(q), 1 + np.arange(q)] = 1.0
            entries = entries + s @ signed.reshape(q, -1)
        label = "matrix_line" if self.on_line else "matrix"
        return {label: cp.constraints.PSD(cp.reshape(entries, (n, 1 + q, 1 + q), order="C"))}

    # ------------------------------------------------------------------ after the fit

    def multipliers(self, context: Context) -> Array:
        moments = self._moments(context, context.state)
        return np.abs(moments.reshape(len(moments), -1)[:, 0])

    def findings(self, f: Any, context: Context) -> WorstCase:
        path: Path = context.state
        assert context.rows is not None
        assert context.alpha is not None
        rows = context.rows
        sample = context.sample
        errors = np.full(sample.n_train, np.nan)
        for true, polynomial in self._along(f, context, _places(path, ANGLES)):
            errors[rows] = np.fmax(errors[rows], np.abs(true - polynomial).max(axis=1))
        worst = float(np.nanmax(errors))
        if worst > COARSE:
            warn(self._coarse(context, worst, int(np.nanargmax(errors))), CoarsePolynomial)
        owner, u, weights, push = self._held(context, path)
        thetas = np.vstack([np.zeros((len(rows), u.shape[1])), path.theta(u)])
        return WorstCase.of(
            context,
            np.concatenate([rows, owner]),
            np.vstack([sample.X[rows], self._points(f, context, owner, u)]),
            np.concatenate([context.alpha, weights]),
            thetas[:, 0] if u.shape[1] == 1 else thetas,
            errors,
            np.concatenate([context.alpha, push]),
        )

    def _coarse(self, context: Context, worst: float, row: int) -> str:
        m, q = context.state.nodes.shape
        sample = context.sample
        of_class = f" for class {sample.positive!r}" if len(sample.classes) > 2 else ""
        higher = "" if q > 1 else f"degree={m + 1 if m > 2 else 2}, "
        return (
            f"block '{context.name}': along the trajectory of row {row} f{of_class} is up to {worst:.2g} "
            "away from the polynomial that stands for it, so margins hold to that only. Use "
            f"{higher}a narrower span, or InvariantLoss, which needs no polynomial."
        )

    def _along(self, f: Any, context: Context, places: Array) -> Iterator[tuple[Array, Array]]:
        """f on the trajectory of every row with a cost, and the polynomial: (rows, places), in parts."""
        path = context.state
        rows = context.rows
        n, m, d = path.points[rows].shape
        values = f.value(path.points[rows].reshape(n * m, d)).reshape(n, m)
        thetas = path.theta(places)
        basis = path.basis(places)
        some = max(1, BLOCK // n)
        for block in (slice(start, start + some) for start in range(0, len(places), some)):
            yield self._values(f, context, thetas[block]), values @ basis[block].T

    def _values(self, f: Any, context: Context, thetas: Array) -> Array:
        """f where each theta takes the rows with a cost, (rows, thetas)."""
        if self.transform is not None and hasattr(f, "coef"):
            W = np.tile(f.coef, (len(thetas), 1))
            if (pulled := self.transform.pulled_back(W, thetas)) is not None:
                V, offset = pulled
                return np.asarray(context.sample.X[context.rows] @ V.T + (offset + f.bias))
        moved = (self._true(context, context.rows, theta) for theta in thetas)
        return np.stack([f.value(points) for points in moved], axis=1)

    def _true(self, context: Context, rows: Any, theta: Array) -> Array:
        """Rows where the transform, if there is one, takes them."""
        if self.transform is None:
            return moved_along(context.state.coefficients[rows], theta)
        X = context.sample.X[rows]
        # Without apply's checks of rows and parameters, which take a third of its time here.
        return np.asarray(self.transform._move(X, theta) if theta.any() else X)

    def _held(self, context: Context, path: Path) -> tuple[Array, Array, Array, Array]:
        """Rows, places u, weights and largest moments of the measures that hold f up."""
        assert context.rows is not None
        moments = self._moments(context, path)
        q = path.nodes.shape[1]
        size = np.abs(moments).reshape(len(moments), -1).max(axis=1, initial=0.0)
        held = np.flatnonzero(size > ROUNDING * context.largest)
        if len(path.nodes) == 1:  # nothing moves
            return np.empty(0, int), np.empty((0, q)), np.empty(0), np.empty(0)
        if q == 1:
            owner, places, weights = atoms_of_each(moments[held], self.on_line)
            held = held[owner]
            u = places[:, None]
        else:  # their mean
            weights = moments[held, 0, 0]
            u = moments[held, 0, 1:] / weights[:, None]
        return context.rows[held], u, weights, size[held]

    def _moments(self, context: Context, path: Path) -> Array:
        r"""Of every row with a cost the moments of the measure that holds it; if q > 1 as a matrix."""
        assert context.rows is not None
        n = len(context.rows)
        nodes = path.nodes[:, 0]
        duals = {label.removesuffix("_line").replace("line", "cone"): d for label, d in context.duals.items()}
        m, q = path.nodes.shape
        if q > 1 and m > 1:
            return duals["matrix"].reshape(n, 1 + q, 1 + q)
        if "cone" in duals:
            t, x1, x2 = duals["cone"].reshape(3, n)
            return np.stack([t + x2, x1, t - x2], axis=1)
        at_nodes = np.zeros((n, m))
        if "squares" in duals:
            at_nodes = -duals["squares"].reshape(n, m)
        if "ends" in duals:
            at_nodes = np.abs(duals["ends"].reshape(n, m))
        if "still" in duals:
            at_nodes = at_nodes + np.outer(context.sample.y[context.rows] * duals["still"], [1.0, -1.0])
        return at_nodes @ np.vander(nodes, increasing=True)

    def _points(self, f: Any, context: Context, owner: Array, u: Array) -> Array:
        """The virtual samples: on the polynomial trajectory for a linear f, on the true one for others."""
        path: Path = context.state
        far = np.asarray(np.isinf(u).any(axis=1))
        if hasattr(f, "coef"):
            weights = path.basis(np.where(far[:, None], 0.0, u))
            if far.any():  # a direction instead of a point: that of the highest power
                top = np.linalg.inv(np.vander(path.nodes[:, 0], increasing=True))[-1]
                weights[far] = np.sign(u[far]) ** (len(top) - 1) * top
            return np.einsum("km,kmd->kd", weights, path.points[owner])
        points = context.sample.X[owner].copy()
        for k in np.flatnonzero(~far):
            points[k] = self._true(context, owner[k : k + 1], path.theta(u[k]))[0]
        return points

    def verify(self, f: Any, context: Context) -> Verdict:
        sample = context.sample
        rows = context.rows
        assert rows is not None
        places = _places(context.state, max(ANGLES, min(1001, 200_000 // max(1, len(rows)))), between=True)
        y = sample.y[rows]
        least = sample.margin[rows] - context.slack
        lowest = np.full(len(rows), np.inf)
        at = np.zeros(len(rows), int)
        tol = max(FINE, context.tol)
        violated = 0
        start = 0
        for true, _ in self._along(f, context, places):
            excess = y[:, None] * true - least[:, None]
            violated += int(np.sum(excess < -tol))
            deepest = excess.argmin(axis=1)
            value = np.take_along_axis(excess, deepest[:, None], axis=1)[:, 0]
            at = np.where(value < lowest, start + deepest, at)
            lowest = np.minimum(lowest, value)
            start = start + true.shape[1]
        asked = f"y f >= rho - xi along {len(rows)} trajectories, to {tol:g}"
        if self.on_line:
            asked += ", and beyond by the polynomial"
            beyond = self._beyond(f, context, least)
            lowest = np.minimum(lowest, beyond)
            violated = violated + int(np.sum(beyond < -tol))
        i = int(np.argmin(lowest))
        where = self._true(context, rows[i : i + 1], context.state.theta(places[at[i] : at[i] + 1])[0])[0]
        return Verdict(
            violated == 0, float(lowest[i]), where, False, len(rows) * len(places), asked, violated
        )

    def _beyond(self, f: Any, context: Context, least: Array) -> Array:
        """The least that is left over of the polynomials far out on the line, in units of their growth."""
        path = context.state
        rows = context.rows
        n, m, d = path.points[rows].shape
        q = path.nodes.shape[1]
        far = np.tan(np.linspace(-1.5707, 1.5707, 202))
        u = far[:, None] * (np.eye(q)[:, None] if q > 1 else np.ones((1, 1, 1))).reshape(q, 1, q)
        u = u.reshape(-1, q)
        values = f.value(path.points[rows].reshape(n * m, d)).reshape(n, m) @ path.basis(u).T
        growth = 1.0 + np.abs(u).max(axis=1) ** (m - 1 if q == 1 else 2)
        y = context.sample.y[rows]
        return np.asarray(((y[:, None] * values - least[:, None]) / growth).min(axis=1))

    def words(self) -> str:
        moves = "along its polynomial" if self.transform is None else f"by {self.transform!r}"
        return f"every row keeps its margin while it moves {moves}"


def moved_along(coefficients: Array, theta: Array) -> Array:
    r""":math:`\sum_j \theta^j X_{ij}` for every row."""
    return np.einsum("j,njd->nd", theta[0] ** np.arange(coefficients.shape[1]), coefficients)


def _places(path: Path, count: int, between: bool = False) -> Array:
    """Places u all over the range; ``between`` others than the same call gives without."""
    q = path.nodes.shape[1]
    if q == 1:
        u = np.linspace(-1, 1, count)
        return ((u[1:] + u[:-1]) / 2 if between else u)[:, None]
    inside = 2 * Sobol(q, seed=int(between)).random_base2(int(np.ceil(np.log2(count)))) - 1
    if q > 5:
        return np.asarray(inside)
    # Corners, where a box mostly is at its worst, and the middles of edges and faces.
    rim = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * q, indexing="ij"), axis=-1).reshape(-1, q)
    return np.vstack([rim, inside])


def _quadratic_nodes(q: int) -> Array:
    """The centre, both ends of every axis, and one corner for every pair: what determines a quadratic."""
    axes = np.eye(q)
    pairs = [axes[j] + axes[k] for j, k in combinations(range(q), 2)]
    return np.vstack([np.zeros((1, q)), -axes, axes, *(pair[None] for pair in pairs)])


def _monomials(u: Array) -> Array:
    """1, u_k, and u_j u_k for j <= k."""
    rows, columns = np.triu_indices(u.shape[1])
    return np.column_stack([np.ones(len(u)), u, u[:, rows] * u[:, columns]])


def _homogeneous(q: int) -> Array:
    """The matrix that takes coefficients of :func:`_monomials` to the quadratic's symmetric matrix, flat."""
    rows, columns = np.triu_indices(q)
    full = np.zeros((1 + q + len(rows), 1 + q, 1 + q))
    full[0, 0, 0] = 1.0
    for k in range(q):
        full[1 + k, 0, 1 + k] = full[1 + k, 1 + k, 0] = 0.5
    for m, (j, k) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
        full[1 + q + m, 1 + j, 1 + k] += 0.5
        full[1 + q + m, 1 + k, 1 + j] += 0.5
    return full.reshape(len(full), -1)
