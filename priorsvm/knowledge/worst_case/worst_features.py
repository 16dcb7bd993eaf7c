r"""The worst scaling of k features in closed form: the sum of the k largest gains as linear constraints.

.. math:: y_i f(x_i) - k z_i - \sum_j v_{ij} \ge \rho_i - \xi_i, \qquad
          z_i + v_{ij} \ge \max((1 - l)\, y_i x_{ij} w_j,\; (1 - u)\, y_i x_{ij} w_j)

The least :math:`k z_i + \sum_j v_{ij}` is the sum of the k largest gains, by duality of linear programs. For
a kernel model the worst deletion is found in a list of all deletions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ..._utils.arrays import Array
from ...transforms.features import FeatureDeletion, FeatureScaling
from ..views import Building

# Deletions are listed for so many rows at a time that the list has about this many numbers.
PART = 2**22


def worst_feature_constraints(transform: FeatureScaling, f: Any, view: Building) -> dict[str, Any]:
    """Return the constraints of the worst case, with one auxiliary variable for each entry of X."""
    import cvxpy as cp

    sample = view.sample
    rows = view.rows
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
        "closed": cp.multiply(y, f(X)) - loss >= sample.margin[rows] - view.slack,
        "gains": cp.hstack([z[row] + v] * len(gains)) >= cp.hstack(gains),
    }


def worst_deletions(transform: FeatureDeletion, f: Any, X: Array, y: Array) -> Array:
    """Return every row with the deletion of the smallest y f, by evaluating f at all deletions."""
    kept = 1.0 + transform.deletions(X.shape[1])
    s, d = kept.shape
    step = max(1, PART // kept.size)
    worst = X.copy()
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        orbit = X[rows, None] * kept
        values = f.value(orbit.reshape(-1, d)).reshape(-1, s)
        lowest = np.argmin(y[rows, None] * values, axis=1)
        worst[rows] = orbit[np.arange(len(orbit)), lowest]
    return worst
