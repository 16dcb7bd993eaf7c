r"""Base class of the blocks in which each row is an ellipsoid."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from scipy.stats import norm

from ..._utils.arrays import Array
from ..._utils.checks import check_choice, check_flag, is_number
from ...errors import InvalidInput, MissingCapability, ZeroedColumns
from ...sample import Sample
from ..base import Formulas, Knowledge, Terms
from ..cautions import names_of, zeroed_columns
from ..traits import AtSlopes, OnRowSlack
from ..views import Building, Caution, SlopeTerms, Solved, Verdict
from .base import WorstCase, rows_and_slack
from .spread import Spread

# Points per ellipsoid that verify() samples.
_SAMPLED = 64
# A weight is main from this share of the largest weight in the model without blocks on.
MAIN = 0.5


class EllipsoidalKnowledge(AtSlopes, OnRowSlack, Knowledge):
    r"""Margin on an ellipsoid around each row; a subclass defines the ellipsoids by :meth:`spread`.

    .. math:: y_i f(x) \ge \rho_i - \xi_i \quad\text{for all } x = x_i + A_i z,\; \|z\| \le \tau .
    """

    way_out_of_collapse: ClassVar[str | None] = (
        "The ellipsoids of both classes overlap too much: check that errors are in the units of X, or lower "
        "the confidence."
    )
    formulas: ClassVar[Formulas] = Formulas(
        latex={
            "margin": r"y_i f(x_i) - \tau\, t_i \ge \rho_i - \xi_i",
            "cone": r"\|A_i^\top \nabla f(x_i)\| \le t_i",
            "ball": r"y_i f(x_i) - d_i \|g\| \ge \rho_i - \xi_i,\; d_i = \max_x \|k_x - k_{x_i}\|",
        },
        letters={
            r"\tau": r"\text{the radius for the given confidence}",
            "t_i": r"\text{a variable, the decrease of } f \text{ per radius}",
            "A_i": r"\text{a factor of the covariance of row } i,\; A_i A_i^\top = \Sigma_i",
            "d_i": r"\text{the maximum over the ellipsoid of row } i, \text{ with } k_x = k(x, \cdot)",
            r"\|g\|": r"\text{the norm of } g = f - b",
        },
        numbers={r"\tau": "radius"},
    )

    confidence: float
    distribution: str
    guarantee: bool

    def spread(self, state: Any) -> Spread:
        """Return the factors of the covariances."""
        raise NotImplementedError

    @property
    def radius(self) -> float:
        """Number of standard deviations for the given ``confidence``."""
        if self.distribution == "gaussian":
            return float(norm.ppf(self.confidence))
        return sqrt(self.confidence / (1.0 - self.confidence))

    @property
    def builds(self) -> bool:  # type: ignore[override]
        """Whether ``build`` adds terms: not if the radius is 0, where each ellipsoid is its row."""
        return not (self.distribution == "gaussian" and self.confidence == 0.5)

    def adds_nothing(self, state: Any) -> bool:
        return self.only_rows or not self.spread(state).uncertain.any()

    def validate(self, sample: Sample) -> None:
        check_choice("distribution", self.distribution, ("gaussian", "any"))
        if not is_number(self.confidence):
            raise InvalidInput(f"confidence must be a number, got {self.confidence!r}.")
        if not 0.5 <= self.confidence < 1.0:
            suggestion = f" Did you mean {self.confidence / 100:g}?" if 50 <= self.confidence < 100 else ""
            raise InvalidInput(
                f"confidence must be at least 0.5 and below 1, got {self.confidence!r}.{suggestion} "
                "Below 0.5 the problem is not convex, and at 1 the ellipsoids are infinite."
            )
        check_flag(guarantee=self.guarantee)
        kernel = sample.model.kernel if sample.model is not None else None
        if kernel is None or self.radius == 0:  # without ellipsoids no slope and no bound is used
            return
        if self.guarantee and not (kernel.has_derivative_bound and kernel.definiteness == "psd"):
            raise MissingCapability(
                f"guarantee=True requires a kernel with a bound on changes of f, such as RBF or Polynomial; "
                f"{kernel!r} has none. Use guarantee=False, which is a first-order approximation."
            )
        # Either second derivative makes the slopes continuous, also at the centres of f.
        if not self.guarantee and not (kernel.has_slope and (kernel.has_curve or kernel.has_slope_slope)):
            raise MissingCapability(
                f"a kernel with second derivatives is required, and {kernel!r} has none. Use RBF or "
                "Polynomial, or a linear model. With distribution='gaussian' and confidence=0.5 the radius "
                "is 0, and every kernel is accepted."
            )

    def build(self, f: Any, view: Building) -> Terms:
        import cvxpy as cp

        sample = view.sample
        spread = self.spread(view.state)
        if len(view.rows) == 0 or self.radius == 0:
            return Terms()
        rows, places = rows_and_slack(view, spread.uncertain)
        if len(rows) == 0:
            return Terms()
        X = sample.X[rows]
        factors = spread.owner[rows]
        if f.linear:  # the slope is constant, so rows with equal covariances share a norm
            distinct, of = np.unique(factors, return_inverse=True)
            t, cones = _lengths(spread, distinct, f, None)
            worst = self.radius * t[of]
        elif self.guarantee:
            worst = self._displacement(f.spec, X, spread, factors) * f.length
            cones = {}
        else:
            t, cones = _lengths(spread, factors, f, X)
            worst = self.radius * t
        margin = cp.multiply(sample.y[rows], f(X)) - worst >= sample.margin[rows] - view.slack[places]
        return Terms(constraints={"margin" if cones else "ball": margin, **cones})

    def at_slopes(self, view: Building) -> SlopeTerms | None:
        if self.guarantee:
            return None
        spread = self.spread(view.state)
        rows, _ = rows_and_slack(view, spread.uncertain)
        factors = spread.owner[rows]
        rank = spread.rank[factors]
        before = np.cumsum(rank) - rank
        places = np.repeat(spread.start[factors] - before, rank) + np.arange(rank.sum())
        return SlopeTerms(rows, self.radius * spread.directions[places], rank)

    def duals_at_slopes(self, view: Building, alpha: Array, unit: Array) -> dict[str, Any]:
        spread = self.spread(view.state)
        rows, _ = rows_and_slack(view, spread.uncertain)
        if len(rows) == 0:
            return {}
        factors = spread.owner[rows]
        start = np.cumsum(spread.rank[factors]) - spread.rank[factors]
        duals: dict[str, Any] = {"margin": alpha}
        found = spread.by_rank(factors)
        for k, (which, _) in found.items():
            size = self.radius * alpha[which]
            along = size * unit[start[which] + np.arange(k)[:, None]]
            both = np.concatenate([size + along[0], size - along[0]]) / 2
            duals["cone" if len(found) == 1 else f"cone_{k}"] = both if k == 1 else [size, -along]
        return duals

    def _displacement(self, f: Any, X: Array, spread: Spread, factors: Array) -> Array:
        """Return the largest decrease of an f of norm 1 within the ellipsoid of each row."""
        inner = X if f.scale is None else f.scale.points(X)
        longest = np.zeros(len(X))
        for which, directions in spread.by_rank(factors).values():
            columns = directions if f.scale is None else f.scale.directions(directions)
            longest[which] = np.linalg.norm(columns, ord=2, axis=(1, 2))
        # Slightly larger, against rounding of the norm.
        radius = self.radius * longest * (1 + 1e-12)
        return f.kernel.displacement_bound(radius, np.linalg.norm(inner, axis=1))

    def _steepest(self, f: Any, X: Array, spread: Spread, factors: Array, y: Array) -> tuple[Array, Array]:
        r"""Return the first-order minimum of y f on each ellipsoid, and its point, along
        :math:`-y A A^\top \nabla f`."""
        decrease = np.zeros(len(X))
        points = X.copy()
        for which, directions in spread.by_rank(factors).values():
            n, k, d = directions.shape
            Z = np.repeat(X[which], k, axis=0)
            slopes = f.slope(Z, directions.reshape(n * k, d)).reshape(n, k)
            length = np.linalg.norm(slopes, axis=1)
            unit = slopes / np.where(length > 0, length, 1.0)[:, None]
            decrease[which] = self.radius * length
            points[which] -= (y[which] * self.radius)[:, None] * np.einsum("nk,nkd->nd", unit, directions)
        return y * f.value(X) - decrease, points

    def verify(self, f: Any, view: Solved) -> Verdict:
        sample = view.sample
        spread = self.spread(view.state)
        rows, places = rows_and_slack(view, spread.uncertain)
        asked = f"y f(x) >= rho - xi on {len(rows)} {'ellipsoids' if self.radius else 'rows'}"
        X = sample.X[rows]
        y = sample.y[rows]
        factors = spread.owner[rows]
        least = sample.margin[rows] - view.slack[places]
        if self.radius == 0:
            return Verdict.at_points(y * f.value(X) - least, X, asked, view.tol)
        if len(rows) == 0 or f.linear:
            lowest, points = self._steepest(f, X, spread, factors, y)
            return Verdict.at_points(lowest - least, points, asked, view.tol)
        if self.guarantee:
            lowest = y * f.value(X) - f.length * self._displacement(f, X, spread, factors)
            return Verdict.at_points(lowest - least, X, asked, view.tol)
        steepest = self._steepest(f, X, spread, factors, y)[1][:, None]
        rng = np.random.default_rng(sample.seed)
        sampled = np.empty((len(rows), _SAMPLED, X.shape[1]))
        for which, directions in spread.by_rank(factors).values():
            n, k, _ = directions.shape
            z = rng.normal(size=(n, _SAMPLED, k))
            z *= self.radius / np.linalg.norm(z, axis=2, keepdims=True)
            z[:, _SAMPLED // 2 :] *= rng.uniform(size=(n, _SAMPLED - _SAMPLED // 2, 1)) ** (1.0 / k)
            sampled[which] = X[which, None] + z @ directions
        Z = np.concatenate([steepest, sampled], axis=1)
        values = y[:, None] * f.value(Z.reshape(-1, X.shape[1])).reshape(Z.shape[:2]) - least[:, None]
        flat = Z.reshape(-1, X.shape[1])
        return Verdict.at_points(values.ravel(), flat, f"{asked} (first order)", view.tol, False)

    def row_duals(self, view: Solved) -> Array:
        found = np.zeros(len(view.rows))
        for label in {"margin", "ball"} & view.duals.keys():
            found[rows_and_slack(view, self.spread(view.state).uncertain)[1]] = view.duals[label]
        return np.abs(found)

    def findings(self, f: Any, view: Solved) -> WorstCase | None:
        sample = view.sample
        spread = self.spread(view.state)
        rows, _ = rows_and_slack(view, spread.uncertain)
        points = sample.X[view.rows]
        weights = view.alpha
        if not view.duals:
            return None
        X = sample.X[rows]
        y = sample.y[rows]
        factors = spread.owner[rows]
        if "ball" in view.duals:
            worst = self._steepest(f, X, spread, factors, y)[1]
            duals = view.duals["ball"]
        else:
            worst = X + y[:, None] * self._displaced(view, spread, factors, f.linear)
            duals = view.duals["margin"]
        found = WorstCase.of(
            view,
            np.concatenate([view.rows, rows]),
            np.vstack([points, worst]),
            np.concatenate([weights, np.abs(duals)]),
        )
        return replace(found, warnings=view.warnings)

    # What to check if the ellipsoids set a weight to 0.
    check_of_size: ClassVar[str] = "Check that errors are in the units of X"

    def cautions(self, f: Any, view: Solved) -> list[Caution]:
        """Return a warning if the ellipsoids set a main weight to 0, compared with a model without blocks."""
        found = zeroed_columns(f, view, MAIN)
        if found is None:
            return []
        zero, main = found
        return [
            Caution(
                ZeroedColumns,
                f"block '{view.name}' sets {len(zero)} of {len(f.coef)} weights to 0, although the model "
                f"without blocks mainly uses {names_of(main, view.sample)}. "
                f"{self.check_of_size}, or lower confidence={self.confidence:g}, for example to 0.7.",
            )
        ]

    def _displaced(self, view: Solved, spread: Spread, factors: Array, linear: bool) -> Array:
        r"""Return the displacements :math:`A v / a` of the active points, with dual variables v of the cones.

        They minimise y f on the ellipsoid. If f is constant there, the dual variables select the points.
        """
        if linear:
            distinct, of = np.unique(factors, return_inverse=True)
        else:
            distinct = factors
            of = np.arange(len(factors))
        found = spread.by_rank(distinct)
        displaced = np.zeros((len(distinct), spread.directions.shape[1]))
        total = np.bincount(of, np.abs(view.duals["margin"]))
        for k, (which, directions) in found.items():
            dual = view.duals["cone" if len(found) == 1 else f"cone_{k}"]
            n = len(which)
            v = np.diff(dual.reshape(2, n), axis=0) if k == 1 else dual[n:].reshape(k, n)
            a = np.where(total[which] > 0, total[which], 1.0)
            displaced[which] = np.einsum("kn,nkd->nd", v / a, directions)
        return displaced[of]


def _lengths(spread: Spread, factors: Array, f: Any, X: Array | None) -> tuple[Any, dict[str, Any]]:
    r"""Return variables :math:`t_i \ge \|A_i^\top \nabla f(x_i)\|` and their cones, one constraint per rank.

    X is None for a linear f, whose slope is constant.
    """
    import cvxpy as cp

    t = cp.Variable(len(factors), nonneg=True, name="t")
    cones = {}
    found = spread.by_rank(factors)
    for k, (which, directions) in found.items():
        n, _, d = directions.shape
        V = directions.reshape(n * k, d)
        at = V if X is None else np.repeat(X[which], k, axis=0)
        slopes = f.slope(at, V, spans=False)
        # Rank one needs no cone: both signs of the slope stay below t.
        lengths = t if len(found) == 1 else t[which]
        cones["cone" if len(found) == 1 else f"cone_{k}"] = (
            cp.hstack([slopes, -slopes]) <= cp.hstack([lengths, lengths])
            if k == 1
            else cp.SOC(lengths, cp.reshape(slopes, (k, n), order="F"), axis=0)
        )
    return t, cones
