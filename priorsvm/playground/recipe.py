"""Model of a state, as calls that can be made and that can be written as Python code.

The fitted model and the copied code come from one description, so they cannot differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._utils.arrays import Array
from .fields import SECONDS

# Points of a region that a draft requires the margin at, on kernel models.
DRAFT_POINTS = 36
# Angles of an orbit, as shares of `size`.
TURNS = (-1.0, -2 / 3, -1 / 3, 1 / 3, 2 / 3, 1.0)


def turn(X: Array, angle: float) -> Array:
    """Return rows turned about the origin.

    >>> turn(np.array([[1.0, 0.0]]), np.pi / 2).round(6) + 0
    array([[0., 1.]])
    """
    return X @ [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]


TURN = '''def turn(X, angle):
    """Return rows turned about the origin."""
    return X @ [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
'''


class Unlabeled(list[list[float]]):
    """Points without a class; the code has a name for them."""


@dataclass(frozen=True)
class Call:
    """Call of a public name of the library.

    Attributes
    ----------
    function : the public name.
    given : positional arguments: values, further calls, or the function ``turn``.
    options : keyword arguments.
    name : name of the block in a sum; empty if it keeps its own.
    """

    function: str
    given: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    name: str = ""

    def make(self) -> Any:
        """Return the result of the call."""
        import priorsvm

        given = [_made(value) for value in self.given]
        options = {key: _made(value) for key, value in self.options.items()}
        made = getattr(priorsvm, self.function)(*given, **options)
        return made.named(self.name) if self.name else made

    def source(self) -> str:
        """Return the call as Python code.

        >>> Call("Box", ({0: (1.0, 2.0)},), {"label": 1}, "box_1").source()
        "Box({0: (1.0, 2.0)}, label=1).named('box_1')"
        """
        given = [_written(value) for value in self.given]
        options = [f"{key}={_written(value)}" for key, value in self.options.items()]
        name = f".named({self.name!r})" if self.name else ""
        return f"{self.function}({', '.join(given + options)}){name}"

    def names(self) -> set[str]:
        """Return the names that the code imports."""
        inner = [v for v in (*self.given, *self.options.values()) if isinstance(v, Call)]
        return {self.function}.union(*(call.names() for call in inner))


def _made(value: Any) -> Any:
    return value.make() if isinstance(value, Call) else value


def _written(value: Any) -> str:
    if isinstance(value, Call):
        return value.source()
    if isinstance(value, Unlabeled):
        return "X_unlabeled"
    return "turn" if value is turn else repr(value)


def _array(name: str, points: list[list[float]]) -> list[str]:
    """Return lines of code that define an array of points."""
    rows = [f"[{a!r}, {b!r}]," for a, b in points]
    lines = ["    " + " ".join(rows[k : k + 4]) for k in range(0, len(rows), 4)]
    return [f"{name} = np.array([", *lines, "])"]


@dataclass(frozen=True)
class Recipe:
    """Model of a state: rows, labels, blocks and parameters of PriorSVC."""

    X: list[list[float]]
    y: list[int]
    blocks: list[Call]
    options: dict[str, Any]

    def fit(self) -> Any:
        """Return the fitted PriorSVC."""
        from ..estimator import PriorSVC

        blocks = [block.make() for block in self.blocks]
        prior = None
        if blocks:
            prior = blocks[0]
            for block in blocks[1:]:
                prior = prior + block
        options = {key: _made(value) for key, value in self.options.items()}
        X = np.array(self.X, dtype=float).reshape(-1, 2)
        return PriorSVC(prior, max_seconds=SECONDS, **options).fit(X, np.array(self.y, dtype=int))

    def source(self) -> str:
        """Return Python code that fits the same model."""
        calls = [*self.blocks, *(value for value in self.options.values() if isinstance(value, Call))]
        names = sorted({"PriorSVC"}.union(*(call.names() for call in calls)))
        options = [f"{key}={_written(value)}" for key, value in self.options.items()]
        parts = ["import numpy as np", f"from priorsvm import {', '.join(names)}", ""]
        if any("turn" in call.source() for call in calls):
            parts += [TURN]
        parts += [*_array("X", self.X), f"y = np.array({self.y!r})"]
        unlabeled = [block.options["unlabeled"] for block in self.blocks if "unlabeled" in block.options]
        if unlabeled:
            parts += _array("X_unlabeled", unlabeled[0])
        if self.blocks:
            parts += ["prior = (", "    " + "\n    + ".join(block.source() for block in self.blocks), ")"]
            options = ["prior", *options]
        parts += [f"model = PriorSVC({', '.join(options)}).fit(X, y)", "print(model.report_)", ""]
        return "\n".join(parts)


def recipe(state: dict[str, Any]) -> Recipe:
    """Return the model of a checked state."""
    points = state["points"]
    blocks = [_shape(k, shape, state) for k, shape in enumerate(state["shapes"], 1)]
    blocks += _costs(state) + _order(state) + _odd(state) + _errors(state) + _change(state)
    options: dict[str, Any] = {"C": float(state["C"])}
    kernel = _kernel(state)
    if kernel is not None:
        options["kernel"] = kernel
    for name, default in (("norm", "l2"), ("loss", "hinge"), ("solver", "auto")):
        if state[name] != default:
            options[name] = state[name]
    X = [[float(a), float(b)] for a, b, label in points if label is not None]
    return Recipe(X, [label for *_, label in points if label is not None], blocks, options)


def _is_rough(state: dict[str, Any]) -> bool:
    """Return whether blocks are simplified: in a draft of a kernel model, where they would take long."""
    return bool(state.get("draft")) and state["kernel"] != "linear"


def _everywhere(state: dict[str, Any]) -> dict[str, Any]:
    """Return the method of a rule that holds everywhere: few points in a draft of a kernel model."""
    return {"method": "points", "points": DRAFT_POINTS} if _is_rough(state) else {}


def _at_rows(state: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a soft rule at rows: its weight, and the points without a class."""
    unlabeled = Unlabeled([float(a), float(b)] for a, b, label in state["points"] if label is None)
    options: dict[str, Any] = {"mu": float(state["mu"])}
    return options | ({"unlabeled": unlabeled} if unlabeled else {})


