r"""Expressions of one decision function as expressions of another one.

The problem of the next round has new variables. A user's own expression, written with the variables of an
earlier round, refers to points and slopes, which the next decision function has, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput

if TYPE_CHECKING:
    import cvxpy as cp

    from .symbolic import Decision


def rebound(tree: Any, f: Decision, lineage: int | None = None) -> Any:
    """Return an expression or a constraint with the variables of f.

    Parameters
    ----------
    tree : cvxpy.Expression or cvxpy.Constraint
        It may contain variables of other decision functions and variables that belong to none.
    f : Decision
        What ``tree`` uses of f is added to ``f.used``.
    lineage : int or None, default=None
        Number of the assembly. Variables of a decision function with another number are refused.

    Raises
    ------
    InvalidInput
        If f has no counterpart of a variable.
    """
    replacements = {}
    for variable in tree.variables():
        source = getattr(variable, "decision", None)
        if source is not None:
            if source is not f and (lineage is None or source.lineage != lineage):
                raise InvalidInput(
                    "a term uses f of another assembly. Use f of this assembly, or numbers such as "
                    "other.f(Z).value."
                )
            counterpart = _counterpart(variable, source, f)
            if counterpart is not variable:
                replacements[variable.id] = counterpart
    return substituted(tree, replacements)


def substituted(tree: Any, replacements: Mapping[int, Any]) -> Any:
    """Return an expression or a constraint with other expressions for variables, by variable id."""
    if not tree.args:
        return replacements.get(tree.id, tree) if hasattr(tree, "id") else tree
    arguments = [substituted(argument, replacements) for argument in tree.args]
    if all(new is old for new, old in zip(arguments, tree.args, strict=True)):
        return tree
    return tree.copy(arguments)


def _counterpart(variable: cp.Variable, source: Decision, f: Decision) -> Any:
    """Return what f has for a variable of another decision function."""
    if variable is source.slack:
        return _slack(source, f)
    if variable is source.b:
        f.used.add("bias")
        return f.b if f.linear else f.bias
    if source.has_length and variable is source.length:
        return f.length
    for evaluation in source.evaluations:
        if evaluation.variable is variable:
            if source is f:
                return variable
            atoms = evaluation.atoms
            return (
                f(atoms.points)
                if atoms.directions is None
                else f.slope(atoms.points, atoms.directions, evaluation.spans)
            )
    f.used.add("coef")
    old = source.coefficients.halves if source.coefficients else []
    new = f.coefficients.halves if f.coefficients else []
    for half, counterpart in zip(old, new, strict=False):
        if half is variable:
            return counterpart
    raise InvalidInput(_no_counterpart(variable.name()))


def _slack(source: Decision, f: Decision) -> Any:
    """Return the slacks of f for the rows that the slacks of another decision function belong to."""
    slack: Any = f.slack
    if source is f or np.array_equal(source.rows, f.rows):
        return slack
    places = {row: k for k, row in enumerate(f.rows.tolist())}
    try:
        return slack[[places[row] for row in source.rows.tolist()]]
    except KeyError as error:
        raise InvalidInput(_no_counterpart("xi")) from error


def _no_counterpart(name: str) -> str:
    return (
        f"the variable '{name}' belongs to another problem, and this problem has no such variable. Give a "
        "function of f instead of an expression."
    )
