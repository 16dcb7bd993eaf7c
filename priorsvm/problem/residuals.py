r"""Residuals of a solved problem, evaluated on the problem as the blocks state it.

The problem is :math:`\min_x J(x)` subject to :math:`g_i(x) \in -\mathcal K_i`, with the Lagrangian
:math:`L = J + \sum_i \lambda_i^\top g_i`. A solution :math:`(x, \lambda)` is optimal under four conditions:

- x satisfies the constraints: the primal residual is 0;
- the dual variables :math:`\lambda_i` lie in the dual cones: the dual residual is 0;
- :math:`\nabla_x L = 0`: the stationarity residual is 0;
- :math:`\lambda_i^\top g_i = 0`: the gap is 0.

All are evaluated on the expressions of the problem, not on the compiled data of a solver.

Residuals of the data of a solver do not notice a wrong compilation. CVXPY 1.9 passes wrong bounds of dense
``pos`` and ``abs`` to HiGHS and PIQP, which report "optimal" at 40.0 where 5.77 is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.foreign import affine_jacobian

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import cvxpy as cp

    from .._utils.arrays import Array


Jacobian = dict["cp.Variable", "Callable[[Array], Array]"]


@dataclass(frozen=True)
class Residuals:
    """Relative residuals of a solution.

    If a penalty has no gradient, such as a norm, the stationarity is NaN. The gap then is the distance of the
    objective from Clarabel's optimum.

    Attributes
    ----------
    primal : float
        Largest violation of a constraint.
    dual : float
        Largest distance of a dual variable from its cone.
    stationarity : float
        Largest entry of the gradient of the Lagrangian.
    gap : float
        Total complementarity, which at a stationary point is the duality gap.
    """

    primal: float
    dual: float
    stationarity: float
    gap: float

    @property
    def worst(self) -> float:
        """The largest residual that is not NaN; infinite if the solution is not finite."""
        if np.isnan(self.primal) or np.isnan(self.gap):
            return float("inf")
        return max(r for r in (self.primal, self.dual, self.stationarity, self.gap) if not np.isnan(r))

    def __str__(self) -> str:
        names = ("primal", "dual", "stationarity", "gap")
        values = {name: getattr(self, name) for name in names}
        parts = [f"{name} {'not computed' if np.isnan(v) else f'{v:.1e}'}" for name, v in values.items()]
        return ", ".join(parts)


def unit_of(bound: Array, y: Array) -> float:
    """Return the unit of a gap whose objective is nearly zero: 1, or twice the loss of the better constant f.

    Small costs then do not make the relative gap small, and neither do rows that a constant f classifies
    correctly.
    """
    return min(1.0, 2.0 * float(min(bound[y > 0].sum(), bound[y < 0].sum())))


def residuals(
    problem: cp.Problem,
    jacobians: Mapping[int, Any] | None = None,
    unit: float = 1.0,
    costs: Mapping[cp.Variable, float] | None = None,
    products: tuple[Callable[[Any], Any], Mapping[cp.Variable, Jacobian]] | None = None,
) -> Residuals:
    """Return the residuals of the values and dual variables that a solver stored in ``problem``.

    Parameters
    ----------
    problem : cvxpy.Problem
        The solved problem.
    jacobians : mapping or None, default=None
        Gradients that CVXPY would derive slowly. Constraint id -> map for each variable from a dual variable
        to its part of the gradient. ``id(objective)`` -> such maps of a part of the objective, and the rest
        of the objective as an expression or None.
    unit : float, default=1.0
        The gap is relative to the objective plus this unit.
    costs : mapping or None, default=None
        Variable -> smallest unit of its gradient, if it is below 1.
    products : tuple or None, default=None
        ``Products.replaced`` of f and ``Tie.product_jacobians``, to differentiate dense products as matrices.

    Returns
    -------
    Residuals
    """
    values = [
        np.asarray(v.value, float) if v.value is not None else np.array(np.nan) for v in problem.variables()
    ]
    if not all(np.isfinite(v).all() for v in values):
        return Residuals(*[float("inf")] * 4)
    objective = problem.objective.expr
    size = unit + abs(float(objective.value))
    violations = [_violation(constraint) for constraint in problem.constraints]
    primal = max([_bound_violation(problem), *violations])
    if not is_smooth(problem):
        return Residuals(primal, float("nan"), float("nan"), _above_reference(problem) / size)
    gradient = _Gradient(problem, costs or {}, products)
    known, rest = (jacobians or {}).get(id(problem.objective), (None, objective))
    if known is not None:
        gradient.add(objective, np.ones(1), known)
    if rest is not None:
        gradient.add(rest, np.ones(1))
    dual = 0.0
    gap = 0.0
    for constraint in problem.constraints:
        for expression, variable, distance in _lagrangian_parts(constraint):
            if variable is None or not np.isfinite(variable).all():
                return Residuals(primal, float("inf"), float("inf"), float("inf"))
            dual = max(dual, distance)
            gap += float(variable @ np.ravel(expression.value, order="F"))
            gradient.add(expression, variable, (jacobians or {}).get(constraint.id))
    stationarity, bound_gap = gradient.residual()
    return Residuals(primal, dual, stationarity, abs(gap - bound_gap) / size)


def is_smooth(problem: cp.Problem) -> bool:
    """Return whether the gradient of the Lagrangian exists: affine constraints in cones with known duals."""
    import cvxpy as cp

    kinds = cp.constraints
    cones = (kinds.Zero, kinds.Equality, kinds.NonNeg, kinds.NonPos, kinds.Inequality, kinds.SOC, kinds.PSD)
    if not problem.objective.expr.is_quadratic():
        return False
    if not all(isinstance(c, cones) and all(a.is_affine() for a in c.args) for c in problem.constraints):
        return False
    return not any(v.attributes[a] for v in problem.variables() for a in ("NSD", "diag", "hermitian"))


def lagrangian_gradient(problem: cp.Problem) -> dict[cp.Variable, Array]:
    """Return the gradient of the Lagrangian at the values and dual variables of a problem, by variable."""
    gradient = _Gradient(problem, {})
    gradient.add(problem.objective.expr, np.ones(1))
    for constraint in problem.constraints:
        for expression, variable, _ in _lagrangian_parts(constraint):
            if variable is not None:
                gradient.add(expression, variable)
    return gradient.total


def _violation(constraint: cp.Constraint) -> float:
    """Return the largest relative violation: entry by entry for inequalities and equations."""
    import cvxpy as cp

    sizes = [np.abs(np.asarray(a.value, float)) for a in constraint.args]
    violation = np.asarray(constraint.violation(), float)
    if isinstance(constraint, (cp.constraints.Inequality, cp.constraints.Equality)):
        return float((violation / (1.0 + np.maximum(sizes[0], sizes[1]))).max(initial=0.0))
    return float(violation.max(initial=0.0)) / (1.0 + max(float(s.max(initial=0.0)) for s in sizes))


def _largest_negative(variable: Array) -> float:
    """Return the size of the most negative entry, relative to each entry."""
    return float((np.maximum(-variable, 0.0) / (1.0 + np.abs(variable))).max(initial=0.0))


def _above_reference(problem: cp.Problem) -> float:
    """Return the objective minus Clarabel's optimum; the values in the problem are restored."""
    import cvxpy as cp

    value = float(problem.objective.value)
    holders = [*problem.variables(), *(v for c in problem.constraints for v in c.dual_variables)]
    saved = [holder.value for holder in holders]
    reference = cp.Problem(problem.objective, problem.constraints)
    reference.solve(solver="CLARABEL")
    for holder, before in zip(holders, saved, strict=True):
        holder.save_value(before)
    return value - float(reference.value) if reference.status == cp.OPTIMAL else float("inf")


