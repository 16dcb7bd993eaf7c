r"""Residuals of a solved problem, evaluated on the problem as stated.

For :math:`\min_x J(x)` subject to :math:`g_i(x) \in -\mathcal K_i` and the Lagrangian
:math:`L = J + \sum_i \lambda_i^\top g_i`, an answer :math:`(x, \lambda)` is optimal when the constraints
hold, the :math:`\lambda_i` lie in the dual cones, :math:`\nabla_x L = 0`, and :math:`\lambda_i^\top g_i = 0`.
All are evaluated on the expressions the problem was written in, not on what a solver was handed.
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
    """Relative residuals.

    Where a penalty has no gradient (a norm, a ``pos``) the stationarity is NaN and the gap is the distance
    to Clarabel's optimum of the same problem.

    Attributes
    ----------
    primal : largest violation of a constraint.
    dual : largest distance of a multiplier from its cone.
    stationarity : largest entry of the Lagrangian's gradient.
    gap : total complementarity, which at a stationary point is the duality gap.
    """

    primal: float
    dual: float
    stationarity: float
    gap: float

    @property
    def worst(self) -> float:
        """The largest that could be had; infinite if the answer is not finite."""
        if np.isnan(self.primal) or np.isnan(self.gap):
            return float("inf")
        return max(r for r in (self.primal, self.dual, self.stationarity, self.gap) if not np.isnan(r))

    def __str__(self) -> str:
        return (
            f"primal {self.primal:.1e}, dual {self.dual:.1e}, "
            f"stationarity {self.stationarity:.1e}, gap {self.gap:.1e}"
        )


def unit_of(bound: Array, y: Array) -> float:
    """What a gap is relative to where the objective is nearly zero: 1, or what the better constant f costs.

    A model is no better solved for its small costs, nor for those of rows that any constant gets right.
    """
    return min(1.0, 2.0 * float(min(bound[y > 0].sum(), bound[y < 0].sum())))


def residuals(
    problem: cp.Problem,
    jacobians: Mapping[int, Any] | None = None,
    unit: float = 1.0,
    costs: Mapping[cp.Variable, float] | None = None,
    products: tuple[Callable[[Any], Any], Mapping[cp.Variable, Jacobian]] | None = None,
) -> Residuals:
    """Residuals of the values and multipliers a solver left in ``problem``.

    The gap is relative to the objective or ``unit``, the gradient to its parts or 1; or by a variable to its
    ``costs`` if these are smaller.

    ``jacobians`` may give, by constraint id, what cvxpy would have to work out at some length: for each
    variable the map from a multiplier to its part of the gradient. By ``id(objective)`` it may give such
    maps for a part of the objective, and the rest as an expression or None. ``products`` are
    ``Products.replaced`` of f and ``Tie.product_jacobians``: dense products are differentiated as matrices.
    """
    objective = problem.objective.expr
    values = [
        np.asarray(v.value, float) if v.value is not None else np.array(np.nan) for v in problem.variables()
    ]
    if not all(np.isfinite(v).all() for v in values):
        return Residuals(*[float("inf")] * 4)
    size = unit + abs(float(objective.value))
    primal = _bounds_violated(problem)
    dual = 0.0
    gap = 0.0
    smooth = objective.is_quadratic() and all(_is_smooth(c) for c in problem.constraints)
    smooth = smooth and not any(
        v.attributes[a] for v in problem.variables() for a in ("NSD", "diag", "hermitian")
    )
    gradient = _Gradient(problem, costs or {}, products)
    if smooth:
        known, rest = (jacobians or {}).get(id(problem.objective), (None, objective))
        if known is not None:
            gradient.add(objective, np.ones(1), known)
        if rest is not None:
            gradient.add(rest, np.ones(1))
    for constraint in problem.constraints:
        primal = max(primal, _violated(constraint))
        if not smooth:
            continue
        for expression, multiplier, distance in _lagrangian_parts(constraint):
            if multiplier is None or not np.isfinite(multiplier).all():
                return Residuals(primal, float("inf"), float("inf"), float("inf"))
            dual = max(dual, distance)
            gap += float(multiplier @ np.ravel(expression.value, order="F"))
            if smooth:
                gradient.add(expression, multiplier, (jacobians or {}).get(constraint.id))
    if not smooth:
        return Residuals(primal, float("nan"), float("nan"), _above_reference(problem) / size)
    stationarity, bound_gap = gradient.residual()
    return Residuals(primal, dual, stationarity, abs(gap - bound_gap) / size)


def _is_smooth(constraint: cp.Constraint) -> bool:
    """Whether the constraint is of a kind whose multipliers can be checked: affine parts in a plain cone."""
    import cvxpy as cp

    kinds = cp.constraints
    plain = (kinds.Zero, kinds.Equality, kinds.NonNeg, kinds.NonPos, kinds.Inequality, kinds.SOC, kinds.PSD)
    return isinstance(constraint, plain) and all(a.is_affine() for a in constraint.args)


def _violated(constraint: cp.Constraint) -> float:
    """The largest violation, each entry against its own size where entries stand for themselves."""
    import cvxpy as cp

    sizes = [np.abs(np.asarray(a.value, float)) for a in constraint.args]
    violation = np.asarray(constraint.violation(), float)
    if isinstance(constraint, (cp.constraints.Inequality, cp.constraints.Equality)):
        return float((violation / (1.0 + np.maximum(sizes[0], sizes[1]))).max(initial=0.0))
    return float(violation.max(initial=0.0)) / (1.0 + max(float(s.max(initial=0.0)) for s in sizes))


def _negative(multiplier: Array) -> float:
    """How far the worst entry is below zero, against its own size."""
    return float((np.maximum(-multiplier, 0.0) / (1.0 + np.abs(multiplier))).max(initial=0.0))


def _above_reference(problem: cp.Problem) -> float:
    """How far the objective is above Clarabel's optimum, for penalties that have no gradient to check."""
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
    """The gradient of the Lagrangian, summed up variable by variable."""

    def __init__(self, problem: cp.Problem, costs: Mapping[cp.Variable, float], products: Any = None):
        self.total = {v: np.zeros(v.size) for v in problem.variables()}
        self.reach = {v: np.full(v.size, min(1.0, costs.get(v, 1.0))) for v in self.total}
        self.replaced: Any = None if products is None else products[0]
        self.products: Mapping[cp.Variable, Jacobian] = {} if products is None else products[1]

    def add(self, expression: cp.Expression, multiplier: Array, known: Jacobian | None = None) -> None:
        if known is None:
            if self.replaced is not None and expression.is_affine():
                expression = self.replaced(expression)
            known = adjoints(expression)
        for variable, adjoint in known.items():
            part = adjoint(multiplier)
            if variable in self.products:
                self.add(expression, part, self.products[variable])
                continue
            self.total[variable] += part
            self.reach[variable] = np.maximum(self.reach[variable], np.abs(part))

    def residual(self) -> tuple[float, float]:
        """Largest relative entry that no bound of a variable explains, and what the bounds add to the gap."""
        worst = explained = 0.0
        for variable, g in self.total.items():
            low, high = _bounds(variable)
            x = np.ravel(variable.value, order="F")
            if variable.attributes["symmetric"] or variable.attributes["PSD"]:
                G = g.reshape(variable.shape, order="F")
                g = np.ravel((G + G.T) / 2, order="F")  # only symmetric moves are possible
            if variable.attributes["PSD"]:  # a PSD gradient pushes against the cone
                eigenvalues = np.linalg.eigvalsh((G + G.T) / 2)
                explained += abs(float(g @ x))
                g = np.minimum(eigenvalues, 0.0)
            else:
                at_low = np.maximum(g, 0.0)
                at_high = np.minimum(g, 0.0)
                explained += float(at_low[low > -np.inf] @ (x - low)[low > -np.inf])
                explained -= float(at_high[high < np.inf] @ (high - x)[high < np.inf])
                g = np.where(low > -np.inf, 0.0, at_low) + np.where(high < np.inf, 0.0, at_high)
            reach = self.reach[variable] if len(g) == variable.size else self.reach[variable].max()
            worst = max(worst, float((np.abs(g) / reach).max(initial=0.0)))
        return worst, explained


