r"""Transformed copies of the support vectors only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import check_nonnegative
from ...sample import Sample
from ..base import Context, Knowledge, Verdict
from .virtual_samples import check_transform, margins_on_orbit, with_virtual_rows


class VirtualSupportVectors(Knowledge):
    r"""Train, keep the support vectors, add their transformed versions, train again.

    .. math:: J_{PK} = C\,\mathrm{cost} \sum_{i \in SV} \mathrm{cost}_i
              \sum_{\theta \ne 0} \tilde\xi_{i\theta} - C \sum_{i \notin SV} \mathrm{cost}_i\, \xi_i .

    Two rounds. Every one-vs-rest machine has its own support vectors. The rows that were no support
    vectors are left out of the second round (the second sum). A heuristic: what is close to the margin
    before is assumed to be what matters after; iterating it would turn a local invariance into a global one.

    Parameters
    ----------
    transform : Transform
    cost : float
        Factor on the cost of the original.

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
    adds_rows: ClassVar[bool] = True
    latex: ClassVar[dict[str, str]] = {
        "sample": r"\sum_{v \in T(SV)} C_v\, \tilde\xi_v<p> - \sum_{i \notin SV} C_i\, \xi_i<p>"
    }
    letters: ClassVar[dict[str, str]] = {
        "SV": r"\text{the support vectors of the first round, } T(SV) \text{ their moved copies}",
        "C_v": r"C \text{ times the cost of virtual row } v",
        r"\tilde\xi_v": r"\text{its slack}",
        "C_i": r"C \text{ times the cost of row } i",
    }

    def __init__(self, transform: Any, cost: float = 1.0):
        self.transform = transform
        self.cost = cost

    def validate(self, sample: Sample) -> None:
        check_transform(self.transform, sample)
        check_nonnegative(cost=self.cost)

    def prepare(self, sample: Sample, state: Array | None) -> Sample:
        if state is None:
            return sample
        # Copies that another block made of a row go with it, whichever of the two blocks comes first.
        left_out = (sample.source >= 0) & ~np.isin(sample.source, state)
        kept = replace(sample, cost=np.where(left_out, 0.0, sample.cost))
        return with_virtual_rows(kept, self.transform, self.cost, state)

    def refine(self, f: Any, context: Context) -> Array | None:
        if context.state is not None:
            return None
        assert context.support is not None
        source = context.sample.source[context.support]
        return np.unique(source[source >= 0])  # a copy that is a support vector speaks for its original

    def verify(self, f: Any, context: Context) -> Verdict:
        if context.state is None:  # max_rounds=1 ended it before there were any
            return Verdict(None, asked="the margin at the transformed rows")
        orbit = self.transform.orbit(context.sample.X[context.state])[:, 1:]
        return margins_on_orbit(f, context, context.state, orbit)
