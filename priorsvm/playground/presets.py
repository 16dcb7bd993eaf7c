"""Presets of the playground: a state for each lesson of the course, with a sentence on what to try."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..errors import InvalidInput
from .fields import EDGE, FIELDS, FORMS, MOST_POINTS, MOST_SHAPES
from .state import default_state

# Steps of the mouse and of coordinates in the code.
DIGITS = 2


def start(lesson: int = 1) -> dict[str, Any]:
    """Return what the front end needs before the first answer: controls, presets, limits, first lesson."""
    presets = all_presets()
    numbers = [preset["lesson"] for preset in presets]
    if lesson not in numbers:
        raise InvalidInput(f"lesson must be a number from {numbers[0]} to {numbers[-1]}, got {lesson!r}.")
    return {
        "fields": [field.control() for field in FIELDS],
        "forms": list(FORMS.items()),
        "presets": presets,
        "lesson": lesson,
        "edge": EDGE,
        "most": {"points": MOST_POINTS, "shapes": MOST_SHAPES},
    }


def all_presets() -> list[dict[str, Any]]:
    """Return lesson, title, what to try, and state of every preset.

    >>> [preset["lesson"] for preset in all_presets()][:3]
    [1, 2, 3]
    """
    return copy.deepcopy(PRESETS)


def _preset(
    lesson: int,
    title: str,
    text: str,
    points: list[list[float]],
    shapes: list[dict[str, Any]] | None = None,
    **settings: Any,
) -> dict[str, Any]:
    state = default_state(points=points, shapes=shapes or [], **settings)
    return {"lesson": lesson, "title": title, "text": text, "state": state}


def _shape(
    kind: str, label: int, form: str, centre: tuple[float, float], half: tuple[float, float]
) -> dict[str, Any]:
    return {"kind": kind, "label": label, "form": form, "centre": list(centre), "half": list(half)}


def _clouds(circles: int, triangles: int, width: float, seed: int) -> list[list[float]]:
    """Return points of two classes around (-1.2, -0.4) and (1.2, 0.6)."""
    rng = np.random.default_rng(seed)
    parts = []
    for label, count, middle in ((0, circles, (-1.2, -0.4)), (1, triangles, (1.2, 0.6))):
        parts += _points(rng.normal(middle, width, (count, 2)), label)
    return parts


def _pendulum() -> list[list[float]]:
    """Return short and long pendulums that hang near the vertical."""
    rng = np.random.default_rng(7)
    angles = rng.uniform(-0.5, 0.5, 12)
    lengths = np.where(np.arange(12) % 2 == 0, 1.2, 3.0) + rng.uniform(-0.3, 0.3, 12)
    places = np.column_stack([lengths * np.sin(angles), -lengths * np.cos(angles)])
    return _points(places[0::2], 0) + _points(places[1::2], 1)


def _carousel() -> list[list[float]]:
    """Return riders near the axle and far from it, all on one side."""
    rng = np.random.default_rng(9)
    angles = rng.uniform(-0.6, 0.9, 14)
    lengths = np.where(np.arange(14) % 2 == 0, 1.1, 2.7) + rng.uniform(-0.4, 0.4, 14)
    places = np.column_stack([lengths * np.cos(angles), lengths * np.sin(angles)])
    return _points(places[0::2], 0) + _points(places[1::2], 1)


def _in_the_middle() -> list[list[float]]:
    """Return a class between two parts of the other class."""
    rng = np.random.default_rng(21)
    sides = np.repeat([-2.2, 2.2], 10)
    rest = np.column_stack([sides + rng.normal(0, 0.4, 20), rng.normal(0, 1.0, 20)])
    middle = np.column_stack([rng.normal(0, 0.4, 10), rng.normal(0, 1.0, 10)])
    return _points(rest, 0) + _points(middle, 1)


def _pairs() -> list[list[float]]:
    """Return pairs of numbers in either order: far apart, and near each other."""
    rng = np.random.default_rng(18)
    apart = np.column_stack([rng.normal(-2.2, 0.4, 12), rng.normal(1.8, 0.4, 12)])
    near = np.column_stack([rng.normal(-0.9, 0.4, 12), rng.normal(0.6, 0.4, 12)])
    for places in (apart, near):
        places[::2] = places[::2, ::-1]
    return _points(apart, 0) + _points(near, 1)


def _points(places: np.ndarray, label: int) -> list[list[float]]:
    inside = np.clip(places, -EDGE, EDGE).round(DIGITS)
    return [[float(x0), float(x1), label] for x0, x1 in inside]


PRESETS = [
    _preset(
        1,
        "What problem does an SVM solve?",
        "Drag a circle across the border and watch its slack. Then slide C.",
        _clouds(9, 9, 0.75, seed=1),
    ),
    _preset(
        2,
        "What if some mistakes are worse than others?",
        "Triangles are rare. Slide the cost of errors on class 1 from 1 to 10.",
        _clouds(24, 6, 1.0, seed=2),
        costs=5.0,
    ),
    _preset(
        3,
        "Why do finitely many rows decide about a whole function?",
        "Slide γ of the kernel. Every border is a sum over the points.",
        _clouds(9, 9, 1.1, seed=13),
        kernel="rbf",
        gamma=0.6,
    ),
    _preset(
        4,
        "How does the answer change with C and μ?",
        "Slide C from left to right. Points enter and leave the margin one by one.",
        _clouds(9, 9, 0.75, seed=16),
    ),
    _preset(
        5,
        "Do three textbook rules help a model of few patients?",
        "Soft rules apply to rows as they occur. Slide μ, the weight in rows.",
        _clouds(6, 6, 1.0, seed=13),
        [
            _shape("box", 1, "rows", (2.4, 0.0), (1.4, 3.8)),
            _shape("box", 0, "rows", (-2.6, 0.0), (1.2, 3.8)),
        ],
    ),
    _preset(
        6,
        "How does a rule hold everywhere?",
        "No point is in the box. Drag and resize it, and watch the border give way.",
        _clouds(9, 9, 0.7, seed=4),
        [_shape("box", 1, "hard", (0.2, -2.4), (1.3, 0.7))],
    ),
    _preset(
        7,
        "Can a rule hold everywhere if the border bends?",
        "The rule holds at every point of the ellipse. Slide γ of the kernel.",
        _clouds(12, 6, 1.0, seed=10),
        [_shape("ellipse", 0, "hard", (-2.0, 2.2), (1.2, 0.9))],
        kernel="rbf",
        gamma=0.2,
    ),
    _preset(
        8,
        "What if two things you know cannot both be true?",
        "The rules contradict each other. Move one of them away, or make it soft.",
        _clouds(9, 9, 0.7, seed=5),
        [
            _shape("box", 1, "hard", (0.6, -1.6), (1.2, 0.8)),
            _shape("ellipse", 0, "hard", (-0.6, -1.6), (1.0, 0.7)),
        ],
    ),
    _preset(
        9,
        "Is a digit that moved still the same digit?",
        "Small marks are shifted copies. Change their size, or shift along x0 instead.",
        _clouds(4, 4, 0.6, seed=3),
        change="x1",
        size=1.2,
    ),
    _preset(
        10,
        "What can be learnt without a label?",
        "The hint penalises changes of f when a point moves. Slide the size of the move.",
        _clouds(6, 6, 0.7, seed=10),
        change="x1",
        change_block="InvarianceHint",
        size=1.2,
    ),
    _preset(
        11,
        "What is the worst that can happen to a row?",
        "Compare the worst copy (InvariantLoss) with all copies (VirtualSamples).",
        _clouds(8, 8, 0.5, seed=8),
        change="x0",
        change_block="InvariantLoss",
        size=1.0,
    ),
    _preset(
        12,
        "What if every row is a snapshot of a movement?",
        "Every point turns about the origin. Slide the size of the turn.",
        _pendulum(),
        C=100.0,
        change="turn",
        change_block="Trajectories",
        size=0.4,
    ),
    _preset(
        13,
        "How sure are you of your measurements?",
        "Every point has a measurement error σ. Slide it, and watch the prices.",
        _clouds(10, 10, 0.8, seed=6),
        errors=0.4,
    ),
    _preset(
        14,
        "What is in a gap of the table?",
        "A missing entry is an error of one coordinate. Slide σ, and watch the border.",
        _clouds(9, 9, 0.9, seed=14),
        errors=0.8,
    ),
    _preset(
        15,
        "What if the spammer reads your model?",
        "Each point may move along x0, at its worst. Slide the size of the move.",
        _clouds(9, 9, 0.7, seed=15),
        change="x0",
        change_block="InvariantLoss",
        size=1.5,
    ),
    _preset(
        16,
        "What if the kernel ignored what makes no difference?",
        "Points are known on one side only. Change the kernel to RBF and back.",
        _carousel(),
        C=100.0,
        kernel="haar",
        gamma=0.6,
        change="turn",
        change_block="kernel",
        size=2.7,
    ),
    _preset(
        17,
        "Which kernel contains your knowledge, and how do you choose it?",
        "The penalty makes f level along turns. Slide μ, and change the block to the kernel.",
        _carousel(),
        C=100.0,
        kernel="rbf",
        gamma=0.6,
        change="turn",
        change_block="TangentPenalty",
        size=0.5,
    ),
    _preset(
        18,
        "What if a sample has no first row?",
        "A point is a pair in any order: x0 and x1 may change places. Compare linear with degree 2.",
        _pairs(),
        kernel="poly2",
    ),
    _preset(
        19,
        "How do you find out whether your rules help?",
        "This rule is wrong. How large may μ be before it harms?",
        _clouds(12, 12, 0.9, seed=14),
        [_shape("box", 0, "rows", (1.4, 1.4), (1.2, 1.2))],
        mu=3.0,
        kernel="rbf",
        gamma=0.2,
    ),
    _preset(
        20,
        "Can everything you know be part of one model?",
        "A rule, costs and an order of the scores. Switch them off one by one.",
        _clouds(12, 6, 1.0, seed=10),
        [_shape("ellipse", 0, "everywhere", (-2.0, 2.2), (1.2, 0.9))],
        kernel="rbf",
        gamma=0.2,
        costs=3.0,
        order="x0 up",
        order_block="hint",
    ),
    _preset(
        21,
        "What does a rule mean if there are more than two classes?",
        "Triangles are the class in the middle, circles are the rest. Change linear to RBF.",
        _in_the_middle(),
    ),
    _preset(
        22,
        "Which solver should do it, and can you believe it?",
        "Switch solver and norm. A solver that does not fit the problem gives an error.",
        _clouds(10, 10, 1.0, seed=12),
        [_shape("box", 0, "everywhere", (-1.5, 2.4), (1.2, 0.6))],
        solver="CLARABEL",
    ),
    _preset(
        23,
        "What if your knowledge is not in the library?",
        "The block of this lesson orders pairs of points, as this hint does. Slide μ.",
        _clouds(9, 9, 1.2, seed=11),
        kernel="rbf",
        order="x1 up",
        order_block="hint",
    ),
    _preset(
        24,
        "Which of two million rows does a model need?",
        "Only points near their margins decide. Move or delete a point far from them.",
        _clouds(30, 30, 0.9, seed=15),
        [_shape("box", 1, "hard", (2.6, -2.6), (0.8, 0.8))],
    ),
]
