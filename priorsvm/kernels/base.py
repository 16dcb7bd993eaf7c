"""What a kernel is, and how kernels combine.

A kernel answers with matrices: ``k(A, B)[i, j]`` is :math:`k(a_i, b_j)`. It says of itself what the
machines and blocks have to know before any work is done: whether it is positive definite
(``definiteness``), whether it has derivatives (``has_slope``, ``has_slope_slope``, ``has_curve``), whether
they are bounded (``has_derivative_bound``), and what of the patterns it looks at (``depends_on``).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import reduce
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import gen_batches

from priorsvm._utils.messages import did_you_mean, readable
from priorsvm.errors import InvalidInput, InvalidType, MissingCapability

from .._utils.arrays import Array
from .._utils.checks import is_number

Definiteness = Literal["psd", "cpd", "indefinite", "unknown"]
Dependence = Literal["distance", "inner", "entries"]


class Kernel(BaseEstimator):
    r"""A similarity :math:`k(x, z)` of two patterns.

    The constructor stores its arguments; they are checked when the kernel is used. A kernel keeps no
    state: what depends on the training rows (``gamma="scale"``) becomes a number in :meth:`resolved`.

    A kernel of one's own needs ``_matrix(A, B)``, which is given checked float arrays of equal width.
    The rest is optional: ``_diag``, the derivatives ``_slope``, ``_slope_slope`` and ``_curve``,
    ``_derivative_bound`` (of a positive definite kernel), ``_check`` for the parameters, ``_rows`` for
    patterns that are not rows of a matrix, and ``definiteness``.

    Examples
    --------
    A complete kernel, the Cauchy kernel :math:`1 / (1 + \|x - z\|^2 / s^2)`, with its derivative:

    >>> import numpy as np
    >>> from scipy.spatial.distance import cdist
    >>> from priorsvm.kernels import Kernel, Linear
    >>> class Cauchy(Kernel):
    ...     definiteness = "psd"
    ...     def __init__(self, s=1.0):
    ...         self.s = s
    ...     def _matrix(self, A, B):
    ...         return 1 / (1 + cdist(A, B, "sqeuclidean") / self.s**2)
    ...     def _slope(self, Z, V, B):
    ...         along = (Z * V).sum(axis=1)[:, None] - V @ B.T
    ...         return -2 / self.s**2 * along * self._matrix(Z, B) ** 2
    >>> k = 0.5 * Cauchy(s=2.0) + Linear()
    >>> k
    0.5 * Cauchy(s=2.0) + Linear()
    >>> k([[0.0, 0.0], [2.0, 0.0]])
    array([[0.5 , 0.25],
           [0.25, 4.5 ]])
    >>> k.definiteness, k.has_slope
    ('psd', True)
    """

    # NumPy scalars would otherwise take `np.float64(2) * kernel` for an array operation.
    __array_ufunc__ = None

    # Whether a pattern is a set of vectors, and not a row.
    takes_sets: bool = False

    def __call__(self, A: ArrayLike, B: ArrayLike | None = None) -> Array:
        """The matrix of :math:`k(a_i, b_j)`, shape (n, m).

        Parameters
        ----------
        A : array of shape (n, d)
        B : array of shape (m, d), optional
            None means ``A``.
        """
        self._check()
        A = self._rows(A, "A")
        B = A if B is None else self._like(B, "B", A, "A")
        return self._matrix(A, B) if len(A) and len(B) else np.zeros((len(A), len(B)))

    def diag(self, A: ArrayLike) -> Array:
        """The values :math:`k(a_i, a_i)`, shape (n,)."""
        self._check()
        A = self._rows(A, "A")
        return self._diag(A) if len(A) else np.zeros(0)

    def slope(self, Z: ArrayLike, V: ArrayLike, B: ArrayLike) -> Array:
        r"""The derivatives :math:`\nabla_z k(z_i, b_j)^\top v_i`, shape (n, m).

        Parameters
        ----------
        Z : array of shape (n, d)
            Where to differentiate, in the first argument.
        V : array of shape (n, d)
            The direction at each row of ``Z``.
        B : array of shape (m, d)
            The second arguments.
        """
        self._check()
        self._require("slope")
        Z = self._rows(Z, "Z")
        V = self._directions(V, "V", Z, "Z")
        B = self._like(B, "B", Z, "Z")
        return self._slope(Z, V, B) if len(Z) and len(B) else np.zeros((len(Z), len(B)))

    def slope_slope(self, Z: ArrayLike, U: ArrayLike, B: ArrayLike, V: ArrayLike) -> Array:
        r"""The mixed derivatives :math:`u_i^\top \nabla_z \nabla_b k(z_i, b_j)\, v_j`, shape (n, m).

        They are the inner products :math:`\langle \partial_u \Phi(z_i), \partial_v \Phi(b_j) \rangle`
        of derivatives in feature space.

        Parameters
        ----------
        Z, U : arrays of shape (n, d)
            First arguments, and the direction at each.
        B, V : arrays of shape (m, d)
            Second arguments, and the direction at each.
        """
        self._check()
        self._require("slope_slope")
        Z = self._rows(Z, "Z")
        U = self._directions(U, "U", Z, "Z")
        B = self._like(B, "B", Z, "Z")
        V = self._directions(V, "V", B, "B")
        return self._slope_slope(Z, U, B, V) if len(Z) and len(B) else np.zeros((len(Z), len(B)))

    def curve(self, Z: ArrayLike, U: ArrayLike, V: ArrayLike, B: ArrayLike) -> Array:
        r"""The second derivatives :math:`u_i^\top \nabla_z^2 k(z_i, b_j)\, v_i`, shape (n, m).

        Parameters
        ----------
        Z : array of shape (n, d)
            Where to differentiate, in the first argument.
        U, V : arrays of shape (n, d)
            The two directions at each row of ``Z``.
        B : array of shape (m, d)
            The second arguments.
        """
        self._check()
        self._require("curve")
        Z = self._rows(Z, "Z")
        U = self._directions(U, "U", Z, "Z")
        V = self._directions(V, "V", Z, "Z")
        B = self._like(B, "B", Z, "Z")
        return self._curve(Z, U, V, B) if len(Z) and len(B) else np.zeros((len(Z), len(B)))

    def derivative_bound(self, order: int, reach: ArrayLike) -> Array:
        r"""The most that derivatives of :math:`k_x = k(x, \cdot)` can be long, shape (n,).

        The numbers :math:`D_i` with :math:`\|\partial_{u_1} \cdots \partial_{u_n} k_x\|_H \le D_i` for all
        unit vectors :math:`u` and all :math:`\|x\| \le r_i`. A function g then has no n-th derivative above
        :math:`D_i \|g\|_H` there.

        Parameters
        ----------
        order : int
            The order n, at least 1.
        reach : array of shape (n,)
            The distances :math:`r_i` from the origin.
        """
        self._check()
        self._require("derivative_bound")
        return self._derivative_bound(order, np.asarray(reach, float))

    def displacement_bound(self, radius: ArrayLike, reach: ArrayLike) -> Array:
        r"""The most that :math:`\|k_x - k_m\|_H` can be for :math:`\|x - m\| \le r_i`, shape (n,).

        A function g then differs by no more than :math:`\|g\|_H` times that between m and x.

        Parameters
        ----------
        radius : array of shape (n,)
            The distances :math:`r_i`.
        reach : array of shape (n,)
            The distances of the points m from the origin.
        """
        self._check()
        self._require("derivative_bound")
        return self._displacement_bound(np.asarray(radius, float), np.asarray(reach, float))

    @property
    def definiteness(self) -> Definiteness:
        r"""What is known of the matrices :math:`K = k(X, X)`.

        ``"psd"``: positive semidefinite for every X; ``"cpd"``: conditionally so,
        :math:`c^\top K c \ge 0` for every c that sums to zero; ``"indefinite"``: for some X neither;
        ``"unknown"``: nothing is claimed.
        """
        return "unknown"

    @property
    def depends_on(self) -> Dependence:
        r"""What of two patterns the kernel looks at.

        ``"distance"``: :math:`\|x - z\|` alone; ``"inner"``: their inner product and their lengths alone;
        ``"entries"``: nothing is claimed.
        """
        return "entries"

    @property
    def falls_with_distance(self) -> bool:
        r"""Whether the kernel looks at :math:`\|x - z\|` alone, and falls as it grows."""
        return False

    @property
    def plain(self) -> Kernel:
        """The kernel without what it knows of moves, which finds support vectors with less work."""
        return self

    @property
    def double(self) -> Kernel:
        """The kernel in double precision, for matrices whose small eigenvalues count."""
        return self

    @property
    def has_products(self) -> bool:
        """Whether the matrix can be worked out from inner products without losing digits."""
        return type(self)._of_products is not Kernel._of_products

    @property
    def has_slope(self) -> bool:
        """Whether :meth:`slope` answers."""
        return type(self)._slope is not Kernel._slope

    @property
    def has_slope_slope(self) -> bool:
        """Whether :meth:`slope_slope` answers; such a kernel is symmetric."""
        return type(self)._slope_slope is not Kernel._slope_slope

    @property
    def has_curve(self) -> bool:
        """Whether :meth:`curve` answers."""
        return type(self)._curve is not Kernel._curve

    @property
    def has_derivative_bound(self) -> bool:
        """Whether :meth:`derivative_bound` answers."""
        return type(self)._derivative_bound is not Kernel._derivative_bound

    @property
    def whole(self) -> bool:
        """Whether one large matrix is much cheaper than several that cover it."""
        return False

    def resolved(self, X: ArrayLike, weight: Array | None = None) -> Kernel:
        """The kernel in which every ``gamma="scale"`` or ``"auto"`` is the number it means on the rows ``X``.

        Whatever else depends on the training rows is data of it too. ``weight`` says how many times each
        row counts.
        """
        self._check()
        return clone(self)

    def libsvm_params(self) -> dict[str, Any] | None:
        """The keyword arguments of ``sklearn.svm.SVC`` that make LIBSVM compute this very kernel.

        None if LIBSVM does not know it and needs the matrix.
        """
        return None

    def __repr__(self) -> str:
        return readable(super().__repr__())

    def __add__(self, other: object) -> Sum:
        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum([clone(part) for kernel in (self, other) for part in _members(kernel, Sum)])

    def __mul__(self, other: object) -> Kernel:
        if isinstance(other, Kernel):
            return Product([clone(part) for kernel in (self, other) for part in _members(kernel, Product)])
        if not isinstance(other, Real) or isinstance(other, bool):
            return NotImplemented
        return Scaled(clone(self), float(other))

    def __rmul__(self, other: object) -> Kernel:
        return self.__mul__(other)

    # What a kernel writes. Every array given to these has been checked and has at least one row;
    # `B is A` when a matrix is to be symmetric.

    def _matrix(self, A: Array, B: Array) -> Array:
        raise NotImplementedError(f"{type(self).__name__} has to define _matrix(A, B).")

    def _diag(self, A: Array) -> Array:
        return diagonal(self._matrix, A)

    def _of_products(self, G: Array, a: Array, b: Array) -> Array:
        """The values where inner products are G and squared lengths a and b, which broadcast against G.

        In the precision of G, which may be overwritten.
        """
        raise NotImplementedError

    def _slope(self, Z: Array, V: Array, B: Array) -> Array:
        raise NotImplementedError

    def _slope_slope(self, Z: Array, U: Array, B: Array, V: Array) -> Array:
        raise NotImplementedError

    def _curve(self, Z: Array, U: Array, V: Array, B: Array) -> Array:
        raise NotImplementedError

    def _derivative_bound(self, order: int, reach: Array) -> Array:
        raise NotImplementedError

    def _displacement_bound(self, radius: Array, reach: Array) -> Array:
        return radius * self._derivative_bound(1, reach + radius)

    def _check(self) -> None:
        """Raise if a parameter has a value that cannot be used."""

    def _rows(self, X: ArrayLike, name: str) -> Array:
        """The patterns as the hooks above want them: a finite float array, one row each."""
        expected = f"{type(self).__name__}: {name} must be a 2-D array of finite numbers, one pattern per row"
        try:
            # In C order, so that A @ A.T is BLAS's syrk and symmetric to the last bit.
            rows = np.asarray(X, dtype=float, order="C")
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{expected}; got {type(X).__name__}.") from error
        if rows.ndim != 2:
            raise InvalidInput(f"{expected}; its shape is {rows.shape}. A single pattern x is x[None, :].")
        if not np.isfinite(rows).all():
            raise InvalidInput(f"{expected}; it has {np.count_nonzero(~np.isfinite(rows))} NaN or infinite.")
        return rows

    def _like(self, X: ArrayLike, name: str, other: Array, other_name: str) -> Array:
        rows = self._rows(X, name)
        if len(rows) and len(other) and rows[0].shape[-1] != other[0].shape[-1]:
            raise InvalidInput(
                f"{type(self).__name__}: {other_name} has {other[0].shape[-1]} columns and {name} has "
                f"{rows[0].shape[-1]}; a kernel compares rows of equal width."
            )
        return rows

    def _directions(self, V: ArrayLike, name: str, Z: Array, points: str) -> Array:
        directions = self._rows(V, name)
        if directions.shape != Z.shape:
            raise InvalidInput(
                f"{type(self).__name__}: {name} has shape {directions.shape} and {points} {Z.shape}; "
                f"expected one direction for each row of {points}."
            )
        return directions

    def _require(self, capability: str) -> None:
        if getattr(self, f"has_{capability}"):
            return
        if capability == "derivative_bound":
            others = (
                "Linear(), RBF(), a Polynomial() of whole degree with coef0 >= 0, or a sum or positive "
                "multiple of these"
            )
        else:
            others = "a smooth kernel such as RBF() or Polynomial()"
        raise MissingCapability(
            f"The kernel {self!r} has no {capability}. Use {others}, or a Kernel of your own that defines "
            f"_{capability}."
        )

    def _expect(self, valid: bool, name: str, value: object, expected: str) -> None:
        if not valid:
            raise InvalidInput(f"{type(self).__name__}: {name} is {value!r}; expected {expected}.")


class _Combination(Kernel):
    """A kernel made of kernels: what holds for all of its parts holds for it."""

    def _parts(self) -> list[Kernel]:
        raise NotImplementedError

    @property
    def takes_sets(self) -> bool:  # type: ignore[override]
        return any(part.takes_sets for part in self._parts())

    @property
    def depends_on(self) -> Dependence:
        looks_at = {part.depends_on for part in self._parts()}
        if "entries" in looks_at:
            return "entries"
        return "inner" if "inner" in looks_at else "distance"

    @property
    def has_products(self) -> bool:
        return all(part.has_products for part in self._parts())

    @property
    def has_slope(self) -> bool:
        return all(part.has_slope for part in self._parts())

    @property
    def has_slope_slope(self) -> bool:
        return all(part.has_slope_slope for part in self._parts())

    @property
    def has_curve(self) -> bool:
        return all(part.has_curve for part in self._parts())

    @property
    def has_derivative_bound(self) -> bool:
        return all(part.has_derivative_bound for part in self._parts())

    @property
    def whole(self) -> bool:
        return any(part.whole for part in self._parts())

    def _require(self, capability: str) -> None:
        for part in self._parts():
            part._require(capability)
        super()._require(capability)

    def _check(self) -> None:
        parts = self._parts()
        for part in parts:
            part._check()
        if len({part.takes_sets for part in parts}) > 1:
            raise InvalidInput(f"{self!r} joins a kernel between sets of vectors with one between rows.")

    def _rows(self, X: ArrayLike, name: str) -> Array:
        rows: Any = X
        for part in self._parts():
            rows = part._rows(rows, name)
        return rows


class _Several(_Combination):
    """Parts in a flat list, named by their class (``rbf``, ``linear``, ``rbf_2``) for ``set_params``."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self.kernels = kernels

    def _parts(self) -> list[Kernel]:
        if not self.kernels:
            raise InvalidInput(f"{type(self).__name__}: kernels is empty; expected at least one kernel.")
        return [_kernel(part, self) for part in self.kernels]

    def _named(self) -> dict[str, Kernel]:
        named: dict[str, Kernel] = {}
        seen: Counter[str] = Counter()
        for part in self._parts():
            name = _snake_case(part)
            seen[name] += 1
            named[name if seen[name] == 1 else f"{name}_{seen[name]}"] = part
        return named

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        params: dict[str, Any] = {"kernels": self.kernels}
        for name, part in self._named().items() if deep else ():
            params[name] = part
            params |= {f"{name}__{key}": value for key, value in part.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        # The list first, then parts replaced by name, then (in scikit-learn) parameters of parts.
        if "kernels" in params:
            self.kernels = params.pop("kernels")
        named = self._named()
        if replaced := {name: params.pop(name) for name in named if name in params}:
            self.kernels = list((named | replaced).values())
        return super().set_params(**params)

    def resolved(self, X: ArrayLike, weight: Array | None = None) -> Self:
        return type(self)([part.resolved(X, weight) for part in self._parts()])

    @property
    def plain(self) -> Self:
        return type(self)([part.plain for part in self._parts()])

    @property
    def double(self) -> Self:
        return type(self)([part.double for part in self._parts()])


class Sum(_Several):
    r"""The sum :math:`\sum_l k_l(x, z)`: what ``k1 + k2`` makes.

    Positive definite if every term is; conditionally so if every term is at least that.

    Parameters
    ----------
    kernels : list of Kernel
        The terms. Their parameters are reached by class name: ``rbf__gamma``, then ``rbf_2__gamma``.

    Examples
    --------
    >>> from priorsvm.kernels import RBF, Linear
    >>> k = RBF(gamma=0.5) + Linear()
    >>> k.set_params(rbf__gamma=2.0)
    RBF(gamma=2.0) + Linear()
    """

    @property
    def definiteness(self) -> Definiteness:
        terms = {part.definiteness for part in self._parts()}
        if terms <= {"psd", "cpd"}:
            return "cpd" if "cpd" in terms else "psd"
        return "unknown"

    @property
    def falls_with_distance(self) -> bool:
        return all(part.falls_with_distance for part in self._parts())

    def _matrix(self, A: Array, B: Array) -> Array:
        return reduce(np.add, (k._matrix(A, B) for k in self._parts()))

    def _diag(self, A: Array) -> Array:
        return reduce(np.add, (k._diag(A) for k in self._parts()))

    def _of_products(self, G: Array, a: Array, b: Array) -> Array:
        return reduce(np.add, (k._of_products(G.copy(), a, b) for k in self._parts()))

    def _slope(self, Z: Array, V: Array, B: Array) -> Array:
        return reduce(np.add, (k._slope(Z, V, B) for k in self._parts()))

    def _slope_slope(self, Z: Array, U: Array, B: Array, V: Array) -> Array:
        return reduce(np.add, (k._slope_slope(Z, U, B, V) for k in self._parts()))

    def _curve(self, Z: Array, U: Array, V: Array, B: Array) -> Array:
        return reduce(np.add, (k._curve(Z, U, V, B) for k in self._parts()))

    def _derivative_bound(self, order: int, reach: Array) -> Array:
        # The squared norm of a combination of k_x is linear in k.
        return reduce(np.hypot, (k._derivative_bound(order, reach) for k in self._parts()))

    def _displacement_bound(self, radius: Array, reach: Array) -> Array:
        return reduce(np.hypot, (k._displacement_bound(radius, reach) for k in self._parts()))

    def __repr__(self) -> str:
        return " + ".join(repr(k) for k in self.kernels)


class Product(_Several):
    r"""The product :math:`\prod_l k_l(x, z)`: what ``k1 * k2`` makes.

    Positive definite if every factor is (Schur).

    Parameters
    ----------
    kernels : list of Kernel
        The factors. Their parameters are reached by class name: ``rbf__gamma``, then ``rbf_2__gamma``.

    Examples
    --------
    >>> from priorsvm.kernels import RBF, Linear
    >>> (RBF(gamma=0.5) * Linear()).definiteness
    'psd'
    """

    @property
    def definiteness(self) -> Definiteness:
        return "psd" if all(part.definiteness == "psd" for part in self._parts()) else "unknown"

    @property
    def has_curve(self) -> bool:
        return all(part.has_slope and part.has_curve for part in self._parts())

    @property
    def has_derivative_bound(self) -> bool:
        return False

    def _matrix(self, A: Array, B: Array) -> Array:
        return reduce(np.multiply, (k._matrix(A, B) for k in self._parts()))

    def _diag(self, A: Array) -> Array:
        return reduce(np.multiply, (k._diag(A) for k in self._parts()))

    def _of_products(self, G: Array, a: Array, b: Array) -> Array:
        return reduce(np.multiply, (k._of_products(G.copy(), a, b) for k in self._parts()))

    def _slope(self, Z: Array, V: Array, B: Array) -> Array:
        K = np.ones(())
        K_v = np.zeros(())
        for k in self._parts():
            f = k._matrix(Z, B)
            f_v = k._slope(Z, V, B)
            K, K_v = K * f, K_v * f + K * f_v
        return K_v

    def _slope_slope(self, Z: Array, U: Array, B: Array, V: Array) -> Array:
        K = np.ones(())
        K_u = np.zeros(())
        K_v = np.zeros(())
        K_uv = np.zeros(())
        for k in self._parts():
            f = k._matrix(Z, B)
            f_u = k._slope(Z, U, B)
            f_uv = k._slope_slope(Z, U, B, V)
            # A kernel with mixed derivatives is symmetric, so ∂_v in the second argument is this.
            f_v = k._slope(B, V, Z).T
            K_uv = K_uv * f + K_u * f_v + K_v * f_u + K * f_uv
            K, K_u, K_v = K * f, K_u * f + K * f_u, K_v * f + K * f_v
        return K_uv

    def _curve(self, Z: Array, U: Array, V: Array, B: Array) -> Array:
        K = np.ones(())
        K_u = np.zeros(())
        K_v = np.zeros(())
        K_uv = np.zeros(())
        for k in self._parts():
            f = k._matrix(Z, B)
            f_u = k._slope(Z, U, B)
            f_v = k._slope(Z, V, B)
            K_uv = K_uv * f + K_u * f_v + K_v * f_u + K * k._curve(Z, U, V, B)
            K, K_u, K_v = K * f, K_u * f + K * f_u, K_v * f + K * f_v
        return K_uv

    def __repr__(self) -> str:
        return " * ".join(_as_factor(k) for k in self.kernels)


class Scaled(_Combination):
    r"""The multiple :math:`a\, k(x, z)`: what ``a * k`` makes.

    As definite as ``kernel`` for a > 0; the negative of a definite kernel is indefinite.

    Parameters
    ----------
    kernel : Kernel
    factor : float
        The number a. ``get_params`` and ``set_params`` reach it next to the kernel's own parameters.

    Examples
    --------
    >>> from priorsvm.kernels import RBF
    >>> k = 2 * RBF(gamma=0.5)
    >>> k.set_params(gamma=0.1, factor=3.0)
    3.0 * RBF(gamma=0.1)
    """

    def __init__(self, kernel: Kernel, factor: float) -> None:
        self.kernel = kernel
        self.factor = factor

    def __mul__(self, other: object) -> Kernel:
        product = super().__mul__(other)
        if isinstance(product, Scaled):
            return Scaled(clone(self.kernel), self.factor * product.factor)
        return product

    def _parts(self) -> list[Kernel]:
        return [_kernel(self.kernel, self)]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        inner = _kernel(self.kernel, self).get_params() if deep else {}
        return inner | {"kernel": self.kernel, "factor": self.factor}

    def set_params(self, **params: Any) -> Self:
        self.kernel = params.pop("kernel", self.kernel)
        self.factor = params.pop("factor", self.factor)
        self.kernel.set_params(**params)
        return self

    def resolved(self, X: ArrayLike, weight: Array | None = None) -> Self:
        self._check()
        return type(self)(self.kernel.resolved(X, weight), self.factor)

    @property
    def plain(self) -> Self:
        return type(self)(self.kernel.plain, self.factor)

    @property
    def double(self) -> Self:
        return type(self)(self.kernel.double, self.factor)

    @property
    def definiteness(self) -> Definiteness:
        self._check()
        if self.factor == 0:
            return "psd"
        inner = self.kernel.definiteness
        if self.factor > 0:
            return inner
        return "indefinite" if inner in ("psd", "cpd") else "unknown"

    @property
    def falls_with_distance(self) -> bool:
        self._check()
        return self.factor > 0 and self.kernel.falls_with_distance

    @property
    def has_derivative_bound(self) -> bool:
        self._check()
        return self.factor >= 0 and super().has_derivative_bound  # a negative multiple has no norm to bound

    def _check(self) -> None:
        self._expect(is_number(self.factor), "factor", self.factor, "a finite number")
        super()._check()

    def _matrix(self, A: Array, B: Array) -> Array:
        return self.factor * self.kernel._matrix(A, B)

    def _diag(self, A: Array) -> Array:
        return self.factor * self.kernel._diag(A)

    def _of_products(self, G: Array, a: Array, b: Array) -> Array:
        return self.factor * self.kernel._of_products(G, a, b)

    def _slope(self, Z: Array, V: Array, B: Array) -> Array:
        return self.factor * self.kernel._slope(Z, V, B)

    def _slope_slope(self, Z: Array, U: Array, B: Array, V: Array) -> Array:
        return self.factor * self.kernel._slope_slope(Z, U, B, V)

    def _curve(self, Z: Array, U: Array, V: Array, B: Array) -> Array:
        return self.factor * self.kernel._curve(Z, U, V, B)

    def _derivative_bound(self, order: int, reach: Array) -> Array:
        return math.sqrt(self.factor) * self.kernel._derivative_bound(order, reach)

    def _displacement_bound(self, radius: Array, reach: Array) -> Array:
        return math.sqrt(self.factor) * self.kernel._displacement_bound(radius, reach)

    def __repr__(self) -> str:
        return f"{self.factor!r} * {_as_factor(self.kernel)}"


class FromCallable(Kernel):
    r"""A function of two matrices as a kernel: what ``kernel=function`` means.

    .. math:: K_{ij} = k(a_i, b_j) = \mathrm{function}(A, B)_{ij}

    for rows :math:`a_i` of A and :math:`b_j` of B. Nothing is known of its definiteness, and it has no slope.

    Parameters
    ----------
    function : callable
        ``function(A, B)`` with A of shape (n, d) and B of shape (m, d) returns the (n, m) matrix.

    Examples
    --------
    >>> from priorsvm.kernels import FromCallable
    >>> k = FromCallable(lambda A, B: (A @ B.T) ** 2)
    >>> k([[1.0, 2.0]], [[3.0, 0.0], [0.0, 1.0]])
    array([[9., 4.]])
    """

    def __init__(self, function: Callable[[Array, Array], Array]) -> None:
        self.function = function

    def __repr__(self) -> str:
        return f"FromCallable({getattr(self.function, '__name__', type(self.function).__name__)})"

    def _check(self) -> None:
        if not callable(self.function):
            raise InvalidType(
                f"FromCallable: function is {self.function!r}; expected a function of two matrices."
            )

    def _matrix(self, A: Array, B: Array) -> Array:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        contract = (
            f"The kernel function {name!r} is given matrices of shape {A.shape} and {B.shape} and must "
            f"return one number per pair of rows, shape {(len(A), len(B))}, as A @ B.T does. A function "
            "g(x, z) of two vectors becomes one of matrices by "
            "lambda A, B: np.array([[g(a, b) for b in B] for a in A])."
        )
        try:
            K = np.asarray(self.function(A, B), dtype=float)
        except Exception as error:
            error.add_note(contract)
            raise
        if K.shape != (len(A), len(B)):
            raise InvalidInput(f"{contract} It returned shape {K.shape}.")
        if not np.isfinite(K).all():
            bad = np.count_nonzero(~np.isfinite(K))
            raise InvalidInput(f"The kernel function {name!r} returned {bad} values that are not finite.")
        return K


def resolve_kernel(
    kernel: Kernel | str | Callable[[Array, Array], Array],
    n_features: int,
    X: ArrayLike | None = None,
    weight: Array | None = None,
) -> Kernel:
    """The kernel that is meant by an object, a name or a function.

    Parameters
    ----------
    kernel : Kernel, str or callable
        A name means the kernel with the defaults of ``sklearn.svm.SVC`` (``"linear"``, ``"poly"`` or
        ``"polynomial"``, ``"rbf"``, ``"sigmoid"``) or of ``sklearn.metrics.pairwise`` (``"laplacian"``,
        ``"chi2"``, ``"additive_chi2"``, ``"cosine"``). A function of two matrices is wrapped in
        :class:`FromCallable`.
    n_features : int
        Width of the rows; answers ``gamma="auto"`` where there is no ``X``.
    X : array of shape (n, n_features), optional
        Training rows; answer ``gamma="scale"``, which stays a word without them.
    weight : array of shape (n,), optional
        How many times each of them counts.

    Returns
    -------
    Kernel
        A copy, its parameters checked.

    Examples
    --------
    >>> from priorsvm.kernels import resolve_kernel
    >>> resolve_kernel("rbf", 2, [[0.0, 2.0], [2.0, 0.0]])
    RBF(gamma=0.5)
    """
    # The named kernels derive from this module's Kernel.
    from priorsvm.kernels.standard import NAMED

    if isinstance(kernel, str):
        if kernel not in NAMED:
            hint = " Give a function of two matrices, or a Kernel." if kernel == "precomputed" else ""
            raise InvalidInput(f"Unknown kernel {kernel!r}; {one_of(NAMED, kernel)}{hint}")
        kernel = NAMED[kernel]()
    elif isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise InvalidType(f"kernel is the class {kernel.__name__}; write {kernel.__name__}().")
    elif not isinstance(kernel, Kernel):
        if not callable(kernel):
            raise InvalidType(
                f"kernel is {kernel!r}; expected a Kernel such as RBF(), a name such as 'rbf', "
                "or a function of two matrices."
            )
        kernel = FromCallable(kernel)
    return kernel.resolved(np.empty((0, n_features)) if X is None else X, weight)


def diagonal(matrix: Callable[[Array, Array], Array], A: Array) -> Array:
    """The diagonal of a matrix of pairs of rows."""
    # Small blocks along the diagonal: the (n, n) matrix may not fit in memory.
    blocks = (A[rows] for rows in gen_batches(len(A), 64))
    return np.concatenate([np.diagonal(matrix(block, block)) for block in blocks])


def one_of(names: Collection[str], given: object) -> str:
    """The end of a message about a name that is none of these."""
    return f"expected one of {', '.join(map(repr, names))}.{did_you_mean(given, names)}"


def _kernel(part: object, owner: Kernel) -> Kernel:
    if not isinstance(part, Kernel):
        raise InvalidType(f"{type(owner).__name__}: {part!r} is not a Kernel; expected one such as RBF().")
    return part


def _members(kernel: Kernel, kind: type[_Several]) -> list[Kernel]:
    """The parts of a sum or product, or the kernel alone: so that the lists stay flat."""
    return kernel._parts() if isinstance(kernel, kind) else [kernel]


def _snake_case(kernel: Kernel) -> str:
    if isinstance(kernel, Scaled):
        return _snake_case(kernel.kernel)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(kernel).__name__).lower()


def _as_factor(kernel: Kernel) -> str:
    return f"({kernel!r})" if isinstance(kernel, Sum) else repr(kernel)
