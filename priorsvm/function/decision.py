r"""The decision function :math:`f(x) = \varphi(x)^\top c + b`, before and after it is solved for.

:class:`Decision` is what blocks talk to while the problem is built: it answers with affine expressions.
:class:`Fitted` is what remains: arrays. Both take points in the user's own units; scaling is inside.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotri, dpstrf
from scipy.sparse import csr_array, eye_array, issparse

from .._utils.arrays import Array, as_keys, as_points
from ..errors import InvalidInput, KernelNotPSD, MissingCapability, TooLarge

if TYPE_CHECKING:
    from collections.abc import Callable

    import cvxpy as cp

    from ..kernels.base import Kernel

# Pivots below this, in a kernel matrix of unit diagonal, are rounding noise: directions it does not have.
RANK_TOLERANCE = 1e-13


@dataclass(frozen=True, eq=False)
class Scale:
    """The affine map from the user's units to the machine's, ``(x - shift) / width``."""

    shift: Array
    width: Array

    @classmethod
    def of(cls, kind: str | None, X: Array, weight: Array | None = None) -> Scale | None:
        """``"standard"``, ``"minmax"`` or None, from the training rows that have a weight."""
        if kind is None:
            return None
        if weight is not None:
            X = X[weight > 0]
            weight = weight[weight > 0]
        if kind == "standard":
            shift = np.average(X, axis=0, weights=weight)
            width = np.sqrt(np.average((X - shift) ** 2, axis=0, weights=weight))
        elif kind == "minmax":
            shift = X.min(axis=0)
            width = np.ptp(X, axis=0)
        else:
            raise InvalidInput(f"scale must be 'standard', 'minmax' or None, got {kind!r}.")
        # A constant column carries no information and must not divide by (almost) nothing.
        constant = width <= 10 * np.finfo(float).eps * np.abs(X).max(axis=0)
        return cls(shift, np.where(constant, 1.0, width))

    def points(self, Z: Array) -> Array:
        return (Z - self.shift) / self.width

    def directions(self, V: Array) -> Array:
        return V / self.width


class LinearMap:
    r""":math:`\varphi(x) = x` in the machine's units."""

    def __init__(self, n_features: int, scale: Scale | None):
        self.scale = scale
        self.size = n_features
        self.n_features = n_features

    def rows(self, Z: Array) -> Array:
        return Z if self.scale is None else self.scale.points(Z)

    def slopes(self, Z: Array, V: Array) -> Array:
        return V if self.scale is None else self.scale.directions(V)

    @property
    def energy_matrix(self) -> Array | None:
        """The matrix of the regulariser, :math:`\\frac12 c^\\top E c`; None is the identity."""
        return None

    @property
    def coordinate_matrix(self) -> Any:
        r"""The M for which :math:`\|Mc\| = \|g\|_H`."""
        return eye_array(self.size, format="csr")

    def fitted(self, c: Array, b: float) -> Fitted:
        """The solved function, as weights in the user's units."""
        if self.scale is None:
            return FittedLinear(float(b), c)
        coef = c / self.scale.width
        return FittedLinear(float(b - self.scale.shift @ coef), coef, self.scale)


@dataclass(frozen=True, eq=False)
class Atoms:
    r"""Elements of the feature space: :math:`\Phi(z)`, or :math:`\partial_v \Phi(z)` where there are slopes.

    A value :math:`g(z)` is the inner product of g with the first, a slope :math:`\nabla g(z)^\top v` with the
    second. With ``directions`` alone all are slopes; with neither all are values.
    """

    points: Array
    directions: Array | None = None
    slope: Array | None = None

    @classmethod
    def both(cls, points: Array, at: Array, along: Array) -> Atoms:
        """The values at some points, and the slopes at others."""
        if len(at) == 0:
            return cls(points)
        directions = np.vstack([np.zeros_like(points), along])
        return cls(np.vstack([points, at]), directions, np.arange(len(directions)) >= len(points))

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, which: Any) -> Atoms:
        parts = (self.points, self.directions, self.slope)
        return Atoms(*(None if part is None else part[which] for part in parts))  # type: ignore[arg-type]

    @property
    def slopes(self) -> Array:
        """Which of them are slopes."""
        if self.slope is not None:
            return self.slope
        return np.full(len(self), self.directions is not None)

    def scaled(self, scale: Scale | None) -> Atoms:
        if scale is None:
            return self
        along = None if self.directions is None else scale.directions(self.directions)
        return Atoms(scale.points(self.points), along, self.slope)

    def labels(self) -> list[bytes]:
        """Something to look each of them up by."""
        points = [row.tobytes() for row in np.ascontiguousarray(self.points)]
        if self.directions is None:
            return points
        along = [row.tobytes() for row in np.ascontiguousarray(self.directions)]
        return [z + v if s else z for z, v, s in zip(points, along, self.slopes, strict=True)]

    def products(self, kernel: Kernel, other: Atoms) -> Array:
        """The inner products of all of these with all of others."""
        if self.directions is None and other.directions is None:
            return kernel(self.points) if other is self else kernel(self.points, other.points)
        K = np.empty((len(self), len(other)))
        for i in (~self.slopes, self.slopes):
            for j in (~other.slopes, other.slopes):
                if i.any() and j.any():
                    K[np.ix_(i, j)] = _products(kernel, self[i], other[j])
        return K

    def diag(self, kernel: Kernel) -> Array:
        """The inner product of each of these with itself."""
        if self.directions is None:
            return kernel.diag(self.points)
        blocks = (self[start : start + 64] for start in range(0, len(self), 64))
        return np.concatenate([np.diagonal(block.products(kernel, block)) for block in blocks])


