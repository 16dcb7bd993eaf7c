r"""A Gaussian fitted to rows with missing entries, and what it says about those entries.

Expectation-maximisation with a prior worth ``ridge`` rows: the mean :math:`\mu` and covariance
:math:`\Sigma` maximise

.. math:: \sum_i w_i \log p(x_i^{\mathrm{seen}})
          - \tfrac{r}{2} \left(\log\det\Sigma + \mathrm{tr}(V\Sigma^{-1})\right),

V being the diagonal of the variances of all rows. It needs no random start: it begins with the means and
variances of what is there. Every third step goes far along the line of the last two, where that raises the
objective (Varadhan & Roland 2008); plain steps can take thousands where half of the entries are missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._utils.arrays import Array
from ..._utils.messages import warn

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
        max_iter : limit on the number of steps
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
            change = _distance(one, two) if rows.gaps else 0.0
            far = _far(now, one, two)
            now = two
            if change > tol and far is not None and steps < max_iter:
                further, reached = rows.step(far)
                steps += 1
                now = further if reached >= value else two
        if change > tol:
            warn(
                f"the Gaussian of the rows with missing values still moved by {change:.0e} of a standard "
                f"deviation after {steps} steps.",
                ConvergenceWarning,
            )
        return cls(centre + spread * now.mean, now.covariance * np.outer(spread, spread))

    def conditionals(self, X: Array) -> Iterator[tuple[slice, Array, Array]]:
        r"""Rows, and mean and covariance of each given what is seen of it: zero where it is seen.

        .. math:: \mu_m + \Sigma_{ms}\Sigma_{ss}^{-1}(x_s - \mu_s), \qquad
                  \Sigma_{mm} - \Sigma_{ms}\Sigma_{ss}^{-1}\Sigma_{sm} .
        """
        for rows, means, left, _ in self._each(X):
            yield rows, means, left

    def log_density(self, X: Array) -> Array:
        """Of what is seen of every row."""
        return np.concatenate([np.empty(0), *(density for _, _, _, density in self._each(X))])

    def _each(self, X: Array) -> Iterator[tuple[slice, Array, Array, Array]]:
        """Rows in blocks: which, their conditional means and covariances, the log-density of what is seen."""
        step = max(1, _BLOCK // X.shape[1] ** 2)
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            patterns, of = np.unique(np.isnan(X[rows]), axis=0, return_inverse=True)
            regression, left, inverse, log_det = self._given(patterns)
            apart = np.where(patterns[of], 0.0, X[rows] - self.mean)
            means = self.mean + apart + np.einsum("nij,nj->ni", regression[of], apart)
            squared = (np.einsum("nij,nj->ni", inverse[of], apart) * apart).sum(axis=1)
            constants = log_det + (~patterns).sum(axis=1) * np.log(2 * np.pi)
            yield rows, means, left[of], -0.5 * (squared + constants[of])

    def _given(self, missing: Array) -> tuple[Array, Array, Array, Array]:
        """For each pattern: the regression of what is missing on what is seen, the covariance it leaves, and
        the inverse and the log-determinant of the covariance of what is seen."""
        m = missing[:, :, None]
        s = ~missing[:, :, None]
        # The identity in place of what is missing keeps the matrices of one size.
        seen = np.where(s & s.swapaxes(1, 2), self.covariance, np.where(m, np.eye(len(self.mean)), 0.0))
        inverse = np.linalg.inv(seen)
        across = np.where(m & s.swapaxes(1, 2), self.covariance, 0.0)
        regression = across @ inverse
        left = np.where(m & m.swapaxes(1, 2), self.covariance, 0.0) - regression @ across.swapaxes(1, 2)
        return regression, (left + left.swapaxes(1, 2)) / 2, inverse, np.linalg.slogdet(seen)[1]

    def left_open(self, missing: Array) -> Array:
        """For each pattern of gaps the covariance of what is in them, zero elsewhere."""
        step = max(1, _BLOCK // missing.shape[1] ** 2)
        blocks = [self._given(missing[i : i + step])[1] for i in range(0, len(missing), step)]
        return np.concatenate([np.empty((0, *self.covariance.shape)), *blocks])

    def completed(self, X: Array) -> Array:
        """The rows with conditional means where entries are missing."""
        full = np.array(X, float)
        for rows, means, _ in self.conditionals(full):
            full[rows] = np.where(np.isnan(full[rows]), means, full[rows])
        return full


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows a Gaussian is fitted to, in units of the prior's deviations."""

    Z: Array
    weight: Array
    ridge: float

    @cached_property
    def gaps(self) -> bool:
        return bool(np.isnan(self.Z).any())

    def first(self) -> Gaussian:
        """Means and variances of what is there."""
        seen = np.where(np.isnan(self.Z), 0.0, self.weight[:, None])
        known = np.nan_to_num(self.Z)
        total = self.weight.sum()
        mean = (seen * known).sum(axis=0) / seen.sum(axis=0)
        variance = (seen * (known - mean) ** 2).sum(axis=0) / seen.sum(axis=0)
        return Gaussian(mean, np.diag((total * variance + self.ridge) / (total + self.ridge)))

    def step(self, now: Gaussian) -> tuple[Gaussian, float]:
        """The next Gaussian, and the objective at this one."""
        filled = np.empty_like(self.Z)
        left = np.zeros_like(now.covariance)
        total = self.weight.sum()
        objective = 0.0
        for rows, means, covariances, density in now._each(self.Z):
            filled[rows] = means
            left += np.tensordot(self.weight[rows], covariances, axes=1)
            objective += float(self.weight[rows] @ density)
        mean = self.weight @ filled / total
        apart = filled - mean
        scatter = (self.weight[:, None] * apart).T @ apart + left + self.ridge * np.eye(len(mean))
        penalty = np.linalg.slogdet(now.covariance)[1] + np.trace(np.linalg.inv(now.covariance))
        return Gaussian(mean, scatter / (total + self.ridge)), objective - 0.5 * self.ridge * float(penalty)


def _distance(a: Gaussian, b: Gaussian) -> float:
    return float(max(np.abs(a.mean - b.mean).max(), np.abs(a.covariance - b.covariance).max()))


def _far(zero: Gaussian, one: Gaussian, two: Gaussian) -> Gaussian | None:
    """Where the steps zero, one, two seem to lead; None if that is no Gaussian."""
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
