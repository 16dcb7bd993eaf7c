r"""The interface between a block whose loss is the worst over orbits and the routes that solve it.

The orbit of a row is the row and all its transformed copies. The routes COLUMNS and PEGASOS and the joint
model of all classes solve the problem of any block with this interface.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from ..._utils.arrays import Array
from ..._utils.parallel import over_rows
from ...prior import live
from ...sample import Sample
from .orbit_columns import OrbitColumns


class OrbitLoss:
    r"""The largest loss over the orbit of each training row, as routes use it.

    .. math:: \xi_i = \sup_\theta \left[\Delta(\theta)\,\rho_i - y_i f(T_\theta x_i)\right]_+
              \quad\text{or}\quad \sup_\theta \Delta(\theta) \left[\rho_i - y_i f(T_\theta x_i)\right]_+ ,

    the first with ``scaling="margin"``, the second with ``"slack"``. The defaults describe the hinge loss:
    the orbit of a row contains the row alone. A block inherits from this class and from
    :class:`~priorsvm.Knowledge`, and overrides what differs.

    - COLUMNS uses ``has_columns``, ``columns`` and ``scaling``. The dual variables of the columns are stored
      under ``column_label``, the label of the constraint in ``build``.
    - PEGASOS uses ``worst_copies``, if ``streamed`` is true.
    - The joint model uses ``listed``, ``demand``, ``worst_copies``, ``scaling``, ``confusions`` and
      ``check_classes``. The dual variables are stored under ``joint_label``.

    Attributes
    ----------
    scaling : {"margin", "slack"}
        Whether :math:`\Delta` multiplies the margin or the slack.
    """

    scaling: str = "margin"
    column_labels: ClassVar[dict[str, str]] = {"margin": "columns", "slack": "scaled"}
    joint_labels: ClassVar[dict[str, str]] = {"margin": "joint", "slack": "joint_slack"}

    @property
    def streamed(self) -> bool:
        """Whether the block is solved by PEGASOS, in passes through the rows."""
        return False

    @property
    def column_label(self) -> str:
        """Label of the constraint that contains the columns."""
        return self.column_labels[self.scaling]

    @property
    def joint_label(self) -> str:
        """Label of this constraint in the joint model of all classes."""
        return self.joint_labels[self.scaling]

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

    def shortfall(self, y: Array, rho: Array, demand: Array, values: Array) -> Array:
        """Return the slack that points of these values of f require."""
        if self.scaling == "slack":
            return np.asarray(demand * (rho - y * values))
        return np.asarray(demand * rho - y * values)

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
        return self.worst_of(f, self.orbit(X), self.demand(grid), y, rho)

    def worst_of(self, f: Any, orbit: Array, demand: Array, y: Array, rho: Array) -> tuple[Array, Array]:
        """Return for each row the margin required at its worst copy, and this copy, of listed copies."""
        n, s, d = orbit.shape
        values = f.value(orbit.reshape(-1, d)).reshape(n, s)
        moves = np.argmax(self.shortfall(y[:, None], rho[:, None], demand, values), axis=1)
        return demand[moves] * rho, orbit[np.arange(n), moves]

    def has_columns(self, sample: Sample) -> bool:
        """Return whether ``build`` adds a constraint for each column, as COLUMNS requires."""
        return True

    def columns(self, sample: Sample, state: Any) -> OrbitColumns:
        """Return the columns of training rows that have a cost."""
        rows = sample.counted_training
        columns: OrbitColumns = state.of_rows(rows, sample.n_train)[0]
        return columns

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


def orbit_losses(members: Iterable[Any]) -> list[Any]:
    """Return the members of a prior that are losses over orbits and have a positive weight."""
    return [member for member in live(members) if isinstance(member.block, OrbitLoss)]
