r"""Requirements :math:`s\,Lf(x) \ge h(x)` on a set of points: their values, gradients and lowest points.

Slopes of a kernel model are lowest beside centres of f and between active points. In 8 columns, 110 of 300
descents from known points or training rows ended in a violated minimum, and 10 of 250 from points on faces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from ..._utils.arrays import Array
from ...function.atoms import Atoms
from .descent import STEPS, Differentiable
from .sets import Set

# A loose search for the lowest points: mixed points, how many of them local descent starts from, and how many
# times as many known points, and points next to centres.
CANDIDATES = 256
STARTS = 16
NEAR = 4
# The strict search: mixed points, from which a short descent starts, and starts of a long descent.
MIXED = 1024
STRICT_STARTS = 128
# A strict search of slopes has so many times the starts of a loose one.
STRICT = 6
# Descents of slopes: the lowest known points, centres of f, and drawn points that each kind starts from.
LOWEST = 96
CENTRES = 64
DRAWN = 32
# Known points start a descent of slopes up to this distance from the lowest.
NEARLY = 0.05
# Steps of a loose and of a strict descent of slopes, and of a descent from the lowest ends of a strict one.
SHORT = 10
LONG = 30
LAST = 100
# The last check of a slope starts from so many rows and points beside centres, by this part of the direction.
CHECKED = 1000
SIDE = 0.25
# How far starts of a strict descent are moved, in parts of the size of the region.
MOVED = 0.1
# Added to the seed in the last check of a hard block, so that it draws other points than the fit.
CHECK = 100
# Steps of a descent: in a loose search, and in a closer or strict search.
LOOSE = 8
CLOSER = 20
# Points whose distances from each other are computed at once.
BLOCK = 128
# Cuts ignore violations below this size, or below the tolerance of the fit if that is larger.
CUT = 1e-4


@dataclass(frozen=True, eq=False)
class Requirement:
    r"""The requirement :math:`s\,Lf(x) \ge h(x)` for all x of a set; Lf is f, or its slope along a direction.

    Attributes
    ----------
    region : Set
    sign : float
        The sign s, +1 or -1.
    h : float or callable, default=1.0
        A number, or a function of points of shape (n, d).
    direction : array of shape (d,) or None, default=None
        The direction of the slope; None for the value of f.
    """

    region: Set
    sign: float
    h: Any = 1.0
    direction: Array | None = None

    def along(self, Z: Array) -> Array | None:
        """Return the direction, repeated for every row of Z."""
        return None if self.direction is None else np.broadcast_to(self.direction, Z.shape)

    def expression(self, f: Any, Z: Array) -> Any:
        """Return s Lf(Z) as a cvxpy expression.

        If f cannot expand over slopes, it expands over the points instead, which is not exact.
        """
        if self.direction is None:
            return self.sign * f(Z)
        spans = f.spec.expands_over_slopes
        if not spans:
            f.span(Z)
        return self.sign * f.slope(Z, self.along(Z), spans=spans)

    def value(self, f: Any, Z: Array) -> Array:
        """Return s Lf(Z) of a fitted f."""
        return self.sign * (f.value(Z) if self.direction is None else f.slope(Z, self.along(Z)))

    def threshold(self, Z: Array) -> Array:
        """Return h(Z)."""
        return np.broadcast_to(self.h(Z) if callable(self.h) else self.h, (len(Z),))

    def excess(self, f: Any, Z: Array) -> Array:
        """Return s Lf(Z) - h(Z), negative where the requirement is violated."""
        return self.value(f, Z) - self.threshold(Z)

    def lowest(self, f: Any, known: Array, seed: int, starts: int = STARTS) -> Array:
        """Return points of low excess: the ends of local descent, and the points it started from.

        A start is a known point, a mixed point, or the point of the region next to a centre that lowers f.
        """
        if self.direction is not None and not f.linear:
            return self._lowest_slopes(f, known, seed, starts / STARTS, SHORT)
        near = self._near_centres(f, lowering=True)
        drawn = self._mixed(np.vstack([known, near]), CANDIDATES * starts // STARTS, seed)
        parts = [(known, NEAR * starts), (near, NEAR * starts), (drawn, starts)]
        lowest = [part[np.argsort(self.excess(f, part), kind="stable")[:most]] for part, most in parts]
        spread = distinct(np.vstack(lowest), known[:0], self.region, apart=0.02)
        steps = np.interp(starts, [STARTS, 4 * STARTS, 16 * STARTS], [LOOSE, CLOSER, STEPS])
        return np.vstack([self._minima(f, spread, int(steps), rough=True), spread])

    def lowest_strictly(self, f: Any, known: Array, seed: int) -> Array:
        """Return points of low excess by a strict search, from many points.

        A short descent from mixed points finds narrow minima, too. Between active points f may fall below
        the requirement. A long descent follows from the lowest ends.
        """
        if self.direction is not None and not f.linear:
            ends = self._lowest_slopes(f, known, seed, STRICT, LONG)
            ends = ends[np.argsort(self.excess(f, ends), kind="stable")]
            spread = distinct(ends, known[:0], self.region, apart=0.02, limit=STRICT_STARTS)
            return np.vstack([self._minima(f, spread, LAST), ends])
        near = self._near_centres(f, lowering=True)
        starts = np.vstack([known, near, self._mixed(np.vstack([known, near]), MIXED, seed)])
        ends = self._minima(f, starts, CLOSER, rough=True)
        ends = ends[np.argsort(self.excess(f, ends), kind="stable")]
        spread = self.apart(f, ends, 0.02, STRICT_STARTS)
        return np.vstack([self._minima(f, spread, STEPS), spread])

    def _lowest_slopes(self, f: Any, known: Array, seed: int, effort: float, steps: int) -> Array:
        """Return points of low slope: the ends of local descent from known points and centres of f.

        Slopes of a kernel model are lowest beside its centres and between active points. Of 300 starts in 8
        columns, 110 of known points or training rows end in a violated minimum, and 10 of points on faces.
        """
        low, high = self.region.box
        rng = np.random.default_rng(seed)
        excess = self.excess(f, known)
        active = np.flatnonzero(excess < excess.min(initial=0.0) + NEARLY)
        lowest = known[active[np.argsort(excess[active], kind="stable")[: int(effort * LOWEST)]]]
        some = rng.permutation(len(f.centres))[: int(effort * CENTRES)]
        near = np.vstack([lowest, f.centres[some]])
        moved = near + MOVED * size_of(self.region) * rng.normal(size=near.shape)
        if effort <= 1:
            moved = moved[len(lowest) :]
        starts = np.vstack([near, moved, self.region.points(int(effort * DRAWN), seed)])
        starts = np.clip(starts, low, high)
        return self._minima(f, starts, steps, rough=True)

    def lowest_from(self, f: Any, rows: Array) -> Array:
        """Return the ends of long descents from rows and beside centres of f; none if f is linear.

        The slope of a kernel is lowest at a distance from its centre, on one side.
        """
        if f.linear or self.direction is None:
            return rows[:0]
        beside = SIDE * self.direction
        starts = np.vstack([rows, f.centres - beside, f.centres + beside])
        return self._minima(f, self.region.nearest(starts[:CHECKED]), LAST)

    def _minima(self, f: Any, starts: Array, steps: int, rough: bool = False) -> Array:
        """Return the ends of local descent of the excess."""
        if len(starts) == 0:
            return starts
        return self.region.minima(self.differentiable(f, rough), starts, steps, unit_of(f, self))

    def _mixed(self, points: Array, n: int, seed: int) -> Array:
        """Return n points of the region that have each coordinate of one of two points.

        Both are drawn from the given points and as many points on faces. New minima share coordinates with
        known ones: so many descents from mixed points found 93 % of the narrow minima of 21 models, descents
        from points on faces 86 %, and descents from the lowest drawn points 72 %.
        """
        rng = np.random.default_rng(seed)
        pool = np.vstack([points, self.region.faces(max(len(points), STARTS), seed)])
        first, second = rng.integers(0, len(pool), (2, n))
        return self.region.nearest(np.where(rng.random((n, pool.shape[1])) < 0.5, pool[first], pool[second]))

    def _near_centres(self, f: Any, lowering: bool = False) -> Array:
        """Return the points of the region next to centres of f: all, or those that lower the excess."""
        if f.linear:
            return np.empty((0, len(self.region.box[0])))
        if lowering and self.direction is None:
            return self.region.nearest(f.centres[self.sign * f.weights < 0])
        return self.region.nearest(f.centres)

    def apart(self, f: Any, points: Array, near: float, limit: int | None = None) -> Array:
        """Return the first points that are not near each other in the feature space of f, up to a limit."""
        if f.linear:
            return distinct(points, points[:0], self.region, near, limit)
        atoms = Atoms(points)

        def alike(some: Array, others: Array) -> Array:
            return half_distances(f, atoms[some], atoms[others]) < near

        return points[first_apart(alike, np.arange(len(points)), limit)]

    def differentiable(self, f: Any, rough: bool = False) -> Differentiable:
        """Return the excess and its gradient, by differences where f or h has no derivative.

        With ``rough`` they are computed in single precision, if that keeps four decimals.
        """
        capable = f.linear or (f.kernel.has_slope if self.direction is None else f.kernel.has_curve)
        if callable(self.h) or not capable:
            step = 1e-6 * size_of(self.region)

            def differences(Z: Array) -> tuple[Array, Array]:
                shifted = np.concatenate([Z[:, None] + np.diag(step), Z[:, None] - np.diag(step)])
                up, down = self.excess(f, shifted.reshape(-1, Z.shape[1])).reshape(2, len(Z), -1)
                return self.excess(f, Z), (up - down) / (2 * step)

            return differences

        def derivatives(Z: Array) -> tuple[Array, Array]:
            if self.direction is None:
                values, gradients = f.values_and_gradients(Z, rough)
            else:
                values, gradients = f.slopes_and_gradients(Z, self.along(Z), rough)
            return self.sign * values - self.threshold(Z), self.sign * gradients

        return derivatives

    @property
    def exact_on_linear(self) -> bool:
        """Whether finitely many constraints on a linear f express the requirement."""
        return self.region.exact and not callable(self.h)


def distinct(
    points: Array, known: Array, region: Set, apart: float = 1e-3, limit: int | None = None
) -> Array:
    """Return the first points that differ from the known points and are apart from each other.

    Distances are measured in parts of the size of the region.
    """
    size = size_of(region)
    scaled = points / size
    left = np.ones(len(points), bool)
    if len(known) and len(points):
        left = cdist(scaled, known / size, "chebyshev").min(axis=1) > 1e-7

    def near(some: Array, others: Array) -> Array:
        return np.asarray(cdist(scaled[some], scaled[others], "chebyshev") <= apart)

    return points[first_apart(near, np.flatnonzero(left), limit)]


def first_apart(near: Callable[[Array, Array], Array], order: Array, limit: int | None = None) -> Array:
    """Return the first indices in an order of which no two are near each other, up to a limit.

    ``near`` maps two arrays of indices to a matrix of flags.
    """
    most = len(order) if limit is None else limit
    chosen = order[:0]
    for start in range(0, len(order), BLOCK):
        some = order[start : start + BLOCK]
        if len(chosen):
            some = some[~near(some, chosen).any(axis=1)]
        within = near(some, some)
        first = np.ones(len(some), bool)
        for k in range(len(some)):
            if first[k]:
                first[k + 1 :] &= ~within[k, k + 1 :]
        chosen = np.concatenate([chosen, some[first]])[:most]
        if len(chosen) == most:
            break
    return chosen


def half_distances(f: Any, atoms: Atoms, others: Atoms | None = None) -> Array:
    r"""Return :math:`\tfrac12\|a - b\|_H^2` between atoms, relative to the mean of their squared lengths."""
    a = atoms.scaled(f.scale)
    b = a if others is None else others.scaled(f.scale)
    K = a.products(f.kernel, b)
    of_a = K.diagonal() if others is None else a.diag(f.kernel)
    own = np.add.outer(of_a, of_a if others is None else b.diag(f.kernel)) / 2
    return np.asarray((own - K) / np.maximum(own, 1e-300))


def merged(points: Array, weights: Array, distances: Array, near: float) -> tuple[Array, Array]:
    """Return weighted means of points that are near each other, and the sums of their weights."""
    order = np.argsort(-weights, kind="stable")
    left = np.ones(len(points), bool)
    means: list[Array] = []
    sums: list[float] = []
    for k in order:
        if left[k]:
            group = left & (distances[k] < near)
            left &= ~group
            sums.append(float(weights[group].sum()))
            means.append(weights[group] @ points[group] / sums[-1])
    return np.array(means).reshape(-1, points.shape[1]), np.array(sums)


def size_of(region: Set) -> Array:
    """Return the widths of the box around a region, with 1 in place of 0."""
    low, high = region.box
    return np.where(high > low, high - low, 1.0)


def unit_of(f: Any, requirement: Requirement) -> Array:
    """Return the unit of every column inside the model."""
    return np.ones(len(requirement.region.box[0])) if f.scale is None else f.scale.width