class _Gradient:
    """Gradient of the Lagrangian, by variable.

    Attributes
    ----------
    total : dict
        Variable -> gradient.
    unit : dict
        Variable -> the largest part of each entry of its gradient, which the residual is relative to.
    """

    def __init__(self, problem: cp.Problem, costs: Mapping[cp.Variable, float], products: Any = None):
        self.total = {v: np.zeros(v.size) for v in problem.variables()}
        self.unit = {v: np.full(v.size, min(1.0, costs.get(v, 1.0))) for v in self.total}
        self.replaced: Any = None if products is None else products[0]
        self.products: Mapping[cp.Variable, Jacobian] = {} if products is None else products[1]

    def add(self, expression: cp.Expression, dual: Array, known: Jacobian | None = None) -> None:
        """Add the gradient of ``dual @ expression``."""
        if known is None:
            if self.replaced is not None and expression.is_affine():
                expression = self.replaced(expression)
            known = adjoints(expression)
        for variable, adjoint in known.items():
            part = adjoint(dual)
            if variable in self.products:
                self.add(expression, part, self.products[variable])
                continue
            self.total[variable] += part
            self.unit[variable] = np.maximum(self.unit[variable], np.abs(part))

    def residual(self) -> tuple[float, float]:
        """Return the largest relative entry that no bound cancels, and the gap of the bounds."""
        worst = 0.0
        gap = 0.0
        for variable, g in self.total.items():
            g, part = _projected(variable, g)
            gap += part
            unit = self.unit[variable] if len(g) == variable.size else self.unit[variable].max()
            worst = max(worst, float((np.abs(g) / unit).max(initial=0.0)))
        return worst, gap


