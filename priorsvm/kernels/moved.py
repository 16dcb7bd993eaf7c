"""What kernels of moved patterns share: orbits on a canvas, and matrices between all of their members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.utils import gen_batches

from priorsvm.errors import InvalidInput, InvalidType
from priorsvm.kernels.base import Kernel
from priorsvm.transforms.base import Transform

from .._utils.arrays import Array

# A matrix is worked out in tiles that stay in the cache while all pairs of moves are added up: so many rows,
# and so many entries, at most.
TILE = 192
AREA = 2**17

# Moved patterns take no more than this at a time.
BYTES = 2**29

# Images further from their background than so many standard deviations are worked out in double precision.
FAR = 10.0

# The parameter ``precision`` and what NumPy calls it.
PRECISIONS: dict[str, type[np.floating]] = {"double": np.float64, "single": np.float32}

# (i, j, weight): the i-th move of the first pattern faces the j-th of the second.
Pairs = Sequence[tuple[int, int, float]]


@dataclass(frozen=True, eq=False)
class Members:
    """The orbits of some rows.

    Attributes
    ----------
    rows : (n, s, D) array, ``rows[:, i]`` being all rows after the i-th move.
    squares : (n, s) array of their squared lengths.
    used : (s, D) array, the columns in which some row is not 0.
    """

    rows: Array
    squares: Array
    used: Any

    @classmethod
    def of(cls, rows: Array) -> Members:
        return cls(rows, np.einsum("nsd,nsd->ns", rows, rows), rows.any(axis=0))

    @property
    def nbytes(self) -> int:
        """What the rows take after one move."""
        return self.rows[:, 0].nbytes

    def columns(self, moves: Sequence[int], kept: Sequence[Array]) -> list[Array]:
        """For each of some moves, all rows after it, in some columns only."""
        if all(columns.all() for columns in kept):
            return [self.rows[:, i] for i in moves]
        n, _, D = self.rows.shape
        places = [i * D + np.flatnonzero(columns) for i, columns in zip(moves, kept, strict=True)]
        # One large array is several times faster to get than many small ones.
        picked = self.rows.reshape(n, -1).take(np.concatenate(places), axis=1)
        return np.split(picked, np.cumsum([len(p) for p in places])[:-1], axis=1)


@dataclass(frozen=True, eq=False)
class Facing:
    """The rows after one move, those that face them after another, their squared lengths, and a weight."""

    X: Array
    Z: Array
    a: Array
    b: Array
    weight: float


class Moved(Kernel):
    r"""Base of kernels made of values :math:`k_0(T_g x, T_{g'} z)` of a base kernel at moved patterns.

    Images are moved on a canvas: they get as many pixels of background all around as the moves need
    (``transform.margin``), so that nothing leaves the picture. A kernel of this kind takes ``base``,
    ``transform``, ``precision`` and ``verbose``, and defines ``_tile``.
    """

    base: Kernel
    transform: Transform
    precision: str
    verbose: int

    @property
    def whole(self) -> bool:
        return True  # all rows are moved once, and half of the tiles are enough

    @property
    def plain(self) -> Kernel:
        return self.base.plain

    @property
    def double(self) -> Self:
        return clone(self).set_params(base=self.base.double, precision="double")

    @property
    def _symmetric_base(self) -> bool:
        base = self.base
        known = base.depends_on != "entries" or base.definiteness in ("psd", "cpd")
        return known or bool(getattr(base, "symmetric", False))

    def _check(self) -> None:
        name = type(self).__name__
        if not isinstance(self.base, Kernel) or self.base.takes_sets:
            raise InvalidType(
                f"{name}: base is {self.base!r}; expected a Kernel such as RBF(), between rows."
            )
        if not isinstance(self.transform, Transform):
            raise InvalidType(
                f"{name}: transform is {self.transform!r}; expected one such as Translation((16, 16))."
            )
        self._expect(
            isinstance(self.precision, str) and self.precision in PRECISIONS,
            "precision",
            self.precision,
            "'double' or 'single'",
        )
        self.base._check()
        self.transform.theta_grid()  # raises without a finite orbit
        if self.transform.margin and isinstance(getattr(self.base, "transform", None), Transform):
            raise InvalidInput(
                f"{name}: base is {self.base!r}, which moves images itself, and here it would get them on a "
                f"canvas that is {self.transform.margin} pixels wider on every side. Put all moves into one "
                "transform of one of the two kernels: transform_1 @ transform_2 applies both."
            )

    def _rows(self, X: ArrayLike, name: str) -> Array:
        rows = self.base._rows(X, name)
        if len(rows):
            self.transform.validate(rows.shape[1])
        return rows

    def _known(self, X: ArrayLike, weight: Array | None) -> Self:
        """A copy whose base has numbers for words such as ``gamma="scale"``."""
        self._check()
        return clone(self).set_params(base=self.base.resolved(X, weight))

    def _orbit(self, X: Array) -> Array:
        """All members of all orbits on their canvas, (n, s, D)."""
        margin = self.transform.margin
        if margin == 0:
            return self.transform.orbit(X)
        return self.transform.enlarged(margin).orbit(self.transform.padded(X, margin))

    def _origin(self, B: Array) -> Array | float:
        """From where patterns are seen: what keeps digits, and lets the background be 0, if it may."""
        if not self.base.has_products or self.base.depends_on != "distance":
            return 0.0
        if self.transform.margin:
            return self._background(B)
        return B.mean(axis=0)

    def _background(self, B: Array) -> float:
        return float(self.transform.padded(B[:1], self.transform.margin)[0, 0])

    def _members(self, X: Array, origin: Array | float, dtype: type[np.floating]) -> Members:
        s, D = self._size(X)
        rows = np.empty((len(X), s, D), dtype)
        for some in gen_batches(len(X), TILE):
            np.subtract(self._orbit(X[some]), origin, out=rows[some], casting="same_kind")
        return Members.of(rows)

    def _dtype(self, B: Array) -> type[np.floating]:
        if not self.base.has_products:
            return np.float64
        if self.transform.margin and abs(B.mean() - self._background(B)) > FAR * B.std():
            return np.float64  # the background would take up all digits
        return PRECISIONS[self.precision]

    def _size(self, X: Array) -> tuple[int, int]:
        """How many moves there are, and pixels or features of a moved pattern."""
        _, s, D = self._orbit(X[:1]).shape
        return s, D

    def _in_tiles(self, A: Array, B: Array, pairs: Pairs, symmetric: bool) -> Array:
        """The matrix, by as many rows at a time as fit in memory after all their moves."""
        from tqdm import tqdm

        K = np.empty((len(A), len(B)))
        origin = self._origin(B)
        dtype = self._dtype(B)
        step = self._rows_at_a_time(A, pairs)
        with tqdm(total=K.size, desc=type(self).__name__, disable=not self.verbose, leave=False) as bar:
            for rows in gen_batches(len(A), step):
                left = self._members(A[rows], origin, dtype)
                for columns in gen_batches(len(B), step):
                    same = symmetric and columns == rows
                    if symmetric and columns.start < rows.start:
                        K[rows, columns] = K[columns, rows].T
                    else:
                        right = left if same else self._members(B[columns], origin, dtype)
                        self._fill(K[rows, columns], left, right, pairs, same)
                    bar.update(K[rows, columns].size)
        return K

    def _rows_at_a_time(self, A: Array, pairs: Pairs) -> int:
        s, D = self._size(A)
        # The orbit and the columns of every pair, of both sides; of many pairs the orbit alone is kept.
        return max(TILE, BYTES // (2 * np.dtype(PRECISIONS[self.precision]).itemsize * D * (s + len(pairs))))

    def _fill(self, K: Array, left: Members, right: Members, pairs: Pairs, symmetric: bool) -> None:
        facing, n, m = self._facing(left, right, pairs), *K.shape
        for r in gen_batches(n, TILE):
            start = r.start if symmetric else 0
            for part in gen_batches(m - start, AREA // min(n, TILE)):
                c = slice(start + part.start, start + part.stop)
                K[r, c] = self._tile(facing, r, c)
            if symmetric:
                K[r, r] = (K[r, r] + K[r, r].T) / 2
                K[r.stop :, r] = K[r, r.stop :].T

    def _facing(self, left: Members, right: Members, pairs: Pairs) -> list[Facing]:
        first, second, weights = zip(*pairs, strict=True)
        # Beyond the edge of either moved image there is nothing to multiply; to leave that out takes copies.
        whole = not self.base.has_products or len(pairs) * (left.nbytes + right.nbytes) > BYTES
        both = left.used[list(first)] & right.used[list(second)] | whole
        X = left.columns(first, both)
        Z = right.columns(second, both)
        a = left.squares[:, first].T
        b = right.squares[:, second].T
        return [Facing(*pair) for pair in zip(X, Z, a, b, weights, strict=True)]

    def _tile(self, facing: list[Facing], r: slice, c: slice) -> Array:
        """The values for some rows and columns, from all pairs of moves."""
        raise NotImplementedError

    def _compare(self, pair: Facing, r: slice, c: slice) -> Array:
        """The base kernel between moved patterns."""
        if not self.base.has_products:
            return self.base._matrix(pair.X[r], pair.Z[c])
        return self.base._of_products(pair.X[r] @ pair.Z[c].T, pair.a[r, None], pair.b[c])

    def _between(self, d: int) -> Array | None:
        r"""A number for each pair of moves, (s, s), equal where :math:`T_g^{-1} T_{g'}` is; None if unknown.

        For isometries T of which :math:`k_0` sees nothing, as it only looks at distances or inner products,
        :math:`k_0(T_g x, T_{g'} z) = k_0(x, T_g^{-1} T_{g'} z)`. Which of these are the same move two pairs
        of random patterns tell: equal moves have equal distances there, others almost surely have not.
        """
        looks_at = self.base.depends_on
        if looks_at == "entries" or not self.transform.isometric:
            return None
        orbits = self._orbit(np.random.default_rng(0).uniform(size=(4, d)))
        if not _constant(((orbits[0] - orbits[1]) ** 2).sum(axis=1)):
            raise InvalidInput(
                f"{type(self).__name__}: the transform {self.transform!r} says that it is isometric, but its "
                "moves change the distance between two patterns. Say isometric=False."
            )
        if looks_at == "inner" and not _constant((orbits[0] * orbits[1]).sum(axis=1)):
            return None  # it moves the origin
        values = [
            P @ Q.T if looks_at == "inner" else cdist(P, Q, "sqeuclidean")
            for P, Q in (orbits[:2], orbits[2:])
        ]
        groups = np.column_stack([_groups(value.ravel()) for value in values])
        return np.unique(groups, axis=0, return_inverse=True)[1].reshape(values[0].shape)


def _constant(values: Array) -> bool:
    return bool(np.ptp(values) <= 1e-9 * np.abs(values).max())


def _groups(values: Array) -> Array:
    """A number for each value, equal for those that differ by rounding only."""
    order = np.argsort(values)
    gaps = np.diff(values[order], prepend=values[order[0]]) > 1e-10 * np.abs(values).max()
    groups = np.empty(len(values), int)
    groups[order] = np.cumsum(gaps)
    return groups
