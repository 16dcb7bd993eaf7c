"""Selection of a kernel by the scatter of one class in feature space."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from sklearn.base import clone

from .._utils.checks import is_number
from .._utils.messages import one_of
from ..errors import InvalidInput
from ..explain.table import text_table
from .base import Kernel
from .resolve import resolve_kernel

# Number of grid values of a parameter before the local search: of a single parameter, and of each of several.
GRID = 41
GRIDS = 9
# Scatter below this share of the sum of k(x, x) is rounding.
ROUNDING = 1e-12
# On the plateau J differs from its limit by less than this share, and the mean similarity is below UNLIKE.
NEAR = 0.01
UNLIKE = 0.1


@dataclass(frozen=True)
class Scored:
    """Candidate of :func:`select_kernel` with its score.

    Attributes
    ----------
    kernel : the kernel, with numbers for all its parameters.
    score : J, or NaN if all positive rows are one point in feature space.
    plateau : whether J is within 1 % of its limit for a narrow RBF, and different rows are hardly similar.
    at_bound : parameter -> the bound of its range that it has reached.
    """

    kernel: Kernel
    score: float
    plateau: bool
    at_bound: dict[str, float]


@dataclass(frozen=True)
class Selection:
    """Result of :func:`select_kernel`, which prints as a table.

    Attributes
    ----------
    kernel : the kernel with the highest score.
    score : J of this kernel.
    scores : all candidates, in the given order.
    limit : J of a kernel for which any two different rows have similarity 0.
    plateau : whether the best kernel is close to this limit, so that its parameters are not informative.
    at_bound : parameter -> the bound of its range, for parameters of the best kernel that have reached it.
    """

    kernel: Kernel
    score: float
    scores: list[Scored]
    limit: float
    plateau: bool
    at_bound: dict[str, float]

    def __str__(self) -> str:
        cells = [
            [
                repr(candidate.kernel),
                f"{candidate.score:.4g}",
                _remark(candidate),
                "best" if candidate.kernel is self.kernel else "",
            ]
            for candidate in self.scores
        ]
        lines = [text_table(["kernel", "J", "remark", ""], cells)]
        if self.plateau:
            lines.append(
                f"The best kernel is on the plateau J = {self.limit:.4g}, where different rows have no "
                "similarity. Narrow the bounds, or select by cross-validation."
            )
        return "\n".join(lines)

    __repr__ = __str__


def select_kernel(candidates: Sequence[Any] | Kernel | str, X: Any, y: ArrayLike, positive: Any) -> Selection:
    r"""Select the kernel with the smallest scatter of one class relative to the scatter of all other rows.

    .. math:: J = \frac{\operatorname{tr} S_{np}}{\operatorname{tr} S_p}
        = \frac{\sum_{i \in n} \|\Phi(x_i) - m_p\|^2}{\sum_{i \in p} \|\Phi(x_i) - m_p\|^2}

    is maximised, with the mean :math:`m_p` of the positive rows in feature space. Use it for a small class
    among rows of many kinds, as in retrieval: the other rows need not form a cluster. No model is fitted. A
    score requires the kernel between the positive rows and all rows.

    Parameters
    ----------
    candidates : Kernel, str, callable, tuple, or list of these
        Kernels, names or functions, as in ``PriorSVC(kernel=...)``, or pairs (kernel, bounds). ``bounds`` is
        a dict of parameter to (low, high). The parameter is optimised between the two, on a logarithmic scale
        if both are positive.
    X : array of shape (n, d), or sets of vectors for set kernels
        Rows.
    y : array of shape (n,)
        Class of each row.
    positive : label
        The class with small scatter.

    Returns
    -------
    Selection
        ``kernel``, ``score``, ``scores`` of all candidates, ``plateau``.

    Raises
    ------
    InvalidInput
        If a candidate is invalid, a class has too few rows, or no candidate has a score.

    See Also
    --------
    priorsvm.PriorSVC : Model with the selected kernel.

    Notes
    -----
    J is not concave in a parameter: the best point of a grid is improved by a Nelder-Mead search. As an RBF
    gets narrower, :math:`J \to n_n (1 + 1/n_p) / (n_p - 1)`. An optimum on this plateau is not informative
    and is reported. J does not measure generalisation; compare with cross-validation.

    References
    ----------
    Wang, Gao, Chan, Xue & Yau 2005, "Retrieval with knowledge-driven kernel design: an approach to improving
    SVM-based CBIR with relevance feedback", ICCV; Lauer & Bloch 2008, eqs. (33)-(35).

    Examples
    --------
    The positive class lies on both sides of the other class:

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
    several = isinstance(positive, Collection) and not isinstance(positive, (str, bytes))
    if several or y.ndim != 1:
        raise InvalidInput(
            f"select_kernel: y must have one label for each row, and positive must be one label, got y of "
            f"shape {y.shape} and {positive!r}."
        )
    chosen = y == positive
    n_p = int(chosen.sum())
    n_n = int((~chosen).sum())
    if n_p < 2 or n_n < 1:
        raise InvalidInput(
            f"select_kernel: there are {n_p} rows of class {positive!r} and {n_n} other rows. Give at least "
            "two rows of this class and one other row."
        )
    listed = list(candidates) if isinstance(candidates, list) else [candidates]
    if not listed:
        raise InvalidInput("select_kernel: candidates is empty; expected at least one kernel.")
    scores = [_best_of(*_with_bounds(candidate), X, chosen) for candidate in listed]
    defined = [candidate for candidate in scores if not math.isnan(candidate.score)]
    if not defined:
        raise InvalidInput(
            f"select_kernel: for every candidate the rows of class {positive!r} have no scatter in feature "
            "space. Add a positive semidefinite kernel that separates them, such as RBF()."
        )
    best = max(defined, key=lambda candidate: candidate.score)
    return Selection(best.kernel, best.score, scores, plateau_of(n_p, n_n), best.plateau, best.at_bound)


