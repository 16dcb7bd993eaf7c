r"""f increasing or decreasing in a feature, on drawn pairs of points."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array
from ..._utils.checks import check_flag, check_nonnegative, is_whole
from ...errors import InvalidInput
from ...function.atoms import Atoms
from ...function.memory import refuse_count
from ...sample import Sample
from ..base import Formulas, Knowledge, Terms
from ..regions.within import columns, key_name
from ..traits import AtPoints
from ..views import Building, PointTerms, Solved, Verdict
from .pairs import pair_matrix

# Largest number of pairs per feature.
MOST_PAIRS = 1_000_000


class MonotonicityHint(AtPoints, Knowledge):
    r"""Squared violations of the order of f on drawn pairs.

    .. math:: J_{PK} = \frac{\mu}{M} \sum_m t_m^2, \qquad t_m \ge f(x_m) - f(x'_m),\; t \ge 0
              \quad\text{or, hard,}\quad f(x_m) \le f(x'_m) ,

    with :math:`x'_m = x_m + \mathrm{sign}_j\, \delta_m e_j`. The :math:`x_m` are drawn from a Gaussian fitted
    to the training rows. The :math:`\delta_m` are uniform from 0 to one standard deviation of the feature.
    Use it if f should increase or decrease in a feature, with exceptions. Between the pairs f is not
    restricted, except for linear models, where one pair is enough.

    Parameters
    ----------
    features : dict
        Maps columns, by name or index, to +1 if f increases in the feature and -1 if f decreases.
    mu : float, default=1.0
        Weight of the mean squared violation.
    hard : bool, default=False
        The order must hold for every pair.
    label : a class or None, default=None
        The class whose score is meant; None means ``classes_[1]``. Required with more than two classes; the
        block then applies to the score of this class only.
    pairs : int, default=100
        Number of pairs per feature.

    See Also
    --------
    Monotone : monotonicity everywhere in a region, as a constraint.

    References
    ----------
    Sill & Abu-Mostafa 1997; Lauer & Bloch 2008, section 4.1.1.

    Examples
    --------
    >>> from priorsvm import MonotonicityHint, PriorSVC
    >>> X, y = [[0.0, 1.0], [1.0, 0.2], [0.2, 0.0]], [0, 1, 1]
    >>> model = PriorSVC(MonotonicityHint({1: +1}, hard=True)).fit(X, y)
    >>> model.coef_[0, 1] > -1e-6
    np.True_
    """

    accepts: ClassVar[frozenset[str]] = frozenset({"dense", "chunks"})
    formulas: ClassVar[Formulas] = Formulas(
        latex={
            "mu": r"\frac{1}{M} \sum_m t_m^2",
            "violation": r"f(x_m) - f(x'_m) \le t_m,\; t_m \ge 0",
            "order": r"f(x_m) \le f(x'_m)",
        },
        letters={
            "x_m": r"\text{a drawn point, and } x'_m \text{ a point with a higher score}",
            "M": r"\text{the number of pairs}",
            "t_m": r"\text{the slack of pair } m",
        },
    )

    def __init__(
        self, features: Any, mu: float = 1.0, hard: bool = False, label: Any = None, pairs: int = 100
    ):
        self.features = features
        self.mu = mu
        self.hard = hard
        self.label = label
        self.pairs = pairs

    def check_columns(self, sample: Sample) -> None:
        directions_of(self.features, sample)

    def validate(self, sample: Sample) -> None:
        check_nonnegative(mu=self.mu)
        check_flag(hard=self.hard)
        directions_of(self.features, sample)
        if not is_whole(self.pairs) or self.pairs < 1:
            raise InvalidInput(
                f"pairs must be a whole number of at least 1 and at most {MOST_PAIRS}, got {self.pairs!r}."
            )
        refuse_count("pairs", self.pairs, MOST_PAIRS, 2 * sample.X.shape[1])
        if self.label is not None:
            sample.sign(self.label)
        elif len(sample.classes) > 2:
            raise InvalidInput(
                f"label is required with {len(sample.classes)} classes. Give the class whose score is "
                "monotone: label=<class>."
            )

    def start(self, sample: Sample) -> tuple[Array, Array]:
        # The state are the drawn pairs (x, x'), with the lower value of f first.
        X, share = sample.weighted_rows()
        d = sample.X.shape[1]
        sign = 1.0 if self.label is None else sample.sign(self.label)
        if sample.negative is None and sign < 0:  # the score of another class
            return np.empty((0, d)), np.empty((0, d))
        rng = np.random.default_rng(sample.seed)
        mean = share @ X
        covariance = (X - mean).T @ (share[:, None] * (X - mean))
        spread = np.sqrt(np.diag(covariance))
        # A constant column has no standard deviation, so the unit is 1.
        spread = np.where(spread > 1e-10 * np.abs(X).max(axis=0), spread, 1.0)
        low = rng.multivariate_normal(mean, covariance, len(self.features) * self.pairs, method="eigh")
        high = low.copy()
        for k, (column, direction) in enumerate(self.features.items()):
            j = sample.column(column)
            rows = slice(k * self.pairs, (k + 1) * self.pairs)
            high[rows, j] += direction * rng.uniform(size=self.pairs) * spread[j]
        # For the other class the same pairs have the opposite order.
        return (low, high) if sign > 0 else (high, low)

    def build(self, f: Any, view: Building) -> Terms:
        import cvxpy as cp

        low, high = view.state
        if len(low) == 0:
            return Terms()
        if self.hard:
            return Terms(constraints={"order": f(low) <= f(high)})
        t = cp.Variable(len(low), nonneg=True, name="t")
        return Terms({"mu": cp.sum_squares(t) / len(low)}, {"violation": f(low) - f(high) <= t})

    def at_points(self, view: Building, linear: bool) -> PointTerms | None:
        low, high = view.state
        n = len(low)
        if n == 0:
            return PointTerms.none(low.shape[1])
        return PointTerms(
            Atoms(np.vstack([high, low])),
            np.ones(n),
            np.zeros(n),
            penalty=None if self.hard else "mu",
            matrix=pair_matrix(n, -1.0),
            share=1.0 / n,
            squared=not self.hard,
            duals={"order" if self.hard else "violation": None},
        )

    def verify(self, f: Any, view: Solved) -> Verdict:
        low, high = view.state
        excess = f.value(high) - f.value(low)
        label = view.sample.classes.tolist()[1] if self.label is None else self.label
        names = [key_name(column, view.sample) for column in self.features]
        verbs = ["rises" if sign > 0 else "falls" for sign in self.features.values()]
        changes = ", ".join(f"{name} {verb}" for name, verb in zip(names, verbs, strict=True))
        asked = f"score of {label!r} to rise as {changes}"
        return Verdict.at_points(excess, low, asked, view.tol, proven=False)


def directions_of(features: Any, sample: Sample) -> dict[int, int]:
    """Return column index -> +1 or -1; raise InvalidInput for anything else."""
    if not isinstance(features, dict) or not features:
        raise InvalidInput(f"features must be a dict of column to +1 or -1, got {features!r}.")
    for column, direction in features.items():
        if direction not in (1, -1):
            raise InvalidInput(f"the direction of column {column!r} must be +1 or -1, got {direction!r}.")
    found = columns(features, "features", sample)
    if sample.encoding is not None:
        named = [j for j in found if sample.encoding.in_group[j]]
        if named:
            raise InvalidInput(
                f"column {sample.encoding.encoded_names[named[0]]!r} is a value of a category, which cannot "
                "rise or fall. Use a Rule for this value."
            )
    return dict(zip(found, map(int, features.values()), strict=True))
