r"""Unlabelled samples whose labels are found along with f."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import check_nonnegative
from ...errors import InvalidInput
from ...sample import Sample
from ..base import Context, Knowledge, check_points


@dataclass(frozen=True, eq=False)
class Labelling:
    """The labels supposed so far, and the shares of ``cost`` at which either class stands."""

    y: Array
    positive: float
    negative: float

    def swapped(self, slack: Array) -> Labelling | None:
        """Exchange all disjoint pairs whose exchange lowers the objective, or None.

        A pair of opposite labels is worth exchanging when both slacks are positive and add up to more
        than 2. Disjoint pairs do not interfere, so exchanging many at once lowers the objective too.
        """
        plus = np.flatnonzero((self.y > 0) & (slack > 0))
        minus = np.flatnonzero((self.y < 0) & (slack > 0))
        plus = plus[np.argsort(-slack[plus])]
        minus = minus[np.argsort(-slack[minus])]
        k = min(len(plus), len(minus))
        worth = slack[plus[:k]] + slack[minus[:k]] > 2 + 1e-6
        pairs = k if worth.all() else int(np.argmin(worth))
        if pairs == 0:
            return None
        y = self.y.copy()
        y[plus[:pairs]] = -1.0
        y[minus[:pairs]] = 1.0
        return replace(self, y=y)


class Transductive(Knowledge):
    r"""Unlabelled samples with labels :math:`y^*` chosen to lower the objective.

    .. math:: J_{PK} = \min_{y^* \in \{-1,1\}^m} C\,\mathrm{cost} \sum_j \xi^*_j, \qquad
              y^*_j f(x^*_j) \ge 1 - \xi^*_j .

    Mixed-integer; solved by Joachims' label switching, so the result is a *local* optimum: first a plain
    machine labels the ``n_positive`` highest scores +1, then pairs are exchanged while that lowers the
    objective and the samples' cost is doubled from 1e-5 of ``cost`` up to ``cost``. All exchanges that do
    not interfere are made at once. Every round keeps the kernel factorisation of the last, and rounds that
    change costs alone keep the compiled problem and start from its solution.

    Parameters
    ----------
    X : (m, d) array
    n_positive : int, dict of class to int, or None
        How many of them are of which class, ``{"ill": 10}``; of two classes the others are then the rest,
        with more a dict says it for each. A number counts ``classes_[1]``, of words the one that is later in
        the alphabet. None takes the share of the training data. ``findings_`` says what was counted.
    cost : float
        Factor on C of an unlabelled sample.

    References
    ----------
    Joachims 1999; Lauer & Bloch 2008, section 4.1.2.

    Examples
    --------
    >>> from priorsvm import PriorSVC, Transductive
    >>> unlabelled = [[0.1], [0.2], [0.3], [1.7], [1.8], [1.9]]
    >>> model = PriorSVC(Transductive(unlabelled), C=10).fit([[0.0], [1.0]], [0, 1])
    >>> model.predict([[0.6], [1.4]])
    array([0, 1])
    >>> few = Transductive(unlabelled, n_positive={"ill": 2})
    >>> PriorSVC(few).fit([[0.0], [1.0]], ["ill", "well"]).findings_["transductive"]
    "4 of 6 taken for 'well', 2 for 'ill'"
    """

    exact: ClassVar[bool] = False
    adds_rows: ClassVar[bool] = True
    latex: ClassVar[dict[str, str]] = {"sample": r"\sum_{j} C^*_j\, (\xi^*_j)<p>"}
    letters: ClassVar[dict[str, str]] = {
        "C^*_j": r"C \text{ times the cost of unlabelled row } j",
        r"\xi^*_j": r"\text{its slack, with the label that was found}",
    }

    def __init__(self, X: Any, n_positive: Any = None, cost: float = 1.0):
        self.X = X
        self.n_positive = n_positive
        self.cost = cost

    @property
    def takes_sets(self) -> bool:
        return True

    def validate(self, sample: Sample) -> None:
        check_points("X", self.X, sample)
        check_nonnegative(cost=self.cost)
        self._n_positive(sample)

    def prepare(self, sample: Sample, state: Labelling | None) -> Sample:
        if state is None:
            return sample
        X = check_points("X", self.X, sample)
        cost = self.cost * np.where(state.y > 0, state.positive, state.negative)
        return sample.with_rows(X, state.y, cost, np.ones(len(X)))

    def refine(self, f: Any, context: Context) -> Labelling | None:
        X = check_points("X", self.X, context.sample)
        if len(X) == 0 or self.cost == 0:
            return None
        scores = f.value(X)
        state = context.state
        if state is None:
            return self._first(scores, self._n_positive(context.sample))
        swapped = state.swapped(np.maximum(1 - state.y * scores, 0.0))
        if swapped is not None:
            return swapped
        if min(state.positive, state.negative) >= 1.0:
            return None
        return replace(state, positive=min(2 * state.positive, 1.0), negative=min(2 * state.negative, 1.0))

    def findings(self, f: Any, context: Context) -> str | None:
        """How many samples were taken for which class."""
        if context.state is None:
            return None
        sample = context.sample
        m = len(context.state.y)
        classes = sample.classes.tolist()
        number = int(np.sum(context.state.y > 0))
        positive = np.asarray(sample.positive).item()  # 1 reads better than np.int64(1)
        rest = "others" if len(classes) > 2 else repr(next(c for c in classes if c != positive))
        return f"{number} of {m} taken for {positive!r}, {m - number} for {rest}"

    def _first(self, scores: Array, n_positive: int) -> Labelling:
        y = -np.ones(len(scores))
        y[np.argsort(-scores, kind="stable")[:n_positive]] = 1.0
        n_negative = len(y) - n_positive
        if n_positive == 0 or n_negative == 0:  # nothing to exchange: the labels are settled
            return Labelling(y, 1.0, 1.0)
        return Labelling(y, min(1e-5 * n_positive / n_negative, 1.0), 1e-5)

    def _n_positive(self, sample: Sample) -> int:
        m = len(self.X)
        wanted = self.n_positive
        if wanted is None:
            weight = sample.shares["svm"][: sample.n_train]
            return round(m * float(weight @ (sample.y_train > 0) / weight.sum()))
        if isinstance(wanted, dict):
            for label in wanted:
                sample.sign(label)
            wanted = self._of_class(sample, wanted, m)
        elif len(sample.classes) > 2:
            raise InvalidInput(
                f"n_positive={wanted!r} is ambiguous for {len(sample.classes)} classes: "
                "give a dict of class to count."
            )
        return _count(wanted, m)

    def _of_class(self, sample: Sample, wanted: dict[Any, Any], m: int) -> int:
        """How many a dict leaves to this machine's positive class: of two, one says it of both."""
        if len(sample.classes) > 2:
            if sample.positive not in wanted:
                label = np.asarray(sample.positive).item()
                raise InvalidInput(f"n_positive does not say how many samples are of class {label!r}.")
            return _count(wanted[sample.positive], m)
        counts = {sample.sign(label): _count(number, m) for label, number in wanted.items()}
        if not counts or (len(counts) == 2 and sum(counts.values()) != m):
            raise InvalidInput(
                f"n_positive={wanted!r} must share out all {m} samples (the rows of X); the count of one "
                "class is enough."
            )
        return counts[1.0] if 1.0 in counts else m - counts[-1.0]


def _count(number: Any, m: int) -> int:
    """A count of samples, of which there are m."""
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or not 0 <= number <= m:
        raise InvalidInput(
            f"n_positive must be a whole number from 0 to {m} (the rows of X), got {number!r}."
        )
    return int(number)
