r"""An interior-point method for the 1-norm machine that looks at few of its columns at a time.

.. math:: \min_{c, b, \xi}\; \|c\|_1 + p^\top \xi \quad\text{s.t.}\quad
          y_i \left((\Phi c)_i + b\right) \ge \rho_i - \xi_i, \quad \xi \ge 0

and its dual, one variable for each row and one range for each column of :math:`\Phi`,

.. math:: \max_\alpha\; \rho^\top \alpha \quad\text{s.t.}\quad
          |\Phi^\top (y \alpha)| \le 1, \quad 0 \le \alpha \le p, \quad y^\top \alpha = 0 .

Few columns have a coefficient in the end. A step works with those whose price
:math:`g_j = (\Phi^\top (y \alpha))_j` is near 1 in size, the only ones that can have one soon, and the others
have coefficient zero. All prices take part in the length of the step, so the dual variables are feasible for
all columns at any time: with them the gap is that of the whole problem, and no column waits unseen.

Once the gap is small, rows and columns tell on which side they will end, and what is left is linear: the
coefficients that make the free rows meet their margin, and the dual variables that make the prices of these
columns 1. Both are solved for and, if the gap says so, are the answer, to the last digits: a vertex, if there
is one optimum only.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from ..._utils.arrays import Array

# A column whose price is this near to 1 takes part in a step, and leaves when it is not that near any more.
NEAR = 0.8
LEAVES = 0.6
# One stays in any case if without it margins would change by this share of what the largest one gives them.
HOLDS = 1e-2
# This share of the columns takes part in any case, those of the largest prices; so many if there are as many.
AT_LEAST = 0.1
FEW = 100
# The gap below which a vertex is looked for.
SETTLED = 1e-5
# Steps without a smaller gap after which rounding has had the last word.
PATIENCE = 8
# Corrections of a direction, at most.
REFINEMENTS = 10


@dataclass(frozen=True)
class Solution:
    """What the method found.

    Attributes
    ----------
    c : coefficients of all columns.
    bias : b.
    alpha : the dual variables, feasible for all columns.
    objective : of ``c`` and ``bias``, with the slacks these need.
    gap : relative duality gap.
    steps : how many steps it took.
    """

    c: Array
    bias: float
    alpha: Array
    objective: float
    gap: float
    steps: int

    def times(self, factor: float) -> Solution:
        """In other units of c."""
        parts = {part: factor * getattr(self, part) for part in ("c", "alpha", "objective")}
        return replace(self, **parts)


def solve_1norm(
    Phi: Array, y: Array, rho: Array, price: Array, tol: float = 1e-10, max_steps: int = 200
) -> Solution:
    """Solve both problems.

    Parameters
    ----------
    Phi : (n, m) array
    y : (n,) array of signs, both of them
    rho : (n,) array, the margins asked for
    price : (n,) positive array, that of a slack
    tol : relative duality gap
    """
    unit = float(np.abs(Phi).max(initial=0.0)) or 1.0  # with c in its units prices of columns are near 1
    A = np.asfortranarray((y / unit)[:, None] * Phi)
    problem = _Problem(A, y, rho, unit * price)
    point = _Point(problem)
    least = np.inf
    lowest = np.inf
    tried = SETTLED
    since = 0
    for step in range(max_steps):
        point.choose_columns()
        gap = point.gap()
        since = 0 if gap < least or point.mu < lowest else since + 1
        lowest = min(lowest, point.mu)
        if gap < least:
            least = gap
            kept = (*point.answer(), step)
        if gap < tried:
            tried = 0.3 * gap
            vertex = problem.judged(*point.vertex(), step)
            if vertex.gap <= tol:
                return vertex.times(1.0 / unit)
        if gap <= tol or since > PATIENCE or not point.move():
            break
    return problem.judged(*kept).times(1.0 / unit)


@dataclass(frozen=True, eq=False)
class _Problem:
    """``A`` has the rows of Phi, each times its sign."""

    A: Array
    y: Array
    rho: Array
    price: Array

    def judged(self, columns: Array, c: Array, bias: float, alpha: Array, step: int) -> Solution:
        """An answer, its dual variables made feasible, and the gap that leaves."""
        alpha = np.clip(alpha, 0.0, self.price)
        up, down = (float(alpha[self.y == sign].sum()) for sign in (1.0, -1.0))
        if up != down and min(up, down) > 0:
            alpha = alpha * np.where(self.y > 0, min(1.0, down / up), min(1.0, up / down))
        alpha = alpha / max(1.0, float(np.abs(self.A.T @ alpha).max()))
        objective = self.objective(self.A[:, columns] @ c + bias * self.y, c)
        gap = self.relative(abs(objective - float(self.rho @ alpha)), objective)
        everywhere = np.zeros(self.A.shape[1])
        everywhere[columns] = c
        return Solution(everywhere, bias, alpha, objective, gap, step)

    def relative(self, gap: float, objective: float) -> float:
        """The gap, against the objective, or where that is nearly zero against what f = 0 has."""
        return gap / (abs(objective) + min(1.0, float(self.price.sum())))

    def objective(self, margins: Array, c: Array) -> float:
        """Of c, with the slacks that rows of these margins need."""
        return float(np.abs(c).sum() + self.price @ np.maximum(self.rho - margins, 0.0))


class _Point:
    r"""An interior point of both problems, and the step to the next.

    :math:`c = u - v`, and :math:`s` is by how much rows keep their margin. ``x`` holds u, v, s and the
    slacks; ``z`` holds :math:`1 - g`, :math:`1 + g`, :math:`\alpha` and :math:`p - \alpha`. All are positive,
    and an optimal point has :math:`x z = 0`.
    """

    def __init__(self, problem: _Problem):
        self.problem = problem
        A = problem.A
        y = problem.y
        price = problem.price
        self.sizes = np.abs(A).max(axis=0)
        n = len(y)
        up, down = (float(price[y == sign].sum()) for sign in (1.0, -1.0))
        alpha = 0.5 * price * np.where(y > 0, min(1.0, down / up), min(1.0, up / down))
        prices = A.T @ alpha
        shrunk = min(1.0, 0.5 / float(np.abs(prices).max(initial=1e-300)))
        alpha = shrunk * alpha
        self.above = 1.0 - shrunk * prices
        self.below = 1.0 + shrunk * prices
        self.columns = np.empty(0, int)
        self.bias = 0.0
        self.x = np.concatenate([np.full(n, 0.5), np.maximum(problem.rho, 0.0) + 0.5])
        self.z = np.concatenate([alpha, price - alpha])
        self.mu = float(self.x @ self.z) / len(self.x)

    def choose_columns(self) -> None:
        """Those with a price near 1 in size: some come, with u = v on the path, and some leave."""
        size = 1.0 - np.minimum(self.above, self.below)
        m = len(self.above)
        k = len(self.columns)
        u = np.full(m, self.mu)
        v = np.full(m, self.mu)
        rows = self.x[2 * k :]
        u[self.columns] = self.x[:k]
        v[self.columns] = self.x[k : 2 * k]
        chosen = size > NEAR
        chosen[self.columns] |= size[self.columns] > LEAVES
        large = np.abs(u - v) * self.sizes
        chosen |= large > HOLDS * large.max()
        few = min(m, max(FEW, int(AT_LEAST * m)))
        if np.count_nonzero(chosen) < few:
            chosen[np.argpartition(-size, few - 1)[:few]] = True
        columns = np.flatnonzero(chosen)
        if not np.array_equal(columns, self.columns):
            A = self.problem.A
            y = self.problem.y
            self.B = np.empty((len(y), len(columns) + 1), order="F")  # the bias is a column, too
            np.take(A.T, columns, axis=0, out=self.B.T[:-1])
            self.B[:, -1] = y
            self.columns = columns
        self.x = np.concatenate([u[columns], v[columns], rows])
        self.z = np.concatenate([self.above[columns], self.below[columns], self.z[2 * k :]])
        self.mu = float(self.x @ self.z) / len(self.x)
        self.margins = self.B @ np.append(self.c, self.bias)

    def _split(self, stacked: Array) -> list[Array]:
        k = len(self.columns)
        n = len(self.problem.y)
        return np.split(stacked, [k, 2 * k, 2 * k + n])

    @property
    def c(self) -> Array:
        u, v, *_ = self._split(self.x)
        return u - v

    @property
    def alpha(self) -> Array:
        return self._split(self.z)[2]

    def answer(self) -> tuple[Array, Array, float, Array]:
        """Columns, their coefficients, the bias and the dual variables."""
        return self.columns, self.c, self.bias, self.alpha

    def gap(self) -> float:
        """Relative, of all columns; the dual variables are feasible."""
        objective = self.problem.objective(self.margins, self.c)
        return self.problem.relative(objective - float(self.problem.rho @ self.alpha), objective)

    def vertex(self) -> tuple[Array, Array, float, Array]:
        """The answer once every variable has gone to the side to which it is nearer."""
        price = self.problem.price
        rho = self.problem.rho
        *_, s, xi = self._split(self.x)
        above, below, alpha, rest = self._split(self.z)
        c = self.c
        largest = float(alpha.max())
        size = max(float(np.abs(c).max()), 1e-6 * self.problem.objective(self.margins, c))
        used = np.flatnonzero(np.abs(c) > size * np.minimum(above, below))
        full = rest < largest * xi
        free = np.flatnonzero((alpha > largest * s) & ~full)
        system = self.B[np.ix_(free, np.append(used, len(c)))]
        w = np.append(c[used], self.bias)
        w += _solved(system, rho[free] - system @ w)
        # Rounding leaves some rows short in the last digit, of which a large price would make much.
        asking = rho[free] > 0
        w *= 1.0 + float(np.max(1.0 - (system @ w)[asking] / rho[free][asking], initial=0.0))
        alpha = np.where(full, price, 0.0) + np.where(np.isin(np.arange(len(alpha)), free), alpha, 0.0)
        asked = np.append(np.sign(c[used]), 0.0)
        alpha[free] += _solved(system.T, asked - self.B[:, np.append(used, len(c))].T @ alpha)
        return self.columns[used], w[:-1], float(w[-1]), alpha

    @np.errstate(all="ignore")
    def move(self) -> bool:
        """Mehrotra's predictor and corrector, with lengths of their own for both problems.

        False if the numbers do not carry another step.
        """
        x = self.x
        z = self.z
        newton = _Newton(self)
        if newton.factor is None:
            return False
        dx, dz, *_ = newton.direction(-x * z, refine=False)
        left = float((x + _step(x, dx) * dx) @ (z + _step(z, dz) * dz)) / len(x)
        target = self.mu * (left / self.mu) ** 3
        dx, dz, bias, alpha = newton.direction(target - x * z - dx * dz, refine=True)
        prices = self.problem.A.T @ alpha
        if not all(np.isfinite(part).all() for part in (dx, dz, prices)):
            return False
        length = min(_step(z, dz), _step(self.above, -prices), _step(self.below, prices))
        t = min(1.0, 0.995 * _step(x, dx))
        t_dual = min(1.0, 0.995 * length)
        self.x, self.bias, self.z = x + t * dx, self.bias + t * bias, z + t_dual * dz
        self.above, self.below = self.above - t_dual * prices, self.below + t_dual * prices
        return bool(min(part.min() for part in (self.x, self.z, self.above, self.below)) > 0)


class _Newton:
    r"""The linear system of a step, for the columns chosen and the bias.

    .. math:: B\,dw + W^{-1} d\alpha = \text{right}, \qquad B^\top d\alpha - D\,dw = \text{low}, \qquad
              W^{-1} = \tfrac{s}{\alpha} + \tfrac{\xi}{p - \alpha}, \quad
              D^{-1} = \tfrac{u}{1 - g} + \tfrac{v}{1 + g} .

    Eliminating :math:`d\alpha` leaves :math:`B^\top W B + D`, as large as there are columns. Residuals are
    taken of both equations: those of the eliminated one would carry rounding errors of the size of W.
    """

    def __init__(self, point: _Point):
        self.point = point
        self.B = point.B
        u, v, s, xi = point._split(point.x)
        above, below, alpha, rest = point._split(point.z)
        self.W = 1.0 / (s / alpha + xi / rest)
        self.D = np.append(1.0 / (u / above + v / below), 0.0)
        H = dsyrk(1.0, self.B * np.sqrt(self.W)[:, None], trans=1, lower=1)
        diagonal = np.arange(len(H)), np.arange(len(H))
        H[diagonal] += self.D
        self.scale = 1.0 / np.sqrt(H[diagonal])
        H *= self.scale
        H *= self.scale[:, None]
        self.factor: Array | None = None
        for lift in 10.0 ** np.arange(-14, -5):
            H[diagonal] = 1.0 + lift
            factor, failed = dpotrf(H, lower=1)
            if not failed:
                self.factor = factor
                break

    def _once(self, right: Array, low: Array) -> tuple[Array, Array]:
        reduced = self.B.T @ (self.W * right) - low
        dw = self.scale * dpotrs(self.factor, self.scale * reduced, lower=1)[0]
        return dw, self.W * (right - self.B @ dw)

    def direction(self, kappa: Array, refine: bool) -> tuple[Array, Array, float, Array]:
        """The changes of x, z, the bias and the dual variables that make x z change by ``kappa``."""
        point = self.point
        problem = self.point.problem
        u, v, s, xi = point._split(point.x)
        above, below, alpha, rest = point._split(point.z)
        for_u, for_v, for_s, for_xi = point._split(kappa)
        short = problem.rho - point.margins - xi + s
        right = short + for_s / alpha - for_xi / rest
        low = np.append(-self.D[:-1] * (for_u / above - for_v / below), -float(problem.y @ alpha))
        dw, da = self._once(right, low)
        for _ in range(REFINEMENTS if refine else 0):
            e = right - self.B @ dw - da / self.W
            e_low = low - self.B.T @ da + self.D * dw
            if np.abs(e).max() <= 1e-3 * min(1.0, point.mu) and np.abs(e_low).max() <= 1e-10:
                break
            more, more_dual = self._once(e, e_low)
            dw = dw + more
            da = da + more_dual
        dg = (self.B.T @ da)[:-1]
        dz = np.concatenate([-dg, dg, da, -da])
        dx = (kappa - point.x * dz) / point.z
        # c moves by dw exactly: the half that is large takes what the small one leaves of it.
        du, dv, *rows = point._split(dx)
        larger = u * below > v * above
        du, dv = np.where(larger, dw[:-1] + dv, du), np.where(larger, dv, du - dw[:-1])
        return np.concatenate([du, dv, *rows]), dz, float(dw[-1]), da


def _solved(M: Array, right: Array) -> Array:
    """The solution of M x = right; the shortest one that is nearest where there is not just one."""
    if M.shape[0] == M.shape[1]:
        with warnings.catch_warnings():
            warnings.simplefilter("error", linalg.LinAlgWarning)
            try:
                solution: Array = linalg.solve(M, right, check_finite=False)
                return solution
            except (linalg.LinAlgError, linalg.LinAlgWarning):
                pass
    if M.size == 0:
        return np.zeros(M.shape[1])
    nearest: Array = linalg.lstsq(M, right, cond=1e-13, lapack_driver="gelsy", check_finite=False)[0]
    return nearest


def _step(x: Array, dx: Array) -> float:
    """How far x can go along dx until an entry is zero; at most 1."""
    return min(1.0, 1.0 / max(1e-300, float(np.max(-dx / x))))