def shape_name(number: int, shape: dict[str, Any]) -> str:
    """Return the name of the block of a shape."""
    return f"{shape['kind']}_{number}"


def _shape(number: int, shape: dict[str, Any], state: dict[str, Any]) -> Call:
    """Return the block of a box or an ellipse."""
    options: dict[str, Any] = {"label": shape["label"]}
    if shape["form"] == "hard":
        options |= {"hard": True, **_everywhere(state)}
    elif shape["form"] == "everywhere":
        options |= {"mu": float(state["mu"]), "holds": "everywhere", **_everywhere(state)}
    else:
        options |= _at_rows(state)
    name = shape_name(number, shape)
    x0, x1 = shape["centre"]
    a, b = shape["half"]
    if shape["kind"] == "ellipse":
        return Call("Ellipsoid", ([float(x0), float(x1)], [float(a), float(b)]), options, name)
    bounds = {j: (round(x - r, 6), round(x + r, 6)) for j, (x, r) in enumerate([(x0, a), (x1, b)])}
    return Call("Box", (bounds,), options, name)


def _costs(state: dict[str, Any]) -> list[Call]:
    return [] if state["costs"] == 1 else [Call("ClassCosts", ({1: float(state["costs"])},))]


def _order(state: dict[str, Any]) -> list[Call]:
    if state["order"] == "none":
        return []
    column, way = state["order"].split()
    features = {int(column[1]): 1 if way == "up" else -1}
    if state["order_block"] == "hint":
        return [Call("MonotonicityHint", (features,), {"mu": float(state["mu"])})]
    if state["order_block"] == "hard":
        return [Call("Monotone", (features,), {"hard": True, **_everywhere(state)})]
    return [Call("Monotone", (features,), _at_rows(state))]


def _odd(state: dict[str, Any]) -> list[Call]:
    if state["odd"] == "none":
        return []
    options = {"hard": True} if state["odd"] == "hard" else {"mu": float(state["mu"])}
    return [Call("OddnessHint", (), options)]


def _errors(state: dict[str, Any]) -> list[Call]:
    return [] if state["errors"] == 0 else [Call("UncertainSamples", (float(state["errors"]),))]


def _transform(state: dict[str, Any]) -> Call | None:
    size = float(state["size"])
    if state["change"] == "none":
        return None
    if state["change"] == "turn":
        return Call("FromFunction", (turn, [round(size * share, 6) for share in TURNS]), {"isometric": True})
    vector = [size, 0.0] if state["change"] == "x0" else [0.0, size]
    return Call("Shift", (vector,), {"steps": 5})


def _change(state: dict[str, Any]) -> list[Call]:
    """Return the block of the transformation that keeps the class."""
    transform = _transform(state)
    block = state["change_block"]
    if transform is None or block == "kernel":
        return []
    if block == "InvarianceHint":
        return [Call(block, (transform,), {"mu": float(state["mu"])})]
    if block == "TangentPenalty":
        return [Call(block, (transform,), {"gamma": float(state["mu"])})]
    if block == "Trajectories" and _is_rough(state):
        return [Call(block, (transform,), {"degree": 2})]
    return [Call(block, (transform,))]


def _kernel(state: dict[str, Any]) -> Call | None:
    """Return the kernel; None for a linear model."""
    kernel = state["kernel"]
    if kernel == "linear":
        return None
    if kernel.startswith("poly"):
        return Call("Polynomial", (int(kernel[-1]),), {"gamma": float(state["gamma"]), "coef0": 1.0})
    base = Call("RBF", (float(state["gamma"]),))
    transform = _transform(state)
    return Call("HaarIntegration", (base, transform)) if kernel == "haar" and transform else base
