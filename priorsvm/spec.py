"""The model without its rows and blocks: norm, loss, kernel, scaling and tolerance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ._utils.deadline import NEVER, Deadline

if TYPE_CHECKING:
    from ._utils.arrays import Array
    from .function.scale import Scale
    from .kernels.base import Kernel

# A dual variable counts as zero up to this share of its bound, or of the largest dual variable.
NEGLIGIBLE_DUAL = 1e-6


@dataclass(frozen=True, eq=False)
class Spec:
    """The model without its rows and blocks.

    Attributes
    ----------
    C : float
        Weight of the loss; infinity means a hard margin.
    kernel : Kernel or None
        None for a linear model.
    norm : str
        ``"l2"`` or ``"l1"``.
    loss : str
        ``"hinge"`` or ``"squared_hinge"``.
    scale : Scale or None
        Scaling inside f.
    n_centres : int or None
        Number of centres of a Nyström model.
    tol : float
        Tolerance of the residuals.
    limit : Deadline or None
        When the fit has to end; None without a limit, and after the fit.
    """

    C: float
    kernel: Kernel | None
    norm: str
    loss: str
    scale: Scale | None
    n_centres: int | None
    tol: float
    limit: Deadline | None = None

    @property
    def deadline(self) -> Deadline:
        """When the fit has to end."""
        return self.limit or NEVER

    def until(self, limit: Deadline | None) -> Spec:
        """Return this model with another end of the fit."""
        return replace(self, limit=limit)

    @property
    def linear(self) -> bool:
        """Whether f is linear in x."""
        return self.kernel is None

    @property
    def hard(self) -> bool:
        """Whether every row of positive cost has its margin: all slacks are 0."""
        return bool(np.inf == self.C)

    @property
    def expands_over_slopes(self) -> bool:
        """Whether f may expand over slopes.

        They require second mixed derivatives of a kernel. With the 1-norm f expands over rows, and with
        ``n_centres`` over some of the points.
        """
        kernel = self.kernel
        return kernel is not None and kernel.has_slope_slope and self.norm == "l2" and self.n_centres is None

    def penalise(self, slack: Any) -> Any:
        r"""Return :math:`\xi`, or :math:`\xi^2` for the squared hinge."""
        return slack if self.loss == "hinge" else slack**2

    def weighted_loss(self, slack: Array) -> Array:
        r"""Return :math:`C \xi` or :math:`C \xi^2`; with a hard margin 0, as slacks are rounding errors."""
        return np.zeros(len(slack)) if self.hard else np.asarray(self.C * self.penalise(slack))

    def negligible_dual(self, cost: Array, largest: float) -> Array:
        """Return for rows of these costs the number up to which a dual variable counts as zero."""
        bounded = self.loss == "hinge" and not self.hard
        bound = self.C * cost if bounded else np.full(len(cost), np.inf)
        return np.asarray(NEGLIGIBLE_DUAL * np.minimum(bound, largest))
