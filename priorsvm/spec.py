"""The model without its rows and blocks: norm, loss, kernel, scaling and tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .function.decision import Scale
    from .kernels.base import Kernel


@dataclass(frozen=True, eq=False)
class Spec:
    """The machine: everything about the problem that is not rows or blocks. ``kernel`` None is linear."""

    C: float
    kernel: Kernel | None
    norm: str
    loss: str
    scale: Scale | None
    n_centres: int | None
    tol: float

    def penalise(self, slack: Any) -> Any:
        r""":math:`\xi` or, for the squared hinge, :math:`\xi^2`."""
        return slack if self.loss == "hinge" else slack**2
