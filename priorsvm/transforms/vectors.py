"""Transforms of any feature vectors: along given directions, or by a function of your own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from priorsvm.errors import InvalidInput, InvalidType
from priorsvm.transforms.base import Transform, cross, symmetric

from .._utils.arrays import Array


class Shift(Transform):
    r"""Add a multiple of given directions.

    .. math:: T_\theta x = x + \sum_{k=1}^{q} \theta_k v_k, \qquad \theta_k \in [-1, 1]

    Parameters
    ----------
    vector : array-like of shape (d,) or (q, d)
        The farthest x may move, to either side: one direction, or several. The grid moves along
        one direction at a time; ``Shift(u) @ Shift(v)`` moves along both at once. A transform knows no names
        of columns: of a DataFrame, ``[{"age": 2}.get(column, 0) for column in X.columns]``.
    steps : int, default=3
        Values of each θ_k in the grid, from −1 to 1: an odd number, so that 0 is one of them.

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
                "Shift: a transform moves rows of numbers, whose columns have no names. Give one entry per "
                f"column instead of {self.vector!r}: [changes.get(column, 0) for column in X.columns]."
            )
        try:
            V = np.atleast_2d(np.asarray(self.vector, dtype=float))
        except (TypeError, ValueError):
            V = np.empty(0)
        if V.ndim != 2 or V.size == 0 or not np.isfinite(V).all():
            raise InvalidInput(
                "Shift: vector must hold finite numbers, of shape (d,) for one direction or (q, d) for "
                f"several; got {self.vector!r}."
            )
        return V

    @property
    def n_features(self) -> int:
        """Entries of the vector."""
        return self._directions().shape[1]

    def _grid(self) -> ArrayLike:
        return cross(symmetric("Shift", 1.0, self.steps), len(self._directions()))

    def _move(self, X: Array, theta: Array) -> Array:
        return X + theta @ self._directions()

    def pulled_back(self, W: Array, thetas: Array) -> tuple[Array, Array]:
        return W, np.einsum("kd,kd->k", W, thetas @ self._directions())

    def validate(self, d: int) -> None:
        """Raise :class:`~priorsvm.errors.InvalidInput` unless the vector has d entries."""
        width = self._directions().shape[1]
        if width != d:
            raise InvalidInput(
                f"Shift: vector has {width} entries, but X has {d} columns. Give one entry per column, "
                "0 for the columns that stay."
            )

    def tangents(self, X: ArrayLike) -> Array:
        """The directions themselves, the same for every row, shape (n, q, d)."""
        X = self._check_rows(X)
        V = self._directions()
        return np.tile(V, (len(X), 1, 1))


class FromFunction(Transform):
    r"""Any family of maps given as a Python function.

    .. math:: T_0 x = x, \qquad T_\theta x = \mathrm{function}(x, \theta) \quad (\theta \ne 0)

    The identity is put first by this class, and the function is not asked for it. Where θ = 0 is
    listed, or tangents are wanted, the function has to be the identity there too, which is checked.

    Parameters
    ----------
    function : callable
        ``function(X, theta)`` moves all rows of X, an (n, d) array, and returns as many of the
        same width. theta is a float, or an array of length q where ``thetas`` holds vectors.
    thetas : sequence of numbers, or of vectors of q numbers each
        The parameters of the orbit besides the identity. Things that are no numbers can be
        numbered from 1 and looked up by the function.
    isometric : bool, default=False
        Whether the function keeps all distances, as permutations of the features and rotations of the
        plane do. :class:`~priorsvm.HaarIntegration` then needs less work.

    Notes
    -----
    Tangents are central differences of the function about θ = 0, and the span reaches from the
    lowest to the highest θ, 0 included: both mean something only if the function is continuous in θ.

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

    # A parameter here, where the other transforms know it.
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
                f"{self.thetas!r}. Number other things from 1 and look them up in the function."
            )
        return grid.reshape(len(grid), -1) if grid.size else np.empty((0, 0))

    def _move(self, X: Array, theta: Array) -> Array:
        name = getattr(self.function, "__name__", repr(self.function))
        argument = float(theta[0]) if np.ndim(self.thetas) == 1 else theta
        # A copy, since the function may well work in place.
        moved = np.asarray(self.function(X.copy(), argument))
        if moved.shape != X.shape or moved.dtype.kind not in "biuf":
            raise InvalidInput(
                f"FromFunction: {name}(X, theta) must return numbers of shape {X.shape}, like X, but at "
                f"theta={argument} it returned shape {moved.shape}, dtype {moved.dtype}."
            )
        if not np.isfinite(moved).all():
            row = np.argwhere(~np.isfinite(moved))[0, 0]
            raise InvalidInput(
                f"FromFunction: {name}(X, theta) returned NaN or infinity at theta={argument}, first in row "
                f"{row}. Leave this theta out, or make {name} finite there."
            )
        return moved.astype(float)

    def validate(self, d: int) -> None:
        """Raise :class:`~priorsvm.errors.InvalidType` unless the function can be called."""
        if not callable(self.function):
            raise InvalidType(
                f"FromFunction: function must be callable as function(X, theta), but got {self.function!r}."
            )

    def orbit(self, X: ArrayLike) -> Array:
        if not self._grid().any(axis=1).all():
            self._check_identity(self._check_rows(X), "thetas lists 0")
        return super().orbit(X)

    def tangents(self, X: ArrayLike) -> Array:
        self._check_identity(self._check_rows(X), "tangents are derivatives at 0")
        return super().tangents(X)

    def _check_identity(self, X: Array, why: str) -> None:
        theta = np.zeros(self.n_parameters)
        if theta.size and not np.allclose(self._move(X, theta), X):
            name = getattr(self.function, "__name__", repr(self.function))
            raise InvalidInput(
                f"FromFunction: theta = 0 is the identity and {why}, but {name}(X, 0) differs from X. Let "
                f"theta be the deviation from the identity, or number the moves of {name} from 1."
            )
