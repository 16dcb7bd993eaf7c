r"""Transformed copies of the training rows, with the class of their originals."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import check_nonnegative, is_number
from ...errors import InvalidInput
from ...sample import Sample
from ..base import Formulas, Knowledge
from ..by_class import ByClass, Group
from ..checks import cost_at
from ..views import Solved, Verdict


class VirtualSamples(ByClass, Knowledge):
    r"""Transformed copies of every training row.

    .. math:: J_{PK} = C \sum_i \mathrm{cost}_i
              \sum_{\theta \ne 0} \mathrm{cost}(\theta)\, \tilde\xi_{i\theta}, \qquad
              y_i f(T_\theta x_i) \ge \rho_i - \tilde\xi_{i\theta} .

    Use it if a transformation does not change the class. The loss is a sum over the orbit; ``InvariantLoss``
    takes the maximum instead. Exact for every model. A copy inherits the margin of its original, and its
    cost times ``cost``. Several blocks of this class can be combined.

    Parameters
    ----------
    transform : Transform or dict of class to Transform
        Every member of its orbit except the identity is added. With a dict, rows of a class that is not a
        key have no copies.
    cost : float, array or callable, default=1.0
        Factor on the cost of the original; below 1 for transformations that are only roughly right. An
        array has one factor for each copy, in the order of ``transform.theta_grid()[1:]``. A function maps
        the (s, q) parameters of the copies to s factors.
    classes : class, list of classes or None, default=None
        Classes whose rows have copies; None means all classes. Leave it out if ``transform`` is a dict.

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

    def __init__(self, transform: Any, cost: Any = 1.0, classes: Any = None):
        self.transform = transform
        self.cost = cost
        self.classes = classes

    def validate(self, sample: Sample) -> None:
        self.check_orbits(sample)
        for group in self.groups(sample.labels):
            cost_of_copies(self.cost, group, sample.X.shape[1])

    def prepare(self, sample: Sample, state: Any) -> Sample:
        return with_virtual_rows(sample, self, sample.counted_training)

    def verify(self, f: Any, view: Solved) -> Verdict:
        return margins_of_copies(self, f, view, view.rows)


def cost_of_copies(cost: Any, group: Group, d: int) -> Array:
    """Return the factor of each copy of rows of length d; raise InvalidInput unless all are at least 0."""
    thetas = group.transform.parameters(d)[1:]
    count = len(thetas)
    listed = isinstance(cost, (list, tuple, np.ndarray)) or hasattr(cost, "__array__")
    if not (callable(cost) or (listed and not is_number(cost))):
        check_nonnegative(cost=cost)
        return np.full(count, float(cost))
    source = "the array cost"
    if callable(cost):
        source = "the result of the function cost"
        cost = cost_at(cost, thetas)
    try:
        found = np.asarray(cost, float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{source} must contain numbers, got {cost!r}.") from error
    if found.shape != (count,):
        raise InvalidInput(
            f"{source} has shape {found.shape}, expected ({count},): one factor for each of the {count} "
            f"copies of a row by {group.transform!r}."
        )
    valid = np.isfinite(found) & (found >= 0)
    if not valid.all():
        raise InvalidInput(f"{source} contains {found[~valid][0]:g}. Every factor must be at least 0.")
    return found


def with_virtual_rows(sample: Sample, block: Any, rows: Array) -> Sample:
    """Append the orbits of training rows, without the rows themselves."""
    before = sample
    for group, orbit in block.copies(before.labels[rows], before.X[rows]):
        size = orbit.shape[1]
        source = np.repeat(rows[group.rows], size)
        factor = np.tile(cost_of_copies(block.cost, group, before.X.shape[1]), len(group.rows))
        sample = sample.with_rows(
            orbit.reshape(-1, before.X.shape[1]),
            before.y[source],
            factor * before.cost[source],
            before.margin[source],
            source,
        )
    return sample


def margins_of_copies(block: Any, f: Any, view: Solved, rows: Array) -> Verdict:
    """Return the verdict on the margins of all transformed copies of training rows."""
    sample = view.sample
    source = [np.empty(0, int)]
    points = [sample.X[:0]]
    for group, orbit in block.copies(sample.labels[rows], sample.X[rows]):
        source.append(np.repeat(rows[group.rows], orbit.shape[1]))
        points.append(orbit.reshape(-1, sample.X.shape[1]))
    of = np.concatenate(source)
    Z = np.vstack(points)
    excess = sample.y[of] * f.value(Z) - sample.margin[of]
    return Verdict.at_points(excess, Z, "the margin at the transformed rows", view.tol)
