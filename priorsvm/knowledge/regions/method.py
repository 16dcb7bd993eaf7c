r"""The interface of the methods of a region block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ...sample import Sample
from ..views import Solved
from .requirement import CUT, Requirement
from .search import Search


@dataclass(frozen=True, eq=False)
class Method:
    """One way to impose requirements on f.

    ``exact.py``, ``points.py``, ``cuts.py``, ``guaranteed.py`` and ``kernelised.py`` each define one method.
    The parameters are the parameters of the block.

    Attributes
    ----------
    hard : bool
        Whether requirements have no slack.
    points : int, "grid", array or None
        Points of the user, or how to draw points.
    max_cells : int
        Largest number of cells of a cover.
    max_dimension : int
        Largest number of columns of a cover.
    """

    hard: bool
    points: Any
    max_cells: int
    max_dimension: int

    #: Whether the method is limited to bounded regions.
    needs_bounds: ClassVar[bool] = True
    #: Whether a hard block holds at every point of its regions.
    everywhere: ClassVar[bool] = True

    @property
    def accepted(self) -> float:
        """Violation that counts as satisfied."""
        return 2 * CUT

    def check(self, requirement: Requirement, kernel: Any) -> None:
        """Raise if the method cannot impose a requirement on a model with this kernel."""

    def first_points(self, requirement: Requirement, given: Array | None, sample: Sample) -> Array:
        """Return the points of the first problem: points of the user inside the region, or a few drawn."""
        region = requirement.region
        inside = np.empty((0, sample.X.shape[1])) if given is None else given[region.contains(given)]
        if len(inside) or not region.bounded:
            return inside
        return region.points(4, sample.seed)[:16]

    def refine(self, f: Any, view: Solved) -> Search | None:
        """Return the state of the next problem, or None if no constraint is missing."""
        return None

    def settle(self, f: Any, view: Solved) -> Search | None:
        """Return the state of the next problem once no block has more constraints, or None."""
        return None

    def relax(self, state: Search, sample: Sample) -> Search | None:
        """Return a weaker state after an infeasible problem, or None."""
        return None

    def slack(self, excess: Array) -> float:
        """Return the slack of a soft requirement from the excess at its points; 0 if hard."""
        return 0.0 if self.hard else max(0.0, -float(excess.min(initial=0.0)))
