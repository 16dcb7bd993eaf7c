r"""Predictor and corrector on the homogeneous embedding.

.. math:: \min \tfrac12 x^\top P x + q^\top x \quad\text{s.t.}\quad A x + s = b,\; s \in K

Its optimality conditions get a variable :math:`\tau \ge 0` that scales the data, and
:math:`\kappa \ge 0` for what the gap lacks:

.. math:: P x + A^\top z + q \tau = 0, \quad A x + s - b \tau = 0, \quad
          \kappa + q^\top x + b^\top z + x^\top P x / \tau = 0, \quad s \circ z = 0,\; \tau \kappa = 0 .

Where :math:`\tau > 0` in the end, :math:`x / \tau` is optimal; where it vanishes, z or x is a proof that
there is no feasible point, or no lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .cones import Array, Cones
from .newton import Newton
from .parted import Parted

# A step stops short of the boundary: sooner where some products s z lag behind the others, and later where
# the predictor has nearly arrived.
SHORT = 0.99
SHORTER = 0.9
LAGGING = 0.01
NEARLY = 0.9999

# A solve with more error than this is repeated with a better factor.
CARELESS = 1e-11

# What a certificate of infeasibility or unboundedness may lack, relative to what it proves.
PROOF = 1e-8

# Where no step helps any more, so many times the tolerance is almost an answer; nor are more steps taken
# where two in a row do not halve what is left.
ALMOST = 100.0
SLOW = 2

# Rows and columns are multiplied by no more than this, nor divided.
RESCALED = 1e4

# Where κ is so much larger than τ there is probably no feasible point.
SUSPICIOUS = 1e3

# After a shorter step than this the method goes to the middle of the cones instead.
POOR = 0.2


@dataclass(frozen=True, eq=False)
class Point:
    """Where the method ended.

    Attributes
    ----------
    status : "optimal", "almost", "infeasible", "unbounded", "limit" or "stopped".
    x, s, z : of an answer; of a proof, the direction that proves it.
    residuals : primal, dual and gap, relative.
    """

    status: str
    x: Array
    s: Array
    z: Array
    residuals: tuple[float, float, float]
    iterations: int

    @property
    def worst(self) -> float:
        return max(self.residuals)


def minimise(
    P: Any, q: Array, A: Any, b: Array, cones: Cones, tol: float, limit: int, constant: float = 0.0
) -> Point:
    """Solve the problem with cones only; gaps are relative to the objective with and without a constant."""
    method = _Method(_Scaled(P, q, A, b, cones), tol, limit, constant)
    point = method.run()
    if point.status in ("stopped", "limit") and method.kappa > SUSPICIOUS * method.tau:
        # It looks infeasible, which has nothing to do with the objective: a proof is found sooner without.
        alone = _Method(_Scaled(0.0 * P, 0.0 * q, A, b, cones), tol, limit).run()
        if alone.status == "infeasible":
            return replace(alone, iterations=point.iterations + alone.iterations)
    return point


class _Scaled:
    """The problem with rows and columns of about the same size, shared variables first, and the way back."""

    def __init__(self, P: Any, q: Array, A: Any, b: Array, cones: Cones):
        self.matrices = Parted(P, A, cones)
        self.cones = cones
        self.q0 = q[self.matrices.columns]
        self.b0 = b
        m, n = self.matrices.shape
        left = np.ones(m)
        right = np.ones(n)
        for _ in range(8):
            rows, columns, of_P = self.matrices.maxima(left, right)
            for batch in cones.batches:
                part = batch.of(rows)
                part[...] = part.max(axis=0, keepdims=True)
            columns = np.maximum(columns, of_P)
            # What is tiny stays tiny: a row of rounding errors must not become a demand.
            rows, columns = (
                np.clip(old / np.sqrt(np.where(new > 0, new, 1.0)), 1 / RESCALED, RESCALED) / old
                for old, new in ((left, rows), (right, columns))
            )
            if max(np.abs(rows - 1).max(initial=0), np.abs(columns - 1).max(initial=0)) < 0.05:
                break
            left = left * rows
            right = right * columns
        self.left = left
        self.right = right
        q = self.q0 * right
        self.b = b * left
        of_P = self.matrices.maxima(left, right)[2]
        unit = max(np.abs(q).max(initial=0.0), of_P.mean() if n else 0.0)
        self.objective = 1.0 / unit if unit > 0 else 1.0
        self.q = q * self.objective
        self.quadratic = bool(of_P.any())
        self.matrices.scale(left, right, self.objective)

    def as_given(self, x: Array) -> Array:
        """The variables in the order they came in."""
        out = np.empty_like(x)
        out[self.matrices.columns] = x
        return out


class _Method:
    """The iterates, and where they lead."""

    def __init__(self, problem: _Scaled, tol: float, limit: int, constant: float = 0.0):
        self.p = problem
        self.tol = tol
        self.limit = limit
        self.constant = constant
        self.cones = problem.cones
        self.newton = Newton(problem.matrices, problem.cones)

    def run(self) -> Point:
        p = self.p
        cones = self.cones
        newton = self.newton
        self._start()
        best: Point | None = None
        stalled = 0
        slow = 0
        last = np.inf
        for iteration in range(self.limit + 1):
            point = self._judge(iteration)
            if point.status != "stopped":
                return point
            if best is None or point.worst < best.worst:
                best = point
                stalled = 0
            else:
                stalled += 1
            slow = slow + 1 if point.worst > 0.5 * last else 0
            last = point.worst
            almost = best.worst <= ALMOST * self.tol
            if stalled > 12 or (almost and slow >= SLOW) or not np.isfinite(point.worst):
                break
            if iteration == self.limit:
                return replace(best, status="almost" if almost else "limit")
            try:
                with np.errstate(all="ignore"):
                    cones.rescale(self.s, self.z)
                    newton.factor()
                    moved = self._step(p)
            except (FloatingPointError, np.linalg.LinAlgError):
                break
            if not moved:
                break
        assert best is not None
        return replace(best, status="almost") if best.worst <= ALMOST * self.tol else best

    def _start(self) -> None:
        """The least-squares point, moved into the cones."""
        p = self.p
        cones = self.cones
        newton = self.newton
        e = cones.identity()
        cones.rescale(e, e)
        newton.factor()
        if p.quadratic:
            self.x, self.z, _ = newton.solve(-p.q, p.b)
            self.s = -self.z
        else:
            self.x, minus, _ = newton.solve(np.zeros_like(p.q), p.b)
            self.s = -minus
            _, self.z, _ = newton.solve(-p.q, np.zeros_like(p.b))
        for name in ("s", "z"):
            vector = getattr(self, name)
            margin = cones.margin(vector)
            size = max(1.0, float(np.abs(vector).max(initial=0.0)))
            if margin < 1e-3 * size:
                setattr(self, name, vector + (size - margin) * e)
        self.tau = self.kappa = 1.0

    def _judge(self, iteration: int) -> Point:
        """What the present point proves, in the units of the problem as it was given."""
        p = self.p
        tau = self.tau
        # These products serve the next step too.
        self.Px, self.Ax = p.matrices.times_P(self.x), p.matrices.times_A(self.x)
        self.Atz = p.matrices.times_At(self.z)
        x = p.right * self.x
        s = self.s / p.left
        z = p.left * self.z / p.objective
        slope = p.right * p.objective
        Px = self.Px / slope
        Atz = self.Atz / slope
        Ax = self.Ax / p.left
        qx = float(p.q0 @ x)
        bz = float(p.b0 @ z)
        quadratic = float(x @ Px)
        # An answer, if divided by tau.
        primal = _norm(Ax + s - p.b0 * tau) / tau
        dual = _norm(Px + Atz + p.q0 * tau) / tau
        value = (0.5 * quadratic / tau + qx) / tau
        bound = (-0.5 * quadratic / tau - bz) / tau
        # Relative to the numbers that had to cancel, or to those of the data where these are smaller than 1.
        unit = min(_norm(p.b0) or 1.0, 1.0)
        primal /= max(unit, _norm(p.b0) + _norm(x) / tau + _norm(s) / tau)
        unit = min(1.0 / p.objective, _norm(p.q0) or 1.0, 1.0)
        dual /= max(unit, _norm(p.q0) + _norm(Px) / tau + _norm(Atz) / tau)
        sizes = (abs(v + more) for v in (value, bound) for more in (0.0, self.constant))
        gap = abs(value - bound) / max(unit, min(sizes))
        residuals = (primal, dual, gap)
        # Where rounding of a row would change the value by all of it, no tolerance makes an answer.
        sensible = self.tol * float(np.abs(z).sum()) / tau <= max(abs(value), unit)
        if max(residuals) <= ALMOST * self.tol and not sensible:
            residuals = (primal, dual, np.inf)
        # A proof, if tau vanishes: no x shorter than 1 / PROOF is feasible, or x leads down for so long.
        vanishing = tau < 1e-2 * self.kappa
        status = "stopped"
        unit_x = tau
        unit_z = tau
        if max(residuals) <= self.tol:
            status = "optimal"
        elif vanishing and bz < 0 and _norm(Atz) <= PROOF * -bz:
            status = "infeasible"
            unit_x = 1.0
            unit_z = -bz
        elif vanishing and qx < 0 and max(_norm(Px), _norm(Ax + s)) <= PROOF * -qx:
            status = "unbounded"
            unit_x = -qx
            unit_z = 1.0
        return Point(status, p.as_given(x / unit_x), s / unit_x, z / unit_z, residuals, iteration)

    def _step(self, p: _Scaled) -> bool:
        """Predictor and corrector; whether it went anywhere."""
        cones = self.cones
        newton = self.newton
        x = self.x
        s = self.s
        z = self.z
        tau = self.tau
        kappa = self.kappa
        lam = cones.lam
        Px = self.Px
        xi = x / tau
        Pxi = Px / tau
        r_x = Px + self.Atz + p.q * tau
        r_z = self.Ax + s - p.b * tau
        r_tau = kappa + p.q @ x + p.b @ z + x @ Px / tau
        mu = float(lam @ lam + tau * kappa) / (cones.degree + 1)
        # (x, z) almost solves the system for (-q, b), as W'Wz = s: what it lacks is small where W is.
        lacks = newton.solve(r_x, r_z - 2.0 * s)
        if newton.error > CARELESS:
            newton.factor(careful=True)
            lacks = newton.solve(r_x, r_z - 2.0 * s)
        x2 = (x - lacks.x) / tau
        z2 = (z - lacks.z) / tau
        Ax2 = (self.Ax - lacks.Ax) / tau
        short = SHORT if min(cones.least() ** 2, tau * kappa) > LAGGING * mu else SHORTER
        slope = p.q + 2.0 * Pxi
        divisor = slope @ x2 + p.b @ z2 - xi @ Pxi - kappa / tau

        def direction(share: float, d_s: Array, d_kappa: float) -> tuple[Any, ...]:
            """Where products s z change by W'd_s."""
            x1, z1, Ax1 = newton.solve(-share * r_x, d_s - share * r_z)
            d_tau = (-share * r_tau + d_kappa / tau - slope @ x1 - p.b @ z1) / divisor
            dx = x1 + d_tau * x2
            dz = z1 + d_tau * z2
            scaled_z = cones.W(dz)
            # From the rows, not from the products: then the rows hold whatever the system was solved to.
            ds = p.b * d_tau - share * r_z - Ax1 - d_tau * Ax2
            scaled_s = cones.Wt_inverse(ds)
            dk = -(d_kappa + kappa * d_tau) / tau
            return dx, dz, ds, scaled_s, scaled_z, d_tau, dk

        def longest(scaled_s: Array, scaled_z: Array, d_tau: Any, dk: Any) -> float:
            step = cones.step(scaled_s, scaled_z)
            step = min(step, -tau / d_tau if d_tau < 0 else np.inf)
            return float(min(step, -kappa / dk if dk < 0 else np.inf))

        def corrected(target: Array) -> Array:
            return s + cones.Wt(cones.divide(target))  # as W'(λ \\ λ∘λ) = s

        # Predictor.
        _, _, _, ss, sz, dt, dk = direction(1.0, s, tau * kappa)
        alpha = min(1.0, longest(ss, sz, dt, dk))
        sigma = (1.0 - alpha) ** 3
        if short == SHORT:
            short = min(max(short, alpha), NEARLY)
        # Corrector.
        e = cones.identity()
        target = corrected(cones.product(ss, sz) - sigma * mu * e)
        dx, dz, ds, ss, sz, dt, dk = direction(1.0 - sigma, target, float(tau * kappa + dt * dk - sigma * mu))
        alpha = min(1.0, short * longest(ss, sz, dt, dk))
        if alpha < POOR:  # the second order leads astray: to the middle first
            sigma = 0.8
            other = direction(1.0 - sigma, corrected(-sigma * mu * e), tau * kappa - sigma * mu)
            longer = min(1.0, short * longest(*other[3:]))
            if longer > alpha:
                (dx, dz, ds, ss, sz, dt, dk), alpha = other, longer
        if not (np.isfinite(alpha) and np.isfinite(dx).all() and np.isfinite(dz).all()) or alpha < 1e-9:
            return False
        self.x = x + alpha * dx
        self.z = z + alpha * dz
        self.s = s + alpha * ds
        self.tau = float(tau + alpha * dt)
        self.kappa = float(kappa + alpha * dk)
        # The embedding is homogeneous: only directions matter.
        size = max(self.tau, self.kappa)
        self.x, self.z, self.s = self.x / size, self.z / size, self.s / size
        self.tau, self.kappa = self.tau / size, self.kappa / size
        return True


def _norm(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))
