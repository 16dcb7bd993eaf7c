"""A block of one's own: the score is at least so much at these points."""

from typing import Any

import cvxpy as cp
import numpy as np

from priorsvm import Knowledge, Terms, Verdict
from priorsvm.errors import InvalidInput


class ScoreAtLeast(Knowledge):
    r"""The score of a class is at least ``value`` at some points.

    .. math:: J_{PK} = \mu \sum_p s_p, \qquad y f(z_p) \ge \mathrm{value} - s_p,\; s \ge 0
              \quad\text{or, hard,}\quad y f(z_p) \ge \mathrm{value} .

    Parameters
    ----------
    points : (m, d) array
    label : the class whose score is meant
    value : float
    mu : float
        Weight of the sum of the shortfalls.
    hard : bool
        No shortfall at all.

    Examples
    --------
    >>> from priorsvm import PriorSVC, check_knowledge
    >>> block = ScoreAtLeast([[0.0, 3.0]], label=1, value=2.0, hard=True)
    >>> model = PriorSVC(block).fit([[0, 0], [1, 0], [0, 1]], [0, 1, 1])
    >>> round(float(model.decision_function([[0.0, 3.0]])[0]), 3) >= 2.0
    True
    >>> laws = check_knowledge(ScoreAtLeast([[0.5, 0.0, 1.0]], label=1, value=1.0))
    >>> "weight 0 is absent" in laws
    True
    """

    # What formulation() writes: by penalty name and by constraint label.
    latex = {
        "mu": r"\sum_p s_p",
        "score": r"y f(z_p) \ge v - s_p,\; s_p \ge 0",
    }

    def __init__(self, points: Any, label: Any, value: float = 1.0, mu: float = 1.0, hard: bool = False):
        self.points = points
        self.label = label
        self.value = value
        self.mu = mu
        self.hard = hard

    def validate(self, sample: Any) -> None:
        width = sample.X.shape[1]
        if np.shape(self.points)[1:] != (width,):
            raise InvalidInput(f"points has shape {np.shape(self.points)}, expected (m, {width}).")
        sample.sign(self.label)  # raises if there is no such class

    def build(self, f: Any, context: Any) -> Terms:
        score = context.sample.sign(self.label) * f(self.points)
        if self.hard:
            return Terms(constraints={"score": score >= self.value})
        s = cp.Variable(len(self.points), nonneg=True, name="s")
        return Terms({"mu": cp.sum(s)}, {"score": score + s >= self.value})

    def verify(self, f: Any, context: Any) -> Verdict:
        points = np.asarray(self.points, float)
        excess = context.sample.sign(self.label) * f.value(points) - self.value
        return Verdict.at_points(excess, points, "the score at its points", max(context.tol, 1e-6))
