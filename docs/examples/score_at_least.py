"""A block of your own: the score is at least a given value at some points."""

from numbers import Real
from typing import Any

import cvxpy as cp

from priorsvm import Building, Formulas, Knowledge, Solved, Terms, Verdict
from priorsvm.errors import InvalidInput
from priorsvm.knowledge.checks import check_flag, check_points
from priorsvm.sample import Sample


class ScoreAtLeast(Knowledge):
    r"""The score of a class is at least ``value`` at some points.

    .. math:: J_{PK} = \mu \sum_p s_p, \qquad y f(z_p) \ge \mathrm{value} - s_p,\; s \ge 0
              \quad\text{or, hard,}\quad y f(z_p) \ge \mathrm{value} .

    Parameters
    ----------
    points : array of shape (m, d)
        Points, in the units of X.
    label : object
        The class whose score is meant.
    value : float, default=1.0
        Least score.
    mu : float, default=1.0
        Weight of the sum of the shortfalls.
    hard : bool, default=False
        Whether no shortfall is allowed.

    Examples
    --------
    >>> from priorsvm import PriorSVC, check_knowledge
    >>> block = ScoreAtLeast([[0.0, 3.0]], label=1, value=2.0, hard=True)
    >>> model = PriorSVC(block).fit([[0, 0], [1, 0], [0, 1]], [0, 1, 1])
    >>> round(float(model.decision_function([[0.0, 3.0]])[0]), 3) >= 2.0
    True
    >>> PriorSVC(ScoreAtLeast([[0.0, 3.0]], label=1, hard="no")).fit([[0, 0], [1, 0], [0, 1]], [0, 1, 1])
    Traceback (most recent call last):
        ...
    priorsvm.errors.InvalidInput: block 'score_at_least': hard must be True or False, got 'no'.
    >>> laws = check_knowledge(ScoreAtLeast([[0.5, 0.0, 1.0]], label=1, value=1.0))
    >>> "weight 0 disables the block" in laws
    True
    """

    formulas = Formulas(
        latex={
            "mu": r"\sum_p s_p",
            "score": r"y f(z_p) \ge v",
            "shortfall": r"y f(z_p) \ge v - s_p,\; s_p \ge 0",
        },
        letters={"z_p": r"\text{the points}", "s_p": r"\text{the shortfall at point } p"},
        numbers={"v": "value"},
    )

    def __init__(self, points: Any, label: Any, value: float = 1.0, mu: float = 1.0, hard: bool = False):
        self.points = points
        self.label = label
        self.value = value
        self.mu = mu
        self.hard = hard

    def validate(self, sample: Sample) -> None:
        check_points("points", self.points, sample)
        check_flag(hard=self.hard)
        if not isinstance(self.value, Real):
            raise InvalidInput(f"value must be a number, got {self.value!r}.")
        sample.sign(self.label)  # raises if there is no such class

    def build(self, f: Any, view: Building) -> Terms:
        score = view.sample.sign(self.label) * f(self.points)
        if self.hard:
            return Terms(constraints={"score": score >= self.value})
        s = cp.Variable(len(self.points), nonneg=True, name="s")
        return Terms({"mu": cp.sum(s)}, {"shortfall": score + s >= self.value})

    def verify(self, f: Any, view: Solved) -> Verdict:
        points = check_points("points", self.points, view.sample)
        excess = view.sample.sign(self.label) * f.value(points) - self.value
        return Verdict.at_points(excess, points, "the score at its points", max(view.tol, 1e-6))
