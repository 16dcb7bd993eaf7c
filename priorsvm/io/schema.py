"""The schema of a file: a tree of nodes, each with the name of a type and the name of the skops loader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# Earlier protocols of skops store names of functions where the checks below do not look.
_PROTOCOL = 2

# JSON keys are strings, and skops restores them by calling the key's type: bool("False") is True.
_KEY_TYPES = {"builtins.str", "builtins.int", "builtins.float"}


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every node of a schema."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "__loader__" in part:
                yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def full_name(node: Mapping[str, Any]) -> str:
    """Return the full name of the type of a node."""
    return f"{node['__module__']}.{node['__class__']}"


def find_defect(schema: Any, places: Mapping[str, set[str]]) -> str | None:
    """Return why a schema was not written by ``save``, or None; skops checks for types that are not trusted.

    Parameters
    ----------
    schema : dict
        The parsed schema.
    places : dict of str to set of str
        Full type name -> the loaders that may have this type.
    """
    protocol = schema["protocol"]
    if protocol < _PROTOCOL:
        return f"it has protocol {protocol} of an old version of skops"
    for node in nodes(schema):
        name = full_name(node)
        loader = node["__loader__"]
        if loader not in places.get(name, {loader}):
            return f"{name} is not allowed in a {loader}"
        if loader == "DictNode":
            defect = _find_key_defect(node)
            if defect:
                return defect
    return None


def _find_key_defect(node: Mapping[str, Any]) -> str | None:
    key_types = [full_name(kind) for kind in node["key_types"]["content"]]
    for name in key_types:
        if name not in _KEY_TYPES and not _is_numpy_key(name):
            return f"a dict has keys of the type {name}, and only strings and numbers can be keys"
    if len(key_types) != len(node["content"]):
        return "a dict has two keys with the same text, such as 1 and '1'"
    return None


def _is_numpy_key(name: str) -> bool:
    module, _, kind = name.partition(".")
    return module == "numpy" and kind.startswith(("int", "uint", "float", "str_"))
