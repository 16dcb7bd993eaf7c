r"""Equal values of f at a row and its transformed copies."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import check_flag, check_nonnegative
from ...sample import Sample
from ..base import Formulas, Knowledge, Terms
from ..by_class import ByClass
from ..traits import AtPoints
from ..views import Building, PointTerms, Solved, Verdict
from .pairs import equal_pairs


class InvarianceHint(AtPoints, ByClass, Knowledge):
    r"""Squared differences of f along the orbits of the training rows.

    .. math:: J_{PK} = \frac{\mu}{M} \sum_{i, \theta} \big(f(T_\theta x_i) - f(x_i)\big)^2
              \quad\text{or, hard,}\quad f(T_\theta x_i) = f(x_i) ,

    over the M pairs of a training row and a member of its orbit, each weighted by ``sample_weight``. The
    mean over the orbit of a row is taken first, then the mean over the rows with a transform. Use it if a
    transformation changes f little; signs are not used. For a finite group G and an invariant kernel, the
    hard form equals ``VirtualSamples`` at :math:`C/|G|`.

    Parameters
    ----------
    transform : Transform or dict of class to Transform
        Every member of its orbit except the identity is compared with the row. With a dict, rows of a class
        that is not a key are left out.
    mu : float, default=1.0
        Weight of the mean squared difference.
    hard : bool, default=False
        Equality instead of a penalty.
    classes : class, list of classes or None, default=None
        Classes whose rows are compared with their copies; None means all classes. The mean is over these
        rows.

    See Also
    --------
    TangentPenalty : slopes of f along the transformation instead of differences.
    VirtualSamples : transformed copies with the label of their row.

    References
    ----------
    Abu-Mostafa 1990, 1995; Lauer & Bloch 2008, eqs. (18)-(19).

    Examples
    --------
    >>> from priorsvm import InvarianceHint, PriorSVC, Shift
    >>> hint = InvarianceHint(Shift([0.0, 1.0]), hard=True)
    >>> model = PriorSVC(hint).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    >>> abs(model.coef_[0, 1]) < 1e-6
    np.True_
    """

    way_out_of_collapse: ClassVar[str | None] = (
        "Make it soft with a lower mu, use a smaller transformation, or use another kernel."
    )
    formulas: ClassVar[Formulas] = Formulas(
        latex={
            "mu": r"\frac{1}{M} \sum_{i,\theta} \big(f(T_\theta x_i) - f(x_i)\big)^2",
            "equal": r"f(T_\theta x_i) = f(x_i)",
        },
        letters={
            r"T_\theta": r"\text{the transformation with parameters } \theta",
            "M": r"\text{the number of transformed rows}",
        },
    )

    def __init__(self, transform: Any, mu: float = 1.0, hard: bool = False, classes: Any = None):
        self.transform = transform
        self.mu = mu
        self.hard = hard
        self.classes = classes

    def validate(self, sample: Sample) -> None:
        self.check_orbits(sample)
        check_nonnegative(mu=self.mu)
        check_flag(hard=self.hard)

    def build(self, f: Any, view: Building) -> Terms:
        import cvxpy as cp

        X, TX, share = self._pairs(view.sample)
        if len(X) == 0:  # the orbit is the identity alone
            return Terms()
        if self.hard:
            return Terms(constraints={"equal": f(TX) == f(X)})
        return Terms(penalties={"mu": cp.sum_squares(cp.multiply(np.sqrt(share), f(TX) - f(X)))})

    def at_points(self, view: Building, linear: bool) -> PointTerms | None:
        X, TX, share = self._pairs(view.sample)
        return equal_pairs(TX, X, -1.0, share, "equal" if self.hard else None)

    def verify(self, f: Any, view: Solved) -> Verdict:
        X, TX, _ = self._pairs(view.sample)
        excess = -np.abs(f.value(TX) - f.value(X))
        return Verdict.at_points(excess, TX, "equal values along the orbits", view.tol)

    def _pairs(self, sample: Sample) -> tuple[Array, Array, Array]:
        """Return rows, transformed rows, and the weight of each pair in the mean."""
        weight = sample.weights
        rows = np.flatnonzero((weight > 0) & (self.transform_of(sample.labels) >= 0))
        d = sample.X.shape[1]
        X = [np.empty((0, d))]
        TX = [np.empty((0, d))]
        share = [np.empty(0)]
        for group, orbit in self.copies(sample.labels[rows], sample.X[rows]):
            size = orbit.shape[1]
            at = rows[group.rows]
            X.append(np.repeat(sample.X[at], size, axis=0))
            TX.append(orbit.reshape(-1, d))
            share.append(np.repeat(weight[at] / weight[rows].sum(), size) / max(size, 1))
        return np.vstack(X), np.vstack(TX), np.concatenate(share)
