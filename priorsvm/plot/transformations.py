"""Transformed rows: worst transformations of images, and active points of trajectories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from .._utils.arrays import Array
from ..errors import InvalidInput
from ..knowledge.by_class import transforms_of
from ..knowledge.worst_case.invariant_loss import InvariantLoss
from ..knowledge.worst_case.trajectories import Trajectories
from ..prior import Member
from ..solve.joint import JointModel
from ..solve.joint_loss import JointLoss
from .boundary import decision
from .checks import binaries_of, binary_of, check_count, check_images
from .geometry import window_around
from .image_grid import draw_images
from .layers import active_blocks, draw_diamonds, trajectories_of
from .style import BEHIND, COLOURS, axes_or_new, cycled, plot_function

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimator import PriorSVC
    from ..solve.model import BinaryModel

# Rows whose orbits are computed at a time, which bounds the memory.
BATCH = 1000

# Images side by side, and points along the trajectory of an image.
COLUMNS = 8
POINTS = 5


@plot_function
def worst_moves(
    model: PriorSVC,
    *,
    block: str | None = None,
    rows: Any = None,
    count: int = 8,
    shape: Any = None,
    ax: Axes | None = None,
) -> Axes:
    r"""Draw training images, and below each image its transformation with the smallest margin.

    .. math:: \theta^*_i = \arg\max_\theta\, \Delta(\theta)\,\rho_i - y_i f(T_\theta x_i)

    over the orbit of a block's transform, with :math:`\Delta = 1` except for :class:`InvariantLoss` with a
    cost. The numbers are the margins before and after. A margin is :math:`y_i f`. With more than two classes
    it is the score of the image's class minus the highest other score.

    Parameters
    ----------
    model : PriorSVC
        A fitted model with a block that has a transform.
    block : str or None, default=None
        Name of a block with a transform. None means the first block with a transform.
    rows : array-like of int or None, default=None
        Indices of training rows. None means the ``count`` rows that lose most margin.
    count : int, default=8
        Number of images if ``rows`` is None.
    shape : tuple of (int, int) or None, default=None
        Height and width of the images. None uses the shape of the transform.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on. None creates a figure that fits the images.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the images.

    See Also
    --------
    support_trajectories : Draw active points of trajectories.
    priorsvm.InvariantLoss : Loss of the worst transformation.

    References
    ----------
    Teo, Globerson, Roweis & Smola 2007, "Convex learning with invariances", NIPS.

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
    binaries = binaries_of("worst_moves", model)
    name, member = _block_with_transform(binaries[0], block)
    training = binaries[0].training
    if issparse(training.X):
        raise InvalidInput("plot.worst_moves requires dense rows, but the model was fitted on sparse rows.")
    shape = _image_shape("worst_moves", name, member, shape, training.X.shape[1])
    check_images("worst_moves", training.X[:1], shape)
    check_count("worst_moves", "count", count)
    loss = _loss_of(member)
    if rows is None:
        chosen = np.flatnonzero(loss.transform_of(training.labels) >= 0)
    else:
        chosen = _check_rows(rows, training.n_train)
    batches = np.array_split(chosen, -(-len(chosen) // BATCH))
    worst = np.vstack([_worst_points(binaries, loss, batch) for batch in batches])
    before = _margins(model, training.X[chosen], training.labels[chosen])
    after = _margins(model, worst, training.labels[chosen])
    order = np.arange(len(chosen))
    if rows is None:
        order = np.argsort(after - before, kind="stable")[:count]
    columns = min(len(order), COLUMNS)
    cells = [(2 * (k // columns), k % columns) for k in range(len(order))]
    labels = training.labels[chosen[order]]
    return draw_images(
        check_images("worst_moves", np.vstack([training.X[chosen[order]], worst[order]]), shape),
        [*cells, *((line + 1, column) for line, column in cells)],
        [f"{label}: {value:+.1f}" for label, value in zip(labels, before[order], strict=True)]
        + [f"worst: {value:+.1f}" for value in after[order]],
        limits=_limits(training.X),
        ax=ax,
    )


def _block_with_transform(binary: BinaryModel, block: str | None) -> tuple[str, Any]:
    candidates = {name: member for name, member, _ in active_blocks(binary) if transforms_of(member)}
    kind = "a block with a transform, such as InvariantLoss"
    return _choose_block("worst_moves", binary, candidates, block, kind)


def _choose_block(
    function: str, binary: BinaryModel, candidates: dict[str, Any], block: str | None, kind: str
) -> tuple[str, Any]:
    """Return name and block of the named candidate, or of the first."""
    if candidates and block is None:
        return next(iter(candidates.items()))
    if isinstance(block, str) and block in candidates:
        return block, candidates[block]
    blocks = ", ".join(f"'{name}'" for name, _, _ in active_blocks(binary)) or "none"
    condition = "" if block is None else f"block={block!r} to be "
    raise InvalidInput(f"plot.{function} requires {condition}{kind}. Blocks of this model: {blocks}.")


def _image_shape(function: str, name: str, block: Any, shape: Any, d: int) -> Any:
    """Return the given shape, or the shape of a transform of the block."""
    if shape is not None:
        return shape
    arguments = [pair for transform in transforms_of(block) for pair in transform.get_params().items()]
    for key, value in arguments:
        if key.split("__")[-1] == "shape" and value is not None:
            return value
    instead = " For rows of two columns use plot.decision." if d == 2 else ""
    raise InvalidInput(
        f"plot.{function} draws rows as images, but the transform of block '{name}' has no shape. Give "
        f"shape=(height, width).{instead}"
    )


def _check_rows(rows: Any, n: int) -> Array:
    chosen = np.atleast_1d(np.asarray(rows))
    if (
        chosen.ndim != 1
        or chosen.dtype.kind not in "iu"
        or len(chosen) == 0
        or not np.all((chosen >= 0) & (chosen < n))
    ):
        raise InvalidInput(f"plot.worst_moves: rows must be indices from 0 to {n - 1}, got {rows!r}.")
    return chosen


def _loss_of(block: Any) -> InvariantLoss:
    """Return a loss with the transforms of a block."""
    if isinstance(block, InvariantLoss):
        return block
    return InvariantLoss(block.transform, classes=getattr(block, "classes", None))


def _worst_points(binaries: list[BinaryModel], loss: InvariantLoss, rows: Array) -> Array:
    """Return each training row at the transformation that is worst for the models of its class."""
    first = binaries[0]
    if isinstance(first, JointModel):
        joint = JointLoss(first.spec, [Member("transformations", loss, 1.0)], first.training)
        _, found = joint.worst(first.f, joint.start())
        X = first.training.X.copy()
        X[joint.active] = found.points
        return X[rows]
    points = np.empty((len(rows), first.training.X.shape[1]))
    lowest = np.full(len(rows), np.inf)
    for binary in binaries:
        sample = binary.sample
        of_class = np.ones(len(rows), bool)
        if len(binaries) > 1:
            labels = sample.labels[rows]
            of_class = (labels == sample.positive) | (labels == sample.against)
        if of_class.any():
            at = rows[of_class]
            copies = loss.worst_copies(
                binary.f, sample.X[at], sample.y[at], sample.margin[at], sample.labels[at]
            )[1]
            values = sample.y[at] * binary.f.value(copies)
            lower = values < lowest[of_class]
            points[np.flatnonzero(of_class)[lower]] = copies[lower]
            lowest[of_class] = np.minimum(lowest[of_class], values)
    return points


def _margins(model: PriorSVC, X: Array, labels: Array) -> Array:
    """Return y f for two classes; else the score of each row's class minus the highest other score."""
    scores = model._scores(X)
    true_class = np.searchsorted(model.classes_, labels)
    if scores.ndim == 1:
        return np.where(true_class == 1, scores, -scores)
    others = scores.copy()
    others[np.arange(len(X)), true_class] = -np.inf
    return scores[np.arange(len(X)), true_class] - others.max(axis=1)


# ---------------------------------------------------------------------- support trajectories


@plot_function
def support_trajectories(
    model: PriorSVC,
    *,
    block: str | None = None,
    count: int = 6,
    shape: Any = None,
    class_of_interest: Any = None,
    ax: Axes | None = None,
) -> Axes:
    r"""Draw the trajectories with positive dual variables, and the :math:`\theta^*` of their active points.

    Rows of two features are drawn as curves over the decision boundary and the margins. A diamond and its
    :math:`\theta^*` mark each active point. Images are drawn in one line per trajectory: five points along
    the trajectory, then the active points with a frame.

    Parameters
    ----------
    model : PriorSVC
        A fitted model with a Trajectories block.
    block : str or None, default=None
        Name of a Trajectories block. None means the first Trajectories block.
    count : int, default=6
        Number of trajectories, in decreasing order of their dual variables.
    shape : tuple of (int, int) or None, default=None
        Height and width of images. None uses the shape of the transform.
    class_of_interest : class label, pair of labels or None, default=None
        With more than two classes: the class whose model is drawn, or the pair for ``multi_class="ovo"``.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on. None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the trajectories.

    See Also
    --------
    worst_moves : Draw images and their worst transformations.
    priorsvm.Trajectories : Margins along whole trajectories.

    References
    ----------
    Graepel & Herbrich 2004, "Invariant pattern recognition by semi-definite programming models", NIPS.

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
    binaries = binaries_of("support_trajectories", model)
    candidates = {
        name: member for name, member, _ in active_blocks(binaries[0]) if isinstance(member, Trajectories)
    }
    name, member = _choose_block(
        "support_trajectories", binaries[0], candidates, block, "a Trajectories block"
    )
    check_count("support_trajectories", "count", count)
    binary = binary_of("support_trajectories", model, class_of_interest)
    worst = binary.findings[name]
    active = worst.support & np.isfinite(worst.points).all(axis=1)
    active &= binary.states[name].moving[worst.rows]
    if not active.any():
        raise InvalidInput(
            f"plot.support_trajectories: no trajectory of block '{name}' has a positive dual variable."
        )
    weight = np.bincount(worst.rows[active], worst.weights[active])
    rows = np.argsort(-weight, kind="stable")[: min(count, np.count_nonzero(weight))]
    active_points = [np.flatnonzero(active & (worst.rows == row)) for row in rows]
    if binary.training.X.shape[1] == 2 and shape is None:
        return _draw_curves(model, binary, name, member, rows, active_points, class_of_interest, ax)
    shape = _image_shape("support_trajectories", name, member, shape, binary.training.X.shape[1])
    return _draw_image_lines(binary, name, member, rows, active_points, shape, ax)


def _draw_curves(
    model: PriorSVC,
    binary: BinaryModel,
    name: str,
    block: Trajectories,
    rows: Array,
    active_points: list[Array],
    class_of_interest: Any,
    ax: Axes | None,
) -> Axes:
    worst = binary.findings[name]
    X = binary.training.X
    curves = trajectories_of(block, binary.states[name], binary.training, rows)
    chosen = np.concatenate(active_points)
    drawn = np.vstack([X, worst.points[chosen], *(c.reshape(-1, 2) for c in curves)])
    ax = decision(
        model,
        ax=axes_or_new(ax),
        class_of_interest=class_of_interest,
        extent=window_around(drawn.min(axis=0), drawn.max(axis=0)),
        blocks=False,
        verify=False,
        legend=False,
    )
    classes = np.searchsorted(model.classes_, binary.training.labels[rows])
    for family in curves:
        for k, curve in enumerate(family):
            ax.plot(
                *curve.T, color=cycled(COLOURS, classes[k]), linewidth=1.6, label=f"row {rows[k]}", zorder=2.8
            )
    draw_diamonds(ax, worst.points[chosen])
    for k in chosen:
        ax.annotate(
            _theta_text(worst.thetas[k]),
            worst.points[k],
            xytext=(7, 5),
            textcoords="offset points",
            fontsize="small",
            bbox=BEHIND,
        )
    ax.set_title("active points of the trajectories and their θ*", fontsize="small")
    return ax


def _draw_image_lines(
    binary: BinaryModel,
    name: str,
    block: Trajectories,
    rows: Array,
    active_points: list[Array],
    shape: Any,
    ax: Axes | None,
) -> Axes:
    worst = binary.findings[name]
    path = binary.states[name]
    points = []
    cells = []
    titles = []
    framed = []
    curves = trajectories_of(block, path, binary.training, rows, count=POINTS)[0]
    axis = np.eye(path.nodes.shape[1])[0]
    u = np.linspace(-1.0, 1.0, POINTS)[:, None] * axis
    for line, (row, active) in enumerate(zip(rows, active_points, strict=True)):
        thetas = path.theta(u, row)
        for column, theta in enumerate(thetas):
            points.append(curves[line, column])
            cells.append((line, column))
            titles.append(_theta_text(theta[0] if len(theta) == 1 else theta))
        for column, k in enumerate(active, start=len(thetas)):
            framed.append(len(points))
            points.append(worst.points[k])
            cells.append((line, column))
            titles.append(f"row {row}: {_theta_text(worst.thetas[k])}")
    images = check_images("support_trajectories", np.array(points), shape)
    return draw_images(images, cells, titles, framed, _limits(binary.training.X), ax)


def _limits(X: Array) -> tuple[float, float]:
    """Return the range of the training rows; interpolated rows can exceed it."""
    return float(X.min()), float(X.max())


def _theta_text(theta: Any) -> str:
    return ", ".join(f"{value:+.3g}" if value else "0" for value in np.atleast_1d(np.round(theta, 6)))
