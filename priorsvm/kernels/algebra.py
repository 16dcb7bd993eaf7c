"""Sums, products and multiples of kernels."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from .._utils.arrays import Array
from .._utils.checks import is_number
from ..errors import InvalidInput
from .base import Definiteness, Dependence, Kernel, require_kernel


class Combination(Kernel):
    """Base class of kernels made of kernels, with the capabilities that all parts have."""

    def _parts(self) -> list[Kernel]:
        raise NotImplementedError

    @property
    def takes_sets(self) -> bool:  # type: ignore[override]
        return any(part.takes_sets for part in self._parts())

    @property
    def encodes(self) -> bool:  # type: ignore[override]
        return any(part.encodes for part in self._parts())

    @property
    def depends_on(self) -> Dependence:
        dependences = {part.depends_on for part in self._parts()}
        if "entries" in dependences:
            return "entries"
        return "inner" if "inner" in dependences else "distance"

    @property
    def has_products(self) -> bool:
        return all(part.has_products for part in self._parts())

    @property
    def has_slope(self) -> bool:
        return all(part.has_slope for part in self._parts())

    @property
    def has_slope_everywhere(self) -> bool:
        return all(part.has_slope_everywhere for part in self._parts())

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
    def needs_bias(self) -> bool:
        return any(part.needs_bias for part in self._parts())

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
            raise InvalidInput(
                f"{self!r} combines a kernel between sets of vectors with a kernel between rows. Use kernels "
                "of one kind."
            )

    def _rows(self, X: ArrayLike, name: str) -> Array:
        rows: Any = X
        for part in self._parts():
            rows = part._rows(rows, name)
        return rows


class _KernelList(Combination):
    """Base class of sums and products; ``set_params`` names the parts ``rbf``, ``linear``, ``rbf_2``."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self.kernels = kernels

    @classmethod
    def joined(cls, *kernels: Kernel) -> Self:
        """Return the combination of copies of kernels, in a flat list.

        Parameters
        ----------
        *kernels : Kernel
            Terms or factors. The parts of a sum become terms of a sum, the parts of a product factors of a
            product.

        Returns
        -------
        Sum or Product
        """
        parts = [kernel._parts() if isinstance(kernel, cls) else [kernel] for kernel in kernels]
        return cls([clone(part) for several in parts for part in several])

    def _parts(self) -> list[Kernel]:
        if not self.kernels:
            raise InvalidInput(f"{type(self).__name__}: kernels is empty; expected at least one kernel.")
        return [require_kernel(part, self) for part in self.kernels]

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
        # First the list, then parts replaced by name; scikit-learn sets the parameters of the parts.
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


