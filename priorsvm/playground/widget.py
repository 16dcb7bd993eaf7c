"""The playground in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import PackageNotInstalled

if TYPE_CHECKING:
    from .notebook import Playground


def play(lesson: int = 1) -> Playground:
    """Return the playground, which a notebook shows: points, rules and a model to change by hand.

    The command ``priorsvm play`` shows the same in a browser, and needs no further package.

    Parameters
    ----------
    lesson : int, default=1
        Number of the lesson whose preset is shown first.

    Returns
    -------
    Playground
        Its attribute ``state`` is what is shown, ``code`` the Python code of it, and ``model`` the fitted
        :class:`PriorSVC`.

    Raises
    ------
    PackageNotInstalled
        If the package anywidget is missing. Install it with ``pip install anywidget``.
    InvalidInput
        If there is no such lesson.

    See Also
    --------
    PriorSVC : the model.

    Examples
    --------
    >>> from priorsvm import play
    >>> playground = play(lesson=6)
    >>> print(playground.code)
    import numpy as np
    from priorsvm import Box, PriorSVC
    ...
    >>> playground.model.verify().holds
    True
    """
    try:
        from .notebook import Playground
    except ImportError as error:
        raise PackageNotInstalled(
            "play requires the package anywidget: pip install anywidget. The command priorsvm play "
            "requires no further package."
        ) from error
    return Playground(lesson)
