"""Which kernel gathers one class and keeps all else away from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from sklearn.base import clone

from priorsvm.errors import InvalidInput
from priorsvm.explain.table import text_table
from priorsvm.kernels.base import Kernel, one_of, resolve_kernel

from .._utils.checks import is_number

# Values tried of each parameter before the best of them is improved: of one alone, of several together.
GRID = 41
GRIDS = 9
# Scatter below this part of the kernel's own size is rounding.
ROUNDING = 1e-12
# On the plateau J is as near as this to its limit, and different rows are no more alike than that on average.
NEAR = 0.01
UNLIKE = 0.1


@dataclass(frozen=True)
class Scored:
    """A kernel and what it does to the positive class.

    Attributes
    ----------
    kernel : with numbers for all its parameters.
    score : J, or NaN where it has no meaning: the positive rows are all one under this kernel.
    plateau : whether different rows have as good as nothing in common under it, as in the limit of a narrow
        RBF: J is within 1 % of its value there.
    at_bound : parameter -> the end of its range that it has reached.
    """

    kernel: Kernel
    score: float
    plateau: bool
    at_bound: dict[str, float]


@dataclass(frozen=True)
class Selection:
    """What :func:`select_kernel` found; prints as a table.

    Attributes
    ----------
    kernel : the kernel with the highest score.
    score : its J.
    scores : all candidates, in the order given.
    limit : J of a kernel under which no two rows have anything in common.
    plateau : whether the best kernel is such a one: it has learnt nothing but who is who.
    at_bound : parameter -> the end of its range, for those of the best kernel that have reached it.
    """

    kernel: Kernel
    score: float
    scores: list[Scored]
    limit: float
    plateau: bool
    at_bound: dict[str, float]

    def __str__(self) -> str:
        cells = [
            [repr(one.kernel), f"{one.score:.4g}", _remark(one), "best" if one.kernel is self.kernel else ""]
            for one in self.scores
        ]
        lines = [text_table(["kernel", "J", "remark", ""], cells)]
        if self.plateau:
            lines.append(
                f"The best is on the plateau J = {self.limit:.4g}, where no two rows are alike: its "
                "parameters mean nothing. Narrow the bounds, or choose by cross-validation."
            )
        return "\n".join(lines)

    __repr__ = __str__


def select_kernel(candidates: Sequence[Any] | Kernel | str, X: Any, y: ArrayLike, positive: Any) -> Selection:
    r"""The kernel under which one class is a tight cluster and all other samples are far from it.

    .. math:: J = \frac{\operatorname{tr} S_{np}}{\operatorname{tr} S_p}
        = \frac{\sum_{i \in n} \|\Phi(x_i) - m_p\|^2}{\sum_{i \in p} \|\Phi(x_i) - m_p\|^2}

    with the mean :math:`m_p` of the positive samples in feature space, is maximised. Made for a class of few
    samples among all sorts of others, as in retrieval: the others are pushed away, but not together. No
    machine is trained; a score takes the kernel between the positive samples and all.

    Parameters
    ----------
    candidates : list of kernels
        Kernels, names or functions, as ``PriorSVC(kernel=...)`` takes them, or pairs (kernel, bounds) with
        bounds a dict of parameter to (low, high): the parameter is optimised between them, on a logarithmic
        scale where both are positive. One candidate alone needs no list.
    X : array of shape (n, d), or sets of vectors for kernels between them
    y : array of shape (n,)
    positive : the class to gather

    Returns
    -------
    Selection
        ``kernel``, ``score``, ``scores`` of all candidates, ``plateau``.

    Notes
    -----
    J is not concave in a parameter: the best of a grid is improved by Nelder and Mead's search. As an RBF
    gets narrower, :math:`J \to n_n (1 + 1/n_p) / (n_p - 1)`; an optimum on that plateau says nothing, and is
    reported. The score knows nothing of how a machine generalises: compare with cross-validation.

    References
    ----------
    Wang, Gao, Chan, Xue & Yau 2005; Lauer & Bloch 2008, eqs. (33)-(35).

    Examples
    --------
    The positive class lies on two sides of the other:

    >>> import numpy as np
    >>> from priorsvm import RBF, Linear, select_kernel
    >>> X, y = np.array([[-4.0], [-3.0], [-0.5], [0.0], [0.5], [3.0], [4.0]]), [1, 1, 0, 0, 0, 1, 1]
    >>> select_kernel([Linear(), RBF(gamma=10.0), (RBF(), {"gamma": (1e-3, 1e3)})], X, y, positive=1)
    kernel                             J  remark
    Linear()                        0.01
    RBF(gamma=10.0)                 1.25  plateau
    RBF(gamma=0.328...)            1.784           best
    """
    y = np.asarray(y)
    chosen = y == positive
    n_p = int(chosen.sum())
    n_n = int((~chosen).sum())
    if n_p < 2 or n_n < 1:
        raise InvalidInput(
            f"select_kernel: there are {n_p} samples of class {positive!r} and {n_n} others; the scatter of "
            "a class needs two samples of it, and at least one other."
        )
    given = list(candidates) if isinstance(candidates, list) else [candidates]
    if not given:
        raise InvalidInput("select_kernel: candidates is empty; expected at least one kernel.")
    scores = [_best_of(*_with_bounds(one), X, chosen) for one in given]
    known = [one for one in scores if not math.isnan(one.score)]
    if not known:
        raise InvalidInput(
            f"select_kernel: under every candidate all samples of class {positive!r} are one point, or have "
            "no feature space: there is no scatter to compare with."
        )
    best = max(known, key=lambda one: one.score)
    return Selection(best.kernel, best.score, scores, plateau_of(n_p, n_n), best.plateau, best.at_bound)


def plateau_of(n_p: int, n_n: int) -> float:
    """J of a kernel under which no two samples have anything in common."""
    return n_n * (1 + 1 / n_p) / (n_p - 1)


def scatter_ratio(kernel: Kernel, rows: Any, chosen: NDArray[np.bool_]) -> tuple[float, float]:
    r"""J, and the mean similarity of different rows in parts of that of a row with itself.

    .. math:: \operatorname{tr} S_p = \sum_p k_{ii} - \tfrac{1}{n_p} \sum_{pp} k_{ij}, \qquad
        \operatorname{tr} S_{np} = \sum_n k_{ii} - \tfrac{2}{n_p} \sum_{np} k_{ij}
        + \tfrac{n_n}{n_p^2} \sum_{pp} k_{ij} .
    """
    P = rows[np.flatnonzero(chosen)]
    N = rows[np.flatnonzero(~chosen)]
    own_p = kernel.diag(P)
    own_n = kernel.diag(N)
    K_pp = kernel(P)
    K_np = kernel(N, P)
    n_p = len(own_p)
    n_n = len(own_n)
    S_p = own_p.sum() - K_pp.sum() / n_p
    S_np = own_n.sum() - 2 * K_np.sum() / n_p + n_n * K_pp.sum() / n_p**2
    size = np.abs(own_p).sum()
    alike = (np.abs(K_np).sum() + np.abs(K_pp).sum() - size) / (n_p * (n_n + n_p - 1)) / (size / n_p or 1.0)
    return (float(S_np / S_p) if S_p > ROUNDING * size else math.nan), float(alike)


def _with_bounds(candidate: Any) -> tuple[Any, dict[str, tuple[float, float]]]:
    """A candidate and the ranges of the parameters to be found."""
    if not isinstance(candidate, tuple):
        return candidate, {}
    if len(candidate) != 2 or not isinstance(candidate[1], Mapping) or not candidate[1]:
        raise InvalidInput(
            f"select_kernel: {candidate!r} is no candidate; expected a kernel, or a pair such as "
            "(RBF(), {'gamma': (1e-3, 1e3)})."
        )
    kernel = resolve_kernel(candidate[0], 1)
    bounds = dict(candidate[1])
    known = kernel.get_params()
    for name, ends in bounds.items():
        if name not in known:
            raise InvalidInput(f"select_kernel: {kernel!r} has no parameter {name!r}; {one_of(known, name)}")
        pair = isinstance(ends, (tuple, list)) and len(ends) == 2 and all(map(is_number, ends))
        if not pair or ends[0] >= ends[1]:
            raise InvalidInput(
                f"select_kernel: the bounds of {name!r} are {ends!r}; expected numbers (low, high) with "
                "low < high."
            )
    return candidate[0], bounds


def _best_of(
    kernel: Any, bounds: dict[str, tuple[float, float]], X: Any, chosen: NDArray[np.bool_]
) -> Scored:
    """The kernel, with the parameters within bounds that score highest."""
    first = clone(kernel) if isinstance(kernel, Kernel) else resolve_kernel(kernel, 1)
    first._check()
    rows = first._rows(X, "X")
    if len(rows) != len(chosen):
        raise InvalidInput(f"select_kernel: X has {len(rows)} samples and y {len(chosen)}.")

    def at(place: Sequence[float]) -> Kernel:
        """Each parameter so far along its range, from 0 to 1; positive ranges by their logarithms."""
        values = {}
        for (name, (low, high)), t in zip(bounds.items(), place, strict=True):
            value = low * (high / low) ** t if low > 0 else low + t * (high - low)
            values[name] = min(float(value), high)
        return clone(first).set_params(**values).resolved(rows)

    def lack(place: Sequence[float]) -> float:
        score = scatter_ratio(at(place), rows, chosen)[0]
        return math.inf if math.isnan(score) else -score

    place = _lowest(lack, len(bounds)) if bounds else ()
    best = at(place)
    score, alike = scatter_ratio(best, rows, chosen)
    reached = {n: bounds[n][round(t)] for n, t in zip(bounds, place, strict=True) if min(t, 1 - t) < 1e-6}
    limit = plateau_of(int(chosen.sum()), int((~chosen).sum()))
    return Scored(best, score, abs(score - limit) < NEAR * limit and alike < UNLIKE, reached)


def _lowest(function: Callable[[Sequence[float]], float], n: int) -> Sequence[float]:
    """Where a function on the unit cube is lowest: the best of a grid, and what a simplex makes of it."""
    grid = np.linspace(0, 1, GRID if n == 1 else GRIDS)
    place = np.array(min(product(grid, repeat=n), key=function))
    inwards = np.where(place > 0, -1.0, 1.0) * grid[1]
    found = minimize(
        function,
        place,
        method="Nelder-Mead",
        bounds=[(0, 1)] * n,
        options={
            "initial_simplex": np.vstack([place, place + np.diag(inwards)]),
            "xatol": 1e-9,
            "fatol": 1e-12,
            "maxiter": 400,
        },
    )
    return found.x


def _remark(one: Scored) -> str:
    remarks = [f"{name} at its bound {value:g}" for name, value in one.at_bound.items()]
    if math.isnan(one.score):
        remarks.append("no scatter")
    return ", ".join([*remarks, *(["plateau"] if one.plateau else [])])
