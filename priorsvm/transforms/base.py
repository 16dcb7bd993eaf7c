"""Transform: a family of maps of rows with the identity at θ = 0, and combinations of transforms."""

from __future__ import annotations

import re
from itertools import chain, count, product
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from .._utils.arrays import Array
from .._utils.foreign import NamedParts
from .._utils.messages import readable
from ..errors import InvalidInput
from ..function.memory import refuse_count
from .grids import MOST


class Transform(BaseEstimator):
    r"""Family of maps :math:`T_\theta : R^d \to R^d`, :math:`\theta \in R^q`, with :math:`T_0 x = x`.

    A transform describes changes of a row of X that leave its class unchanged. The identity is θ = 0 for
    every transform, in any unit of the parameters. Rows are in the units of X.

    Derive a class to define a transform of your own. It stores its arguments in ``__init__`` and defines two
    methods:

    - ``_grid()`` returns the parameters of the finite orbit, one row each, in any order.
      :meth:`theta_grid` puts the identity first and removes repeated rows.
    - ``_move(X, theta)`` returns the rows of X transformed by one θ ≠ 0. X is a checked float array and must
      not be modified; θ is a checked vector of length q.

    Four attributes and one method describe special cases:

    - ``finite = False``: the transform has no finite orbit.
    - ``continuous = False``: θ does not vary continuously, so tangents and a span do not exist.
    - ``isometric = True``: the transformations preserve distances, which makes invariant kernels faster.
    - ``tangent_step``: the step of the differences in :meth:`tangents`.
    - :meth:`pulled_back`: for transforms that are affine in x, which makes linear models faster.

    Attributes
    ----------
    tangent_step : float, default=1e-4
        Step h of the central differences (T_h x − T_{−h} x) / 2h in :meth:`tangents`, in the unit of the
        parameter.

    See Also
    --------
    Composition : One transform after another, ``s @ t``.
    Union : One transform or another, ``s | t``.
    FromFunction : Transform given by a Python function.

    Examples
    --------
    >>> import numpy as np
    >>> class Brightness(Transform):
    ...     def __init__(self, change):
    ...         self.change = change
    ...
    ...     def _grid(self):
    ...         return [[-self.change], [self.change]]
    ...
    ...     def _move(self, X, theta):
    ...         return X * (1 + theta)
    >>> Brightness(0.5).orbit([[1.0, 2.0]])
    array([[[1. , 2. ], [0.5, 1. ], [1.5, 3. ]]])
    >>> Brightness(0.5).tangents([[1.0, 2.0]]).round(6)
    array([[[1., 2.]]])
    """

    tangent_step: float = 1e-4

    @property
    def finite(self) -> bool:
        """Whether the orbit of a row is a finite list."""
        return True

    @property
    def continuous(self) -> bool:
        """Whether θ varies over intervals, so that tangents and a span exist."""
        return True

    @property
    def isometric(self) -> bool:
        r"""Whether the grid preserves distances, :math:`\|T_\theta x - T_\theta z\| = \|x - z\|`.

        For images this refers to images with a border of :attr:`margin` background pixels.
        """
        return False

    @property
    def margin(self) -> int:
        """Width of the background border, in pixels, that keeps transformed images complete."""
        return 0

    @property
    def n_features(self) -> int | None:
        """Number of features of the rows, or None if the transform accepts any number."""
        return None

    @property
    def n_parameters(self) -> int:
        """Number q of parameters."""
        return int(self.theta_grid().shape[1])

    def enlarged(self, margin: int) -> Transform:
        """Return this transform for images that are larger by ``margin`` pixels on every side.

        Parameters
        ----------
        margin : int
            Number of pixels added on every side.

        Returns
        -------
        Transform
            A copy for the larger images.

        Raises
        ------
        InvalidInput
            If the transform is not defined on larger images.
        """
        raise InvalidInput(
            f"{type(self).__name__} cannot transform images with a border of background pixels, which "
            "Translation requires. Combine Translation with Rotation, Zoom, Shear and "
            "Reflection only, or write the combination as one FromFunction."
        )

    def padded(self, X: Array, margin: int) -> Array:
        """Return images with ``margin`` pixels of background on every side.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Images, one per row.
        margin : int
            Number of pixels added on every side.

        Returns
        -------
        ndarray
            The larger images, one per row.
        """
        raise NotImplementedError

    def _grid(self) -> ArrayLike:
        raise NotImplementedError(f"{type(self).__name__} must define _grid().")

    def _move(self, X: Array, theta: Array) -> Array:
        raise NotImplementedError(f"{type(self).__name__} must define _move(X, theta).")

    def validate(self, d: int) -> None:
        """Raise InvalidInput unless the arguments are valid for rows of d features.

        Parameters
        ----------
        d : int
            Number of features.
        """

    def theta_grid(self) -> Array:
        """Return the parameters of the finite orbit.

        Returns
        -------
        ndarray of shape (s, q)
            One θ per row, the identity first, each θ once.

        Raises
        ------
        InvalidInput
            If the transform has no finite orbit.
        """
        if not self.finite:
            name = type(self).__name__
            raise InvalidInput(
                f"{name} has no finite orbit: its transformations cannot be listed. Use a block that treats "
                f"{name} in closed form, or list the relevant transformations with "
                "FromFunction(function, thetas)."
            )
        # -0.0 + 0.0 is 0.0: the grid prints without minus zeros.
        grid = np.asarray(self._grid(), dtype=float) + 0.0
        identity = (0.0,) * grid.shape[1]
        return np.array(list(dict.fromkeys([identity, *map(tuple, grid.tolist())])))

    def parameters(self, d: int) -> Array:
        """Return the parameters of the finite orbit of rows of d features, the identity first.

        Parameters
        ----------
        d : int
            Number of features.

        Returns
        -------
        ndarray of shape (s, q)
            One θ per row; equal to :meth:`theta_grid` unless the list depends on d.
        """
        return self.theta_grid()

    def span(self) -> list[tuple[float, float]]:
        """Return the range of each parameter, over which T_θ x is continuous in θ.

        Returns
        -------
        list of (float, float)
            Lowest and highest value of each parameter.

        Raises
        ------
        InvalidInput
            If the transform is discrete.
        """
        self._require_continuity("span")
        grid = self.theta_grid()
        return list(zip(grid.min(axis=0).tolist(), grid.max(axis=0).tolist(), strict=True))

    def apply(self, X: ArrayLike, theta: ArrayLike) -> Array:
        r"""Return :math:`T_\theta x` for every row x of X.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to transform.
        theta : array-like of shape (q,), or float if q is 1
            Any finite value, on the grid or not.

        Returns
        -------
        ndarray of shape (n, d)
            A new array, equal to X at θ = 0.
        """
        X = self._check_rows(X)
        theta = self._check_theta(theta)
        return self._move(X, theta) if theta.any() else X.copy()

    def orbit(self, X: ArrayLike) -> Array:
        """Return every row transformed by each θ of the grid.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to transform.

        Returns
        -------
        ndarray of shape (n, s, d)
            The orbits; ``orbit(X)[:, 0]`` is equal to X.
        """
        X = self._check_rows(X)
        grid = self.theta_grid()
        orbits = np.empty((len(X), len(grid), X.shape[1]))
        orbits[:, 0] = X
        for j, theta in enumerate(grid[1:], start=1):
            orbits[:, j] = self._move(X, theta)
        return orbits

    def tangents(self, X: ArrayLike) -> Array:
        r"""Return the derivatives :math:`\partial T_\theta x / \partial \theta_k` at θ = 0.

        The derivatives are per unit of the parameter: a tangent per degree is shorter than one per radian.
        Unless a transform has a closed form, they are central differences with step ``tangent_step``.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows at which to differentiate.

        Returns
        -------
        ndarray of shape (n, q, d)
            The tangents of every row.

        Raises
        ------
        InvalidInput
            If the transform is discrete.
        """
        self._require_continuity("tangents")
        X = self._check_rows(X)
        q = self.n_parameters
        h = self.tangent_step
        slopes = np.empty((len(X), q, X.shape[1]))
        for k, theta in enumerate(h * np.eye(q)):
            slopes[:, k] = (self._move(X, theta) - self._move(X, -theta)) / (2 * h)
        return slopes

    def pulled_back(self, W: Array, thetas: Array) -> tuple[Array, Array] | None:
        r"""Return linear functions of transformed rows as affine functions of the rows.

        .. math:: w_k^\top T_{\theta_k} x = v_k^\top x + o_k

        Parameters
        ----------
        W : ndarray of shape (k, d)
            The vectors :math:`w_k`.
        thetas : ndarray of shape (k, q)
            One θ for each vector.

        Returns
        -------
        tuple of ndarrays of shapes (k, d) and (k,), or None
            The :math:`v_k` and :math:`o_k`; None unless the transform is affine in x.
        """
        return None

    def __repr__(self) -> str:
        return readable(super().__repr__())

    def __matmul__(self, other: Transform) -> Composition:
        """Return ``s @ t``: first t, then s; see :class:`Composition`."""
        return Composition._join(self, other) if isinstance(other, Transform) else NotImplemented

    def __or__(self, other: Transform) -> Union:
        """Return ``s | t``: either s or t; see :class:`Union`."""
        return Union._join(self, other) if isinstance(other, Transform) else NotImplemented

    def _require_continuity(self, what: str) -> None:
        if not self.continuous:
            raise InvalidInput(
                f"{type(self).__name__} is discrete and has no {what}. Use its orbit, or a continuous "
                "transform."
            )

    def _check_rows(self, X: ArrayLike) -> Array:
        name = type(self).__name__
        try:
            rows = np.asarray(X, dtype=float)
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"{name} requires X as a dense array of numbers, got {type(X).__name__}: {error}"
            ) from error
        if rows.ndim != 2:
            raise InvalidInput(
                f"{name} requires X of shape (n, d), got shape {rows.shape}. For a single row x give "
                "x.reshape(1, -1)."
            )
        if not np.isfinite(rows).all():
            i, j = np.argwhere(~np.isfinite(rows))[0]
            raise InvalidInput(
                f"{name} requires finite X, but X[{i}, {j}] is {rows[i, j]}. Impute the value or remove the "
                "row."
            )
        self.validate(rows.shape[1])
        return rows

    def _check_theta(self, theta: ArrayLike) -> Array:
        try:
            vector = np.atleast_1d(np.asarray(theta, dtype=float))
        except (TypeError, ValueError):
            vector = np.array([np.nan])
        q = self.n_parameters
        if vector.shape != (q,) or not np.isfinite(vector).all():
            raise InvalidInput(
                f"{type(self).__name__}.apply: theta must have {q} finite number{'' if q == 1 else 's'}, one "
                f"per parameter, got {theta!r}. theta_grid() lists valid values."
            )
        return vector


