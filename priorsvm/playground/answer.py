"""Answer to a state: the fitted model as lines, areas, numbers, texts and code, ready for JSON."""

from __future__ import annotations

import re
import time
import warnings
from typing import Any

import numpy as np
from contourpy import FillType, LineType, contour_generator
from sklearn.exceptions import ConvergenceWarning

from .._utils.arrays import Array
from ..errors import InvalidInput, PriorSVMError, PriorSVMWarning
from ..explain.report import Report, Row
from ..knowledge.worst_case.base import WorstCase
from ..knowledge.worst_case.uncertain_samples import UncertainSamples
from ..solve.model import BinaryModel
from .fields import EDGE
from .formula import lines_of
from .recipe import Recipe, recipe, shape_name, turn
from .state import check_state

# Points of the grid along each axis, of a settled state and of a draft.
GRID = 81
DRAFT_GRID = 49
# Radii and angles of the points at which a rule is checked.
RADII = np.linspace(0.0, 1.0, 9)
ANGLES = np.linspace(0.0, 2 * np.pi, 48, endpoint=False)
# A rule holds if its smallest margin is at least 1 minus this.
FINE = 1e-3
# What `fit` says of a point of two rules in conflict, and numbers that messages show with 3 decimals.
CONFLICT = re.compile(r"Both apply to the point \((\S+), (\S+)\)")
DECIMALS = re.compile(r"-?(?!0\.000)\d+\.\d{4,}(?!\d*e)")
# Rows with a smaller share of the largest price are not support vectors.
NEGLIGIBLE = 1e-6


def answer(state: Any) -> dict[str, Any]:
    """Return what the front end shows of a state.

    Parameters
    ----------
    state : dict
        The document of the front end, as ``default_state`` makes it. ``draft`` is true while something is
        dragged: rules on kernel models then have fewer points.

    Returns
    -------
    dict
        ``error`` is a text, or None. ``conflict`` is a point of two hard rules in conflict, or None. Without
        an error there are the lines, areas, rows, shapes, terms and formulas of the fitted model. ``code`` is
        the Python code of the model, unless the state is invalid.

    Examples
    --------
    >>> from priorsvm.playground.state import default_state
    >>> found = answer(default_state(points=[[-1, 0, 0], [1, 0, 1]], C=10))
    >>> found["error"], round(found["objective"], 3), [row["price"] for row in found["rows"]]
    (None, 0.5, [0.5, 0.5])
    >>> answer({"points": 3})["error"]
    "InvalidInput: state: state has no 'shapes'. The keys are points, shapes, C, ..."
    """
    started = time.perf_counter()
    try:
        check_state(state)
    except InvalidInput as error:
        return {"error": _message(error), "code": None}
    described = recipe(state)
    settled = recipe({**state, "draft": False})
    shown: dict[str, Any] = {
        "error": None,
        "code": settled.source(),
        "draft": described != settled,
        "conflict": None,
    }
    try:
        model, shown["notes"] = fitted(described)
        shown |= picture(model, state)
    except PriorSVMError as error:
        shown["error"] = _message(error)
        shown["conflict"] = _conflict(str(error))
    except Exception as error:  # a message in place of the plot, not a broken connection
        shown["error"] = f"The model could not be fitted. {_message(error)}"
    shown["milliseconds"] = round(1000 * (time.perf_counter() - started), 1)
    return shown


def _message(error: BaseException) -> str:
    return DECIMALS.sub(lambda number: f"{float(number[0]):.3f}", f"{type(error).__name__}: {error}")


def _conflict(text: str) -> list[float] | None:
    """Return the point to which two rules in conflict apply.

    >>> _conflict("Both apply to the point (-0.5, 2).")
    [-0.5, 2.0]
    """
    point = CONFLICT.search(text)
    return None if point is None else [float(number) for number in point.groups()]


