r"""Predictor-corrector method on the homogeneous embedding.

.. math:: \min \tfrac12 x^\top P x + q^\top x \quad\text{s.t.}\quad A x + s = b,\; s \in K

The optimality conditions get a variable :math:`\tau \ge 0` that multiplies the data, and :math:`\kappa \ge
0` for the duality gap:

.. math:: P x + A^\top z + q \tau = 0, \quad A x + s - b \tau = 0, \quad
          \kappa + q^\top x + b^\top z + x^\top P x / \tau = 0, \quad s \circ z = 0,\; \tau \kappa = 0 .

If :math:`\tau > 0` at the end, :math:`x / \tau` is optimal. If :math:`\tau` vanishes, z is a certificate of
infeasibility or x a certificate of unboundedness.

One step. Let :math:`r_x, r_z, r_\tau` be the residuals of the first three equations, and W the scaling with
:math:`\lambda = W z = W^{-\top} s`. Let :math:`\mu` be the mean of :math:`s \circ z` and :math:`\tau\kappa`,
and σ the share of :math:`\mu` to keep. The Newton direction is
:math:`(\Delta x, \Delta z) = (x_1, z_1) + \Delta\tau\,(x_2, z_2)`. Both pairs solve the KKT system of
:mod:`.newton`, with the right-hand sides

.. math:: (-(1-\sigma) r_x,\; d - (1-\sigma) r_z) \quad\text{and}\quad (-q,\; b), \qquad
          \Delta s + W^\top W \Delta z = -d .

The predictor has :math:`\sigma = 0` and :math:`d = s`. With its step length α, the corrector has
:math:`\sigma = (1-\alpha)^3` and :math:`d = s + W^\top (\lambda \backslash (\Delta s \circ \Delta z -
\sigma\mu e))` in scaled coordinates.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .cones import Array, Cones, drop_empty_cones
from .mixed import MixedMatrix
from .newton import Newton
from .partition import Partition

# Share of the way to the boundary that a step takes. It grows to FARTHEST as the predictor nears the
# solution. It is NEARER if some products s z are below LAGGING times the mean.
FAR = 0.99
NEARER = 0.9
LAGGING = 0.01
FARTHEST = 0.9999

# A KKT solve with a larger relative error is repeated with the QR factor.
INACCURATE = 1e-11

# Largest residual of a certificate, relative to what it proves.
CERTIFICATE = 1e-8

# If no step helps any more, a point within this factor of the tolerance is almost optimal. Near the
# tolerance, the method stops after SLOW steps in a row that do not halve the residual, and anywhere after
# STALLED without a gain.
ALMOST = 100.0
SLOW = 2
STALLED = 12

# Rows and columns are multiplied or divided by at most this factor.
LARGEST_SCALE = 1e4

# Ratio κ / τ above which a feasible point is unlikely.
SUSPICIOUS = 1e3

# After a shorter corrector step, a step towards the central path is tried, with the share CENTRED of mu.
POOR = 0.2
CENTRED = 0.8

# A step shorter than this is not taken.
SHORTEST = 1e-9


@dataclass(frozen=True, eq=False)
class InteriorPointResult:
    """Last or best point of the method.

    Attributes
    ----------
    status : "optimal", "almost", "infeasible", "unbounded", "limit" or "stopped".
    x, z : primal and dual variables, or the direction that is the certificate.
    residuals : relative primal residual, dual residual and gap.
    iterations : steps taken.
    """

    status: str
    x: Array
    z: Array
    residuals: tuple[float, float, float]
    iterations: int

    @property
    def worst(self) -> float:
        """Largest of the residuals."""
        return max(self.residuals)


def minimise(
    P: Any,
    q: Array,
    A: Any,
    b: Array,
    cones: Cones,
    tol: float,
    max_iter: int,
    constant: float = 0.0,
    time_limit: float = np.inf,
) -> InteriorPointResult:
    """Solve a problem that has cones only.

    Parameters
    ----------
    P, A : MixedMatrix or sparse array
        Quadratic costs, and rows in the order of the cones.
    q, b : arrays
        Linear costs and right-hand side.
    cones : Cones
        The cones. A cone without variables is checked and dropped.
    tol : float
        Largest relative residual and gap of an optimal solution.
    max_iter : int
        Steps, at most.
    constant : float, default=0.0
        Constant of the objective. The gap is relative to the smaller of the objectives with and without it.
    time_limit : float, default=inf
        Seconds after which no further step is taken.
    """
    end = time.perf_counter() + time_limit
    A = MixedMatrix.of(A)
    kept, remaining, certificate = drop_empty_cones(A.used(), b, cones)
    if certificate is not None:
        return InteriorPointResult("infeasible", np.zeros(len(q)), certificate, (0.0, 0.0, 0.0), 0)
    A = A.subset(kept)
    method = _Embedding(_ScaledProblem(P, q, A, b[kept], remaining), tol, max_iter, constant, end)
    result = method.run()
    if result.status in ("stopped", "limit") and method.kappa > SUSPICIOUS * method.tau:
        # Infeasibility does not depend on the objective, and is certified sooner without it.
        without_objective = _ScaledProblem(0.0 * P, 0.0 * q, A, b[kept], remaining)
        other = _Embedding(without_objective, tol, max_iter, end=end).run()
        if other.status == "infeasible":
            result = replace(other, iterations=result.iterations + other.iterations)
    z = np.zeros(len(b))
    z[kept] = result.z
    return replace(result, z=z)


class _ScaledProblem:
    """Problem with shared variables first, and with rows and columns of similar size.

    Attributes
    ----------
    matrices : P and A, scaled.
    q, b : scaled; ``q0`` and ``b0`` are the unscaled ones.
    row_scale, column_scale, objective_scale : factors of the rows, the columns and the objective.
    quadratic : whether P is not zero.
    """

    def __init__(self, P: Any, q: Array, A: Any, b: Array, cones: Cones):
        self.matrices = Partition(P, A, cones)
        self.cones = cones
        self.q0 = q[self.matrices.columns]
        self.b0 = b
        self._equilibrate()
        q = self.q0 * self.column_scale
        self.b = b * self.row_scale
        P_maxima = self.matrices.maxima(self.row_scale, self.column_scale)[2]
        unit = max(np.abs(q).max(initial=0.0), P_maxima.mean() if len(q) else 0.0)
        self.objective_scale = 1.0 / unit if unit > 0 else 1.0
        self.q = q * self.objective_scale
        self.quadratic = bool(P_maxima.any())
        self.matrices.scale(self.row_scale, self.column_scale, self.objective_scale)

    def _equilibrate(self) -> None:
        """Find factors that bring the largest entries of rows and columns near 1; a cone has one factor."""
        m, n = self.matrices.shape
        self.row_scale = np.ones(m)
        self.column_scale = np.ones(n)
        for _ in range(8):
            rows, columns, P_maxima = self.matrices.maxima(self.row_scale, self.column_scale)
            for batch in self.cones.batches:
                part = batch.part(rows)
                part[...] = part.max(axis=0, keepdims=True)
            row_factor = _factor(self.row_scale, rows)
            column_factor = _factor(self.column_scale, np.maximum(columns, P_maxima))
            change = max(np.abs(row_factor - 1).max(initial=0), np.abs(column_factor - 1).max(initial=0))
            if change < 0.05:
                break
            self.row_scale = self.row_scale * row_factor
            self.column_scale = self.column_scale * column_factor

    def in_given_order(self, x: Array) -> Array:
        """Return the variables in the order in which they were given."""
        out = np.empty_like(x)
        out[self.matrices.columns] = x
        return out


def _factor(scale: Array, largest: Array) -> Array:
    """Return factors of a scale that make the largest entries 1, within the limits of the scale.

    The limits keep tiny rows tiny: a row of rounding errors must not become a constraint.
    """
    scaled = scale / np.sqrt(np.where(largest > 0, largest, 1.0))
    return np.clip(scaled, 1 / LARGEST_SCALE, LARGEST_SCALE) / scale


class _Unscaled(NamedTuple):
    """Present point and its products, in the units of the problem as given."""

    x: Array
    s: Array
    z: Array
    Px: Array
    Ax: Array
    Atz: Array


class _Embedding:
    """Iterates of the homogeneous embedding: x, s, z, tau, kappa."""

    def __init__(
        self,
        problem: _ScaledProblem,
        tol: float,
        max_iter: int,
        constant: float = 0.0,
        end: float = np.inf,
    ):
        self.problem = problem
        self.tol = tol
        self.max_iter = max_iter
        self.constant = constant
        self.end = end
        self.cones = problem.cones
        self.newton = Newton(problem.matrices, problem.cones)

    def run(self) -> InteriorPointResult:
        """Iterate until a point is optimal or a certificate, or no step helps, and return the best point."""
        self._start()
        best: InteriorPointResult | None = None
        stalled = 0
        slow = 0
        previous = np.inf
        for iteration in range(self.max_iter + 1):
            point = self._evaluate(iteration)
            if point.status != "stopped":
                return point
            if best is None or point.worst < best.worst:
                best = point
                stalled = 0
            else:
                stalled += 1
            slow = slow + 1 if point.worst > 0.5 * previous else 0
            previous = point.worst
            almost = best.worst <= ALMOST * self.tol
            if stalled > STALLED or (almost and slow >= SLOW) or not np.isfinite(point.worst):
                break
            if iteration == self.max_iter or time.perf_counter() >= self.end:
                return replace(best, status="almost" if almost else "limit")
            if not self._step():
                break
        assert best is not None
        return replace(best, status="almost") if best.worst <= ALMOST * self.tol else best

    def _start(self) -> None:
        """Set the least-squares point, shifted into the cones."""
        p = self.problem
        newton = self.newton
        e = self.cones.identity()
        self.cones.update_scaling(e, e)
        newton.factor()
        if p.quadratic:
            self.x, z, _ = newton.solve(-p.q, p.b)
            s = -z
        else:
            self.x, minus_s, _ = newton.solve(np.zeros_like(p.q), p.b)
            s = -minus_s
            _, z, _ = newton.solve(-p.q, np.zeros_like(p.b))
        self.s = self._into_cones(s, e)
        self.z = self._into_cones(z, e)
        self.tau = 1.0
        self.kappa = 1.0

    def _into_cones(self, vector: Array, e: Array) -> Array:
        """Return the vector, shifted along e if it is not well inside the cones."""
        smallest = self.cones.min_eigenvalue(vector)
        size = max(1.0, float(np.abs(vector).max(initial=0.0)))
        return vector + (size - smallest) * e if smallest < 1e-3 * size else vector

    def _evaluate(self, iteration: int) -> InteriorPointResult:
        """Return the present point with its residuals and status, in the units of the problem as given."""
        p = self.problem
        # The step uses these products too.
        self.Px = p.matrices.times_P(self.x)
        self.Ax = p.matrices.times_A(self.x)
        self.Atz = p.matrices.times_At(self.z)
        gradient_scale = p.column_scale * p.objective_scale
        v = _Unscaled(
            p.column_scale * self.x,
            self.s / p.row_scale,
            p.row_scale * self.z / p.objective_scale,
            self.Px / gradient_scale,
            self.Ax / p.row_scale,
            self.Atz / gradient_scale,
        )
        qx = float(p.q0 @ v.x)
        bz = float(p.b0 @ v.z)
        residuals = self._residuals(v, qx, bz)
        # No x shorter than 1 / CERTIFICATE is feasible, or the objective falls along x for so long.
        vanishing = self.tau < 1e-2 * self.kappa
        status = "stopped"
        x_unit = self.tau
        z_unit = self.tau
        if max(residuals) <= self.tol:
            status = "optimal"
        elif vanishing and bz < 0 and _norm(v.Atz) <= CERTIFICATE * -bz:
            status = "infeasible"
            x_unit = 1.0
            z_unit = -bz
        elif vanishing and qx < 0 and max(_norm(v.Px), _norm(v.Ax + v.s)) <= CERTIFICATE * -qx:
            status = "unbounded"
            x_unit = -qx
            z_unit = 1.0
        return InteriorPointResult(status, p.in_given_order(v.x / x_unit), v.z / z_unit, residuals, iteration)

    def _residuals(self, v: _Unscaled, qx: float, bz: float) -> tuple[float, float, float]:
        """Return the relative primal residual, dual residual and gap of the point divided by tau.

        Residuals are relative to the numbers that cancel, or to the data where these numbers are below 1.
        """
        p = self.problem
        tau = self.tau
        quadratic = float(v.x @ v.Px)
        primal = _norm(v.Ax + v.s - p.b0 * tau) / tau
        dual = _norm(v.Px + v.Atz + p.q0 * tau) / tau
        value = (0.5 * quadratic / tau + qx) / tau
        bound = (-0.5 * quadratic / tau - bz) / tau
        unit = min(_norm(p.b0) or 1.0, 1.0)
        primal /= max(unit, _norm(p.b0) + _norm(v.x) / tau + _norm(v.s) / tau)
        unit = min(1.0 / p.objective_scale, _norm(p.q0) or 1.0, 1.0)
        dual /= max(unit, _norm(p.q0) + _norm(v.Px) / tau + _norm(v.Atz) / tau)
        sizes = (abs(objective + more) for objective in (value, bound) for more in (0.0, self.constant))
        gap = abs(value - bound) / max(unit, min(sizes))
        # If rounding of the rows alone changes the value by its own size, the gap has no meaning.
        meaningful = self.tol * float(np.abs(v.z).sum()) / tau <= max(abs(value), unit)
        if max(primal, dual, gap) <= ALMOST * self.tol and not meaningful:
            gap = np.inf
        return primal, dual, gap

    def _step(self) -> bool:
        """Take a predictor-corrector step, and return whether the point has changed."""
        try:
            with np.errstate(all="ignore"):
                self.cones.update_scaling(self.s, self.z)
                self.newton.factor()
                return self._predict_and_correct()
        except (FloatingPointError, np.linalg.LinAlgError):
            return False

    def _predict_and_correct(self) -> bool:
        system = _Linearisation(self)
        mu = system.mu
        tau_kappa = self.tau * self.kappa
        predictor = system.direction(1.0, self.s, tau_kappa)
        length = min(1.0, system.longest(predictor))
        lagging = not min(self.cones.min_eigenvalue_of_lam() ** 2, tau_kappa) > LAGGING * mu
        share = NEARER if lagging else min(max(FAR, length), FARTHEST)
        sigma = (1.0 - length) ** 3
        e = self.cones.identity()
        second_order = self.cones.product(predictor.scaled_s, predictor.scaled_z)
        chosen = system.direction(
            1.0 - sigma,
            system.corrected(second_order - sigma * mu * e),
            float(tau_kappa + predictor.tau * predictor.kappa - sigma * mu),
        )
        length = min(1.0, share * system.longest(chosen))
        if length < POOR:
            sigma = CENTRED
            centring = system.direction(
                1.0 - sigma, system.corrected(-sigma * mu * e), tau_kappa - sigma * mu
            )
            longer = min(1.0, share * system.longest(centring))
            if longer > length:
                chosen = centring
                length = longer
        finite = np.isfinite(length) and np.isfinite(chosen.x).all() and np.isfinite(chosen.z).all()
        if not finite or length < SHORTEST:
            return False
        self._move(chosen, length)
        return True

    def _move(self, direction: _Direction, length: float) -> None:
        """Move along a direction, and divide by max(tau, kappa): the embedding is homogeneous."""
        tau = float(self.tau + length * direction.tau)
        kappa = float(self.kappa + length * direction.kappa)
        size = max(tau, kappa)
        self.x = (self.x + length * direction.x) / size
        self.z = (self.z + length * direction.z) / size
        self.s = (self.s + length * direction.s) / size
        self.tau = tau / size
        self.kappa = kappa / size


class _Direction(NamedTuple):
    """Changes of x, z, s, tau and kappa, and of s and z in scaled coordinates."""

    x: Array
    z: Array
    s: Array
    scaled_s: Array
    scaled_z: Array
    tau: Any
    kappa: Any


class _Linearisation:
    r"""Optimality conditions, linearised at the present point.

    The pair for :math:`(-q, b)` is found from the present point, which satisfies

    .. math:: \begin{pmatrix} P & A^\top \\ A & -W^\top W \end{pmatrix} \begin{pmatrix} x \\ z \end{pmatrix} =
              \tau \begin{pmatrix} -q \\ b \end{pmatrix} + \begin{pmatrix} r_x \\ r_z - 2s \end{pmatrix} .

    So :math:`(x_2, z_2) = ((x, z) - (\delta x, \delta z)) / \tau`, where :math:`(\delta x, \delta z)` solves
    the system for :math:`(r_x, r_z - 2s)`. This right-hand side is small on rows where W is small, which
    keeps digits near the solution.
    """

    def __init__(self, point: _Embedding):
        p = point.problem
        newton = point.newton
        tau = point.tau
        x = point.x
        lam = point.cones.lam
        self.point = point
        self.r_x = point.Px + point.Atz + p.q * tau
        self.r_z = point.Ax + point.s - p.b * tau
        self.r_tau = point.kappa + p.q @ x + p.b @ point.z + x @ point.Px / tau
        self.mu = float(lam @ lam + tau * point.kappa) / (point.cones.degree + 1)
        delta = newton.solve(self.r_x, self.r_z - 2.0 * point.s)
        if newton.error > INACCURATE:
            newton.factor(by_qr=True)
            delta = newton.solve(self.r_x, self.r_z - 2.0 * point.s)
        self.x2 = (x - delta.x) / tau
        self.z2 = (point.z - delta.z) / tau
        self.Ax2 = (point.Ax - delta.Ax) / tau
        P_xi = point.Px / tau
        self.gradient = p.q + 2.0 * P_xi
        self.divisor = self.gradient @ self.x2 + p.b @ self.z2 - (x / tau) @ P_xi - point.kappa / tau

    def direction(self, share: float, d: Array, d_kappa: float) -> _Direction:
        """Return the direction that removes a share of the residuals, with Δs + W'WΔz = -d."""
        point = self.point
        b = point.problem.b
        x1, z1, Ax1 = point.newton.solve(-share * self.r_x, d - share * self.r_z)
        d_tau = (-share * self.r_tau + d_kappa / point.tau - self.gradient @ x1 - b @ z1) / self.divisor
        dx = x1 + d_tau * self.x2
        dz = z1 + d_tau * self.z2
        # From the rows A x + s = b, which then hold however accurate the solve was.
        ds = b * d_tau - share * self.r_z - Ax1 - d_tau * self.Ax2
        kappa = -(d_kappa + point.kappa * d_tau) / point.tau
        return _Direction(dx, dz, ds, point.cones.Wt_inverse(ds), point.cones.W(dz), d_tau, kappa)

    def longest(self, direction: _Direction) -> float:
        """Return the longest step along a direction that keeps s, z, tau and kappa in their cones."""
        point = self.point
        step = point.cones.step_length(direction.scaled_s, direction.scaled_z)
        step = min(step, -point.tau / direction.tau if direction.tau < 0 else np.inf)
        return float(min(step, -point.kappa / direction.kappa if direction.kappa < 0 else np.inf))

    def corrected(self, target: Array) -> Array:
        r"""Return :math:`d = s + W^\top(\lambda \backslash \text{target})`, as :math:`W^\top \lambda = s`."""
        cones = self.point.cones
        return self.point.s + cones.Wt(cones.divide(target))


def _norm(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))
