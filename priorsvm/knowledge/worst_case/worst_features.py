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
from ...sample import Sample
from ...transforms.features import FeatureDeletion
from ..by_class import Group
from ..views import Building
from .base import rows_and_slack

# Deletions are listed for so many rows at a time that the list has about this many numbers.
PART = 2**22


def scaled_rows(groups: list[Group], sample: Sample) -> Array:
    """Return whether each training row has a transform that can change it."""
    found = np.zeros(sample.n_train, bool)
    for transform, rows, _ in groups:
        low, high = transform._factors()
        found[rows] = transform.k > 0 and low < high
    return found


def limits_and_factors(groups: list[Group], n: int) -> tuple[Array, Array, Array]:
    """Return for each training row how many features change at once, and the range of their factors."""
    limit = np.zeros(n, int)
    low = np.ones(n)
    high = np.ones(n)
    for transform, rows, _ in groups:
        limit[rows] = transform.k
        low[rows], high[rows] = transform._factors()
    return limit, low, high


def worst_feature_constraints(groups: list[Group], f: Any, view: Building) -> dict[str, Any]:
    """Return the constraints of the worst case, with one auxiliary variable for each entry of X."""
    import cvxpy as cp

    sample = view.sample
    rows, places = rows_and_slack(view, scaled_rows(groups, sample))
    X = sample.X[rows]
    y = sample.y[rows]
    k = np.zeros(sample.n_train)
    changes = np.zeros((2, sample.n_train))
    n, d = X.shape
    for transform, of_transform, _ in groups:
        k[of_transform] = min(transform.k, d)
        changes[:, of_transform] = 1.0 - np.array(transform._factors())[:, None]
    entries = csr_array(X).tocoo()
    entries.eliminate_zeros()
    row, column = entries.coords
    count = len(row)
    if count == 0:
        return {}
    z = cp.Variable(n, nonneg=True, name="z")
    v = cp.Variable(count, nonneg=True, name="v")
    total = csr_array((np.ones(count), (row, np.arange(count))), shape=(n, count)) @ v
    gains = [
        csr_array((change[row] * y[row] * entries.data, (np.arange(count), column)), shape=(count, d))
        @ f.coef
        for change in changes[:, rows]
        if change.any()
    ]
    return {
        "closed": cp.multiply(y, f(X)) - cp.multiply(k[rows], z) - total
        >= sample.margin[rows] - view.slack[places],
        "gains": cp.hstack([z[row] + v] * len(gains)) >= cp.hstack(gains),
    }


def worst_deletions(transform: FeatureDeletion, f: Any, X: Array, y: Array) -> Array:
    """Return every row with the deletion of the smallest y f, by evaluating f at all deletions."""
    kept = 1.0 + transform.parameters(X.shape[1])
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