def plateau_of(n_p: int, n_n: int) -> float:
    """Return J of a kernel for which any two different rows have similarity 0."""
    return n_n * (1 + 1 / n_p) / (n_p - 1)


def scatter_ratio(kernel: Kernel, rows: Any, chosen: NDArray[np.bool_]) -> tuple[float, float]:
    r"""Return J, and the mean similarity of different rows as a share of the mean of :math:`k_{ii}`.

    .. math:: \operatorname{tr} S_p = \sum_p k_{ii} - \tfrac{1}{n_p} \sum_{pp} k_{ij}, \qquad
        \operatorname{tr} S_{np} = \sum_n k_{ii} - \tfrac{2}{n_p} \sum_{np} k_{ij}
        + \tfrac{n_n}{n_p^2} \sum_{pp} k_{ij} .
    """
    P = rows[np.flatnonzero(chosen)]
    N = rows[np.flatnonzero(~chosen)]
    diag_p = kernel.diag(P)
    diag_n = kernel.diag(N)
    K_pp = kernel(P)
    K_np = kernel(N, P)
    n_p = len(diag_p)
    n_n = len(diag_n)
    S_p = diag_p.sum() - K_pp.sum() / n_p
    S_np = diag_n.sum() - 2 * K_np.sum() / n_p + n_n * K_pp.sum() / n_p**2
    size = np.abs(diag_p).sum()
    similarity = (
        (np.abs(K_np).sum() + np.abs(K_pp).sum() - size) / (n_p * (n_n + n_p - 1)) / (size / n_p or 1.0)
    )
    J = float(S_np / S_p) if S_p > ROUNDING * size else math.nan
    return J, float(similarity)


def _with_bounds(candidate: Any) -> tuple[Any, dict[str, tuple[float, float]]]:
    """Return a candidate and the bounds of the parameters to optimise."""
    if not isinstance(candidate, tuple):
        return candidate, {}
    if len(candidate) != 2 or not isinstance(candidate[1], Mapping) or not candidate[1]:
        raise InvalidInput(
            f"select_kernel: {candidate!r} is not a candidate; expected a kernel, or a pair such as "
            "(RBF(), {'gamma': (1e-3, 1e3)})."
        )
    kernel = resolve_kernel(candidate[0], 1)
    bounds = dict(candidate[1])
    parameters = kernel.get_params()
    for name, ends in bounds.items():
        if name not in parameters:
            raise InvalidInput(
                f"select_kernel: {kernel!r} has no parameter {name!r}; {one_of(parameters, name)}"
            )
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
    """Return the kernel with the parameters within bounds that have the highest score."""
    first = clone(kernel) if isinstance(kernel, Kernel) else resolve_kernel(kernel, 1)
    first._check()
    rows = first._rows(X, "X")
    if len(rows) != len(chosen):
        raise InvalidInput(
            f"select_kernel: X has {len(rows)} rows and y has {len(chosen)} labels. Give one label for each "
            "row."
        )

    def at(point: Sequence[float]) -> Kernel:
        """Return the kernel at a point of the unit cube; positive ranges are divided logarithmically."""
        values = {}
        for (name, (low, high)), t in zip(bounds.items(), point, strict=True):
            value = low * (high / low) ** t if low > 0 else low + t * (high - low)
            values[name] = min(float(value), high)
        return clone(first).set_params(**values).resolved(rows)

    def negative_score(point: Sequence[float]) -> float:
        score = scatter_ratio(at(point), rows, chosen)[0]
        return math.inf if math.isnan(score) else -score

    point = _minimum(negative_score, len(bounds)) if bounds else ()
    best = at(point)
    score, similarity = scatter_ratio(best, rows, chosen)
    reached = {n: bounds[n][round(t)] for n, t in zip(bounds, point, strict=True) if min(t, 1 - t) < 1e-6}
    limit = plateau_of(int(chosen.sum()), int((~chosen).sum()))
    return Scored(best, score, abs(score - limit) < NEAR * limit and similarity < UNLIKE, reached)


def _minimum(function: Callable[[Sequence[float]], float], n: int) -> Sequence[float]:
    """Return a minimum of a function on the unit cube: the best point of a grid, improved by Nelder-Mead."""
    grid = np.linspace(0, 1, GRID if n == 1 else GRIDS)
    point = np.array(min(product(grid, repeat=n), key=function))
    inwards = np.where(point > 0, -1.0, 1.0) * grid[1]
    result = minimize(
        function,
        point,
        method="Nelder-Mead",
        bounds=[(0, 1)] * n,
        options={
            "initial_simplex": np.vstack([point, point + np.diag(inwards)]),
            "xatol": 1e-9,
            "fatol": 1e-12,
            "maxiter": 400,
        },
    )
    return result.x


def _remark(candidate: Scored) -> str:
    remarks = [f"{name} at its bound {value:g}" for name, value in candidate.at_bound.items()]
    if math.isnan(candidate.score):
        remarks.append("no scatter")
    if candidate.plateau:
        remarks.append("plateau")
    return ", ".join(remarks)
