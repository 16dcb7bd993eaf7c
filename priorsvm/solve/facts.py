"""The solvers that can be named, and what is known about each of them."""

from __future__ import annotations

from typing import NamedTuple


class SolverFacts(NamedTuple):
    """What is known about a solver: an entry of :func:`solvers`."""

    installed: bool
    solves: tuple[str, ...]
    certifies: bool
    accuracy: float
    note: str
    package: str


def solvers() -> dict[str, SolverFacts]:
    """The solvers of whole classes of problems that ``PriorSVC(solver=...)`` knows, installed or not.

    Each has

    - ``installed``, whether it can be used here, and ``package``, what pip calls it;
    - ``solves``, the classes of problems it takes, of LP, QP, SOCP, SDP and EXP;
    - ``certifies``, whether its "infeasible" is a proof;
    - ``accuracy``, the relative residual it is held to: what is above is warned about;
    - ``note``, a remark.

    LIBSVM, NORMAL, SPARSE, ROWS, COLUMNS and CENTRES, for one kind of problem each, are not among them.
    ``priorsvm solvers`` prints the table with them.

    Examples
    --------
    >>> from priorsvm import solvers
    >>> known = solvers()
    >>> known["HIGHS"].solves, known["HIGHS"].certifies
    (('LP',), True)
    >>> [name for name, facts in known.items() if facts.installed and "SDP" in facts.solves]
    ['CLARABEL', 'SCS', 'SCHUR']
    """
    from .solvers import CLASSES, PACKAGES, SOLVERS, installed

    present = installed()
    return {
        name: SolverFacts(
            name in present,
            tuple(problem for problem in CLASSES if problem in solver.solves),
            solver.certifies,
            solver.accuracy,
            solver.note,
            PACKAGES.get(name, name.lower()),
        )
        for name, solver in SOLVERS.items()
    }
