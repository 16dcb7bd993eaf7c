"""Base class of kernels between transformed rows: orbits on a canvas, and matrices between their members."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.utils import gen_batches

from .._utils.arrays import Array, distinct_rows
from .._utils.progress import progress
from ..errors import InvalidInput, InvalidType
from ..transforms.base import Transform
from .base import Kernel

# A matrix is computed in tiles that fit into the cache while all pairs of transformations are added up.
# A tile has at most TILE rows and AREA entries.
TILE = 192
AREA = 2**17

# Largest memory of the transformed rows that are kept at a time.
BYTES = 2**29

# Most entries of the transformed rows that a function keeps for other rows.
KEPT = 2**23

# Images further from their background than FAR standard deviations are compared in double precision.
FAR = 10.0

# Values of the parameter `precision`.
PRECISIONS: dict[str, type[np.floating]] = {"double": np.float64, "single": np.float32}

# (i, j, weight): transformation i of the first row, transformation j of the second, share of all pairs.
Pairs = Sequence[tuple[int, int, float]]


@dataclass(frozen=True, eq=False)
class Orbits:
    """Orbits of several rows.

    Attributes
    ----------
    rows : (n, s, D) array; ``rows[:, i]`` contains all rows after the i-th transformation.
    squares : (n, s) array of squared lengths.
    used : (s, D) array; whether some row is not 0 in a column.
    """

    rows: Array
    squares: Array
    used: Any

    @classmethod
    def of(cls, rows: Array) -> Orbits:
        return cls(rows, np.einsum("nsd,nsd->ns", rows, rows), rows.any(axis=0))

    @property
    def nbytes(self) -> int:
        """Memory of all rows after one transformation."""
        return self.rows[:, 0].nbytes

    def columns(self, transformations: Sequence[int], kept: Sequence[Array]) -> list[Array]:
        """Return all rows after each transformation, restricted to the kept columns."""
        if all(columns.all() for columns in kept):
            return [self.rows[:, i] for i in transformations]
        n, _, D = self.rows.shape
        places = [i * D + np.flatnonzero(columns) for i, columns in zip(transformations, kept, strict=True)]
        # One large array is allocated several times faster than many small arrays.
        picked = self.rows.reshape(n, -1).take(np.concatenate(places), axis=1)
        return np.split(picked, np.cumsum([len(p) for p in places])[:-1], axis=1)


@dataclass(frozen=True, eq=False)
class TransformedPair:
    """First and second rows after one pair of transformations.

    Attributes
    ----------
    X, Z : first and second rows.
    a, b : their squared lengths.
    weight : share of all pairs of transformations.
    """

    X: Array
    Z: Array
    a: Array
    b: Array
    weight: float


class TransformedKernel(Kernel):
    r"""Base class of kernels made of values :math:`k_0(T_g x, T_{g'} z)` of a base kernel.

    Images are transformed on a canvas: ``transform.margin`` pixels of background surround them, so that no
    pixel leaves the image. A subclass has the parameters ``base``, ``transform``, ``precision`` and
    ``verbose``, and defines ``_tile``.
    """

    base: Kernel
    transform: Transform
    precision: str
    verbose: int

    @property
    def whole(self) -> bool:
        # All rows are transformed once, and one half of the tiles suffices.
        return True

    @property
    def plain(self) -> Kernel:
        return self.base.plain

    @property
    def double(self) -> Self:
        return clone(self).set_params(base=self.base.double, precision="double")

    @property
    def _symmetric_base(self) -> bool:
        base = self.base
        implied = base.depends_on != "entries" or base.definiteness in ("psd", "cpd")
        return implied or bool(getattr(base, "symmetric", False))

    def _check(self) -> None:
        name = type(self).__name__
        if not isinstance(self.base, Kernel) or self.base.takes_sets:
            raise InvalidType(
                f"{name}: base is {self.base!r}; expected a Kernel such as RBF(), between rows."
            )
        if not isinstance(self.transform, Transform):
            raise InvalidType(
                f"{name}: transform is {self.transform!r}; expected a Transform such as "
                "Translation((16, 16))."
            )
        self._expect(
            isinstance(self.precision, str) and self.precision in PRECISIONS,
            "precision",
            self.precision,
            "'double' or 'single'",
        )
        self.base._check()
        # Raises without a finite orbit.
        self.transform.theta_grid()
        if self.transform.margin and isinstance(getattr(self.base, "transform", None), Transform):
            raise InvalidInput(
                f"{name}: base is {self.base!r}, which transforms images itself and would receive images "
                f"with a margin of {self.transform.margin} pixels. Combine the transformations in one of the "
                "two kernels: transform_1 @ transform_2 applies both."
            )

    def _rows(self, X: ArrayLike, name: str) -> Array:
        rows = self.base._rows(X, name)
        if len(rows):
            self.transform.validate(rows.shape[1])
        return rows

    def _known(self, X: ArrayLike, weight: Array | None) -> Self:
        """Return a copy whose base has numbers instead of words such as ``gamma="scale"``."""
        self._check()
        return clone(self).set_params(base=self.base.resolved(X, weight))

    def _orbit(self, X: Array) -> Array:
        """Return the orbits of rows on their canvas, shape (n, s, D)."""
        margin = self.transform.margin
        if margin == 0:
            return self.transform.orbit(X)
        return self.transform.enlarged(margin).orbit(self.transform.padded(X, margin))

    def _unmoved(self, X: Array) -> Array:
        """Return the first transformations of the orbits, the rows themselves, shape (n, 1, D)."""
        margin = self.transform.margin
        return (self.transform.padded(X, margin) if margin else X)[:, None]

    def _origin(self, B: Array) -> Array | float:
        """Return the point to subtract from all rows, which keeps digits and sets the background to 0."""
        if not self.base.has_products or self.base.depends_on != "distance":
            return 0.0
        if self.transform.margin:
            return self._background(B)
        return B.mean(axis=0)

    def _background(self, B: Array) -> float:
        return float(self.transform.padded(B[:1], self.transform.margin)[0, 0])

    def _orbits(
        self, X: Array, origin: Array | float, dtype: type[np.floating], moved: bool = True
    ) -> Orbits:
        """Return the orbits of rows, or only the rows themselves unless ``moved``."""
        if not moved:
            return Orbits.of(np.subtract(self._unmoved(X), origin).astype(dtype, copy=False))
        s, D = self._size(X)
        rows = np.empty((len(X), s, D), dtype)
        for batch in gen_batches(len(X), TILE):
            np.subtract(self._orbit(X[batch]), origin, out=rows[batch], casting="same_kind")
        return Orbits.of(rows)

    def _dtype(self, B: Array) -> type[np.floating]:
        if not self.base.has_products:
            return np.float64
        # Far from the background, single precision would leave no digits for differences between images.
        if self.transform.margin and abs(B.mean() - self._background(B)) > FAR * B.std():
            return np.float64
        return PRECISIONS[self.precision]

    def _size(self, X: Array) -> tuple[int, int]:
        """Return the number of transformations, and the number of columns of a transformed row."""
        _, s, D = self._orbit(X[:1]).shape
        return s, D

    def _in_tiles(self, A: Array, B: Array, pairs: Pairs, symmetric: bool) -> Array:
        """Return the matrix, computed for as many rows at a time as their orbits fit into memory."""
        K = np.empty((len(A), len(B)))
        origin = self._origin(B)
        dtype = self._dtype(B)
        step = self._rows_at_a_time(A, pairs)
        moved = any(j for _, j, _ in pairs)
        with progress(self.verbose, total=K.size, desc=type(self).__name__, disable=not self.verbose) as bar:
            for rows in gen_batches(len(A), step):
                left = self._orbits(A[rows], origin, dtype)
                for columns in gen_batches(len(B), step):
                    on_diagonal = symmetric and columns == rows
                    if symmetric and columns.start < rows.start:
                        K[rows, columns] = K[columns, rows].T
                    else:
                        right = left if on_diagonal else self._orbits(B[columns], origin, dtype, moved)
                        self._fill(K[rows, columns], left, right, pairs, on_diagonal)
                    bar.update(K[rows, columns].size)
        return K

    def _towards_orbits(self, B: Array, pairs: Pairs, first: bool = False) -> Callable[[Array], Array]:
        """Return the function of A that gives the matrix; small orbits of B are computed once.

        With ``first``, B are the first arguments of the matrix, and A the second; the result is transposed.
        """
        firsts, seconds, _ = zip(*pairs, strict=True)
        of_b, of_a = (firsts, seconds) if first else (seconds, firsts)
        s, D = self._size(B)
        if len(B) * D * (s if any(of_b) else 1) > KEPT:
            if first:
                return lambda A: self._in_tiles(B, A, pairs, symmetric=False).T
            return lambda A: self._in_tiles(A, B, pairs, symmetric=False)
        origin = self._origin(B)
        dtype = self._dtype(B)
        known = self._orbits(B, origin, dtype, any(of_b))
        step = self._rows_at_a_time(B, pairs)

        def towards_b(A: Array) -> Array:
            K = np.empty((len(A), len(B)))
            for rows in gen_batches(len(A), step):
                other = self._orbits(A[rows], origin, dtype, any(of_a))
                if first:
                    self._fill(K[rows].T, known, other, pairs, symmetric=False)
                else:
                    self._fill(K[rows], other, known, pairs, symmetric=False)
            return K

        return towards_b

    def _rows_at_a_time(self, A: Array, pairs: Pairs) -> int:
        s, D = self._size(A)
        # Orbits and copied columns of every pair, on both sides; with many pairs no columns are copied.
        return max(TILE, BYTES // (2 * np.dtype(PRECISIONS[self.precision]).itemsize * D * (s + len(pairs))))

    def _fill(self, K: Array, left: Orbits, right: Orbits, pairs: Pairs, symmetric: bool) -> None:
        n, m = K.shape
        transformed = self._transformed_pairs(left, right, pairs)
        for r in gen_batches(n, TILE):
            start = r.start if symmetric else 0
            for part in gen_batches(m - start, AREA // min(n, TILE)):
                c = slice(start + part.start, start + part.stop)
                K[r, c] = self._tile(transformed, r, c)
            if symmetric:
                K[r, r] = (K[r, r] + K[r, r].T) / 2
                K[r.stop :, r] = K[r, r.stop :].T

    def _transformed_pairs(self, left: Orbits, right: Orbits, pairs: Pairs) -> list[TransformedPair]:
        first, second, weights = zip(*pairs, strict=True)
        # Columns beyond the edge of either transformed image are 0. Leaving them out requires copies.
        keep_all = not self.base.has_products or len(pairs) * (left.nbytes + right.nbytes) > BYTES
        kept = left.used[list(first)] & right.used[list(second)] | keep_all
        X = left.columns(first, kept)
        Z = right.columns(second, kept)
        a = left.squares[:, first].T
        b = right.squares[:, second].T
        return [TransformedPair(*pair) for pair in zip(X, Z, a, b, weights, strict=True)]

    def _tile(self, pairs: list[TransformedPair], r: slice, c: slice) -> Array:
        """Return the values for some rows and columns from all pairs of transformations."""
        raise NotImplementedError

    def _base_values(self, pair: TransformedPair, r: slice, c: slice) -> Array:
        """Return the base kernel between transformed rows."""
        if not self.base.has_products:
            return self.base._matrix(pair.X[r], pair.Z[c])
        return self.base._of_products(pair.X[r] @ pair.Z[c].T, pair.a[r, None], pair.b[c])

    def _relative_transformations(self, d: int) -> Array | None:
        r"""Return a number for each pair of transformations, equal if :math:`T_g^{-1} T_{g'}` is, or None.

        If T are isometries and :math:`k_0` depends on distances or inner products alone, then
        :math:`k_0(T_g x, T_{g'} z) = k_0(x, T_g^{-1} T_{g'} z)`. Two pairs of random rows identify equal
        transformations: these give equal distances there, different ones almost surely do not.
        """
        depends_on = self.base.depends_on
        if depends_on == "entries" or not self.transform.isometric:
            return None
        orbits = self._orbit(np.random.default_rng(0).uniform(size=(4, d)))
        if not _constant(((orbits[0] - orbits[1]) ** 2).sum(axis=1)):
            raise InvalidInput(
                f"{type(self).__name__}: the transform {self.transform!r} has isometric=True, but it changes "
                "the distance between two rows. Set isometric=False."
            )
        if depends_on == "inner" and not _constant((orbits[0] * orbits[1]).sum(axis=1)):
            # The transformations change the origin.
            return None
        values = [
            P @ Q.T if depends_on == "inner" else cdist(P, Q, "sqeuclidean")
            for P, Q in (orbits[:2], orbits[2:])
        ]
        groups = np.column_stack([_groups(value.ravel()) for value in values])
        return distinct_rows(groups)[2].reshape(values[0].shape)


def _constant(values: Array) -> bool:
    return bool(np.ptp(values) <= 1e-9 * np.abs(values).max())


def _groups(values: Array) -> Array:
    """Return a number for each value, equal for values that differ only by rounding."""
    order = np.argsort(values)
    gaps = np.diff(values[order], prepend=values[order[0]]) > 1e-10 * np.abs(values).max()
    groups = np.empty(len(values), int)
    groups[order] = np.cumsum(gaps)
    return groups
