r"""Parts of a score by column: Shapley values of f between a reference row and a row.

The value of a set S of columns is f at the row z with :math:`z_S = x_S` and the reference elsewhere. The part
of column j is its mean effect :math:`f(z_{S \cup j}) - f(z_S)` over all orders of the columns. The parts add
up to f(x) minus f at the reference.

A player is a column, or a group of columns that change together, such as the columns of one category.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._utils.arrays import Array
from ..function.fitted import Fitted, FittedKernel, FittedLinear
from ..kernels.gamma import gamma_number
from ..kernels.standard import RBF

# Up to this many players, all subsets are evaluated.
MOST_ENUMERATED = 12
# Number of evaluations of f over sampled orders, and the least number of pairs of orders.
EVALUATIONS = 2**13
FEWEST_PAIRS = 4
# Entries of an array that are computed at once.
_BLOCK = 2**22

Function = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts of f(x) - f(reference), one for each player.

    Attributes
    ----------
    values : array of shape (p,)
        The parts.
    method : str
        How they were computed, as a sentence.
    error : float, default=0.0
        Largest standard error of a part; 0 if the parts are exact.

    Examples
    --------
    >>> import numpy as np
    >>> from priorsvm.explain.shapley import enumerated
    >>> found = enumerated(lambda Z: Z[:, 0] * Z[:, 1], np.array([2.0, 3.0]), np.zeros(2), [[0], [1]])
    >>> found.values
    array([3., 3.])
    """

    values: Array
    method: str
    error: float = 0.0


def parts_of(value: Function, f: Fitted | None, x: Array, reference: Array, players: Sequence[Any]) -> Parts:
    """Return the parts of the score of a row by the best method for this decision function.

    Parameters
    ----------
    value : callable
        Rows -> scores.
    f : Fitted or None
        The decision function behind the scores; None if a block scores rows by another formula.
    x, reference : arrays of shape (d,)
        The row, and the row that it is compared with.
    players : sequence of sequences of int
        Columns of each player.

    Returns
    -------
    Parts
    """
    if isinstance(f, FittedLinear):
        steps = f.coef * (x - reference)
        return Parts(
            np.array([steps[list(columns)].sum() for columns in players]),
            "exact, the weight of the column times its distance from the mean",
        )
    if isinstance(f, FittedKernel) and isinstance(f.kernel, RBF) and f.slopes is None:
        return of_rbf(f, x, reference, players)
    if len(players) <= MOST_ENUMERATED:
        return enumerated(value, x, reference, players)
    return sampled(value, x, reference, players)


def of_rbf(f: FittedKernel, x: Array, reference: Array, players: Sequence[Any]) -> Parts:
    r"""Return the exact Shapley values of an expansion over RBF kernels, for any number of columns.

    The kernel is a product over the columns, with factors :math:`a_{il}` at the row and :math:`b_{il}` at the
    reference for centre i. With the multilinear extension of the game, the part of player j is

    .. math:: \sum_i w_i (a_{ij} - b_{ij}) \int_0^1 \prod_{l \ne j} (t\, a_{il} + (1 - t)\, b_{il})\, dt .

    The integrand is a polynomial in t, so a Gauss-Legendre rule with half as many nodes as players is exact.

    Parameters
    ----------
    f : FittedKernel
        Decision function with an RBF kernel.
    x, reference, players
        As in :func:`parts_of`.

    Returns
    -------
    Parts
    """
    ends = np.vstack([x, reference])
    centres = f.centres
    if f.scale is not None:
        ends = f.scale.points(ends)
        centres = f.scale.points(centres)
    gamma = gamma_number(f.kernel, f.kernel.gamma)
    p = len(players)
    nodes, shares = np.polynomial.legendre.leggauss(p // 2 + 1)
    nodes = (nodes + 1) / 2
    shares = shares / 2
    parts = np.zeros(p)
    step = max(1, _BLOCK // max(1, p))
    for start in range(0, len(centres), step):
        Z = centres[start : start + step]
        weights = f.weights[start : start + step]
        at_x, at_reference = (_factors(Z, end, gamma, players) for end in ends)
        mean = np.zeros_like(at_x)
        for t, share in zip(nodes, shares, strict=True):
            # A factor of 0 would give 0 / 0 below. The tiny number changes no product that matters.
            mixed = np.maximum(t * at_x + (1 - t) * at_reference, 1e-300)
            log = np.log(mixed)
            mean += share * np.exp(log.sum(axis=1, keepdims=True) - log)
        parts += weights @ ((at_x - at_reference) * mean)
    return Parts(parts, "Shapley values of the score against the mean of the training rows, exact")


def _factors(Z: Array, end: Array, gamma: float, players: Sequence[Any]) -> Array:
    """Return the factor of the kernel of each centre and player."""
    squares = (Z - end) ** 2
    return np.exp(-gamma * np.column_stack([squares[:, list(c)].sum(axis=1) for c in players]))


def enumerated(value: Function, x: Array, reference: Array, players: Sequence[Any]) -> Parts:
    """Return the exact Shapley values from f at all mixtures of the two rows.

    Parameters
    ----------
    value, x, reference, players
        As in :func:`parts_of`.

    Returns
    -------
    Parts
    """
    p = len(players)
    sets = (np.arange(2**p)[:, None] >> np.arange(p)) & 1 == 1
    at = value(_mixtures(sets, x, reference, players))
    size = sets.sum(axis=1)
    # The share of orders in which the players of a set come first, and then player j.
    share = np.array([1.0 / (p * math.comb(p - 1, s)) for s in range(p)])
    parts = np.empty(p)
    for j in range(p):
        without = np.flatnonzero(~sets[:, j])
        parts[j] = share[size[without]] @ (at[without + 2**j] - at[without])
    return Parts(parts, "Shapley values of the score against the mean of the training rows, exact")


def sampled(value: Function, x: Array, reference: Array, players: Sequence[Any]) -> Parts:
    """Return estimates of the Shapley values over sampled orders, each with its reverse.

    In every order the effects add up to f(x) - f(reference), so the estimates do too. The draws have a fixed
    seed.

    Parameters
    ----------
    value, x, reference, players
        As in :func:`parts_of`.

    Returns
    -------
    Parts
    """
    p = len(players)
    pairs = max(FEWEST_PAIRS, EVALUATIONS // (2 * p))
    rng = np.random.default_rng(0)
    means = np.empty((pairs, p))
    for k in range(pairs):
        order = rng.permutation(p)
        effects = np.zeros(p)
        for one in (order, order[::-1]):
            place = np.empty(p, int)
            place[one] = np.arange(p)
            # Row m has the first m players of the order.
            at = value(_mixtures(place < np.arange(p + 1)[:, None], x, reference, players))
            effects[one] += np.diff(at)
        means[k] = effects / 2
    error = float((means.std(axis=0, ddof=1) / math.sqrt(pairs)).max())
    return Parts(
        means.mean(axis=0),
        "Shapley values of the score against the mean of the training rows, estimated from "
        f"{2 * pairs} orders of the columns with standard errors of at most {error:.2g}",
        error,
    )


def _mixtures(sets: Array, x: Array, reference: Array, players: Sequence[Any]) -> Array:
    """Return the row with the columns of each set of players, and the reference elsewhere."""
    owner = np.empty(len(x), int)
    for j, columns in enumerate(players):
        owner[list(columns)] = j
    return np.where(sets[:, owner], x, reference)