def _products(kernel: Kernel, a: Atoms, b: Atoms) -> Array:
    """The same, where both are of one kind each."""
    if not a.slopes[0]:
        return kernel(a.points, b.points) if not b.slopes[0] else _products(kernel, b, a).T
    assert a.directions is not None
    if not b.slopes[0]:
        return kernel.slope(a.points, a.directions, b.points)
    assert b.directions is not None
    return kernel.slope_slope(a.points, a.directions, b.points, b.directions)


class KernelMap:
    r""":math:`\varphi(x) = k(x, Z)`: one coefficient per centre, for the 1-norm machine (eq. 13)."""

    def __init__(self, kernel: Kernel, centres: Array | Atoms, scale: Scale | None):
        self.kernel = kernel
        self.scale = scale
        self.atoms = _as_atoms(centres)
        self.centres, self.inner = self.atoms.points, self.atoms.scaled(scale)
        self.size, self.n_features = self.centres.shape

    def rows(self, Z: Array) -> Array:
        return self._facing(Atoms(Z))

    def slopes(self, Z: Array, V: Array) -> Array:
        return self._facing(Atoms(Z, V))

    def _facing(self, atoms: Atoms) -> Array:
        return atoms.scaled(self.scale).products(self.kernel, self.inner)

    @property
    def energy_matrix(self) -> Array | None:
        return None

    @property
    def coordinate_matrix(self) -> Any:
        return self._orthonormal.T

    @cached_property
    def _orthonormal(self) -> Array:
        """The centres' rows in an orthonormal basis of what they span."""
        if self.kernel.definiteness != "psd":
            raise KernelNotPSD(
                f"kernel {self.kernel!r} is not known to be positive semidefinite, and without that f has no "
                "norm. Use a kernel whose definiteness is 'psd', such as RBF()."
            )
        return pivoted_cholesky(self.kernel, self.inner)[1]

    def fitted(self, c: Array, b: float) -> Fitted:
        used = c != 0
        slopes = self.atoms.slopes
        values = used & ~slopes
        slopes = used & slopes
        along = Slopes.of(self.atoms[slopes], c[slopes])
        return FittedKernel(float(b), self.kernel, self.centres[values], c[values], self.scale, along)


class FactorMap(KernelMap):
    r""":math:`\varphi(x) = k(x, P) L^{-\top}`, :math:`k(P, P) = L L^\top`, so that :math:`\|g\|_H = \|c\|`.

    ``P`` are the pivots of a Cholesky factorisation of the kernel matrix over the centres: they span what
    all centres span, and the regulariser becomes a plain sum of squares, which is far safer for a solver
    than :math:`\beta^\top K \beta`.
    """

    def __init__(self, kernel: Kernel, centres: Array | Atoms, scale: Scale | None, rank: int | None = None):
        atoms = _as_atoms(centres)
        pivots, self.known = pivoted_cholesky(kernel, atoms.scaled(scale), rank)
        self.factor = self.known[pivots]
        self.place = {key: i for i, key in enumerate(atoms.labels())}
        super().__init__(kernel, atoms[pivots], scale)

    def _facing(self, atoms: Atoms) -> Array:
        # The centres' own rows come from the factorisation: half of their entries are exactly zero there,
        # which makes a sparse solver several times faster than the rounding noise of solving for them.
        places = np.array([self.place.get(key, -1) for key in atoms.labels()], int)
        features = self.known[places]
        new = places < 0
        if new.any():
            K = super()._facing(atoms[new])
            features[new] = solve_triangular(self.factor, K.T, lower=True, check_finite=False).T
        return features

    @property
    def coordinate_matrix(self) -> Any:
        return eye_array(self.size, format="csr")

    def fitted(self, c: Array, b: float) -> Fitted:
        return super().fitted(solve_triangular(self.factor, c, lower=True, trans=1, check_finite=False), b)


