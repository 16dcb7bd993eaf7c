"""State of the playground: the JSON document that the front end sends, and its checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InvalidInput
from .fields import FAR, FIELDS, FORMS, KINDS, MOST_POINTS, MOST_SHAPES, is_json_number

SHAPE_KEYS = ("kind", "label", "form", "centre", "half")
KEYS = ("points", "shapes", *(field.name for field in FIELDS))


def default_state(**changes: Any) -> dict[str, Any]:
    """Return a state without points and shapes, with default settings, and changes of it.

    >>> default_state(C=2.0)["C"], default_state()["kernel"]
    (2.0, 'linear')
    """
    settings = {field.name: field.default for field in FIELDS}
    return {"points": [], "shapes": [], **settings, **changes}


def check_state(state: Any) -> None:
    """Raise InvalidInput unless a document is a state; the message names the entry.

    >>> check_state(default_state(points=[[0.0, 1.0, 1]]))
    >>> check_state(default_state(C=-1))
    Traceback (most recent call last):
    priorsvm.errors.InvalidInput: state: C must be a number from 0.01 to 1000, got -1.
    """
    _check_keys("state", state, KEYS, optional=("draft",))
    _check_list("points", state["points"], MOST_POINTS)
    for k, point in enumerate(state["points"]):
        where = f"points[{k}]"
        if not isinstance(point, list) or len(point) != 3:
            _fail(where, "must be a list [x0, x1, label]", point)
        _check_pair(where, point[:2], FAR)
        if point[2] is not None:  # an unlabelled point
            _check_label(f"{where}: label", point[2])
    _check_list("shapes", state["shapes"], MOST_SHAPES)
    for k, shape in enumerate(state["shapes"]):
        _check_shape(f"shapes[{k}]", shape)
    for field in FIELDS:
        fault = field.fault(state[field.name])
        if fault:
            _fail(field.name, fault, state[field.name])
    if not isinstance(state.get("draft", False), bool):
        _fail("draft", "must be true or false", state["draft"])


def _check_shape(where: str, shape: Any) -> None:
    _check_keys(where, shape, SHAPE_KEYS)
    for key, values in (("kind", KINDS), ("form", tuple(FORMS))):
        if not isinstance(shape[key], str) or shape[key] not in values:
            _fail(f"{where}: {key}", f"must be one of {', '.join(map(repr, values))}", shape[key])
    _check_label(f"{where}: label", shape["label"])
    _check_pair(f"{where}: centre", shape["centre"], FAR)
    _check_pair(f"{where}: half", shape["half"], FAR)
    if min(shape["half"]) <= 0:
        _fail(f"{where}: half", "must contain positive numbers", shape["half"])


def _check_keys(where: str, value: Any, keys: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
    if not isinstance(value, Mapping):
        _fail(where, "must be an object with keys", value)
    missing = [key for key in keys if key not in value]
    if missing:
        raise InvalidInput(f"state: {where} has no {missing[0]!r}. The keys are {', '.join(keys)}.")
    unknown = [key for key in value if key not in (*keys, *optional)]
    if unknown:
        raise InvalidInput(
            f"state: {where} has an unknown key {_short(unknown[0])}. The keys are {', '.join(keys)}."
        )


def _check_list(where: str, value: Any, most: int) -> None:
    if not isinstance(value, list):
        _fail(where, "must be a list", value)
    if len(value) > most:
        raise InvalidInput(f"state: {where} has {len(value)} entries, but at most {most} are allowed.")


def _check_pair(where: str, value: Any, far: float) -> None:
    if not isinstance(value, list) or len(value) != 2 or not all(map(is_json_number, value)):
        _fail(where, "must have two numbers", value)
    if not all(abs(number) <= far for number in value):
        _fail(where, f"must have numbers from {-far:g} to {far:g}", value)


def _check_label(where: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value not in (0, 1):
        _fail(where, "must be 0 or 1", value)


def _fail(where: str, fault: str, value: Any) -> None:
    raise InvalidInput(f"state: {where} {fault}, got {_short(value)}.")


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except RecursionError:  # lists in lists in lists ...
        text = type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."