def fitted(described: Recipe) -> tuple[Any, list[str]]:
    """Return the fitted model and the texts of its warnings."""
    if len(set(described.y)) < 2:
        raise InvalidInput("each class needs at least one point. Add a circle and a triangle.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = described.fit()
    kinds = (PriorSVMWarning, ConvergenceWarning)
    texts = [_message(w.message) for w in caught if isinstance(w.message, kinds)]
    return model, list(dict.fromkeys(texts))


def picture(model: Any, state: dict[str, Any]) -> dict[str, Any]:
    """Return lines, areas, rows, shapes, terms and formulas of a fitted model."""
    [binary] = model._models
    report = model.report_
    formulation = model.formulation()
    return {
        **_contours(model, DRAFT_GRID if state.get("draft") else GRID),
        "rows": _points(model, state["points"], _rows(model, binary)),
        "added": _added(binary),
        "active": [_path(point) for worst in _worst(binary) for point in worst.points[worst.support]],
        "curves": _curves(state, binary),
        "shapes": [_shape(model, report, k, shape) for k, shape in enumerate(state["shapes"], 1)],
        "terms": [_term(row, model.objective_) for row in report.rows],
        "objective": float(model.objective_),
        "formula": lines_of(formulation),
        "latex": str(formulation),
        "solver": model.solver_,
        "status": model.status_,
        "rounds": model.n_rounds_,
    }


# ---------------------------------------------------------------------- what is drawn


def _contours(model: Any, resolution: int) -> dict[str, Any]:
    """Return the lines f = -1, 0, 1 and the areas of both classes, as lists of coordinates."""
    axis = np.linspace(-EDGE, EDGE, resolution)
    x0, x1 = np.meshgrid(axis, axis)
    values = model.decision_function(np.column_stack([x0.ravel(), x1.ravel()])).reshape(x0.shape)
    generator: Any = contour_generator(
        x=axis, y=axis, z=values, line_type=LineType.Separate, fill_type=FillType.OuterCode
    )
    lines = {str(level): [_path(line) for line in generator.lines(level)] for level in (-1, 0, 1)}
    far = float(np.abs(values).max()) + 1.0
    areas = []
    for low, high in ((-far, 0.0), (0.0, far)):
        polygons, codes = generator.filled(low, high)
        # A polygon with holes has several rings, each of which begins with the code 1.
        parts = zip(polygons, codes, strict=True)
        rings = [ring for points, code in parts for ring in np.split(points, np.flatnonzero(code == 1)[1:])]
        areas.append([_path(ring) for ring in rings])
    return {"lines": lines, "areas": areas}


def _path(points: Array) -> list[float]:
    return [float(number) for number in np.asarray(points).ravel().round(3)]


def _rows(model: Any, binary: BinaryModel) -> list[dict[str, Any]]:
    """Return value, slack and price of every point, and the nearest place with its margin if f is linear."""
    sample = binary.sample
    n = sample.n_train
    values = binary.f.value(sample.X[:n])
    slack = binary.slack(sample)[:n]
    prices = np.array(binary.alpha[:n], dtype=float)
    for worst in _worst(binary):  # the price of a row is at its active worst-case points
        prices = np.maximum(prices, np.bincount(worst.rows, worst.weights, minlength=n))
    weights = model.coef_[0] if model.kernel_ is None else np.zeros(2)
    length = float(weights @ weights)
    rows = []
    for k in range(n):
        row: dict[str, Any] = {
            "f": float(values[k]),
            "slack": _visible(slack[k], 1e-6),
            "price": _visible(prices[k], NEGLIGIBLE * float(prices.max())),
        }
        # A block may give a row more slack than its own margin needs.
        own = 1.0 - sample.y[k] * values[k]
        if own > 1e-6 and length > 1e-9:
            step = (sample.y[k] - values[k]) / length
            row["foot"] = _path(sample.X[k] + step * weights)
        rows.append(row)
    return rows


def _points(model: Any, points: list[list[Any]], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what is shown of every point; points without a class have the value of f only."""
    values = model.decision_function([point[:2] for point in points])
    found = iter(rows)
    return [
        {"f": float(value)} if point[2] is None else next(found)
        for point, value in zip(points, values, strict=True)
    ]


def _visible(value: float, floor: float) -> float:
    return round(float(value), 9) if value > floor else 0.0


def _worst(binary: BinaryModel) -> list[WorstCase]:
    """Return the active worst-case points of the blocks."""
    return [found for found in binary.findings.values() if isinstance(found, WorstCase)]


def _curves(state: dict[str, Any], binary: BinaryModel) -> list[dict[str, Any]]:
    """Return what each point may be: the circle of its errors, and its path under the transformation."""
    X = binary.training.X
    angles = np.append(ANGLES, 0.0)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    paths = []
    for member in binary.members:
        if isinstance(member.block, UncertainSamples):
            paths.append(X[:, None] + member.block.radius * state["errors"] * circle)
    if state["change"] != "none":
        steps = state["size"] * np.linspace(-1.0, 1.0, 33)
        along = {"x0": [1.0, 0.0], "x1": [0.0, 1.0]}
        if state["change"] == "turn":
            paths.append(np.stack([turn(X, step) for step in steps], axis=1))
        else:
            paths.append(X[:, None] + steps[:, None] * along[state["change"]])
    labels = [int(label) for label in binary.training.labels]
    return [
        {"label": k, "path": _path(path)} for group in paths for k, path in zip(labels, group, strict=True)
    ]


def _added(binary: BinaryModel) -> list[list[float]]:
    """Return the rows that blocks add: coordinates, class and price."""
    sample = binary.sample
    n = sample.n_train
    rows = zip(sample.X[n:], sample.y[n:], binary.alpha[n:], strict=True)
    return [[*_path(x), int(y > 0), round(float(a), 6)] for x, y, a in rows]


def _shape(model: Any, report: Report, number: int, shape: dict[str, Any]) -> dict[str, Any]:
    """Return the smallest margin at points of a shape, its place, whether the rule holds there, its price."""
    points = shape_points(shape)
    margins = (2 * shape["label"] - 1) * model.decision_function(points)
    k = int(np.argmin(margins))
    # "size" bounds the weights, and is not a requirement of the rule.
    prices = [row.price for row in report[shape_name(number, shape)] if row.term != "size"]
    return {
        "worst": float(margins[k]),
        "where": _path(points[k]),
        "holds": bool(margins[k] >= 1 - FINE),
        "price": _visible(sum(prices), 1e-6),
    }


def shape_points(shape: dict[str, Any]) -> Array:
    """Return points of a box or an ellipse: its border, its corners, and rings inside.

    >>> box = {"kind": "box", "centre": [0, 0], "half": [2, 1]}
    >>> shape_points(box).max(axis=0).tolist()
    [2.0, 1.0]
    """
    circle = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
    if shape["kind"] == "box":
        circle = circle / np.abs(circle).max(axis=1, keepdims=True)
    unit = (RADII[:, None, None] * circle).reshape(-1, 2)
    return np.asarray(shape["centre"], float) + unit * np.asarray(shape["half"], float)


def _term(row: Row, total: float) -> dict[str, Any]:
    """Return a line of the report."""
    return {
        "block": row.block,
        "term": row.term,
        "contribution": row.contribution,
        "share": row.contribution / total if total else 0.0,
        "rows": row.rows,
        "active": row.active,
        "slack": None if np.isnan(row.slack) else row.slack,
        "price": row.price,
    }
