r"""Test whether a problem of f consists of rows with at most one slack each, and extract its dual.

.. math:: \min\; \tfrac12\|g\|^2 + \sum_r c_r(\sigma_r) \quad\text{s.t.}\quad
          (Rv)_r + \sigma_r \ge \rho_r \;\text{or}\; = \rho_r, \qquad v = \text{evaluated values of } f .

A slack is absent, nonnegative with the cost :math:`c_r = u_r \sigma_r`, or squared with
:math:`c_r = \sigma_r^2 / 2 D_r`. The dual has one interval for each row and one equation:

.. math:: \max_\lambda\; \rho^\top\lambda - \tfrac12 \lambda^\top (R K R^\top + D) \lambda
          \quad\text{s.t.}\quad l \le \lambda \le u, \quad e^\top\lambda = 0 .

K holds the inner products of the evaluated functionals of f, and e the coefficient of the bias in each row.
If rows share a slack, the sum of their dual variables is bounded by its cost. Rows are multiplied by ±1 so
that :math:`e \ge 0`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..._utils.arrays import Array
from .active import RowDual


class OtherShape(Exception):
    """The problem does not consist of rows with one slack each.

    Attributes
    ----------
    column : int or None
        Column of the canonical data that does not fit, if there is one.
    """

    def __init__(self, reason: str, column: int | None = None):
        super().__init__(reason)
        self.column = column


@dataclass(frozen=True, eq=False)
class Shape:
    """Rows of a problem, with their places in the canonical data of CVXPY.

    Attributes
    ----------
    R : (rows, values) sparse matrix.
    diagonal : D.
    dual : targets, bounds of the dual variables, and e.
    sign : +1 or -1, the factor by which each row was multiplied.
    values : columns of the values of f.
    """

    R: Any
    diagonal: Array
    dual: RowDual
    sign: Array
    values: Array
    _data: _CanonicalData
    _slacks: _Slacks

    @classmethod
    def of(cls, data: Any, values: Array, biased: Array) -> Shape:
        """Return the shape of a problem, or raise OtherShape.

        Parameters
        ----------
        data : dict
            Canonical data of CVXPY.
        values : array of int
            Columns of the values of f.
        biased : array of bool
            Whether the bias is part of each value.
        """
        d = _CanonicalData.of(data, values)
        slacks = _Slacks.of(d)
        slacks.check()
        # A value with a squared penalty is a row with target zero.
        squares = np.flatnonzero(d.p_values)
        k = len(squares)
        units = sparse.csr_array((np.ones(k), (range(k), squares)), (k, len(values)))
        R = sparse.csr_array(sparse.vstack([-d.value_columns[slacks.rows], units], format="csr"))
        with np.errstate(divide="ignore"):
            slack_diagonal = np.where(slacks.curvature > 0, 1.0 / slacks.curvature, 0.0)
        diagonal = np.concatenate([slack_diagonal, 1.0 / d.p_values[squares]])
        target = np.concatenate([-d.b[slacks.rows], np.zeros(k)])
        lower, upper = slacks.bounds()
        lower = np.concatenate([lower, np.full(k, -np.inf)])
        upper = np.concatenate([upper, np.full(k, np.inf)])
        e = R @ biased.astype(float)
        sign = np.where(e < 0, -1.0, 1.0)
        R = sparse.csr_array(sparse.diags_array(sign) @ R)
        signed_lower = np.where(sign < 0, -upper, lower)
        signed_upper = np.where(sign < 0, -lower, upper)
        sum_weight, sum_limit = slacks.shared_sums(sign)
        dual = RowDual(sign * target, signed_lower, signed_upper, sign * e, sum_weight, sum_limit)
        return cls(R, diagonal, dual, sign, values, d, slacks)

    def solution(self, a: Array, v: Array) -> tuple[Array, Array]:
        """Return x and z of the canonical data, from the dual variables and the values of f."""
        d = self._data
        slacks = self._slacks
        k = len(slacks.rows)
        x = np.zeros(len(d.q_all))
        z = np.zeros(len(d.b))
        x[self.values] = v
        shortfall = (self.sign * (self.dual.target - self.R @ v))[:k]
        sigma = np.where(slacks.equation, shortfall, np.maximum(shortfall, 0.0)) / -slacks.coefficient
        in_equation = slacks.soft & slacks.equation
        in_inequality = slacks.soft & ~slacks.equation
        x[d.private[slacks.slack[in_equation]]] = sigma[in_equation]
        column = d.private[slacks.slack[in_inequality]]
        np.maximum.at(x, column, sigma[in_inequality])  # a shared slack serves all its rows
        z[slacks.rows] = (self.sign * a)[:k]
        gradient = d.p_all * x + d.q_all + d.A.T @ z
        bounded = np.flatnonzero(d.bound_row >= 0)
        z[d.bound_row[bounded]] = gradient[d.private[bounded]] / d.bound_coefficient[bounded]
        return x, z


@dataclass(frozen=True, eq=False)
class _Slacks:
    """Slacks of the rows.

    Attributes
    ----------
    rows : rows of A that contain values of f.
    slack : private variable of each row, -1 if it has none.
    coefficient : coefficient of the slack in its row.
    soft : whether the row has a slack.
    equation : whether the row is an equation.
    cost, curvature : linear cost of the slack, and its quadratic cost per unit of the row.
    shared : whether several rows have this slack.
    nonnegative : whether the slack has the bound 0.
    """

    data: _CanonicalData
    rows: Array
    slack: Array
    coefficient: Array
    soft: Array
    equation: Array
    cost: Array
    curvature: Array
    shared: Array
    nonnegative: Array

    @classmethod
    def of(cls, d: _CanonicalData) -> _Slacks:
        rows = np.flatnonzero(d.has_values)
        slack, coefficient = d.slacks(rows)
        soft = slack >= 0

        def of_row(values: Array) -> Array:
            found = np.zeros(len(rows), values.dtype)
            found[soft] = values[slack[soft]]
            return found

        cost = of_row(d.q)
        curvature = np.where(soft, of_row(d.p) / coefficient**2, 0.0)
        shared = of_row(np.bincount(slack[soft], minlength=len(d.q))) > 1
        nonnegative = soft & (of_row(d.bound_row) >= 0)
        return cls(d, rows, slack, coefficient, soft, rows < d.zero, cost, curvature, shared, nonnegative)

    def check(self) -> None:
        """Raise OtherShape if a slack has another sign, cost or bound than the module docstring allows."""
        quadratic = self.curvature > 0
        for invalid, reason in (
            (~self.equation & (self.coefficient > 0), "is not a slack: it makes a row harder"),
            (self.cost < 0, "has a negative cost"),
            ((self.cost > 0) & quadratic, "has a cost that is neither linear nor a square"),
            (self.shared & (self.equation | quadratic), "is in several rows without a linear cost"),
            (self.equation & (self.nonnegative | (self.cost != 0)), "softens an equation without a square"),
            (~self.equation & ~self.nonnegative & (self.curvature == 0), "has no lower bound"),
        ):
            if (self.soft & invalid).any():
                raise OtherShape(reason, int(self.data.private[self.slack[self.soft & invalid][0]]))

    @property
    def free_of_cost(self) -> Array:
        """Whether the slack costs nothing, so that the row has no effect."""
        return self.soft & (self.cost == 0) & (self.curvature == 0)

    def bounds(self) -> tuple[Array, Array]:
        """Return the bounds of the rows' dual variables."""
        lower = np.where(self.equation & ~self.free_of_cost, -np.inf, 0.0)
        linear = (self.cost > 0) & ~self.shared
        upper = np.where(linear, self.cost / np.abs(self.coefficient), np.inf)
        return lower, np.where(self.free_of_cost, 0.0, upper)

    def shared_sums(self, sign: Array) -> tuple[Array, Array]:
        """Return T and μ of the rows that share a slack."""
        members = np.flatnonzero(self.shared & ~self.free_of_cost)
        slacks, group = np.unique(self.slack[members], return_inverse=True)
        weight = np.zeros((len(sign), len(slacks)))
        weight[members, group] = (sign[: len(self.rows)] * np.abs(self.coefficient))[members]
        return weight, self.data.q[slacks]


