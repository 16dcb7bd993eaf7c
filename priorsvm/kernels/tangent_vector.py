"""A Gaussian around every pattern that is longer along its tangents."""

from __future__ import annotations

from priorsvm.kernels.standard import _gamma_number
from priorsvm.kernels.tangent_distance import _OfTangents, closest, shrunken
from priorsvm.transforms.base import Transform

from .._utils.arrays import Array
from .._utils.checks import is_number


class TangentVector(_OfTangents):
    r"""The tangent vector kernel: a Gaussian whose covariance at z reaches along the tangents of z.

    .. math:: k(x, z) = \exp\bigl(-\tfrac12 (x - z)^\top (s^2 I + t^2 L_z L_z^\top)^{-1} (x - z)\bigr), \qquad
              \gamma = \frac{1}{2 s^2} ,

    with the tangents of z as columns of :math:`L_z`. That is :math:`\exp(-\gamma\, d^2)` of the one-sided
    distance :math:`\min_b \|x - z - L_z b\|^2 + \rho \|b\|^2` with :math:`\rho = s^2 / t^2`: the moves b are
    Gaussian of spread t. Without spread it is :class:`RBF`, with a large one the distance from x to the
    tangent plane of z.

    Neither symmetric nor positive definite: the second argument brings the covariance. In a machine that is
    the centre, and new rows need no tangents. ``norm="l1"`` takes it as it is, ``norm="l2"`` with ``psd``.

    Parameters
    ----------
    gamma : float, "scale" or "auto"
        The factor γ > 0; words as in :class:`RBF`.
    transform : Transform
        A continuous one; its ``tangents(X)`` are the columns of L. Use ``s @ t`` for several.
    spread : float
        The standard deviation t ≥ 0 of the moves, in the transform's units.
    psd : None, "clip" or "shift"
        How to make it symmetric and positive definite; see :class:`Spectral`.

    References
    ----------
    A. Pozdnoukhov and S. Bengio, "Tangent vector kernels for invariant image classification with SVMs",
    ICPR 2004; Lauer & Bloch 2008, section 4.

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
        self._expect(
            is_number(self.spread) and self.spread >= 0, "spread", self.spread, "a number, 0 or more"
        )

    def _raw(self, A: Array, B: Array) -> Array:
        tangents = self.transform.tangents(B)
        if self.spread == 0:
            tangents = tangents[:, :0]
            ridge = 0.0
        else:
            ridge = 1.0 / (2 * _gamma_number(self, self.gamma) * self.spread**2)
        T = shrunken(tangents, ridge)
        return self._gaussian(closest(B, T, A, T[:0]).T)
