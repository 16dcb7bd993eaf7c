r"""Rows with error bars: the margin holds for all they may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from scipy.stats import norm

from ..._utils.arrays import Array
from ..._utils.checks import check_flag, is_number
from ...errors import InvalidInput, MissingCapability
from ...function.memory import refuse_beyond_memory
from ...sample import Sample
from ..base import Context, Knowledge, Terms, Verdict, called
from .base import WorstCase, rows_and_slack

# Eigenvalues of a covariance below this part of its largest are rounding.
_RANK = 1e-13
# Points per row at which verify looks into an ellipsoid.
_SAMPLED = 64


@dataclass(frozen=True, eq=False)
class Spread:
    r"""Factors :math:`A_i` of the covariances :math:`S_i = A_i A_i^\top`, each distinct one once.

    Attributes
    ----------
    directions : (R, d) array, the columns of all factors, one factor after the other.
    rank : (u,) array, how many columns each factor has.
    owner : (n,) array, the factor of every training row, -1 for a row that is certain.
    """

    directions: Array
    rank: Array
    owner: Array

    @classmethod
    def of_covariances(cls, S: Array, owner: Array) -> Spread:
        """From (u, d, d) covariances, each with factors of no more columns than it has rank."""
        unit, R = correlations(S)
        kept = np.ones(unit.shape, bool)
        try:
            factors = np.linalg.cholesky(R)  # half of it is zeros
            deficient = np.flatnonzero(np.einsum("nii->ni", factors).min(axis=1) < 1e-5)
        except np.linalg.LinAlgError:
            factors = np.empty_like(R)
            deficient = np.arange(len(R))
        if len(deficient):
            size, vectors = np.linalg.eigh(R[deficient])
            if (size[:, 0] < -1e-8).any():
                raise NotPSD(int(deficient[np.argmin(size[:, 0])]))
            factors[deficient] = vectors * np.sqrt(np.maximum(size, 0.0))[:, None, :]
            kept[deficient] = size > _RANK * np.maximum(size[:, -1:], np.finfo(float).tiny)
        return cls._of((unit[:, :, None] * factors).swapaxes(1, 2), kept, owner)

    @classmethod
    def of_factors(cls, A: Array, owner: Array) -> Spread:
        """From (u, d, k) factors, less redundant columns, which make cones degenerate."""
        unit = np.linalg.norm(A, axis=2)
        unit = np.where(unit > 0, unit, 1.0)
        U, size, _ = np.linalg.svd(A / unit[:, :, None], full_matrices=False)
        kept = size > sqrt(_RANK) * np.maximum(size[:, :1], np.finfo(float).tiny)
        return cls._of((unit[:, :, None] * U * size[:, None, :]).swapaxes(1, 2), kept, owner)

    @classmethod
    def of_deviations(cls, deviations: Array, owner: Array) -> Spread:
        """From (u, d) standard deviations."""
        n, d = deviations.shape
        refuse_beyond_memory(3 * n * d, d, "the error bars of all rows", "Give fewer distinct ones.")
        columns = deviations[:, :, None] * np.eye(d)
        return cls._of(columns, deviations > 0, owner)

    @classmethod
    def _of(cls, columns: Array, kept: Array, owner: Array) -> Spread:
        rank = kept.sum(axis=1)
        sure = np.append(rank == 0, True)  # -1 finds the last
        return cls(columns[kept], rank, np.where(sure[owner], -1, owner))

    @property
    def uncertain(self) -> Array:
        """Whether each training row is uncertain at all."""
        return np.asarray(self.owner >= 0)

    @cached_property
    def start(self) -> Array:
        """Where each factor's directions begin."""
        return np.concatenate([[0], np.cumsum(self.rank)[:-1]])

    def by_rank(self, factors: Array) -> dict[int, tuple[Array, Array]]:
        """Rank -> which of ``factors`` have it, and their directions, (n, rank, d)."""
        ranks = self.rank[factors]
        found = {}
        if len(ranks) == len(self.rank) and np.ptp(ranks) == 0 and (np.diff(factors) == 1).all():
            k = int(ranks[0])  # all of them, as they are
            return {k: (np.arange(len(ranks)), self.directions.reshape(len(ranks), k, -1))}
        for k in np.unique(ranks):
            which = np.flatnonzero(ranks == k)
            places = self.start[factors[which], None] + np.arange(k)
            found[int(k)] = which, self.directions[places]
        return found


class NotPSD(ValueError):
    """A covariance that is none; ``args`` says which."""


