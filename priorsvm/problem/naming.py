"""The name of the block in every error that is raised in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import CoverTooCoarse, InvalidInput, InvalidType, MissingCapability, TooLarge

_PREFIXED = (InvalidInput, InvalidType, MissingCapability, CoverTooCoarse, TooLarge)


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Add the name of a block to errors raised inside."""
    try:
        yield
    except Exception as error:
        named = f"'{name}'" in str(error)
        if isinstance(error, _PREFIXED) and not named:
            error.args = (f"block '{name}': {error}",)
        elif not named:
            error.add_note(f"This happened in block '{name}'.")
        raise
