r"""Transformed copies of the samples, of the same class as the originals."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import check_nonnegative, described
from ...errors import InvalidType
from ...sample import Sample
from ...transforms.base import Transform
from ..base import Context, Knowledge, Verdict


class VirtualSamples(Knowledge):
    r"""Every training row also in its transformed versions.

    .. math:: J_{PK} = C\,\mathrm{cost} \sum_i \mathrm{cost}_i \sum_{\theta \ne 0} \tilde\xi_{i\theta}, \qquad
              y_i f(T_\theta x_i) \ge \rho_i - \tilde\xi_{i\theta} .

    A sum over the orbit, where the invariant loss takes the worst of it. Exact on every machine. A copy
    inherits the cost and the margin of its original, times ``cost``: distortions that are only roughly
    right can be trusted less than the data, and several such blocks stand side by side.

    Parameters
    ----------
    transform : Transform
        Every member of its orbit but the identity is added.
    cost : float
        Factor on the cost of the original.

    References
    ----------
    Niyogi, Girosi & Poggio 1998; Lauer & Bloch 2008, section 4.1.1 and 5.3.

    Examples
    --------
    >>> from priorsvm import PriorSVC, Shift, VirtualSamples
    >>> model = PriorSVC(VirtualSamples(Shift([0.0, 1.0]))).fit([[0.0, 0.0], [2.0, 0.0]], [0, 1])
    >>> [row.block for row in model.report_.rows]
    ['svm', 'svm', 'virtual_samples']
    """

    adds_rows: ClassVar[bool] = True
    latex: ClassVar[dict[str, str]] = {"sample": r"\sum_{v} C_v\, \tilde\xi_v<p>"}
    letters: ClassVar[dict[str, str]] = {
        "C_v": r"C \text{ times the cost of virtual row } v",
        r"\tilde\xi_v": r"\text{its slack}",
    }

    def __init__(self, transform: Any, cost: float = 1.0):
        self.transform = transform
        self.cost = cost

    def validate(self, sample: Sample) -> None:
        check_transform(self.transform, sample)
        check_nonnegative(cost=self.cost)

    def prepare(self, sample: Sample, state: Any) -> Sample:
        return with_virtual_rows(sample, self.transform, self.cost, np.arange(sample.n_train))

    def verify(self, f: Any, context: Context) -> Verdict:
        rows = np.arange(context.sample.n_train)
        orbit = self.transform.orbit(context.sample.X_train)[:, 1:]
        return margins_on_orbit(f, context, rows, orbit)


def check_transform(transform: Any, sample: Sample) -> None:
    """It is a transform, has a finite orbit, and fits the rows."""
    if not isinstance(transform, Transform):
        raise InvalidType(
            f"transform must be a Transform, got {described(transform)}. "
            "FromFunction(function, thetas) makes one of a function."
        )
    transform.orbit(sample.X_train[:1])


def with_virtual_rows(sample: Sample, transform: Transform, cost: float, rows: Array) -> Sample:
    """Append the orbits of these training rows, without the rows themselves."""
    orbit = transform.orbit(sample.X[rows])[:, 1:]
    source = np.repeat(rows, orbit.shape[1])
    return sample.with_rows(
        orbit.reshape(-1, sample.X.shape[1]),
        sample.y[source],
        cost * sample.cost[source],
        sample.margin[source],
        source,
    )


def margins_on_orbit(f: Any, context: Context, rows: Array, orbit: Array) -> Verdict:
    """The margin left over at every transformed copy."""
    sample = context.sample
    source = np.repeat(rows, orbit.shape[1])
    points = orbit.reshape(-1, sample.X.shape[1])
    excess = sample.y[source] * f.value(points) - sample.margin[source]
    return Verdict.at_points(excess, points, "the margin at the transformed rows", context.tol)
