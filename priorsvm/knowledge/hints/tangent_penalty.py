r"""f should be level along the tangents of the training rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..._utils.checks import check_nonnegative, described
from ...errors import InvalidInput, InvalidType
from ...kernels.tangent_invariant import tangent_atoms
from ...sample import Sample
from ...transforms.base import Transform
from ..base import Context, Knowledge, Terms, Verdict


class TangentPenalty(Knowledge):
    r"""Squared slopes of f along the tangents of the training rows.

    .. math:: J_{PK} = \frac{\gamma}{2} \sum_{i, k} \big(\nabla f(x_i)^\top v_{ik}\big)^2 , \qquad
              v_{ik} = \frac{\partial T_\theta x_i}{\partial \theta_k} \Big|_{\theta = 0} .

    The regulariser becomes :math:`\frac12 \|g\|^2 + \frac{\gamma}{2} \sum (\nabla g(x_i)^\top v_{ik})^2`. On
    a linear machine that is an SVM on whitened rows, on a kernel machine the SVM with the kernel
    :class:`TangentInvariant` of the same γ, which is far faster where no other block asks for more than rows.
    With the 2-norm f expands over the derivatives of the kernel as well, and is exact; with the 1-norm
    it is the best f over the training rows.

    It speaks of small moves only, and of the training rows only.

    Parameters
    ----------
    transform : Transform
        A continuous one. Its tangents are per unit of its parameters.
    gamma : float
        The weight γ ≥ 0. The sum is over rows, so it means more the more of them there are. Lauer & Bloch
        (38) have :math:`(1 - \gamma_R) \|w\|^2 + \gamma_R \sum (w^\top v)^2`, which is γ = γ_R / (1 - γ_R)
        and C = C_R / (1 - γ_R) here.

    See Also
    --------
    TangentInvariant : the same as a kernel.
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

    latex: ClassVar[dict[str, str]] = {
        "gamma": r"\tfrac12 \sum_{i,k} \big(\nabla f(x_i)^\top v_{ik}\big)^2",
    }
    letters: ClassVar[dict[str, str]] = {
        "v_{ik}": r"\text{the tangent of row } i \text{ as parameter } k \text{ moves it}",
    }

    def __init__(self, transform: Any, gamma: float = 1.0):
        self.transform = transform
        self.gamma = gamma

    def validate(self, sample: Sample) -> None:
        if not isinstance(self.transform, Transform):
            raise InvalidType(
                f"transform must be a Transform, got {described(self.transform)}. "
                "FromFunction(function, thetas) makes one of a function."
            )
        if not self.transform.continuous:
            raise InvalidInput(
                f"transform {self.transform!r} is discrete and has no tangents: use a continuous one, or "
                "InvarianceHint."
            )
        self.transform.tangents(sample.X_train[:1])
        check_nonnegative(gamma=self.gamma)

    def build(self, f: Any, context: Context) -> Terms:
        import cvxpy as cp

        sample = context.sample
        Z, V = tangent_atoms(self.transform, sample.X_train, sample.shares["svm"][: sample.n_train])
        if len(Z) == 0:  # a transform without parameters asks nothing
            return Terms()
        return Terms(penalties={"gamma": 0.5 * cp.sum_squares(f.slope(Z, V))})

    def verify(self, f: Any, context: Context) -> Verdict:
        Z, V = tangent_atoms(self.transform, context.sample.weighted_rows()[0])
        excess = -np.abs(f.slope(Z, V))
        return Verdict.at_points(excess, Z, "a level f along the tangents", context.tol)
