"""Words about objects, for messages and titles."""

from __future__ import annotations

import re


def readable(text: str) -> str:
    """On one line, with functions by name: their place in memory says nothing, and is never the same.

    Parameters
    ----------
    text : str
        What ``repr`` says of something.

    Examples
    --------
    >>> readable("Call(f=<function double at 0x7f4fdb4d84a0>,\\n     times=2)")
    'Call(f=double, times=2)'
    """
    return " ".join(re.sub(r"<function (\S+) at 0x[0-9a-fA-F]+>", r"\1", text).split())
