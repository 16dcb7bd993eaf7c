"""Haar integration: a kernel averaged over all moves of both patterns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import gen_batches

from priorsvm.kernels.base import Definiteness, Kernel
from priorsvm.kernels.moved import TILE, Facing, Moved, Pairs
from priorsvm.transforms.base import Transform

from .._utils.arrays import Array


class HaarIntegration(Moved):
    r"""The mean of a kernel over all moves of both of its arguments.

    .. math:: k(x, z) = \frac{1}{s^2} \sum_{g \in G_0} \sum_{g' \in G_0} k_0(T_g x, T_{g'} z)

    G₀ is the finite orbit of the transform, s moves with the identity, all of equal weight. It is the
    inner product of the means of :math:`\Phi_0(T_g x)` and of :math:`\Phi_0(T_{g'} z)`, so it is positive
    definite if the base is, and conditionally so if the base is that. With the identity alone it is the
    base kernel; if the moves are a whole group, k does not change when a pattern is moved.

    Images are moved on a canvas with as many pixels of background around them as the moves reach, so
    that nothing leaves the picture: moves by whole pixels then are isometries.

    **Integral reduction.** Where the moves are isometries (``transform.isometric``) and the base looks at
    distances or inner products alone (``base.depends_on``), :math:`k_0(T_g x, T_{g'} z)` depends on the
    move :math:`T_g^{-1} T_{g'}` between both alone, and it is enough to work out each of these once,

    .. math:: k(x, z) = \sum_u w_u\, k_0(x, T_u z), \qquad
              w_u = \frac{\#\{(g, g') : T_g^{-1} T_{g'} = T_u\}}{s^2} .

    The nine shifts by up to one pixel have 25 moves between them instead of 81 pairs. For a part of a
    group the weights are not equal; for a whole group this is the plain mean over it. The values are the
    same with and without, up to rounding.

    Parameters
    ----------
    base : Kernel
        :math:`k_0`. ``gamma="scale"`` of it means what it means without moves.
    transform : Transform
        Any with a finite orbit; ``s @ t`` and ``s | t`` too. Interpolated moves of images (rotations by
        an angle, fractions of a pixel) are no isometries, and all pairs are worked out.
    reduction : "auto" or "none", default "auto"
        Whether the integral is reduced where that is exact, or never.
    precision : "double" or "single", default "double"
        Of the inner products, for bases that are functions of these (RBF, Polynomial, Linear, and their
        sums, products and multiples). Single takes less than half the time and errs by about 1e-6,
        f by up to 1e-3; where more digits count, on all routes but LIBSVM's, double is taken all the same.
    verbose : int, default 0
        1 shows a progress bar.

    Notes
    -----
    The patterns have to be in the units that the transform speaks of, so it refuses ``scale=``. It has no
    slope.

    References
    ----------
    B. Haasdonk, A. Vossen, H. Burkhardt, "Invariance in kernel methods by Haar-integration kernels",
    SCIA 2005.

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
        # The mean of an indefinite kernel may be anything.
        return "unknown" if self.base.definiteness == "indefinite" else self.base.definiteness

    def resolved(self, X: ArrayLike, weight: Array | None = None) -> HaarIntegration:
        return self._known(X, weight)

    def _check(self) -> None:
        super()._check()
        known = ("auto", "none")
        self._expect(
            isinstance(self.reduction, str) and self.reduction in known,
            "reduction",
            self.reduction,
            "'auto' or 'none'",
        )

    def _matrix(self, A: Array, B: Array) -> Array:
        return self._in_tiles(A, B, self._pairs(A.shape[1]), symmetric=B is A and self._symmetric_base)

    def _pairs(self, d: int) -> Pairs:
        """Pairs of moves to work out, and the share of all pairs that each stands for."""
        s = len(self.transform.theta_grid())
        between: Any = None if self.reduction == "none" else self._between(d)
        between = np.arange(s * s) if between is None else between
        _, first, count = np.unique(between, return_index=True, return_counts=True)
        return [(i // s, i % s, n / s**2) for i, n in zip(first.tolist(), count.tolist(), strict=True)]

    def _tile(self, facing: list[Facing], r: slice, c: slice) -> Array:
        first, *others = facing
        total = self._compare(first, r, c)
        total *= first.weight
        for pair in others:
            values = self._compare(pair, r, c)
            values *= pair.weight
            total += values
        return total

    def _diag(self, A: Array) -> Array:
        if not self.base.has_products:
            return super()._diag(A)
        found = np.zeros(len(A))
        origin = self._origin(A)
        dtype = self._dtype(A)
        pairs = self._pairs(A.shape[1])
        for rows in gen_batches(len(A), TILE):
            members = self._members(A[rows], origin, dtype)
            for i, j, weight in pairs:
                inner = np.einsum("nd,nd->n", members.rows[:, i], members.rows[:, j])
                a = members.squares[:, i]
                b = members.squares[:, j]
                found[rows] += weight * self.base._of_products(inner, a, b)
        return found
