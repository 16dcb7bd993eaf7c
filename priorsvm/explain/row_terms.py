r"""What each training row adds to the score of a kernel model.

Without norms of slopes, f is a sum of kernels at points. The term of a row is its kernel times its weight.

``UncertainSamples`` and ``MissingValues`` reduce margins of rows by norms of slopes. Their f is a sum over
values *and* slopes of the kernel at the rows, with the dual variables :math:`a_i` of the margins:

.. math:: f(x) = b + \sum_i a_i y_i [k(x_i, x) + \nabla_{x_i} k(x_i, x)^\top (\tilde x_i - x_i)] + \dots ,

where :math:`\tilde x_i` is the active worst-case point of row i. The solvers write the slopes as kernels at
many rows, whose large weights cancel. So the term of a row is its value and its slope together.
"""

from __future__ import annotations

import numpy as np

from .._utils.arrays import Array
from ..function.fitted import FittedKernel
from ..knowledge.worst_case.ellipsoidal import EllipsoidalKnowledge
from ..prior import live
from ..solve.model import BinaryModel


def row_terms(binary: BinaryModel, f: FittedKernel, X: Array, at: Array) -> Array:
    """Return what each training row adds to f at a row.

    Parameters
    ----------
    binary : BinaryModel
        The binary model of f.
    f : FittedKernel
        Its decision function, or the negative of it.
    X : array of shape (n, d)
        The training rows.
    at : array of shape (d,)
        The row.

    Returns
    -------
    array of shape (n,)
        The terms. Points of blocks and the bias are not part of them.
    """
    names = [
        m.name
        for m in live(binary.members)
        if isinstance(m.block, EllipsoidalKnowledge) and _has_slopes(m.block)
    ]
    if names and binary.spec.norm == "l2" and binary.spec.n_centres is None:
        return _of_duals(binary, names, f, X, at)
    return _of_centres(f, X, at)


def _has_slopes(block: EllipsoidalKnowledge) -> bool:
    return block.builds and not block.guarantee


def _of_centres(f: FittedKernel, X: Array, at: Array) -> Array:
    """Return the terms of the centres that are training rows; equal rows count as the first."""
    terms = f.weights * f.kernel(*_inner(f, f.centres, at[None]))[:, 0]
    place: dict[bytes, int] = {}
    for i, row in enumerate(np.ascontiguousarray(X + 0.0)):
        place.setdefault(row.tobytes(), i)
    found = np.zeros(len(X))
    for centre, term in zip(np.ascontiguousarray(f.centres + 0.0), terms, strict=True):
        owner = place.get(centre.tobytes())
        if owner is not None:
            found[owner] += term
    return found


def _of_duals(binary: BinaryModel, names: list[str], f: FittedKernel, X: Array, at: Array) -> Array:
    """Return the terms by the dual variables of the margins, values and slopes together."""
    sign = 1.0 if f is binary.f else -1.0
    y = sign * binary.training.y_train
    inner, point = _inner(f, X, at[None])
    values = f.kernel(inner, point)[:, 0]
    plain = y * binary.alpha[: len(X)] * values
    found = plain.copy()
    for name in names:
        active = binary.findings.get(name)
        if active is None:
            continue
        rows = active.rows
        steps = _inner(f, active.points)[0] - inner[rows]
        slopes = f.kernel.slope(inner[rows], steps, point)[:, 0]
        # The active points contain the rows without slopes, too.
        found += np.bincount(rows, active.weights * y[rows] * (values[rows] + slopes), len(X)) - plain
    return found


def _inner(f: FittedKernel, *points: Array) -> list[Array]:
    """Return points in the units of the model."""
    return [np.asarray(p if f.scale is None else f.scale.points(p)) for p in points]
