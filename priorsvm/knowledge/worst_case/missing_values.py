r"""Rows with missing entries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from ..._utils.arrays import Array, distinct_rows
from ..._utils.checks import check_flag, is_number
from ...errors import InvalidInput
from ...sample import Sample
from ..traits import Completes, Scores
from .ellipsoidal import EllipsoidalKnowledge
from .gaussian import Gaussian
from .spread import Spread


@dataclass(frozen=True, eq=False)
class Completed:
    """Completed training rows, and the distribution of their missing entries.

    Attributes
    ----------
    X : array of shape (n, d)
        The rows, with conditional means for missing entries.
    missing : array of shape (n, d)
        Whether each entry is missing.
    gaussians : dict
        Class -> distribution of its rows.
    shares : dict
        Class -> its share of the rows.
    spread : Spread
        Conditional covariances of the missing entries.
    """

    X: Array
    missing: Array
    gaussians: dict[Any, Gaussian]
    shares: dict[Any, float]
    spread: Spread

    def completed(self, X: Array) -> Array:
        """Return rows without a class with their missing entries completed.

        An entry is the mean of the completions under each class, with the class probabilities given the
        observed entries.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows with NaN for missing entries.

        Returns
        -------
        array of shape (n, d)
        """
        if not np.isnan(X).any():
            return X
        rows = np.array([gaussian.completed(X) for gaussian in self.gaussians.values()])
        return np.asarray((self.probabilities(X)[:, :, None] * rows).sum(axis=0))

    def probabilities(self, X: Array) -> Array:
        """Return the probability of each class given the observed entries, of shape (n_classes, n)."""
        log_odds = [np.log(self.shares[c]) + g.log_density(X) for c, g in self.gaussians.items()]
        return np.asarray(softmax(log_odds, axis=0))


class MissingValues(Completes, Scores, EllipsoidalKnowledge):
    r"""Margin of each training row for all likely values of its missing entries (NaN in X).

    .. math:: y_i f(\hat x_i) - \tau \|A_i^\top w\| \ge \rho_i - \xi_i, \qquad
              A_i A_i^\top = \Sigma_{mm} - \Sigma_{ms}\Sigma_{ss}^{-1}\Sigma_{sm} ,

    where :math:`\hat x_i` has the conditional means
    :math:`\bar x_m + \Sigma_{ms}\Sigma_{ss}^{-1}(x_s - \bar x_s)` for its missing entries m, given its
    observed entries s. Each class has a Gaussian with mean :math:`\bar x` and covariance :math:`\Sigma`,
    fitted by expectation-maximisation. With these moments the row is treated as in :class:`UncertainSamples`.
    With ``confidence=0.5`` it is imputation by the conditional mean.

    A new row with missing entries is completed once under each class. With two classes, the score with the
    larger :math:`|f|` counts, as published. With ``average=True``, the scores are averaged with the class
    probabilities under the Gaussians.

    Parameters
    ----------
    confidence : float, default=0.9
        Probability of the margin, at least 0.5 and below 1.
    distribution : {"gaussian", "any"}, default="gaussian"
        Distribution of the missing entries: Gaussian, or any distribution with these moments.
    guarantee : bool, default=False
        For kernel models: a bound that always holds, instead of a first-order approximation.
    ridge : float, default=1.0
        Weight of the prior of the covariances, in rows. The prior has uncorrelated columns, with their
        standard deviations over all classes.
    average : bool or None, default=None
        Whether the scores of a new row are averaged. None averages only with more than two classes.

    See Also
    --------
    UncertainSamples : rows with known measurement errors.

    Notes
    -----
    Other blocks, ``scale`` and ``gamma="scale"`` use the completed rows. The method assumes that entries are
    missing independently of their values.

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

    check_of_size: ClassVar[str] = "Gaps can exclude a column, alone or with a hard block: soften hard blocks"

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
        """Fit a Gaussian to each class and complete the rows.

        Parameters
        ----------
        X : array of shape (n, d)
            Training rows, with NaN for missing entries.
        labels : array of shape (n,)
            Their classes.
        weight : array of shape (n,)
            Their sample weights.
        names : array of shape (d,) or None, default=None
            Names of the columns, for messages.

        Returns
        -------
        Completed
        """
        if not is_number(self.ridge) or not 0 < self.ridge < float("inf"):
            raise InvalidInput(f"ridge must be a positive number, got {self.ridge!r}.")
        given_missing = np.isnan(X)
        # Sums depend on the order of the rows in the last digit, so the order is made one of their content.
        order = np.lexsort([weight, np.unique(labels, return_inverse=True)[1], *X.T])
        X = X[order]
        labels = labels[order]
        weight = weight[order]
        missing = np.isnan(X)
        counted = weight > 0
        gaussians = {}
        full = X.copy()
        covariances: list[Array] = []
        owner = np.full(len(X), -1)
        for label in np.unique(labels).tolist():
            observed = ~missing[counted & (labels == label)].all(axis=0)
            if not observed.all():
                j = int(np.argmin(observed))
                column = f"column {j}" if names is None else f"column {names[j]!r}"
                raise InvalidInput(
                    f"{column} has no value in any row of class {label!r}, so it cannot be completed. Remove "
                    "the column, or impute it before fit."
                )
        counts = np.where(missing, 0.0, weight[:, None])
        average = (counts * np.nan_to_num(X)).sum(axis=0) / counts.sum(axis=0)
        deviation = np.sqrt((counts * np.nan_to_num(X - average) ** 2).sum(axis=0) / counts.sum(axis=0))
        # A column that is constant up to rounding has no standard deviation, so the unit is 1.
        constant = deviation <= 1e-10 * np.nanmax(np.abs(X[counted]), axis=0)
        deviation = np.where(constant, 1.0, deviation)
        for label in np.unique(labels).tolist():
            of_class = np.flatnonzero(labels == label)
            trained = of_class[counted[of_class]]
            found = Gaussian.fit(X[trained], weight[trained], deviation, float(self.ridge))
            gaussians[label] = found
            full[of_class] = found.completed(X[of_class])
            incomplete = of_class[missing[of_class].any(axis=1)]
            patterns, _, which = distinct_rows(missing[incomplete])
            owner[incomplete] = sum(map(len, covariances)) + which
            covariances.append(found.conditional_covariances(patterns))
        shares = {label: float(weight[labels == label].sum() / weight.sum()) for label in gaussians}
        place = np.argsort(order)
        spread = Spread.of_covariances(np.concatenate(covariances), owner[place])
        return Completed(full[place], given_missing, gaussians, shares, spread)

    def start(self, sample: Sample) -> Completed | None:
        if sample.missing is None or sample.against is None:
            return sample.missing
        pair = {label: sample.missing.gaussians[label] for label in (sample.positive, sample.against)}
        return replace(sample.missing, gaussians=pair)

    def spread(self, state: Any) -> Spread:
        return state.spread

    def order_obstacle(self, sample: Sample, swaps: Array) -> str | None:
        return "its Gaussians describe columns, and the order of the columns is unknown"

    def predict(self, f: Any, X: Array, state: Any = None) -> Array | None:
        incomplete = np.isnan(X).any(axis=1)
        if state is None or not incomplete.any():
            return None
        scores = np.empty(len(X))
        scores[~incomplete] = f.value(X[~incomplete])
        completed, share = self.completions(f, X[incomplete], state)
        by_class = np.array([f.value(rows) for rows in completed])
        scores[incomplete] = (share * by_class).sum(axis=0)
        return scores

    def completions(self, f: Any, X: Array, state: Completed) -> tuple[Array, Array]:
        """Return the rows completed under each class, and their shares in the score.

        Parameters
        ----------
        f : Fitted
            The solved decision function.
        X : array of shape (n, d)
            Rows with NaN for missing entries.
        state : Completed
            State of the block.

        Returns
        -------
        (array of shape (n_classes, n, d), array of shape (n_classes, n))
            Completed rows and shares. The score of a row is the mean of f with these shares.
        """
        gaussians = state.gaussians
        completed = np.array([g.completed(X) for g in gaussians.values()])
        if self.average is False or (self.average is None and len(gaussians) == 2):
            by_class = np.array([f.value(rows) for rows in completed])
            largest = np.argmax(np.abs(by_class), axis=0)
            return completed, (np.arange(len(gaussians))[:, None] == largest).astype(float)
        return completed, state.probabilities(X)

    def words(self) -> str:
        return f"each row with missing entries keeps its margin with confidence {self.confidence:g}"
