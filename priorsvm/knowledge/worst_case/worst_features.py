r"""The worst scaling of k features in closed form: the sum of the k largest gains as linear constraints.

.. math:: y_i f(x_i) - k z_i - \sum_j v_{ij} \ge \rho_i - \xi_i, \qquad
          z_i + v_{ij} \ge \max((1 - l)\, y_i x_{ij} w_j,\; (1 - u)\, y_i x_{ij} w_j)

The least :math:`k z_i + \sum_j v_{ij}` is the sum of the k largest gains, by duality of linear programs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ...transforms.features import FeatureScaling
from ..base import Context


def worst_feature_constraints(transform: FeatureScaling, f: Any, context: Context) -> dict[str, Any]:
    """Return the constraints of the worst case, with one auxiliary variable for each entry of X."""
    import cvxpy as cp

    sample = context.sample
    rows = context.rows
    assert rows is not None
    X = sample.X[rows]
    y = sample.y[rows]
    low, high = transform._factors()
    n, d = X.shape
    entries = csr_array(X).tocoo()
    entries.eliminate_zeros()
    row, column = entries.coords
    count = len(row)
    if count == 0 or transform.k == 0 or low == high:
        return {}
    signed = csr_array((y[row] * entries.data, (np.arange(count), column)), shape=(count, d))
    shares = signed @ f.coef
    z = cp.Variable(n, nonneg=True, name="z")
    v = cp.Variable(count, nonneg=True, name="v")
    total = csr_array((np.ones(count), (row, np.arange(count))), shape=(n, count)) @ v
    loss = min(transform.k, d) * z + total
    gains = [factor * shares for factor in (1.0 - low, 1.0 - high) if factor != 0]
    return {
        "closed": cp.multiply(y, f(X)) - loss >= sample.margin[rows] - context.slack,
        "gains": cp.hstack([z[row] + v] * len(gains)) >= cp.hstack(gains),
    }
