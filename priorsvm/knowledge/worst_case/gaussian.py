r"""Gaussians fitted to rows with missing entries.

The mean :math:`\bar x` and the covariance :math:`\Sigma` maximise

.. math:: \sum_i w_i \log p(x_i^{\mathrm{observed}})
          - \tfrac{r}{2} \left(\log\det\Sigma + \mathrm{tr}(V\Sigma^{-1})\right)

by expectation-maximisation, where the prior has the weight of r rows (``ridge``) and V is the diagonal matrix
of the variances of all rows. It starts from the means and variances of the observed entries. Every third step
extrapolates the two steps before it if that raises the objective (Varadhan & Roland 2008). Without
extrapolation, thousands of steps can be needed if half of the entries are missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._utils.arrays import Array, distinct_rows
from ..._utils.messages import warn

# Largest number of entries of covariances that are computed at once.
_BLOCK = 2**22


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Mean and covariance in the units of X."""

    mean: Array
    covariance: Array

    @classmethod
    def fit(
        cls,
        X: Array,
        weight: Array,
        spread: Array,
        ridge: float = 1.0,
        tol: float = 1e-6,
        max_iter: int = 2000,
    ) -> Gaussian:
        """Fit to rows with NaN for missing entries; every column needs an observed entry.

        Parameters
        ----------
        X : array of shape (n, d)
            The rows.
        weight : array of shape (n,)
            Weight of each row.
        spread : array of shape (d,)
            Standard deviation of every column over all classes, the unit of the prior.
        ridge : float, default=1.0
            Weight of the prior, in rows.
        tol : float, default=1e-6
            Largest change of mean and covariance in the last step, in units of ``spread``.
        max_iter : int, default=2000
            Largest number of steps.

        Returns
        -------
        Gaussian
        """
        centre = np.nanmean(X, axis=0)
        rows = _Rows((X - centre) / spread, weight, ridge)
        now = rows.first()
        change = np.inf
        steps = 0
        while change > tol and steps < max_iter:
            one, value = rows.step(now)
            two, _ = rows.step(one)
            steps += 2
            change = _distance(one, two) if rows.incomplete else 0.0
            extrapolated = _extrapolated(now, one, two)
            now = two
            if change > tol and extrapolated is not None and steps < max_iter:
                three, reached = rows.step(extrapolated)
                steps += 1
                now = three if reached >= value else two
        if change > tol:
            warn(
                f"the Gaussian of rows with missing values did not converge in {steps} steps: the last "
                f"change is {change:.0e} standard deviations. Increase ridge, or impute values before fit.",
                ConvergenceWarning,
            )
        return cls(centre + spread * now.mean, now.covariance * np.outer(spread, spread))

    def conditionals(self, X: Array) -> Iterator[tuple[slice, Array, Array]]:
        r"""Yield rows, with their conditional means and covariances given their observed entries s.

        .. math:: \bar x_m + \Sigma_{ms}\Sigma_{ss}^{-1}(x_s - \bar x_s), \qquad
                  \Sigma_{mm} - \Sigma_{ms}\Sigma_{ss}^{-1}\Sigma_{sm} .
        """
        for rows, means, covariances, _ in self._each(X):
            yield rows, means, covariances

    def log_density(self, X: Array) -> Array:
        """Return the log-density of the observed entries of every row."""
        return np.concatenate([np.empty(0), *(density for _, _, _, density in self._each(X))])

    def _each(self, X: Array) -> Iterator[tuple[slice, Array, Array, Array]]:
        """Yield slices of rows, with conditional means, conditional covariances and log-densities."""
        step = max(1, _BLOCK // X.shape[1] ** 2)
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            patterns, _, of = distinct_rows(np.isnan(X[rows]))
            regression, conditional, inverse, log_det = self._given(patterns)
            deviations = np.where(patterns[of], 0.0, X[rows] - self.mean)
            means = self.mean + deviations + np.einsum("nij,nj->ni", regression[of], deviations)
            squared = (np.einsum("nij,nj->ni", inverse[of], deviations) * deviations).sum(axis=1)
            constants = log_det + (~patterns).sum(axis=1) * np.log(2 * np.pi)
            yield rows, means, conditional[of], -0.5 * (squared + constants[of])

    def _given(self, missing: Array) -> tuple[Array, Array, Array, Array]:
        r"""Return four arrays for the patterns of missing entries.

        They are :math:`\Sigma_{ms}\Sigma_{ss}^{-1}`, the conditional covariance, :math:`\Sigma_{ss}^{-1}`,
        and the log-determinant of :math:`\Sigma_{ss}`.
        """
        m = missing[:, :, None]
        s = ~missing[:, :, None]
        # The identity for missing entries gives all matrices the same size.
        observed = np.where(s & s.swapaxes(1, 2), self.covariance, np.where(m, np.eye(len(self.mean)), 0.0))
        inverse = np.linalg.inv(observed)
        across = np.where(m & s.swapaxes(1, 2), self.covariance, 0.0)
        regression = across @ inverse
        rest = np.where(m & m.swapaxes(1, 2), self.covariance, 0.0) - regression @ across.swapaxes(1, 2)
        return regression, (rest + rest.swapaxes(1, 2)) / 2, inverse, np.linalg.slogdet(observed)[1]

    def conditional_covariances(self, missing: Array) -> Array:
        """Return the conditional covariance for each pattern of missing entries; zero elsewhere."""
        step = max(1, _BLOCK // missing.shape[1] ** 2)
        blocks = [self._given(missing[i : i + step])[1] for i in range(0, len(missing), step)]
        return np.concatenate([np.empty((0, *self.covariance.shape)), *blocks])

    def completed(self, X: Array) -> Array:
        """Return the rows with conditional means for missing entries."""
        full = np.array(X, float)
        for rows, means, _ in self.conditionals(full):
            full[rows] = np.where(np.isnan(full[rows]), means, full[rows])
        return full


@dataclass(frozen=True, eq=False)
class _Rows:
    """Training rows of a Gaussian, in units of the standard deviations of the prior."""

    Z: Array
    weight: Array
    ridge: float

    @cached_property
    def incomplete(self) -> bool:
        """Whether an entry is missing."""
        return bool(np.isnan(self.Z).any())

    def first(self) -> Gaussian:
        """Return means and variances of the observed entries."""
        counts = np.where(np.isnan(self.Z), 0.0, self.weight[:, None])
        observed = np.nan_to_num(self.Z)
        total = self.weight.sum()
        mean = (counts * observed).sum(axis=0) / counts.sum(axis=0)
        variance = (counts * (observed - mean) ** 2).sum(axis=0) / counts.sum(axis=0)
        return Gaussian(mean, np.diag((total * variance + self.ridge) / (total + self.ridge)))

    def step(self, now: Gaussian) -> tuple[Gaussian, float]:
        """Return the next Gaussian, and the objective at the current Gaussian."""
        filled = np.empty_like(self.Z)
        conditional = np.zeros_like(now.covariance)
        total = self.weight.sum()
        objective = 0.0
        for rows, means, covariances, density in now._each(self.Z):
            filled[rows] = means
            conditional += np.tensordot(self.weight[rows], covariances, axes=1)
            objective += float(self.weight[rows] @ density)
        mean = self.weight @ filled / total
        deviations = filled - mean
        scatter = (self.weight[:, None] * deviations).T @ deviations + conditional
        scatter = scatter + self.ridge * np.eye(len(mean))
        penalty = np.linalg.slogdet(now.covariance)[1] + np.trace(np.linalg.inv(now.covariance))
        return Gaussian(mean, scatter / (total + self.ridge)), objective - 0.5 * self.ridge * float(penalty)


def _distance(a: Gaussian, b: Gaussian) -> float:
    return float(max(np.abs(a.mean - b.mean).max(), np.abs(a.covariance - b.covariance).max()))


def _extrapolated(zero: Gaussian, one: Gaussian, two: Gaussian) -> Gaussian | None:
    """Return the extrapolation of three iterates; None if its covariance is not positive definite."""
    start, mid, end = (np.concatenate([g.mean, g.covariance.ravel()]) for g in (zero, one, two))
    r = mid - start
    v = end - 2 * mid + start
    length = float(np.linalg.norm(v))
    if length == 0:
        return None
    a = max(float(np.linalg.norm(r)) / length, 1.0)
    point = start + 2 * a * r + a**2 * v
    d = len(zero.mean)
    covariance = point[d:].reshape(d, d)
    try:
        np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return None
    return Gaussian(point[:d], covariance)
