r"""Transformed copies of the training rows, with the class of their originals."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import check_nonnegative
from ...sample import Sample
from ...transforms.base import Transform
from ..base import Formulas, Knowledge
from ..checks import check_orbit
from ..views import Solved, Verdict


class VirtualSamples(Knowledge):
    r"""Transformed copies of every training row.

    .. math:: J_{PK} = C\,\mathrm{cost} \sum_i \mathrm{cost}_i \sum_{\theta \ne 0} \tilde\xi_{i\theta}, \qquad
              y_i f(T_\theta x_i) \ge \rho_i - \tilde\xi_{i\theta} .

    Use it if a transformation does not change the class. The loss is a sum over the orbit; ``InvariantLoss``
    takes the maximum instead. Exact for every model. A copy inherits the margin of its original, and its
    cost times ``cost``. Several blocks of this class can be combined.

    Parameters
    ----------
    transform : Transform
        Every member of its orbit except the identity is added.
    cost : float, default=1.0
        Factor on the cost of the original; below 1 for transformations that are only roughly right.

    See Also
    --------
    VirtualSupportVectors : copies of the support vectors only.
    InvariantLoss : the worst loss of each orbit.

    References
    ----------
    Niyogi, Girosi & Poggio 1998; Lauer & Bloch 2008, sections 4.1.1 and 5.3.

    Examples
    --------
    >>> from priorsvm import PriorSVC, Shift, VirtualSamples
    >>> model = PriorSVC(VirtualSamples(Shift([0.0, 1.0]))).fit([[0.0, 0.0], [2.0, 0.0]], [0, 1])
    >>> [row.block for row in model.report_.rows]
    ['svm', 'svm', 'virtual_samples']
    """

    prepares: ClassVar[str | None] = "adds"
    formulas: ClassVar[Formulas] = Formulas(
        latex={"sample": r"\sum_{v} C_v\, \tilde\xi_v<p>"},
        letters={
            "C_v": r"C \text{ times the cost of virtual row } v",
            r"\tilde\xi_v": r"\text{its slack}",
        },
    )

    def __init__(self, transform: Any, cost: float = 1.0):
        self.transform = transform
        self.cost = cost

    def validate(self, sample: Sample) -> None:
        check_orbit(self.transform, sample)
        check_nonnegative(cost=self.cost)

    def prepare(self, sample: Sample, state: Any) -> Sample:
        return with_virtual_rows(sample, self.transform, self.cost, sample.counted_training)

    def verify(self, f: Any, view: Solved) -> Verdict:
        orbit = self.transform.orbit(view.sample.X[view.rows])[:, 1:]
        return margins_on_orbit(f, view, view.rows, orbit)


def with_virtual_rows(sample: Sample, transform: Transform, cost: float, rows: Array) -> Sample:
    """Append the orbits of ``rows``, without the rows themselves."""
    orbit = transform.orbit(sample.X[rows])[:, 1:]
    source = np.repeat(rows, orbit.shape[1])
    return sample.with_rows(
        orbit.reshape(-1, sample.X.shape[1]),
        sample.y[source],
        cost * sample.cost[source],
        sample.margin[source],
        source,
    )


def margins_on_orbit(f: Any, view: Solved, rows: Array, orbit: Array) -> Verdict:
    """Return the verdict on the margins of all transformed copies."""
    sample = view.sample
    source = np.repeat(rows, orbit.shape[1])
    points = orbit.reshape(-1, sample.X.shape[1])
    excess = sample.y[source] * f.value(points) - sample.margin[source]
    return Verdict.at_points(excess, points, "the margin at the transformed rows", view.tol)