def adjoints(expression: cp.Expression) -> Jacobian:
    """For each variable the map from a multiplier to its part of the gradient; of affine ones for good."""

    def times(jacobian: Any, multiplier: Array) -> Array:
        # A scalar's gradient comes as a number, every other one as a sparse matrix.
        return np.ravel(jacobian * multiplier if np.ndim(jacobian) == 0 else jacobian @ multiplier)

    return {variable: partial(times, jacobian) for variable, jacobian in _jacobian(expression).items()}


def _jacobian(expression: cp.Expression) -> Mapping[cp.Variable, Any]:
    """Return the sparse matrix of derivatives by each variable, (size of variable, size of expression)."""
    if not expression.is_affine() or expression.parameters():
        return dict(expression.grad)
    return affine_jacobian(expression)


def _bounds(variable: cp.Variable) -> tuple[Array, Array]:
    """Lower and upper bound a variable was declared with, entry by entry."""
    attributes = variable.attributes
    low, high = (-np.inf, np.inf) if attributes["bounds"] is None else attributes["bounds"]
    low = np.ravel(np.broadcast_to(np.asarray(low, float), variable.shape), order="F")
    high = np.ravel(np.broadcast_to(np.asarray(high, float), variable.shape), order="F")
    if attributes["nonneg"] or attributes["pos"]:
        low = np.maximum(low, 0.0)
    if attributes["nonpos"] or attributes["neg"]:
        high = np.minimum(high, 0.0)
    return low, high


