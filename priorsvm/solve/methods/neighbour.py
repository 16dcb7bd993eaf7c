r"""Solution of a weighted SVM from the solution of a neighbour, such as the same rows with another C.

Rows of the neighbour are at zero, at their bound :math:`C_i`, or free. With these sets and the new bounds,

.. math:: (Ka + b)_i = y_i \text{ for free rows}, \qquad \sum_i a_i = 0,

determines all dual variables. Free rows beyond a bound then move to it, and rows on the wrong side of their
margin become free, all at once. This primal-dual active-set method is Newton's method on the optimality
conditions. It has no step length: if the kernel matrix of the free rows is well conditioned, a few steps
suffice, and otherwise the number of wrong rows does not fall and the method stops.

Moving one row at a time took longer than LIBSVM.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from ..._utils.arrays import Array
from .active import ActiveSetSolution, FullKernelMatrix, polish

# Steps in which the number of wrong rows may fall. Most neighbours take 4 to 7.
STEPS = 12

# The method stops if more than this share of the wrong rows remains after a step.
REMAINING = 0.9

# So few wrong rows are corrected by the active-set method with step lengths.
FEW = 12

# The free rows are factored again if more than this share of them has changed.
CHANGED = 0.15

# Relative lift of the diagonal, for equal rows.
LIFT = 1e-13


@dataclass(eq=False)
class Neighbour:
    """Last solved model of a path.

    Attributes
    ----------
    K, y : kernel matrix and signs of its rows; None before the first model.
    a, bound : signed dual variables and their bounds.
    factored : factored free rows near the solution.
    hopeless : with fewer free rows no solution is attempted, because the steps did not converge before.
    """

    K: Array | None = None
    y: Array | None = None
    a: Array | None = None
    bound: Array | None = None
    factored: _Factored | None = None
    hopeless: int = 0

    def keep(self, K: Array, y: Array, bound: Array, a: Array) -> None:
        """Store a solved model."""
        if K is not self.K:
            self.factored = None
            self.hopeless = 0
        self.K = K
        self.y = y
        self.bound = bound
        self.a = a

    def solve(self, K: Array, y: Array, bound: Array, tol: float) -> ActiveSetSolution | None:
        """Return the exact solution of a model on the same rows, or None if the steps do not converge."""
        if K is not self.K or self.y is None or self.a is None or not np.array_equal(y, self.y):
            return None
        size = np.abs(self.a)
        upper = size >= self.bound
        free = (size > 0) & ~upper
        if np.count_nonzero(free) < self.hopeless:
            return None
        first = free
        kernel = FullKernelMatrix(K)
        number = len(y)
        fixed = np.zeros(len(y))
        K_fixed = np.zeros(len(y))
        for step in range(STEPS):
            before_fixed = fixed
            fixed = np.where(upper, y * bound, 0.0)
            K_fixed += kernel.times(fixed - before_fixed)
            moved = self._moved(kernel, free, y - K_fixed, -float(fixed.sum()))
            if moved is None:
                return None
            moves, bias = moved
            a = fixed + moves
            scores = K_fixed + kernel.times(moves) + bias
            size = y * a
            excess = y * scores - 1.0
            tolerance = max(1e-3 * min(tol, 1e-6), 4e-16 * float(np.abs(a).sum()))
            beyond = free & (size > bound)
            below = free & (size < 0)
            inside = np.where(upper, excess > tolerance, ~free & (excess < -tolerance))
            before = number
            number = int(np.count_nonzero(beyond | below | inside))
            if number == 0 and np.abs(excess[free]).max() <= tolerance:
                self.keep(K, y, bound, a)
                return ActiveSetSolution(a, bias, scores, step + 1)
            if number == 0 or FEW >= number > REMAINING * before:
                polished = polish(kernel, y, bound, y * np.clip(size, 0.0, bound), tol)
                if polished is not None:
                    self.keep(K, y, bound, polished.a)
                return polished
            if number > REMAINING * before:
                self.hopeless = 2 * int(np.count_nonzero(first))
                return None
            upper = (upper & ~inside) | beyond
            free = (free & ~beyond & ~below) | inside
        return None

    def _moved(
        self, kernel: FullKernelMatrix, free: Array, right: Array, total: float
    ) -> tuple[Array, float] | None:
        """Return dual variables of free rows with these values of f and this sum, and the bias."""
        if self.factored is None or not self.factored.accepts(free):
            self.factored = _Factored.of(kernel.K, free)
        if self.factored is None:
            return None
        return self.factored.solve(free, right, total)


class _Factored:
    r"""Cholesky factor of some rows, for linear systems of similar rows.

    .. math:: \begin{pmatrix} K_{00} & B & e \\ B^\top & T & t \\ e^\top & t^\top & 0 \end{pmatrix}
              \begin{pmatrix} x_0 \\ \lambda \\ b \end{pmatrix} = \begin{pmatrix} r_0 \\ g \\ s \end{pmatrix}

    :math:`K_{00}` is factored. Each row that was added since has its column of K in B and its entries in T.
    Each row that was removed has a unit column in B and the condition :math:`x_i = 0`.

    Attributes
    ----------
    K : the kernel matrix.
    rows, place : the factored rows, and the place of every row among them or -1.
    factor : Cholesky factor of K + 1 between these rows: f has a bias, so the constant changes nothing else.
    column : the column of every row in B, or -1; column 0 is e.
    B, solved, inner : columns, their products with the inverse of K + 1, and B' times these products.
    used : the number of columns.
    """

    def __init__(self, K: Array, rows: Array, factor: Array) -> None:
        self.K = K
        self.rows = rows
        self.factor = factor
        self.place = np.full(len(K), -1)
        self.place[rows] = np.arange(len(rows))
        self.column = np.full(len(K), -1)
        self.most = int(CHANGED * len(rows)) + 5
        self.B = np.empty((len(rows), 2 * self.most + 1), order="F")
        self.solved = np.empty_like(self.B)
        self.inner = np.empty((2 * self.most + 1, 2 * self.most + 1))
        self.used = 0
        self._append(np.ones((len(rows), 1)))

    @classmethod
    def of(cls, K: Array, free: Array) -> _Factored | None:
        """Return the factored free rows, or None if there are none or their kernel matrix is singular."""
        rows = np.flatnonzero(free)
        if not len(rows):
            return None
        among = K[np.ix_(rows, rows)]
        among += 1.0
        diagonal = np.arange(len(rows))
        among[diagonal, diagonal] *= 1.0 + LIFT
        factor, failed = dpotrf(among.T, lower=1, overwrite_a=1)  # the transpose has LAPACK's order
        return None if failed else cls(K, rows, factor)

    def accepts(self, free: Array) -> bool:
        """Return whether the free rows are similar; otherwise it is cheaper to factor them."""
        changed = np.flatnonzero(free != (self.place >= 0))
        new = np.count_nonzero(self.column[changed] < 0)
        return bool(new <= self.most and self.used + new <= self.B.shape[1])

    def solve(self, free: Array, right: Array, total: float) -> tuple[Array, float] | None:
        """Return dual variables of free rows with these values of f and this sum, and the bias."""
        changed = np.flatnonzero(free != (self.place >= 0))
        self._add(changed[self.column[changed] < 0])
        chosen = np.append(self.column[changed], 0)
        added = np.flatnonzero(self.place[changed] < 0)
        new = changed[added]
        inner = -self.inner[np.ix_(chosen, chosen)]
        inner[np.ix_(added, added)] += self.K[np.ix_(new, new)] + 1.0
        inner[added, -1] += 1.0
        inner[-1, added] += 1.0
        newton = self._inverse(right[self.rows])
        given = -(newton @ self.B[:, : self.used])[chosen]
        given[added] += right[new]
        given[-1] += total
        try:
            unknown = np.linalg.solve(inner, given)
        except np.linalg.LinAlgError:
            return None
        weights = np.zeros(self.used)
        weights[chosen] = unknown
        out = np.zeros(len(self.K))
        out[self.rows] = newton - self.solved[:, : self.used] @ weights
        out[changed] = 0.0
        out[new] = unknown[added]
        bias = float(unknown[-1]) + total
        return (out, bias) if np.isfinite(bias) else None

    def _inverse(self, right: Array) -> Array:
        return np.asarray(dpotrs(self.factor, right, lower=1)[0])

    def _add(self, rows: Array) -> None:
        """Add the columns of rows that were added or removed."""
        if not len(rows):
            return
        columns = np.zeros((len(self.rows), len(rows)), order="F")
        place = self.place[rows]
        inside = np.flatnonzero(place >= 0)
        columns[place[inside], inside] = 1.0
        outside = np.flatnonzero(place < 0)
        columns[:, outside] = self.K[np.ix_(rows[outside], self.rows)].T + 1.0
        self.column[rows] = self.used + np.arange(len(rows))
        self._append(columns)

    def _append(self, columns: Array) -> None:
        start = self.used
        self.used += columns.shape[1]
        self.B[:, start : self.used] = columns
        self.solved[:, start : self.used] = self._inverse(columns)
        products = self.B[:, : self.used].T @ self.solved[:, start : self.used]
        self.inner[: self.used, start : self.used] = products
        self.inner[start : self.used, : self.used] = products.T
