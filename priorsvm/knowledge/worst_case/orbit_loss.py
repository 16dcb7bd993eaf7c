r"""The interface between a block whose loss is the worst over orbits and the routes that solve it.

The orbit of a row is the row and all its transformed copies. The routes COLUMNS and PEGASOS and the joint
model of all classes solve the problem of any block with this interface.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import issparse

from ..._utils.arrays import Array
from ..._utils.parallel import over_rows
from ...prior import live
from ...sample import Sample
from .orbit_columns import OrbitColumns

# Orbits that are not stored are searched in chunks of this many rows.
CHUNK = 1000


class Members(NamedTuple):
    r"""One member of the orbit of each row.

    Attributes
    ----------
    margins : (n,) array
        The margin required, :math:`\Delta \rho`.
    points : (n, d) array
    moves : (n,) array
        The index within the orbit, -1 if the members are not listed.
    """

    margins: Array
    points: Any
    moves: Array


class OrbitLoss:
    r"""The largest loss over the orbit of each training row, as routes use it.

    .. math:: \xi_i = \sup_\theta \left[\Delta(\theta)\,\rho_i
              - \Gamma(\theta)\, y_i f(T_\theta x_i)\right]_+ .

    The defaults describe the hinge loss: the orbit of a row contains the row alone, and :math:`\Gamma = 1`.
    A block inherits from this class and from :class:`~priorsvm.Knowledge`, and overrides what differs.

    - COLUMNS uses ``has_columns``, ``columns``, ``scalings`` and ``entry_changes``. The dual variables
      of the columns are stored under ``column_label``, the label of the constraint in ``build``.
    - PEGASOS uses ``worst_members``, if ``streamed`` is true.
    - The joint model uses ``listed``, ``demand``, ``scalings``, ``worst_copies``, ``confusions``,
      ``confusion_scalings`` and ``check_classes``. The dual variables are stored under ``joint_label``.

    Attributes
    ----------
    scaling : {"margin", "slack"} or another value
        :math:`\Gamma`: 1 with ``"margin"``, :math:`\Delta` with ``"slack"``. A block that accepts other
        values overrides ``scalings``.
    """

    scaling: Any = "margin"
    column_labels: ClassVar[dict[str, str]] = {"margin": "columns", "slack": "scaled"}
    joint_labels: ClassVar[dict[str, str]] = {"margin": "joint", "slack": "joint_slack"}

    @property
    def streamed(self) -> bool:
        """Whether the block is solved by PEGASOS, in passes through the rows."""
        return False

    @property
    def column_label(self) -> str:
        """Label of the constraint that contains the columns."""
        return self.column_labels.get(_word(self.scaling), "apart")

    @property
    def joint_label(self) -> str:
        """Label of this constraint in the joint model of all classes."""
        return self.joint_labels.get(_word(self.scaling), "joint_apart")

    def theta_grid(self) -> Array | None:
        """Return the parameters of the members of an orbit.

        Returns
        -------
        (s, q) array or None
            The row itself first. None means that the members cannot be listed: then ``worst_copies`` must be
            overridden.
        """
        return np.zeros((1, 0))

    def orbit(self, X: Array) -> Array:
        """Return all transformed copies of dense rows.

        Parameters
        ----------
        X : (n, d) array

        Returns
        -------
        (n, s, d) array
            The row itself first.
        """
        return X[:, None]

    def listed(self, X: Any, labels: Array) -> OrbitColumns | None:
        """Return the state without columns, with the orbits of all rows listed.

        Parameters
        ----------
        X : (n, d) array
            Rows; sparse if the block accepts sparse rows.
        labels : (n,) array
            The user's classes of these rows.

        Returns
        -------
        OrbitColumns or None
            None if the members cannot be listed.
        """
        grid = self.theta_grid()
        if grid is None or issparse(X):
            return None
        return OrbitColumns.empty(X, over_rows(self.orbit, X), grid)

    def demand(self, thetas: Array) -> Array:
        r"""Return :math:`\Delta`, the share of the margin required after each transformation.

        Parameters
        ----------
        thetas : (s, q) array

        Returns
        -------
        (s,) array of numbers from 0 to 1
        """
        return np.ones(len(thetas))

    def scalings(self, thetas: Array, demands: Array) -> Array:
        r"""Return :math:`\Gamma`, the factor on the value of f after each transformation.

        Parameters
        ----------
        thetas : (s, q) array
        demands : (s,) array
            :math:`\Delta` of the transformations.

        Returns
        -------
        (s,) array of nonnegative numbers
        """
        return demands if self.slack_scaled else np.ones(len(demands))

    def scalings_at(self, thetas: Array) -> Array:
        r"""Return :math:`\Gamma` after each transformation, from the parameters alone."""
        return self.scalings(thetas, self.demand(thetas))

    @property
    def slack_scaled(self) -> bool:
        r"""Whether :math:`\Gamma = \Delta`, so that :math:`\Delta` multiplies the slack."""
        return _word(self.scaling) == "slack"

    @property
    def uniform(self) -> bool:
        r"""Whether :math:`\Delta` and :math:`\Gamma` are 1 for every transformation."""
        grid = self.theta_grid()
        if grid is None:
            return True
        thetas = grid.reshape(-1, grid.shape[-1])
        return bool((self.demand(thetas) == 1).all() and (self.scalings_at(thetas) == 1).all())

    def shortfall(self, y: Array, rho: Array, demand: Array, values: Array, scaling: Any = 1.0) -> Array:
        r"""Return the slack that points require, from :math:`\Delta`, the values of f and :math:`\Gamma`."""
        return np.asarray(demand * rho - scaling * y * values)

    def worst_copies(
        self, f: Any, X: Any, y: Array, rho: Array, labels: Array | None = None
    ) -> tuple[Array, Any]:
        """Return for each row the margin required at its worst copy, and this copy.

        Parameters
        ----------
        f : Fitted
            The decision function.
        X : (n, d) array
            Rows; sparse if the block accepts sparse rows.
        y : (n,) array of -1 and +1
        rho : (n,) array
            The margin required of each row itself.
        labels : (n,) array or None
            The user's classes of these rows, for a block whose transformations depend on the class.

        Returns
        -------
        margins : (n,) array
        points : (n, d) array
        """
        grid = self.theta_grid()
        assert grid is not None
        if len(grid) == 1:
            return rho, X
        demand = self.demand(grid)
        return self.worst_of(f, self.orbit(X), demand, y, rho, self.scalings(grid, demand))

    def worst_of(
        self, f: Any, orbit: Array, demand: Array, y: Array, rho: Array, scaling: Any = 1.0
    ) -> tuple[Array, Array]:
        """Return for each row the margin required at its worst copy, and this copy, of listed copies."""
        n, s, d = orbit.shape
        values = f.value(orbit.reshape(-1, d)).reshape(n, s)
        moves = np.argmax(self.shortfall(y[:, None], rho[:, None], demand, values, scaling), axis=1)
        return demand[moves] * rho, orbit[np.arange(n), moves]

    def worst_members(self, f: Any, X: Any, y: Array, rho: Array, labels: Array) -> Members:
        """Return the worst member of the orbit of each row; the parameters are those of ``worst_copies``."""
        n = len(y)
        state = self.listed(X, labels)
        if state is None or state.orbit is None:
            margins, points = self.worst_copies(f, X, y, rho, labels)
            return Members(margins, points, np.full(n, -1))
        rows = np.arange(n)
        demand = state.listed_demands(rows, self.demand)
        scaling = state.listed_demands(rows, self.scalings_at)
        values = f.value(state.orbit.reshape(-1, state.orbit.shape[2])).reshape(n, state.orbit.shape[1])
        moves = np.argmax(self.shortfall(y[:, None], rho[:, None], demand, values, scaling), axis=1)
        shares = np.broadcast_to(demand, values.shape)[rows, moves]
        return Members(shares * rho, state.orbit[rows, moves], moves)

    def has_columns(self, sample: Sample) -> bool:
        """Return whether ``build`` adds a constraint for each column, as COLUMNS requires."""
        return True

    def columns(self, sample: Sample, state: Any) -> OrbitColumns:
        """Return the columns of training rows that have a cost."""
        rows = sample.counted_training
        columns: OrbitColumns = state.of_rows(rows, sample.n_train)[0]
        return columns

    def entry_changes(self, sample: Sample) -> tuple[Array, Array, Array] | None:
        """Return the changes of entries if they are all transformations, and f is linear.

        Returns
        -------
        three (n,) arrays or None
            For each training row: how many entries change at once, the smallest and the largest factor.
        """
        return None

    def check_classes(self, sample: Sample, joint: bool) -> None:
        """Raise InvalidInput if the arguments do not suit the joint model, or a model of two classes."""

    def confusions(self, sample: Sample) -> Array:
        """Return the factors on the cost of predicting one class instead of another, for the joint model.

        Parameters
        ----------
        sample : Sample
            The training rows, with all classes.

        Returns
        -------
        (K, K) array
            Row: the true class. Column: the predicted class.
        """
        return np.ones((len(sample.classes), len(sample.classes)))

    def confusion_scalings(self, sample: Sample) -> Array:
        r"""Return the factors on :math:`\Gamma` for each pair of classes, as ``confusions`` has them."""
        return np.ones((len(sample.classes), len(sample.classes)))


def _word(scaling: Any) -> str:
    """Return the value if it is a string; arrays and functions cannot be compared with one."""
    return scaling if isinstance(scaling, str) else ""


def orbit_losses(members: Iterable[Any]) -> list[Any]:
    """Return the members of a prior that are losses over orbits and have a positive weight."""
    return [member for member in live(members) if isinstance(member.block, OrbitLoss)]
