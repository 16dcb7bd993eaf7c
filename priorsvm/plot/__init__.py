"""Pictures of fitted models, of kernels and of images; every function takes axes and returns them.

Matplotlib is imported when something is drawn, nothing is ever shown, and any backend will do.
"""

from .course import shares
from .plane import decision

__all__ = ["decision", "shares"]
