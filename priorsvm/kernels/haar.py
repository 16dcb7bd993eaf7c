"""Haar integration: the mean of a kernel over all transformations of both rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import gen_batches

from .._utils.arrays import Array
from ..transforms.base import Transform
from .base import Definiteness, Kernel
from .transformed import TILE, Pairs, TransformedKernel, TransformedPair


class HaarIntegration(TransformedKernel):
    r"""Mean of a kernel over all transformations of both arguments.

    .. math:: k(x, z) = \frac{1}{s^2} \sum_{g \in G_0} \sum_{g' \in G_0} k_0(T_g x, T_{g'} z)

    G₀ is the finite orbit of the transform: s transformations including the identity, with equal weights. The
    kernel k is the inner product of the means of :math:`\Phi_0(T_g x)` and of :math:`\Phi_0(T_{g'} z)`. Hence
    it is positive definite or conditionally positive definite if the base kernel is. With the identity alone
    it is the base kernel. If the transformations form a group, k does not change when a row is transformed.

    Use it to classify transformed rows alike, new rows included. Images are transformed on a canvas with a
    margin of background, so that no pixel leaves the image. Translations by whole pixels are then isometries.

    **Integral reduction.** Let the transformations be isometries (``transform.isometric``) and let the base
    kernel depend on distances or inner products alone (``base.depends_on``). Then
    :math:`k_0(T_g x, T_{g'} z)` depends on :math:`T_g^{-1} T_{g'}` alone, and each of these transformations
    is evaluated once,

    .. math:: k(x, z) = \sum_u w_u\, k_0(x, T_u z), \qquad
              w_u = \frac{\#\{(g, g') : T_g^{-1} T_{g'} = T_u\}}{s^2} .

    The nine translations by at most one pixel have 81 pairs, but only 25 different :math:`T_g^{-1} T_{g'}`.
    For a group the weights are equal. The reduction changes the values only by rounding.

    Parameters
    ----------
    base : Kernel
        The kernel :math:`k_0`. Its ``gamma="scale"`` refers to the training rows without transformations.
    transform : Transform
        Transform with a finite orbit, ``s @ t`` and ``s | t`` included. Interpolated transformations of
        images, such as rotations by an angle, are not isometries. All their pairs are evaluated.
    reduction : {"auto", "none"}, default="auto"
        ``"auto"`` applies the integral reduction wherever it is exact, ``"none"`` never.
    precision : {"double", "single"}, default="double"
        Precision of inner products. It applies to base kernels that are functions of inner products: RBF,
        Polynomial, Linear, and their sums, products and multiples. ``"single"`` takes less than half the
        time. Its errors are about 1e-6 in k and up to 1e-3 in f. All routes except LIBSVM use double
        precision.
    verbose : int, default=0
        1 shows a progress bar.

    See Also
    --------
    Jitter : Kernel at the best transformation of one row.
    TangentDistance : Kernel of the distance between linearised orbits.
    priorsvm.InvarianceHint : Invariance as a constraint or penalty on f.

    Notes
    -----
    The rows must be in the units of the transform, so models with ``scale=`` reject this kernel. It has no
    derivatives.

    References
    ----------
    Haasdonk, Vossen & Burkhardt 2005, "Invariance in kernel methods by Haar-integration kernels", SCIA.

    Examples
    --------
    >>> from priorsvm import HaarIntegration, Polynomial, Reflection
    >>> k = HaarIntegration(Polynomial(degree=2, gamma=1.0), Reflection(axis=1))
    >>> x, mirrored = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]
    >>> k([x, mirrored])
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    def __init__(
        self,
        base: Kernel,
        transform: Transform,
        reduction: str = "auto",
        precision: str = "double",
        verbose: int = 0,
    ) -> None:
        self.base = base
        self.transform = transform
        self.reduction = reduction
        self.precision = precision
        self.verbose = verbose

    @property
    def definiteness(self) -> Definiteness:
        # The mean of an indefinite kernel may have any definiteness.
        return "unknown" if self.base.definiteness == "indefinite" else self.base.definiteness

    def resolved(self, X: ArrayLike, weight: Array | None = None) -> HaarIntegration:
        return self._known(X, weight)

    def _check(self) -> None:
        super()._check()
        valid = isinstance(self.reduction, str) and self.reduction in ("auto", "none")
        self._expect(valid, "reduction", self.reduction, "'auto' or 'none'")

    def _matrix(self, A: Array, B: Array) -> Array:
        return self._in_tiles(A, B, self._pairs(A.shape[1]), symmetric=B is A and self._symmetric_base)

    def _towards(self, B: Array) -> Callable[[Array], Array]:
        return self._towards_orbits(B, self._pairs(B.shape[1]))

    def _pairs(self, d: int) -> Pairs:
        """Return the pairs of transformations to evaluate, and their shares of all pairs."""
        s = len(self.transform.theta_grid())
        relative = None if self.reduction == "none" else self._relative_transformations(d)
        if relative is None:
            relative = np.arange(s * s)
        _, first, count = np.unique(relative, return_index=True, return_counts=True)
        return [(i // s, i % s, n / s**2) for i, n in zip(first.tolist(), count.tolist(), strict=True)]

    def _tile(self, pairs: list[TransformedPair], r: slice, c: slice) -> Array:
        first, *others = pairs
        total = self._base_values(first, r, c)
        total *= first.weight
        for pair in others:
            values = self._base_values(pair, r, c)
            values *= pair.weight
            total += values
        return total

    def _diag(self, A: Array) -> Array:
        if not self.base.has_products:
            return super()._diag(A)
        values = np.zeros(len(A))
        origin = self._origin(A)
        dtype = self._dtype(A)
        pairs = self._pairs(A.shape[1])
        for rows in gen_batches(len(A), TILE):
            orbits = self._orbits(A[rows], origin, dtype)
            for i, j, weight in pairs:
                inner = np.einsum("nd,nd->n", orbits.rows[:, i], orbits.rows[:, j])
                a = orbits.squares[:, i]
                b = orbits.squares[:, j]
                values[rows] += weight * self.base._of_products(inner, a, b)
        return values
