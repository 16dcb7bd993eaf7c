"""Problem classes: LP, QP, SOCP, SDP and EXP, each of which contains the one before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp

    from ..problem.assemble import Compiled

CLASSES = ("LP", "QP", "SOCP", "SDP", "EXP")


def classify(expressions: Sequence[cp.Expression], constraints: Sequence[cp.Constraint]) -> str:
    """Return the smallest class that contains these terms of an objective and these constraints."""
    found = [_class_of_expression(expression, in_objective=True) for expression in expressions]
    found += [_class_of_constraint(constraint) for constraint in constraints]
    return largest(["LP", *found])


def largest(classes: Sequence[str]) -> str:
    """Return the largest of some classes."""
    return max(classes, key=CLASSES.index)


def classes_of(compiled: Compiled) -> dict[str, str]:
    """Return the class of the terms of each block, and under "svm" the class of the model without blocks."""
    linear_loss = compiled.spec.loss == "hinge" or compiled.spec.hard
    svm = "LP" if compiled.spec.norm == "l1" and linear_loss else "QP"
    classes = {"svm": svm}
    for member in compiled.members:
        expressions = [term.expression for term in compiled.terms if term.block == member.name]
        labels = [label for label in compiled.constraints if label.partition(".")[0] == member.name]
        found = classify(expressions, [compiled.constraints[label] for label in labels])
        if "length" in compiled.uses[member.name]:  # the norm of f is a second-order cone
            found = largest([found, "SOCP"])
        classes[member.name] = found
    return classes


def class_of(compiled: Compiled) -> str:
    """Return the class of an assembled problem."""
    return largest(list(classes_of(compiled).values()))


def _class_of_expression(expression: cp.Expression, in_objective: bool) -> str:
    import cvxpy as cp

    atoms = set(expression.atoms())
    if atoms & set(cp.EXP_ATOMS):
        return "EXP"
    if atoms & set(cp.PSD_ATOMS):
        return "SDP"
    if expression.is_pwl():
        return "LP"
    if in_objective and expression.is_qpwa():
        return "QP"
    return "SOCP" if atoms & set(cp.SOC_ATOMS) or expression.is_quadratic() else "LP"


def _class_of_constraint(constraint: cp.Constraint) -> str:
    import cvxpy as cp

    kinds = {cp.constraints.PSD: "SDP", cp.SOC: "SOCP", cp.constraints.ExpCone: "EXP"}
    for kind, found in kinds.items():
        if isinstance(constraint, kind):
            return found
    return largest([_class_of_expression(part, in_objective=False) for part in constraint.args])
