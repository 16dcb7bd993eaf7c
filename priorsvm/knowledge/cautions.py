"""Warnings of blocks about the fitted f, and a comparison with the model without blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.arrays import Array
from .._utils.cache import kept_while_alive
from ..spec import NEGLIGIBLE_DUAL

if TYPE_CHECKING:
    from ..sample import Sample
    from .views import Caution, Solved

# A weight, times the deviation of its column, is zero below this share of the largest weight without blocks.
ZERO = 1e-3
# The model without blocks uses a column from this share of its largest weight on.
USED = 0.05


@dataclass(frozen=True)
class Checked:
    """Findings of a block without counts of rows: the choice of its weight, and its warnings.

    Attributes
    ----------
    weight : ChosenWeight or None
        How the weight of the block was chosen; None if it was given.
    warnings : tuple of str
        Texts of the warnings of the block.
    """

    weight: Any = None
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "" if self.weight is None else str(self.weight)


def texts(cautions: Sequence[Caution]) -> tuple[str, ...]:
    """Return the texts of warnings."""
    return tuple(map(str, cautions))


@kept_while_alive
def _deviation(sample: Sample) -> Array:
    """Return the standard deviations of the training rows."""
    return np.asarray(sample.weighted_rows()[0].std(axis=0))


def zeroed_columns(f: Any, view: Solved, used: float = USED) -> tuple[Array, Array] | None:
    """Return the columns whose weight is 0, and those of them that the model without blocks uses most.

    The result is None without zeroed columns, or if the block has no active constraint. Weights are
    compared in standard deviations of the training rows; ``used`` is a share of the largest weight.
    """
    largest = max((np.abs(dual).max(initial=0.0) for dual in view.duals.values()), default=0.0)
    active = largest > NEGLIGIBLE_DUAL * view.largest
    if not f.linear or not active or view.plain is None:
        return None
    deviation = _deviation(view.sample)
    size = np.abs(f.coef) * deviation
    if size.min() > ZERO * size.max():  # no weight is zero, and no model without blocks is needed
        return None
    plain = view.plain()
    if plain is None:
        return None
    before = np.abs(plain.coef) * deviation
    most = before.max()
    zero = size <= ZERO * most
    main = np.flatnonzero(zero & (before >= used * most) & (before > 0))
    if len(main) == 0 or zero.all():  # CollapsedModel reports a constant f
        return None
    return np.flatnonzero(zero), main[np.argsort(-before[main], kind="stable")]


def names_of(columns: Array, sample: Sample, most: int = 3) -> str:
    """Return names of columns in a text; further columns are counted."""
    known = sample.feature_names
    names = [f"column {j}" if known is None else str(known.tolist()[j]) for j in columns[:most]]
    more = len(columns) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")
