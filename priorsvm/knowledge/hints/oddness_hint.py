r"""Opposite values of f at opposite points."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..._utils.checks import check_flag, check_nonnegative
from ...errors import InvalidInput
from ...sample import Sample
from ..base import Formulas, Knowledge, Terms
from ..traits import AtPoints
from ..views import Building, PointTerms, Solved, Verdict
from .pairs import equal_pairs


class OddnessHint(AtPoints, Knowledge):
    r"""Squared sums of f at the training rows and at their mirror images through the origin.

    .. math:: J_{PK} = \frac{\mu}{N} \sum_i \big(f(-x_i) + f(x_i)\big)^2
              \quad\text{or, hard,}\quad f(-x_i) = -f(x_i) .

    Use it if :math:`-x` has the opposite class of x. The origin is zero in the given units of X. Two classes
    only. For a linear model the hard form is b = 0.

    Parameters
    ----------
    mu : float, default=1.0
        Weight of the mean square.
    hard : bool, default=False
        Equality instead of a penalty.

    See Also
    --------
    InvarianceHint : equal values at transformed rows.

    References
    ----------
    Abu-Mostafa 1990, 1995; Lauer & Bloch 2008, section 4.1.1.

    Examples
    --------
    >>> from priorsvm import OddnessHint, PriorSVC
    >>> model = PriorSVC(OddnessHint(hard=True)).fit([[1.0], [3.0], [2.5]], [0, 1, 1])
    >>> abs(model.intercept_[0]) < 1e-6
    np.True_
    """

    formulas: ClassVar[Formulas] = Formulas(
        latex={
            "mu": r"\frac{1}{N} \sum_i \big(f(-x_i) + f(x_i)\big)^2",
            "odd": r"f(-x_i) = -f(x_i)",
        },
        letters={"N": r"\text{the number of training rows}"},
    )

    def __init__(self, mu: float = 1.0, hard: bool = False):
        self.mu = mu
        self.hard = hard

    def validate(self, sample: Sample) -> None:
        check_nonnegative(mu=self.mu)
        check_flag(hard=self.hard)
        if sample.negative is None:
            raise InvalidInput(
                f"oddness requires two classes, got {len(sample.classes)}: a score of one class against the "
                "rest is not odd. Remove the block."
            )

    def build(self, f: Any, view: Building) -> Terms:
        import cvxpy as cp

        X, share = view.sample.weighted_rows()
        if self.hard:
            return Terms(constraints={"odd": f(-X) == -f(X)})
        return Terms(penalties={"mu": cp.sum_squares(cp.multiply(np.sqrt(share), f(-X) + f(X)))})

    def at_points(self, view: Building, linear: bool) -> PointTerms | None:
        X, share = view.sample.weighted_rows()
        return equal_pairs(-X, X, 1.0, share, "odd" if self.hard else None)

    def verify(self, f: Any, view: Solved) -> Verdict:
        X, _ = view.sample.weighted_rows()
        excess = -np.abs(f.value(-X) + f.value(X))
        return Verdict.at_points(excess, X, "opposite values at opposite points", view.tol)