def _projected(variable: cp.Variable, g: Array) -> tuple[Array, float]:
    """Return the part of a gradient that no bound of the variable cancels, and the gap of its bounds.

    For a PSD variable the first part are the negative eigenvalues of the gradient.
    """
    x = np.ravel(variable.value, order="F")
    if variable.attributes["symmetric"] or variable.attributes["PSD"]:
        G = g.reshape(variable.shape, order="F")
        G = (G + G.T) / 2  # a symmetric variable changes by symmetric steps only
        g = np.ravel(G, order="F")
        if variable.attributes["PSD"]:
            return np.minimum(np.linalg.eigvalsh(G), 0.0), abs(float(g @ x))
    low, high = _bounds(variable)
    at_low = np.maximum(g, 0.0)
    at_high = np.minimum(g, 0.0)
    gap = float(at_low[low > -np.inf] @ (x - low)[low > -np.inf])
    gap -= float(at_high[high < np.inf] @ (high - x)[high < np.inf])
    return np.where(low > -np.inf, 0.0, at_low) + np.where(high < np.inf, 0.0, at_high), gap


def adjoints(expression: cp.Expression) -> Jacobian:
    """Return for each variable the map from a dual variable to its part of the gradient.

    The maps of an affine expression do not depend on the values of the variables.
    """

    def times(jacobian: Any, dual: Array) -> Array:
        # CVXPY returns the gradient of a scalar as a number, other gradients as sparse matrices.
        return np.ravel(jacobian * dual if np.ndim(jacobian) == 0 else jacobian @ dual)

    return {variable: partial(times, jacobian) for variable, jacobian in _jacobian(expression).items()}


def _jacobian(expression: cp.Expression) -> Mapping[cp.Variable, Any]:
    """Return the sparse matrix of derivatives by each variable, (size of variable, size of expression)."""
    if not expression.is_affine() or expression.parameters():
        return dict(expression.grad)
    return affine_jacobian(expression)


def _bounds(variable: cp.Variable) -> tuple[Array, Array]:
    """Return the lower and upper bound in the attributes of a variable, entry by entry."""
    attributes = variable.attributes
    low, high = (-np.inf, np.inf) if attributes["bounds"] is None else attributes["bounds"]
    low = np.ravel(np.broadcast_to(np.asarray(low, float), variable.shape), order="F")
    high = np.ravel(np.broadcast_to(np.asarray(high, float), variable.shape), order="F")
    if attributes["nonneg"] or attributes["pos"]:
        low = np.maximum(low, 0.0)
    if attributes["nonpos"] or attributes["neg"]:
        high = np.minimum(high, 0.0)
    return low, high


def _bound_violation(problem: cp.Problem) -> float:
    """Return the largest relative violation of the bounds in the attributes of variables."""
    worst = 0.0
    for variable in problem.variables():
        x = np.ravel(variable.value, order="F")
        low, high = _bounds(variable)
        outside = np.maximum(np.maximum(low - x, x - high), 0.0)
        worst = max(worst, float((outside / (1.0 + np.abs(x))).max(initial=0.0)))
        if variable.attributes["PSD"]:
            lowest = float(np.linalg.eigvalsh(np.asarray(variable.value, float)).min())
            worst = max(worst, -lowest / (1.0 + float(np.abs(x).max(initial=0.0))))
    return worst


def _lagrangian_parts(constraint: cp.Constraint) -> list[tuple[cp.Expression, Array | None, float]]:
    """Return the parts g_i of a constraint, their dual variables and the distances from the dual cone.

    The dual variables have the signs of the Lagrangian.
    """
    import cvxpy as cp

    def flat(value: Any) -> Array | None:
        return None if value is None else np.ravel(np.asarray(value, float), order="F")

    if isinstance(constraint, cp.SOC):
        t, x = (flat(v.value) for v in constraint.dual_variables)
        if t is None or x is None:
            return [(constraint.args[0], None, 0.0)]
        shape = constraint.args[1].shape
        columns = x.reshape(shape, order="F") if len(shape) > 1 else x[:, None]
        lengths = np.linalg.norm(columns, axis=constraint.axis)  # 0 for a vector
        outside = float((np.maximum(lengths - t, 0.0) / (1.0 + lengths)).max(initial=0.0))
        return [(constraint.args[0], -t, outside), (constraint.args[1], -x, 0.0)]
    dual = flat(constraint.dual_value)
    if dual is None:
        return [(constraint.args[0], None, 0.0)]
    if isinstance(constraint, cp.constraints.PSD):
        matrices = np.asarray(constraint.dual_value, float)
        lowest = float(np.linalg.eigvalsh((matrices + np.swapaxes(matrices, -1, -2)) / 2).min())
        return [(constraint.args[0], -dual, max(0.0, -lowest) / (1.0 + float(np.abs(matrices).max())))]
    if isinstance(constraint, (cp.constraints.Zero, cp.constraints.Equality)):
        return [(constraint.expr, dual, 0.0)]
    if isinstance(constraint, cp.constraints.NonNeg):
        return [(constraint.args[0], -dual, _largest_negative(dual))]
    return [(constraint.expr, dual, _largest_negative(dual))]
