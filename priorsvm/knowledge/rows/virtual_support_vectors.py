r"""Transformed copies of the support vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ...sample import Sample
from ..base import Formulas, Knowledge
from ..by_class import ByClass
from ..traits import Iterative
from ..views import Solved, Step, Verdict
from .virtual_samples import cost_of_copies, margins_of_copies, with_virtual_rows


class VirtualSupportVectors(ByClass, Iterative, Knowledge):
    r"""Transformed copies of the support vectors, in a second round of training.

    .. math:: J_{PK} = C \sum_{i \in SV} \mathrm{cost}_i
              \sum_{\theta \ne 0} \mathrm{cost}(\theta)\, \tilde\xi_{i\theta}
              - C \sum_{i \notin SV} \mathrm{cost}_i\, \xi_i .

    Use it instead of ``VirtualSamples`` if there are many rows and few support vectors. The first round
    finds the support vectors. The second round trains on them and their copies; all other rows are left out,
    which is the second sum. It is a heuristic: rows far from the margin are assumed to stay there. Every
    binary problem has its own support vectors.

    Parameters
    ----------
    transform : Transform or dict of class to Transform
        Every member of its orbit except the identity is added. With a dict, support vectors of a class that
        is not a key have no copies.
    cost : float, array or callable, default=1.0
        Factor on the cost of the original: a number, one number for each copy, or a function of the (s, q)
        parameters of the copies, as in :class:`VirtualSamples`.
    classes : class, list of classes or None, default=None
        Classes whose support vectors have copies; None means all classes. Support vectors of other classes
        are kept without copies.

    See Also
    --------
    VirtualSamples : copies of all training rows, exact.
    InvariantLoss : the worst loss of each orbit.

    References
    ----------
    Schölkopf, Burges & Vapnik 1996; Lauer & Bloch 2008, section 4.1.1.

    Examples
    --------
    >>> from priorsvm import PriorSVC, Shift, VirtualSupportVectors
    >>> X, y = [[0.0, 0.0], [2.0, 0.0], [9.0, 0.0]], [0, 1, 1]
    >>> PriorSVC(VirtualSupportVectors(Shift([0.0, 1.0]))).fit(X, y).n_rounds_
    2
    """

    exact: ClassVar[bool] = False
    prepares: ClassVar[str | None] = "adds"
    formulas: ClassVar[Formulas] = Formulas(
        latex={"sample": r"\sum_{v \in T(SV)} C_v\, \tilde\xi_v<p> - \sum_{i \notin SV} C_i\, \xi_i<p>"},
        letters={
            "SV": r"\text{the support vectors of the first round, } T(SV) \text{ their transformed copies}",
            "C_v": r"C \text{ times the cost of virtual row } v",
            r"\tilde\xi_v": r"\text{its slack}",
            "C_i": r"C \text{ times the cost of row } i",
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

    def prepare(self, sample: Sample, state: Array | None) -> Sample:
        if state is None:
            return sample
        # Copies that another block made of a row are left out with it, in either order of the blocks.
        left_out = (sample.source >= 0) & ~np.isin(sample.source, state)
        kept = replace(sample, cost=np.where(left_out, 0.0, sample.cost))
        return with_virtual_rows(kept, self, state)

    def refine(self, f: Any, view: Solved) -> Step | None:
        if view.state is not None:
            return None
        source = view.sample.source[view.support]
        return Step(np.unique(source[source >= 0]))  # a copy counts as its original

    def verify(self, f: Any, view: Solved) -> Verdict:
        if view.state is None:  # max_rounds=1: there was no second round
            return Verdict(None, asked="the margin at the transformed rows")
        return margins_of_copies(self, f, view, view.state)
