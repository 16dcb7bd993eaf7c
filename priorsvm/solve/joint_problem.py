r"""The restricted problem of the joint model: its dual by the grouped method, and the problem in CVXPY.

In the dual :math:`Q_{pq} = k(x_p, x_q)\, (e_{y_p} - e_{k_p})^\top (e_{y_q} - e_{k_q})`, and the columns of
a row share its bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._utils.arrays import Array, distinct_rows, products
from ..errors import SolverFailed
from ..function.factor import require_psd
from ..function.maps import FactorMap, LinearMap
from ..function.memory import refuse_beyond_memory
from .joint_function import JointFunction
from .joint_loss import JointColumns, JointLoss
from .methods.grouped import solve_grouped, without_rounding


def solve_restricted(loss: JointLoss, state: JointColumns) -> tuple[JointFunction, Array, float]:
    """Return f, the dual variables of the columns, and the dual objective, which is a lower bound."""
    spec = loss.spec
    signs = loss.signs(state)
    Z = LinearMap(state.points.shape[1], spec.scale).rows(state.points)
    refuse_beyond_memory(len(state), len(state), "the matrix of the column generation", "Use fewer rows.")
    if spec.kernel is None:
        K = products(Z, Z)
    else:
        K = spec.kernel(Z)
        require_psd(spec.kernel, K)
    Q = K * (signs @ signs.T)
    share = 1.0 / loss.scalings(state)
    delta = state.demands * share * loss.rho[state.rows]
    try:
        tol = min(1e-9, 1e-2 * spec.tol)
        alpha = solve_grouped(
            Q, delta, state.rows, loss.bound, None, share, tol, deadline=spec.deadline
        ).alpha
    except SolverFailed:  # Clarabel is slower and more robust
        alpha = JointCompiled(loss, state).solve_dual()
    alpha = without_rounding(alpha)
    used = np.flatnonzero(alpha)
    f = JointFunction(spec, state.points[used], alpha[used, None] * signs[used])
    return f, alpha, float(delta @ alpha) - 0.5 * float(alpha @ Q @ alpha)


class JointCompiled:
    """The restricted problem in CVXPY, over the columns found."""

    function_latex = r"f_k(x) = {0}_k^\top {1}"

    def __init__(self, loss: JointLoss, state: JointColumns):
        import cvxpy as cp

        plain = r"f_{y_i}(x_i) - f_k(x_i) \ge \rho_i - \xi_i,\; \xi_i \ge 0 \text{ for all } k \ne y_i"
        self.margin_latex = plain if loss.name is None else r"\xi_i \ge 0"
        if loss.name is not None and loss.n_moved < len(loss.active):
            self.margin_latex = r"\xi_i \ge 0 \text{ for all rows; added rows are not transformed}"
        spec = loss.spec
        self.members = loss.members
        self.sample = loss.sample
        self.active = loss.active
        self.terms: list[Any] = []
        features: Any = LinearMap(loss.sample.X.shape[1], spec.scale)
        if spec.kernel is not None:
            features = FactorMap(spec.kernel, distinct_rows(state.points)[0], spec.scale)
        c = cp.Variable((features.size, len(loss.sample.classes)), name="c")
        slack = cp.Variable(len(loss.active), nonneg=True, name="xi")
        lead = cp.sum(cp.multiply(features.rows(state.points) @ c, loss.signs(state)), axis=1)
        rho = loss.rho[state.rows]
        xi = slack[state.rows]
        self.scaling = loss.scalings(state)
        margins = cp.multiply(self.scaling, lead) >= state.demands * rho - xi
        margins.set_label(loss.label)
        self.constraints = {loss.label: margins}
        self.problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(c) + loss.bound @ slack), [margins])

    def solve_dual(self) -> Array:
        """Return the dual variables of the columns, by Clarabel."""
        import cvxpy as cp

        try:
            self.problem.solve(solver="CLARABEL")
        except cp.SolverError as error:
            raise SolverFailed(f"CLARABEL failed on the joint model: {error}. Use a smaller C.") from error
        [margins] = self.constraints.values()
        if margins.dual_value is None:
            raise SolverFailed(f"CLARABEL ended with status '{self.problem.status}'. Use a smaller C.")
        return np.asarray(np.abs(margins.dual_value) * self.scaling)
