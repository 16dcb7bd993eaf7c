r"""Costs and margins per training row."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...errors import InvalidInput
from ...sample import Sample
from ..base import Formulas, Knowledge


class SampleCosts(Knowledge):
    r"""Factor on C and required margin, per training row.

    .. math:: J_{PK} = \sum_i (C_i - C)\,\xi_i, \qquad y_i f(x_i) \ge \rho_i - \xi_i .

    Use it if some labels are less reliable. With ``costs`` alone it is the weighted SVM. With ``margins`` it
    is the weighted-*margin* SVM of Wu & Srihari. Exact for every model.

    Parameters
    ----------
    costs : array of shape (n,), callable or None, default=None
        Nonnegative factors on C, one per training row; None means 1. A callable maps (X, y) to the array.
        Pass the array to ``fit`` as ``sample_costs__costs`` if cross-validation must split it.
    margins : array of shape (n,), callable or None, default=None
        Nonnegative margins :math:`\rho_i`, one per training row; None means 1. A callable maps (X, y) to the
        array. Pass the array to ``fit`` as ``sample_costs__margins`` if cross-validation must split it.

    See Also
    --------
    ClassCosts : costs per class.
    UnlabeledSamples : extra rows with assumed labels and costs.

    References
    ----------
    Wu & Srihari 2004; Lauer & Bloch 2008, section 4.1.2, which cites the paper for weights of C instead of
    margins.

    Examples
    --------
    >>> from priorsvm import PriorSVC, SampleCosts
    >>> X, y = [[0.0], [1.0], [2.0], [1.4]], [0, 0, 1, 1]
    >>> model = PriorSVC(SampleCosts()).fit(X, y, sample_costs__costs=[1, 1, 1, 0])
    >>> model.predict([[1.4]])
    array([0])
    """

    row_params: ClassVar[tuple[str, ...]] = ("costs", "margins")
    accepts: ClassVar[frozenset[str]] = frozenset({"dense", "sparse", "sets", "precomputed", "chunks"})
    prepares: ClassVar[str | None] = "reweights"
    formulas: ClassVar[Formulas] = Formulas(
        latex={"sample": r"\sum_{i} (C_i - C)\, \xi_i<p>"},
        letters={"C_i": r"C \text{ times the cost of row } i"},
    )

    def __init__(self, costs: Any = None, margins: Any = None):
        self.costs = costs
        self.margins = margins

    def validate(self, sample: Sample) -> None:
        if self.costs is None and self.margins is None:
            raise InvalidInput(
                "costs and margins are both None. Give costs or margins to the constructor or to fit."
            )
        for parameter in self.row_params:
            values = self.aligned(parameter, sample)
            if values is None:
                continue
            if values.ndim != 1:
                raise InvalidInput(
                    f"{parameter} must be one number per training row, got shape {values.shape}."
                )
            if not (np.isfinite(values).all() and (values >= 0).all()):
                bad = int(np.flatnonzero(~(np.isfinite(values) & (values >= 0)))[0])
                raise InvalidInput(
                    f"{parameter} must be nonnegative numbers, but row {bad} has {float(values[bad])!r}."
                )

    def prepare(self, sample: Sample, state: Any) -> Sample:
        costs = self.aligned("costs", sample)
        margins = self.aligned("margins", sample)
        if costs is not None:
            sample = sample.with_factor(costs)
        return sample if margins is None else sample.with_margin(margins)
