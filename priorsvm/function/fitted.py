"""The solved decision function: arrays, evaluated at points in the units of X."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._utils.arrays import Array, as_points, distinct_rows
from .._utils.checks import dense_points
from .._utils.deadline import NEVER, Deadline
from .atoms import Atoms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..kernels.base import Kernel
    from .scale import Scale


# Entries of a kernel matrix that stay in the cache with the arrays computed from it.
CACHED = 2**15
# Largest sum of absolute weights in single precision.
SINGLE = 1e4
# Most directions of slopes that are sums of their own.
DIRECTIONS = 4


class Fitted(ABC):
    """The solved decision function."""

    bias: float
    linear: ClassVar[bool]
    deadline: ClassVar[Deadline] = NEVER  # of the search that evaluates f, see ``limited``

    def __call__(self, Z: Any) -> Array:
        """Raise TypeError: a solved f has numbers, not expressions."""
        raise TypeError("f is solved here: use f.value(Z) instead of f(Z).")

    @abstractmethod
    def value(self, Z: Any) -> Array:
        """Return the values of f at the rows of Z."""

    @abstractmethod
    def slope(self, Z: Any, V: Any) -> Array:
        r"""Return the slopes :math:`\nabla f(z_i)^\top v_i`, one for each row."""

    @abstractmethod
    def curve(self, Z: Any, U: Any, V: Any) -> Array:
        r"""Return the second derivatives :math:`u_i^\top \nabla^2 f(z_i)\, v_i`, one for each row."""

    @abstractmethod
    def values_and_gradients(self, Z: Any, rough: bool = False) -> tuple[Array, Array]:
        """Return the values of f at the rows of Z, and its gradients there; ``rough`` as for slopes."""

    @abstractmethod
    def slopes_and_gradients(self, Z: Any, V: Any, rough: bool = False) -> tuple[Array, Array]:
        r"""Return the slopes :math:`\nabla f(z_i)^\top v_i`, and their gradients in :math:`z_i`.

        With ``rough`` a kernel model computes them in single precision, if that keeps four decimals.
        """

    @abstractmethod
    def norm(self, kind: str) -> float:
        r"""Return :math:`\|g\|_H` for ``"l2"``, :math:`\|c\|_1` for ``"l1"``, in the units of the model."""


@dataclass(frozen=True, eq=False)
class FittedLinear(Fitted):
    """The linear function ``X @ coef + bias``."""

    linear: ClassVar[bool] = True

    bias: float
    coef: Array
    scale: Scale | None = None

    def value(self, Z: Any) -> Array:
        self.deadline.check()
        return np.asarray(as_points(Z) @ self.coef + self.bias)

    def slope(self, Z: Any, V: Any) -> Array:
        return np.asarray(V, float) @ self.coef

    def curve(self, Z: Any, U: Any, V: Any) -> Array:
        return np.zeros(len(Z))

    def values_and_gradients(self, Z: Any, rough: bool = False) -> tuple[Array, Array]:
        return self.value(Z), np.broadcast_to(self.coef, np.shape(Z))

    def slopes_and_gradients(self, Z: Any, V: Any, rough: bool = False) -> tuple[Array, Array]:
        return self.slope(Z, V), np.zeros(np.shape(Z))

    def norm(self, kind: str) -> float:
        inner = self.coef if self.scale is None else self.coef * self.scale.width
        return float(np.linalg.norm(inner, 1 if kind == "l1" else 2))


@dataclass(frozen=True, eq=False)
class Slopes:
    """The part of a fitted f that expands over derivatives of the kernel, in the units of X."""

    points: Array
    directions: Array
    weights: Array

    @classmethod
    def of(cls, atoms: Atoms, weights: Array) -> Slopes | None:
        """Return the slopes among the atoms with their weights; None if there are none."""
        if atoms.directions is None or len(atoms) == 0:
            return None
        return cls(atoms.points, atoms.directions, weights)

    def atoms(self, scale: Scale | None) -> Atoms:
        """Return the slopes as atoms in the units of the model."""
        return Atoms(self.points, self.directions).scaled(scale)


@dataclass(frozen=True, eq=False)
class FittedKernel(Fitted):
    """The expansion ``k(X, centres) @ weights + bias``, plus an expansion over slopes of the kernel."""

    linear: ClassVar[bool] = False

    bias: float
    kernel: Kernel
    centres: Array
    weights: Array
    scale: Scale | None = None
    slopes: Slopes | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Arrays that are computed from the fields are not part of a file.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def value(self, Z: Any) -> Array:
        return self._unbiased(self._to_inner(Z)) + self.bias

    def expansion(self, Z: Any) -> Array:
        """Return ``k(Z, centres) @ weights``, with one column for each column of a matrix of weights."""
        return self._in_blocks(self._matrix, self._to_inner(Z))

    def _unbiased(self, Z: Array) -> Array:
        return self._in_blocks(self._matrix, Z) + self._of_slopes(Atoms(Z))

    def slope(self, Z: Any, V: Any) -> Array:
        Z = self._to_inner(Z)
        V = self._directions(V)
        return self._in_blocks(partial(_last, self.kernel.slope, self._inner), Z, V) + self._of_slopes(
            Atoms(Z, V)
        )

    def curve(self, Z: Any, U: Any, V: Any) -> Array:
        Z = self._to_inner(Z)
        U = self._directions(U)
        V = self._directions(V)
        curve = self._in_blocks(partial(_last, self.kernel.curve, self._inner), Z, U, V)
        if self.slopes is None or len(Z) == 0:
            return curve
        # Kernels have no third derivatives: central differences of the slopes, which are exact.
        size = np.linalg.norm(U, axis=1, keepdims=True)
        h = 1e-5 * (1.0 + np.linalg.norm(Z, axis=1, keepdims=True)) / np.where(size > 0, size, 1.0)
        ahead, behind = (self._of_slopes(Atoms(Z + step * U, V)) for step in (h, -h))
        return curve + (ahead - behind) / (2 * h[:, 0])

    def values_and_gradients(self, Z: Any, rough: bool = False) -> tuple[Array, Array]:
        self.kernel._require("slope")
        dtype: Any = np.float32 if rough and self._allows_single else float
        values, gradients = self._pairs_in_blocks(self._to_inner(Z), None, dtype)
        return values + self.bias, self._directions(gradients)

    def slopes_and_gradients(self, Z: Any, V: Any, rough: bool = False) -> tuple[Array, Array]:
        self.kernel._require("slope")
        self.kernel._require("curve")
        dtype: Any = np.float32 if rough and self._allows_single else float
        slopes, gradients = self._pairs_in_blocks(self._to_inner(Z), self._directions(V), dtype)
        return slopes, self._directions(gradients)

    def _pairs_in_blocks(self, Z: Array, V: Array | None, dtype: Any) -> tuple[Array, Array]:
        """Return values without the bias, or slopes along V, and their gradients, by blocks of rows."""
        sums = self._sums(V, dtype)
        parts = [part.astype(dtype, copy=False) for part in self._parts] if sums is None else []
        size = CACHED if sums is None else 4 * CACHED
        step = max(1, size // max(1, len(self._parts[1]), len(self._parts[4])))
        values = np.zeros(len(Z))
        gradients = np.zeros(Z.shape)
        for start in range(0, len(Z), step):
            self.deadline.check()
            rows = slice(start, start + step)
            if sums is not None:
                pairs = [total(Z[rows]) for total in sums]
            else:
                z: Array = Z[rows].astype(dtype, copy=False)
                v: Array | None = None if V is None else V[rows].astype(dtype, copy=False)
                pairs = list(self._pairs(z, v, *parts))
            for value, gradient in pairs:
                values[rows] += value
                gradients[rows] += gradient
        return values, gradients

    def _sums(self, V: Array | None, dtype: Any) -> list[Callable[[Array], tuple[Array, Array]]] | None:
        """Return sums that give f or its slopes, or None if V or the slopes have many directions."""
        v = None
        if V is not None:
            if len(V) == 0 or not (V[0] == V).all():
                return None
            v = V[0]
        key = None if v is None else v.tobytes(), dtype
        if key not in self._known_sums:
            self._known_sums[key] = self._new_sums(v, dtype)
        return self._known_sums[key]

    def _new_sums(self, v: Array | None, dtype: Any) -> list[Any] | None:
        """Return the sums for one direction of slopes, or for values; None if the kernel has none."""
        centres, weights, at, along, of_slopes = self._parts
        kinds = distinct_rows(along)[0] if len(along) else along
        if len(kinds) > DIRECTIONS:
            return None
        sums = [self.kernel._sum(centres, weights, None, v, dtype)] if len(weights) else []
        for u in kinds:
            own = (along == u).all(axis=1)
            sums.append(self.kernel._sum(at[own], of_slopes[own], u, v, dtype))
        return None if any(total is None for total in sums) else sums

    @cached_property
    def _known_sums(self) -> dict[Any, list[Any] | None]:
        """Sums by direction and precision."""
        return {}

    def _pairs(
        self,
        Z: Array,
        V: Array | None,
        centres: Array,
        weights: Array,
        at: Array,
        along: Array,
        of_slopes: Array,
    ) -> Iterator[tuple[Array, Array]]:
        """Yield the contributions of the centres and of the slopes to the values and gradients."""
        if len(weights) and V is None:
            yield self.kernel._values_and_gradients(Z, centres, weights[None])
        elif len(weights):
            assert V is not None
            yield self.kernel._slopes_and_gradients(Z, V, centres, weights)
        if len(of_slopes):
            yield self.kernel._of_slopes(Z, V, at, along, of_slopes)

    @cached_property
    def _parts(self) -> tuple[Array, ...]:
        """Centres and their weights, points and directions of slopes and their weights, in inner units."""
        if self.slopes is None:
            none = np.empty((0, self._inner.shape[1]))
            return self._inner, self.weights, none, none, np.empty(0)
        at = self._slope_atoms
        assert at.directions is not None
        return self._inner, self.weights, at.points, at.directions, self.slopes.weights

    @cached_property
    def _allows_single(self) -> bool:
        """Whether single precision keeps four decimals of f: rounding errors grow with the weights."""
        _, weights, _, along, of_slopes = self._parts
        size = float(np.abs(weights).sum() + np.abs(of_slopes) @ np.linalg.norm(along, axis=1))
        return size <= SINGLE

    def _of_slopes(self, atoms: Atoms) -> Array:
        """Return the contribution of the slopes to values or slopes of f, by blocks of rows."""
        if self.slopes is None:
            return np.zeros(len(atoms))
        inner = self._slope_atoms
        step = max(1, CACHED // max(1, len(inner)))
        starts = range(0, len(atoms), step)
        parts = [atoms[i : i + step].products(self.kernel, inner) @ self.slopes.weights for i in starts]
        return np.concatenate([np.empty(0), *parts])

    def _in_blocks(self, matrix: Callable[..., Array], *rows: Array) -> Array:
        """Return ``matrix(*rows) @ weights``, by blocks of rows."""
        # Blocks of rows keep the kernel matrix in pieces of the size of the cache. The blocks are larger for
        # kernels that process all centres again for each block.
        size = 2**22 if len(rows) == 1 else CACHED
        step = max(1, (2**26 if self.kernel.whole else size) // max(1, len(self.weights)))
        parts = []
        for i in range(0, len(rows[0]), step):
            self.deadline.check()
            parts.append(matrix(*(r[i : i + step] for r in rows)) @ self.weights)
        return np.concatenate(parts) if parts else np.empty(0)

    @cached_property
    def length(self) -> float:
        r"""The norm :math:`\|g\|_H`, rounded up.

        Rounding errors of :math:`w^\top K w` are at most :math:`|w_i| |w_j| \max_i K_{ii}` for each term.
        They are added, as large weights can cancel.
        """
        parts = [(self.weights, Atoms(self._inner))]
        if self.slopes is not None:
            parts.append((self.slopes.weights, self._slope_atoms))
        sizes = [np.abs(w).sum() * math.sqrt(a.diag(self.kernel).max()) for w, a in parts if len(w)]
        return math.sqrt(self._squared + 1e-13 * float(sum(sizes)) ** 2)

    def norm(self, kind: str) -> float:
        if kind == "l1":
            return float(np.abs(self.weights).sum())
        return math.sqrt(self._squared)

    @cached_property
    def _squared(self) -> float:
        """The squared norm of g: values at the centres and slopes, times their weights."""
        squared = float(self.weights @ self._unbiased(self._inner))
        if self.slopes is not None:
            squared += float(self.slopes.weights @ self.slope(self.slopes.points, self.slopes.directions))
        return max(squared, 0.0)

    def _to_inner(self, Z: Any) -> Array:
        Z = dense_points("f", Z)
        return Z if self.scale is None else self.scale.points(Z)

    def _directions(self, V: Any) -> Array:
        V = dense_points("f", V)
        return V if self.scale is None else self.scale.directions(V)

    @cached_property
    def _inner(self) -> Array:
        return self._to_inner(self.centres)

    @cached_property
    def _matrix(self) -> Callable[[Any], Array]:
        """The kernel matrix between points and the centres; what depends on the centres is computed once."""
        from ..kernels.towards import towards

        return towards(self.kernel, self._inner)

    @cached_property
    def _slope_atoms(self) -> Atoms:
        """The slopes as atoms in the units of the model."""
        assert self.slopes is not None
        return self.slopes.atoms(self.scale)


def _last(matrix: Callable[..., Array], centres: Array, *rows: Array) -> Array:
    return matrix(*rows, centres)