class ValueMap(KernelMap):
    r""":math:`\varphi(x) = K^{-1} k(P, x)`: c are values at the pivots, :math:`\|g\|_H^2 = c^\top K^{-1} c`.

    The same span as :class:`FactorMap`, for a kernel matrix that can be inverted safely. The rows of the
    pivots are those of the identity, so the regulariser's is the only dense matrix in the problem, and a
    solver needs about half the time.
    """

    # Conditioning up to which inverting costs no digit that the answer has.
    SAFE = 1e-6

    def __init__(self, factor: FactorMap):
        super().__init__(factor.kernel, factor.centres, factor.scale)
        self.factor = factor.factor
        lower, _ = dpotri(self.factor, lower=1)
        self.inverse = np.tril(lower) + np.tril(lower, -1).T
        self.place = {row.tobytes(): i for i, row in enumerate(np.ascontiguousarray(factor.centres))}

    @classmethod
    def suits(cls, factor: FactorMap) -> bool:
        """Whether the pivots span less than six orders of magnitude."""
        pivots = np.diag(factor.factor) ** 2
        return bool(pivots.min(initial=1.0) >= cls.SAFE * pivots.max(initial=1.0))

    def rows(self, Z: Array) -> Array:
        places = np.array([self.place.get(row.tobytes(), -1) for row in np.ascontiguousarray(Z)], int)
        new = places < 0
        if not new.any():
            return csr_array((np.ones(len(Z)), (np.arange(len(Z)), places)), (len(Z), self.size))
        features = np.zeros((len(Z), self.size))
        features[np.flatnonzero(~new), places[~new]] = 1.0
        features[new] = super().rows(Z[new]) @ self.inverse
        return features

    def slopes(self, Z: Array, V: Array) -> Array:
        return super().slopes(Z, V) @ self.inverse

    @property
    def energy_matrix(self) -> Array | None:
        return self.inverse

    @property
    def coordinate_matrix(self) -> Any:
        return solve_triangular(self.factor, np.eye(self.size), lower=True, check_finite=False)

    def fitted(self, c: Array, b: float) -> Fitted:
        return super().fitted(self.inverse @ c, b)


def pivoted_cholesky(kernel: Kernel, Z: Array | Atoms, rank: int | None = None) -> tuple[Array, Array]:
    """Pivots, and the rows of all points in the basis they span: ``rows @ rows.T`` is ``kernel(Z)``.

    ``Z`` are points or, more generally, atoms.

    In the order of the pivots these rows are lower triangular. With ``rank`` only that many columns of the
    kernel matrix are ever computed (a Nyström machine), and the product is the best it can be on them.
    """
    Z = _as_atoms(Z)
    n = len(Z)
    if rank is None or rank >= n:
        refuse_beyond_memory(n, n, "the kernel matrix", "Set n_centres to work with fewer.")
        K = Z.products(kernel, Z)
        require_psd(kernel, K)
        size = _lengths(K.diagonal())  # small points among large ones are no noise
        factor, order, found, _ = dpstrf(K / np.outer(size, size), tol=RANK_TOLERANCE, lower=1)
        rows = np.empty((n, found))
        rows[order - 1] = np.tril(factor[:, :found])
        return order[:found] - 1, size[:, None] * rows
    refuse_beyond_memory(n, rank, "the Nyström factor", "Lower n_centres.")
    columns = np.zeros((rank, n))
    diagonal = Z.diag(kernel)
    size = _lengths(diagonal)
    left = diagonal / size**2
    pivots: list[int] = []
    for j in range(rank):
        pivot = int(np.argmax(left))
        if left[pivot] <= RANK_TOLERANCE:
            break
        column = Z[[pivot]].products(kernel, Z)[0] / (size[pivot] * size) - columns[:j, pivot] @ columns[:j]
        columns[j] = column / np.sqrt(left[pivot])
        columns[j, pivots] = 0.0
        left = np.maximum(left - columns[j] ** 2, 0.0)
        left[pivot] = 0.0
        pivots.append(pivot)
    return np.array(pivots, int), size[:, None] * columns[: len(pivots)].T


def _as_atoms(centres: Array | Atoms) -> Atoms:
    return centres if isinstance(centres, Atoms) else Atoms(centres)


