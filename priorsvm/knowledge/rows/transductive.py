r"""Unlabelled rows whose labels are found together with f."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import check_nonnegative
from ...errors import InvalidInput, MissingCapability
from ...sample import Sample
from ..base import Formulas, Knowledge
from ..checks import check_points
from ..traits import Iterative
from ..views import Solved, Step


@dataclass(frozen=True, eq=False)
class Labelling:
    """The current labels of the unlabelled rows, and the current cost of each class.

    Attributes
    ----------
    y : array of shape (m,)
        Current labels, -1.0 or +1.0.
    positive : float
        Share of ``cost`` that rows with label +1 have now.
    negative : float
        Share of ``cost`` that rows with label -1 have now.
    """

    y: Array
    positive: float
    negative: float

    def swapped(self, slack: Array) -> Labelling | None:
        """Exchange all disjoint pairs whose exchange lowers the objective; return None if there are none.

        Exchanging two opposite labels lowers the objective if both slacks are positive and their sum
        exceeds 2. Disjoint pairs are independent, so many can be exchanged at once.
        """
        plus = np.flatnonzero((self.y > 0) & (slack > 0))
        minus = np.flatnonzero((self.y < 0) & (slack > 0))
        plus = plus[np.argsort(-slack[plus])]
        minus = minus[np.argsort(-slack[minus])]
        k = min(len(plus), len(minus))
        lowers = slack[plus[:k]] + slack[minus[:k]] > 2 + 1e-6
        pairs = k if lowers.all() else int(np.argmin(lowers))
        if pairs == 0:
            return None
        y = self.y.copy()
        y[plus[:pairs]] = -1.0
        y[minus[:pairs]] = 1.0
        return replace(self, y=y)


class Transductive(Iterative, Knowledge):
    r"""Unlabelled rows with labels :math:`y^*` that minimise the objective.

    .. math:: J_{PK} = \min_{y^* \in \{-1,1\}^m} C\,\mathrm{cost} \sum_j \xi^*_j, \qquad
              y^*_j f(x^*_j) \ge 1 - \xi^*_j .

    Use it if many rows have no label and their classes form clusters. The problem is mixed-integer, and
    Joachims' label switching finds a *local* optimum. A plain SVM first gives the label +1 to the
    ``n_positive`` highest scores. Then pairs of labels are exchanged while that lowers the objective, and the
    cost is doubled from 1e-5 of ``cost`` up to ``cost``. All disjoint exchanges are made in one round.

    Parameters
    ----------
    X : array of shape (m, d)
        The unlabelled rows.
    n_positive : int, dict or None, default=None
        Number of rows of X per class, such as ``{"ill": 10}``. With two classes the count of one class is
        enough; with more, the dict needs every class. An int counts ``classes_[1]``. None uses the shares of
        the training data. ``findings_`` reports the counts. Not for ``multi_class="ovo"``, where an
        unlabelled row may have neither class of a model.
    cost : float, default=1.0
        Factor on C of an unlabelled row.

    See Also
    --------
    UnlabeledSamples : extra rows with assumed labels, exact.

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
    "4 of 6 rows labelled 'well', 2 labelled 'ill'"
    """

    exact: ClassVar[bool] = False
    accepts: ClassVar[frozenset[str]] = frozenset({"dense", "sets"})
    prepares: ClassVar[str | None] = "adds"
    formulas: ClassVar[Formulas] = Formulas(
        latex={"sample": r"\sum_{j} C^*_j\, (\xi^*_j)<p>"},
        letters={
            "C^*_j": r"C \text{ times the cost of unlabelled row } j",
            r"\xi^*_j": r"\text{its slack, with the label found}",
        },
    )

    def __init__(self, X: Any, n_positive: Any = None, cost: float = 1.0):
        self.X = X
        self.n_positive = n_positive
        self.cost = cost

    def validate(self, sample: Sample) -> None:
        check_points("X", self.X, sample)
        check_nonnegative(cost=self.cost)
        if sample.against is not None:
            raise MissingCapability(
                "a one-vs-one model contains two classes, and unlabelled rows may have another class. Use "
                "multi_class='ovr', where every row is of the class or not."
            )
        if sample.model is not None and sample.model.hard:
            raise MissingCapability(
                "label switching raises the cost of the unlabelled rows step by step, which requires a "
                "finite C, and C is infinite. Use a finite C, or UnlabeledSamples."
            )
        self._n_positive(sample)

    def prepare(self, sample: Sample, state: Labelling | None) -> Sample:
        if state is None:
            return sample
        X = check_points("X", self.X, sample)
        cost = self.cost * np.where(state.y > 0, state.positive, state.negative)
        return sample.with_rows(X, state.y, cost, np.ones(len(X)))

    def refine(self, f: Any, view: Solved) -> Step | None:
        X = check_points("X", self.X, view.sample)
        if view.settled or len(X) == 0 or self.cost == 0:
            return None
        scores = f.value(X)
        state = view.state
        if state is None:
            return Step(self._first(scores, self._n_positive(view.sample)))
        swapped = state.swapped(np.maximum(1 - state.y * scores, 0.0))
        if swapped is not None:
            return Step(swapped)
        if min(state.positive, state.negative) >= 1.0:
            return None
        positive = min(2 * state.positive, 1.0)
        negative = min(2 * state.negative, 1.0)
        return Step(replace(state, positive=positive, negative=negative))

    def findings(self, f: Any, view: Solved) -> str | None:
        if view.state is None:
            return None
        sample = view.sample
        m = len(view.state.y)
        number = int(np.sum(view.state.y > 0))
        positive = np.asarray(sample.positive).item()  # 1 reads better than np.int64(1)
        rest = "otherwise" if sample.negative is None else repr(sample.negative)
        return f"{number} of {m} rows labelled {positive!r}, {m - number} labelled {rest}"

    def _first(self, scores: Array, n_positive: int) -> Labelling:
        y = -np.ones(len(scores))
        y[np.argsort(-scores, kind="stable")[:n_positive]] = 1.0
        n_negative = len(y) - n_positive
        if n_positive == 0 or n_negative == 0:  # no exchange is possible
            return Labelling(y, 1.0, 1.0)
        return Labelling(y, min(1e-5 * n_positive / n_negative, 1.0), 1e-5)

    def _n_positive(self, sample: Sample) -> int:
        m = len(self.X)
        number = self.n_positive
        if number is None:
            weight = sample.weights
            return round(m * float(weight @ (sample.y_train > 0) / weight.sum()))
        if isinstance(number, dict):
            for label in number:
                sample.sign(label)
            number = self._of_class(sample, number, m)
        elif len(sample.classes) > 2:
            raise InvalidInput(
                f"n_positive={number!r} is ambiguous for {len(sample.classes)} classes. "
                "Give a dict of class to count."
            )
        return _count(number, m)

    def _of_class(self, sample: Sample, by_class: dict[Any, Any], m: int) -> int:
        """Return the count of the positive class; with two classes, one count determines both."""
        if len(sample.classes) > 2:
            if sample.positive not in by_class:
                label = np.asarray(sample.positive).item()
                raise InvalidInput(f"n_positive has no count for class {label!r}. Add it to the dict.")
            return _count(by_class[sample.positive], m)
        counts = {sample.sign(label): _count(number, m) for label, number in by_class.items()}
        if not counts or (len(counts) == 2 and sum(counts.values()) != m):
            raise InvalidInput(
                f"the counts of n_positive={by_class!r} must sum to {m}, the number of rows of X. "
                "The count of one class is enough."
            )
        return counts[1.0] if 1.0 in counts else m - counts[-1.0]


def _count(number: Any, m: int) -> int:
    """Return ``number`` as a count of at most m rows."""
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or not 0 <= number <= m:
        raise InvalidInput(
            f"n_positive must be a whole number from 0 to {m} (the rows of X), got {number!r}."
        )
    return int(number)