@dataclass(frozen=True, eq=False)
class _CanonicalData:
    """Canonical data, split into values of f and private variables.

    Attributes
    ----------
    A, b, zero : rows, right-hand side and number of equations.
    p_all, q_all : diagonal of P, and the linear costs.
    value_columns, private_columns : the columns of A of the values and of the private variables.
    private : indices of the private variables.
    has_values : whether each row contains a value of f.
    bound_row, bound_coefficient : row of the bound of each private variable, -1 if none, and minus its entry.
    p_values : entries of P at the values.
    """

    A: Any
    b: Array
    zero: int
    p_all: Array
    q_all: Array
    value_columns: Any
    private_columns: Any
    private: Array
    has_values: Array
    bound_row: Array
    bound_coefficient: Array
    p_values: Array

    @property
    def p(self) -> Array:
        return self.p_all[self.private]

    @property
    def q(self) -> Array:
        return self.q_all[self.private]

    @classmethod
    def of(cls, data: Any, values: Array) -> _CanonicalData:
        """Return the split data, or raise OtherShape."""
        q = np.asarray(data["c"], float)
        b = np.asarray(data["b"], float)
        dims = data["dims"]
        if dims.soc or dims.psd or dims.exp or len(b) > dims.zero + dims.nonneg:
            raise OtherShape("has cones")
        A = sparse.csr_array(data["A"], copy=True)
        A.sum_duplicates()
        A.eliminate_zeros()
        p = _diagonal(sparse.coo_array(data.get("P", (len(q), len(q)))))
        if np.any(q[values] != 0):
            raise OtherShape("has a linear penalty on f")
        is_value = np.zeros(len(q), bool)
        is_value[values] = True
        private = np.flatnonzero(~is_value)
        columns = sparse.csc_array(A)
        value_columns = sparse.csr_array(columns[:, values])
        private_columns = sparse.csr_array(columns[:, private])
        has_values = np.diff(value_columns.indptr) > 0
        _check_empty_rows(b, dims.zero, has_values, np.diff(private_columns.indptr))
        row, coefficient = _lower_bounds(private_columns, b, dims.zero, ~has_values, private)
        split = value_columns, private_columns, private, has_values
        return cls(A, b, dims.zero, p, q, *split, row, coefficient, p[values])

    def slacks(self, rows: Array) -> tuple[Array, Array]:
        """Return the private variable of each row, -1 if it has none, and its coefficient."""
        entries = sparse.coo_array(self.private_columns[rows])
        several = np.bincount(entries.row, minlength=len(rows)) > 1
        if several.any():
            column = entries.col[several[entries.row]][0]
            raise OtherShape("is not the only slack of its row", int(self.private[column]))
        slack = np.full(len(rows), -1)
        coefficient = np.ones(len(rows))
        slack[entries.row] = entries.col
        coefficient[entries.row] = entries.data
        unused = np.ones(len(self.private), bool)
        unused[entries.col] = False
        if (unused & ((self.q < 0) | ((self.q > 0) & (self.bound_row < 0)))).any():
            raise OtherShape("has a penalty without a lower bound")
        return slack, coefficient