def correlations(S: Array) -> tuple[Array, Array]:
    """Standard deviations, 1 where there is none, and correlations: columns of all units on one footing."""
    unit = np.sqrt(np.maximum(np.einsum("nii->ni", S), 0.0))
    unit = np.where(unit > 0, unit, 1.0)
    return unit, S / (unit[:, :, None] * unit[:, None, :])


class EllipsoidalKnowledge(Knowledge):
    """Blocks after which a row is an ellipsoid; a subclass says which (:meth:`spread`)."""

    shares_slack: ClassVar[bool] = True
    way_out_of_collapse: ClassVar[str] = (
        "What rows may be overlaps too much: see that errors are in the units of X and no larger than they "
        "are, or lower the confidence."
    )
    latex: ClassVar[dict[str, str]] = {
        "margin": r"y_i f(x_i) - \gamma\, t_i \ge \rho_i - \xi_i",
        "cone": r"\|A_i^\top \nabla f(x_i)\| \le t_i",
        "ball": r"y_i f(x_i) - d_i \|g\| \ge \rho_i - \xi_i,\; d_i = \max_x \|k_x - k_{x_i}\|",
    }
    letters: ClassVar[dict[str, str]] = {
        r"\gamma": r"\text{the radius that the confidence asks for}",
        "t_i": r"\text{a variable, how far } f \text{ falls per radius}",
        "A_i": r"\text{a factor of the covariance of row } i,\; A_i A_i^\top = \Sigma_i",
        "d_i": r"\text{the largest over the ellipsoid of row } i, \text{ with } k_x = k(x, \cdot)",
        r"\|g\|": r"\text{the norm of } g = f - b",
    }

    confidence: float
    distribution: str
    guarantee: bool

    def symbols(self) -> dict[str, float]:
        return {r"\gamma": self.radius}

    def spread(self, state: Any) -> Spread:
        """The factors of the covariances."""
        raise NotImplementedError

    @property
    def radius(self) -> float:
        """How many standard deviations ``confidence`` is."""
        if self.distribution == "gaussian":
            return float(norm.ppf(self.confidence))
        return sqrt(self.confidence / (1.0 - self.confidence))

    def validate(self, sample: Sample) -> None:
        if self.distribution not in ("gaussian", "any"):
            raise InvalidInput(f"distribution must be 'gaussian' or 'any', got {self.distribution!r}.")
        if not is_number(self.confidence):
            raise InvalidInput(f"confidence must be a number, got {self.confidence!r}.")
        if not 0.5 <= self.confidence < 1.0:
            percent = 50 <= self.confidence < 100
            raise InvalidInput(
                f"confidence must be at least 0.5 and below 1, got {self.confidence!r}. "
                + (f"Did you mean {self.confidence / 100:g}? " if percent else "")
                + "Below 0.5 less than the row's own margin would be asked for, which is not convex; 1 would "
                "ask for all of space."
            )
        check_flag(guarantee=self.guarantee)
        kernel = sample.machine.kernel if sample.machine is not None else None
        if kernel is None:
            return
        if self.guarantee and not (kernel.has_derivative_bound and kernel.definiteness == "psd"):
            raise MissingCapability(
                f"guarantee=True needs a kernel that knows how far f can move, such as RBF or Polynomial; "
                f"{kernel!r} does not. Use guarantee=False, which is of first order, or another kernel."
            )
        if not self.guarantee and not (kernel.has_slope and kernel.has_curve):
            raise MissingCapability(
                f"on a kernel machine it needs smooth slopes of f, which {kernel!r} does not have. Use a "
                "kernel with second derivatives, such as RBF or Polynomial, or a linear machine."
            )

    def build(self, f: Any, context: Context) -> Terms:
        import cvxpy as cp

        sample = context.sample
        spread = self.spread(context.state)
        if context.rows is None or self.radius == 0:
            return Terms()
        rows, places = rows_and_slack(context, spread.uncertain)
        if len(rows) == 0:
            return Terms()
        X = sample.X[rows]
        factors = spread.owner[rows]
        if f.linear:  # the slope is the same everywhere, so rows of one covariance share a norm
            distinct, of = np.unique(factors, return_inverse=True)
            t, cones = _lengths(spread, distinct, f, None)
            worst = self.radius * t[of]
        elif self.guarantee:
            worst = self._displacement(f.spec, X, spread, factors) * f.length
            cones = {}
        else:
            t, cones = _lengths(spread, factors, f, X)
            worst = self.radius * t
        margin = cp.multiply(sample.y[rows], f(X)) - worst >= sample.margin[rows] - context.slack[places]
        return Terms(constraints={"margin" if cones else "ball": margin, **cones})

    def _displacement(self, f: Any, X: Array, spread: Spread, factors: Array) -> Array:
        """The most that f of norm 1 can fall within the ellipsoid of each row."""
        inner = X if f.scale is None else f.scale.points(X)
        longest = np.zeros(len(X))
        for which, directions in spread.by_rank(factors).values():
            columns = directions if f.scale is None else f.scale.directions(directions)
            longest[which] = np.linalg.norm(columns, ord=2, axis=(1, 2))
        # Once more than nothing, for the rounding of the norm.
        radius = self.radius * longest * (1 + 1e-12)
        return f.kernel.displacement_bound(radius, np.linalg.norm(inner, axis=1))

    def _steepest(self, f: Any, X: Array, spread: Spread, factors: Array, y: Array) -> tuple[Array, Array]:
        r"""The lowest y f of each ellipsoid to first order, and where: along :math:`-y A A^\top \nabla f`."""
        fall = np.zeros(len(X))
        points = X.copy()
        for which, directions in spread.by_rank(factors).values():
            n, k, d = directions.shape
            Z = np.repeat(X[which], k, axis=0)
            slopes = f.slope(Z, directions.reshape(n * k, d)).reshape(n, k)
            length = np.linalg.norm(slopes, axis=1)
            unit = slopes / np.where(length > 0, length, 1.0)[:, None]
            fall[which] = self.radius * length
            points[which] -= (y[which] * self.radius)[:, None] * np.einsum("nk,nkd->nd", unit, directions)
        return y * f.value(X) - fall, points

    def verify(self, f: Any, context: Context) -> Verdict:
        sample = context.sample
        spread = self.spread(context.state)
        rows, places = rows_and_slack(context, spread.uncertain)
        asked = f"y f(x) >= rho - xi all over {len(rows)} ellipsoids"
        X = sample.X[rows]
        y = sample.y[rows]
        factors = spread.owner[rows]
        least = sample.margin[rows] - context.slack[places]
        kernel = getattr(f, "kernel", None)
        if len(rows) == 0 or kernel is None:
            lowest, points = self._steepest(f, X, spread, factors, y)
            return Verdict.at_points(lowest - least, points, asked, context.tol)
        if self.guarantee:
            lowest = y * f.value(X) - f.length * self._displacement(f, X, spread, factors)
            return Verdict.at_points(lowest - least, X, asked, context.tol)
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
        return Verdict.at_points(values.ravel(), flat, f"{asked} (asked to first order)", context.tol, False)

    def multipliers(self, context: Context) -> Array:
        assert context.rows is not None
        found = np.zeros(len(context.rows))
        for label in {"margin", "ball"} & context.duals.keys():
            found[rows_and_slack(context, self.spread(context.state).uncertain)[1]] = context.duals[label]
        return np.abs(found)

    def findings(self, f: Any, context: Context) -> WorstCase | None:
        sample = context.sample
        spread = self.spread(context.state)
        assert context.rows is not None
        assert context.alpha is not None
        rows, _ = rows_and_slack(context, spread.uncertain)
        points = sample.X[context.rows]
        weights = context.alpha
        if not context.duals:
            return None
        X = sample.X[rows]
        y = sample.y[rows]
        factors = spread.owner[rows]
        if "ball" in context.duals:
            worst = self._steepest(f, X, spread, factors, y)[1]
            held = context.duals["ball"]
        else:
            worst = X + y[:, None] * self._displaced(context, spread, factors, hasattr(f, "coef"))
            held = context.duals["margin"]
        return WorstCase.of(
            context,
            np.concatenate([context.rows, rows]),
            np.vstack([points, worst]),
            np.concatenate([weights, np.abs(held)]),
        )

    def _displaced(self, context: Context, spread: Spread, factors: Array, linear: bool) -> Array:
        r"""How far from each row f is held up: :math:`A v / a`, v being the cone's multiplier.

        It is where f is lowest, unless f is level there; then it says which of many points do the work.
        """
        distinct, of = (
            np.unique(factors, return_inverse=True) if linear else (factors, np.arange(len(factors)))
        )
        found = spread.by_rank(distinct)
        displaced = np.zeros((len(distinct), spread.directions.shape[1]))
        held = np.bincount(of, np.abs(context.duals["margin"]))
        for k, (which, directions) in found.items():
            dual = context.duals["cone" if len(found) == 1 else f"cone_{k}"]
            n = len(which)
            v = np.diff(dual.reshape(2, n), axis=0) if k == 1 else dual[n:].reshape(k, n)
            a = np.where(held[which] > 0, held[which], 1.0)
            displaced[which] = np.einsum("kn,nkd->nd", v / a, directions)
        return displaced[of]


