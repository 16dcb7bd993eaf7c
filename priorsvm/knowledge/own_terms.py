"""Penalties and constraints which a user writes in CVXPY: the block behind ``Assembly.add``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import MissingCapability
from ..function.rebind import rebound
from .base import Knowledge, Terms
from .traits import OnRowSlack
from .views import Building

if TYPE_CHECKING:
    from ..function.symbolic import Decision


class OwnTerms(Knowledge):
    r"""Penalty :math:`\mu\, J(f)` and constraints :math:`c(f)` in CVXPY.

    Each part is an expression or a function of f that returns one. An expression of an earlier round is
    written anew with the variables of the next round. Files and pickles do not contain the parts.

    Parameters
    ----------
    penalty : cvxpy.Expression, callable or None, default=None
        Convex scalar.
    constraints : dict of str to cvxpy.Constraint or callable, default=None
        Label -> convex constraint.
    mu : float, default=1.0
        Weight of the penalty.
    lineage : int or None, default=None
        Number of the assembly that the terms belong to. Expressions may use f of its rounds only.
    """

    accepts = frozenset({"dense", "sparse", "sets"})

    def __init__(
        self,
        penalty: Any = None,
        constraints: Mapping[str, Any] | None = None,
        mu: float = 1.0,
        lineage: int | None = None,
    ):
        self.penalty = penalty
        self.constraints = constraints
        self.mu = mu
        self.lineage = lineage

    @property
    def hard(self) -> bool:
        """Whether the block has constraints."""
        return bool(self.constraints)

    def build(self, f: Decision, view: Building) -> Terms:
        penalties = {} if self.penalty is None else {"mu": self._written(self.penalty, f)}
        constraints = {label: self._written(part, f) for label, part in (self.constraints or {}).items()}
        return Terms(penalties, constraints)

    def _written(self, part: Any, f: Decision) -> Any:
        """Return a penalty or a constraint with the variables of f."""
        if isinstance(part, str) and part == NOT_STORED:
            raise MissingCapability(
                "its terms are not stored in files and pickles. Assemble the problem again, and add the "
                "terms."
            )
        if callable(part):
            part = part(f)
        return rebound(part, f, self.lineage) if hasattr(part, "variables") else part

    def words(self) -> str:
        labels = ", ".join(self.constraints or {})
        return f"the constraints {labels} of add()" if labels else ""

    def __getstate__(self) -> dict[str, Any]:
        # Expressions of CVXPY and functions cannot be stored in a data-only file.
        state = dict(super().__getstate__())
        if self.penalty is not None:
            state["penalty"] = NOT_STORED
        state["constraints"] = dict.fromkeys(self.constraints or {}, NOT_STORED)
        return state


class OwnTermsOnSlack(OnRowSlack, OwnTerms):
    """Own terms that use the slack of the rows, and may bound it."""

    bounds_slack = True


# What a file contains instead of a penalty or a constraint.
NOT_STORED = "not stored"
