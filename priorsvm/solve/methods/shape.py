r"""Whether a problem of f is one of rows, each with one slack at most, and which.

.. math:: \min\; \tfrac12\|g\|^2 + \sum_r c_r(\sigma_r) \quad\text{s.t.}\quad
          (Rv)_r + \sigma_r \ge \rho_r \;\text{or}\; = \rho_r, \qquad v = f \text{ at the points asked for},

where a slack is absent, nonnegative at a price :math:`c_r = u_r \sigma_r`, or squared,
:math:`c_r = \sigma_r^2 / 2 D_r`. Its dual has a bound for each row and one equation,

.. math:: \max_\lambda\; \rho^\top\lambda - \tfrac12 \lambda^\top (R K R^\top + D) \lambda
          \quad\text{s.t.}\quad l \le \lambda \le u, \quad e^\top\lambda = 0,

with K the inner products of what is asked of f, and e how often the bias is in a row. Where rows share a
slack the sum of their multipliers has the price for a bound. Rows are turned so that :math:`e \ge 0`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..._utils.arrays import Array
from .active import Bounds


class OtherShape(Exception):
    """The problem is no such one; says why, and which column or row of the data is to blame."""

    def __init__(self, reason: str, column: int | None = None):
        super().__init__(reason)
        self.column = column


@dataclass(frozen=True, eq=False)
class Shape:
    """The rows of a problem, and where they stand in the data that CVXPY gave.

    Attributes
    ----------
    R : (rows, values) sparse matrix.
    diagonal : D.
    bounds : what rows ask for, bounds of their multipliers, and e.
    turn : +1 or -1: rows with -1 were turned.
    values : columns of the values of f.
    """

    R: Any
    diagonal: Array
    bounds: Bounds
    turn: Array
    values: Array
    _data: _Data
    _rows: Array
    _slack: Array
    _scale: Array

    @classmethod
    def of(cls, data: Any, values: Array, biased: Array) -> Shape:
        """The shape, or :class:`OtherShape`; ``values`` are columns, ``biased`` says which have the bias."""
        d = _Data.of(data, values)
        rows = np.flatnonzero(d.main)
        slack, scale = d.slacks(rows)
        soft = slack >= 0
        at = np.maximum(slack, 0)
        equation = rows < d.zero
        price = np.where(soft, d.q[at], 0.0)
        curve = np.where(soft, d.p[at] / scale**2, 0.0)
        shared = soft & (np.bincount(at[soft], minlength=len(d.q))[at] > 1)
        held = d.floor[at] >= 0
        for bad, reason in (
            (~equation & (scale > 0), "is no slack: it makes a row harder"),
            (price < 0, "is paid for violations"),
            ((price > 0) & (curve > 0), "has a cost that is neither linear nor a square"),
            (shared & (equation | (curve > 0)), "stands in several rows, and not as a slack with a price"),
            (equation & (held | (price != 0)), "softens an equation, and not by a square"),
            (~equation & ~held & (curve == 0), "has no lower end"),
        ):
            if (soft & bad).any():
                raise OtherShape(reason, int(d.private[slack[soft & bad][0]]))
        size = np.abs(scale)
        idle = soft & (price == 0) & (curve == 0)
        low = np.where(equation & ~idle, -np.inf, 0.0)
        high = np.where(idle, 0.0, np.where((price > 0) & ~shared, price / size, np.inf))
        squares = np.flatnonzero(d.p_values)  # values that are squared are rows that ask for zero
        none = np.full(len(squares), np.inf)
        units = sparse.csr_array((np.ones(len(squares)), (range(len(squares)), squares)), d.size(squares))
        R = sparse.csr_array(sparse.vstack([-d.of_values[rows], units], format="csr"))
        with np.errstate(divide="ignore"):
            diagonal = np.concatenate([np.where(curve > 0, 1.0 / curve, 0.0), 1.0 / d.p_values[squares]])
        asked = np.concatenate([-d.b[rows], np.zeros(len(squares))])
        low = np.concatenate([low, -none])
        high = np.concatenate([high, none])
        e = R @ biased.astype(float)
        turn = np.where(e < 0, -1.0, 1.0)
        R = sparse.csr_array(sparse.diags_array(turn) @ R)
        low, high = np.where(turn < 0, -high, low), np.where(turn < 0, -low, high)
        groups, group = np.unique(slack[shared & ~idle], return_inverse=True)
        shares = np.zeros((len(turn), len(groups)))
        members = np.flatnonzero(shared & ~idle)
        shares[members, group] = (turn[: len(rows)] * size)[members]
        bounds = Bounds(turn * asked, low, high, turn * e, shares, d.q[groups])
        return cls(R, diagonal, bounds, turn, values, d, rows, slack, scale)

    def answer(self, a: Array, v: Array) -> tuple[Array, Array]:
        """x and z of the data, from multipliers and values of f."""
        d = self._data
        k = len(self._rows)
        x = np.zeros(len(d.q_all))
        z = np.zeros(len(d.b))
        x[self.values] = v
        left = (self.turn * (self.bounds.asked - self.R @ v))[:k]
        soft = self._slack >= 0
        equation = self._rows < d.zero
        sigma = np.where(equation, left, np.maximum(left, 0.0)) / -self._scale
        of = d.private[self._slack]
        x[of[soft & equation]] = sigma[soft & equation]
        np.maximum.at(x, of[soft & ~equation], sigma[soft & ~equation])  # the slack that all its rows need
        z[self._rows] = (self.turn * a)[:k]
        slope = d.p_all * x + d.q_all + d.A.T @ z
        floors = np.flatnonzero(d.floor >= 0)
        z[d.floor[floors]] = slope[d.private[floors]] / d.floor_size[floors]
        return x, z


@dataclass(frozen=True, eq=False)
class _Data:
    """The data by values of f and private variables, as far as they can have the shape."""

    A: Any
    b: Array
    zero: int
    p_all: Array
    q_all: Array
    of_values: Any
    of_private: Any
    private: Array
    main: Array
    floor: Array
    floor_size: Array
    p_values: Array

    @property
    def p(self) -> Array:
        return self.p_all[self.private]

    @property
    def q(self) -> Array:
        return self.q_all[self.private]

    def size(self, rows: Array) -> tuple[int, int]:
        return len(rows), self.of_values.shape[1]

    @classmethod
    def of(cls, data: Any, values: Array) -> _Data:
        q = np.asarray(data["c"], float)
        b = np.asarray(data["b"], float)
        dims = data["dims"]
        if dims.soc or dims.psd or dims.exp or len(b) > dims.zero + dims.nonneg:
            raise OtherShape("has cones")
        A = sparse.csr_array(data["A"], copy=True)
        A.sum_duplicates()
        A.eliminate_zeros()
        P = sparse.coo_array(data.get("P", (len(q), len(q))))
        apart = (P.row != P.col) & (P.data != 0)
        if apart.any():
            raise OtherShape("has a penalty that ties values to each other")
        p = np.bincount(P.row, P.data, minlength=len(q))
        if np.any(q[values] != 0):
            raise OtherShape("has a linear penalty on f")
        is_value = np.zeros(len(q), bool)
        is_value[values] = True
        private = np.flatnonzero(~is_value)
        columns = sparse.csc_array(A)
        of_values = sparse.csr_array(columns[:, values])
        of_private = sparse.csr_array(columns[:, private])
        main = np.diff(of_values.indptr) > 0
        count = np.diff(of_private.indptr)
        for row in np.flatnonzero(~main & (count == 0)):
            if b[row] < 0 or (row < dims.zero and b[row] != 0):
                raise OtherShape("has a row that nothing can satisfy")
        floor = np.full(len(private), -1)
        size = np.ones(len(private))
        ends = np.flatnonzero(~main & (count > 0))
        first = of_private.indices[of_private.indptr[ends]] if len(ends) else ends
        coefficient = of_private.data[of_private.indptr[ends]] if len(ends) else np.empty(0)
        odd = (count[ends] > 1) | (ends < dims.zero) | (coefficient > 0) | (b[ends] != 0)
        if odd.any():
            raise OtherShape("has conditions of its own", int(private[first[odd][0]]))
        floor[first] = ends
        size[first] = -coefficient
        return cls(A, b, dims.zero, p, q, of_values, of_private, private, main, floor, size, p[values])

    def slacks(self, rows: Array) -> tuple[Array, Array]:
        """Of each row its private variable, -1 if it has none, and the coefficient of that."""
        own = sparse.coo_array(self.of_private[rows])
        several = np.bincount(own.row, minlength=len(rows)) > 1
        if several.any():
            which = own.col[several[own.row]][0]
            raise OtherShape("is not the only slack of its row", int(self.private[which]))
        slack = np.full(len(rows), -1)
        scale = np.ones(len(rows))
        slack[own.row] = own.col
        scale[own.row] = own.data
        left = np.ones(len(self.private), bool)
        left[own.col] = False
        if (left & ((self.q < 0) | ((self.q > 0) & (self.floor < 0)))).any():
            raise OtherShape("has a penalty without a lower bound")
        return slack, scale