def _lengths(diagonal: Array) -> Array:
    """The points' norms in feature space; 1 for one that has none."""
    lengths = np.sqrt(np.maximum(np.asarray(diagonal, float), 0.0))
    return np.where(lengths > 0, lengths, 1.0)


def require_psd(kernel: Kernel, K: Array) -> None:
    """Refuse a matrix that is not positive semidefinite, of a kernel that does not say that it is."""
    if kernel.definiteness == "psd" or len(K) == 0:
        return
    size = float(np.abs(K).max())
    way_out = f"norm='l2' needs that. {ways_out(kernel)}"
    if not np.allclose(K, K.T, atol=1e-8 * size):
        raise KernelNotPSD(f"kernel {kernel!r} is not symmetric, and {way_out}")
    try:
        np.linalg.cholesky(K + 1e-8 * size * np.eye(len(K)))
    except np.linalg.LinAlgError as error:
        lowest = float(np.linalg.eigvalsh(K).min())
        raise KernelNotPSD(
            f"kernel {kernel!r} is not positive semidefinite on {len(K)} rows it has to serve (lowest "
            f"eigenvalue {lowest:.2g}), and {way_out}"
        ) from error


def ways_out(kernel: Kernel) -> str:
    """What to do about a kernel that norm="l2" does not take."""
    given = [value for name, value in kernel.get_params().items() if name.split("__")[-1] == "psd"]
    mended = " or ".join(f"psd={way!r}" for way in ("clip", "shift") if None in given or way not in given)
    return f"Use norm='l1', which takes any kernel{f', or {mended} in the kernel' if given else ''}."


def fits_in_memory(rows: int, columns: int, share: float = 0.5) -> bool:
    """Whether a dense matrix takes at most this share of the machine's memory."""
    if not hasattr(os, "sysconf"):  # Windows does not tell
        return True
    return 8 * rows * columns <= share * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def refuse_beyond_memory(rows: int, columns: int, what: str, way_out: str) -> None:
    """Refuse a dense matrix that would take more than half of the machine's memory."""
    if not fits_in_memory(rows, columns):
        have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        raise TooLarge(
            f"{what} would have {rows} x {columns} entries, {8 * rows * columns / 2**30:.1f} GiB of the "
            f"{have / 2**30:.1f} GiB this machine has. {way_out}"
        )


