r"""f rises, or falls, with a feature: everywhere."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...errors import InvalidInput
from ...sample import Sample
from ..hints.monotonicity_hint import directions_of
from .base import RegionKnowledge
from .demand import Demand
from .sets import BoxSet
from .within import box_within


class Monotone(RegionKnowledge):
    r"""The slope of f along a feature keeps its sign.

    .. math:: J_{PK} = \mu \sum_j \zeta_j, \qquad
              \sigma_j\, \rho_j\, \frac{\partial f}{\partial x_j}(x) \ge -\zeta_j \quad\text{for all } x ,

    with :math:`\sigma_j = \pm 1` and :math:`\rho_j` the range of the feature in the training rows, so that
    :math:`\zeta_j` is a change of f and ``mu`` needs no units. On a linear machine that is the sign of a
    weight.

    Parameters
    ----------
    features : dict of column (name or index) to +1 or -1
        f rises (+1) or falls (-1) in it.
    mu : float
        Weight of the worst violation of each feature.
    hard : bool
        No violation at all.
    method, points, max_cells : as in Box
        On kernel machines, see :class:`Box`; "guaranteed" up to 3 columns, RBF kernels and sums of them
        with linear ones.
    label : class, optional
        The class whose score is meant; ``classes_[1]`` by default. Needed with more than two classes, where
        the block speaks to that class's machine only.
    within : "data", or dict of column to (low, high)
        Where it has to hold on kernel machines: "data" is the range of the training rows; a dict replaces it
        for the columns it names.

    See Also
    --------
    MonotonicityHint : a soft preference on drawn pairs.

    References
    ----------
    Sill & Abu-Mostafa 1997 for the knowledge; Aubin-Frankowski & Szabó 2020 for guarantees on covers.

    Examples
    --------
    >>> from priorsvm import Monotone, PriorSVC, RBF
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> model = PriorSVC(Monotone({0: +1}, hard=True), C=10.0, kernel=RBF(1.0)).fit(X, y)
    >>> f = model.decision_function([[0.0], [0.7], [1.5], [2.2], [3.0]])
    >>> bool((f[1:] > f[:-1] - 1e-3).all())
    True
    """

    max_dimension: ClassVar[int] = 3
    formulas: ClassVar[dict[str, str]] = {
        "mu": r"\sum_l \zeta_l",
        "slope": r"\sigma_l \rho_l w_l \ge 0<z>",
        "points": r"\sigma_l \rho_l\, \partial_l f(x_p) \ge 0<z>",
        "corners": r"\sigma_l \rho_l\, \partial_l f(v_p) - \eta_p \|g\|_H \ge 0<z>",
    }
    letters: ClassVar[dict[str, str]] = {
        **RegionKnowledge.letters,
        r"\sigma_l": r"+1 \text{ or } -1, \text{ whether } f \text{ rises or falls in column } l",
        r"\rho_l": r"\text{the range of column } l \text{ in the training rows}",
        r"\zeta_l": r"\text{the slack of column } l",
        "x_p": r"\text{a point of the range that it is about}",
        "v_p": r"\text{a corner of the cells that cover that range}",
        "w_l": r"\text{the weight of column } l",
    }

    def __init__(
        self,
        features: Any,
        mu: float = 1.0,
        hard: bool = False,
        method: str = "auto",
        label: Any = None,
        within: Any = "data",
        points: Any = 256,
        max_cells: int = 1000,
    ):
        self.features = features
        self.mu = mu
        self.hard = hard
        self.method = method
        self.label = label
        self.within = within
        self.points = points
        self.max_cells = max_cells

    def demands(self, sample: Sample) -> list[Demand]:
        directions = directions_of(self.features, sample)
        if self.label is None and len(sample.classes) > 2:
            raise InvalidInput(
                f"with {len(sample.classes)} classes it has to be said whose score rises: give label=<class>."
            )
        sign = 1.0 if self.label is None else sample.sign(self.label)
        spread = np.ptp(sample.weighted_rows()[0], axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        low, high = box_within(self.within, sample)
        if len(sample.classes) > 2 and sign < 0:  # the score of another class: nothing is known about it
            return []
        slopes = np.eye(len(low)) * spread
        return [
            Demand(BoxSet(low, high), sign, 0.0, direction * slopes[j]) for j, direction in directions.items()
        ]

    def asked(self, demand: Demand, sample: Sample) -> str:
        whose = sample.classes.tolist()[1] if self.label is None else self.label
        return f"score of {whose!r} to rise as {self._moves()}"

    def words(self) -> str:
        whose = "the second class" if self.label is None else repr(self.label)
        return f"the score of {whose} rises as {self._moves()}"

    def _moves(self) -> str:
        return ", ".join(f"{column} {'rises' if up > 0 else 'falls'}" for column, up in self.features.items())
