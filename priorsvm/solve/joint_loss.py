r"""The loss of the joint model: the largest over transformations and other classes.

.. math:: \xi_i = \max_{\theta,\; k \ne y_i}
          \left[\Delta(y_i, k, \theta)\,\rho_i
          - \Gamma(y_i, k, \theta) \left(f_{y_i}(T_\theta x_i) - f_k(T_\theta x_i)\right)\right]_+

A column is a row, a transformation and another class. Rows that blocks add are not transformed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._utils.arrays import Array, stack
from .._utils.parallel import over_rows
from ..errors import InvalidInput
from ..knowledge.worst_case.orbit_columns import OrbitColumns
from ..knowledge.worst_case.orbit_loss import CHUNK, OrbitLoss, orbit_losses
from ..prior import Member, live
from ..sample import Sample
from ..spec import Spec
from .joint_function import JointFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class JointColumns(OrbitColumns):
    """Columns of the joint model.

    Attributes
    ----------
    others : (m,) array
        The position of the other class among the classes.
    idle : (m,) array
        The number of rounds in which the column was not active.
    """

    others: Array
    idle: Array
    parts: ClassVar[tuple[str, ...]] = (*OrbitColumns.parts, "others", "idle")


class JointLoss:
    r"""The loss over transformations and other classes, for the rows that have a cost.

    Attributes
    ----------
    block : OrbitLoss
        The block that defines the orbits; without such a block the orbit of a row is the row.
    name : str or None
        The name of this block.
    label : str
        The label of the constraint.
    active : (n,) array
        The rows with a cost. Columns and all arrays below refer to positions in it.
    labels : (n,) array
        The class of each row.
    y : (n,) array
        The position of the class of each row.
    rho : (n,) array
        The margin of each row.
    bound : (n,) array
        C times the cost of each row.
    n_moved : int
        The number of training rows among the active rows, which come first. Only these are transformed.
    confusion : (K, K) array
        The factors on :math:`\Delta` for each pair of classes, 0 on the diagonal.
    pair_scaling : (K, K) array
        The factors on :math:`\Gamma` for each pair of classes.
    """

    def __init__(self, spec: Spec, members: Sequence[Member], sample: Sample):
        self.spec = spec
        self.sample = sample
        self.members = live(members)
        self.block: OrbitLoss = OrbitLoss()
        self.name: str | None = None
        self.label = "svm.margin"
        for member in orbit_losses(members)[:1]:
            self.block = member.block
            self.name = member.name
            self.label = f"{member.name}.{self.block.joint_label}"
        self.active = sample.counted_rows
        self.n_moved = len(sample.counted_training)
        self.labels = sample.labels[self.active[: self.n_moved]]
        self.y = sample.class_positions[self.active]
        self._check_known_classes()
        self._check_two_classes()
        self.rho = sample.margin[self.active]
        self.bound = spec.C * sample.cost[self.active]
        self.confusion = self.block.confusions(sample)
        np.fill_diagonal(self.confusion, 0.0)
        self.pair_scaling = self.block.confusion_scalings(sample)

    def _check_known_classes(self) -> None:
        for row in self.active[self.y < 0][:1]:
            name = next(name for name, share in self.sample.shares.items() if share[row] > 0)
            raise InvalidInput(
                f"block '{name}' adds rows without a class, which multi_class='joint' requires. Give labels "
                "or source to with_rows."
            )

    def _check_two_classes(self) -> None:
        if len(np.unique(self.y)) < 2:
            lowering = [name for name, share in self.sample.shares.items() if np.any(share < 0)]
            cause = f"block '{lowering[-1]}' leaves" if lowering else "the rows leave"
            raise InvalidInput(
                f"{cause} fewer than two classes with a positive cost. At least two classes are needed."
            )

    def start(self) -> JointColumns:
        """Return the state without columns; orbits are listed unless the rows are streamed."""
        none = np.empty(0, int)
        X = self.sample.X[self.active[: self.n_moved]]
        listed = None if self.block.streamed else self.block.listed(X, self.labels)
        if listed is None:
            listed = OrbitColumns.empty(X, None, np.zeros((1, self._n_parameters())))
        return JointColumns(
            none,
            X[:0],
            np.empty(0),
            listed.thetas,
            none,
            listed.orbit,
            listed.grid,
            part=listed.part,
            others=none,
            idle=none,
        )

    def _n_parameters(self) -> int:
        """Return the number of parameters of the transformations that are listed."""
        grid = self.block.theta_grid()
        return 0 if grid is None else int(grid.shape[-1])

    def scalings(self, state: JointColumns) -> Array:
        r"""Return :math:`\Gamma` of every column."""
        scaling = self.block.scalings(state.thetas, state.demands)
        if self.block.slack_scaled:
            return scaling
        return np.asarray(scaling * self.pair_scaling[self.y[state.rows], state.others])

    def signs(self, state: JointColumns) -> Array:
        """Return :math:`e_y - e_k` of every column, (m, K)."""
        signs = np.zeros((len(state), len(self.sample.classes)))
        signs[np.arange(len(state)), self.y[state.rows]] = 1.0
        signs[np.arange(len(state)), state.others] -= 1.0
        return signs

    def covered(self, f: JointFunction, state: JointColumns) -> Array:
        """Return the slack of every row that its columns require."""
        lead = (f.value(state.points) * self.signs(state)).sum(axis=1)
        required = state.demands * self.rho[state.rows] - self.scalings(state) * lead
        slack = np.zeros(len(self.active))
        np.maximum.at(slack, state.rows, required)
        return slack

    def worst(self, f: Any, state: OrbitColumns) -> tuple[Array, JointColumns]:
        """Return for each row the slack that its worst transformation and class require, and this column."""
        training = np.arange(self.n_moved)
        if state.orbit is None:
            parts = np.array_split(training, max(1, -(-self.n_moved // CHUNK)))
            found = [self.worst_of(f, part) for part in parts]
        else:
            found = [self._worst_listed(f, training, state)]
        if self.n_moved < len(self.active):
            found.append(self.worst_of(f, np.arange(self.n_moved, len(self.active))))
        columns = found[0][1]
        for _, more in found[1:]:
            columns = columns.joined(more)
        return np.concatenate([required for required, _ in found]), columns

    def worst_of(self, f: Any, rows: Array) -> tuple[Array, JointColumns]:
        """Return the slack and the column of some rows: training rows only, or added rows only."""
        listed = self._listed(rows)
        if listed is None:
            return self._worst_unlisted(f, rows, self.sample.X[self.active[rows]])
        return self._worst_listed(f, rows, listed)

    def _listed(self, rows: Array) -> OrbitColumns | None:
        """Return the orbits of training rows, or of added rows, which are not transformed."""
        X = self.sample.X[self.active[rows]]
        if len(rows) and rows[0] >= self.n_moved:
            return OrbitColumns.empty(X, X[:, None], np.zeros((1, self._n_parameters())))
        return self.block.listed(X, self.labels[rows])

    def all_columns(self) -> JointColumns:
        """Return the state with every column of every row, for orbits that are listed."""
        state = self.start()
        for rows in (np.arange(self.n_moved), np.arange(self.n_moved, len(self.active))):
            listed = self._listed(rows) if len(rows) else None
            if listed is not None:
                for other in range(len(self.sample.classes)):
                    state = state.joined(self._against(rows, listed, other))
        return state

    def _against(self, rows: Array, listed: OrbitColumns, other: int) -> JointColumns:
        """Return all members of the orbits of rows of other classes as columns against one class."""
        assert listed.orbit is not None
        s = listed.orbit.shape[1]
        places = np.repeat(np.flatnonzero(self.y[rows] != other), s)
        moves = np.tile(np.arange(s), len(places) // s)
        thetas = listed.thetas_of(places, moves)
        return JointColumns(
            rows=rows[places],
            points=listed.orbit[places, moves],
            demands=self.block.demand(thetas) * self.confusion[self.y[rows[places]], other],
            thetas=thetas,
            moves=moves,
            idle=np.zeros(len(places), int),
            others=np.full(len(places), other),
        )

    def _worst_listed(self, f: Any, rows: Array, listed: OrbitColumns) -> tuple[Array, JointColumns]:
        """Return the worst columns of rows whose orbits are listed."""
        assert listed.orbit is not None
        n, s, d = listed.orbit.shape
        y = self.y[rows]
        at = np.arange(n)
        scores = over_rows(f.value, listed.orbit.reshape(-1, d)).reshape(n, s, -1)
        lead = scores[at, :, y][:, :, None] - scores
        share = listed.listed_demands(at, self.block.demand)
        demand = share[:, :, None] * self.confusion[y][:, None, :]
        scaling = demand
        if not self.block.slack_scaled:
            factor = listed.listed_demands(at, self.block.scalings_at)
            scaling = factor[:, :, None] * self.pair_scaling[y][:, None, :]
        required = demand * self.rho[rows][:, None, None] - scaling * lead
        required[at, :, y] = -np.inf
        moves, others = np.unravel_index(np.argmax(required.reshape(n, -1), axis=1), (s, scores.shape[2]))
        found = JointColumns(
            rows=rows,
            points=listed.orbit[at, moves],
            demands=demand[at, moves, others],
            thetas=listed.thetas_of(at, moves),
            moves=moves,
            idle=np.zeros(n, int),
            others=others,
        )
        return required[at, moves, others], found

    def _worst_unlisted(self, f: JointFunction, rows: Array, X: Any) -> tuple[Array, JointColumns]:
        """Return the worst columns of orbits that are not listed: of sparse rows, or too many members."""
        n = len(rows)
        y = self.y[rows]
        pairs = self.confusion if self.block.slack_scaled else self.pair_scaling
        required = np.full(n, -np.inf)
        others = np.zeros(n, int)
        classes = range(len(self.sample.classes))
        points = [self._worst_against(f, X, rows, other) for other in classes]
        for other in classes:
            scores = f.value(points[other])
            lead = scores[np.arange(n), y] - scores[:, other]
            short = self.confusion[y, other] * self.rho[rows] - pairs[y, other] * lead
            better = (y != other) & (short > required)
            required[better] = short[better]
            others[better] = other
        found = JointColumns(
            rows=rows,
            points=stack(*points)[others * n + np.arange(n)],
            demands=self.confusion[y, others],
            thetas=np.empty((n, 0)),
            moves=np.full(n, -1),
            idle=np.zeros(n, int),
            others=others,
        )
        return required, found

    def _worst_against(self, f: JointFunction, X: Any, rows: Array, other: int) -> Any:
        """Return for each row the copy at which its class leads one other class least."""
        y = self.y[rows]
        copies = []
        for true in range(len(self.sample.classes)):
            part = np.flatnonzero(y == true)
            own = X[part]
            if true != other:
                lead = f.lead(true, other)
                ones = np.ones(len(part))
                at = rows[part]
                own = self.block.worst_copies(lead, own, ones, self.rho[at], self.labels[at])[1]
            copies.append(own)
        order = np.argsort(np.argsort(y, kind="stable"), kind="stable")
        return stack(*copies)[order]
