"""Gaussian kernel that extends along the tangents of every row."""

from __future__ import annotations

from .._utils.arrays import Array
from .._utils.checks import is_number
from ..transforms.base import Transform
from .gamma import gamma_number
from .tangent_distance import TangentKernel, closest, tangent_basis


class TangentVector(TangentKernel):
    r"""Gaussian kernel whose covariance at z extends along the tangents of z.

    .. math:: k(x, z) = \exp\bigl(-\tfrac12 (x - z)^\top (s^2 I + t^2 L_z L_z^\top)^{-1} (x - z)\bigr), \qquad
              \gamma = \frac{1}{2 s^2} ,

    with the tangents of z as columns of :math:`L_z`. The kernel k equals :math:`\exp(-\gamma\, d^2)` of the
    one-sided distance :math:`d^2 = \min_b \|x - z - L_z b\|^2 + \eta \|b\|^2` with :math:`\eta = s^2 / t^2`.
    The parameters b are Gaussian with standard deviation t. For t = 0 it is :class:`RBF`. For large t, d is
    the distance from x to the tangent plane of z.

    It is neither symmetric nor positive definite. The covariance belongs to the second argument, which is the
    centre in a fitted model, so new rows need no tangents. Use ``norm="l1"``, or ``norm="l2"`` with ``psd``.

    Parameters
    ----------
    gamma : float, "scale" or "auto"
        The factor γ > 0; ``"scale"`` and ``"auto"`` as in :class:`RBF`.
    transform : Transform
        Continuous transform, whose ``tangents(X)`` are the columns of L. Use ``s @ t`` for several
        transforms.
    spread : float
        The standard deviation t ≥ 0 of the parameters, in the units of the transform.
    psd : {"clip", "shift"} or None, default=None
        Correction to a symmetric positive definite kernel; see :class:`Spectral`.

    See Also
    --------
    TangentDistance : Symmetric kernel of the tangent distance.
    TangentInvariant : Positive definite kernel, invariant along tangents of the training rows.

    References
    ----------
    Pozdnoukhov & Bengio 2004, "Tangent vector kernels for invariant image classification with SVMs", ICPR;
    Lauer & Bloch 2008, section 4.

    Examples
    --------
    >>> from priorsvm import Shift
    >>> from priorsvm.kernels import TangentVector
    >>> kernel = TangentVector(0.5, Shift([1.0, 0.0]), spread=2.0)
    >>> kernel([[2.0, 0.0], [0.0, 2.0]], [[0.0, 0.0]]).round(3)
    array([[0.67 ],
           [0.135]])
    """

    def __init__(
        self, gamma: float | str, transform: Transform, spread: float, psd: str | None = None
    ) -> None:
        self.gamma = gamma
        self.transform = transform
        self.spread = spread
        self.psd = psd

    def _check(self) -> None:
        super()._check()
        valid = is_number(self.spread) and self.spread >= 0
        self._expect(valid, "spread", self.spread, "a nonnegative number")

    def _raw(self, A: Array, B: Array) -> Array:
        tangents = self.transform.tangents(B)
        if self.spread == 0:
            tangents = tangents[:, :0]
            ridge = 0.0
        else:
            ridge = 1.0 / (2 * gamma_number(self, self.gamma) * self.spread**2)
        T = tangent_basis(tangents, ridge)
        return self._gaussian(closest(B, T, A, T[:0]).T)
