"""Stability: whether new rows keep their class under a transformation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._utils.arrays import Array, dense_row, stack
from ..errors import MissingCapability
from ..knowledge.by_class import ByClass, in_order
from ..transforms.base import Transform
from ..transforms.features import FeatureDeletion, FeatureScaling

# Orbits are evaluated in parts of about this many numbers.
PART = 2**22


@dataclass(frozen=True, eq=False)
class Stability:
    r"""Classes of new rows under a transformation.

    Attributes
    ----------
    lead : array of shape (n,)
        Score of the row's class minus the highest score of another class, at the transformed copy where this
        difference is smallest. With two classes it is \|f\| with the sign of f at the row. It is negative if
        the class changes.
    points : array of shape (n, d)
        Transformed copy with the smallest difference; sparse if the rows are sparse.
    kept : array of shape (n,)
        Whether the class stays. If two scores are equal, the first class counts, as in ``predict``.
    tried : int or None, default=None
        Number of sampled transformations of each row; None if all transformations were evaluated.

    Examples
    --------
    >>> from priorsvm import InvariantLoss, PriorSVC, Shift
    >>> model = PriorSVC(InvariantLoss(Shift([0.5]))).fit([[0.0], [3.0]], [0, 1])
    >>> model.verify([[0.2], [1.8]]).stability["invariant_loss"]
    <Stability: 50.0% of 2 new rows keep their class under every transformation>
    """

    lead: Array
    points: Any
    kept: Array
    tried: int | None = None

    @property
    def share(self) -> float:
        """Share of the rows that keep their class."""
        return float(np.mean(self.kept))

    @property
    def changed(self) -> Array:
        """Indices of the rows whose class changes, the worst row first."""
        order = np.argsort(self.lead, kind="stable")
        return order[~self.kept[order]]

    def worst(self) -> tuple[float, Array]:
        """Return the smallest lead and its transformed row.

        Returns
        -------
        (float, array of shape (d,))
            Lead and row.
        """
        i = int(np.argmin(self.lead))
        return float(self.lead[i]), dense_row(self.points, i)

    def __repr__(self) -> str:
        return f"<Stability: {self}>"

    def __str__(self) -> str:
        n = len(self.lead)
        rows = "new row" if n == 1 else "new rows"
        which = "every transformation"
        if self.tried is not None:
            which = f"each of {self.tried} sampled transformations"
        return f"{self.share:.1%} of {n} {rows} keep their class under {which}"


def stability(
    scores: Callable[[Any], Array],
    coef: Array | None,
    intercept: Array,
    transform: Transform,
    X: Any,
    thetas: Array | None = None,
) -> Stability:
    """Evaluate every transformed copy of every row; FeatureScaling of a linear f has a closed form.

    Parameters
    ----------
    scores : callable
        Rows -> decision function, of shape (n,) or (n, K).
    coef : array or None
        Coefficients of the functions whose largest value is the class; None for kernel and one-vs-one models.
    intercept : array
        Intercepts of a linear model.
    transform : Transform
        The transformation.
    X : array of shape (n, d)
        Rows to transform.
    thetas : array of shape (s, q) or None, default=None
        Parameters of the transformation; None is the whole orbit.

    Returns
    -------
    Stability
        The result.

    Examples
    --------
    >>> import numpy as np
    >>> from priorsvm import Shift
    >>> found = stability(lambda X: X[:, 0], None, np.zeros(1), Shift([0.5]), np.array([[0.2], [1.0]]))
    >>> found.lead, found.kept
    (array([-0.3,  0.5]), array([False,  True]))
    """
    if isinstance(transform, FeatureScaling) and coef is not None:
        return _under_scaling(coef, intercept, transform, X)
    if isinstance(transform, FeatureScaling) and not isinstance(transform, FeatureDeletion):
        raise MissingCapability(
            "verify(X): the worst factors of FeatureScaling are known if each class has one linear function, "
            "and a one-vs-one model counts votes. Use multi_class='ovr'."
        )
    s = len(thetas) if thetas is not None else transform.orbit(X[:1]).shape[1]
    step = max(1, PART // (X.shape[1] * s))
    parts = [_over_orbit(scores, transform, X[i : i + step], thetas) for i in range(0, X.shape[0], step)]
    lead, points, kept = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("lead", "points", "kept")
    )
    return Stability(lead, points, kept, None if thetas is None else s)


def stability_of(
    block: Any, scores: Callable[[Any], Array], coef: Array | None, intercept: Array, classes: Array, X: Any
) -> Stability:
    """Evaluate the transforms of a block; if they differ between classes, by the predicted class of a row.

    Parameters
    ----------
    block : Knowledge
        A block with a transform, or with a dict of class to transform.
    scores, coef, intercept, X
        As in :func:`stability`.
    classes : array
        All classes, in the order of the scores.

    Returns
    -------
    Stability
        The result. A row of a predicted class without a transform keeps its class.

    Examples
    --------
    >>> import numpy as np
    >>> from priorsvm import InvariantLoss, Shift
    >>> rows, classes = np.array([[-0.2], [0.2], [1.0]]), np.array(["ham", "spam"])
    >>> block = InvariantLoss(Shift([0.5]), classes="spam")
    >>> stability_of(block, lambda X: X[:, 0], None, np.zeros(1), classes, rows).lead
    array([ 0.2, -0.3,  0.5])
    """

    def under(transform: Transform, rows: Any) -> Stability:
        thetas = block.finest(transform) if getattr(block, "continuous", False) else None
        return stability(scores, coef, intercept, transform, rows, thetas)

    if not (isinstance(block, ByClass) and block.by_class):
        return under(block.transform, X)
    predicted = classes[_class_scores(scores(X)).argmax(axis=1)]
    rest = np.flatnonzero(block.transform_of(predicted) < 0)
    rows = [rest]
    parts = [_unchanged(scores, X[rest])]
    for group in block.groups(predicted):
        rows.append(group.rows)
        parts.append(under(group.transform, X[group.rows]))
    lead, kept = (
        np.concatenate([getattr(part, name) for part in parts])[np.argsort(np.concatenate(rows))]
        for name in ("lead", "kept")
    )
    tried = [part.tried for part in parts if part.tried is not None]
    points = in_order(rows, [part.points for part in parts])
    return Stability(lead, points, kept, max(tried, default=None))


def _unchanged(scores: Callable[[Any], Array], X: Any) -> Stability:
    """Return the result for rows that are not transformed."""
    if X.shape[0] == 0:
        return Stability(np.empty(0), X, np.ones(0, bool))
    found = np.sort(_class_scores(scores(X)), axis=1)
    return Stability(found[:, -1] - found[:, -2], X, np.ones(X.shape[0], bool))


def _over_orbit(
    scores: Callable[[Any], Array], transform: Transform, X: Array, thetas: Array | None
) -> Stability:
    if thetas is None:
        orbit = transform.orbit(X)
    else:
        orbit = np.stack([transform.apply(X, theta) for theta in thetas], axis=1)
    n, s, d = orbit.shape
    found = _class_scores(scores(orbit.reshape(-1, d))).reshape(n, s, -1)
    rows = np.arange(n)
    predicted = _class_scores(scores(X)).argmax(axis=1)
    kept = (found.argmax(axis=2) == predicted[:, None]).all(axis=1)
    rest = found.copy()
    rest[rows, :, predicted] = -np.inf
    lead = found[rows, :, predicted] - rest.max(axis=2)
    worst = lead.argmin(axis=1)
    return Stability(lead[rows, worst], orbit[rows, worst], kept)


def _under_scaling(coef: Array, intercept: Array, transform: FeatureScaling, X: Any) -> Stability:
    if len(coef) == 1:  # two classes
        coef = np.vstack([0.0 * coef, coef])
        intercept = np.append(0.0, intercept)
    scores = np.asarray(X @ coef.T + intercept)
    n, K = scores.shape
    predicted = scores.argmax(axis=1)
    lead = np.full(n, np.inf)
    points = [X] * (K + 1)
    place = np.full(n, K)
    kept = np.ones(n, bool)
    for other in range(K):
        worst = []
        order = []
        for k in range(K):
            rows = np.flatnonzero(predicted == k)
            order.append(rows)
            ahead = coef[k] - coef[other]
            worst.append(transform.worst(X[rows], ahead, np.ones(len(rows))) if k != other else X[rows])
        back = np.argsort(np.concatenate(order))
        points[other] = stack(*worst)[back]
        at = np.asarray(points[other] @ coef.T + intercept)
        ahead = np.where(predicted == other, np.inf, at[np.arange(n), predicted] - at[:, other])
        kept &= (ahead > 0) | ((ahead == 0) & (predicted < other))
        better = ahead < lead
        lead[better] = ahead[better]
        place[better] = other
    return Stability(lead, stack(*points)[place * n + np.arange(n)], kept)


def _class_scores(scores: Array) -> Array:
    """Return one column per class; with two classes, f is the score of the second class."""
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores
