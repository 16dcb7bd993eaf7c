r"""Extra rows with assumed labels."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ...errors import InvalidInput
from ...sample import Sample
from ..base import Formulas, Knowledge
from ..checks import check_points
from ..views import Solved, Verdict


class UnlabeledSamples(Knowledge):
    r"""Extra rows with assumed labels, weighted by their costs.

    .. math:: J_{PK} = C \sum_j \mathrm{costs}_j\, \tilde\xi_j, \qquad
              \tilde y_j f(\tilde x_j) \ge \mathrm{margins}_j - \tilde\xi_j .

    Use it for rows without a measured label whose class can be guessed. Exact for every model.
    ``ClassCosts`` and ``SampleCosts`` apply to training rows only, not to these rows. With
    ``multi_class="ovo"`` each model has the extra rows of its two classes.

    Parameters
    ----------
    X : array of shape (m, d)
        The extra rows.
    y : array of shape (m,) or a class
        Their assumed classes, or one class for all rows.
    costs : float or array of shape (m,), default=1.0
        Nonnegative factor on C per extra row.
    margins : float or array of shape (m,), default=1.0
        Nonnegative required margin per extra row.

    See Also
    --------
    Transductive : extra rows whose labels are found by the fit.
    SampleCosts : costs and margins of training rows.

    References
    ----------
    Wang, Xue & Chan 2004; Wu & Srihari 2004; Lauer & Bloch 2008, section 4.1.2.

    Examples
    --------
    >>> from priorsvm import PriorSVC, UnlabeledSamples
    >>> extra = UnlabeledSamples([[0.8]], y=1, costs=0.5)
    >>> PriorSVC(extra, C=10).fit([[0.0], [2.0]], [0, 1]).predict([[0.9]])
    array([1])
    """

    accepts: ClassVar[frozenset[str]] = frozenset({"dense", "sets", "chunks"})
    prepares: ClassVar[str | None] = "adds"
    formulas: ClassVar[Formulas] = Formulas(
        latex={"sample": r"\sum_{j} C_j\, \tilde\xi_j<p>"},
        letters={
            "C_j": r"C \text{ times the cost of extra row } j",
            r"\tilde\xi_j": r"\text{its slack}",
        },
    )

    def __init__(self, X: Any, y: Any, costs: Any = 1.0, margins: Any = 1.0):
        self.X = X
        self.y = y
        self.costs = costs
        self.margins = margins

    def validate(self, sample: Sample) -> None:
        self._rows(sample)

    def prepare(self, sample: Sample, state: Any) -> Sample:
        X, y, costs, margins, labels = self._rows(sample)
        return sample.with_rows(X, y, costs, margins, labels=labels)

    def verify(self, f: Any, view: Solved) -> Verdict:
        X, y, _, margins, _ = self._rows(view.sample)
        return Verdict.at_points(y * f.value(X) - margins, X, "the margin at the extra rows", view.tol)

    def _rows(self, sample: Sample) -> tuple[Array, Array, Array, Array, Array]:
        X = check_points("X", self.X, sample)
        try:
            labels = np.asarray(self.y)
        except ValueError as error:  # lists of different lengths
            raise InvalidInput(f"y must be a label, or one label per row of X, got {self.y!r}.") from error
        if labels.ndim == 0:
            sample.sign(self.y)
            labels = np.full(len(X), self.y)
        if labels.shape != (len(X),):
            raise InvalidInput(
                f"y has shape {labels.shape}, but X has {len(X)} rows. Give one label per row."
            )
        y = np.array([sample.sign(label) for label in labels.tolist()], float)
        costs = _per_row("costs", self.costs, len(X))
        margins = _per_row("margins", self.margins, len(X))
        present = y != 0
        return X[present], y[present], costs[present], margins[present], labels[present]


def _per_row(name: str, value: Any, n: int) -> Array:
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{name} must be numbers, got {value!r}.") from error
    if array.shape not in {(), (n,)}:
        raise InvalidInput(
            f"{name} has shape {array.shape}, expected one number or ({n},): one for each row of X."
        )
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise InvalidInput(f"{name} must be nonnegative numbers, got {value!r}.")
    return np.array(np.broadcast_to(array, (n,)))