class Sum(_KernelList):
    r"""Sum of kernels :math:`k(x, z) = \sum_l k_l(x, z)`, written ``k1 + k2``.

    The sum is positive definite if every term is. It is conditionally positive definite if every term is
    positive definite or conditionally positive definite.

    Parameters
    ----------
    kernels : list of Kernel
        The terms. ``set_params`` names their parameters by class: ``rbf__gamma``, then ``rbf_2__gamma``.

    See Also
    --------
    Product : Product of kernels.
    Scaled : Multiple of a kernel.

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

    def _towards(self, B: Array) -> Callable[[Array], Array]:
        parts = [k._towards(B) for k in self._parts()]
        return lambda A: reduce(np.add, (part(A) for part in parts))

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

    def _values_and_gradients(self, Z: Array, B: Array, W: Array) -> tuple[Array, Array]:
        return _totals(k._values_and_gradients(Z, B, W) for k in self._parts())

    def _slopes_and_gradients(self, Z: Array, V: Array, B: Array, w: Array) -> tuple[Array, Array]:
        return _totals(k._slopes_and_gradients(Z, V, B, w) for k in self._parts())

    def _of_slopes(self, Z: Array, V: Array | None, B: Array, U: Array, w: Array) -> tuple[Array, Array]:
        return _totals(k._of_slopes(Z, V, B, U, w) for k in self._parts())

    def _derivative_bound(self, order: int, reach: Array) -> Array:
        # The squared norm of a linear combination of functions k_x is linear in k.
        return reduce(np.hypot, (k._derivative_bound(order, reach) for k in self._parts()))

    def _displacement_bound(self, radius: Array, reach: Array) -> Array:
        return reduce(np.hypot, (k._displacement_bound(radius, reach) for k in self._parts()))

    def __repr__(self) -> str:
        return " + ".join(repr(k) for k in self.kernels)


class Product(_KernelList):
    r"""Product of kernels :math:`k(x, z) = \prod_l k_l(x, z)`, written ``k1 * k2``.

    The product is positive definite if every factor is (Schur's product theorem).

    Parameters
    ----------
    kernels : list of Kernel
        The factors. ``set_params`` names their parameters by class: ``rbf__gamma``, then ``rbf_2__gamma``.

    See Also
    --------
    Sum : Sum of kernels.
    Scaled : Multiple of a kernel.

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

    def _towards(self, B: Array) -> Callable[[Array], Array]:
        parts = [k._towards(B) for k in self._parts()]
        return lambda A: reduce(np.multiply, (part(A) for part in parts))

    def _values_and_gradients(self, Z: Array, B: Array, W: Array) -> tuple[Array, Array]:
        parts = self._parts()
        matrices = [k._matrix(Z, B) for k in parts]
        values = np.zeros(len(Z))
        gradients = np.zeros(Z.shape)
        for i, k in enumerate(parts):
            rest = reduce(np.multiply, (K for j, K in enumerate(matrices) if j != i), W)
            values, gradient = k._values_and_gradients(Z, B, rest)
            gradients += gradient
        return values, gradients

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
            K_v = K_v * f + K * f_v
            K = K * f
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
            # A kernel with mixed derivatives is symmetric: f_v is the derivative in the second argument.
            f_v = k._slope(B, V, Z).T
            K_uv = K_uv * f + K_u * f_v + K_v * f_u + K * f_uv
            K_u = K_u * f + K * f_u
            K_v = K_v * f + K * f_v
            K = K * f
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
            K_u = K_u * f + K * f_u
            K_v = K_v * f + K * f_v
            K = K * f
        return K_uv

    def __repr__(self) -> str:
        return " * ".join(_as_factor(k) for k in self.kernels)


class Scaled(Combination):
    r"""Multiple :math:`a\, k(x, z)` of a kernel, written ``a * k``.

    For a > 0 the multiple is as definite as ``kernel``. A negative multiple of a positive definite kernel is
    indefinite.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    factor : float
        The number a. ``set_params`` sets it next to the parameters of the kernel.

    See Also
    --------
    Sum : Sum of kernels.
    Product : Product of kernels.

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
        return [require_kernel(self.kernel, self)]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        inner = require_kernel(self.kernel, self).get_params() if deep else {}
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
        # A negative multiple has no norm.
        return self.factor >= 0 and super().has_derivative_bound

    def _check(self) -> None:
        self._expect(is_number(self.factor), "factor", self.factor, "a finite number")
        super()._check()

    def _matrix(self, A: Array, B: Array) -> Array:
        return self.factor * self.kernel._matrix(A, B)

    def _towards(self, B: Array) -> Callable[[Array], Array]:
        matrix = self.kernel._towards(B)
        return lambda A: self.factor * matrix(A)

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

    def _values_and_gradients(self, Z: Array, B: Array, W: Array) -> tuple[Array, Array]:
        return self.kernel._values_and_gradients(Z, B, self.factor * W)

    def _slopes_and_gradients(self, Z: Array, V: Array, B: Array, w: Array) -> tuple[Array, Array]:
        return self.kernel._slopes_and_gradients(Z, V, B, self.factor * w)

    def _of_slopes(self, Z: Array, V: Array | None, B: Array, U: Array, w: Array) -> tuple[Array, Array]:
        return self.kernel._of_slopes(Z, V, B, U, self.factor * w)

    def _derivative_bound(self, order: int, reach: Array) -> Array:
        return math.sqrt(self.factor) * self.kernel._derivative_bound(order, reach)

    def _displacement_bound(self, radius: Array, reach: Array) -> Array:
        return math.sqrt(self.factor) * self.kernel._displacement_bound(radius, reach)

    def __repr__(self) -> str:
        return f"{self.factor!r} * {_as_factor(self.kernel)}"


def _totals(pairs: Iterable[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the sums of the first entries and of the second entries of pairs."""
    first, second = zip(*pairs, strict=True)
    return sum(first), sum(second)


def _snake_case(kernel: Kernel) -> str:
    if isinstance(kernel, Scaled):
        return _snake_case(kernel.kernel)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(kernel).__name__).lower()


def _as_factor(kernel: Kernel) -> str:
    return f"({kernel!r})" if isinstance(kernel, Sum) else repr(kernel)
