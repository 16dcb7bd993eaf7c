r"""Boxes on a linear model as rows: the least value of f over a box is its value at a vertex."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ..._utils.arrays import Array
from ...function.atoms import Atoms
from ..views import PointTerms
from .exact import box_shapes, open_sides
from .requirement import Requirement
from .sets import BoxSet

# Most vertices of all boxes; the constraints of more are stated with the sizes of the weights.
MOST = 256


def vertex_terms(requirements: list[Requirement], hard: bool, width: Array) -> PointTerms | None:
    """Return the constraints of boxes and slopes on a linear f as rows; None for other or too many rows.

    Parameters
    ----------
    requirements : list of Requirement
        The requirements.
    hard : bool
        Whether they have no slack.
    width : array of shape (d,)
        Units of the model.
    """
    slopes = [k for k, r in enumerate(requirements) if r.direction is not None]
    boxes = [k for k, r in enumerate(requirements) if r.direction is None]
    if not all(isinstance(requirements[k].region, BoxSet) for k in boxes):
        return None
    centre, radius, up, down = box_shapes([requirements[k] for k in boxes], len(width))
    if sum(2.0 ** np.count_nonzero(radius, axis=1)) > MOST:
        return None
    signs = np.array([requirements[k].sign for k in boxes])
    corners = [_corners(r) for r in radius]
    counts = [len(part) for part in corners]
    box = np.repeat(np.arange(len(boxes)), counts)
    offset = np.vstack([np.empty((0, len(width))), *corners])
    side, column = open_sides(signs, up, down)
    none = len(side)
    points = np.vstack([centre[box] + offset, np.zeros((len(slopes) + none, len(width)))])
    along: list[Any] = [requirements[k].direction for k in slopes]
    directions = np.vstack([np.zeros_like(offset), *along, np.diag(width)[column]])
    sign = np.concatenate([signs[box], [requirements[k].sign for k in slopes], side])
    target = [requirements[k].h for k in [*(boxes[b] for b in box), *slopes]] + [0.0] * none
    slack = np.concatenate([np.array(boxes, int)[box], slopes, np.full(none, -1)]).astype(int)
    of_box = np.arange(len(sign)) < len(box)
    rows = np.split(np.eye(len(sign)), [len(box), len(box) + len(slopes)])
    duals: dict[str, Any] = {}
    if boxes:
        duals["box"] = (box[None] == np.arange(len(boxes))[:, None]) @ rows[0]
    if radius.any():
        lower = np.where(signs[box, None] * offset < 0, radius[box], 0.0) / width
        upper = np.where(signs[box, None] * offset > 0, radius[box], 0.0) / width
        duals["size"] = np.vstack([lower.T, upper.T]) @ rows[0]
    if none:
        duals["open"] = rows[2]
    if slopes:
        duals["slope"] = rows[1]
    atoms = Atoms(points, directions, ~of_box) if len(slopes) + none else Atoms(points)
    penalty = None if hard else "mu"
    return PointTerms(atoms, sign, np.array(target, float), slack, penalty, duals=duals)


def _corners(radius: Array) -> Array:
    """Return the corners of a box around 0."""
    ends = [(-r, r) if r > 0 else (0.0,) for r in radius.tolist()]
    return np.array(list(product(*ends)))
