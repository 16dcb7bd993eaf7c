"""Pictures of fitted models, of kernels and of images; every function takes axes and returns them.

Matplotlib is imported when something is drawn, nothing is ever shown, and any backend will do.
"""

from .course import convergence, path, shares
from .moves import support_trajectories, worst_moves
from .pictures import images, kernel
from .plane import decision

__all__ = [
    "convergence",
    "decision",
    "images",
    "kernel",
    "path",
    "shares",
    "support_trajectories",
    "worst_moves",
]