class Decision:
    r"""f while the problem is built: ``f(Z)`` is an affine expression in c and b.

    Every point is evaluated once: ``f(Z)`` hands out entries of one variable
    :math:`g = \Phi c + b`, so that two blocks that look at the same points share the dense rows of
    :math:`\Phi`. The equations that define these variables are in ``definitions``, and so is the
    cone behind :attr:`length`.
    """

    def __init__(self, features: LinearMap | KernelMap, norm: str):
        import cvxpy as cp

        self.features = features
        self.norm = norm
        self.n_features = features.n_features
        if norm == "l1":
            # Two nonnegative halves instead of bounds on |c|: twice as fast under HiGHS.
            self._up = cp.Variable(features.size, nonneg=True, name="c_up")
            self._down = cp.Variable(features.size, nonneg=True, name="c_down")
            self.c = self._up - self._down
        else:
            self.c = cp.Variable(features.size, name="c")
        self.b = cp.Variable(name="b")
        self._begin()

    def _begin(self) -> None:
        """No point has been asked for yet."""
        self.definitions: dict[str, cp.Constraint] = {}
        self._parts: dict[int, tuple[cp.Variable, Array, bool]] = {}
        self._products: dict[int, tuple[cp.Expression, cp.Variable, Any]] = {}
        self._values = _Lookup()
        self._slopes = _Lookup()

    @property
    def regulariser(self) -> cp.Expression:
        r""":math:`\frac12\|g\|^2`, or :math:`\|c\|_1` for the 1-norm machine."""
        import cvxpy as cp

        if self.norm == "l1":
            return cp.sum(self._up) + cp.sum(self._down)
        energy = self.features.energy_matrix
        return 0.5 * (
            cp.sum_squares(self.c) if energy is None else cp.quad_form(self.c, energy, assume_PSD=True)
        )

    def regulariser_slope(self) -> dict[cp.Variable, Any]:
        """The gradient of the regulariser, variable by variable, as a map from its multiplier."""
        if self.norm == "l1":
            ones = np.ones(self.features.size)
            return {self._up: lambda m: ones, self._down: lambda m: ones}
        energy = self.features.energy_matrix
        c = np.asarray(self.c.value)
        return {self.c: lambda m: c if energy is None else energy @ c}

    def __call__(self, Z: Any) -> cp.Expression:
        """f at the rows of Z."""
        Z = self._points("f(Z)", Z)
        return self._shared(self._values, Z, (Z,), lambda new: (self.features.rows(Z[new]), self.b))

    def slope(self, Z: Any, V: Any) -> cp.Expression:
        r""":math:`\nabla f(z_i)^\top v_i` for each row."""
        Z = self._points("f.slope(Z, V)", Z)
        V = self._points("f.slope(Z, V)", V)
        return self._shared(self._slopes, Z, (Z, V), lambda new: (self.features.slopes(Z[new], V[new]), 0.0))

    def times(self, matrix: Any) -> cp.Expression:
        """A matrix times c, for what is asked of f once and is no value that others may share."""
        import cvxpy as cp

        matrix = _as_sparse_as_it_is(matrix)
        product = matrix @ self.c
        stand_in = cp.Variable(matrix.shape[0], name=f"product{len(self._products)}")
        self._products[id(product)] = product, stand_in, matrix
        return product

    def without_products(self, tree: Any) -> Any:
        """An expression or a constraint with a variable in place of every product that f was asked for.

        What CVXPY makes of it is sparse. A constraint keeps its id.
        """
        if id(tree) in self._products:
            return self._products[id(tree)][1]
        args = [self.without_products(argument) for argument in tree.args]
        if all(new is old for new, old in zip(args, tree.args, strict=True)):
            return tree
        return tree.copy(args)

    @cached_property
    def length(self) -> cp.Variable:
        r"""A variable that is at least :math:`\|g\|_H`, in the machine's units."""
        import cvxpy as cp

        length = cp.Variable(name="length")
        self.definitions["length"] = cp.SOC(length, self.features.coordinate_matrix @ self.c)
        return length

    def _points(self, what: str, Z: Any) -> Any:
        points = as_points(Z)
        if points.ndim != 2 or points.shape[1] != self.n_features:
            raise InvalidInput(
                f"{what} takes points of shape (n, {self.n_features}), got shape {points.shape}."
            )
        if not np.isfinite(points.data if issparse(points) else points).all():
            raise InvalidInput(f"{what} got NaN or infinity.")
        return points

    def _shared(self, lookup: _Lookup, Z: Array, key: tuple[Array, ...], affine: Any) -> cp.Expression:
        import cvxpy as cp

        if Z.shape[0] == 0:
            return cp.Constant(np.empty(0))
        positions, new = lookup.positions(key[0] if len(key) == 1 else np.hstack(key))
        if len(new):
            variables = [*self._values.variables, *self._slopes.variables]
            g = cp.Variable(len(new), name=f"f{len(variables)}")
            self._define(g, lambda: affine(new))
            lookup.variables.append(g)
        if len(new) == Z.shape[0]:
            return lookup.variables[-1]
        return cp.hstack(lookup.variables)[positions]

    def _define(self, g: cp.Variable, affine: Callable[[], tuple[Any, Any]]) -> None:
        r""":math:`g = \Phi c + b` as an equation."""
        matrix, offset = affine()
        matrix = _as_sparse_as_it_is(matrix)
        self.definitions[g.name()] = g == matrix @ self.c + offset
        self._parts[self.definitions[g.name()].id] = (g, matrix, offset is self.b)

    @property
    def n_rows(self) -> int:
        """How many values and products were asked for."""
        values = [g for g, *_ in self._parts.values()]
        return sum(g.size for g in [*values, *(g for _, g, _ in self._products.values())])

    def jacobians(self) -> dict[int, Any]:
        r"""For each definition :math:`g = \Phi c + b`, how a multiplier enters each variable's gradient."""
        known: dict[int, dict[cp.Variable, Any]] = {}
        for constraint, (g, matrix, biased) in self._parts.items():
            parts: dict[cp.Variable, Any] = {g: lambda m: m, **self._adjoint(matrix, -1.0)}
            if biased:
                parts[self.b] = lambda m: -m.sum(keepdims=True)
            known[constraint] = parts
        return known

    def product_jacobians(self) -> dict[cp.Variable, dict[cp.Variable, Any]]:
        """For each variable of :meth:`without_products`, how its gradient enters those of c."""
        return {g: self._adjoint(matrix, 1.0) for _, g, matrix in self._products.values()}

    def _adjoint(self, matrix: Any, sign: float) -> dict[cp.Variable, Any]:
        """The transpose of a matrix times c, for each variable that c is made of."""
        if self.norm == "l1":
            return {self._up: partial(_times, matrix, sign), self._down: partial(_times, matrix, -sign)}
        return {self.c: partial(_times, matrix, sign)}

    @property
    def has(self) -> frozenset[str]:
        """What blocks may ask of this f."""
        if isinstance(self.features, LinearMap):
            return frozenset({"evaluate", "slope", "coef"})
        return frozenset({"evaluate", "kernel"} | ({"slope"} if self.features.kernel.has_slope else set()))

    @property
    def coef(self) -> cp.Expression:
        """The weights in the user's units (linear machines)."""
        scale = self._linear().scale
        return self.c if scale is None else self.c / scale.width

    @property
    def bias(self) -> cp.Expression:
        """The bias in the user's units (linear machines)."""
        scale = self._linear().scale
        return self.b if scale is None else self.b - (scale.shift / scale.width) @ self.c

    def _linear(self) -> LinearMap:
        if not isinstance(self.features, LinearMap):
            raise MissingCapability("a kernel machine has no weight vector: use kernel='linear'.")
        return self.features

    def kernel(self, A: Any, B: Any) -> Array:
        """The kernel matrix between points in the user's units (kernel machines)."""
        if isinstance(self.features, LinearMap):
            raise MissingCapability(
                "a linear machine has no kernel matrix: use a kernel other than 'linear'."
            )
        inner = (lambda Z: Z) if self.features.scale is None else self.features.scale.points
        return self.features.kernel(inner(np.asarray(A, float)), inner(np.asarray(B, float)))

    def fitted(self) -> Fitted:
        """The solved function as arrays."""
        return self.features.fitted(np.asarray(self.c.value), float(self.b.value))

    def value(self, Z: Any) -> Array:
        """f at the rows of Z, as numbers, once solved."""
        return self.fitted().value(Z)