def _diagonal(P: Any) -> Array:
    """Return the diagonal of P, or raise OtherShape if P has other entries."""
    if ((P.row != P.col) & (P.data != 0)).any():
        raise OtherShape("has a penalty that ties values to each other")
    return np.bincount(P.row, P.data, minlength=P.shape[0])


def _check_empty_rows(b: Array, zero: int, has_values: Array, private_entries: Array) -> None:
    """Raise OtherShape if a row without variables is infeasible."""
    for row in np.flatnonzero(~has_values & (private_entries == 0)):
        if b[row] < 0 or (row < zero and b[row] != 0):
            raise OtherShape("has a row that nothing can satisfy")


def _lower_bounds(A: Any, b: Array, zero: int, without_values: Array, private: Array) -> tuple[Array, Array]:
    """Return the row of the bound x ≥ 0 of each private variable, -1 if none, and minus its entry."""
    count = np.diff(A.indptr)
    row = np.full(len(private), -1)
    size = np.ones(len(private))
    rows = np.flatnonzero(without_values & (count > 0))
    first = A.indices[A.indptr[rows]] if len(rows) else rows
    coefficient = A.data[A.indptr[rows]] if len(rows) else np.empty(0)
    other = (count[rows] > 1) | (rows < zero) | (coefficient > 0) | (b[rows] != 0)
    if other.any():
        raise OtherShape("has conditions of its own", int(private[first[other][0]]))
    row[first] = rows
    size[first] = -coefficient
    return row, size
