r"""Kernels: similarities :math:`k(x, z)` of two rows.

A kernel returns matrices: ``k(A, B)[i, j]`` is :math:`k(a_i, b_j)`. Its properties describe it before any
matrix is computed. ``definiteness`` states whether it is positive definite, and ``depends_on`` which part of
the rows it depends on. ``has_slope``, ``has_slope_slope`` and ``has_curve`` state which derivatives it has,
and ``has_derivative_bound`` whether they are bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import gen_batches

from .._utils.arrays import Array, unit_directions
from .._utils.messages import readable
from ..errors import InvalidInput, InvalidType, MissingCapability

Definiteness = Literal["psd", "cpd", "indefinite", "unknown"]
Dependence = Literal["distance", "inner", "entries"]


class Kernel(BaseEstimator):
    r"""Base class of kernels :math:`k(x, z)` between two rows.

    The constructor stores its arguments, which are checked when the kernel is used. A kernel has no fitted
    state: a parameter that depends on the training rows (``gamma="scale"``) becomes a number in
    :meth:`resolved`. Kernels add, multiply and scale: ``k1 + k2``, ``k1 * k2``, ``0.5 * k``.

    A kernel of your own defines ``_matrix(A, B)``, which receives checked float arrays of equal width. All
    other hooks are optional: ``_diag``, the derivatives ``_slope``, ``_slope_slope`` and ``_curve``, and
    ``_derivative_bound`` of a positive definite kernel. ``_values_and_gradients`` and
    ``_slopes_and_gradients`` save time if one matrix gives the derivatives in all columns. ``_check``
    checks the parameters, ``_rows`` converts samples that are not rows of a matrix, and ``definiteness``
    states the definiteness.

    See Also
    --------
    priorsvm.kernels.Spectral : Base class of kernels that are not positive definite.
    priorsvm.kernels.SetKernel : Base class of kernels between sets of vectors.

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

    # Without this NumPy would treat `np.float64(2) * kernel` as an array operation.
    __array_ufunc__ = None

    # True if a sample is a set of vectors instead of a row.
    takes_sets: bool = False

    # True if the rows of a model encode its samples, so that they have other columns than X.
    encodes: bool = False

    def __call__(self, A: ArrayLike, B: ArrayLike | None = None) -> Array:
        """Return the matrix of :math:`k(a_i, b_j)`.

        Parameters
        ----------
        A : array of shape (n, d)
            First arguments.
        B : array of shape (m, d) or None, default=None
            Second arguments; None means ``A``.

        Returns
        -------
        array of shape (n, m)
        """
        self._check()
        A = self._rows(A, "A")
        B = A if B is None else self._like(B, "B", A, "A")
        return self._matrix(A, B) if len(A) and len(B) else np.zeros((len(A), len(B)))

    def diag(self, A: ArrayLike) -> Array:
        """Return the values :math:`k(a_i, a_i)`.

        Parameters
        ----------
        A : array of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        self._check()
        A = self._rows(A, "A")
        return self._diag(A) if len(A) else np.zeros(0)

    def slope(self, Z: ArrayLike, V: ArrayLike, B: ArrayLike) -> Array:
        r"""Return the directional derivatives :math:`\nabla_z k(z_i, b_j)^\top v_i`.

        Parameters
        ----------
        Z : array of shape (n, d)
            First arguments, at which the kernel is differentiated.
        V : array of shape (n, d)
            Direction at each row of ``Z``.
        B : array of shape (m, d)
            Second arguments.

        Returns
        -------
        array of shape (n, m)

        Raises
        ------
        MissingCapability
            If the kernel has no derivative.
        """
        self._check()
        self._require("slope")
        Z = self._rows(Z, "Z")
        V = self._directions(V, "V", Z, "Z")
        B = self._like(B, "B", Z, "Z")
        return self._slope(Z, V, B) if len(Z) and len(B) else np.zeros((len(Z), len(B)))

    def slope_slope(self, Z: ArrayLike, U: ArrayLike, B: ArrayLike, V: ArrayLike) -> Array:
        r"""Return the mixed derivatives :math:`u_i^\top \nabla_z \nabla_b k(z_i, b_j)\, v_j`.

        They are the inner products :math:`\langle \partial_u \Phi(z_i), \partial_v \Phi(b_j) \rangle`
        of derivatives in feature space.

        Parameters
        ----------
        Z, U : arrays of shape (n, d)
            First arguments, and the direction at each row.
        B, V : arrays of shape (m, d)
            Second arguments, and the direction at each row.

        Returns
        -------
        array of shape (n, m)

        Raises
        ------
        MissingCapability
            If the kernel has no mixed derivative.
        """
        self._check()
        self._require("slope_slope")
        Z = self._rows(Z, "Z")
        U = self._directions(U, "U", Z, "Z")
        B = self._like(B, "B", Z, "Z")
        V = self._directions(V, "V", B, "B")
        return self._slope_slope(Z, U, B, V) if len(Z) and len(B) else np.zeros((len(Z), len(B)))

    def curve(self, Z: ArrayLike, U: ArrayLike, V: ArrayLike, B: ArrayLike) -> Array:
        r"""Return the second derivatives :math:`u_i^\top \nabla_z^2 k(z_i, b_j)\, v_i`.

        Parameters
        ----------
        Z : array of shape (n, d)
            First arguments, at which the kernel is differentiated.
        U, V : arrays of shape (n, d)
            The two directions at each row of ``Z``.
        B : array of shape (m, d)
            Second arguments.

        Returns
        -------
        array of shape (n, m)

        Raises
        ------
        MissingCapability
            If the kernel has no second derivative.
        """
        self._check()
        self._require("curve")
        Z = self._rows(Z, "Z")
        U = self._directions(U, "U", Z, "Z")
        V = self._directions(V, "V", Z, "Z")
        B = self._like(B, "B", Z, "Z")
        return self._curve(Z, U, V, B) if len(Z) and len(B) else np.zeros((len(Z), len(B)))

    def values_and_gradients(self, Z: ArrayLike, B: ArrayLike, weights: ArrayLike) -> tuple[Array, Array]:
        r"""Return the values and gradients of :math:`g(z) = \sum_j w_j k(z, b_j)`.

        Parameters
        ----------
        Z : array of shape (n, d)
            Points at which g is evaluated.
        B : array of shape (m, d)
            Second arguments.
        weights : array of shape (m,)
            The weights w.

        Returns
        -------
        values : array of shape (n,)
        gradients : array of shape (n, d)

        Raises
        ------
        MissingCapability
            If the kernel has no derivative.
        """
        self._check()
        self._require("slope")
        Z = self._rows(Z, "Z")
        B = self._like(B, "B", Z, "Z")
        if not (len(Z) and len(B)):
            return np.zeros(len(Z)), np.zeros(Z.shape)
        return self._values_and_gradients(Z, B, np.asarray(weights, float)[None])

    def slopes_and_gradients(
        self, Z: ArrayLike, V: ArrayLike, B: ArrayLike, weights: ArrayLike
    ) -> tuple[Array, Array]:
        r"""Return the slopes :math:`\nabla g(z_i)^\top v_i` of the sum g, and their gradients in z.

        Parameters
        ----------
        Z, V : arrays of shape (n, d)
            Points, and the direction at each point.
        B : array of shape (m, d)
            Second arguments.
        weights : array of shape (m,)
            The weights w of :math:`g(z) = \sum_j w_j k(z, b_j)`.

        Returns
        -------
        slopes : array of shape (n,)
        gradients : array of shape (n, d)

        Raises
        ------
        MissingCapability
            If the kernel has no second derivative.
        """
        self._check()
        self._require("slope")
        self._require("curve")
        Z = self._rows(Z, "Z")
        V = self._directions(V, "V", Z, "Z")
        B = self._like(B, "B", Z, "Z")
        if not (len(Z) and len(B)):
            return np.zeros(len(Z)), np.zeros(Z.shape)
        return self._slopes_and_gradients(Z, V, B, np.asarray(weights, float))

    def derivative_bound(self, order: int, reach: ArrayLike) -> Array:
        r"""Return upper bounds on the norm of derivatives of :math:`k_x = k(x, \cdot)`.

        The bounds :math:`D_i` satisfy :math:`\|\partial_{u_1} \cdots \partial_{u_n} k_x\|_H \le D_i` for all
        unit vectors :math:`u` and all :math:`\|x\| \le r_i`. There, the n-th derivatives of a function g are
        at most :math:`D_i \|g\|_H`.

        Parameters
        ----------
        order : int
            The order n, at least 1.
        reach : array of shape (m,)
            The distances :math:`r_i` from the origin.

        Returns
        -------
        array of shape (m,)

        Raises
        ------
        MissingCapability
            If the kernel has no bound on its derivatives.
        """
        self._check()
        self._require("derivative_bound")
        return self._derivative_bound(order, np.asarray(reach, float))

    def displacement_bound(self, radius: ArrayLike, reach: ArrayLike) -> Array:
        r"""Return upper bounds on :math:`\|k_x - k_m\|_H` for :math:`\|x - m\| \le r_i`.

        A function g differs between m and x by at most :math:`\|g\|_H` times the bound.

        Parameters
        ----------
        radius : array of shape (n,)
            The distances :math:`r_i`.
        reach : array of shape (n,)
            Distances of the points m from the origin.

        Returns
        -------
        array of shape (n,)

        Raises
        ------
        MissingCapability
            If the kernel has no bound on its derivatives.
        """
        self._check()
        self._require("derivative_bound")
        return self._displacement_bound(np.asarray(radius, float), np.asarray(reach, float))

    @property
    def definiteness(self) -> Definiteness:
        r"""Definiteness of the matrices :math:`K = k(X, X)`.

        ``"psd"``: positive semidefinite for every X. ``"cpd"``: conditionally positive semidefinite,
        :math:`c^\top K c \ge 0` for every c that sums to zero. ``"indefinite"``: neither for some X.
        ``"unknown"``: nothing is claimed.
        """
        return "unknown"

    @property
    def depends_on(self) -> Dependence:
        r"""Part of two rows that determines the value of the kernel.

        ``"distance"``: :math:`\|x - z\|` alone. ``"inner"``: their inner product and their lengths alone.
        ``"entries"``: nothing is claimed.
        """
        return "entries"

    @property
    def falls_with_distance(self) -> bool:
        r"""Whether the kernel is a decreasing function of :math:`\|x - z\|` alone."""
        return False

    @property
    def plain(self) -> Kernel:
        """Kernel without transformations, which finds support vectors in less time."""
        return self

    @property
    def double(self) -> Kernel:
        """Kernel in double precision, for matrices whose small eigenvalues matter."""
        return self

    @property
    def has_products(self) -> bool:
        """Whether inner products determine the matrix without a loss of digits."""
        return type(self)._of_products is not Kernel._of_products

    @property
    def has_slope(self) -> bool:
        """Whether :meth:`slope` is available."""
        return type(self)._slope is not Kernel._slope

    @property
    def has_slope_everywhere(self) -> bool:
        """Whether :meth:`slope` is a derivative at all rows, equal rows included."""
        return self.has_slope

    @property
    def has_slope_slope(self) -> bool:
        """Whether :meth:`slope_slope` is available, which requires a symmetric kernel."""
        return type(self)._slope_slope is not Kernel._slope_slope

    @property
    def has_curve(self) -> bool:
        """Whether :meth:`curve` is available."""
        return type(self)._curve is not Kernel._curve

    @property
    def has_derivative_bound(self) -> bool:
        """Whether :meth:`derivative_bound` is available."""
        return type(self)._derivative_bound is not Kernel._derivative_bound

    @property
    def needs_bias(self) -> bool:
        """Whether the kernel is well defined only for models whose bias is free."""
        return False

    @property
    def whole(self) -> bool:
        """Whether one large matrix takes much less time than several matrices that cover it."""
        return False

    def resolved(self, X: ArrayLike, weight: Array | None = None) -> Kernel:
        """Return the kernel with every parameter that depends on the training rows computed.

        ``gamma="scale"`` and ``"auto"`` become numbers. Tangents and spectra of training rows are stored.

        Parameters
        ----------
        X : array of shape (n, d)
            Training rows.
        weight : array of shape (n,) or None, default=None
            Number of times each row counts; None means once.

        Returns
        -------
        Kernel
            A copy.
        """
        self._check()
        return clone(self)

    def centred(self, X: ArrayLike, weight: Array | None = None) -> Kernel:
        """Return the kernel with the origin of its feature space at a training row.

        Parameters
        ----------
        X : array of shape (n, d)
            Training rows.
        weight : array of shape (n,) or None, default=None
            Number of times each row counts; None means once.

        Returns
        -------
        Centred
            Positive definite if this kernel is conditionally positive definite.
        """
        from . import Centred

        return Centred(self).resolved(X, weight)

    def libsvm_params(self) -> dict[str, Any] | None:
        """Return the keyword arguments of ``sklearn.svm.SVC`` for which LIBSVM computes this kernel.

        Returns
        -------
        dict or None
            None if LIBSVM does not implement the kernel and requires its matrix.
        """
        return None

    def __repr__(self) -> str:
        return readable(super().__repr__())

    # Sum, Product and Scaled derive from Kernel, as Centred does, so methods take them from the package.

    def __add__(self, other: object) -> Kernel:
        from . import Sum

        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum.joined(self, other)

    def __mul__(self, other: object) -> Kernel:
        from . import Product, Scaled

        if isinstance(other, Kernel):
            return Product.joined(self, other)
        if not isinstance(other, Real) or isinstance(other, bool):
            return NotImplemented
        return Scaled(clone(self), float(other))

    def __rmul__(self, other: object) -> Kernel:
        return self.__mul__(other)

    # Hooks of a kernel. Every array given to them has been checked and has at least one row.
    # A matrix that has to be symmetric is computed with `B is A`.

    def _matrix(self, A: Array, B: Array) -> Array:
        raise NotImplementedError(f"{type(self).__name__} has to define _matrix(A, B).")

    def _towards(self, B: Array) -> Callable[[Array], Array]:
        """Return the function of A that gives ``_matrix(A, B)``."""
        return lambda A: self._matrix(A, B)

    def _diag(self, A: Array) -> Array:
        return diagonal(self._matrix, A)

    def _of_products(self, G: Array, a: Array, b: Array) -> Array:
        """Return the values at inner products G and squared lengths a and b, which broadcast against G.

        The precision is the precision of G, which may be overwritten.
        """
        raise NotImplementedError

    def _slope(self, Z: Array, V: Array, B: Array) -> Array:
        raise NotImplementedError

    def _slope_slope(self, Z: Array, U: Array, B: Array, V: Array) -> Array:
        raise NotImplementedError

    def _curve(self, Z: Array, U: Array, V: Array, B: Array) -> Array:
        raise NotImplementedError

    def _values_and_gradients(self, Z: Array, B: Array, W: Array) -> tuple[Array, Array]:
        """Return the row sums of W times the matrix, and of W times its derivatives in each column of Z.

        W has the shape (n, m) or (1, m). This fallback computes a matrix for each column.
        """
        values = (self._matrix(Z, B) * W).sum(axis=1)
        columns = [(self._slope(Z, E, B) * W).sum(axis=1) for E in unit_directions(Z)]
        return values, np.column_stack(columns)

    def _slopes_and_gradients(self, Z: Array, V: Array, B: Array, w: Array) -> tuple[Array, Array]:
        """Return slopes and their gradients; this fallback computes a matrix for each column."""
        columns = [self._curve(Z, E, V, B) @ w for E in unit_directions(Z)]
        return self._slope(Z, V, B) @ w, np.column_stack(columns)

    def _of_slopes(self, Z: Array, V: Array | None, B: Array, U: Array, w: Array) -> tuple[Array, Array]:
        r"""Return :math:`\sum_j w_j \partial_{u_j} k(z, b_j)`, or its slopes along V, and gradients in z.

        This fallback computes a matrix for each column, and gradients of slopes by central differences.
        """
        if V is None:
            columns = [self._slope_slope(Z, E, B, U) @ w for E in unit_directions(Z)]
            return w @ self._slope(B, U, Z), np.column_stack(columns)
        h = 1e-5 * (1.0 + np.linalg.norm(Z, axis=1, keepdims=True))
        up = [self._slope_slope(Z + h * E, V, B, U) @ w for E in unit_directions(Z)]
        down = [self._slope_slope(Z - h * E, V, B, U) @ w for E in unit_directions(Z)]
        return self._slope_slope(Z, V, B, U) @ w, (np.column_stack(up) - np.column_stack(down)) / (2 * h)

    def _sum(self, B: Array, w: Array, u: Array | None, v: Array | None, dtype: Any) -> Any:
        """Return a sum as :class:`.RBFSum`, or None if the kernel has none."""

    def _derivative_bound(self, order: int, reach: Array) -> Array:
        raise NotImplementedError

    def _displacement_bound(self, radius: Array, reach: Array) -> Array:
        return radius * self._derivative_bound(1, reach + radius)

    def _check(self) -> None:
        """Raise InvalidInput if a parameter has an invalid value."""

    def _rows(self, X: ArrayLike, name: str) -> Array:
        """Return samples in the form that the hooks receive: a finite float array, one row per sample."""
        expected = f"{type(self).__name__}: {name} must be a 2-D array of finite numbers"
        try:
            # In C order BLAS computes A @ A.T by syrk, which is symmetric to the last bit.
            rows = np.asarray(X, dtype=float, order="C")
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{expected}; got {type(X).__name__}.") from error
        if rows.ndim != 2:
            raise InvalidInput(f"{expected}; its shape is {rows.shape}. Pass a single row x as x[None, :].")
        if not np.isfinite(rows).all():
            bad = np.count_nonzero(~np.isfinite(rows))
            raise InvalidInput(f"{expected}; {bad} of its entries are NaN or infinite.")
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
                f"{type(self).__name__}: {name} has shape {directions.shape} and {points} has shape "
                f"{Z.shape}; expected one direction for each row of {points}."
            )
        return directions

    def _require(self, capability: str) -> None:
        if getattr(self, f"has_{capability}"):
            return
        if capability == "derivative_bound":
            available = (
                "Linear(), RBF(), a Polynomial() of whole degree with coef0 >= 0, or a sum or positive "
                "multiple of these"
            )
        else:
            available = "a smooth kernel such as RBF() or Polynomial()"
        raise MissingCapability(
            f"The kernel {self!r} has no {capability}. Use {available}, or a Kernel of your own that defines "
            f"_{capability}."
        )

    def _expect(self, valid: bool, name: str, value: object, expected: str) -> None:
        if not valid:
            raise InvalidInput(f"{type(self).__name__}: {name} is {value!r}; expected {expected}.")


def require_kernel(part: object, owner: Kernel) -> Kernel:
    """Return a part of a kernel, or raise InvalidType if it is not a Kernel."""
    if not isinstance(part, Kernel):
        raise InvalidType(f"{type(owner).__name__}: {part!r} is not a Kernel. Use a kernel such as RBF().")
    return part


def diagonal(matrix: Callable[[Array, Array], Array], A: Array) -> Array:
    """Return the diagonal of a matrix over pairs of rows."""
    # Small blocks along the diagonal: the (n, n) matrix may not fit in memory.
    blocks = (A[rows] for rows in gen_batches(len(A), 64))
    return np.concatenate([np.diagonal(matrix(block, block)) for block in blocks])
