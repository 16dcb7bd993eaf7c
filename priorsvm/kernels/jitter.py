"""Jittering: the first pattern is moved to where it is nearest to the second."""

from __future__ import annotations

from functools import reduce

import numpy as np

from priorsvm.kernels.base import Definiteness, Kernel
from priorsvm.kernels.moved import Facing, Moved
from priorsvm.kernels.spectrum import Spectral
from priorsvm.transforms.base import Transform

from .._utils.arrays import Array


class Jitter(Moved, Spectral):
    r"""The kernel at that move of the first pattern which is nearest to the second, in feature space.

    .. math:: k(x, z) = k_0(T_q x, z), \qquad
              q = \arg\min_{g \in G_0}\; k_0(T_g x, T_g x) - 2 k_0(T_g x, z) + k_0(z, z)

    G₀ is the finite orbit of the transform, with the identity. For kernels of the distance, such as the
    RBF, it is the largest value over the orbit. With the identity alone it is the base kernel.

    Not positive definite in general, since the distance behind it breaks the triangle inequality.
    ``norm="l1"`` takes it as it is, ``norm="l2"`` with ``psd``. It is
    ``symmetric`` if the moves are isometries, the inverse of each is one of them, and the base looks at
    distances or inner products alone; otherwise it matters which pattern is moved. Images are moved on a
    canvas, as in :class:`HaarIntegration`, on which moves by whole pixels are isometries. New rows are
    moved too, when they are classified.

    Parameters
    ----------
    base : Kernel
        :math:`k_0`. ``gamma="scale"`` of it means what it means without moves.
    transform : Transform
        Any with a finite orbit; ``s @ t`` and ``s | t`` too.
    psd : None, "clip" or "shift"
        How to make it positive definite; see :class:`Spectral`.
    precision : "double" or "single", default "double"
        Of the inner products, for bases that are functions of these (RBF, Polynomial, Linear, and their
        sums, products and multiples). Single takes half the time and errs by about 1e-6, f by up
        to 1e-3; where more digits count, with ``psd`` and on all routes but LIBSVM's, double is taken.
    verbose : int, default 0
        1 shows a progress bar.

    Notes
    -----
    The patterns have to be in the units that the transform speaks of, so it refuses ``scale=``. It has no
    slope.

    References
    ----------
    D. DeCoste and B. Schölkopf, "Training invariant support vector machines", Machine Learning 2002;
    Lauer & Bloch 2008, eq. (23).

    Examples
    --------
    Three dots in a row. The one in the middle is one step from either end, so both distances are 0, and
    yet the ends are apart:

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
        """Whether it is known, of patterns as wide as the transform says, that k(x, z) = k(z, x)."""
        d = self.transform.n_features
        return d is not None and self._is_symmetric(d)

    @property
    def definiteness(self) -> Definiteness:
        if self.psd is not None:
            return super().definiteness
        return self.base.definiteness if len(self.transform.theta_grid()) == 1 else "unknown"

    def _check(self) -> None:
        Moved._check(self)
        Spectral._check(self)

    def _is_symmetric(self, d: int) -> bool:
        if len(self.transform.theta_grid()) == 1:
            return self._symmetric_base
        between = self._between(d)
        return between is not None and set(between[:, 0]) == set(between[0])

    def _either_order(self, A: Array, B: Array) -> Array:
        return self._raw(A, B) if self._is_symmetric(A.shape[1]) else super()._either_order(A, B)

    def _raw(self, A: Array, B: Array) -> Array:
        pairs = [(i, 0, 1.0) for i in range(len(self.transform.theta_grid()))]
        return self._in_tiles(A, B, pairs, symmetric=B is A and self._is_symmetric(A.shape[1]))

    def _raw_diag(self, A: Array) -> Array:
        if self.base.definiteness not in ("psd", "cpd"):  # then there is no distance behind it
            return super()._raw_diag(A)
        return self.base._diag(self._orbit(A)[:, 0])  # nothing is nearer to x than x itself

    def _tile(self, facing: list[Facing], r: slice, c: slice) -> Array:
        base = self.base
        if base.depends_on != "distance":
            return self._nearest(facing, r, c)
        if not (base.falls_with_distance and base.has_products):
            return reduce(np.maximum, (self._compare(pair, r, c) for pair in facing))
        # The largest x·z - |x|²/2 first, then the base kernel once.
        nearest = reduce(_larger, (_closeness(pair, r, c) for pair in facing))
        return base._of_products(nearest, np.zeros_like(nearest[:1, :1]), facing[0].b[c])

    def _nearest(self, facing: list[Facing], r: slice, c: slice) -> Array:
        first, *others = facing
        found = self._compare(first, r, c)
        closeness = 2 * found - self._own(first, r)
        for pair in others:
            values = self._compare(pair, r, c)
            close = 2 * values - self._own(pair, r)
            np.copyto(found, values, where=close > closeness)
            np.maximum(close, closeness, out=closeness)
        return found

    def _own(self, pair: Facing, r: slice) -> Array:
        """The base kernel between moved patterns and themselves, as a column."""
        if not self.base.has_products:
            return self.base._diag(pair.X[r])[:, None]
        a = pair.a[r, None]
        return self.base._of_products(a.copy(), a, a)


def _closeness(pair: Facing, r: slice, c: slice) -> Array:
    inner = pair.X[r] @ pair.Z[c].T
    inner -= pair.a[r, None] / 2
    return inner


def _larger(one: Array, other: Array) -> Array:
    return np.maximum(one, other, out=one)