class Bounded(Decision):
    r"""f in units of a largest norm R: :math:`\|g\| \le R` is ``size <= 1``."""

    def __init__(self, features: KernelMap, norm: str, limit: float):
        import cvxpy as cp

        if isinstance(features, ValueMap):  # of the two bases, the one whose length is that of c
            features = FactorMap(features.kernel, features.centres, features.scale)
        super().__init__(features, norm)
        self.limit = limit
        if norm == "l1":
            self.size: cp.Expression = self.regulariser
        else:
            self.size = cp.Variable(name="size")
            self.definitions["size"] = cp.SOC(self.size, features.coordinate_matrix @ self.c)

    def _define(self, g: cp.Variable, affine: Callable[[], tuple[Any, Any]]) -> None:
        matrix, offset = affine()
        super()._define(g, lambda: (self.limit * matrix, offset))

    @cached_property
    def length(self) -> cp.Expression:
        r"""At least :math:`\|g\|_H`."""
        import cvxpy as cp

        if self.norm == "l2":
            return self.limit * self.size
        length = cp.Variable(name="length")
        self.definitions["length"] = cp.SOC(length, self.features.coordinate_matrix @ self.c)
        return self.limit * length


class AnyFunction(Decision):
    """A function of which nothing is known but that it has one value at each point, and one slope.

    What blocks cannot ask of it, they cannot ask of any f.
    """

    def __init__(self, kernel: Kernel, n_features: int, scale: Scale | None):
        super().__init__(KernelMap(kernel, np.zeros((1, n_features)), scale), "l1")
        self.asked: list[Array] = []

    def __call__(self, Z: Any) -> cp.Expression:
        """f at the rows of Z, which are remembered."""
        self.asked.append(self._points("f(Z)", Z))
        return super().__call__(Z)

    def _define(self, g: cp.Variable, affine: Callable[[], tuple[Any, Any]]) -> None:
        """Nothing ties values to each other."""

    @cached_property
    def length(self) -> cp.Variable:
        """Nor to a norm."""
        import cvxpy as cp

        return cp.Variable(nonneg=True, name="length")


