r"""Rows whose dual variables have no bounds, eliminated from the dual of an SVM of rows.

Equations and values with a squared penalty are such rows, here E. All other rows are B. Stationarity in
:math:`a_E` is linear,

.. math:: S a_E = \rho_E - Q_{EB} a_B - b\,e_E , \qquad S = Q_{EE} ,

so the dual in :math:`a_B` has the matrix :math:`Q_{BB} - Q_{BE} S^{-1} Q_{EB}`. If E contains the bias, the
equation :math:`e^\top a = 0` determines it:

.. math:: b = (u^\top a_B + t) / q, \quad u = e_B - Q_{BE} S^{-1} e_E, \quad q = e_E^\top S^{-1} e_E, \quad
          t = e_E^\top S^{-1} \rho_E ,

and :math:`u u^\top / q` is added to the matrix. Equations that depend on the preceding ones are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrs, dpstrf, dtrtrs

from ..._utils.arrays import Array, block
from .active import ActiveSetSolution, RowDual

# An equation depends on others if a pivot is below this part of the largest.
DEPENDENT = 1e-13


@dataclass(frozen=True, eq=False)
class Reduced:
    """The dual of the rows with bounds.

    Attributes
    ----------
    Q, dual : the matrix and the rest of the dual problem.
    bounded : the rows with bounds.
    free : the rows without, as far as they are independent.
    """

    Q: Array
    dual: RowDual
    bounded: Array
    free: Array
    _factor: Array
    _sides: Array  # the factor's inverse times Q_EB, the targets and e of the free rows
    _bias: tuple[Array, float, float] | None  # u, t and q, if the free rows contain the bias

    @classmethod
    def of(cls, Q: Array, dual: RowDual, slacks: Array | float = 0.0) -> Reduced | None:
        """Return the reduced problem, or None if every row has a bound.

        ``slacks`` is the part of the diagonal of Q that squared slacks add. It may be much larger than the
        rest, and is not a unit of it.
        """
        unbounded = np.isinf(dual.lower) & np.isinf(dual.upper)
        if not unbounded.any():
            return None
        E = np.flatnonzero(unbounded)
        B = np.flatnonzero(~unbounded)
        e = dual.bias_weight
        with_bias = bool(e[E].any())
        # A multiple of ee' changes nothing, as e'a = 0, and is regular where rows of few features are not.
        without = np.maximum(Q.diagonal() - slacks, 0.0)
        multiple = float(without.max()) if with_bias else 0.0
        unit = float((without + multiple * e**2)[E].max())
        S = Q[block(E, E)]
        if with_bias:
            S = S + multiple * np.outer(e[E], e[E])
        packed, pivots, rank, _ = dpstrf(S, tol=DEPENDENT * unit, lower=1)
        E = E[pivots[:rank] - 1]
        factor = packed[:rank, :rank]
        right = np.empty((rank, len(B) + 2), order="F")
        right[:, :-2] = Q[block(E, B)]
        right[:, -2] = dual.target[E]
        right[:, -1] = e[E]
        if with_bias:
            right[:, :-2] += multiple * np.outer(e[E], e[B])
        sides = dtrtrs(factor, right, lower=1, overwrite_b=1)[0]
        W = sides[:, : len(B)]
        reduced = Q[block(B, B)] - W.T @ W
        if with_bias:
            reduced += multiple * np.outer(e[B], e[B])
        target = dual.target[B] - W.T @ sides[:, -2]
        weight = e[B]
        bias = None
        if with_bias:
            u = e[B] - W.T @ sides[:, -1]
            q = float(sides[:, -1] @ sides[:, -1])
            t = float(sides[:, -1] @ sides[:, -2])
            reduced += np.outer(u, u / q)
            target = target - (t / q) * u
            weight = np.zeros(len(B))
            bias = u, t, q
        own = RowDual(target, dual.lower[B], dual.upper[B], weight, dual.sum_weight[B], dual.sum_limit)
        return cls(reduced, own, B, E, factor, sides, bias)

    def value(self, a: Array) -> float:
        """Return the dual objective of all rows for dual variables ``a`` of the bounded rows.

        It does not contain the dual variables of the free rows, which are large if equations nearly depend on
        each other. It is therefore more accurate than the objective of f.
        """
        targets = self._sides[:, len(self.bounded)]
        constant = 0.5 * float(targets @ targets)
        if self._bias is not None:
            _, t, q = self._bias
            constant -= 0.5 * t**2 / q
        return float(self.dual.target @ a - 0.5 * a @ self.Q @ a) + constant

    def all_rows(self, found: ActiveSetSolution, Q: Array, dual: RowDual) -> tuple[Array, float]:
        """Return the dual variables of all rows, and the bias; Q and ``dual`` are those of all rows."""
        a = np.zeros(len(Q))
        a[self.bounded] = found.a
        b = found.bias
        if self._bias is not None:
            u, t, q = self._bias
            b = (float(u @ found.a) + t) / q
        n = len(self.bounded)
        right = self._sides[:, n] - self._sides[:, :n] @ found.a - b * self._sides[:, n + 1]
        a[self.free] = dtrtrs(self._factor, right, lower=1, trans=1)[0]
        # Equations that are nearly dependent have large dual variables: one step of refinement.
        E = self.free
        error = dual.target[E] - Q[E] @ a - b * dual.bias_weight[E]
        a[E] += dpotrs(self._factor, error, lower=1)[0]
        return a, b
