r"""Rows with gaps: each has its margin for all that the missing entries may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from ..._utils.arrays import Array
from ..._utils.checks import check_flag, is_number
from ...errors import InvalidInput
from ...sample import Sample
from .ellipsoidal import EllipsoidalKnowledge
from .gaussian import Gaussian
from .spread import Spread


@dataclass(frozen=True, eq=False)
class Completed:
    """The training rows made whole.

    Attributes
    ----------
    X : the rows with conditional means in their gaps.
    missing : (n, d) array, where the gaps were.
    gaussians : class -> the distribution of its rows.
    shares : class -> its share of the rows.
    spread : what the gaps leave open.
    """

    X: Array
    missing: Array
    gaussians: dict[Any, Gaussian]
    shares: dict[Any, float]
    spread: Spread


class MissingValues(EllipsoidalKnowledge):
    r"""Gaps in the data, NaN in X, and the margin for all that may be in them.

    Each class is a Gaussian, fitted to its rows by expectation-maximisation. What is seen of a row (s)
    says of the rest (m) that its mean and covariance are

    .. math:: \mu_m + \Sigma_{ms}\Sigma_{ss}^{-1}(x_s - \mu_s), \qquad
              \Sigma_{mm} - \Sigma_{ms}\Sigma_{ss}^{-1}\Sigma_{sm} ,

    and with these the row is one of :class:`UncertainSamples`: the margin holds with probability
    ``confidence``. ``confidence=0.5`` is imputation by the conditional mean. A new row with gaps is made
    whole once under each class. Of two classes the answer farther from the boundary counts, as published;
    ``average=True`` takes the average, weighted by the probabilities that the Gaussians give to the classes.

    Parameters
    ----------
    confidence, distribution, guarantee : as in UncertainSamples
        How sure the margin is to hold, see :class:`UncertainSamples`.
    ridge : float
        How many rows the prior is worth that keeps the covariances regular: uncorrelated columns of the
        spread they have over all classes.
    average : bool, optional
        How a new row with gaps is scored. By default only with more than two classes.

    Notes
    -----
    Other blocks, ``scale`` and ``gamma="scale"`` see the completed rows. Whether an entry is missing must not
    depend on what it would have been.

    References
    ----------
    Bhattacharyya, Pannagadatta & Smola 2005; Shivaswamy, Bhattacharyya & Smola 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from priorsvm import MissingValues, PriorSVC
    >>> X = [[0.0, 0.1], [0.2, np.nan], [0.1, 0.3], [2.0, 2.1], [np.nan, 1.9], [2.2, 2.0]]
    >>> model = PriorSVC(MissingValues(), C=10).fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.predict([[0.1, np.nan], [np.nan, 2.2]])
    array([0, 1])
    """

    allow_nan: ClassVar[bool] = True

    def __init__(
        self,
        confidence: float = 0.9,
        distribution: str = "gaussian",
        guarantee: bool = False,
        ridge: float = 1.0,
        average: bool | None = None,
    ):
        self.confidence = confidence
        self.distribution = distribution
        self.guarantee = guarantee
        self.ridge = ridge
        self.average = average

    def validate(self, sample: Sample) -> None:
        super().validate(sample)
        if self.average is not None:
            check_flag(average=self.average)

    def complete(self, X: Array, labels: Array, weight: Array, names: Any = None) -> Completed:
        """Fit the Gaussians and fill the gaps."""
        if not is_number(self.ridge) or not 0 < self.ridge < float("inf"):
            raise InvalidInput(f"ridge must be a positive number, got {self.ridge!r}.")
        missing = np.isnan(X)
        counted = weight > 0
        gaussians = {}
        full = X.copy()
        factors: list[Array] = []
        owner = np.full(len(X), -1)
        for label in np.unique(labels).tolist():
            there = ~missing[counted & (labels == label)].all(axis=0)
            if not there.all():
                j = int(np.argmin(there))
                column = f"column {j}" if names is None else f"column {names[j]!r}"
                raise InvalidInput(
                    f"{column} has no value in any row of class {label!r}, so nothing is known of it there. "
                    "Leave the column out, or fill it yourself."
                )
        seen = np.where(missing, 0.0, weight[:, None])
        average = (seen * np.nan_to_num(X)).sum(axis=0) / seen.sum(axis=0)
        spread = np.sqrt((seen * np.nan_to_num(X - average) ** 2).sum(axis=0) / seen.sum(axis=0))
        # What is constant up to rounding has no spread that could be a unit.
        constant = spread <= 1e-10 * np.nanmax(np.abs(X[counted]), axis=0)
        spread = np.where(constant, 1.0, spread)
        for label in np.unique(labels).tolist():
            of_class = np.flatnonzero(labels == label)
            trained = of_class[counted[of_class]]
            found = Gaussian.fit(X[trained], weight[trained], spread, float(self.ridge))
            gaussians[label] = found
            full[of_class] = found.completed(X[of_class])
            gaps = of_class[missing[of_class].any(axis=1)]
            patterns, which = np.unique(missing[gaps], axis=0, return_inverse=True)
            owner[gaps] = sum(map(len, factors)) + which
            factors.append(found.left_open(patterns))
        shares = {label: float(weight[labels == label].sum() / weight.sum()) for label in gaussians}
        spread_of = Spread.of_covariances(np.concatenate(factors), owner)
        return Completed(full, missing, gaussians, shares, spread_of)

    def start(self, sample: Sample) -> Completed | None:
        return sample.missing

    def spread(self, state: Any) -> Spread:
        return state.spread

    def predict(self, f: Any, X: Array, state: Any = None) -> Array | None:
        gaps = np.isnan(X).any(axis=1)
        if state is None or not gaps.any():
            return None
        scores = np.empty(len(X))
        scores[~gaps] = f.value(X[~gaps])
        holes = X[gaps]
        gaussians = state.gaussians
        answers = np.array([f.value(g.completed(holes)) for g in gaussians.values()])
        if self.average is False or (self.average is None and len(gaussians) == 2):
            surest = np.argmax(np.abs(answers), axis=0)
            scores[gaps] = answers[surest, np.arange(len(holes))]
        else:
            likely = [np.log(state.shares[c]) + g.log_density(holes) for c, g in gaussians.items()]
            scores[gaps] = (softmax(likely, axis=0) * answers).sum(axis=0)
        return scores

    def words(self) -> str:
        return f"whatever is missing, each row has its margin with confidence {self.confidence:g}"
