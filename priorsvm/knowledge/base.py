"""What a block is: :class:`Knowledge`, the :class:`Terms` it returns, the :class:`Context` it sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._utils.arrays import Array, dense_row
from .._utils.messages import did_you_mean
from ..errors import InvalidInput
from ..kernels.set_kernel import OnRows
from ..prior import Summand
from ..sample import Sample

if TYPE_CHECKING:
    import cvxpy as cp

    from ..function.fitted import Fitted
    from ..function.symbolic import Decision

# How many cells the proof for one region may take in verify(), unless told otherwise.
MAX_CELLS = 150_000


@dataclass(frozen=True)
class Terms:
    r"""What a block adds to the problem.

    Attributes
    ----------
    penalties : hyper-parameter name -> convex expression without parameters. The assembler multiplies it
        by (outer weight) x (the block's attribute of that name).
    constraints : label -> constraint. It stands in the problem under ``block.label``.

    Examples
    --------
    What a block's ``build`` returns: the lasso, :math:`J_{PK} = \mu \|w\|_1`, with slack variables.

    >>> import cvxpy as cp
    >>> from priorsvm import Knowledge, PriorSVC, Terms
    >>> class Lasso(Knowledge):
    ...     def __init__(self, mu=1.0):
    ...         self.mu = mu
    ...     def build(self, f, context):
    ...         size = cp.Variable(f.coef.shape[0])
    ...         return Terms({"mu": cp.sum(size)}, {"above": size >= f.coef, "below": size >= -f.coef})
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.5], [3.0, 0.5]], [0, 0, 1, 1]
    >>> models = PriorSVC(C=100.0), PriorSVC(Lasso(3.0), C=100.0)
    >>> [round(float(model.fit(X, y).coef_[0, 1]), 3) + 0 for model in models]
    [0.8, 0.0]
    """

    penalties: Mapping[str, cp.Expression] = field(default_factory=dict)
    constraints: Mapping[str, cp.Constraint] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Context:
    r"""What a block sees of the machine it stands in.

    Attributes
    ----------
    name : the block's name in the prior.
    sample : all rows, after every block's ``prepare``.
    state : the block's state (iterative blocks), else None.
    slack : the shared :math:`\xi` of the training rows ``rows``: in ``build`` a cvxpy expression, in
        ``verify`` and ``findings`` numbers.
    rows : indices of the training rows that have a positive cost.
    support : for every row of ``sample``, whether its dual is positive (in ``refine``).
    tol : the tolerance asked for.
    objective : the objective that was reached (in ``refine`` and ``verify``).
    duals : label -> multiplier of each of the block's constraints (in ``refine`` and ``findings``).
    alpha : the multipliers of the margins of ``rows`` (in ``findings``).
    largest : the largest multiplier of the whole problem (in ``refine`` and ``findings``).
    scores : f at all members of the block's orbits, if the solver knows them (in ``refine``).
    lower : a lower bound on the objective of this round's problem (in ``refine``).
    max_cells : how many cells the proof for one region may take (in ``verify``).
    verbose : whether progress bars are shown (in ``verify``).
    notes : what ``refine`` tells of this round for ``history_``. Two names mean something: ``columns``, how
        many the block has, and ``needed``, the slack of each of ``rows`` that covers all it asks of this f.

    Examples
    --------
    A block that asks nothing, and tells how many of its rows lie inside the margin.

    >>> from priorsvm import Knowledge, PriorSVC, Terms
    >>> class Inside(Knowledge):
    ...     def build(self, f, context):
    ...         return Terms()
    ...     def findings(self, f, context):
    ...         return int((context.slack > context.tol).sum())
    >>> PriorSVC(Inside()).fit([[0.0], [1.0], [0.9], [2.0]], [0, 0, 1, 1]).findings_
    {'inside': 2}
    """

    name: str
    sample: Sample
    state: Any = None
    slack: Any = None
    rows: Array | None = None
    support: Array | None = None
    tol: float = 1e-6
    objective: float = float("nan")
    duals: Mapping[str, Array] = field(default_factory=dict)
    alpha: Array | None = None
    largest: float = 0.0
    scores: Array | None = None
    lower: float = float("nan")
    max_cells: int = MAX_CELLS
    verbose: int = 0
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """Whether a fitted f obeys a block.

    Attributes
    ----------
    holds : True, False, or None for a block that asks nothing of f's values.
    worst : the smallest amount by which what was asked holds; negative where it is violated.
    where : the row at which that happens, in the user's units.
    proven : True if ``worst`` is exact over all the block speaks of, False if it was sampled.
    checked, violated : at how many places f was evaluated, and at how many of them it was wrong.
    asked : what was asked, in words.
    remarks : what else is worth knowing of the places the block speaks of, a sentence each.

    Examples
    --------
    >>> import numpy as np
    >>> from priorsvm import Verdict
    >>> found = Verdict.at_points(np.array([0.3, -0.2]), np.array([[1.0], [2.0]]), "f >= 1", tol=1e-5)
    >>> found.holds, found.worst, found.where, found.violated
    (False, -0.2, array([2.]), 1)
    """

    holds: bool | None
    worst: float = float("nan")
    where: Array | None = None
    proven: bool = False
    checked: int = 0
    asked: str = ""
    violated: int = 0
    remarks: tuple[str, ...] = ()

    @classmethod
    def at_points(cls, excess: Array, points: Any, asked: str, tol: float, proven: bool = True) -> Verdict:
        """From what is left over of a demand at each of the points it speaks of; None if it is no point."""
        if len(excess) == 0:
            return cls(None, asked=asked)
        i = int(np.argmin(excess))
        violated = int(np.sum(excess < -tol))
        where = None if points is None else dense_row(points, i)
        return cls(violated == 0, float(excess[i]), where, proven, len(excess), asked, violated)


# Hooks of earlier versions, and what a block does instead.
_REMOVED_HOOKS = {
    "centres": "Evaluate f(Z) in build: f expands over every point it is evaluated at.",
    "slopes": "Evaluate f.slope(Z, V) in build: f expands over every slope it is evaluated at.",
    "requires": "Use f.slope, f.coef or f.kernel in build: a model without it raises MissingCapability.",
}


class Knowledge(Summand):
    r"""Base of every block: a penalty and constraints that join :math:`J_{SVM}`.

    A block never knows whether it stands in a linear or a kernel machine: it talks to the decision
    function ``f``, which answers ``f(Z)`` with an affine expression. The constructor stores its
    arguments and does nothing else; whatever can be wrong with them is found in ``validate``.

    A block of your own needs one method:

    >>> import cvxpy as cp
    >>> from priorsvm import Knowledge, PriorSVC, Terms
    >>> class Anchor(Knowledge):
    ...     "mu * (f(point) - value)^2: f is about ``value`` at ``point``."
    ...     def __init__(self, point, value, mu=1.0):
    ...         self.point, self.value, self.mu = point, value, mu
    ...     def build(self, f, context):
    ...         return Terms(penalties={"mu": cp.sum_squares(f([self.point]) - self.value)})
    >>> model = PriorSVC(Anchor([0.0, 3.0], 2.0, mu=100.0)).fit([[0, 0], [1, 0], [0, 1]], [0, 1, 1])
    >>> round(float(model.decision_function([[0.0, 3.0]])[0]), 1)
    2.0

    Attributes
    ----------
    row_params : parameters that hold one entry per training row.
    adds_rows : whether ``prepare`` adds rows; such blocks come after those that only reweight.
    exact : whether the refinement, if there is one, ends in the global optimum.
    shares_slack : whether the block's constraints stand on the sample's own slack; such blocks take
        no outer weight.
    moves_rows : whether ``prepare`` puts other rows in the place of training rows; such blocks take no outer
        weight.
    allow_nan : whether the block deals with missing values in X.
    way_out_of_collapse : what to do when the block has left a constant f.
    latex : formulas by penalty name, constraint label, or ``"sample"`` for what ``prepare`` does; there
        ``<p>`` stands for the power the loss has.
    letters : what the letters of these formulas mean, in LaTeX: ``{"z_p": r"\text{the slack of point } p"}``.
    """

    row_params: ClassVar[tuple[str, ...]] = ()
    adds_rows: ClassVar[bool] = False
    exact: ClassVar[bool] = True
    shares_slack: ClassVar[bool] = False
    moves_rows: ClassVar[bool] = False
    allow_nan: ClassVar[bool] = False
    latex: ClassVar[dict[str, str]] = {}
    letters: ClassVar[dict[str, str]] = {}
    way_out_of_collapse: ClassVar[str] = "Soften it, shrink its region, or use another kernel."

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        for hook, way in _REMOVED_HOOKS.items():
            if hook in vars(cls):
                raise TypeError(f"{cls.__name__} defines {hook}, which blocks no longer have. {way}")

    def validate(self, sample: Sample) -> None:
        """Find what is wrong with the arguments, or impossible in ``sample.machine``, before heavy work."""

    def start(self, sample: Sample) -> Any:
        """The first state of a block that has one."""
        return None

    def prepare(self, sample: Sample, state: Any) -> Sample:
        """Add or reweight rows."""
        return sample

    def build(self, f: Decision, context: Context) -> Terms:
        """The formula: what this block adds to the problem."""
        return Terms()

    def refine(self, f: Fitted, context: Context) -> Any:
        """The next state, or None when there is nothing left to refine."""
        return None

    def settle(self, f: Fitted, context: Context) -> Any:
        """The next state once no block has anything left to refine, or None if this was all."""
        return None

    def relax(self, state: Any, sample: Sample) -> Any:
        """The next state after a problem without a solution, of a block that asked for more than it means."""
        return None

    def verify(self, f: Fitted, context: Context) -> Verdict:
        """Whether the fitted f obeys this block."""
        return Verdict(None, asked="nothing of f's values" if self.only_rows else "not checked: no verify()")

    def multipliers(self, context: Context) -> Array:
        """Of a block that shares the slack: how hard it pushes on that of each of ``context.rows``."""
        return np.zeros(0 if context.rows is None else len(context.rows))

    def findings(self, f: Fitted, context: Context) -> Any:
        """What is worth knowing once f is fitted, or None; ``str()`` of it is a line of the report."""
        return None

    def predict(self, f: Fitted, X: Array, state: Any = None) -> Array | None:
        """Scores of new rows, for a block that changes how they are scored.

        ``state`` is given to blocks that have one.
        """
        return None

    def complete(self, X: Array, labels: Array, weight: Array, names: Any = None) -> Any:
        """Of a block with ``allow_nan``: ``sample.missing``, which has the rows made whole as its ``X``."""
        return None

    @property
    def iterative(self) -> bool:
        """Whether the block refines its state after a solve."""
        return type(self).refine is not Knowledge.refine

    @property
    def machine_decides(self) -> bool:
        """Whether the block asks for something else in a linear than in a kernel machine."""
        return False

    @property
    def takes_sparse(self) -> bool:
        """Whether the block can work with a sparse X."""
        return False

    @property
    def takes_sets(self) -> bool:
        """Whether the block makes sense of samples that are sets of different sizes: it names no column."""
        return False

    @property
    def only_rows(self) -> bool:
        """Whether all the block does is to add or reweight rows."""
        return type(self).build is Knowledge.build

    @property
    def may_forbid(self) -> bool:
        """Whether the block can ask for what f cannot do: no penalty and no slack of the rows softens it."""
        return bool(getattr(self, "hard", True)) and not (self.only_rows or self.shares_slack)

    def aligned(self, parameter: str, sample: Sample) -> Array | None:
        """A row parameter as an array: given as such, or as a function of (X, y), or None."""
        value = getattr(self, parameter)
        if value is None:
            return None
        source = "as an array"
        if callable(value):
            value = called(value, sample, parameter)
            source = "as a function of (X, y)"
        try:
            array = np.asarray(value, float)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"{parameter} must be numbers, got {value!r}.") from error
        if array.ndim == 0:
            raise InvalidInput(f"{parameter} must be one number per training row, got {value!r}.")
        if array.shape[:1] != (sample.n_train,):
            raise InvalidInput(
                f"{parameter} was given {source} with shape {array.shape}, but there are {sample.n_train} "
                f"training rows. Under cross-validation pass it to fit as <block>__{parameter}, so that "
                "it is split along with the rows, or give a function of (X, y)."
            )
        return array

    def set_params(self, **params: Any) -> Knowledge:
        """Set parameters by name; an error says which there are."""
        known = sorted(self.get_params(deep=False))
        for key in params:
            if (name := key.partition("__")[0]) not in known:
                raise InvalidInput(
                    f"{type(self).__name__} has no parameter {name!r}.{did_you_mean(name, known)} "
                    f"It has {', '.join(known) or 'none'}."
                )
        super().set_params(**params)
        return self

    def symbols(self) -> dict[str, float]:
        """Letters of its formulas and their numbers, in LaTeX, besides the weights of penalties."""
        return {}

    def words(self) -> str:
        """The block in the user's own words, for messages; empty if its name says it all."""
        return ""


