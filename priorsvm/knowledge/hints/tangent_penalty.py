r"""Slopes of f near zero along the tangents of the training rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..._utils.checks import check_nonnegative
from ...errors import InvalidInput
from ...function.atoms import Atoms
from ...kernels.tangent_invariant import tangent_atoms
from ...sample import Sample
from ..base import Formulas, Knowledge, Terms
from ..checks import check_transform
from ..traits import AtPoints
from ..views import Building, PointTerms, Solved, Verdict


class TangentPenalty(AtPoints, Knowledge):
    r"""Squared slopes of f along the tangents of the training rows.

    .. math:: J_{PK} = \frac{\mu}{2} \sum_{i, k} \big(\nabla f(x_i)^\top v_{ik}\big)^2 , \qquad
              v_{ik} = \frac{\partial T_\theta x_i}{\partial \theta_k} \Big|_{\theta = 0} .

    Use it if small transformations change f little. The regulariser becomes
    :math:`\frac12 \|g\|^2 + \frac{\mu}{2} \sum (\nabla g(x_i)^\top v_{ik})^2`. A linear model equals an
    SVM on whitened rows. A kernel model equals the SVM with the kernel :class:`TangentInvariant` of equal
    weight. The kernel is much faster if all other blocks only add or reweight rows. With the 2-norm, f also
    expands over derivatives of the kernel and is exact. With the 1-norm, f is optimal among expansions over
    the training rows.

    Parameters
    ----------
    transform : Transform
        A continuous transform. Its tangents are per unit of its parameters.
    gamma : float, default=1.0
        The weight μ ≥ 0 of the sum over all rows. Lauer & Bloch (38) use
        :math:`(1 - \gamma_R) \|w\|^2 + \gamma_R \sum (w^\top v)^2`. That is μ = γ_R / (1 - γ_R) and
        C = C_R / (1 - γ_R) here.

    See Also
    --------
    TangentInvariant : the equivalent kernel.
    InvarianceHint : differences of f along the orbit instead of slopes.

    References
    ----------
    Schölkopf, Simard, Smola & Vapnik 1998; Chapelle & Schölkopf 2002; Lauer & Bloch 2008, eqs. (38)-(42).

    Examples
    --------
    >>> from priorsvm import PriorSVC, Shift, TangentPenalty
    >>> X, y = [[0.0, 0.0], [0.5, 1.0], [1.5, 0.0], [2.0, 1.0]], [0, 0, 1, 1]
    >>> PriorSVC(C=10.0).fit(X, y).coef_.round(2)
    array([[ 1.33, -0.67]])
    >>> PriorSVC(TangentPenalty(Shift([0.0, 1.0]), gamma=10.0), C=10.0).fit(X, y).coef_.round(2)
    array([[ 1.95, -0.05]])
    """

    way_out_of_collapse: ClassVar[str | None] = (
        "Lower gamma, use a transform with fewer parameters, or use another kernel."
    )
    formulas: ClassVar[Formulas] = Formulas(
        latex={
            "gamma": r"\tfrac12 \sum_{i,k} \big(\nabla f(x_i)^\top v_{ik}\big)^2",
        },
        letters={
            "v_{ik}": r"\text{the tangent of row } i \text{ for parameter } k \text{ of the transformation}",
        },
    )

    def __init__(self, transform: Any, gamma: float = 1.0):
        self.transform = transform
        self.gamma = gamma

    def validate(self, sample: Sample) -> None:
        check_transform(self.transform)
        if not self.transform.continuous:
            raise InvalidInput(
                f"transform {self.transform!r} is discrete and has no tangents. Use a continuous "
                "transform, or InvarianceHint."
            )
        self.transform.tangents(sample.X_train[:1])
        check_nonnegative(gamma=self.gamma)

    def build(self, f: Any, view: Building) -> Terms:
        import cvxpy as cp

        sample = view.sample
        Z, V = tangent_atoms(self.transform, sample.X_train, sample.weights)
        if len(Z) == 0:  # the transform has no parameters
            return Terms()
        return Terms(penalties={"gamma": 0.5 * cp.sum_squares(f.slope(Z, V))})

    def at_points(self, view: Building, linear: bool) -> PointTerms | None:
        Z, V = tangent_atoms(self.transform, view.sample.X_train, view.sample.weights)
        n = len(Z)
        if n == 0:
            return PointTerms.none(view.sample.X.shape[1])
        return PointTerms(
            Atoms(Z, V),
            np.ones(n),
            np.zeros(n),
            penalty="gamma",
            share=0.5,
            squared=True,
            equation=True,
        )

    def verify(self, f: Any, view: Solved) -> Verdict:
        Z, V = tangent_atoms(self.transform, view.sample.weighted_rows()[0])
        excess = -np.abs(f.slope(Z, V))
        return Verdict.at_points(excess, Z, "zero slopes along the tangents", view.tol)
