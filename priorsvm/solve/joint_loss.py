r"""The loss of the joint model: the largest over transformations and other classes.

.. math:: \xi_i = \max_{\theta,\; k \ne y_i}
          \left[\Delta(y_i, k, \theta)\,\rho_i - f_{y_i}(T_\theta x_i) + f_k(T_\theta x_i)\right]_+

A column is a row, a transformation and another class.
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
from ..knowledge.worst_case.orbit_loss import OrbitLoss, orbit_losses
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
    """The loss over transformations and other classes, for the rows that have a cost.

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
    confusion : (K, K) array
        The factors on the margin for each pair of classes, 0 on the diagonal.
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
        self.labels = sample.labels[self.active]
        self.y = np.searchsorted(sample.classes, self.labels)
        self._check_two_classes()
        self.rho = sample.margin[self.active]
        self.bound = spec.C * sample.cost[self.active]
        self.confusion = self.block.confusions(sample)
        np.fill_diagonal(self.confusion, 0.0)

    def _check_two_classes(self) -> None:
        if len(np.unique(self.y)) < 2:
            lowering = [name for name, share in self.sample.shares.items() if np.any(share < 0)]
            cause = f"block '{lowering[-1]}' leaves" if lowering else "the rows leave"
            raise InvalidInput(
                f"{cause} fewer than two classes with a positive cost. At least two classes are needed."
            )

    def start(self) -> JointColumns:
        """Return the state without columns."""
        none = np.empty(0, int)
        X = self.sample.X[self.active]
        listed = self.block.listed(X, self.labels)
        grid: Any = np.zeros((1, 0))
        orbit = None
        part = None
        if listed is not None:
            orbit = listed.orbit
            grid = listed.grid
            part = listed.part
        thetas = np.empty((0, grid.shape[-1]))
        return JointColumns(
            none, X[:0], np.empty(0), thetas, none, orbit, grid, part=part, others=none, idle=none
        )

    def shortfall(self, demand: Array, rho: Array, lead: Array) -> Array:
        """Return the slack required where the true class leads by ``lead``."""
        return self.block.shortfall(np.ones(1), rho, demand, lead)

    def signs(self, state: JointColumns) -> Array:
        """Return :math:`e_y - e_k` of every column, (m, K)."""
        signs = np.zeros((len(state), len(self.sample.classes)))
        signs[np.arange(len(state)), self.y[state.rows]] = 1.0
        signs[np.arange(len(state)), state.others] -= 1.0
        return signs

    def covered(self, f: JointFunction, state: JointColumns) -> Array:
        """Return the slack of every row that its columns require."""
        lead = (f.value(state.points) * self.signs(state)).sum(axis=1)
        slack = np.zeros(len(self.active))
        np.maximum.at(slack, state.rows, self.shortfall(state.demands, self.rho[state.rows], lead))
        return slack

    def worst(self, f: Any, state: OrbitColumns) -> tuple[Array, JointColumns]:
        """Return for each row the slack that its worst transformation and class require, and this column."""
        if state.orbit is None:
            return self._worst_unlisted(f)
        assert state.grid is not None
        n, s, d = state.orbit.shape
        K = len(self.sample.classes)
        rows = np.arange(n)
        scores = over_rows(f.value, state.orbit.reshape(-1, d)).reshape(n, s, K)
        lead = scores[rows, :, self.y][:, :, None] - scores
        shares = state.listed_demands(rows, self.block.demand)
        demand = shares[:, :, None] * self.confusion[self.y][:, None, :]
        required = self.shortfall(demand, self.rho[:, None, None], lead)
        required[rows, :, self.y] = -np.inf
        moves, others = np.unravel_index(np.argmax(required.reshape(n, -1), axis=1), (s, K))
        found = JointColumns(
            rows=rows,
            points=state.orbit[rows, moves],
            demands=demand[rows, moves, others],
            thetas=state.thetas_of(rows, moves),
            moves=moves,
            idle=np.zeros(n, int),
            others=others,
        )
        return required[rows, moves, others], found

    def _worst_unlisted(self, f: JointFunction) -> tuple[Array, JointColumns]:
        """Return the worst columns of orbits that are not listed: of sparse rows, or too many members."""
        n = len(self.y)
        K = len(self.sample.classes)
        X = self.sample.X[self.active]
        required = np.full(n, -np.inf)
        others = np.zeros(n, int)
        points = [self._worst_against(f, X, other) for other in range(K)]
        for other in range(K):
            scores = f.value(points[other])
            lead = scores[np.arange(n), self.y] - scores[:, other]
            short = self.shortfall(self.confusion[self.y, other], self.rho, lead)
            better = (self.y != other) & (short > required)
            required[better] = short[better]
            others[better] = other
        found = JointColumns(
            rows=np.arange(n),
            points=stack(*points)[others * n + np.arange(n)],
            demands=self.confusion[self.y, others],
            thetas=np.empty((n, 0)),
            moves=np.full(n, -1),
            idle=np.zeros(n, int),
            others=others,
        )
        return required, found

    def _worst_against(self, f: JointFunction, X: Any, other: int) -> Any:
        """Return for each row the copy at which its class leads one other class least."""
        copies = []
        for true in range(len(self.sample.classes)):
            part = np.flatnonzero(self.y == true)
            rows = X[part]
            if true != other:
                lead = f.lead(true, other)
                ones = np.ones(len(part))
                _, rows = self.block.worst_copies(lead, rows, ones, self.rho[part], self.labels[part])
            copies.append(rows)
        order = np.argsort(np.argsort(self.y, kind="stable"), kind="stable")
        return stack(*copies)[order]
