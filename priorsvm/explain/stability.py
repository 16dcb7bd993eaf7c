"""Does the class of new rows stay the same, whatever a transform does to them?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._utils.arrays import Array, dense_row, stack
from ..transforms.base import Transform
from ..transforms.features import FeatureScaling

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
    kept : (n,) array, whether the class stays; where two lead, ``predict`` gives the first of them.
    tried : how many moves of each row were looked at if there are more; None if it was all of them.

    Examples
    --------
    >>> from priorsvm import InvariantLoss, PriorSVC, Shift
    >>> model = PriorSVC(InvariantLoss(Shift([0.5]))).fit([[0.0], [3.0]], [0, 1])
    >>> model.verify([[0.2], [1.8]]).stability["invariant_loss"]
    <Stability: 50.0% of 2 new rows keep their class under every move>
    """

    lead: Array
    points: Any
    kept: Array
    tried: int | None = None

    @property
    def share(self) -> float:
        """The share of rows whose class no move changes."""
        return float(np.mean(self.kept))

    @property
    def changed(self) -> Array:
        """The rows whose class some move changes, the worst first."""
        order = np.argsort(self.lead, kind="stable")
        return order[~self.kept[order]]

    def worst(self) -> tuple[float, Array]:
        """The smallest lead, and the moved row it is found at."""
        i = int(np.argmin(self.lead))
        return float(self.lead[i]), dense_row(self.points, i)

    def __repr__(self) -> str:
        return f"<Stability: {self}>"

    def __str__(self) -> str:
        n = len(self.lead)
        moves = "every move" if self.tried is None else f"each of {self.tried} moves tried"
        return f"{self.share:.1%} of {n} new row{'s'[: n != 1]} keep their class under {moves}"


def stability(
    scores: Callable[[Any], Array],
    coef: Array | None,
    intercept: Array,
    transform: Transform,
    X: Any,
    thetas: Array | None = None,
) -> Stability:
    """Look at every move of every row; for features any of which may be spoilt, at the worst one.

    Parameters
    ----------
    scores : rows -> decision function, (n,) or (n, K)
    coef, intercept : the weights of linear machines, else None
    transform, X : the moves, and the rows that are moved
    thetas : (s, q) array, the moves to look at; by default those of the orbit

    Examples
    --------
    >>> import numpy as np
    >>> from priorsvm import Shift
    >>> found = stability(lambda X: X[:, 0], None, np.zeros(1), Shift([0.5]), np.array([[0.2], [1.0]]))
    >>> found.lead, found.kept
    (array([-0.3,  0.5]), array([False,  True]))
    """
    if isinstance(transform, FeatureScaling):
        assert coef is not None
        return _spoilt(coef, intercept, transform, X)
    s = len(transform.theta_grid() if thetas is None else thetas)
    step = max(1, PART // (X.shape[1] * s))
    parts = [_moved(scores, transform, X[i : i + step], thetas) for i in range(0, X.shape[0], step)]
    lead, points, kept = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("lead", "points", "kept")
    )
    return Stability(lead, points, kept, None if thetas is None else s)


def _moved(scores: Callable[[Any], Array], transform: Transform, X: Array, thetas: Array | None) -> Stability:
    if thetas is None:
        orbit = transform.orbit(X)
    else:
        orbit = np.stack([transform.apply(X, theta) for theta in thetas], axis=1)
    n, s, d = orbit.shape
    found = _of_classes(scores(orbit.reshape(-1, d))).reshape(n, s, -1)
    rows = np.arange(n)
    own = _of_classes(scores(X)).argmax(axis=1)
    kept = (found.argmax(axis=2) == own[:, None]).all(axis=1)
    rest = found.copy()
    rest[rows, :, own] = -np.inf
    lead = found[rows, :, own] - rest.max(axis=2)
    worst = lead.argmin(axis=1)
    return Stability(lead[rows, worst], orbit[rows, worst], kept)


def _spoilt(coef: Array, intercept: Array, transform: FeatureScaling, X: Any) -> Stability:
    if len(coef) == 1:  # two classes
        coef = np.vstack([0.0 * coef, coef])
        intercept = np.append(0.0, intercept)
    scores = np.asarray(X @ coef.T + intercept)
    n, K = scores.shape
    own = scores.argmax(axis=1)
    lead = np.full(n, np.inf)
    points = [X] * (K + 1)
    place = np.full(n, K)
    kept = np.ones(n, bool)
    for other in range(K):
        moved = []
        order = []
        for k in range(K):
            rows = np.flatnonzero(own == k)
            order.append(rows)
            ahead = coef[k] - coef[other]
            moved.append(transform.worst(X[rows], ahead, np.ones(len(rows))) if k != other else X[rows])
        back = np.argsort(np.concatenate(order))
        points[other] = stack(*moved)[back]
        at = np.asarray(points[other] @ coef.T + intercept)
        ahead = np.where(own == other, np.inf, at[np.arange(n), own] - at[:, other])
        kept &= (ahead > 0) | ((ahead == 0) & (own < other))
        better = ahead < lead
        lead[better] = ahead[better]
        place[better] = other
    return Stability(lead, stack(*points)[place * n + np.arange(n)], kept)


def _of_classes(scores: Array) -> Array:
    """One column per class; with two classes f is that of the second."""
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores
