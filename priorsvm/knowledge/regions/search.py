r"""The state of a region block: the points and cells at which its requirements enter the problem."""

from __future__ import annotations

from dataclasses import dataclass

from ..._utils.arrays import Array
from .cover import Cover
from .requirement import Requirement


@dataclass(frozen=True, eq=False)
class Search:
    """Points and cells of the problem, one entry for each requirement.

    Attributes
    ----------
    requirements : list of Requirement
        One for each region.
    points : list of arrays of shape (n, d)
        Points at which the requirement is a constraint.
    covers : list of Cover or None, default=None
        A cover of each region; None before the first cover.
    chosen : list of boolean arrays or None, default=None
        The corners of each cover at which the bound is a constraint.
    lift : list of arrays of shape (n,) or None, default=None
        Amount added to h at each point; None before the first.
    start : list of arrays of shape (n,) or None, default=None
        Dual variable of each point, from which the next problem starts; None if they are not known.
    bound : float
        Objective reached with points alone, a lower bound for covers.
    length : float
        Norm of f at that objective.
    reached : float
        Objective when the covers were last refined.
    searches : int
        Number of strict searches that have found a violation.
    """

    requirements: list[Requirement]
    points: list[Array]
    covers: list[Cover] | None = None
    chosen: list[Array] | None = None
    lift: list[Array] | None = None
    start: list[Array] | None = None
    bound: float = float("nan")
    length: float = float("nan")
    reached: float = float("inf")
    searches: int = 0

    @property
    def corners(self) -> list[tuple[Cover, Array]]:
        """Each cover, with the mask of its corners in the problem."""
        return [] if self.covers is None else list(zip(self.covers, self.chosen or [], strict=True))

    @property
    def n_cells(self) -> int:
        """Number of cells in all covers."""
        return sum(map(len, self.covers or []))

    def gap(self, objective: float) -> float:
        """Return how far an objective lies above the lower bound, relative to the bound."""
        return (objective - self.bound) / max(abs(self.bound), 1e-12)
