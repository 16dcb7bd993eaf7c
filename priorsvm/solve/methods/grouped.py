r"""An interior-point method for the dual of an SVM whose rows come in groups that share a slack.

.. math:: \min_\alpha\; \tfrac12 \alpha^\top Q \alpha - \delta^\top \alpha \quad\text{s.t.}\quad
          \alpha \ge 0, \quad \sum_{k \in i} g_k \alpha_k \le C_i, \quad y^\top \alpha = 0 .

The multiplier of the sum over group i is its slack :math:`\xi_i`, that of :math:`y^\top\alpha = 0` is the
bias. One dense Cholesky factorisation for each step (Mehrotra's predictor and corrector).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..._utils.arrays import Array
from ...errors import SolverFailed


@dataclass(frozen=True)
class GroupedSolution:
    """What the method found.

    Attributes
    ----------
    alpha : the dual variables.
    slack : (n,) array, that of every group.
    bias : the multiplier of the equality; 0 if there was none.
    gap : relative duality gap.
    steps : how many steps it took.
    """

    alpha: Array
    slack: Array
    bias: float
    gap: float
    steps: int


def solve_grouped(
    Q: Array,
    delta: Array,
    group: Array,
    limit: Array,
    y: Array | None = None,
    share: Array | None = None,
    tol: float = 1e-9,
    max_steps: int = 100,
) -> GroupedSolution:
    """Solve the dual.

    Parameters
    ----------
    Q : (m, m) positive semidefinite matrix
    delta : (m,) array
    group : (m,) array, the group of every variable, 0 to n - 1
    limit : (n,) positive array, C of every group
    y : (m,) array, for machines with a bias
    share : (m,) positive array g, by default ones
    tol : relative residuals and duality gap
    """
    m = len(delta)
    n = len(limit)
    g = np.ones(m) if share is None else share
    sign = np.zeros(m) if y is None else y
    scale = float(np.max(limit))  # variables of the size of one
    Q = Q * scale
    C = limit / scale
    order = np.argsort(group, kind="stable")
    rows, columns = _pairs(group, order)
    counts = np.bincount(group, g, minlength=n)
    alpha = np.full(m, 1.0) * (0.5 * C / np.maximum(counts, 1e-300))[group]
    s = C - np.bincount(group, g * alpha, minlength=n)
    z = np.ones(m)
    xi = np.ones(n)
    b = 0.0
    size = 1.0 + float(np.abs(delta).max())
    unit = min(1.0, float(limit.sum())) / scale  # small costs are no excuse for a gap
    total = m + n
    best = np.inf
    since = 0
    for step in range(1, max_steps + 1):
        Qa = Q @ alpha
        dual = Qa - delta - z + g * xi[group] + (0.0 if y is None else b * y)
        primal = np.bincount(group, g * alpha, minlength=n) + s - C
        balance = 0.0 if y is None else float(y @ alpha)
        mu = float(alpha @ z + s @ xi) / total
        value = abs(0.5 * float(alpha @ Qa)) + float(C @ xi)
        gap = mu * total / (unit + value)
        worst = max(gap, float(np.abs(dual).max()) / size, float(np.abs(primal).max()), abs(balance))
        if worst < best:
            best = worst
            since = 0
            answer = GroupedSolution(alpha * scale, xi, b, gap, step)
        since += 1
        if worst <= tol or since > 4:  # or rounding has had the last word
            break
        M = Q.copy()
        M[np.arange(m), np.arange(m)] += z / alpha
        M[rows, columns] += g[rows] * g[columns] * (xi / s)[group[rows]]
        factor = _factor(M)

        target = 0.0
        bent = np.zeros(m)
        bent_s = np.zeros(n)
        for correcting in (False, True):
            inner = (target - bent) / alpha - z
            outer = (target - bent_s) / s - xi
            right = inner - dual - g * (outer + xi / s * primal)[group]
            if correcting:
                da = cho_solve(factor, right, check_finite=False)
                da += cho_solve(factor, right - M @ da, check_finite=False)  # what rounding took
            else:
                da, turned = cho_solve(factor, np.stack([right, sign], axis=1), check_finite=False).T
            db = 0.0 if y is None else float((y @ da + balance) / (y @ turned))
            da = da - db * turned
            ds = -primal - np.bincount(group, g * da, minlength=n)
            dz = inner - z / alpha * da
            dxi = outer - xi / s * ds
            if not correcting:
                t = min(_step(alpha, da), _step(s, ds)), min(_step(z, dz), _step(xi, dxi))
                left = (alpha + t[0] * da) @ (z + t[1] * dz) + (s + t[0] * ds) @ (xi + t[1] * dxi)
                target = mu * float(left / total / mu) ** 3
                bent = da * dz
                bent_s = ds * dxi
        # The same length for both, since Q ties them together.
        t_all = 0.995 * min(_step(alpha, da), _step(s, ds), _step(z, dz), _step(xi, dxi))
        alpha = alpha + t_all * da
        s = s + t_all * ds
        z = z + t_all * dz
        xi = xi + t_all * dxi
        b = b + t_all * db
    if best > max(1e3 * tol, 1e-6):
        raise SolverFailed(f"the dual of the invariant loss was solved to {best:.1e} only: scale the data.")
    return answer


def _pairs(group: Array, order: Array) -> tuple[Array, Array]:
    """All pairs of variables of one group, both ways and with themselves."""
    counts = np.bincount(group)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    of = group[order]
    each = counts[of]
    rows = np.repeat(order, each)
    within = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
    return rows, order[np.repeat(starts[of], each) + within]


def _factor(M: Array) -> tuple[Array, bool]:
    """The Cholesky factor, of a slightly larger matrix if rounding asks for it."""
    lift = 0.0
    for _ in range(8):
        try:
            factor: tuple[Array, bool] = cho_factor(M, lower=True, check_finite=False)
            return factor
        except np.linalg.LinAlgError:
            more = max(10 * lift, 1e-14 * float(np.abs(M.diagonal()).max()))
            M[np.diag_indices(len(M))] += more - lift
            lift = more
    raise SolverFailed("the dual of the invariant loss lost all digits: scale the data.")


def _step(x: Array, dx: Array) -> float:
    """How far x can go along dx until an entry is zero; at most 1."""
    falling = dx < 0
    return min(1.0, float(np.min(-x[falling] / dx[falling], initial=1.0)))
