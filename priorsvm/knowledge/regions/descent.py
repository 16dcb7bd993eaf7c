r"""Local descent of a function over a set, from many points at once.

One call of the function evaluates all points, so that a kernel model needs one matrix for each step.

Points go to a level set by projection on linear models of its function. Newton steps on the function alone
are not a projection: descents along a curved border ended up to 0.14 above the minimum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._utils.arrays import Array

#: Maps points of shape (n, d) to values of shape (n,) and gradients of shape (n, d).
Differentiable = Callable[[Array], tuple[Array, Array]]
#: Maps points of shape (n, d) to the nearest points of a set.
Projection = Callable[[Array], Array]

# Most steps, and the length of a step at which a point has arrived, in parts of the first step.
STEPS = 60
ARRIVED = 5e-6
# A point has also arrived if a step would decrease the function by less, to first order.
LITTLE = 1e-8
# A joint step may exceed the last value, but not all of these last values.
MEMORY = 5
# Projection onto a set given by a function: linear models, cycles of each, and Newton steps that end inside.
MODELS = 4
MODEL_CYCLES = 8
CORRECTIONS = 4
BEYOND = 1.0 + 1e-6


def descend(
    function: Differentiable, project: Projection, starts: Array, reach: float, steps: int = STEPS
) -> Array:
    """Apply projected gradient descent with Barzilai-Borwein steps, from all starts at once.

    The first step has the length ``reach``. A step that does not decrease the function enough is repeated
    with a quarter of its length.
    """
    ends = starts.copy()
    if len(starts) == 0:
        return ends
    z = starts
    value, gradient = function(z)
    step = reach / (np.linalg.norm(gradient, axis=1, keepdims=True) + 1e-12)
    moving = np.arange(len(starts))
    for _ in range(steps):
        new = project(z - step * gradient)
        moved = new - z
        left = np.abs(moved).max(axis=1) >= ARRIVED * reach
        left &= np.abs(np.einsum("ij,ij->i", gradient, moved)) >= LITTLE
        if not left.all():
            moving = moving[left]
            z, new, moved, value, gradient, step = (
                part[left] for part in (z, new, moved, value, gradient, step)
            )
        if len(moving) == 0:
            break
        new_value, new_gradient = function(new)
        lower = new_value <= value + 1e-4 * np.sum(gradient * moved, axis=1)
        bend = np.abs(np.sum(moved * (new_gradient - gradient), axis=1, keepdims=True))
        length = np.sum(moved**2, axis=1, keepdims=True) / np.maximum(bend, 1e-12)
        step = np.where(lower[:, None], np.clip(length, 1e-9, 1e9), step / 4)
        z = np.where(lower[:, None], new, z)
        gradient = np.where(lower[:, None], new_gradient, gradient)
        value = np.where(lower, new_value, value)
        ends[moving] = z
    return ends


def descend_jointly(
    function: Callable[[Array], tuple[float, Array]],
    project: Projection,
    start: Array,
    metric: Array,
    reach: float,
    evaluations: int,
) -> tuple[Array, float]:
    """Decrease one function of all points by projected gradients with Barzilai-Borwein steps.

    Parameters
    ----------
    function : callable
        Maps points of shape (n, d) to a number and its gradient.
    project : callable
    start : array of shape (n, d)
    metric : array of shape (n, 1)
        Curvature of the function at each point, up to a factor.
    reach : float
        Longest way of a coordinate in the first step.
    evaluations : int
        Number of evaluations of the function.

    Returns
    -------
    points : array of shape (n, d)
        The points of the least value.
    value : float
    """
    z = start
    value, gradient = function(z)
    best = z
    values = [value]
    step = reach / (float(np.abs(gradient / metric).max(initial=0.0)) + 1e-300)
    for _ in range(evaluations - 1):
        new = project(z - step * gradient / metric)
        moved = new - z
        new_value, new_gradient = function(new)
        if new_value > max(values[-MEMORY:]) + 1e-4 * float(np.sum(gradient * moved)):
            step = step / 4
            continue
        bend = float(np.sum(moved * (new_gradient - gradient)))
        length = float(np.sum(moved**2 * metric))
        step = length / bend if bend > 0 else 2 * step
        z = new
        gradient = new_gradient
        if new_value < min(values):
            best = z
        values.append(new_value)
    return best, min(values)


def onto_level_set(g: Callable[[Array], Array], onto_box: Projection, h: float, Z: Array) -> Array:
    """Return the points of a box with g(z) <= 0 nearest to Z, from linear models of g.

    The halfspaces of the model at the last point give the next point. Steps on the largest number of g alone
    then end inside. Gradients of g are central differences with the step h. A point that does not reach the
    set is returned outside.
    """
    found = onto_box(Z)
    left = np.flatnonzero(g(found).max(axis=1) > 0)
    if len(left) == 0:
        return found
    at = found[left]
    for k in range(MODELS + CORRECTIONS):
        values, slopes = _model(g, at, h)
        length = np.sum(slopes**2, axis=2)
        length = np.where(length > 0, length, np.inf)  # no step without a gradient
        if k < MODELS:
            at = _onto_model(values, slopes, length, at, Z[left], onto_box)
        else:
            worst = (values / np.sqrt(length)).argmax(axis=1)
            i = np.arange(len(at))
            step = np.maximum(BEYOND * values[i, worst] / length[i, worst], 0.0)
            at = onto_box(at - step[:, None] * slopes[i, worst])
    found[left] = at
    return found


def _model(g: Callable[[Array], Array], Z: Array, h: float) -> tuple[Array, Array]:
    """Return g of shape (n, q) and its gradients of shape (n, q, d); gradients that are not finite are 0."""
    n, d = Z.shape
    shifted = Z[:, None] + h * np.vstack([np.zeros(d), np.eye(d), -np.eye(d)])
    found = g(shifted.reshape(-1, d))
    values = found.reshape(n, 2 * d + 1, 1 if found.ndim == 1 else found.shape[1])
    with np.errstate(invalid="ignore"):  # g may be infinite
        slopes = (values[:, 1 : d + 1] - values[:, d + 1 :]) / (2 * h)
    slopes = np.where(np.isfinite(slopes), slopes, 0.0).swapaxes(1, 2)
    return np.clip(values[:, 0], -1e300, 1e100), slopes


def _onto_model(
    values: Array, slopes: Array, length: Array, at: Array, Z: Array, onto_box: Projection
) -> Array:
    """Return the points nearest to Z in the halfspaces of the models at some points, and in the box."""
    offset = values - np.einsum("nqd,nd->nq", slopes, at)
    dual = np.zeros_like(values)
    for _ in range(MODEL_CYCLES):
        for k in range(values.shape[1]):
            before = dual[:, k]
            above = np.einsum("nd,nd->n", slopes[:, k], Z) + offset[:, k]
            after = np.maximum(above / length[:, k] + before, 0.0)
            Z = Z + (before - after)[:, None] * slopes[:, k]
            dual[:, k] = after
    return onto_box(Z)
