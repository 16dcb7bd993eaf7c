"""The model without its rows and blocks: norm, loss, kernel, scaling and tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._utils.arrays import Array
    from .function.decision import Scale
    from .kernels.base import Kernel

# A dual variable counts as zero up to this share of its bound, or of the largest dual variable.
NEGLIGIBLE_DUAL = 1e-6


@dataclass(frozen=True, eq=False)
class Spec:
    """Model without its rows and blocks; ``kernel`` None is linear."""

    C: float
    kernel: Kernel | None
    norm: str
    loss: str
    scale: Scale | None
    n_centres: int | None
    tol: float

    def penalise(self, slack: Any) -> Any:
        r"""Return :math:`\xi` or, for the squared hinge, :math:`\xi^2`."""
        return slack if self.loss == "hinge" else slack**2

    def negligible_dual(self, cost: Array, largest: float) -> Array:
        """Return for rows of these costs the number up to which a dual variable counts as zero."""
        bound = self.C * cost if self.loss == "hinge" else np.full(len(cost), np.inf)
        return np.asarray(NEGLIGIBLE_DUAL * np.minimum(bound, largest))
