"""A solution as values and dual variables of the assembled problem.

Routes without CVXPY return the decision function and dual variables as arrays. Here they are written to the
variables and constraints of the problem, so that its value and its expressions can be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..function.rebind import substituted
from .residuals import is_smooth, lagrangian_gradient

if TYPE_CHECKING:
    from .._utils.arrays import Array
    from ..function.fitted import Fitted
    from .assemble import Compiled


def lift(compiled: Compiled, f: Fitted, duals: Mapping[str, Any], slack: Array) -> None:
    """Write a solution to the variables and constraints of an assembled problem.

    Dual variables of the equations of f follow from stationarity, and remain None if a penalty has no
    gradient. If variables of a block cannot be determined from f, the problem remains unsolved.

    Parameters
    ----------
    compiled : Compiled
        The assembled problem.
    f : Fitted
        The decision function.
    duals : mapping of str to array
        Dual variables by label of the constraint, as CVXPY returns them.
    slack : array
        The slack of each row of the loss.
    """
    import cvxpy as cp

    values = _values_of_f(compiled, f)
    others = _other_values(compiled, values, slack)
    if others is None:
        return
    values.update(others)
    problem = compiled.problem
    shaped = {v.id: np.reshape(values[v.id], v.shape, order="F") for v in problem.variables()}
    for variable in problem.variables():
        variable.save_value(shaped[variable.id])
    for label, constraint in compiled.constraints.items():
        dual = duals.get(label)
        parts = dual if isinstance(dual, list) else [dual]
        for variable, part in zip(constraint.dual_variables, parts, strict=False):
            if part is not None:
                variable.save_value(np.reshape(part, variable.shape, order="F"))
    solution = {"status": cp.OPTIMAL, "opt_val": None, "primal_vars": shaped, "attr": {}}
    problem.unpack(SimpleNamespace(**solution, dual_vars=_duals_of_f(compiled)))


def _values_of_f(compiled: Compiled, f: Fitted) -> dict[int, Array]:
    """Return the values of all variables of f, by variable id."""
    tie = compiled.tie
    c, b = tie.features.coefficients_of(f)
    halves = tie.coefficients.halves
    parts = [c] if len(halves) == 1 else [np.maximum(c, 0.0), np.maximum(-c, 0.0)]
    values = {half.id: part for half, part in zip(halves, parts, strict=True)}
    values[compiled.f.b.id] = np.asarray(b)
    for g, matrix, biased in tie.parts.values():
        values[g.id] = matrix @ c + (b if biased else 0.0)
    if compiled.f.has_length:
        values[compiled.f.length.id] = np.asarray(np.linalg.norm(tie.features.coordinate_matrix @ c))
    return values


def _other_values(compiled: Compiled, values: Mapping[int, Array], slack: Array) -> dict[int, Any] | None:
    """Return the slack and the variables of blocks: as solved, or optimal for this f; None if not found."""
    import cvxpy as cp

    untied = compiled.untied
    others = [v for v in untied.variables() if v.id not in values and v is not compiled.slack]
    if any(v.value is None for v in others):
        known = {v.id: cp.Constant(values[v.id]) for v in untied.variables() if v.id in values}
        pinned = cp.Problem(
            cp.Minimize(substituted(untied.objective.expr, known)),
            [substituted(c, known) for c in untied.constraints],
        )
        try:
            pinned.solve(solver="CLARABEL")
        except cp.SolverError:
            return None
        if pinned.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
            return None
        slack = compiled.slack.value
    slacks = {v.id: slack for v in compiled.slack.variables()}  # none with a hard margin
    return {**slacks, **{v.id: v.value for v in others}}


def _duals_of_f(compiled: Compiled) -> dict[int, Any]:
    """Return the dual variables of the equations of f, by constraint id."""
    untied = compiled.untied
    missing = any(v.value is None for c in untied.constraints for v in c.dual_variables)
    if missing or not is_smooth(untied):
        return {}
    gradient = lagrangian_gradient(untied)
    tie = compiled.tie
    duals = {i: -gradient.get(g, np.zeros(g.size)) for i, (g, *_) in tie.parts.items()}
    if compiled.f.has_length:
        cone = tie.definitions["length"]
        top = float(gradient[compiled.f.length][0])
        along = np.asarray(cone.args[1].value)
        size = max(float(np.linalg.norm(along)), 1e-300)
        duals[cone.id] = np.concatenate([[top], -top * along / size])
    return duals
