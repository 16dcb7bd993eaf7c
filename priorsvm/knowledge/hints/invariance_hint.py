r"""Equal values of f at a row and its transformed copies."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import check_flag, check_nonnegative
from ...sample import Sample
from ..base import Context, Knowledge, Terms, Verdict
from ..checks import check_orbit


class InvarianceHint(Knowledge):
    r"""Squared differences of f along the orbits of the training rows.

    .. math:: J_{PK} = \frac{\mu}{M} \sum_{i, \theta} \big(f(T_\theta x_i) - f(x_i)\big)^2
              \quad\text{or, hard,}\quad f(T_\theta x_i) = f(x_i) ,

    over the M pairs of a training row and a member of its orbit, each weighted by ``sample_weight``. Use it
    if a transformation changes f little; labels are not used. For a finite group G and an invariant kernel,
    the hard form equals ``VirtualSamples`` at :math:`C/|G|`.

    Parameters
    ----------
    transform : Transform
        Every member of its orbit except the identity is compared with the row.
    mu : float, default=1.0
        Weight of the mean squared difference.
    hard : bool, default=False
        Equality instead of a penalty.

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

    latex: ClassVar[dict[str, str]] = {
        "mu": r"\frac{1}{M} \sum_{i,\theta} \big(f(T_\theta x_i) - f(x_i)\big)^2",
        "equal": r"f(T_\theta x_i) = f(x_i)",
    }
    letters: ClassVar[dict[str, str]] = {
        r"T_\theta": r"\text{the transformation with parameters } \theta",
        "M": r"\text{the number of transformed rows}",
    }

    def __init__(self, transform: Any, mu: float = 1.0, hard: bool = False):
        self.transform = transform
        self.mu = mu
        self.hard = hard

    def validate(self, sample: Sample) -> None:
        check_orbit(self.transform, sample)
        check_nonnegative(mu=self.mu)
        check_flag(hard=self.hard)

    def build(self, f: Any, context: Context) -> Terms:
        import cvxpy as cp

        X, TX, share = self._pairs(context.sample)
        if len(X) == 0:  # the orbit is the identity alone
            return Terms()
        if self.hard:
            return Terms(constraints={"equal": f(TX) == f(X)})
        return Terms(penalties={"mu": cp.sum_squares(cp.multiply(np.sqrt(share), f(TX) - f(X)))})

    def verify(self, f: Any, context: Context) -> Verdict:
        X, TX, _ = self._pairs(context.sample)
        excess = -np.abs(f.value(TX) - f.value(X))
        return Verdict.at_points(excess, TX, "equal values along the orbits", context.tol)

    def _pairs(self, sample: Sample) -> tuple[Array, Array, Array]:
        """Return rows, transformed rows, and the weight of each pair in the mean."""
        rows, share = sample.weighted_rows()
        orbit = self.transform.orbit(rows)[:, 1:]
        size = orbit.shape[1]
        X = np.repeat(rows, size, axis=0)
        TX = orbit.reshape(-1, rows.shape[1])
        return X, TX, np.repeat(share, size) / max(size, 1)
