r"""Inputs that are matrices whose rows have no order."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..._utils.arrays import Array
from ..._utils.checks import check_choice, check_nonnegative
from ...errors import InvalidInput, MissingCapability
from ...sample import Sample
from ..base import Formulas, Knowledge
from ..traits import Iterative, Scores
from ..views import Solved, Step

# A smaller relative gain counts as a tie, and the order stays.
TIE = 1e-9
# Relative tolerance of the squared radius of the enclosing ball.
BALL = 1e-8


@dataclass(frozen=True, eq=False)
class Arrangement:
    """The current order of the rows of every training matrix.

    Attributes
    ----------
    order : array of shape (n, m)
        Place j of matrix i contains its given row ``order[i, j]``.
    centre : array of shape (m, d)
        Centre of the smallest ball around all arranged training matrices; zeros if ``rho=0``.
    radius : float
        Radius of this ball; NaN if ``rho=0``.
    """

    order: Array
    centre: Array
    radius: float

    def __str__(self) -> str:
        rearranged = int((self.order != np.arange(self.order.shape[1])).any(axis=1).sum())
        ball = "" if np.isnan(self.radius) else f", in a ball of radius {self.radius:.4g}"
        return f"{rearranged} of {len(self.order)} matrices rearranged{ball}"


class RowPermutations(Iterative, Scores, Knowledge):
    r"""Best order of the rows of each input matrix (:math:`\pi`-SVM).

    .. math:: \min_{W, b}\; \tfrac12 \|W\|^2 + C \sum_i \min_{P_i} \bigl[1 - y_i f(P_i Z_i)\bigr]_+ .

    Each row of X is a matrix :math:`Z_i` of m rows and d columns, flattened row by row, and
    :math:`f(Z) = \sum_{jk} W_{jk} Z_{jk} + b`. Use it if the order of the rows of a matrix carries no
    information. The problem is not convex in f and the permutations together, so the result is a *local*
    optimum. Fitting and rearranging alternate until no order changes. For a given f, the best :math:`P_i` is
    a linear assignment with the scores

    .. math:: A_{jk} = y_i \sum_l W_{jl} Z_{i,kl} + 2 \mu \sum_l \bar Z_{jl} Z_{i,kl}

    of row k in place j. With ``rho=0`` the objective never increases. With ``rho > 0`` the permutations also
    reduce the radius of the smallest ball around all matrices, with the centre :math:`\bar Z`. This lowers
    the bound of the error by radius over margin, but convergence is not guaranteed.

    A new matrix is scored twice: in its best order for the positive class, and in its best order for the
    negative class. The score with the larger :math:`|f|` counts.

    Parameters
    ----------
    shape : tuple of (int, int)
        Number of rows m and of columns d of a matrix.
    rho : float, default=0.0
        Weight of the enclosing ball against the margin, in units of f per squared unit of X.
    initial : {"given", "sorted"}, default="given"
        Initial order: as given in X, or sorted by the first column, with ties sorted by the next. With
        ``"sorted"`` the result does not depend on the given order.

    See Also
    --------
    Bhattacharyya, PrincipalAngles : kernels between sets of vectors.

    Notes
    -----
    Linear models only. Training matrices are permuted; rows added by other blocks are not. A column means a
    place in the arrangement: column ``d j + l`` is entry l of the row in place j. ``within="data"`` is the
    range of X as given. With more than two classes, every binary problem has its own arrangement.

    :class:`UncertainSamples` may be added if its covariances are equal for all rows of a matrix and do not
    change with their order. The worst case then is :math:`\tau \|A_i^\top w\|` below f in every order, and
    the best order is the linear assignment above. With other worst-case blocks the best order is not a linear
    assignment, and they are refused.

    References
    ----------
    Shivaswamy & Jebara 2006; Lauer & Bloch 2008, section 4.3.6, where the indices of eq. (56) are swapped.

    Examples
    --------
    Each input is two points in either order.

    >>> from priorsvm import PriorSVC, RowPermutations
    >>> X = [[0.0, 5.0], [5.1, 0.2], [2.0, 3.0], [3.2, 2.1]]
    >>> y = ["apart", "apart", "near", "near"]
    >>> model = PriorSVC(RowPermutations((2, 1), rho=1.0), C=10).fit(X, y)
    >>> model.predict([[0.1, 4.9], [4.9, 0.1], [2.9, 2.2]])
    array(['apart', 'apart', 'near'], dtype='<U5')
    """

    exact: ClassVar[bool] = False
    prepares: ClassVar[str | None] = "moves"
    formulas: ClassVar[Formulas] = Formulas(
        latex={"sample": r"0,\; \text{each } x_i \text{ rearranged as } P_i Z_i"},
        letters={
            "Z_i": r"\text{row } i \text{ as a matrix, in the given order}",
            "P_i": r"\text{the permutation of its rows found by the fit}",
        },
    )

    def __init__(self, shape: tuple[int, int], rho: float = 0.0, initial: str = "given"):
        self.shape = shape
        self.rho = rho
        self.initial = initial

    def validate(self, sample: Sample) -> None:
        try:
            m, d = map(operator.index, self.shape)
        except (TypeError, ValueError):
            m = 0
            d = 0
        if m < 1 or d < 1:
            raise InvalidInput(f"shape must be (rows, columns) of a matrix, got {self.shape!r}.")
        if m * d != sample.X.shape[1]:
            raise InvalidInput(
                f"shape {tuple(self.shape)} has {m * d} entries, but X has {sample.X.shape[1]} columns. "
                "Give the (rows, columns) of the matrices, each flattened row by row."
            )
        check_nonnegative(rho=self.rho)
        check_choice("initial", self.initial, ("given", "sorted"))
        if sample.model is not None and not sample.model.linear:
            raise MissingCapability(
                f"a linear model is required, but the kernel is {sample.model.kernel!r}. Use "
                "kernel='linear', or a kernel between sets of vectors: Bhattacharyya() or PrincipalAngles()."
            )

    def swaps(self) -> Array:
        """Return the orders of columns that exchange two neighbouring rows of a matrix.

        Returns
        -------
        ndarray of shape (m - 1, m d)
            One order for each pair of neighbours. They generate all orders of the rows.

        Examples
        --------
        >>> RowPermutations((3, 1)).swaps()
        array([[1, 0, 2], [0, 2, 1]])
        """
        columns = np.arange(self.shape[0] * self.shape[1]).reshape(self.shape)
        found = np.tile(columns, (self.shape[0] - 1, 1, 1))
        for j in range(len(found)):
            found[j, [j, j + 1]] = columns[[j + 1, j]]
        return found.reshape(len(found), -1)

    def start(self, sample: Sample) -> Arrangement:
        Z = sample.X_train.reshape(-1, *self.shape)
        if self.initial == "given":
            return self._arranged(Z, np.tile(np.arange(self.shape[0]), (len(Z), 1)), sample)
        return self._arranged(Z, np.array([np.lexsort(z.T[::-1]) for z in Z]), sample)

    def _arranged(self, Z: Array, order: Array, sample: Sample) -> Arrangement:
        if self.rho == 0:
            return Arrangement(order, np.zeros(self.shape), float("nan"))
        counted = sample.weights > 0
        centre, radius = enclosing_ball(permuted(Z, order)[counted].reshape(counted.sum(), -1))
        return Arrangement(order, centre.reshape(self.shape), radius)

    def prepare(self, sample: Sample, state: Arrangement) -> Sample:
        Z = sample.X_train.reshape(-1, *self.shape)
        return sample.with_training(permuted(Z, state.order).reshape(len(Z), -1))

    def refine(self, f: Any, view: Solved) -> Step | None:
        if view.settled:
            return None
        Z = view.sample.X_train.reshape(-1, *self.shape)
        counted = view.sample.weights > 0
        current = np.tile(np.arange(self.shape[0]), (len(Z), 1))
        orders = current.copy()
        orders[counted] = self._best_orders(f, Z[counted], view.sample.y_train[counted], view.state)
        rearranged = int((orders != current).any(axis=1).sum())
        notes = {"rearranged": rearranged}
        if rearranged == 0:
            return Step(notes=notes)
        arranged = self._arranged(permuted(Z, orders), current, view.sample)
        order = np.take_along_axis(view.state.order, orders, axis=1)
        return Step(replace(arranged, order=order), notes=notes)

    def _best_orders(self, f: Any, Z: Array, y: Array, state: Arrangement) -> Array:
        """Return the order of each matrix with the highest score for its class and the ball."""
        W = f.coef.reshape(self.shape)
        pull = 2 * self.rho * state.centre
        return np.array([best_order((sign * W + pull) @ z.T) for z, sign in zip(Z, y, strict=True)])

    def findings(self, f: Any, view: Solved) -> Arrangement:
        return view.state

    def predict(self, f: Any, X: Array, state: Any = None) -> Array:
        Z = np.asarray(X, float).reshape(-1, *self.shape)
        positive, negative = (
            f.value(permuted(Z, self._best_orders(f, Z, np.full(len(Z), sign), state)).reshape(len(Z), -1))
            for sign in (1.0, -1.0)
        )
        return np.where(positive >= -negative, positive, negative)

    def words(self) -> str:
        return f"the order of the rows of a {self.shape[0]} x {self.shape[1]} matrix carries no information"


def permuted(Z: Array, order: Array) -> Array:
    """Return every matrix with its rows in the given order."""
    return np.take_along_axis(Z, order[:, :, None], axis=1)


def best_order(scores: Array) -> Array:
    """Return the order with the highest sum of ``scores[place, row]``; in a tie, the current order."""
    current = np.arange(len(scores))
    found = linear_sum_assignment(scores, maximize=True)[1]
    gain = _value(scores, found) - _value(scores, current)
    return found if gain > TIE * np.abs(scores).max() * len(scores) else current


def _value(scores: Array, order: Array) -> float:
    return float(scores[np.arange(len(order)), order].sum())


def enclosing_ball(X: Array, max_steps: int = 100_000) -> tuple[Array, float]:
    r"""Return centre and radius of the smallest ball around the rows of X.

    The centre is a mixture :math:`c = \sum_i u_i x_i`. Each step goes towards the furthest point, or away
    from the nearest point of the mixture, whichever violates optimality more. Its length maximises the dual
    :math:`\sum_i u_i \|x_i\|^2 - \|c\|^2` (Yıldırım 2008). The squared radius is accurate to a relative
    tolerance of BALL.

    >>> centre, radius = enclosing_ball(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]]))
    >>> centre.round(6), round(radius, 6)
    (array([1., 0.]), 1.0)
    """
    middle = X.mean(axis=0)  # squares lose digits far from the origin
    X = X - middle
    squares = (X**2).sum(axis=1)
    a = int(np.argmax(squares))
    b = int(np.argmax(((X - X[a]) ** 2).sum(axis=1)))
    u = np.zeros(len(X))
    u[[a, b]] += 0.5
    c = u @ X
    for _ in range(max_steps):
        distances = squares - 2 * X @ c + c @ c
        dual = max(float(u @ squares - c @ c), 0.0)
        far = int(np.argmax(distances))
        used = np.flatnonzero(u)
        near = int(used[np.argmin(distances[used])])
        out = distances[far] - dual
        inside = dual - distances[near]
        if max(out, 0.0) <= BALL * dual or distances[far] == 0:
            break
        if out >= inside:
            step = out / (2 * distances[far])
            u *= 1 - step
            u[far] += step
        else:
            longest = u[near] / (1 - u[near])  # removes the point from the mixture
            step = min(inside / (2 * distances[near]), longest) if distances[near] > 0 else longest
            u *= 1 + step
            u[near] = 0.0 if step == longest else u[near] - step
        c = u @ X
    return c + middle, float(np.sqrt(distances[far]))
