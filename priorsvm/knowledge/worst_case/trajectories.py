r"""Margins along curves of transformed rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import is_whole
from ..._utils.messages import warn
from ...errors import CoarsePolynomial, InvalidInput
from ...sample import Sample
from ...transforms.base import Transform, Union
from ..base import Formulas, Knowledge, Terms
from ..by_class import ByClass
from ..traits import OnRowSlack
from ..views import Building, Solved, Verdict
from .base import ROUNDING, WorstCase, rows_and_slack
from .curves import Curves, points_at, taylor_coefficients
from .moments import atoms_of_each
from .polynomials import homogeneous, lobatto, monomials, quadratic_nodes, squares, upper

# Points per trajectory at which f is compared with its polynomial.
ANGLES = 201
# A larger difference between f and its polynomial causes a warning.
COARSE = 0.1
# verify() accepts a margin that is short by at most this.
FINE = 0.01
# Largest number of values of f along trajectories that are computed at once.
BLOCK = 2**17


class Trajectories(ByClass, OnRowSlack, Knowledge):
    r"""Margin along the whole trajectory of each training row.

    .. math:: y_i f(T_\theta x_i) \ge \rho_i - \xi_i \quad\text{for all } \theta .

    Use it if a continuous transformation does not change the class. All points of the curve share the slack
    of the training row, so the loss is the largest loss along the curve. For linear and kernel models,
    :math:`f(T_\theta x_i)` is replaced by the polynomial in :math:`\theta` through its values at a few nodes.
    A polynomial is nonnegative on an interval if and only if it is a certain sum of squares. Degree 1 needs
    two points, degree 2 one second-order cone, and a higher degree two small semidefinite matrices. After the
    fit, the difference between f and its polynomial is measured at 201 points per trajectory and reported.

    Parameters
    ----------
    transform : Transform, dict of class to Transform, or None, default=None
        A continuous transform. May be None if ``coefficients`` are given. With a dict, rows of a class that
        is not a key have no trajectory, and all transforms have the same number of parameters.
    degree : int or None, default=None
        Degree of the polynomial: 0, 1 or even. None means 2 for linear models and 4 for kernel models. With
        several parameters it is 2, and the constraint on a span is slightly stronger than necessary.
    span : "transform", "line", pair or list of pairs, default="transform"
        Range of :math:`\theta`: the range of the transform, all real numbers, or ``(low, high)`` for each
        parameter. ``"line"`` extrapolates the polynomial far beyond its nodes.
    coefficients : "interpolate", "taylor", array or callable, default="interpolate"
        Source of the polynomial. ``"interpolate"`` uses nodes in the span; for the line, nodes in the range
        of the transform. ``"taylor"`` replaces the curve by its Taylor polynomial about 0,
        :math:`\sum_j \theta^j X_{ij}`. An array of shape (n, r + 1, d) contains the :math:`X_{ij}`, with
        :math:`X_{i0} = x_i`. Pass it to ``fit`` as ``<block>__coefficients`` if cross-validation must split
        it. A callable maps (X, y) to the array.
    classes : class, list of classes or None, default=None
        Classes whose rows have a trajectory; None means all classes. Leave it out if ``transform`` is a
        dict.

    See Also
    --------
    InvariantLoss : the largest loss on a finite orbit, without a polynomial.
    UncertainSamples : margins in ellipsoids around the rows.
    VirtualSamples : the sum of the losses of transformed copies.

    References
    ----------
    Graepel & Herbrich 2004; Nesterov 2000 for sums of squares; Lauer & Bloch 2008, eqs. (43)-(44), where
    (44) has the wrong sign. The slack, the span by the S-lemma and kernel models are additions.

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

    row_params: ClassVar[tuple[str, ...]] = ("coefficients",)
    way_out_of_collapse: ClassVar[str | None] = (
        "The trajectories of both classes overlap too much: use a narrower span."
    )
    formulas: ClassVar[Formulas] = Formulas(
        latex={
            "ends": r"y_i f(T_\theta x_i) \ge \rho_i - \xi_i \text{ at both ends of the span}",
            "still": r"f(T_\theta x_i) \text{ does not depend on } \theta",
            "cone": r"\|(p_1,\; p_0 - p_2 - 2 s_i)\| \le p_0 + p_2,\; "
            r"p(u) = y_i f(T_{\theta(u)} x_i) - \rho_i + \xi_i,\; s_i \ge 0",
            "squares": r"y_i f(T_\theta x_i) - \rho_i + \xi_i = \sigma_0 + (1 - u^2)\,\sigma_1 "
            r"\text{ at the nodes}",
            "line": r"\|(p_1,\; p_0 - p_2)\| \le p_0 + p_2,\; "
            r"p(u) = y_i f(T_{\theta(u)} x_i) - \rho_i + \xi_i",
            "squares_line": r"y_i f(T_\theta x_i) - \rho_i + \xi_i = \sigma_0 \text{ at the nodes}",
            "sigma_0": r"\sigma_0(u) = t(u)^\top P_i\, t(u),\; P_i \succeq 0",
            "sigma_1": r"\sigma_1(u) = t(u)^\top Q_i\, t(u),\; Q_i \succeq 0",
            "matrix": r"\begin{pmatrix} p_0 - \sum_k s_k & p_1^\top / 2 \\ p_1 / 2 & P_2 + \mathrm{diag}(s) "
            r"\end{pmatrix} \succeq 0,\; s \ge 0",
            "matrix_line": r"\begin{pmatrix} p_0 & p_1^\top / 2 \\ p_1 / 2 & P_2 \end{pmatrix} \succeq 0",
        },
        letters={
            r"T_\theta": r"\text{the transformation with parameters } \theta",
            r"T_{\theta(u)}": r"\text{the transformation with parameter } \theta(u), "
            r"\text{ for } u \in [-1, 1]",
            "p_0": r"\text{with } p_1, p_2 \text{ the coefficients of the polynomial } p(u)",
            "P_2": r"\text{with } p_0, p_1 \text{ the coefficients of } p_0 + p_1^\top u + u^\top P_2 u",
            "s_i": r"\text{a variable, the factor of } 1 - u^2",
            "s": r"\text{variables } s_k, \text{ the factors of } 1 - u_k^2",
            "u": r"\text{the position along the trajectory, from -1 to 1}",
            r"\sigma_0": r"\text{a sum of squares of polynomials in } u",
            r"\sigma_1": r"\text{another sum of squares}",
            "t(u)": r"\text{a basis of polynomials, such as } (1, u, u^2, \dots)",
            "P_i": r"\text{a matrix of variables}",
            "Q_i": r"\text{a matrix of variables}",
        },
    )

    def __init__(
        self,
        transform: Any = None,
        degree: int | None = None,
        span: Any = "transform",
        coefficients: Any = "interpolate",
        classes: Any = None,
    ):
        self.transform = transform
        self.degree = degree
        self.span = span
        self.coefficients = coefficients
        self.classes = classes

    # ------------------------------------------------------------------ arguments

    def validate(self, sample: Sample) -> None:
        degree = self.degree
        if self.transform is None and self._named:
            raise InvalidInput("there is neither a transform nor an array of coefficients. Give a transform.")
        if self.transform is None:
            self.check_chosen_classes(sample)
        else:
            self.check_transforms(sample)
        for transform in self.transforms:
            _check_curve(transform, sample)
        if not self._named and (self.coefficients is None or np.isscalar(self.coefficients)):
            raise InvalidInput(
                "coefficients must be 'interpolate', 'taylor', an array or a function of (X, y), "
                f"got {self.coefficients!r}."
            )
        q = self._n_parameters()
        lows = [low for low, _ in self._ranges()]
        if degree is not None and (not is_whole(degree) or degree < 0 or (degree > 1 and degree % 2)):
            suggestion = f" Use {degree + 1}." if is_whole(degree) and degree > 1 else ""
            raise InvalidInput(f"degree must be 0, 1 or an even integer, got {degree!r}.{suggestion}")
        if degree is not None and degree > 20:
            raise InvalidInput(f"degree must be at most 20, got {degree}. Use a narrower span instead.")
        if q > 1 and degree not in (None, 0, 2):
            raise InvalidInput(
                f"degree must be 0 or 2 with {q} parameters, got {degree}. Use degree=2, or one block "
                "per parameter."
            )
        if q > 1 and not self._is("interpolate"):
            raise InvalidInput(f"coefficients must be 'interpolate' with {q} parameters.")
        if not self._named and self._given(sample).shape[1] > 21:
            raise InvalidInput("coefficients must have degree 20 at most. Use a narrower span instead.")
        for transform, low in zip(self.transforms, lows, strict=False):
            transform.apply(sample.X_train[:1], low)

    def _n_parameters(self) -> int:
        """Return the number of parameters of every transform; raise InvalidInput if they differ."""
        counts = {transform.n_parameters for transform in self.transforms} or {1}
        if len(counts) > 1:
            raise InvalidInput(
                f"the transforms have {' and '.join(map(str, sorted(counts)))} parameters. Use one block for "
                "each, such as Trajectories(s, classes=0) + Trajectories(t, classes=1)."
            )
        return counts.pop()

    @property
    def _named(self) -> bool:
        return self._is("interpolate") or self._is("taylor")

    def _is(self, name: str) -> bool:
        return isinstance(self.coefficients, str) and self.coefficients == name

    @property
    def on_line(self) -> bool:
        """Whether the range of the parameters is all real numbers."""
        return isinstance(self.span, str) and self.span == "line"

    def _range(self, transform: Transform | None) -> tuple[Array, Array]:
        """Return low and high of every parameter; on the line, of the nodes."""
        span = self.span
        if isinstance(span, str):
            if span not in ("transform", "line"):
                raise InvalidInput(f"span must be 'transform', 'line' or (low, high), got {span!r}.")
            if transform is None:
                if span == "transform":
                    raise InvalidInput("span must be (low, high) or 'line' without a transform.")
                return np.array([-1.0]), np.array([1.0])
            span = transform.span()
            if any(low == high for low, high in span):
                raise InvalidInput(f"{transform!r} has the empty range {span}. Use a larger range.")
        try:
            pairs = np.atleast_2d(np.asarray(span, float))
        except (TypeError, ValueError, OverflowError):
            pairs = np.empty((0, 0))
        q = 1 if transform is None else transform.n_parameters
        if pairs.shape != (q, 2) or not np.isfinite(pairs).all() or not (pairs[:, 0] < pairs[:, 1]).all():
            each = "" if q == 1 else f" for each of the {q} parameters"
            raise InvalidInput(f"span must be (low, high) with low < high{each}, got {span!r}.")
        return pairs[:, 0], pairs[:, 1]

    def _given(self, sample: Sample) -> Array:
        """Return the given coefficients, (n, r + 1, d)."""
        array = self.aligned("coefficients", sample)
        assert array is not None
        n = sample.n_train
        d = sample.X.shape[1]
        if array.ndim != 3 or array.shape[2] != d or array.shape[1] == 0 or not np.isfinite(array).all():
            raise InvalidInput(
                f"coefficients has shape {array.shape}, expected ({n}, r + 1, {d}) with finite numbers: for "
                "each row the coefficients of the powers 0 to r of the parameter."
            )
        size = float(np.abs(sample.X_train).max(initial=0.0))
        if not np.allclose(array[:, 0], sample.X_train, rtol=1e-6, atol=1e-9 * size):
            raise InvalidInput("coefficients[:, 0] must equal the training rows: theta = 0 changes no row.")
        return array

    # ------------------------------------------------------------------ the polynomials

    def start(self, sample: Sample) -> Curves:
        X = sample.X_train
        q = self._n_parameters()
        degree = self.degree
        linear = sample.model is None or sample.model.linear
        coefficients = None
        if not self._named:
            coefficients = self._given(sample)
        if degree is None:
            degree = 4 if q == 1 and not linear else 2
            if coefficients is not None and linear:
                degree = coefficients.shape[1] - 1
                degree += degree > 1 and degree % 2
        degree = int(degree)
        if self._is("taylor"):
            coefficients = np.zeros((len(X), degree + 1, X.shape[1]))
            coefficients[:, 0] = X
            for group in self.groups(sample.labels):
                coefficients[group.rows] = taylor_coefficients(group.transform, X[group.rows], degree)
        low, high, part = self._range_of_rows(sample)
        nodes = lobatto(degree)[:, None] if q == 1 or degree == 0 else quadratic_nodes(q)
        if degree == 0:
            return Curves(low, high, np.zeros((1, q)), X[:, None], coefficients, part)
        points = np.repeat(X[:, None], len(nodes), axis=1)
        curves = Curves(low, high, nodes, points, coefficients, part)
        for transform, rows in self._curved(sample.labels):
            for k, theta in enumerate(curves.theta(nodes, rows[0])):
                points[rows, k] = _on_curve(
                    transform if coefficients is None else None, curves, X, rows, theta
                )
        return curves

    def _curved(self, labels: Array) -> list[tuple[Transform | None, Array]]:
        """Return the rows of each transform; None is the transform of rows with coefficients only."""
        if self.transform is not None:
            return [(group.transform, group.rows) for group in self.groups(labels)]
        rows = np.flatnonzero(self.applies_to(labels))
        return [(None, rows)] if len(rows) else []

    def _ranges(self) -> list[tuple[Array, Array]]:
        """Return the range of each transform, or of the parameter without a transform."""
        if self.transform is None:
            return [self._range(None)]
        return [self._range(transform) for transform in self.transforms]

    def _range_of_rows(self, sample: Sample) -> tuple[Array, Array, Array | None]:
        """Return low and high, and the range of each row if rows differ."""
        ranges = self._ranges()
        if not self.by_class:
            return *ranges[0], None
        low, high = (np.array(ends) for ends in zip(*ranges, strict=True))
        if self.transform is None:
            return low, high, np.where(self.applies_to(sample.labels), 0, -1)
        return low, high, self.transform_of(sample.labels)

    def build(self, f: Any, view: Building) -> Terms:
        import cvxpy as cp

        curves: Curves = view.state
        n_nodes, q = curves.nodes.shape
        rows, places = rows_and_slack(view, curves.moving)
        if len(rows) == 0 or n_nodes == 1:
            return Terms()
        sample = view.sample
        n = len(rows)
        y = sample.y[rows]
        points = curves.points[rows]
        slack = view.slack if n == len(view.rows) else view.slack[places]
        if n_nodes == 3 and q == 1:
            return Terms(constraints=self._cone(f, points, y, slack - sample.margin[rows]))
        values = cp.reshape(f(points.reshape(n * n_nodes, -1)), (n, n_nodes), order="C")
        shortfall = cp.reshape(slack - sample.margin[rows], (n, 1), order="C")
        p = cp.multiply(y[:, None] * np.ones(n_nodes), values) + shortfall @ np.ones((1, n_nodes))
        if q > 1:
            return Terms(constraints=self._matrix(p, curves.nodes))
        if n_nodes == 2:
            if self.on_line:
                return Terms(constraints={"ends": p >= 0, "still": values[:, 1] == values[:, 0]})
            return Terms(constraints={"ends": p >= 0})
        return Terms(constraints=self._squares(p, curves.nodes[:, 0]))

    def _cone(self, f: Any, points: Array, y: Array, shortfall: Any) -> dict[str, Any]:
        r"""Return degree 2: :math:`p_0 + p_2` is the mean of both ends, :math:`p_1` half their difference."""
        import cvxpy as cp

        low, middle, high = points.swapaxes(0, 1)
        if f.linear:  # a linear f needs fewer values: its mean is its value at the mean
            mean = f((low + high) / 2)
            half = f.slope(low, (high - low) / 2, spans=False)
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
        """Return p = sigma_0 on the line, and p = sigma_0 + (1 - u^2) sigma_1 on a span."""
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
        """Return the semidefinite matrix of a quadratic in several parameters, by the S-lemma on a span."""
        import cvxpy as cp

        n = p.shape[0]
        q = nodes.shape[1]
        # p at the nodes -> coefficients of 1, u_k, u_j u_k -> the entries of the matrix.
        entries = p @ (np.linalg.inv(monomials(nodes)).T @ homogeneous(q))
        if not self.on_line:
            s = cp.Variable((n, q), nonneg=True, name="s")
            signed = np.zeros((q, 1 + q, 1 + q))
            signed[:, 0, 0] = -1.0
            signed[np.arange(q), 1 + np.arange(q), 1 + np.arange(q)] = 1.0
            entries = entries + s @ signed.reshape(q, -1)
        label = "matrix_line" if self.on_line else "matrix"
        return {label: cp.constraints.PSD(cp.reshape(entries, (n, 1 + q, 1 + q), order="C"))}

    # ------------------------------------------------------------------ after the fit

    def row_duals(self, view: Solved) -> Array:
        rows, places = rows_and_slack(view, view.state.moving)
        moments = self._moments(view, rows)
        found = np.zeros(len(view.rows))
        found[places] = np.abs(moments[:, 0] if moments.ndim == 2 else moments[:, 0, 0])
        return found

    def findings(self, f: Any, view: Solved) -> WorstCase:
        curves: Curves = view.state
        rows, _ = rows_and_slack(view, curves.moving)
        sample = view.sample
        errors = np.full(sample.n_train, np.nan)
        for true, polynomial in self._along(f, view, rows, curves.grid(ANGLES)):
            errors[rows] = np.fmax(errors[rows], np.abs(true - polynomial).max(axis=1))
        worst = float(np.nanmax(errors)) if len(rows) else 0.0
        if worst > COARSE:
            warn(self._coarse(view, worst, int(np.nanargmax(errors))), CoarsePolynomial)
        owner, u, weights, effect = self._active(view, rows)
        thetas = np.vstack([np.zeros((len(view.rows), u.shape[1])), curves.theta(u, owner)])
        return WorstCase.of(
            view,
            np.concatenate([view.rows, owner]),
            np.vstack([sample.X[view.rows], self._points(f, view, owner, u)]),
            np.concatenate([view.alpha, weights]),
            thetas[:, 0] if u.shape[1] == 1 else thetas,
            errors,
            np.concatenate([view.alpha, effect]),
        )

    def _coarse(self, view: Solved, worst: float, row: int) -> str:
        m, q = view.state.nodes.shape
        sample = view.sample
        of_class = f" of {sample.name}" if sample.name else ""
        next_degree = m + 1 if m > 2 else 2
        higher = "" if q > 1 else f"degree={next_degree}, "
        return (
            f"block '{view.name}': along the trajectory of row {row}, f{of_class} differs from its "
            f"polynomial by up to {worst:.2g}, and margins hold only to this accuracy. "
            f"Use {higher}a narrower span, or InvariantLoss, which uses no polynomial."
        )

    def _along(self, f: Any, view: Solved, rows: Array, u: Array) -> Iterator[tuple[Array, Array]]:
        """Yield f on the trajectories of rows, and the polynomials: (rows, u), in parts."""
        curves = view.state
        if len(rows) == 0:
            return
        n, m, d = curves.points[rows].shape
        values = f.value(curves.points[rows].reshape(n * m, d)).reshape(n, m)
        basis = curves.basis(u)
        step = max(1, BLOCK // n)
        for block in (slice(start, start + step) for start in range(0, len(u), step)):
            yield self._values(f, view, rows, u[block]), values @ basis[block].T

    def _values(self, f: Any, view: Solved, rows: Array, u: Array) -> Array:
        """Return f at the transformed rows, (rows, u)."""
        found = np.empty((len(rows), len(u)))
        X = view.sample.X
        for transform, places in self._curved(view.sample.labels[rows]):
            at = rows[places]
            thetas = view.state.theta(u, at[0])
            if transform is not None and f.linear:
                W = np.tile(f.coef, (len(thetas), 1))
                if (pulled := transform.pulled_back(W, thetas)) is not None:
                    V, offset = pulled
                    found[places] = X[at] @ V.T + (offset + f.bias)
                    continue
            for k, theta in enumerate(thetas):
                found[places, k] = f.value(_on_curve(transform, view.state, X, at, theta))
        return found

    def points(self, curves: Curves, sample: Sample, rows: Array, u: Array) -> Array:
        """Return points of the curves of training rows.

        Parameters
        ----------
        curves : Curves
            State of the block.
        sample : Sample
            Training rows.
        rows : array of int, of shape (n,)
            Rows that have a curve.
        u : array of shape (k, q)
            Positions on each curve.

        Returns
        -------
        array of shape (n, k, d)
        """
        found = np.empty((len(rows), len(u), sample.X.shape[1]))
        for transform, places in self._curved(sample.labels[rows]):
            at = rows[places]
            for k, theta in enumerate(curves.theta(u, at[0])):
                found[places, k] = _on_curve(transform, curves, sample.X, at, theta)
        return found

    def _active(self, view: Solved, rows: Array) -> tuple[Array, Array, Array, Array]:
        """Return rows, positions u, weights and largest moments of the active points."""
        curves: Curves = view.state
        moments = self._moments(view, rows)
        q = curves.nodes.shape[1]
        size = np.abs(moments).max(axis=tuple(range(1, moments.ndim)), initial=0.0)
        active = np.flatnonzero(size > ROUNDING * view.largest)
        if len(curves.nodes) == 1:  # degree 0: no constraint
            return np.empty(0, int), np.empty((0, q)), np.empty(0), np.empty(0)
        if q == 1:
            owner, places, weights = atoms_of_each(moments[active], self.on_line)
            active = active[owner]
            u = places[:, None]
        else:  # the mean of the measure
            weights = moments[active, 0, 0]
            u = moments[active, 0, 1:] / weights[:, None]
        return rows[active], u, weights, size[active]

    def _moments(self, view: Solved, rows: Array) -> Array:
        """Return the moments of the dual measure of each row; a matrix per row if q > 1."""
        curves: Curves = view.state
        n = len(rows)
        nodes = curves.nodes[:, 0]
        duals = {label.removesuffix("_line").replace("line", "cone"): d for label, d in view.duals.items()}
        m, q = curves.nodes.shape
        if q > 1 and m > 1:
            return np.reshape(duals.get("matrix", np.empty(0)), (n, 1 + q, 1 + q))
        if "cone" in duals:
            t, x1, x2 = duals["cone"].reshape(3, n)
            return np.stack([t + x2, x1, t - x2], axis=1)
        at_nodes = np.zeros((n, m))
        if "squares" in duals:
            at_nodes = -duals["squares"].reshape(n, m)
        if "ends" in duals:
            at_nodes = np.abs(duals["ends"].reshape(n, m))
        if "still" in duals:
            at_nodes = at_nodes + np.outer(view.sample.y[rows] * duals["still"], [1.0, -1.0])
        return at_nodes @ np.vander(nodes, increasing=True)

    def _points(self, f: Any, view: Solved, owner: Array, u: Array) -> Array:
        """Return the points at u: on the polynomial curve for a linear f, else on the true curve."""
        curves: Curves = view.state
        far = np.asarray(np.isinf(u).any(axis=1))
        if f.linear:
            weights = curves.basis(np.where(far[:, None], 0.0, u))
            if far.any():  # the direction of the highest power instead of a point
                top = np.linalg.inv(np.vander(curves.nodes[:, 0], increasing=True))[-1]
                weights[far] = np.sign(u[far]) ** (len(top) - 1) * top
            return np.einsum("km,kmd->kd", weights, curves.points[owner])
        points = view.sample.X[owner].copy()
        for k in np.flatnonzero(~far):
            points[k] = self.points(curves, view.sample, owner[[k]], u[[k]])[0, 0]
        return points

    def verify(self, f: Any, view: Solved) -> Verdict:
        sample = view.sample
        rows, places = rows_and_slack(view, view.state.moving)
        u = view.state.grid(max(ANGLES, min(1001, 200_000 // max(1, len(rows)))), between=True)
        y = sample.y[rows]
        least = sample.margin[rows] - view.slack[places]
        lowest = np.full(len(rows), np.inf)
        at = np.zeros(len(rows), int)
        tol = max(FINE, view.tol)
        asked = f"y f >= rho - xi along {len(rows)} trajectories, to {tol:g}"
        if len(rows) == 0:
            return Verdict(None, asked=asked)
        violated = 0
        start = 0
        for true, _ in self._along(f, view, rows, u):
            excess = y[:, None] * true - least[:, None]
            violated += int(np.sum(excess < -tol))
            deepest = excess.argmin(axis=1)
            value = np.take_along_axis(excess, deepest[:, None], axis=1)[:, 0]
            at = np.where(value < lowest, start + deepest, at)
            lowest = np.minimum(lowest, value)
            start = start + true.shape[1]
        if self.on_line:
            asked += ", and outside the span by the polynomial"
            beyond = self._beyond(f, view, rows, least)
            lowest = np.minimum(lowest, beyond)
            violated = violated + int(np.sum(beyond < -tol))
        i = int(np.argmin(lowest))
        where = self.points(view.state, sample, rows[[i]], u[at[[i]]])[0, 0]
        return Verdict(violated == 0, float(lowest[i]), where, False, len(rows) * len(u), asked, violated)

    def _beyond(self, f: Any, view: Solved, rows: Array, least: Array) -> Array:
        """Return the smallest excess margin of the polynomials on the line, relative to their growth."""
        curves = view.state
        n, m, d = curves.points[rows].shape
        q = curves.nodes.shape[1]
        far = np.tan(np.linspace(-1.5707, 1.5707, 202))
        u = far[:, None] * (np.eye(q)[:, None] if q > 1 else np.ones((1, 1, 1))).reshape(q, 1, q)
        u = u.reshape(-1, q)
        values = f.value(curves.points[rows].reshape(n * m, d)).reshape(n, m) @ curves.basis(u).T
        growth = 1.0 + np.abs(u).max(axis=1) ** (m - 1 if q == 1 else 2)
        y = view.sample.y[rows]
        return np.asarray(((y[:, None] * values - least[:, None]) / growth).min(axis=1))

    def words(self) -> str:
        source = "its coefficients" if self.transform is None else repr(self.transform)
        return f"every row{self.which_rows()} keeps its margin along the trajectory of {source}"


def _check_curve(transform: Transform, sample: Sample) -> None:
    """Raise InvalidInput unless the transform has a trajectory for rows of this width."""
    transform.validate(sample.X.shape[1])
    if transform.n_parameters == 0:
        raise InvalidInput(f"{transform!r} has no parameters, so it has no trajectory. Give it parameters.")
    # Raises for discrete transforms, and for curves that do not contain x.
    transform.tangents(sample.X_train[:1])
    if isinstance(transform, Union):
        raise InvalidInput(
            "the union s | t has no common trajectory. Use two blocks, Trajectories(s) + "
            "Trajectories(t), or the composition s @ t."
        )


def _on_curve(transform: Transform | None, curves: Curves, X: Array, rows: Array, theta: Array) -> Array:
    """Return points of the curve of a transform, or of the polynomial curve if there is none."""
    if transform is None:
        assert curves.coefficients is not None
        return points_at(curves.coefficients[rows], theta)
    # Skips the checks of apply(), which take a third of its time here.
    return np.asarray(transform._move(X[rows], theta) if theta.any() else X[rows])
