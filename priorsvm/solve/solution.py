"""Solution of one problem: the decision function, its dual variables, and how they were found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import SolverFailed
from ..problem.residuals import Residuals

if TYPE_CHECKING:
    from .._utils.arrays import Array
    from ..function.fitted import Fitted
    from ..problem.assemble import Compiled

# An answer with a larger residual is discarded, whatever status the solver reports.
HOPELESS = 1e-2

# Status of an answer with which a fit ended at ``max_seconds``.
TIME_LIMIT = "time_limit"


@dataclass(frozen=True)
class Outcome:
    """Record of a solve.

    Attributes
    ----------
    solver : name of the route.
    status : "optimal" or "optimal_inaccurate" once judged, before that the status which the route reports.
        "time_limit" if the fit ended at ``max_seconds``.
    residuals : residuals of the answer.
    compile_seconds, solve_seconds : time of the solver itself, and of the work around it.
    iterations : number of steps, if the route reports it.
    remark : warning text, empty if the answer is accurate.
    before : solvers that failed first.
    start : solver whose answer was the warm start, or "".
    """

    solver: str
    status: str
    residuals: Residuals
    compile_seconds: float
    solve_seconds: float
    iterations: int | None = None
    remark: str = ""
    before: tuple[str, ...] = ()
    start: str = ""


class RowSums(NamedTuple):
    """Sums over all rows for the part of a block in the costs, if the rows are read in chunks.

    Attributes
    ----------
    loss : its part of the loss.
    rows, support : number of rows with this part, and of support vectors among them.
    slack, price : sums of their slacks and of their dual variables.
    """

    loss: float
    rows: int
    support: int
    slack: float
    price: float


@dataclass(eq=False)
class Solution:
    """Solution of a problem by one route.

    Attributes
    ----------
    f : the decision function.
    alpha : the dual variable of every row's margin.
    support : whether each row is a support vector.
    outcome : solver, status, residuals and times.
    duals : label -> dual value of every constraint.
    penalties : (block, name) -> contribution of that penalty to the objective.
    value : the objective, or None if it is computed from f.
    threshold : if given, a row is a support vector too if its dual variable in a block exceeds this number.
    slack : the slack of every row, if blocks share it.
    scores : f at all members of all orbits, if the route computes them.
    values : f at all rows, if the route computes them.
    history : one dict per pass, if the route does all rounds itself.
    compiled : the assembled problem that was solved.
    sums : block name -> sums over all rows, if ``alpha`` has some of the rows only.
    notes : further entries of the round in ``history_``.
    states : block name -> state that the route found, instead of the state of the round.
    """

    f: Fitted
    alpha: Array
    support: Array
    outcome: Outcome
    duals: dict[str, Any]
    penalties: dict[tuple[str, str], float] = field(default_factory=dict)
    value: float | None = None
    threshold: Array | None = None
    slack: Array | None = None
    scores: Array | None = None
    values: Array | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    compiled: Compiled | None = None
    sums: dict[str, RowSums] | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    states: dict[str, Any] = field(default_factory=dict)

    @property
    def residuals(self) -> Residuals:
        """The residuals of the answer."""
        return self.outcome.residuals


def judge(
    name: str,
    status: str,
    found: Residuals,
    accepted: float,
    others: str | None = "CLARABEL",
    scaled: bool = False,
    hint: str = "",
    late: bool = False,
) -> tuple[str, str]:
    """Return the status which the residuals support, and a warning text if they exceed ``accepted``.

    If the time has run out (``late``), an answer that satisfies the constraints is kept, whatever its gap.

    Raises
    ------
    SolverFailed
        If the residuals are so large that the answer is discarded.
    """
    limit = "time limit reached" if late else "iteration limit reached"
    reported = limit if status == "user_limit" else status
    advice = f"Try another solver ({others}), or " if others else "Try "
    advice += "a smaller C." if scaled else "scale='standard', or a smaller C."
    advice = f"{hint} {advice}".strip()
    kept = late and found.primal <= HOPELESS and np.isfinite(found.worst)
    if not (kept or found.worst <= max(HOPELESS, accepted)):
        raise SolverFailed(
            f"{name} reported '{reported}', but the residuals of the original problem are too large: "
            f"{found}. The answer is discarded. {advice}"
        )
    if found.worst > accepted:
        return "optimal_inaccurate", (
            f"{name} reported '{reported}', but its residuals exceed {accepted:.0e}: {found}. {advice}"
        )
    return "optimal", ""


def flat(dual: Any) -> Array:
    """Return a dual value as one vector; a cone has two parts."""
    parts = dual if isinstance(dual, (list, tuple)) else [dual]
    return np.concatenate([np.empty(0), *(np.ravel(part) for part in parts if part is not None)])