class _Combination(Transform, NamedParts):
    """Several named transforms, whose parameters are concatenated to one θ."""

    def __init__(self, transforms: list[tuple[str, Transform]]):
        self.transforms = transforms

    @classmethod
    def _join(cls, left: Transform, right: Transform) -> Self:
        named: dict[str, Transform] = {}
        for name, transform in chain(cls._parts(left), cls._parts(right)):
            free = (key for key in chain([name], (f"{name}_{k}" for k in count(2))) if key not in named)
            # A copy, so that the parameters of the two factors of t @ t can be set separately.
            named[next(free)] = clone(transform)
        return cls(list(named.items()))

    @classmethod
    def _parts(cls, transform: Transform) -> list[tuple[str, Transform]]:
        if isinstance(transform, cls):
            return transform.transforms
        return [(re.sub(r"(?<!^)(?=[A-Z])", "_", type(transform).__name__).lower(), transform)]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return self._get_params("transforms", deep=deep)

    def set_params(self, **params: Any) -> Self:
        self._set_params("transforms", **params)
        return self

    @property
    def _members(self) -> list[Transform]:
        pairs = self.transforms
        if not (
            isinstance(pairs, list)
            and pairs
            and all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs)
            and all(isinstance(name, str) and isinstance(member, Transform) for name, member in pairs)
            and len({name for name, _ in pairs}) == len(pairs)
        ):
            sign = "@" if isinstance(self, Composition) else "|"
            raise InvalidInput(
                f"{type(self).__name__}: transforms must be a list of (name, transform) with distinct names, "
                f"got {pairs!r}. Write s {sign} t to create the list."
            )
        return [member for _, member in pairs]

    @property
    def finite(self) -> bool:
        """Whether the orbit of every member is a finite list."""
        return all(member.finite for member in self._members)

    @property
    def continuous(self) -> bool:
        """Whether every member is continuous."""
        return all(member.continuous for member in self._members)

    @property
    def isometric(self) -> bool:
        """Whether every member preserves distances."""
        return all(member.isometric for member in self._members)

    def enlarged(self, margin: int) -> Self:
        return type(self)([(name, member.enlarged(margin)) for name, member in self.transforms])

    def padded(self, X: Array, margin: int) -> Array:
        first, *others = [member.padded(X, margin) for member in self._members if member.margin]
        if not all(np.array_equal(first, other) for other in others):
            raise InvalidInput(
                f"{type(self).__name__}: the members have different backgrounds. Give all members the same "
                "shape and fill."
            )
        return first

    @property
    def n_features(self) -> int | None:
        """Number of features that the first member with a fixed number requires."""
        return next((m.n_features for m in self._members if m.n_features is not None), None)

    @property
    def n_parameters(self) -> int:
        """Total number of parameters of the members."""
        return sum(member.n_parameters for member in self._members)

    def validate(self, d: int) -> None:
        for member in self._members:
            member.validate(d)

    def span(self) -> list[tuple[float, float]]:
        return [interval for member in self._members for interval in member.span()]

    def tangents(self, X: ArrayLike) -> Array:
        # At the identity the order of the transformations has no effect on the derivatives.
        return np.concatenate([member.tangents(X) for member in self._members], axis=1)

    def _split(self, theta: Array) -> list[Array]:
        return np.split(theta, np.cumsum([member.n_parameters for member in self._members])[:-1], axis=-1)


class Composition(_Combination):
    r"""Transforms applied one after another, written ``s @ t``.

    .. math:: (S \circ T)_{(\theta_s, \theta_t)} x = S_{\theta_s}(T_{\theta_t} x)

    As with matrices, the factor on the right acts first. θ contains the parameters from left to right. The
    orbit is the product of the orbits of the factors. ``(r @ s) @ t`` and ``r @ (s @ t)`` have the same three
    members. Use it if several transformations can occur together.

    Parameters
    ----------
    transforms : list of (str, Transform)
        The factors from left to right. ``@`` copies the factors and names each after its class, so that
        ``set_params(rotation__degrees=20)`` works. A second rotation is named ``rotation_2``.

    See Also
    --------
    Union : One transform or another, ``s | t``.

    Examples
    --------
    >>> from priorsvm.transforms import Shift
    >>> both = Shift([1.0, 0.0]) @ Shift([0.0, 5.0])
    >>> both.apply([[0.0, 0.0]], [1, -1])
    array([[ 1., -5.]])
    >>> both.orbit([[0.0, 0.0]]).shape
    (1, 9, 2)
    >>> sorted(both.get_params())[:3]
    ['shift', 'shift_2', 'shift_2__steps']
    """

    @property
    def margin(self) -> int:
        """Sum of the margins of all factors."""
        return sum(member.margin for member in self._members)

    def _grid(self) -> ArrayLike:
        grids = [member.theta_grid() for member in self._members]
        self._refuse_many(grids)
        return [np.concatenate(thetas) for thetas in product(*grids)]

    @staticmethod
    def _refuse_many(grids: list[Array]) -> None:
        """Raise TooLarge if the product of the grids has too many members."""
        width = sum(grid.shape[1] for grid in grids)
        refuse_count("the number of compositions", prod(map(len, grids)), MOST, width)

    def _move(self, X: Array, theta: Array) -> Array:
        for member, part in reversed(list(zip(self._members, self._split(theta), strict=True))):
            X = member.apply(X, part)
        return X

    def pulled_back(self, W: Array, thetas: Array) -> tuple[Array, Array] | None:
        offset = np.zeros(len(W))
        for member, part in zip(self._members, self._split(thetas), strict=True):
            found = member.pulled_back(W, part)
            if found is None:
                return None
            W = found[0]
            offset = offset + found[1]
        return W, offset

    def orbit(self, X: ArrayLike) -> Array:
        X = self._check_rows(X)
        n, d = X.shape
        self._refuse_many([member.parameters(d) for member in self._members])
        orbits = X[:, None]
        # The orbit of the orbit: each factor is applied once per θ of its part, not once per combination.
        # A factor further left varies more slowly, as in the product of the grids.
        for member in reversed(self._members):
            t = orbits.shape[1]
            further = member.orbit(orbits.reshape(n * t, d))
            s = further.shape[1]
            orbits = further.reshape(n, t, s, d).swapaxes(1, 2).reshape(n, s * t, d)
        return orbits