class Values(Decision):
    r"""f by its values and slopes alone, which are variables that nothing ties to each other.

    Blocks that ask for more of f are told that there is no more (:class:`MissingCapability`).

    Attributes
    ----------
    asked : each variable, the atoms whose inner products with f it holds, and whether the bias is added.
    weights : for each of them the weights of its atoms in f, once solved: the slope of the regulariser.
    """

    def __init__(self, kernel: Kernel | None, n_features: int):
        self._kernel = kernel
        self.norm = "l2"
        self.n_features = n_features
        self._begin()
        self.asked: list[tuple[cp.Variable, Atoms, bool]] = []
        self.weights: list[Array] = []

    def __call__(self, Z: Any) -> cp.Expression:
        """f at the rows of Z."""
        Z = self._points("f(Z)", Z)
        return self._shared(self._values, Z, (Z,), lambda new: (Atoms(Z[new]), True))

    def slope(self, Z: Any, V: Any) -> cp.Expression:
        r""":math:`\nabla f(z_i)^\top v_i` for each row."""
        Z = self._points("f.slope(Z, V)", Z)
        V = self._points("f.slope(Z, V)", V)
        return self._shared(self._slopes, Z, (Z, V), lambda new: (Atoms(Z[new], V[new]), False))

    def _define(self, g: cp.Variable, affine: Callable[[], tuple[Any, Any]]) -> None:
        self.asked.append((g, *affine()))

    @property
    def regulariser(self) -> Any:
        """Nothing: it is a matter of what ties the values."""
        return 0.0

    def regulariser_slope(self) -> dict[cp.Variable, Any]:
        """By a value of f the regulariser grows as its atom has weight in f."""
        return {g: lambda m, w=w: w for (g, *_), w in zip(self.asked, self.weights, strict=True)}

    @property
    def has(self) -> frozenset[str]:
        """What blocks may ask of this f; the values of a linear one are not all they may have in mind."""
        if self._kernel is None:
            return frozenset({"evaluate", "slope", "coef"})
        return frozenset({"evaluate", "kernel"} | ({"slope"} if self._kernel.has_slope else set()))

    @property
    def _no_more(self) -> Any:
        """Not known: weights, bias and norm are what a solver has to find."""
        raise MissingCapability("it asks more of f than values and slopes.")

    features = c = b = length = _no_more


def _as_sparse_as_it_is(matrix: Any) -> Any:
    """Sparse if it is mostly zeros, such as rows of the identity."""
    if issparse(matrix) or np.count_nonzero(matrix) >= matrix.size / 8:
        return matrix
    return csr_array(matrix)


def _times(matrix: Any, sign: float, multiplier: Array) -> Array:
    return sign * (matrix.T @ multiplier)


class _Lookup:
    """Which rows have a variable already."""

    def __init__(self) -> None:
        self.seen: dict[bytes, int] = {}
        self.variables: list[cp.Variable] = []

    def positions(self, rows: Any) -> tuple[Array, Array]:
        """Where each row is or will be among all seen so far, and which of ``rows`` are new."""
        keys = as_keys(rows)
        if not self.seen:  # most rows are asked for once, at first
            seen = dict(zip(keys, range(len(keys)), strict=True))
            if len(seen) == len(keys):
                self.seen = seen
                return np.arange(len(keys)), np.arange(len(keys))
        before = len(self.seen)
        new: list[int] = []
        positions = np.empty(len(keys), int)
        for i, key in enumerate(keys):
            positions[i] = self.seen.setdefault(key, len(self.seen))
            if positions[i] == before + len(new):
                new.append(i)
        return positions, np.array(new, int)


class Fitted(ABC):
    """f once solved: arrays, and points in the user's units."""

    bias: float

    @abstractmethod
    def value(self, Z: Any) -> Array:
        """f at the rows of Z."""

    @abstractmethod
    def slope(self, Z: Any, V: Any) -> Array:
        r""":math:`\nabla f(z_i)^\top v_i` for each row."""

    @abstractmethod
    def curve(self, Z: Any, U: Any, V: Any) -> Array:
        r""":math:`u_i^\top \nabla^2 f(z_i)\, v_i` for each row."""

    @abstractmethod
    def norm(self, kind: str) -> float:
        r""":math:`\|g\|_H` ("l2"), or the sum of the coefficients' sizes ("l1"), in the machine's units."""


@dataclass(frozen=True, eq=False)
class FittedLinear(Fitted):
    """``X @ coef + bias``."""

    bias: float
    coef: Array
    scale: Scale | None = None

    def value(self, Z: Any) -> Array:
        return np.asarray(as_points(Z) @ self.coef + self.bias)

    def slope(self, Z: Any, V: Any) -> Array:
        return np.asarray(V, float) @ self.coef

    def curve(self, Z: Any, U: Any, V: Any) -> Array:
        return np.zeros(len(Z))

    def norm(self, kind: str) -> float:
        inner = self.coef if self.scale is None else self.coef * self.scale.width
        return float(np.linalg.norm(inner, 1 if kind == "l1" else 2))