def called(function: Any, sample: Sample, parameter: str) -> Any:
    """A row parameter given as a function of the training rows, (n, d), and their classes."""
    rows = sample.X_train
    if isinstance(rows, np.ndarray):
        rows = rows.view()
        rows.flags.writeable = False
    try:
        return function(rows, sample.labels)
    except Exception as error:
        raise InvalidInput(
            f"{parameter} was given as a function, and calling it with X, an array, and y failed: {error!r}"
        ) from error


def check_points(name: str, X: Any, sample: Sample) -> Array:
    """Points given to a block: a finite 2-D array with the columns of the training data, or sets as rows."""
    n_features = sample.X.shape[1]
    kernel = None if sample.machine is None else sample.machine.kernel
    if isinstance(kernel, OnRows) and not (len(X) and np.ndim(X[0]) == 1):  # a row is a set, flattened
        return kernel.encode(X, name, at_least=n_features)
    columns = getattr(X, "columns", None)
    if columns is not None and sample.feature_names is not None:
        given = [str(c) for c in columns]
        known = sample.feature_names.tolist()
        if given != known:
            raise InvalidInput(
                f"{name} has the columns {', '.join(given)}, but the training data has {', '.join(known)}, "
                "in this order."
            )
    try:
        points = np.asarray(X, float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{name} must be a 2-D array of numbers.") from error
    if points.ndim != 2 or points.shape[1] != n_features:
        raise InvalidInput(
            f"{name} has shape {points.shape}, expected (n, {n_features}): "
            "as many columns as the training data."
        )
    if not np.isfinite(points).all():
        raise InvalidInput(f"{name} contains NaN or infinity.")
    return points
