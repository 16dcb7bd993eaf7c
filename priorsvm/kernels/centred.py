"""Centred kernels: positive definite kernels made of conditionally positive definite kernels.

The origin of the feature space moves to a training row. With the origin of X instead, an offset of 1e9
changes f by 3e-6.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._utils.arrays import Array, distinct_rows
from ..errors import InvalidInput, MissingCapability
from .algebra import Combination
from .base import Definiteness, Dependence, Kernel, require_kernel

# The point is chosen among at most this many training rows.
CANDIDATES = 200


class Centred(Combination):
    r"""Kernel whose feature space has its origin at a point z₀.

    .. math:: \tilde k(x, z) = k(x, z) - k(x, z_0) - k(z_0, z) + k(z_0, z_0)

    The kernel is positive definite exactly if ``base`` is conditionally positive definite. :class:`PriorSVC`
    with ``norm="l2"`` centres a conditionally positive definite kernel itself. The bias of the model is free,
    so the coefficients sum to zero, and neither the decision function nor its norm depends on z₀. Use the
    class itself for other kernel methods.

    Parameters
    ----------
    base : Kernel
        The kernel k.
    point : array of shape (d,) or None, default=None
        The point z₀; a set of vectors if ``base`` is a kernel between sets. None: :meth:`resolved` chooses a
        training row.

    See Also
    --------
    NegativeDistance : Conditionally positive definite kernel.

    Notes
    -----
    Values between far rows are large and their differences lose digits, so z₀ should be near the rows. Of at
    most 200 different training rows, :meth:`resolved` takes the row whose median distance to all others, in
    the feature space of k, is smallest. The choice depends neither on the order of the rows nor on outliers,
    and a training row is valid for every kernel.

    References
    ----------
    Schölkopf 2000, "The kernel trick for distances", NIPS 13;
    Haasdonk, Vossen & Burkhardt 2005, "Invariance in kernel methods by Haar-integration kernels", SCIA.

    Examples
    --------
    >>> from priorsvm.kernels import Centred, NegativeDistance
    >>> k = Centred(NegativeDistance(), point=[0.0])
    >>> k([[-1.0], [0.0], [2.0]])
    array([[2., 0., 0.],
           [0., 0., 0.],
           [0., 0., 4.]])
    >>> k.base.definiteness, k.definiteness
    ('cpd', 'psd')
    """

    depends_on: Dependence = "entries"
    has_products: bool = False

    def __init__(self, base: Kernel, point: ArrayLike | None = None) -> None:
        self.base = base
        self.point = point

    def __repr__(self) -> str:
        return f"Centred({self.base!r}, point={self.shown_point()})"

    def shown_point(self) -> str:
        """Return the point as a short text.

        Returns
        -------
        str
        """
        if self.point is None:
            return "None"
        point = np.asarray(self.point, float)
        return np.array2string(point, precision=4, threshold=6, edgeitems=2, separator=", ")

    def _parts(self) -> list[Kernel]:
        return [require_kernel(self.base, self)]

    @property
    def definiteness(self) -> Definiteness:
        return "psd" if self.base.definiteness in ("psd", "cpd") else "unknown"

    @property
    def needs_bias(self) -> bool:
        # Without a free bias f depends on z₀.
        return self.base.definiteness == "cpd"

    @property
    def has_slope(self) -> bool:
        return self.base.has_slope_everywhere

    @property
    def plain(self) -> Kernel:
        plain = self.base.plain
        return self if plain is self.base else type(self)(plain, self.point)

    @property
    def double(self) -> Self:
        return type(self)(self.base.double, self.point)

    def resolved(self, X: ArrayLike, weight: Array | None = None) -> Self:
        self._check()
        base = self.base.resolved(X, weight)
        point = self.point
        if point is None and not base.takes_sets and len(np.asarray(X)):
            point = central_row(base, X, weight)
        return type(self)(base, point)

    def _require(self, capability: str) -> None:
        if capability == "slope" and self.base.has_slope and not self.has_slope:
            raise MissingCapability(
                f"The kernel {self.base!r} has no slope where two rows are equal. Use a smooth kernel such "
                "as RBF(), or norm='l1', where the slope there counts as 0."
            )
        super()._require(capability)

    def _like(self, X: ArrayLike, name: str, other: Array, other_name: str) -> Array:
        return self.base._like(X, name, other, other_name)

    def _origin(self, A: Any) -> Any:
        """Return z₀ in the form that the hooks of the base receive, next to samples A."""
        if self.point is None:
            raise InvalidInput(
                "Centred: point is None, which depends on the training rows. Use the kernel that resolved(X) "
                "returns, or give a point."
            )
        return self.base._like(np.asarray(self.point, float)[None], "point", A, "A")

    def _matrix(self, A: Array, B: Array) -> Array:
        origin = self._origin(A)
        K = self.base._matrix(A, B)
        a = self.base._matrix(A, origin)[:, 0]
        b = a if B is A else self.base._matrix(origin, B)[0]
        # The two are added first, so that the matrix is symmetric to the last bit.
        total = np.add.outer(a, b)
        np.subtract(K, total, out=total)
        total += self.base._diag(origin)[0]
        return total

    def _diag(self, A: Array) -> Array:
        origin = self._origin(A)
        a = self.base._matrix(A, origin)[:, 0]
        return self.base._diag(A) - 2 * a + self.base._diag(origin)[0]

    def _slope(self, Z: Array, V: Array, B: Array) -> Array:
        return self.base._slope(Z, V, B) - self.base._slope(Z, V, self._origin(Z))

    def _slope_slope(self, Z: Array, U: Array, B: Array, V: Array) -> Array:
        return self.base._slope_slope(Z, U, B, V)

    def _curve(self, Z: Array, U: Array, V: Array, B: Array) -> Array:
        return self.base._curve(Z, U, V, B) - self.base._curve(Z, U, V, self._origin(Z))

    # Derivatives and differences of feature vectors do not depend on the origin.

    def _derivative_bound(self, order: int, reach: Array) -> Array:
        return self.base._derivative_bound(order, reach)

    def _displacement_bound(self, radius: Array, reach: Array) -> Array:
        return self.base._displacement_bound(radius, reach)


def central_row(kernel: Kernel, X: ArrayLike, weight: Array | None = None) -> Array:
    """Return the row with the smallest median distance to all others in feature space.

    Parameters
    ----------
    kernel : Kernel
        Kernel with numbers for all its parameters.
    X : array of shape (n, d)
        Training rows, of which at most CANDIDATES different rows are compared.
    weight : array of shape (n,) or None, default=None
        Weights; rows of weight 0 are left out.

    Returns
    -------
    array of shape (d,)
    """
    rows = np.asarray(X, float)
    rows = distinct_rows(rows if weight is None else rows[weight > 0])[0]
    some = rows[np.linspace(0, len(rows) - 1, min(len(rows), CANDIDATES)).round().astype(int)]
    K = kernel(some)
    length = np.diagonal(K)
    squared = length[:, None] + length - 2 * K
    return some[np.argmin(np.median(squared, axis=1))]
