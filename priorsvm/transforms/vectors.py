"""Transforms of any feature vectors: along given directions, or by a Python function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._utils.arrays import Array
from ..errors import InvalidInput, InvalidType, PriorSVMError
from .base import Transform
from .grids import cross_grid, symmetric_values


class Shift(Transform):
    r"""Addition of multiples of given directions.

    .. math:: T_\theta x = x + \sum_{k=1}^{q} \theta_k v_k, \qquad \theta_k \in [-1, 1]

    Use it for tables whose features are known up to an error.

    Parameters
    ----------
    vector : array-like of shape (d,) or (q, d)
        The largest change of x, to either side: one direction :math:`v_1`, or several. The grid changes one
        θ_k at a time; ``Shift(u) @ Shift(v)`` has all combinations. Transforms do not use column names. For a
        DataFrame give ``[{"age": 2}.get(column, 0) for column in X.columns]``.
    steps : int, default=3
        Number of values of each θ_k in the grid, from −1 to 1. It must be odd, so that 0 is one value.

    See Also
    --------
    FromFunction : Transform given by a Python function.
    Translation : Shift of images.

    Examples
    --------
    >>> drift = Shift([0.5, 0.0])
    >>> drift.orbit([[1.0, 2.0]])
    array([[[1. , 2. ], [0.5, 2. ], [1.5, 2. ]]])
    >>> drift.tangents([[1.0, 2.0]])
    array([[[0.5, 0. ]]])
    """

    isometric = True

    def __init__(self, vector: ArrayLike, steps: int = 3):
        self.vector = vector
        self.steps = steps

    def _directions(self) -> Array:
        if isinstance(self.vector, dict):
            raise InvalidInput(
                f"Shift: vector must not be a dict, since columns have no names here; got {self.vector!r}. "
                "Give one entry per column: [changes.get(column, 0) for column in X.columns]."
            )
        try:
            V = np.atleast_2d(np.asarray(self.vector, dtype=float))
        except (TypeError, ValueError, OverflowError):
            V = np.empty(0)
        if V.ndim != 2 or V.size == 0 or not np.isfinite(V).all():
            raise InvalidInput(
                "Shift: vector must contain finite numbers, of shape (d,) for one direction or (q, d) for "
                f"several; got {self.vector!r}."
            )
        return V

    @property
    def n_features(self) -> int:
        """Number of entries of the vector."""
        return self._directions().shape[1]

    def _grid(self) -> ArrayLike:
        return cross_grid(symmetric_values("Shift", 1.0, self.steps), len(self._directions()))

    def _move(self, X: Array, theta: Array) -> Array:
        return X + theta @ self._directions()

    def pulled_back(self, W: Array, thetas: Array) -> tuple[Array, Array]:
        return W, np.einsum("kd,kd->k", W, thetas @ self._directions())

    def validate(self, d: int) -> None:
        """Raise InvalidInput unless the vector has d entries.

        Parameters
        ----------
        d : int
            Number of features.
        """
        width = self._directions().shape[1]
        if width != d:
            raise InvalidInput(
                f"Shift: vector has {width} entries, but X has {d} columns. Give one entry per column, 0 for "
                "columns that do not change."
            )

    def tangents(self, X: ArrayLike) -> Array:
        """Return the directions, which are the tangents of every row.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows at which to differentiate.

        Returns
        -------
        ndarray of shape (n, q, d)
            The directions, repeated for every row.
        """
        X = self._check_rows(X)
        V = self._directions()
        return np.tile(V, (len(X), 1, 1))


class FromFunction(Transform):
    r"""Transform given by a Python function.

    .. math:: T_0 x = x, \qquad T_\theta x = \mathrm{function}(x, \theta) \quad (\theta \ne 0)

    The orbit contains the identity first; the function is not called for it. If ``thetas`` contains 0, or for
    tangents, the function must return X at θ = 0, which is checked.

    Parameters
    ----------
    function : callable
        ``function(X, theta)`` transforms all rows of an (n, d) array and returns an array of the same shape.
        The argument theta is a float, or an array of length q if ``thetas`` contains vectors.
    thetas : array-like of shape (s,) or (s, q)
        The parameters of the orbit besides the identity. To list transformations without a parameter, number
        them from 1 and look the number up in the function.
    isometric : bool, default=False
        Whether the function preserves distances, as permutations of features and rotations do.
        :class:`~priorsvm.HaarIntegration` is then faster.

    See Also
    --------
    Shift : Addition of multiples of given directions.
    Transform : Base class of transforms of your own.

    Notes
    -----
    Tangents are central differences of the function about θ = 0. The span extends from the lowest to the
    highest θ and includes 0. Both require a function that is continuous in θ.

    Examples
    --------
    >>> import numpy as np
    >>> def mix(X, theta):
    ...     return (1 - theta) * X + theta * X[:, ::-1]
    >>> swap = FromFunction(mix, thetas=[0.5, 1.0])
    >>> swap.orbit([[0.0, 2.0]])
    array([[[0., 2.], [1., 1.], [2., 0.]]])
    >>> swap.span()
    [(0.0, 1.0)]
    """

    # An argument here, a property of the class in other transforms.
    isometric: bool = False

    def __init__(
        self, function: Callable[[Array, Any], ArrayLike], thetas: ArrayLike, isometric: bool = False
    ):
        self.function = function
        self.thetas = thetas
        self.isometric = isometric

    def _grid(self) -> Array:
        try:
            grid = np.asarray(self.thetas, dtype=float)
        except (TypeError, ValueError):
            grid = np.array(np.nan)
        if grid.ndim not in (1, 2) or not np.isfinite(grid).all():
            raise InvalidInput(
                "FromFunction: thetas must be a list of finite numbers, or of vectors of equal length; got "
                f"{self.thetas!r}. Number other values from 1 and look the number up in the function."
            )
        return grid.reshape(len(grid), -1) if grid.size else np.empty((0, 0))

    def _move(self, X: Array, theta: Array) -> Array:
        name = self._function_name
        argument = float(theta[0]) if np.ndim(self.thetas) == 1 else theta
        # A copy, since the function may modify its argument.
        try:
            moved = np.asarray(self.function(X.copy(), argument))
        except PriorSVMError:
            raise
        except Exception as error:  # a function of the user
            raise InvalidInput(
                f"FromFunction: {name}(X, theta) failed on an array of shape {X.shape} at theta={argument}: "
                f"{error!r}"
            ) from error
        if moved.shape != X.shape or moved.dtype.kind not in "biuf":
            raise InvalidInput(
                f"FromFunction: {name}(X, theta) must return numbers of shape {X.shape}, the shape of X. At "
                f"theta={argument} it returned shape {moved.shape}, dtype {moved.dtype}."
            )
        if not np.isfinite(moved).all():
            row = np.argwhere(~np.isfinite(moved))[0, 0]
            raise InvalidInput(
                f"FromFunction: {name}(X, theta) returned NaN or infinity at theta={argument}, first in row "
                f"{row}. Remove this theta, or make {name} finite there."
            )
        return moved.astype(float)

    @property
    def _function_name(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))

    def validate(self, d: int) -> None:
        """Raise InvalidType unless the function is callable.

        Parameters
        ----------
        d : int
            Number of features; any number is valid.
        """
        if not callable(self.function):
            raise InvalidType(
                f"FromFunction: function must be callable as function(X, theta), got {self.function!r}."
            )

    def orbit(self, X: ArrayLike) -> Array:
        if not self._grid().any(axis=1).all():
            self._check_identity(self._check_rows(X), "thetas contains 0")
        return super().orbit(X)

    def tangents(self, X: ArrayLike) -> Array:
        self._check_identity(self._check_rows(X), "tangents are derivatives at 0")
        return super().tangents(X)

    def _check_identity(self, X: Array, reason: str) -> None:
        theta = np.zeros(self.n_parameters)
        if theta.size and not np.allclose(self._move(X, theta), X):
            name = self._function_name
            raise InvalidInput(
                f"FromFunction: {reason}, so theta = 0 must be the identity, but {name}(X, 0) differs from "
                f"X. Let theta be the deviation from the identity, or number the transformations of {name} "
                "from 1."
            )
