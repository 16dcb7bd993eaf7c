"""Does the class of new rows stay the same, whatever a transform does to them?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .rows import Array, dense_row, stack
from .transforms.base import Transform
from .transforms.features import FeatureScaling

# Orbits are looked at in parts of about so many numbers.
PART = 2**22


@dataclass(frozen=True, eq=False)
class Stability:
    r"""What moving new rows does to their class.

    Attributes
    ----------
    lead : (n,) array, by how much the score of the class of the unmoved row stays ahead of all others at the
        worst move (f itself, up to its sign, with two classes); negative where the class changes.
    points : (n, d) array, each row where that happens; sparse if the rows are.
    """

    lead: Array
    points: Any

    @property
    def share(self) -> float:
        """The share of rows whose class no move changes."""
        return float(np.mean(self.lead > 0))

    @property
    def changed(self) -> Array:
        """The rows whose class some move changes, the worst first."""
        order = np.argsort(self.lead, kind="stable")
        return order[self.lead[order] <= 0]

    def worst(self) -> tuple[float, Array]:
        """The smallest lead, and the moved row it is found at."""
        i = int(np.argmin(self.lead))
        return float(self.lead[i]), dense_row(self.points, i)

    def __repr__(self) -> str:
        return f"<Stability: {self}>"

    def __str__(self) -> str:
        n = len(self.lead)
        return f"{self.share:.1%} of {n} new row{'s'[: n != 1]} keep their class under every move"


def stability(
    scores: Callable[[Any], Array], coef: Array | None, intercept: Array, transform: Transform, X: Any
) -> Stability:
    """Look at every move of every row; for features any of which may be spoilt, at the worst one.

    Parameters
    ----------
    scores : rows -> decision function, (n,) or (n, K)
    coef, intercept : the weights of linear machines, else None
    transform, X : the moves, and the rows that are moved
    """
    if isinstance(transform, FeatureScaling):
        assert coef is not None
        return _spoilt(coef, intercept, transform, X)
    step = max(1, PART // (X.shape[1] * len(transform.theta_grid())))
    parts = [_moved(scores, transform, X[i : i + step]) for i in range(0, X.shape[0], step)]
    return Stability(
        np.concatenate([part.lead for part in parts]), np.vstack([part.points for part in parts])
    )


def _moved(scores: Callable[[Any], Array], transform: Transform, X: Array) -> Stability:
    orbit = transform.orbit(X)
    n, s, d = orbit.shape
    found = _of_classes(scores(orbit.reshape(-1, d))).reshape(n, s, -1)
    rows, own = np.arange(n), found[:, 0].argmax(axis=1)  # the first member is the row itself
    rest = found.copy()
    rest[rows, :, own] = -np.inf
    lead = found[rows, :, own] - rest.max(axis=2)
    worst = lead.argmin(axis=1)
    return Stability(lead[rows, worst], orbit[rows, worst])


def _spoilt(coef: Array, intercept: Array, transform: FeatureScaling, X: Any) -> Stability:
    if len(coef) == 1:  # two classes
        coef, intercept = np.vstack([0.0 * coef, coef]), np.append(0.0, intercept)
    scores = np.asarray(X @ coef.T + intercept)
    n, K = scores.shape
    own, lead, points = scores.argmax(axis=1), np.full(n, np.inf), [X] * (K + 1)
    place = np.full(n, K)
    for other in range(K):
        moved, order = [], []
        for k in range(K):
            rows = np.flatnonzero(own == k)
            order.append(rows)
            ahead = coef[k] - coef[other]
            moved.append(transform.worst(X[rows], ahead, np.ones(len(rows))) if k != other else X[rows])
        back = np.argsort(np.concatenate(order))
        points[other] = stack(*moved)[back]
        at = np.asarray(points[other] @ coef.T + intercept)
        ahead = np.where(own == other, np.inf, at[np.arange(n), own] - at[:, other])
        better = ahead < lead
        lead[better], place[better] = ahead[better], other
    return Stability(lead, stack(*points)[place * n + np.arange(n)])


def _of_classes(scores: Array) -> Array:
    """One column per class; with two classes f is that of the second."""
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores
