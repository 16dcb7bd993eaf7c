"""What every transform is: a family T_θ of maps of patterns, with T_0 x = x."""

from __future__ import annotations

import re
from itertools import chain, count, product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from priorsvm._utils.messages import readable
from priorsvm.errors import InvalidInput

from .._utils.arrays import Array
from .._utils.checks import is_whole
from .._utils.foreign import NamedParts


class Transform(BaseEstimator):
    r"""A family of maps :math:`T_\theta : R^d \to R^d`, :math:`\theta \in R^q`, with :math:`T_0 x = x`.

    The identity is :math:`\theta = 0` for every transform, whatever the unit of its parameters.
    Patterns are the rows of an array, in the user's own units.

    A transform of your own defines two methods and stores its arguments in ``__init__``:

    - ``_grid()``: the parameters of its finite orbit, one row each, in any order; the identity is
      put first, and repeated rows are taken once, by :meth:`theta_grid`;
    - ``_move(X, theta)``: the rows of X moved by one θ ≠ 0. X is a checked float array that must
      not be written to, θ a checked vector of length q.

    One that is not all of this says so by ``finite = False`` (no finite orbit) or
    ``continuous = False`` (no path between x and its image: neither tangents nor a span). One that
    keeps all distances may say ``isometric = True``: invariant kernels then need less work. One that is
    affine in x may define :meth:`pulled_back`: linear machines then need less work.

    Attributes
    ----------
    tangent_step : float
        Half the width h of the central differences (T_h x − T_{−h} x) / 2h that :meth:`tangents`
        takes by default, in the unit of the parameter; 1e-4.

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
        """Whether the orbit of a pattern is a finite list."""
        return True

    @property
    def continuous(self) -> bool:
        """Whether θ runs through intervals, so that tangents and a span exist."""
        return True

    @property
    def isometric(self) -> bool:
        r"""Whether the moves of the grid keep distances, :math:`\|T_\theta x - T_\theta z\| = \|x - z\|`.

        Of images on the canvas that :attr:`margin` asks for.
        """
        return False

    @property
    def margin(self) -> int:
        """Pixels of background all around an image that its moves need so that nothing leaves it."""
        return 0

    @property
    def n_features(self) -> int | None:
        """How wide the patterns are that it moves, if it says so."""
        return None

    @property
    def n_parameters(self) -> int:
        """The number q of parameters."""
        return int(self.theta_grid().shape[1])

    def enlarged(self, margin: int) -> Transform:
        """The same moves of images that are ``margin`` pixels larger on every side."""
        raise InvalidInput(
            f"{type(self).__name__} does not know how to move an image that stands on a larger canvas, which "
            "a transform beside it needs so that nothing is lost. Combine Translation with Rotation, Zoom, "
            "Shear and Reflection only, or write the whole as one FromFunction."
        )

    def padded(self, X: Array, margin: int) -> Array:
        """The patterns with ``margin`` pixels of background on every side."""
        raise NotImplementedError

    def _grid(self) -> ArrayLike:
        raise NotImplementedError(f"{type(self).__name__} has to define _grid().")

    def _move(self, X: Array, theta: Array) -> Array:
        raise NotImplementedError(f"{type(self).__name__} has to define _move(X, theta).")

    def validate(self, d: int) -> None:
        """Raise :class:`~priorsvm.errors.InvalidInput` unless patterns of d features can be moved."""

    def theta_grid(self) -> Array:
        """The parameters of the finite orbit, shape (s, q), the identity first and no row twice."""
        if not self.finite:
            name = type(self).__name__
            raise InvalidInput(
                f"{name} has no finite orbit: its moves cannot be listed. Use a block that treats {name} in "
                "closed form, or list the moves that matter with FromFunction(function, thetas)."
            )
        # -0.0 + 0.0 is 0.0: the grid prints without minus zeros.
        grid = np.asarray(self._grid(), dtype=float) + 0.0
        identity = (0.0,) * grid.shape[1]
        return np.array(list(dict.fromkeys([identity, *map(tuple, grid.tolist())])))

    def span(self) -> list[tuple[float, float]]:
        """The range (low, high) of each parameter, over which T_θ x is continuous in θ."""
        self._need_continuity("span")
        grid = self.theta_grid()
        return list(zip(grid.min(axis=0).tolist(), grid.max(axis=0).tolist(), strict=True))

    def apply(self, X: ArrayLike, theta: ArrayLike) -> Array:
        """Move every row by the same θ.

        Parameters
        ----------
        X : array-like of shape (n, d)
        theta : array-like of shape (q,), or a number when q is 1
            Any finite value, on the grid or not.

        Returns
        -------
        ndarray of shape (n, d)
            A new array; exactly X at θ = 0.
        """
        X = self._check_rows(X)
        theta = self._check_theta(theta)
        return self._move(X, theta) if theta.any() else X.copy()

    def orbit(self, X: ArrayLike) -> Array:
        """Move every row by each θ of the grid: shape (n, s, d), ``orbit(X)[:, 0]`` being exactly X."""
        X = self._check_rows(X)
        grid = self.theta_grid()
        moved = np.empty((len(X), len(grid), X.shape[1]))
        moved[:, 0] = X
        for j, theta in enumerate(grid[1:], start=1):
            moved[:, j] = self._move(X, theta)
        return moved

    def tangents(self, X: ArrayLike) -> Array:
        r"""The derivatives :math:`\partial T_\theta x / \partial \theta_k` at θ = 0, shape (n, q, d).

        Central differences with half-width ``tangent_step`` unless the transform knows better.
        Per unit of the parameter: a tangent per degree is shorter than one per radian.
        """
        self._need_continuity("tangents")
        X = self._check_rows(X)
        q = self.n_parameters
        h = self.tangent_step
        slopes = np.empty((len(X), q, X.shape[1]))
        for k, theta in enumerate(h * np.eye(q)):
            slopes[:, k] = (self._move(X, theta) - self._move(X, -theta)) / (2 * h)
        return slopes

    def pulled_back(self, W: Array, thetas: Array) -> tuple[Array, Array] | None:
        r"""Linear functions of moved rows as functions of the rows: None if T is not known to be affine.

        .. math:: w_k^\top T_{\theta_k} x = v_k^\top x + o_k

        Parameters
        ----------
        W : array of shape (k, d)
        thetas : array of shape (k, q)

        Returns
        -------
        (k, d) and (k,) arrays, the :math:`v_k` and :math:`o_k`
        """
        return None

    def __repr__(self) -> str:
        return readable(super().__repr__())

    def __matmul__(self, other: Transform) -> Composition:
        """``s @ t``: first t, then s, as with matrices; see :class:`Composition`."""
        return Composition._join(self, other) if isinstance(other, Transform) else NotImplemented

    def __or__(self, other: Transform) -> Union:
        """``s | t``: either s or t; see :class:`Union`."""
        return Union._join(self, other) if isinstance(other, Transform) else NotImplemented

    def _need_continuity(self, what: str) -> None:
        if not self.continuous:
            raise InvalidInput(
                f"{type(self).__name__} is discrete: no path leads from x to its image, so it has no {what}. "
                "Use its orbit, or a continuous transform."
            )

    def _check_rows(self, X: ArrayLike) -> Array:
        name = type(self).__name__
        try:
            rows = np.asarray(X, dtype=float)
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"{name} moves dense arrays of numbers, but got X of type {type(X).__name__}: {error}"
            ) from error
        if rows.ndim != 2:
            raise InvalidInput(
                f"{name} moves the rows of an array of shape (n, d), but X has shape {rows.shape}. "
                "One pattern x is X = x.reshape(1, -1)."
            )
        if not np.isfinite(rows).all():
            i, j = np.argwhere(~np.isfinite(rows))[0]
            raise InvalidInput(
                f"{name} cannot move X: X[{i}, {j}] is {rows[i, j]}. Impute or leave out such rows first."
            )
        self.validate(rows.shape[1])
        return rows

    def _check_theta(self, theta: ArrayLike) -> Array:
        try:
            vector = np.atleast_1d(np.asarray(theta, dtype=float))
        except (TypeError, ValueError):
            vector = np.array([np.nan])
        if vector.shape != (self.n_parameters,) or not np.isfinite(vector).all():
            raise InvalidInput(
                f"{type(self).__name__}.apply takes theta as {self.n_parameters} finite number(s), one per "
                f"parameter, but got {theta!r}. theta_grid() lists valid ones."
            )
        return vector


class _Combination(Transform, NamedParts):
    """Several named transforms; θ is their parameters one after the other."""

    def __init__(self, transforms: list[tuple[str, Transform]]):
        self.transforms = transforms

    @classmethod
    def _join(cls, left: Transform, right: Transform) -> Self:
        named: dict[str, Transform] = {}
        for name, transform in chain(cls._parts(left), cls._parts(right)):
            free = (key for key in chain([name], (f"{name}_{k}" for k in count(2))) if key not in named)
            # A copy, so that in t @ t the parameters of one factor can be set without the other's.
            named[next(free)] = clone(transform)
        return cls(list(named.items()))

    @classmethod
    def _parts(cls, transform: Transform) -> list[tuple[str, Transform]]:
        if isinstance(transform, cls):
            return transform.transforms
        return [(re.sub(r"(?<!^)(?=[A-Z])", "_", type(transform).__name__).lower(), transform)]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Arguments by name; deep, also those of the members, such as ``rotation__degrees``."""
        return self._get_params("transforms", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set arguments, whole members (``rotation=...``) or arguments of members."""
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
                f"{type(self).__name__} takes a list of (name, transform) with distinct names, but got "
                f"transforms={pairs!r}. Easiest is to write s {sign} t."
            )
        return [member for _, member in pairs]

    @property
    def finite(self) -> bool:
        """Whether every member's orbit is a finite list."""
        return all(member.finite for member in self._members)

    @property
    def continuous(self) -> bool:
        """Whether every member is continuous."""
        return all(member.continuous for member in self._members)

    @property
    def isometric(self) -> bool:
        """Whether every member keeps all distances."""
        return all(member.isometric for member in self._members)

    def enlarged(self, margin: int) -> Self:
        return type(self)([(name, member.enlarged(margin)) for name, member in self.transforms])

    def padded(self, X: Array, margin: int) -> Array:
        first, *others = [member.padded(X, margin) for member in self._members if member.margin]
        if not all(np.array_equal(first, other) for other in others):
            raise InvalidInput(
                f"{type(self).__name__}: its members have different backgrounds, so there is no canvas for "
                "all. Give all of them the same shape and fill."
            )
        return first

    @property
    def n_features(self) -> int | None:
        """The width that the first member tells."""
        return next((m.n_features for m in self._members if m.n_features is not None), None)

    @property
    def n_parameters(self) -> int:
        """The number of parameters of all members together."""
        return sum(member.n_parameters for member in self._members)

    def validate(self, d: int) -> None:
        for member in self._members:
            member.validate(d)

    def span(self) -> list[tuple[float, float]]:
        return [interval for member in self._members for interval in member.span()]

    def tangents(self, X: ArrayLike) -> Array:
        """The members' tangents one after the other: at the identity the order of moves is of no effect."""
        return np.concatenate([member.tangents(X) for member in self._members], axis=1)

    def _split(self, theta: Array) -> list[Array]:
        return np.split(theta, np.cumsum([member.n_parameters for member in self._members])[:-1], axis=-1)


class Composition(_Combination):
    r"""One transform after the other, the last of the list first: what ``s @ t`` makes.

    .. math:: (S \circ T)_{(\theta_s, \theta_t)} x = S_{\theta_s}(T_{\theta_t} x)

    As with matrices, the factor on the right acts first. θ lists the parameters from left to
    right; the orbit is the product of the members' orbits. ``(r @ s) @ t`` and ``r @ (s @ t)`` are
    the same three members.

    Parameters
    ----------
    transforms : list of (str, Transform)
        The factors from left to right. ``@`` copies them and names them after their classes, so
        that ``set_params(rotation__degrees=20)`` works; a second rotation is ``rotation_2``.

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
        """The margins of all factors together."""
        return sum(member.margin for member in self._members)

    def _grid(self) -> ArrayLike:
        return [np.concatenate(thetas) for thetas in product(*(t.theta_grid() for t in self._members))]

    def _move(self, X: Array, theta: Array) -> Array:
        for member, own in reversed(list(zip(self._members, self._split(theta), strict=True))):
            X = member.apply(X, own)
        return X

    def pulled_back(self, W: Array, thetas: Array) -> tuple[Array, Array] | None:
        offset = np.zeros(len(W))
        for member, own in zip(self._members, self._split(thetas), strict=True):
            found = member.pulled_back(W, own)
            if found is None:
                return None
            W = found[0]
            offset = offset + found[1]
        return W, offset

    def orbit(self, X: ArrayLike) -> Array:
        X = self._check_rows(X)
        n, d = X.shape
        moved = X[:, None]
        # The orbit of the orbit, so that each factor moves once per θ of its own and not once per
        # combination. A factor further left varies more slowly, as in the product of the grids.
        for member in reversed(self._members):
            t = moved.shape[1]
            further = member.orbit(moved.reshape(n * t, d))
            s = further.shape[1]
            moved = further.reshape(n, t, s, d).swapaxes(1, 2).reshape(n, s * t, d)
        return moved


class Union(_Combination):
    r"""One transform or another, never two at once: what ``s | t`` makes.

    .. math:: (S \cup T)_{(\theta_s, 0)} = S_{\theta_s}, \quad (S \cup T)_{(0, \theta_t)} = T_{\theta_t}

    θ lists the parameters of all members from left to right, those of all but one being 0. The
    orbit is the members' orbits one after the other, the identity once.

    Parameters
    ----------
    transforms : list of (str, Transform)
        The members. ``|`` copies them and names them after their classes, as
        :class:`Composition` does.

    Examples
    --------
    >>> from priorsvm.transforms import Shift
    >>> either = Shift([1.0, 0.0]) | Shift([0.0, 5.0])
    >>> either.orbit([[0.0, 0.0]])
    array([[[ 0.,  0.], [-1.,  0.], [ 1.,  0.], [ 0., -5.], [ 0.,  5.]]])
    """

    @property
    def margin(self) -> int:
        """The largest margin of a member."""
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
        moving = [(name, member, own) for (name, member), own in parts if own.any()]
        if len(moving) > 1:
            names = " and ".join(repr(name) for name, _, _ in moving)
            raise InvalidInput(
                f"Union applies one of its transforms at a time, but theta={theta.tolist()} moves by {names}."
                " Set the parameters of all but one to 0, or compose the transforms with @."
            )
        [(_, member, own)] = moving
        return member.apply(X, own)

    def orbit(self, X: ArrayLike) -> Array:
        X = self._check_rows(X)
        return np.concatenate([X[:, None], *(member.orbit(X)[:, 1:] for member in self._members)], axis=1)


def symmetric(name: str, limit: float, steps: int) -> Array:
    """``steps`` values from −limit to limit, 0 exactly among them."""
    if not (is_whole(steps) and steps >= 3 and steps % 2 == 1):
        raise InvalidInput(
            f"{name}: steps must be an odd number, 3 or more, so that the identity is one of the grid's "
            f"points; got {steps!r}. Use an odd number such as 3 or 5."
        )
    half = int(steps) // 2
    return limit * np.arange(-half, half + 1) / half


def cross(values: ArrayLike, q: int) -> Array:
    """The grid that moves one of q parameters at a time through the same values."""
    return np.kron(np.eye(q), np.reshape(values, (-1, 1)))