def _lengths(spread: Spread, factors: Array, f: Any, X: Array | None) -> tuple[Any, dict[str, Any]]:
    r"""Variables :math:`t_i \ge \|A_i^\top \nabla f(x_i)\|`, and the cones: one constraint for each rank.

    X is None for a linear f, whose slope is the same everywhere.
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
        # Those of rank one need no cone: both signs of the slope stay below t.
        own = t if len(found) == 1 else t[which]
        cones["cone" if len(found) == 1 else f"cone_{k}"] = (
            cp.hstack([slopes, -slopes]) <= cp.hstack([own, own])
            if k == 1
            else cp.SOC(own, cp.reshape(slopes, (k, n), order="F"), axis=0)
        )
    return t, cones


class UncertainSamples(EllipsoidalKnowledge):
    r"""Training rows with error bars: each has its margin for all that it may be.

    Row i has the mean :math:`x_i` and the covariance :math:`S_i = A_i A_i^\top`. With probability
    :math:`\kappa` (``confidence``) its margin is to hold,
    :math:`P[y_i f(x) \ge \rho_i - \xi_i] \ge \kappa`, which is

    .. math:: y_i f(x_i) - \gamma \|A_i^\top w\| \ge \rho_i - \xi_i, \qquad
              \gamma = \Phi^{-1}(\kappa) \;\text{ or }\; \sqrt{\kappa / (1 - \kappa)} ,

    the first for a Gaussian, the second for any distribution with these moments. It is the same as
    the margin at every x with :math:`(x - x_i)^\top S_i^{-1} (x - x_i) \le \gamma^2`. Exact on a linear
    machine, one second-order cone for each distinct covariance. On a kernel machine :math:`w` is the slope
    of f at :math:`x_i`: right to first order in the size of the ellipsoid, and the best f in the span of the
    rows. With ``guarantee=True`` the margin
    holds all over the ellipsoid there too, by
    :math:`|f(x) - f(x_i)| \le \|g\| \sqrt{2 - 2 e^{-\gamma_k r^2}}` (RBF), r being its longest half-axis.

    Parameters
    ----------
    covariance : number, dict, array or function
        In the units of X: a standard deviation for all columns; a dict of column to standard deviation,
        the others being exact; (d,) standard deviations; (d, d) covariance matrix; one for each row:
        (n, d) standard deviations or (n, d, d) covariances, better given to ``fit`` as
        ``<block>__covariance``; or a function of (X, y) that returns one of these. A row of zeros is certain.
    confidence : float
        From 0.5 on, below 1.
    distribution : "gaussian" or "any"
        What is known of the errors besides their covariance.
    guarantee : bool
        On kernel machines: a bound that holds, and is larger, instead of the slope.
    factor : array or function, optional
        Instead of ``covariance``: thin factors A of low rank, (d, k), or (n, d, k) for each row.

    References
    ----------
    Bhattacharyya, Pannagadatta & Smola 2005; Shivaswamy, Bhattacharyya & Smola 2006; the kernel forms are
    derived here.

    Examples
    --------
    >>> from priorsvm import PriorSVC, UncertainSamples
    >>> X, y = [[0.0, 0.0], [2.0, 1.0], [0.0, 1.0], [2.0, 0.0]], [0, 1, 0, 1]
    >>> model = PriorSVC(UncertainSamples([0.1, 2.0]), C=10).fit(X, y)  # the second column is poor
    >>> (model.coef_.round(2) + 0.0).tolist()
    [[1.15, 0.0]]
    >>> model.verify().holds
    True
    """

    row_params: ClassVar[tuple[str, ...]] = ("covariance", "factor")

    def __init__(
        self,
        covariance: Any = None,
        confidence: float = 0.9,
        distribution: str = "gaussian",
        guarantee: bool = False,
        factor: Any = None,
    ):
        self.covariance = covariance
        self.confidence = confidence
        self.distribution = distribution
        self.guarantee = guarantee
        self.factor = factor

    def validate(self, sample: Sample) -> None:
        super().validate(sample)
        if (self.covariance is None) == (self.factor is None):
            raise InvalidInput(
                "give either covariance or factor, in the constructor or to fit as <block>__covariance."
            )
        self._given(sample)

    def start(self, sample: Sample) -> Spread:
        array, for_all = self._given(sample)
        distinct, owner = (array[None], np.zeros(sample.n_train, int)) if for_all else _distinct(array)
        if self.factor is not None:
            return Spread.of_factors(distinct, owner)
        if distinct.ndim == 2:
            return Spread.of_deviations(distinct, owner)
        try:
            return Spread.of_covariances(distinct, owner)
        except NotPSD as error:
            which = "" if for_all else f" of row {int(np.flatnonzero(owner == error.args[0])[0])}"
            raise InvalidInput(f"covariance{which} is not positive semidefinite.") from None

    def _given(self, sample: Sample) -> tuple[Array, bool]:
        """What was given, as an array, and whether it is for all rows at once."""
        n = sample.n_train
        d = sample.X.shape[1]
        name = "covariance" if self.factor is None else "factor"
        value = getattr(self, name)
        if callable(value):
            value = called(value, sample, name)
        if name == "covariance":
            value = _by_name(value, name, sample.feature_names)
        if isinstance(value, Mapping):
            columns = {sample.column(key): deviation for key, deviation in value.items()}
            value = [columns.get(j, 0.0) for j in range(d)]
        try:
            array = np.asarray(value, float)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"{name} must be numbers, got {value!r}.") from error
        if isinstance(value, (bool, np.bool_)):
            raise InvalidInput(f"{name} must be numbers, got {value!r}.")
        if not np.isfinite(array).all():
            at = ", ".join(map(str, np.argwhere(~np.isfinite(array))[0]))
            raise InvalidInput(
                f"{name} contains NaN or infinity, first at [{at}]. Where a value is missing MissingValues "
                "sees to it: give 0 there."
            )
        if name == "factor":
            if array.shape[:-1] not in ((d,), (n, d)) or array.shape[-1] == 0:
                raise InvalidInput(
                    f"factor has shape {array.shape}, expected ({d}, k), or ({n}, {d}, k) for each row."
                )
            return array, array.ndim == 2
        if array.ndim == 0:
            array = np.full(d, float(array))
        for_all = array.shape in ((d,), (d, d))
        if not for_all and array.shape not in ((n, d), (n, d, d)):
            raise InvalidInput(
                f"covariance has shape {array.shape}, expected standard deviations of shape ({d},) or "
                f"({n}, {d}), or covariances of shape ({d}, {d}) or ({n}, {d}, {d}): {d} columns, {n} rows. "
                "Under cross-validation give those of rows to fit as <block>__covariance: they are split too."
            )
        if array.shape == (n, d) == (d, d):
            raise InvalidInput(
                f"covariance of shape {array.shape} is ambiguous with {n} rows and {d} columns: a covariance "
                "matrix, or standard deviations of each row? Give (n, d, d) covariances, or a factor."
            )
        deviations = array.ndim == 1 or array.shape == (n, d)
        if deviations and (array < 0).any():
            raise InvalidInput(
                f"covariance has a standard deviation of {array.min():g}: it must not be negative."
            )
        if not deviations:
            S = array.reshape(-1, d, d)
            R = correlations(S)[1]
            variance = np.einsum("nii->ni", S)
            if (variance < 0).any() or (S[variance == 0] != 0).any():
                raise InvalidInput(
                    "covariance is not positive semidefinite: a variance is negative, or zero where "
                    "covariances are not."
                )
            if np.abs(R - R.swapaxes(1, 2)).max() > 1e-8:
                raise InvalidInput(
                    "covariance is not symmetric. Factors A of S = A A' can be given as factor."
                )
        return array, for_all

    def spread(self, state: Any) -> Spread:
        return state

    def words(self) -> str:
        return f"each row has its margin with confidence {self.confidence:g}"


def _by_name(value: Any, what: str, names: Array | None) -> Any:
    """A pandas Series or DataFrame with its columns in the order of the training data."""
    named = [axis for axis in ("columns", "index") if hasattr(value, "reindex") and hasattr(value, axis)]
    if names is None or not named:
        return value
    known = list(names)
    axis = named[0]
    given = [str(label) for label in getattr(value, axis)]
    if sorted(given) != sorted(known):
        raise InvalidInput(
            f"{what} is about {', '.join(given)}, and the columns are {', '.join(known)}. Name them alike "
            "(.set_axis(X.columns, axis=1)), give plain numbers (.to_numpy()), or a dict for some columns."
        )
    value = value.reindex(**{axis: known})
    if axis == "columns" and sorted(map(str, value.index)) == sorted(known):
        value = value.reindex(index=known)
    return value


def _distinct(array: Array) -> tuple[Array, Array]:
    """The entries that differ, in order of appearance, and which of them each entry is."""
    places: dict[bytes, int] = {}
    owner = np.array(
        [places.setdefault(entry.tobytes(), len(places)) for entry in np.ascontiguousarray(array + 0.0)], int
    )
    first = np.unique(owner, return_index=True)[1]
    return array[first], owner