class Union(_Combination):
    r"""One transform or another, never two at once, written ``s | t``.

    .. math:: (S \cup T)_{(\theta_s, 0)} = S_{\theta_s}, \quad (S \cup T)_{(0, \theta_t)} = T_{\theta_t}

    θ contains the parameters of all members from left to right; the parameters of all members but one are 0.
    The orbit is the union of the orbits of the members. Its size is a sum, where the size of a composition is
    a product.

    Parameters
    ----------
    transforms : list of (str, Transform)
        The members. ``|`` copies the members and names each after its class, as in :class:`Composition`.

    See Also
    --------
    Composition : One transform after another, ``s @ t``.

    Examples
    --------
    >>> from priorsvm.transforms import Shift
    >>> either = Shift([1.0, 0.0]) | Shift([0.0, 5.0])
    >>> either.orbit([[0.0, 0.0]])
    array([[[ 0.,  0.], [-1.,  0.], [ 1.,  0.], [ 0., -5.], [ 0.,  5.]]])
    """

    @property
    def margin(self) -> int:
        """Largest margin of a member."""
        return max(member.margin for member in self._members)

    def _grid(self) -> ArrayLike:
        members = self._members
        rows = [
            np.concatenate([theta if i == j else np.zeros(t.n_parameters) for j, t in enumerate(members)])
            for i, member in enumerate(members)
            for theta in member.theta_grid()
        ]
        return np.array(rows)

    def _move(self, X: Array, theta: Array) -> Array:
        parts = zip(self.transforms, self._split(theta), strict=True)
        active = [(name, member, part) for (name, member), part in parts if part.any()]
        if len(active) > 1:
            names = " and ".join(repr(name) for name, _, _ in active)
            raise InvalidInput(
                f"Union applies one transform at a time, but theta={theta.tolist()} has nonzero parameters "
                f"of {names}. Set the parameters of all members but one to 0, or compose the transforms "
                "with @."
            )
        [(_, member, part)] = active
        return member.apply(X, part)

    def orbit(self, X: ArrayLike) -> Array:
        X = self._check_rows(X)
        return np.concatenate([X[:, None], *(member.orbit(X)[:, 1:] for member in self._members)], axis=1)
