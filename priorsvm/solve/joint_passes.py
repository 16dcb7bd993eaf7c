"""The joint model as a stream of rows, for passes of stochastic subgradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._utils.arrays import Array
from .joint_function import JointFunction
from .joint_loss import JointColumns, JointLoss
from .methods.passes import BATCH, Direction, Stream


class JointStream(Stream):
    """The rows of the joint model, whose decision functions have no bias."""

    balanced = False

    def __init__(self, loss: JointLoss, options: Mapping[str, Any]):
        super().__init__(loss.spec, loss.sample, options.get("batch", BATCH))
        self.joint = loss
        self.interchangeable = loss.block.uniform
        self.n_functions = len(loss.sample.classes)
        self.place = np.full(len(loss.sample), -1)
        self.place[self.active] = np.arange(len(self.active))

    def linear_function(self, coefficients: Array) -> JointFunction:
        return JointFunction.linear(self.spec, coefficients.T)

    def expansion(self, centres: Array, weights: Array) -> JointFunction:
        return JointFunction(self.spec, centres, weights)

    def classes(self) -> Array:
        return self.joint.y

    def direction(self, f: JointFunction, part: Array) -> Direction:
        rows, required, columns = self._worst(f, part)
        joint = self.joint
        alpha = np.where(required > 0, self.count * self.C[rows], 0.0)
        signs = joint.scalings(columns)[:, None] * joint.signs(columns)
        margins = columns.demands * joint.rho[columns.rows]
        return Direction(rows, columns.moves, columns.points, signs, alpha, margins)

    def loss(self, f: JointFunction) -> tuple[Array, float]:
        slack = np.zeros(len(self.sample))
        for part in np.array_split(self.active, self.count):
            rows, required, _ = self._worst(f, part)
            slack[rows] = np.maximum(required, 0.0)
        return slack, 0.0

    def _worst(self, f: JointFunction, rows: Array) -> tuple[Array, Array, JointColumns]:
        """Return the rows, training rows first, the slack that each row requires, and its worst column."""
        places = self.place[rows]
        joint = self.joint
        training = places[places < joint.n_moved]
        added = places[places >= joint.n_moved]
        parts = [joint.worst_of(f, part) for part in (training, added) if len(part)]
        required = np.concatenate([required for required, _ in parts])
        columns = parts[0][1]
        if len(parts) > 1:
            columns = columns.joined(parts[1][1])
        return self.active[columns.rows], required, columns
