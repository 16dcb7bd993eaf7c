"""Settings of the playground: name, text and allowed values of each, for the checks and for the controls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# Limits on what one state may contain.
MOST_POINTS = 200
MOST_SHAPES = 6
# Coordinates of points and shapes are within ±FAR; the drawn window is within ±EDGE.
FAR = 10.0
EDGE = 4.0
# Limit on the time of one fit.
SECONDS = 5.0

# Form of a rule -> its text.
FORMS = {
    "hard": "hard: holds everywhere",
    "everywhere": "soft: everywhere",
    "rows": "soft: at rows",
}
KINDS = ("box", "ellipse")


@dataclass(frozen=True)
class Choice:
    """Setting with a list of values.

    Attributes
    ----------
    name, text, group : key of the state, label of the control, and its group.
    options : value -> text; the first value is the default.
    when : name of another setting -> its values with which this setting has an effect.
    """

    name: str
    text: str
    group: str
    options: dict[str, str]
    when: dict[str, list[str]] = field(default_factory=dict)

    @property
    def default(self) -> str:
        return next(iter(self.options))

    def fault(self, value: Any) -> str | None:
        """Return what is wrong with a value, or None."""
        if isinstance(value, str) and value in self.options:
            return None
        return f"must be one of {', '.join(map(repr, self.options))}"

    def control(self) -> dict[str, Any]:
        """Return what the front end needs to show the setting."""
        return {**vars(self), "type": "choice", "options": list(self.options.items())}


@dataclass(frozen=True)
class Number:
    """Setting with a range of numbers.

    Attributes
    ----------
    name, text, group : key of the state, label of the control, and its group.
    low, high, default : the range and the first value.
    log : whether the slider is logarithmic.
    when : name of another setting -> its values with which this setting has an effect.
    """

    name: str
    text: str
    group: str
    low: float
    high: float
    default: float
    log: bool = False
    when: dict[str, list[str]] = field(default_factory=dict)

    def fault(self, value: Any) -> str | None:
        """Return what is wrong with a value, or None."""
        if is_json_number(value) and self.low <= value <= self.high:
            return None
        return f"must be a number from {self.low:g} to {self.high:g}"

    def control(self) -> dict[str, Any]:
        """Return what the front end needs to show the setting."""
        return {**vars(self), "type": "number"}


def is_json_number(value: Any) -> bool:
    """Return whether a value of a JSON document is a number.

    >>> is_json_number(2), is_json_number(True), is_json_number("2")
    (True, False, False)
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool)


KERNELS = {
    "linear": "linear",
    "rbf": "RBF",
    "poly2": "polynomial, degree 2",
    "poly3": "polynomial, degree 3",
    "haar": "invariant RBF",
}
SOLVERS = ("auto", "LIBSVM", "ROWS", "SCHUR", "CLARABEL", "HIGHS", "SCS")
ORDERS = {
    "none": "none",
    "x0 up": "f rises with x0",
    "x0 down": "f falls with x0",
    "x1 up": "f rises with x1",
    "x1 down": "f falls with x1",
}
ORDER_BLOCKS = {
    "soft": "Monotone, soft",
    "hard": "Monotone, hard",
    "hint": "MonotonicityHint",
}
CHANGES = {
    "none": "none",
    "x0": "shift along x0",
    "x1": "shift along x1",
    "turn": "turn about 0",
}
CHANGE_BLOCKS = {
    "VirtualSamples": "VirtualSamples",
    "InvariantLoss": "InvariantLoss",
    "Trajectories": "Trajectories",
    "InvarianceHint": "InvarianceHint",
    "TangentPenalty": "TangentPenalty",
    "kernel": "kernel only",
}
_CURVED = {"kernel": [key for key in KERNELS if key != "linear"]}
_ORDERED = {"order": [key for key in ORDERS if key != "none"]}
_CHANGED = {"change": [key for key in CHANGES if key != "none"]}

FIELDS: tuple[Choice | Number, ...] = (
    Number("C", "C, cost of slack", "Model", 0.01, 1000.0, 1.0, log=True),
    Choice("kernel", "kernel", "Model", KERNELS),
    Number("gamma", "γ, of the kernel", "Model", 0.01, 10.0, 0.5, log=True, when=_CURVED),
    Choice("norm", "norm", "Model", {"l2": "2-norm", "l1": "1-norm"}),
    Choice("loss", "loss", "Model", {"hinge": "hinge", "squared_hinge": "squared hinge"}),
    Choice("solver", "solver", "Model", {name: name for name in SOLVERS}),
    Number("mu", "μ, weight of soft blocks", "Prior knowledge", 0.01, 1000.0, 10.0, log=True),
    Number("costs", "cost of errors on class 1", "Prior knowledge", 0.1, 20.0, 1.0, log=True),
    Choice("order", "monotone", "Prior knowledge", ORDERS),
    Choice("order_block", "as the block", "Prior knowledge", ORDER_BLOCKS, when=_ORDERED),
    Choice("odd", "odd f", "Prior knowledge", {"none": "none", "soft": "soft", "hard": "hard"}),
    Number("errors", "σ, error of measurement", "Prior knowledge", 0.0, 1.5, 0.0),
    Choice("change", "class kept by", "Prior knowledge", CHANGES),
    Choice("change_block", "as the block", "Prior knowledge", CHANGE_BLOCKS, when=_CHANGED),
    Number("size", "size (length or radians)", "Prior knowledge", 0.05, 3.0, 0.5, when=_CHANGED),
)  # fmt: skip