def _bounds_violated(problem: cp.Problem) -> float:
    """By how much values leave the bounds their variable was declared with."""
    worst = 0.0
    for variable in problem.variables():
        x = np.ravel(variable.value, order="F")
        (low, high) = _bounds(variable)
        outside = np.maximum(np.maximum(low - x, x - high), 0.0)
        worst = max(worst, float((outside / (1.0 + np.abs(x))).max(initial=0.0)))
        if variable.attributes["PSD"]:
            lowest = float(np.linalg.eigvalsh(np.asarray(variable.value, float)).min())
            worst = max(worst, -lowest / (1.0 + float(np.abs(x).max(initial=0.0))))
    return worst


def _lagrangian_parts(constraint: cp.Constraint) -> list[tuple[cp.Expression, Array | None, float]]:
    """Each g_i of a constraint, its multiplier (signs as in L), and how far that is outside the dual cone."""
    import cvxpy as cp

    def flat(value: Any) -> Array | None:
        return None if value is None else np.ravel(np.asarray(value, float), order="F")

    if isinstance(constraint, cp.SOC):
        t, x = (flat(v.value) for v in constraint.dual_variables)
        if t is None or x is None:
            return [(constraint.args[0], None, 0.0)]
        shape = constraint.args[1].shape
        columns = x.reshape(shape, order="F") if len(shape) > 1 else x[:, None]
        lengths = np.linalg.norm(columns, axis=constraint.axis if len(shape) > 1 else 0)
        return [
            (
                constraint.args[0],
                -t,
                float((np.maximum(lengths - t, 0.0) / (1.0 + lengths)).max(initial=0.0)),
            ),
            (constraint.args[1], -x, 0.0),
        ]
    multiplier = flat(constraint.dual_value)
    if multiplier is None:
        return [(constraint.args[0], None, 0.0)]
    if isinstance(constraint, cp.constraints.PSD):
        matrices = np.asarray(constraint.dual_value, float)
        lowest = float(np.linalg.eigvalsh((matrices + np.swapaxes(matrices, -1, -2)) / 2).min())
        return [(constraint.args[0], -multiplier, max(0.0, -lowest) / (1.0 + float(np.abs(matrices).max())))]
    if isinstance(constraint, (cp.constraints.Zero, cp.constraints.Equality)):
        return [(constraint.expr, multiplier, 0.0)]
    if isinstance(constraint, cp.constraints.NonNeg):
        return [(constraint.args[0], -multiplier, _negative(multiplier))]
    return [(constraint.expr, multiplier, _negative(multiplier))]