@dataclass(frozen=True, eq=False)
class Slopes:
    """The part of a fitted f that expands over derivatives of the kernel, in the user's units."""

    points: Array
    directions: Array
    weights: Array

    @classmethod
    def of(cls, atoms: Atoms, weights: Array) -> Slopes | None:
        return None if atoms.directions is None else cls(atoms.points, atoms.directions, weights)

    def atoms(self, scale: Scale | None) -> Atoms:
        """In the machine's units."""
        return Atoms(self.points, self.directions).scaled(scale)


@dataclass(frozen=True, eq=False)
class FittedKernel(Fitted):
    """``k(X, centres) @ weights + bias``, and with slopes ``k.slope(points, directions, X).T @ weights``."""

    bias: float
    kernel: Kernel
    centres: Array
    weights: Array
    scale: Scale | None = None
    slopes: Slopes | None = None

    def value(self, Z: Any) -> Array:
        return self._unbiased(self._to_inner(Z)) + self.bias

    def _unbiased(self, Z: Array) -> Array:
        return self._in_blocks(self.kernel, Z) + self._of_slopes(Atoms(Z))

    def slope(self, Z: Any, V: Any) -> Array:
        Z = self._to_inner(Z)
        V = self._directions(V)
        return self._in_blocks(self.kernel.slope, Z, V) + self._of_slopes(Atoms(Z, V))

    def curve(self, Z: Any, U: Any, V: Any) -> Array:
        Z = self._to_inner(Z)
        U = self._directions(U)
        V = self._directions(V)
        curve = self._in_blocks(self.kernel.curve, Z, U, V)
        if self.slopes is None or len(Z) == 0:
            return curve
        # Kernels know no third derivatives: central differences of the slopes, which are exact.
        size = np.linalg.norm(U, axis=1, keepdims=True)
        h = 1e-5 * (1.0 + np.linalg.norm(Z, axis=1, keepdims=True)) / np.where(size > 0, size, 1.0)
        ahead, behind = (self._of_slopes(Atoms(Z + step * U, V)) for step in (h, -h))
        return curve + (ahead - behind) / (2 * h[:, 0])

    def _of_slopes(self, atoms: Atoms) -> Array:
        """The part of the slopes in values or slopes of f, by blocks of rows."""
        if self.slopes is None:
            return np.zeros(len(atoms))
        inner = self.slopes.atoms(self.scale)
        step = max(1, 2**22 // max(1, len(inner)))
        starts = range(0, len(atoms), step)
        parts = [atoms[i : i + step].products(self.kernel, inner) @ self.slopes.weights for i in starts]
        return np.concatenate([np.empty(0), *parts])

    def _in_blocks(self, matrix: Callable[..., Array], *rows: Array) -> Array:
        """``matrix(*rows, centres) @ weights``."""
        # Blocks of rows keep the kernel matrix in cache-sized pieces whatever the number of rows; larger ones
        # where the centres cost something in each of them.
        step = max(1, 2 ** (26 if self.kernel.whole else 22) // max(1, len(self.weights)))
        starts = range(0, len(rows[0]), step)
        parts = [matrix(*(r[i : i + step] for r in rows), self._inner) @ self.weights for i in starts]
        return np.concatenate(parts) if parts else np.empty(0)

    @cached_property
    def length(self) -> float:
        r""":math:`\|g\|_H`, rounded up.

        :math:`w^\top K w` is known to within the rounding errors of its terms, which are no larger than
        :math:`|w_i| |w_j| \max_i K_{ii}`; where large weights cancel they are all that is left of it.
        """
        parts = [(self.weights, Atoms(self._inner))]
        if self.slopes is not None:
            parts.append((self.slopes.weights, self.slopes.atoms(self.scale)))
        sizes = [np.abs(w).sum() * math.sqrt(a.diag(self.kernel).max()) for w, a in parts if len(w)]
        return math.sqrt(self._squared + 1e-13 * float(sum(sizes)) ** 2)

    def norm(self, kind: str) -> float:
        if kind == "l1":
            return float(np.abs(self.weights).sum())
        return math.sqrt(self._squared)

    @cached_property
    def _squared(self) -> float:
        """The squared norm of g: its values at the centres, and its slopes, times their weights."""
        squared = float(self.weights @ self._unbiased(self._inner))
        if self.slopes is not None:
            squared += float(self.slopes.weights @ self.slope(self.slopes.points, self.slopes.directions))
        return max(squared, 0.0)

    def _to_inner(self, Z: Any) -> Array:
        Z = np.asarray(Z, float)
        return Z if self.scale is None else self.scale.points(Z)

    def _directions(self, V: Any) -> Array:
        V = np.asarray(V, float)
        return V if self.scale is None else self.scale.directions(V)

    @cached_property
    def _inner(self) -> Array:
        return self._to_inner(self.centres)
