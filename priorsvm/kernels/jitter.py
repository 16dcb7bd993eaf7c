"""Jittering: a kernel at the transformation that brings the first row nearest to the second."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from .._utils.arrays import Array
from ..transforms.base import Transform
from .base import Definiteness, Kernel
from .spectrum import Spectral
from .transformed import Pairs, TransformedKernel, TransformedPair


class Jitter(TransformedKernel, Spectral):
    r"""Kernel at the transformation of the first row that is nearest to the second row in feature space.

    .. math:: k(x, z) = k_0(T_q x, z), \qquad
              q = \arg\min_{g \in G_0}\; k_0(T_g x, T_g x) - 2 k_0(T_g x, z) + k_0(z, z)

    G₀ is the finite orbit of the transform, including the identity. For a kernel of the distance, such as
    RBF, k is the largest value over the orbit. With the identity alone it is the base kernel.

    In general it is not positive definite, since its distance violates the triangle inequality. Use
    ``norm="l1"``, or ``norm="l2"`` with ``psd``. It is ``symmetric`` if the transformations are isometries,
    the orbit contains their inverses, and the base kernel depends on distances or inner products alone.
    Otherwise exchanging x and z changes k.

    Images are transformed on a canvas, as in :class:`HaarIntegration`, on which translations by whole pixels
    are isometries. New rows are transformed too.

    Parameters
    ----------
    base : Kernel
        The kernel :math:`k_0`. Its ``gamma="scale"`` refers to the training rows without transformations.
    transform : Transform
        Transform with a finite orbit, ``s @ t`` and ``s | t`` included.
    psd : {"clip", "shift"} or None, default=None
        Correction to a positive definite kernel; see :class:`Spectral`.
    precision : {"double", "single"}, default="double"
        Precision of inner products. It applies to base kernels that are functions of inner products: RBF,
        Polynomial, Linear, and their sums, products and multiples. ``"single"`` takes half the time. Its
        errors are about 1e-6 in k and up to 1e-3 in f. With ``psd`` and on all routes except LIBSVM, double
        precision is used.
    verbose : int, default=0
        1 shows a progress bar.

    See Also
    --------
    HaarIntegration : Mean over all transformations, which is positive definite.
    TangentDistance : Kernel of the distance between linearised orbits.

    Notes
    -----
    The rows must be in the units of the transform, so models with ``scale=`` reject this kernel. It has no
    derivatives.

    References
    ----------
    DeCoste & Schölkopf 2002, "Training invariant support vector machines", Machine Learning 46;
    Lauer & Bloch 2008, eq. (23).

    Examples
    --------
    Three dots in a row. The middle dot is one translation away from either end, so both distances are 0. The
    distance between the two ends is positive:

    >>> import numpy as np
    >>> from priorsvm import Jitter, RBF, Translation
    >>> X = np.zeros((3, 9))
    >>> X[[0, 1, 2], [3, 4, 5]] = 1.0
    >>> K = Jitter(RBF(gamma=0.5), Translation((3, 3)))(X)
    >>> K.round(3)
    array([[1.   , 1.   , 0.368],
           [1.   , 1.   , 1.   ],
           [0.368, 1.   , 1.   ]])
    >>> bool(np.linalg.eigvalsh(K)[0] < -0.2)
    True
    """

    def __init__(
        self,
        base: Kernel,
        transform: Transform,
        psd: str | None = None,
        precision: str = "double",
        verbose: int = 0,
    ) -> None:
        self.base = base
        self.transform = transform
        self.psd = psd
        self.precision = precision
        self.verbose = verbose

    @property
    def symmetric(self) -> bool:
        """Whether k(x, z) = k(z, x) is known for rows of ``transform.n_features`` columns."""
        d = self.transform.n_features
        return d is not None and self._is_symmetric(d)

    @property
    def definiteness(self) -> Definiteness:
        if self.psd is not None:
            return super().definiteness
        return self.base.definiteness if len(self.transform.theta_grid()) == 1 else "unknown"

    def _check(self) -> None:
        TransformedKernel._check(self)
        Spectral._check(self)

    def _is_symmetric(self, d: int) -> bool:
        if len(self.transform.theta_grid()) == 1:
            return self._symmetric_base
        relative = self._relative_transformations(d)
        return relative is not None and set(relative[:, 0]) == set(relative[0])

    def _either_order(self, A: Array, B: Array) -> Array:
        return self._raw(A, B) if self._is_symmetric(A.shape[1]) else super()._either_order(A, B)

    def _raw(self, A: Array, B: Array) -> Array:
        return self._in_tiles(A, B, self._moved_first(), symmetric=B is A and self._is_symmetric(A.shape[1]))

    def _raw_towards(self, B: Array) -> Callable[[Array], Array]:
        pairs = self._moved_first()
        if self._is_symmetric(B.shape[1]):
            return self._towards_orbits(B, pairs, first=True)  # rows A stay, which saves their orbits
        return self._towards_orbits(B, pairs)

    def _either_order_towards(self, B: Array) -> Callable[[Array], Array]:
        backward = self._towards_orbits(B, self._moved_first(), first=True)
        if self._is_symmetric(B.shape[1]):
            return backward
        forward = self._towards_orbits(B, self._moved_first())
        return lambda A: (forward(A) + backward(A)) / 2

    def _moved_first(self) -> Pairs:
        """Return the pairs of each transformation of the first row and the second row itself."""
        return [(i, 0, 1.0) for i in range(len(self.transform.theta_grid()))]

    def _raw_diag(self, A: Array) -> Array:
        # With a distance in feature space, x is its own nearest transformed row.
        if self.base.definiteness in ("psd", "cpd"):
            return self.base._diag(self._orbit(A)[:, 0])
        return super()._raw_diag(A)

    def _tile(self, pairs: list[TransformedPair], r: slice, c: slice) -> Array:
        base = self.base
        if base.depends_on != "distance":
            return self._nearest(pairs, r, c)
        if not (base.falls_with_distance and base.has_products):
            return reduce(np.maximum, (self._base_values(pair, r, c) for pair in pairs))
        # First the largest x·z - |x|²/2, then the base kernel once.
        nearest = reduce(_larger, (_closeness(pair, r, c) for pair in pairs))
        return base._of_products(nearest, np.zeros_like(nearest[:1, :1]), pairs[0].b[c])

    def _nearest(self, pairs: list[TransformedPair], r: slice, c: slice) -> Array:
        first, *others = pairs
        nearest = self._base_values(first, r, c)
        closeness = 2 * nearest - self._own_values(first, r)
        for pair in others:
            values = self._base_values(pair, r, c)
            close = 2 * values - self._own_values(pair, r)
            np.copyto(nearest, values, where=close > closeness)
            np.maximum(close, closeness, out=closeness)
        return nearest

    def _own_values(self, pair: TransformedPair, r: slice) -> Array:
        """Return the base kernel between each transformed row and itself, as a column."""
        if not self.base.has_products:
            return self.base._diag(pair.X[r])[:, None]
        a = pair.a[r, None]
        return self.base._of_products(a.copy(), a, a)


def _closeness(pair: TransformedPair, r: slice, c: slice) -> Array:
    inner = pair.X[r] @ pair.Z[c].T
    inner -= pair.a[r, None] / 2
    return inner


def _larger(one: Array, other: Array) -> Array:
    return np.maximum(one, other, out=one)
