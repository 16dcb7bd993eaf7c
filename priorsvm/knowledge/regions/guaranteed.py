r"""The method "guaranteed": cells cover the region, and a bound on f in each cell enters the problem.

Cuts come first: their objective is a lower bound. A cover follows. Its cells are split where the bound is
active, until the objective is near the lower bound or there are ``max_cells`` cells.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._utils.arrays import Array
from ..._utils.messages import warn
from ...errors import CoverTooCoarse
from ...sample import Sample
from ..views import Solved
from .cover import Cover, Interpolation
from .cuts import Cuts
from .minimum import require_bound
from .points import stacked
from .requirement import CUT, Requirement, unit_of
from .search import Search

# First cover: how far f of norm 1 may fall between corners. For an RBF it means sqrt(2 gamma) r <= 0.25.
FINE = 0.054
# The cover is refined until the objective is this close to the lower bound of the cuts.
NEAR = 0.02
# Corners enter the problem where the excess of the bound is below this: fewer rounds are needed.
SPARE = 0.05


class Guaranteed(Cuts):
    r"""Bounds on cells: :math:`s f(v_p) - \varepsilon_p \|g\|_H \ge h` at every corner of a cover."""

    @property
    def accepted(self) -> float:
        """Violation that counts as satisfied."""
        return 2 * CUT

    def check(self, requirement: Requirement, kernel: Any) -> None:
        require_bound(requirement, kernel, self.max_dimension)

    def refine(self, f: Any, view: Solved) -> Search | None:
        if view.state.covers is None:
            return super().refine(f, view)
        return self._finer_cover(f, view)

    def settle(self, f: Any, view: Solved) -> Search | None:
        """Return the state with the first cover, after the cuts; warn of the cost at the end."""
        state: Search = view.state
        if state.covers is not None:
            self._warn_of_cost(view)
            return None
        bound = view.objective if state.lift is None else state.bound
        return self._first_cover(f, replace(state, bound=bound, length=f.length))

    def relax(self, state: Search, sample: Sample) -> Search | None:
        """Return the state with every cell split, after a cover without a feasible f."""
        if state.covers is None:
            return None
        if 2 ** sample.X.shape[1] * state.n_cells > self.max_cells:
            raise CoverTooCoarse(
                f"no decision function satisfies the bounds on the {state.n_cells} cells that cover the "
                f"region, and max_cells={self.max_cells} does not allow finer cells. This is not a conflict "
                "of the knowledge: raise max_cells, shrink the region, use method='cuts', or hard=False."
            )
        covers = [
            cover.refined(np.full(len(cover.corners), -1.0), requirement.region, self.max_cells)
            for requirement, cover in zip(state.requirements, state.covers, strict=True)
        ]
        return replace(state, covers=covers, chosen=[np.ones(len(c.corners), bool) for c in covers])

    def _first_cover(self, f: Any, state: Search) -> Search:
        limit = max(1, self.max_cells // len(state.requirements))
        covers = []
        for requirement in state.requirements:
            error = Interpolation(f.kernel, f.scale, requirement.direction)
            fine = FINE * _functional_norm(f, requirement)
            covers.append(Cover.of(requirement.region, unit_of(f, requirement), error, fine, limit))
        return replace(state, covers=covers, chosen=self._active(f, state, covers), lift=None)

    def _active(self, f: Any, state: Search, covers: list[Cover]) -> list[Array]:
        """Return for each cover the corners at which the bound on f is violated, or nearly."""
        chosen = []
        for requirement, cover in zip(state.requirements, covers, strict=True):
            excess = _excess(f, requirement, cover)
            chosen.append(excess < SPARE + 0.5 * f.length * cover.drop - self.slack(excess))
        return chosen

    def _finer_cover(self, f: Any, view: Solved) -> Search | None:
        """Return the state with missing corners added, or with active cells split; None at the end."""
        state: Search = view.state
        excess = []
        for requirement, (cover, chosen) in zip(state.requirements, state.corners, strict=True):
            left = _excess(f, requirement, cover)
            excess.append(left + self.slack(left[chosen]))
        masks = [chosen for _, chosen in state.corners]
        if any((e[~mask] < -1e-7).any() for e, mask in zip(excess, masks, strict=True)):
            return replace(state, chosen=[mask | (e < SPARE) for e, mask in zip(excess, masks, strict=True)])
        room = self.max_cells - state.n_cells
        # The objective of a constant f may be near the lower bound too.
        collapsed = f.length < 0.5 * state.length
        gains = view.objective < state.reached - 0.1 * NEAR * abs(state.bound) or collapsed
        if not ((state.gap(view.objective) > NEAR or collapsed) and gains and room > 0):
            return None
        covers = self._split(f, state, excess, room)
        if not any(len(new) > len(old) for new, (old, _) in zip(covers, state.corners, strict=True)):
            return None
        active = self._active(f, state, covers)
        return replace(state, covers=covers, chosen=active, reached=view.objective)

    def _split(self, f: Any, state: Search, excess: list[Array], room: int) -> list[Cover]:
        """Return the covers with cells split whose bound is active, or soon will be."""
        share = room // len(state.requirements)
        covers = []
        for requirement, (cover, _), left in zip(state.requirements, state.corners, excess, strict=True):
            # The bound is soon active where its excess is smaller than the gain from narrower cells.
            low = left - 0.25 * f.length * cover.drop
            covers.append(cover.refined(low, requirement.region, len(cover) + share))
        return covers

    def _warn_of_cost(self, view: Solved) -> None:
        """Warn if the cells of this block raise the objective by more than NEAR."""
        gap = view.state.gap(view.objective)
        duals = np.abs(view.duals.get("corners", 0.0))
        if gap > NEAR and np.any(duals > 1e-6 * abs(view.objective)):
            warn(
                f"block '{view.name}': with {view.state.n_cells} cells the guarantee raises the "
                f"objective {gap:.0%} above the lower bound of the cuts. The guarantee holds; a larger "
                f"max_cells than {self.max_cells} may lower the objective.",
                ConvergenceWarning,
            )


def at_corners(f: Any, state: Search, zeta: Any) -> Any:
    r"""Return :math:`s_l f(v_p) - \varepsilon_p \|g\|_H \ge h - \zeta_l` for chosen corners of all covers."""
    rows = []
    for requirement, (cover, chosen) in zip(state.requirements, state.corners, strict=True):
        corners = cover.corners[chosen]
        drop = cover.drop[chosen]
        least = requirement.expression(f, corners) - drop * f.length if len(corners) else None
        rows.append((least, requirement.threshold(corners)))
    return stacked(rows, zeta)


def _functional_norm(f: Any, requirement: Requirement) -> float:
    """Return the norm in feature space of the functional Lf, the scale of its errors."""
    middle = f._to_inner(np.mean(requirement.region.box, axis=0)[None])
    if requirement.direction is None:
        return float(np.sqrt(f.kernel.diag(middle)[0]))
    return float(
        f.kernel.derivative_bound(1, [0.0])[0] * np.linalg.norm(f._directions(requirement.direction))
    )


def _excess(f: Any, requirement: Requirement, cover: Cover) -> Array:
    """Return the excess of the lower bound on f around each corner."""
    return requirement.excess(f, cover.corners) - cover.drop * f.length
