r"""A Gaussian fitted to rows with missing entries, and what it says about those entries.

Expectation-maximisation with a prior worth ``ridge`` rows: the mean :math:`\mu` and covariance
:math:`\Sigma` maximise

.. math:: \sum_i w_i \log p(x_i^{\mathrm{seen}})
          - \tfrac{r}{2} \left(\log\det\Sigma + \mathrm{tr}(V\Sigma^{-1})\right),

V being the diagonal of the variances of all rows. It needs no random start: it begins with the means and
variances of what is there.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .sample import Array

# Rows are worked on in parts of this many entries of their covariances.
_BLOCK = 2**22


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Mean and covariance, in the units of the rows."""

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
        """Of rows with NaN where an entry is missing; every column needs an entry.

        Parameters
        ----------
        X, weight : the rows, and how often each counts
        spread : standard deviation of every column over all classes, the unit of the prior
        ridge : how many rows the prior is worth
        tol : largest change of mean and covariance in the last step, in units of ``spread``
        """
        centre = np.nanmean(X, axis=0)
        Z = (X - centre) / spread
        mask, total = np.isnan(Z), float(weight.sum())
        seen = np.where(mask, 0.0, 1.0) * weight[:, None]
        known = np.where(mask, 0.0, Z)
        mean = (seen * known).sum(axis=0) / seen.sum(axis=0)
        variance = (seen * (known - mean) ** 2).sum(axis=0) / seen.sum(axis=0)
        now = cls(mean, np.diag((total * variance + ridge) / (total + ridge)))
        for _ in range(max_iter):
            filled, left = np.empty_like(Z), np.zeros_like(now.covariance)
            for rows, means, covariances in now.conditionals(Z):
                filled[rows] = means
                left += np.tensordot(weight[rows], covariances, axes=1)
            mean = weight @ filled / total
            apart = filled - mean
            scatter = (weight[:, None] * apart).T @ apart + left + ridge * np.eye(len(mean))
            new = cls(mean, scatter / (total + ridge))
            step = max(np.abs(new.mean - now.mean).max(), np.abs(new.covariance - now.covariance).max())
            now = new
            if step <= tol or not mask.any():
                break
        else:
            warnings.warn(
                f"the Gaussian of the rows with missing values still moved by {step:.0e} of a standard "
                f"deviation after {max_iter} steps.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return cls(centre + spread * now.mean, now.covariance * np.outer(spread, spread))

    def conditionals(self, X: Array) -> Iterator[tuple[slice, Array, Array]]:
        r"""Rows, and mean and covariance of each given what is seen of it: zero where it is seen.

        .. math:: \mu_m + \Sigma_{ms}\Sigma_{ss}^{-1}(x_s - \mu_s), \qquad
                  \Sigma_{mm} - \Sigma_{ms}\Sigma_{ss}^{-1}\Sigma_{sm} .
        """
        d = len(self.mean)
        step = max(1, _BLOCK // d**2)
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            patterns, of = np.unique(np.isnan(X[rows]), axis=0, return_inverse=True)
            regression, left = self._given(patterns)
            apart = np.where(np.isnan(X[rows]), 0.0, X[rows] - self.mean)
            means = self.mean + apart + np.einsum("nij,nj->ni", regression[of], apart)
            yield rows, means, left[of]

    def _given(self, missing: Array) -> tuple[Array, Array]:
        """For each pattern the regression of what is missing on what is seen, and the covariance left."""
        m, s = missing[:, :, None], ~missing[:, :, None]
        identity = np.eye(len(self.mean))
        # The identity in place of what is missing keeps the matrices of one size.
        seen = np.where(s & s.swapaxes(1, 2), self.covariance, np.where(m, identity, 0.0))
        across = np.where(m & s.swapaxes(1, 2), self.covariance, 0.0)
        regression = np.linalg.solve(seen, across.swapaxes(1, 2)).swapaxes(1, 2)
        left = np.where(m & m.swapaxes(1, 2), self.covariance, 0.0) - regression @ across.swapaxes(1, 2)
        return regression, (left + left.swapaxes(1, 2)) / 2

    def left_open(self, missing: Array) -> Array:
        """For each pattern of gaps the covariance of what is in them, zero elsewhere."""
        return self._given(missing)[1]

    def completed(self, X: Array) -> Array:
        """The rows with conditional means where entries are missing."""
        full = np.array(X, float)
        for rows, means, _ in self.conditionals(full):
            full[rows] = np.where(np.isnan(full[rows]), means, full[rows])
        return full
