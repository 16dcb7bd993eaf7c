"""Patterns that move: what hurts them most, and where along their trajectories they are held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from .._utils.arrays import Array
from ..errors import InvalidInput
from ..knowledge.worst_case.invariant_loss import InvariantLoss
from ..knowledge.worst_case.trajectories import Trajectories
from ..solve.joint import JointMachine
from ..transforms.base import Transform
from .layers import curves_of, diamonds, live
from .pictures import check_images, mosaic
from .plane import decision
from .style import BEHIND, COLOURS, as_written, axes_of, cycled, machine_of, machines_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimator import PriorSVC
    from ..solve.machine import Machine


@as_written
def worst_moves(
    model: PriorSVC,
    *,
    block: str | None = None,
    rows: Any = None,
    count: int = 8,
    shape: Any = None,
    ax: Axes | None = None,
) -> Axes:
    r"""Training images, and below each the move of it that leaves the least margin.

    .. math:: \theta^*_i = \arg\max_\theta\, \Delta(\theta)\,\rho_i - y_i f(T_\theta x_i)

    over the moves of a block's transform (:math:`\Delta = 1` but for :class:`InvariantLoss` with a cost). The
    numbers are the margin before and after: :math:`y_i f`, or with more than two classes by how much the
    image's own class leads.

    Parameters
    ----------
    model : fitted PriorSVC
    block : name of a block with a transform, optional
        The first by default.
    rows : indices of training rows, optional
        By default the ``count`` that lose most margin.
    count : int
    shape : (height, width), optional
        Where the transform does not say it.
    ax : matplotlib Axes, optional
        None makes a figure that fits.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from priorsvm import InvariantLoss, PriorSVC, Translation, plot
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = PriorSVC(InvariantLoss(Translation((8, 8)))).fit(X[:40] / 16, y[:40])
    >>> ax = plot.worst_moves(model, count=5)
    >>> len(ax.images)
    10
    """
    machines = machines_of("worst_moves", model)
    name, member = _with_transform(machines[0], block)
    training = machines[0].training
    if issparse(training.X):
        raise InvalidInput("plot.worst_moves draws images, and the model was fitted on sparse rows.")
    shape = _shape("worst_moves", name, member.transform, shape, training.X.shape[1])
    check_images("worst_moves", training.X[:1], shape)
    _check_count("worst_moves", count)
    chosen = np.arange(training.n_train) if rows is None else _rows(rows, training.n_train)
    parts = np.array_split(chosen, -(-len(chosen) // 1000))  # orbits take room
    moved = np.vstack([_moved(machines, member, part) for part in parts])
    labels = training.labels[chosen]
    still = training.X[chosen]
    before = _margin(model, still, labels)
    after = _margin(model, moved, labels)
    if rows is None:
        most = np.argsort(after - before, kind="stable")[:count]
        labels, still, moved, before, after = (part[most] for part in (labels, still, moved, before, after))
    n = len(labels)
    columns = min(len(labels), 8)
    places = [(2 * (k // columns), k % columns) for k in range(n)]
    return mosaic(
        check_images("worst_moves", np.vstack([still, moved]), shape),
        [*places, *((line + 1, column) for line, column in places)],
        [f"{label}: {value:+.1f}" for label, value in zip(labels, before, strict=True)]
        + [f"moved: {value:+.1f}" for value in after],
        limits=_limits(training.X),
        ax=ax,
    )


def _with_transform(machine: Machine, block: str | None) -> tuple[str, Any]:
    """The block that is meant, or the first that has a transform."""
    found = {name: b for name, b, _ in live(machine) if isinstance(getattr(b, "transform", None), Transform)}
    return _chosen("worst_moves", machine, found, block, "a block with a transform, such as InvariantLoss")


def _chosen(
    function: str, machine: Machine, found: dict[str, Any], block: str | None, wanted: str
) -> tuple[str, Any]:
    if found and block is None:
        return next(iter(found.items()))
    if block in found:
        return block, found[block]
    blocks = ", ".join(f"'{name}'" for name, _, _ in live(machine)) or "none"
    named = "" if block is None else f"block={block!r} to be "
    raise InvalidInput(f"plot.{function} needs {named}{wanted}; the blocks of this model: {blocks}.")


def _shape(function: str, name: str, transform: Any, shape: Any, d: int) -> Any:
    """The shape of the images, as the transform knows it, or as given."""
    if shape is not None:
        return shape
    known = [] if transform is None else list(transform.get_params().items())
    for key, value in known:
        if key.split("__")[-1] == "shape" and value is not None:
            return value
    instead = " Rows of two columns are drawn by plot.decision." if d == 2 else ""
    raise InvalidInput(
        f"plot.{function} draws rows as images, and block '{name}' does not say how they are shaped: give "
        f"shape=(height, width).{instead}"
    )


def _rows(rows: Any, n: int) -> Array:
    chosen = np.atleast_1d(np.asarray(rows))
    if (
        chosen.ndim != 1
        or chosen.dtype.kind not in "iu"
        or len(chosen) == 0
        or not np.all((chosen >= 0) & (chosen < n))
    ):
        raise InvalidInput(f"plot.worst_moves: rows must be indices from 0 to {n - 1}, got {rows!r}.")
    return chosen


def _check_count(function: str, count: Any) -> None:
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
        raise InvalidInput(f"plot.{function}: count must be a whole number from 1 on, got {count!r}.")


def _moved(machines: list[Machine], block: Any, rows: Array) -> Array:
    """These training rows, each where its own machine likes it least."""
    first = machines[0]
    if isinstance(first, JointMachine):
        loss = first.loss
        _, found = loss.worst(first.f, first.states["joint"])
        everywhere = first.training.X.copy()
        everywhere[loss.active[found.rows]] = found.points
        return everywhere[rows]
    loss = block if isinstance(block, InvariantLoss) else InvariantLoss(block.transform)
    moved = np.empty((len(rows), first.training.X.shape[1]))
    for machine in machines:
        sample = machine.sample
        own = np.ones(len(rows), bool) if len(machines) == 1 else sample.y[rows] > 0
        if own.any():
            at = rows[own]
            moved[own] = loss.worst_copies(machine.f, sample.X[at], sample.y[at], sample.margin[at])[1]
    return moved


def _margin(model: PriorSVC, X: Array, labels: Array) -> Array:
    """By how much the class of each row leads; y f for two classes."""
    scores = model._scores(X)
    own = np.searchsorted(model.classes_, labels)
    if scores.ndim == 1:
        return np.where(own == 1, scores, -scores)
    rivals = scores.copy()
    rivals[np.arange(len(X)), own] = -np.inf
    return scores[np.arange(len(X)), own] - rivals.max(axis=1)


# ---------------------------------------------------------------------- support trajectories


@as_written
def support_trajectories(
    model: PriorSVC,
    *,
    block: str | None = None,
    count: int = 6,
    shape: Any = None,
    class_of_interest: Any = None,
    ax: Axes | None = None,
) -> Axes:
    r"""The trajectories that hold f up, and the :math:`\theta^*` at which they do.

    Rows of two columns: the curves over the border and the margins, with a diamond and its
    :math:`\theta^*` at every place that is held. Images: a line for each trajectory, five places along it,
    and framed those at which it is held.

    Parameters
    ----------
    model : fitted PriorSVC with a Trajectories block
    block : name of that block, optional
    count : int
        How many trajectories, those with the largest multipliers first.
    shape : (height, width), optional
        Where the transform does not say it.
    class_of_interest : class, optional
        With more than two classes: whose machine.
    ax : matplotlib Axes, optional
        None makes a figure.

    Returns
    -------
    matplotlib Axes

    References
    ----------
    Graepel & Herbrich 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from priorsvm import FromFunction, PriorSVC, Trajectories, plot
    >>> def turn(X, angle):
    ...     return X @ [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    >>> turns = FromFunction(turn, thetas=[-0.4, 0.4])
    >>> model = PriorSVC(Trajectories(turns), C=100).fit([[1.0, 0.0], [3.0, 0.0]], [0, 1])
    >>> ax = plot.support_trajectories(model)
    >>> sorted(text.get_text() for text in ax.texts)
    ['+0.4', '-0.4', '0']
    """
    machines = machines_of("support_trajectories", model)
    found = {name: b for name, b, _ in live(machines[0]) if isinstance(b, Trajectories)}
    name, member = _chosen("support_trajectories", machines[0], found, block, "a Trajectories block")
    _check_count("support_trajectories", count)
    machine = machine_of("support_trajectories", model, class_of_interest)
    worst = machine.findings[name]
    held = worst.support & np.isfinite(worst.points).all(axis=1)
    if not held.any():
        raise InvalidInput(f"plot.support_trajectories: no trajectory of block '{name}' holds f up.")
    weight = np.bincount(worst.rows[held], worst.weights[held])
    rows = np.argsort(-weight, kind="stable")[: min(count, np.count_nonzero(weight))]
    places = [np.flatnonzero(held & (worst.rows == row)) for row in rows]
    if machine.training.X.shape[1] == 2 and shape is None:
        return _curves(model, machine, name, member, rows, places, class_of_interest, ax)
    shape = _shape("support_trajectories", name, member.transform, shape, machine.training.X.shape[1])
    return _lines_of_images(machine, name, member, rows, places, shape, ax)


def _curves(
    model: PriorSVC,
    machine: Machine,
    name: str,
    block: Trajectories,
    rows: Array,
    places: list[Array],
    class_of_interest: Any,
    ax: Axes | None,
) -> Axes:
    worst = machine.findings[name]
    X = machine.training.X
    curves = curves_of(block, machine.states[name], X, rows)
    chosen = np.concatenate(places)
    seen = np.vstack([X, worst.points[chosen], *(c.reshape(-1, 2) for c in curves)])
    low = seen.min(axis=0)
    high = seen.max(axis=0)
    margin = 0.06 * np.where(high > low, high - low, 1.0)
    (left, bottom), (right, top) = low - margin, high + margin
    ax = decision(
        model,
        ax=axes_of(ax),
        class_of_interest=class_of_interest,
        extent=(left, right, bottom, top),
        blocks=False,
        verify=False,
        legend=False,
    )
    classes = np.searchsorted(model.classes_, machine.training.labels[rows])
    for family in curves:
        for k, curve in enumerate(family):
            ax.plot(
                *curve.T, color=cycled(COLOURS, classes[k]), linewidth=1.6, label=f"row {rows[k]}", zorder=2.8
            )
    diamonds(ax, worst.points[chosen])
    for k in chosen:
        ax.annotate(
            _theta(worst.thetas[k]),
            worst.points[k],
            xytext=(7, 5),
            textcoords="offset points",
            fontsize="small",
            bbox=BEHIND,
        )
    ax.set_title("where each trajectory is held, and its θ*", fontsize="small")
    return ax


def _lines_of_images(
    machine: Machine,
    name: str,
    block: Trajectories,
    rows: Array,
    places: list[Array],
    shape: Any,
    ax: Axes | None,
) -> Axes:
    worst = machine.findings[name]
    path = machine.states[name]
    patterns = []
    cells = []
    titles = []
    framed = []
    curves = curves_of(block, path, machine.training.X, rows, count=5)[0]
    axis = np.eye(path.nodes.shape[1])[0]
    thetas = path.theta(np.linspace(-1.0, 1.0, 5)[:, None] * axis)
    for line, (row, held) in enumerate(zip(rows, places, strict=True)):
        for column, theta in enumerate(thetas):
            patterns.append(curves[line, column])
            cells.append((line, column))
            titles.append(_theta(theta[0] if len(theta) == 1 else theta))
        for column, k in enumerate(held, start=len(thetas)):
            framed.append(len(patterns))
            patterns.append(worst.points[k])
            cells.append((line, column))
            titles.append(f"row {row}: {_theta(worst.thetas[k])}")
    images = check_images("support_trajectories", np.array(patterns), shape)
    return mosaic(images, cells, titles, framed, _limits(machine.training.X), ax)


def _limits(X: Array) -> tuple[float, float]:
    """White and black by the training rows: moved ones overshoot where they are interpolated."""
    return float(X.min()), float(X.max())


def _theta(theta: Any) -> str:
    return ", ".join(f"{value:+.3g}" if value else "0" for value in np.atleast_1d(np.round(theta, 6)))
