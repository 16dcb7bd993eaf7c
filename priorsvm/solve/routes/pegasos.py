r"""The route PEGASOS: stochastic subgradients for a loss over orbits, on models of many rows.

.. math:: J(g) = \tfrac12\|g\|^2
          + \min_b \sum_i C_i \max_\theta [\Delta(\theta)\,\rho_i - y_i (g(T_\theta x_i) + b)]_+

``methods/passes.py`` has the passes. The dual variables of a batch are those at its own best b, with
:math:`\sum a_i y_i = 0`.

References
----------
Teo, Globerson, Roweis & Smola 2007, Algorithm 2.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..._utils.arrays import Array, stack
from ..._utils.progress import progress
from ...errors import InvalidInput
from ...function.fitted import Fitted, FittedKernel
from ...function.maps import LinearMap
from ...knowledge.traits import Iterative
from ...knowledge.worst_case.orbit_loss import Members, OrbitLoss, orbit_losses
from ...prior import Member
from ...problem.residuals import Residuals
from ...sample import Sample
from ...spec import Spec
from ..methods.bias import best_bias
from ..methods.passes import BATCH, Direction, Passes, Stream, check_pass_options, run_passes, warn_of_gap
from ..route import Problem, Route
from ..solution import Outcome, Solution


class Pegasos(Route):
    """Route of models with a loss over orbits and very many rows, which the block selects."""

    name = "PEGASOS"
    kind = "InvariantLoss"
    factor = np.inf  # the gap is reported instead
    takes = ("batch", "budget")
    note = "selected by method='pegasos', for very many rows; accurate to about 1 %"
    selectable = False

    def required_by(self, problem: Problem) -> list[Member]:
        return [member for member in orbit_losses(problem.members) if member.block.streamed]

    def obstacle(self, problem: Problem) -> str | None:
        name = self.required_by(problem)[0].name
        for other in problem.live:
            if other.name != name and (not other.block.only_rows or isinstance(other.block, Iterative)):
                return (
                    f"block '{name}': method='pegasos' requires that all other blocks only add or reweight "
                    f"rows, and '{other.name}' does more. Use method='columns'."
                )
        return None

    def require_suited(self, problem: Problem) -> None:
        reason = self.obstacle(problem)
        if reason is not None:
            raise InvalidInput(reason)

    def check_values(self, options: Mapping[str, Any]) -> None:
        check_pass_options(options, linear=False)

    def solve(self, problem: Problem, options: dict[str, Any]) -> Solution:
        [(name, block, _)] = self.required_by(problem)
        spec = problem.spec
        check_pass_options(options, spec.linear)
        sample = problem.sample
        passes = problem.max_rounds
        start = time.perf_counter()
        with progress(problem.verbose, desc="passes") as bar:
            found = solve(spec, block, sample, options, passes, bar)
        last = found.history[-1]
        warn_of_gap(name, last, passes, spec, options)
        alpha = found.alpha
        residuals = Residuals(0.0, 0.0, 0.0, last["gap"])
        return Solution(
            found.f,
            alpha,
            alpha > spec.negligible_dual(sample.cost, float(alpha.max(initial=0.0))),
            Outcome(self.name, last["status"], residuals, 0.0, time.perf_counter() - start),
            {f"{name}.worst": alpha[sample.counted_training]},
            slack=found.slack,
            history=found.history,
        )

    def judge(self, problem: Problem, solution: Solution, options: dict[str, Any], final: bool) -> None:
        """Keep the status of the last pass."""


def solve(
    spec: Spec, block: OrbitLoss, sample: Sample, options: dict[str, Any], passes: int, bar: Any
) -> Passes:
    """Run passes through the rows until the bounds meet to ``spec.tol``, at most ``passes`` times."""
    return run_passes(_Rows(spec, block, sample, options), options, passes, bar)


class _Rows(Stream):
    """The rows of a model of two classes, whose decision function has a bias."""

    n_functions = 1
    balanced = True

    def __init__(self, spec: Spec, block: OrbitLoss, sample: Sample, options: Mapping[str, Any]):
        super().__init__(spec, sample, options.get("batch", BATCH))
        self.block = block
        self.interchangeable = block.uniform
        self.features = LinearMap(sample.X.shape[1], spec.scale)

    def linear_function(self, coefficients: Array) -> Fitted:
        return self.features.fitted(coefficients[:, 0], 0.0)

    def expansion(self, centres: Array, weights: Array) -> Fitted:
        assert self.spec.kernel is not None
        return FittedKernel(0.0, self.spec.kernel, centres, weights[:, 0], self.spec.scale)

    def with_bias(self, f: Any, bias: float) -> Fitted:
        with_bias: Fitted = replace(f, bias=f.bias + bias)
        return with_bias

    def classes(self) -> Array:
        return self.sample.y[self.active]

    def direction(self, f: Fitted, part: Array) -> Direction:
        rows, found = self._worst(f, part)
        y = self.sample.y[rows]
        required = found.margins - y * f.value(found.points)
        _, alpha = best_bias(required, y, self.count * self.C[rows])
        return Direction(rows, found.moves, found.points, y[:, None], alpha, found.margins)

    def loss(self, f: Fitted) -> tuple[Array, float]:
        y = self.sample.y
        required = np.zeros(len(self.sample))
        for part in np.array_split(self.active, self.count):
            rows, found = self._worst(f, part)
            required[rows] = found.margins - y[rows] * f.value(found.points)
        b, _ = best_bias(required[self.active], y[self.active], self.C[self.active])
        return np.where(self.C > 0, np.maximum(required - y * b, 0.0), 0.0), b

    def _worst(self, f: Fitted, rows: Array) -> tuple[Array, Members]:
        """Return the rows, training rows first, and their worst members; added rows are not transformed.

        The bias has no effect on which member is worst.
        """
        sample = self.sample
        train = rows[rows < sample.n_train]
        rest = rows[rows >= sample.n_train]
        found = self.block.worst_members(
            f, sample.X[train], sample.y[train], sample.margin[train], sample.labels[train]
        )
        if len(rest) == 0:
            return train, found
        margins = np.concatenate([found.margins, sample.margin[rest]])
        points = stack(found.points, sample.X[rest])
        moves = np.concatenate([found.moves, np.zeros(len(rest), int)])
        return np.concatenate([train, rest]), Members(margins, points, moves)
