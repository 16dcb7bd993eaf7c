"""Names in files of format 1, and the names of the same classes and attributes today.

Add an entry when a class that a saved model can contain is moved or renamed. Every key is a name in a file of
format 1, so keys never change. ``tests/io/saved/types.txt`` lists the class names of format 1. A test
requires that each name leads to a trusted class of today.
"""

from __future__ import annotations

from typing import Any

from .schema import full_name, nodes

_HINTS = "priorsvm.knowledge.hints"
_REGIONS = "priorsvm.knowledge.regions"
_ROWS = "priorsvm.knowledge.rows"
_WORST_CASE = "priorsvm.knowledge.worst_case"

MODULES = {
    "priorsvm.cover": f"{_REGIONS}.cover",
    "priorsvm.decision": "priorsvm.function.fitted",
    "priorsvm.diagnose": "priorsvm.problem.residuals",
    "priorsvm.gaussian": f"{_WORST_CASE}.gaussian",
    "priorsvm.knowledge.box": f"{_REGIONS}.box",
    "priorsvm.knowledge.class_costs": f"{_ROWS}.class_costs",
    "priorsvm.knowledge.ellipsoid": f"{_REGIONS}.ellipsoid",
    "priorsvm.knowledge.invariance_hint": f"{_HINTS}.invariance_hint",
    "priorsvm.knowledge.invariant_loss": f"{_WORST_CASE}.invariant_loss",
    "priorsvm.knowledge.missing_values": f"{_WORST_CASE}.missing_values",
    "priorsvm.knowledge.monotone": f"{_REGIONS}.monotone",
    "priorsvm.knowledge.monotonicity_hint": f"{_HINTS}.monotonicity_hint",
    "priorsvm.knowledge.oddness_hint": f"{_HINTS}.oddness_hint",
    "priorsvm.knowledge.polyhedron": f"{_REGIONS}.polyhedron",
    "priorsvm.knowledge.region": f"{_REGIONS}.region",
    "priorsvm.knowledge.row_permutations": f"{_ROWS}.row_permutations",
    "priorsvm.knowledge.rows_inside": f"{_REGIONS}.rows_inside",
    "priorsvm.knowledge.rule": f"{_REGIONS}.rule",
    "priorsvm.knowledge.sample_costs": f"{_ROWS}.sample_costs",
    "priorsvm.knowledge.tangent_penalty": f"{_HINTS}.tangent_penalty",
    "priorsvm.knowledge.trajectories": f"{_WORST_CASE}.trajectories",
    "priorsvm.knowledge.transductive": f"{_ROWS}.transductive",
    "priorsvm.knowledge.uncertain_samples": f"{_WORST_CASE}.uncertain_samples",
    "priorsvm.knowledge.unlabeled_samples": f"{_ROWS}.unlabeled_samples",
    "priorsvm.knowledge.virtual_samples": f"{_ROWS}.virtual_samples",
    "priorsvm.knowledge.virtual_support_vectors": f"{_ROWS}.virtual_support_vectors",
    "priorsvm.knowledge.worst_case": f"{_WORST_CASE}.base",
    "priorsvm.sets": f"{_REGIONS}.sets",
}
"""Module in a file of format 1 -> module of today, for all classes that CLASSES does not list."""

CLASSES = {
    "priorsvm.assemble.Spec": "priorsvm.spec.Spec",
    "priorsvm.decision.Scale": "priorsvm.function.scale.Scale",
    "priorsvm.kernels.base.FromCallable": "priorsvm.kernels.resolve.FromCallable",
    "priorsvm.kernels.base.Product": "priorsvm.kernels.algebra.Product",
    "priorsvm.kernels.base.Scaled": "priorsvm.kernels.algebra.Scaled",
    "priorsvm.kernels.base.Sum": "priorsvm.kernels.algebra.Sum",
    "priorsvm.knowledge.demand.Demand": f"{_REGIONS}.requirement.Requirement",
    "priorsvm.knowledge.invariant_loss.Columns": f"{_WORST_CASE}.orbit_columns.OrbitColumns",
    "priorsvm.knowledge.regions.Search": f"{_REGIONS}.search.Search",
    "priorsvm.knowledge.trajectories.Path": f"{_WORST_CASE}.curves.Curves",
    "priorsvm.knowledge.uncertain_samples.Spread": f"{_WORST_CASE}.spread.Spread",
    "priorsvm.solve.joint.JointColumns": "priorsvm.solve.joint_loss.JointColumns",
    "priorsvm.solve.joint.JointFunction": "priorsvm.solve.joint_function.JointFunction",
    "priorsvm.solve.joint.JointMachine": "priorsvm.solve.joint.JointModel",
    "priorsvm.solve.machine.Machine": "priorsvm.solve.model.BinaryModel",
    "priorsvm.solve.solvers.Outcome": "priorsvm.solve.solution.Outcome",
}
"""Full class name in a file of format 1 -> full class name of today. An entry here overrides MODULES."""

ATTRIBUTES: dict[str, dict[str, str]] = {
    "priorsvm.estimator.PriorSVC": {"_machines": "_models"},
    "priorsvm.knowledge.regions.Search": {"demands": "requirements"},
    "priorsvm.sample.Sample": {"machine": "model"},
}
"""Full class name in a file of format 1 -> attribute name in the file -> attribute name of today.

For example ``{"priorsvm.sample.Sample": {"model": "model"}}``.
"""


def current_name(name: str) -> str:
    """Return today's full name of a class that a file of format 1 calls ``name``.

    >>> current_name("priorsvm.assemble.Spec"), current_name("priorsvm.sets.BoxSet")
    ('priorsvm.spec.Spec', 'priorsvm.knowledge.regions.sets.BoxSet')
    >>> current_name("numpy.ndarray")
    'numpy.ndarray'
    """
    module, _, kind = name.rpartition(".")
    return CLASSES.get(name, f"{MODULES.get(module, module)}.{kind}")


def upgrade(schema: Any) -> None:
    """Replace the names of format 1 in a schema, in place.

    Only names change. Whether a name is trusted is decided afterwards, as for a file of today's format.
    """
    for node in nodes(schema):
        old = full_name(node)
        new = current_name(old)
        if new != old:
            node["__module__"], _, node["__class__"] = new.rpartition(".")
        if old in ATTRIBUTES:
            _rename_attributes(node, ATTRIBUTES[old])


def _rename_attributes(node: dict[str, Any], names: dict[str, str]) -> None:
    # The order of the keys must stay: the types of the keys are a list beside the content.
    attributes = node["content"]
    attributes["content"] = {names.get(key, key): value for key, value in attributes["content"].items()}
