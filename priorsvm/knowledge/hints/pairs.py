"""Rows over pairs of values of f, as arrays."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from ..._utils.arrays import Array
from ...function.atoms import Atoms
from ..views import PointTerms


def equal_pairs(first: Array, second: Array, factor: float, share: Array, label: str | None) -> PointTerms:
    r"""Return the rows :math:`f(x_m) + \text{factor}\, f(x'_m) = 0` of all pairs.

    Parameters
    ----------
    first, second : arrays of shape (m, d)
        The points of the pairs.
    factor : float
        Factor of the second value.
    share : array of shape (m,)
        Weights of the squares.
    label : str or None
        Label of the equations; None for a penalty on the squares.
    """
    if len(first) == 0:
        return PointTerms.none(first.shape[1])
    atoms = Atoms(np.vstack([first, second]))
    n = len(first)
    none = np.zeros(n)
    if label is not None:
        duals = {label: None}
        return PointTerms(atoms, np.ones(n), none, matrix=pair_matrix(n, factor), equation=True, duals=duals)
    return PointTerms(
        atoms,
        np.ones(n),
        none,
        penalty="mu",
        matrix=pair_matrix(n, factor),
        share=share,
        squared=True,
        equation=True,
    )


def pair_matrix(n: int, factor: float) -> csr_array:
    """Return the matrix of n rows, each with the first value and the second value times a factor."""
    columns = np.column_stack([np.arange(n), n + np.arange(n)]).ravel()
    entries = np.tile([1.0, factor], n)
    return csr_array((entries, columns, np.arange(0, 2 * n + 1, 2)), (n, 2 * n))
