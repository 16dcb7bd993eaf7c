"""Figures of fitted models, kernels and images.

Every function draws on the axes given as ``ax``, or on a new figure, and returns the axes. ``compare`` draws
several models on several axes. Matplotlib is imported at the first figure. No function shows a figure, so
any backend works.
"""

from .boundary import decision
from .comparison import compare
from .explanation import explain
from .fit_path import path
from .image_grid import images
from .kernel_values import kernel
from .objective import convergence, shares
from .transformations import support_trajectories, worst_moves

__all__ = [
    "compare",
    "convergence",
    "decision",
    "explain",
    "images",
    "kernel",
    "path",
    "shares",
    "support_trajectories",
    "worst_moves",
]
