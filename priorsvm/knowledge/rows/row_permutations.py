r"""Samples that are matrices whose rows come in no order: each is arranged as suits its class best."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..._utils.arrays import Array
from ..._utils.checks import check_nonnegative
from ...errors import InvalidInput, MissingCapability
from ...sample import Sample
from ..base import Context, Knowledge

# A new order has to gain more than this, in parts of the scores, to be more than a tie.
TIE = 1e-9
# The enclosing ball is known when no point lies further out than this, in parts of its squared radius.
BALL = 1e-8


@dataclass(frozen=True, eq=False)
class Arrangement:
    """The order in which the rows of every training matrix stand.

    Attributes
    ----------
    order : (n, m) array; row ``order[i, j]`` of matrix i as it was given stands in place j.
    centre, radius : the smallest ball around all training matrices so arranged; zeros and NaN where ``rho=0``
        has no use for it.
    """

    order: Array
    centre: Array
    radius: float

    def __str__(self) -> str:
        moved = int((self.order != np.arange(self.order.shape[1])).any(axis=1).sum())
        ball = "" if np.isnan(self.radius) else f", in a ball of radius {self.radius:.4g}"
        return f"{moved} of {len(self.order)} matrices rearranged{ball}"


class RowPermutations(Knowledge):
    r"""The class of a matrix does not depend on the order of its rows (:math:`\pi`-SVM).

    Samples are matrices :math:`Z_i` of m rows and d columns, flattened row by row, and
    :math:`f(Z) = \sum_{jk} W_{jk} Z_{jk} + b`. Each may be permuted as suits its class best:

    .. math:: \min_{W, b}\; \tfrac12 \|W\|^2 + C \sum_i \min_{P_i} \bigl[1 - y_i f(P_i Z_i)\bigr]_+ .

    Not convex in f and the permutations together, so the result is a *local* optimum. Fit, rearrange, fit
    again, until nothing changes: the best :math:`P_i` for a given f is a linear assignment with the scores

    .. math:: A_{jk} = y_i \sum_l W_{jl} Z_{i,kl} + 2 \rho \sum_l c_{jl} Z_{i,kl}

    of row k in place j. With ``rho=0`` the objective never rises. With ``rho > 0`` the permutations
    also draw the matrices towards the centre c of the smallest ball around all of them, for the sake of the
    bound on the error by radius over margin; nothing is known of when that ends.

    A new matrix is scored in the order that suits the positive class best and in the one that suits the
    negative class best, and the answer further from the boundary counts.

    Parameters
    ----------
    shape : (int, int)
        m rows and d columns.
    rho : float
        How much the enclosing ball counts against the margin, in units of f per squared unit of X.
    initial : "given" or "sorted"
        Which order to begin from: as X has it, or every matrix sorted by its first column (then the next,
        in ties), so that the order given means nothing at all.

    Notes
    -----
    Linear machines only. Training matrices are permuted, rows that other blocks add are not. Blocks on
    columns speak of places in the arrangement: a box for column ``d j + l`` is about entry l of whichever row
    stands in place j; ``within="data"`` is the range of X as given. Blocks on the worst a row may be speak of
    rows as they are given and are refused. With more than two classes every one-vs-rest machine has its own
    arrangement.

    References
    ----------
    Shivaswamy & Jebara 2006; Lauer & Bloch 2008, section 4.3.6, where the indices of eq. (56) are swapped.

    Examples
    --------
    Two points each, in either order: which of the two is the high one is not said.

    >>> from priorsvm import PriorSVC, RowPermutations
    >>> X = [[0.0, 5.0], [5.1, 0.2], [2.0, 3.0], [3.2, 2.1]]
    >>> y = ["apart", "apart", "near", "near"]
    >>> model = PriorSVC(RowPermutations((2, 1), rho=1.0), C=10).fit(X, y)
    >>> model.predict([[0.1, 4.9], [4.9, 0.1], [2.9, 2.2]])
    array(['apart', 'apart', 'near'], dtype='<U5')
    """

    exact: ClassVar[bool] = False
    moves_rows: ClassVar[bool] = True
    latex: ClassVar[dict[str, str]] = {"sample": r"0,\; \text{each } x_i \text{ rearranged as } P_i Z_i"}
    letters: ClassVar[dict[str, str]] = {
        "Z_i": r"\text{row } i \text{ as the matrix it was given as}",
        "P_i": r"\text{the permutation of its rows that was found}",
    }

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
                f"shape {tuple(self.shape)} means {m * d} numbers in a sample, and X has {sample.X.shape[1]} "
                "columns: give the (rows, columns) of the matrices, each flattened row by row."
            )
        check_nonnegative(rho=self.rho)
        if self.initial not in ("given", "sorted"):
            raise InvalidInput(f"initial must be 'given' or 'sorted', got {self.initial!r}.")
        if sample.machine is not None and sample.machine.kernel is not None:
            raise MissingCapability(
                "it matches rows with the weights of a linear machine, and the kernel is "
                f"{sample.machine.kernel!r}. Use kernel='linear'; for sets of vectors there are also the "
                "kernels Bhattacharyya() and PrincipalAngles()."
            )

    def start(self, sample: Sample) -> Arrangement:
        Z = sample.X_train.reshape(-1, *self.shape)
        if self.initial == "given":
            return self._arranged(Z, np.tile(np.arange(self.shape[0]), (len(Z), 1)))
        return self._arranged(Z, np.array([np.lexsort(z.T[::-1]) for z in Z]))

    def _arranged(self, Z: Array, order: Array) -> Arrangement:
        if self.rho == 0:
            return Arrangement(order, np.zeros(self.shape), float("nan"))
        centre, radius = enclosing_ball(permuted(Z, order).reshape(len(Z), -1))
        return Arrangement(order, centre.reshape(self.shape), radius)

    def prepare(self, sample: Sample, state: Arrangement) -> Sample:
        Z = sample.X_train.reshape(-1, *self.shape)
        return sample.with_training(permuted(Z, state.order).reshape(len(Z), -1))

    def refine(self, f: Any, context: Context) -> Arrangement | None:
        Z = context.sample.X_train.reshape(-1, *self.shape)
        turns = self._best_orders(f, Z, context.sample.y_train, context.state)
        moved = int((turns != np.arange(self.shape[0])).any(axis=1).sum())
        context.notes["rearranged"] = moved
        if moved == 0:
            return None
        arranged = self._arranged(permuted(Z, turns), np.tile(np.arange(self.shape[0]), (len(Z), 1)))
        return replace(arranged, order=np.take_along_axis(context.state.order, turns, axis=1))

    def _best_orders(self, f: Any, Z: Array, y: Array, state: Arrangement) -> Array:
        """For every matrix, the order that suits its class and the ball best."""
        W = f.coef.reshape(self.shape)
        pull = 2 * self.rho * state.centre
        return np.array([best_order((sign * W + pull) @ z.T) for z, sign in zip(Z, y, strict=True)])

    def findings(self, f: Any, context: Context) -> Arrangement:
        return context.state

    def predict(self, f: Any, X: Array, state: Any = None) -> Array:
        Z = np.asarray(X, float).reshape(-1, *self.shape)
        positive, negative = (
            f.value(permuted(Z, self._best_orders(f, Z, np.full(len(Z), sign), state)).reshape(len(Z), -1))
            for sign in (1.0, -1.0)
        )
        return np.where(positive >= -negative, positive, negative)

    def words(self) -> str:
        return f"the order of the rows of a {self.shape[0]} x {self.shape[1]} matrix means nothing"


def permuted(Z: Array, order: Array) -> Array:
    """The rows of every matrix in its order."""
    return np.take_along_axis(Z, order[:, :, None], axis=1)


def best_order(scores: Array) -> Array:
    """Which row goes to which place, for the highest sum of ``scores[place, row]``; as it is in a tie."""
    stay = np.arange(len(scores))
    found = linear_sum_assignment(scores, maximize=True)[1]
    gain = _value(scores, found) - _value(scores, stay)
    return found if gain > TIE * np.abs(scores).max() * len(scores) else stay


def _value(scores: Array, order: Array) -> float:
    return float(scores[np.arange(len(order)), order].sum())


def enclosing_ball(X: Array, max_steps: int = 100_000) -> tuple[Array, float]:
    r"""Centre and radius of the smallest ball around the rows of X.

    The centre is a mixture :math:`c = \sum_i u_i x_i`. It moves towards the furthest point, or away from the
    nearest point of the mixture, whichever is more out of place, as far as makes the dual
    :math:`\sum_i u_i \|x_i\|^2 - \|c\|^2` grow most (Yıldırım 2008). Ends when no point lies further out than
    BALL of the squared radius, which is then right to that.

    >>> centre, radius = enclosing_ball(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]]))
    >>> centre.round(6), round(radius, 6)
    (array([1., 0.]), 1.0)
    """
    middle = X.mean(axis=0)  # the squares would lose digits far from the origin
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
            whole = u[near] / (1 - u[near])  # then it leaves the mixture
            step = min(inside / (2 * distances[near]), whole) if distances[near] > 0 else whole
            u *= 1 + step
            u[near] = 0.0 if step == whole else u[near] - step
        c = u @ X
    return c + middle, float(np.sqrt(distances[far]))
