"""What a block receives: the problem while it is built, and the solved model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._utils.arrays import Array, dense_row
from ..errors import PriorSVMWarning
from ..function.atoms import Atoms
from ..sample import Sample

# Most cells in the proof of one region in verify().
MAX_CELLS = 150_000


@dataclass(frozen=True, eq=False)
class Building:
    r"""The problem while it is built: the argument of ``build`` besides f.

    Attributes
    ----------
    name : str
        Name of the block in the prior.
    sample : Sample
        All rows, after the ``prepare`` of every block.
    state : object
        State of the block; None without one.
    rows : ndarray of int
        Training rows with a positive cost.
    slack : cvxpy.Expression
        The slack :math:`\xi_i` of these rows. After the fit it is an array.

    Examples
    --------
    An upper bound on the slack of every training row:

    >>> from priorsvm import Knowledge, OnRowSlack, PriorSVC, Terms
    >>> class Capped(OnRowSlack, Knowledge):
    ...     def build(self, f, view):
    ...         return Terms(constraints={"cap": view.slack <= 1.5})
    >>> model = PriorSVC(Capped()).fit([[0.0], [1.0], [0.9], [2.0]], [0, 0, 1, 1])
    >>> [constraint.label for constraint in model.problem.constraints][1]
    'capped.cap'
    """

    name: str
    sample: Sample
    state: Any = None
    rows: Array = field(default_factory=lambda: np.empty(0, int))
    slack: Any = None


@dataclass(frozen=True, eq=False)
class Solved(Building):
    """The solved model: the argument of ``verify``, ``findings``, ``refine`` and ``row_duals`` besides f.

    Attributes
    ----------
    name, sample, state, rows : as in :class:`Building`
    slack : ndarray
        Slack of each of ``rows``.
    support : ndarray of bool
        Whether each row of ``sample`` is a support vector.
    tol : float
        Tolerance.
    objective : float
        Objective of the solved problem.
    duals : dict of str to ndarray
        Dual variables of the constraints of the block, by label.
    alpha : ndarray
        Dual variables of the margins of ``rows``.
    largest : float
        Largest dual variable of the whole problem.
    scores : ndarray or None
        f at all members of the orbits, if the solver computed it.
    lower : float
        Lower bound on the objective.
    settled : bool
        Whether no block has a further refinement; True in a second call of ``refine``.
    max_cells : int
        Most cells in the proof of one region.
    verbose : int
        Whether progress bars are shown.
    late : bool
        Whether the time of the fit has run out: checks then use few points.
    everywhere : bool
        In ``verify``: whether a block on rows is checked at all points of its regions.
    new_rows : ndarray or None
        In ``verify``: rows that are not training rows. Missing values are completed as in ``predict``.
    new_gaps : ndarray of bool or None
        Values of ``new_rows`` that are missing.
    new_scores : ndarray or None
        f at ``new_rows``, as ``predict`` uses it; NaN for a row with a missing value that is not completed.
    plain : callable or None
        In ``cautions``: returns f of the model without blocks, or None if that model is expensive.
    warnings : tuple of str
        In ``findings``: texts of the warnings of the block.

    Examples
    --------
    A block that reports the number of training rows inside the margin:

    >>> from priorsvm import Knowledge, PriorSVC, Terms
    >>> class Inside(Knowledge):
    ...     def build(self, f, view):
    ...         return Terms()
    ...     def findings(self, f, view):
    ...         return int((view.slack > view.tol).sum())
    >>> PriorSVC(Inside()).fit([[0.0], [1.0], [0.9], [2.0]], [0, 0, 1, 1]).findings_
    {'inside': 2}
    """

    support: Array = field(default_factory=lambda: np.empty(0, bool))
    tol: float = 1e-6
    objective: float = float("nan")
    duals: Mapping[str, Array] = field(default_factory=dict)
    alpha: Array = field(default_factory=lambda: np.empty(0))
    largest: float = 0.0
    scores: Array | None = None
    lower: float = float("nan")
    settled: bool = False
    max_cells: int = MAX_CELLS
    verbose: int = 0
    late: bool = False
    everywhere: bool = False
    new_rows: Array | None = None
    new_gaps: Array | None = None
    new_scores: Array | None = None
    plain: Callable[[], Any] | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Step:
    """Result of a refinement: what an iterative block returns from ``refine``.

    Attributes
    ----------
    state : object, default=None
        State of the next round; None if the block is done.
    needed_slack : ndarray or None, default=None
        Slack of each of ``view.rows`` at which f satisfies the whole block. It gives an upper bound on the
        objective.
    columns : int or None, default=None
        Number of constraints generated so far, for ``history_``.
    notes : dict, default={}
        Further entries for ``history_``.

    Examples
    --------
    >>> from priorsvm import Step
    >>> Step(state=3, notes={"moved": 2}).state
    3
    """

    state: Any = None
    needed_slack: Array | None = None
    columns: int | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class SlopeTerms:
    """Slopes of f whose norms reduce the margins of rows.

    Attributes
    ----------
    rows : array of int of shape (k,)
        Rows of the sample, in increasing order.
    directions : array of shape (m, d)
        Directions of the slopes, row by row, in the units of X.
    rank : array of int of shape (k,)
        Number of directions of each row.
    """

    rows: Array
    directions: Array
    rank: Array


@dataclass(frozen=True, eq=False)
class PointTerms:
    r"""Terms of a block as arrays: rows over values and slopes of f, each with at most one slack.

    .. math:: s_p (Rv)_p \ge h_p - \zeta_{l(p)} \;\text{with}\; \mu \sum_l \zeta_l
              \;\text{or}\; \mu \sum_p q_p \zeta_p \;\text{or}\; \mu \sum_p q_p \zeta_p^2 .

    Attributes
    ----------
    atoms : Atoms
        The values and slopes v of f, in the units of X.
    sign, target : arrays of shape (n,)
        The signs :math:`s_p` and the numbers :math:`h_p` of the rows.
    slack : array of int of shape (n,) or None
        The index l of the slack of each row, if rows share slacks; -1 without a slack. None: each row has a
        slack of its own.
    penalty : str or None
        Name of the parameter :math:`\mu` of the block; None without slacks.
    matrix : sparse matrix of shape (n, len(atoms)) or None
        R; None is the identity. The sum of a row, which multiplies the bias, is not negative.
    share : array of shape (n,) or float
        The weights :math:`q_p` of slacks that rows do not share.
    squared : bool
        Whether these slacks are squared.
    equation : bool
        Whether the rows are equations :math:`(Rv)_p = h_p + \zeta_p`. Their slacks, if any, are squared.
    duals : dict of str to matrix or None
        Label of a constraint of ``build`` -> matrix whose product with the dual variables of the rows is the
        dual variable of the constraint. None is the identity.
    start : array of shape (n,) or None
        Dual variables of the rows from which a solver starts; None for those of the round before.
    """

    atoms: Atoms
    sign: Array
    target: Array
    slack: Array | None = None
    penalty: str | None = None
    matrix: Any = None
    share: Array | float = 1.0
    squared: bool = False
    equation: bool = False
    duals: Mapping[str, Any] = field(default_factory=dict)
    start: Array | None = None

    @classmethod
    def none(cls, columns: int) -> PointTerms:
        """Return no rows, for X with some number of columns."""
        return cls(Atoms(np.empty((0, columns))), np.empty(0), np.empty(0))


@dataclass(frozen=True)
class Caution:
    """A warning of a block about the fitted f: what ``cautions`` returns.

    Attributes
    ----------
    category : type of PriorSVMWarning
        Class of the warning.
    text : str
        What is wrong, with numbers, and what to do.
    about : str, default=""
        The block in words, which comes before the text. Blocks with equal texts issue one warning.

    Examples
    --------
    A block that warns if f is steep:

    >>> from priorsvm import Caution, Knowledge, Terms
    >>> from priorsvm.errors import PriorSVMWarning
    >>> class Gentle(Knowledge):
    ...     def build(self, f, view):
    ...         return Terms()
    ...     def cautions(self, f, view):
    ...         steep = abs(f.coef).max() > 1
    ...         return [Caution(PriorSVMWarning, "f is steep. Lower C.")] if steep else []
    >>> Caution(PriorSVMWarning, "f is steep. Lower C.").text
    'f is steep. Lower C.'
    """

    category: type[PriorSVMWarning]
    text: str
    about: str = ""

    def __str__(self) -> str:
        return f"{self.about}: {self.text}" if self.about else self.text


@dataclass(frozen=True)
class Verdict:
    """Whether a fitted f satisfies a block: the result of ``verify``.

    Attributes
    ----------
    holds : bool or None
        None for a block that requires nothing of the values of f.
    worst : float, default=nan
        Smallest excess over what is required; negative where the block is violated.
    where : ndarray or None, default=None
        The row with the smallest excess, in the columns and units of X. With columns of categories it is an
        array of objects, and None is a missing value.
    proven : bool, default=False
        True if ``worst`` is exact for all points of the block, False if points were sampled.
    checked : int, default=0
        Number of points where f was evaluated.
    asked : str, default=""
        What the block requires, as text.
    violated : int, default=0
        Number of these points where f violates the block.
    remarks : tuple of str, default=()
        Further sentences about the points of the block.

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
    def at_points(
        cls, excess: ArrayLike, points: Any, asked: str, tol: float, proven: bool = True
    ) -> Verdict:
        """Return the verdict of a requirement from its excess at each point.

        Parameters
        ----------
        excess : array-like of shape (n,)
            Excess over what is required.
        points : ndarray of shape (n, d) or None
            The points; None if they are not points of X.
        asked : str
            What is required, as text.
        tol : float
            Violations up to this size are accepted.
        proven : bool, default=True
            Whether these are all points of the block.

        Returns
        -------
        Verdict
        """
        values = np.asarray(excess, float)
        if len(values) == 0:
            return cls(None, asked=asked)
        i = int(np.argmin(values))
        violated = int(np.sum(values < -tol))
        where = None if points is None else dense_row(points, i)
        return cls(violated == 0, float(values[i]), where, proven, len(values), asked, violated)
