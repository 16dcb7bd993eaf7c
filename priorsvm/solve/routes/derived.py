"""Route through a solver of CVXPY whose facts are derived from CVXPY.

Such a solver may raise any exception, for example if its licence is missing or does not allow the size of the
problem. Every exception becomes a breakdown with the words of the solver.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from ..._utils.foreign import dropped_errors
from ...errors import SolverNotInstalled
from ...problem.assemble import Compiled
from .. import further, solvers
from .conic import Conic

# A failure without a reason is repeated to find the reason, unless it took more seconds than this.
REPEAT_SECONDS = 10.0


class Derived(Conic):
    """Route through one solver of CVXPY at its default options."""

    def __init__(self, name: str):
        super().__init__(name, further.facts()[name])

    def installed(self) -> bool:
        return self.name in solvers.available()

    def require_installed(self) -> None:
        if not self.installed():
            raise SolverNotInstalled(
                f"solver {self.name} is not installed: {further.how_to_install(self.name)}. "
                f"Installed: {', '.join(solvers.installed())}."
            )

    def _call(self, compiled: Compiled, arguments: dict[str, Any]) -> None:
        import cvxpy as cp

        start = time.perf_counter()
        try:
            super()._call(compiled, arguments)
        except cp.SolverError as error:
            if "Try another solver" not in str(error) or time.perf_counter() - start > REPEAT_SECONDS:
                raise
            reason = self._reason(compiled, arguments)
            if reason is None:
                raise
            raise cp.SolverError(_words(reason)) from error
        except Exception as error:
            given = arguments.keys() - self.facts.options(compiled.spec.tol).keys()
            if given and isinstance(error, (TypeError, ValueError, KeyError, AttributeError)):
                raise  # about an option
            raise cp.SolverError(_words(error)) from error

    def _reason(self, compiled: Compiled, arguments: dict[str, Any]) -> BaseException | None:
        """Repeat a failed run, and return the last exception of the solver which CVXPY drops, or None."""
        import cvxpy as cp

        with dropped_errors() as errors, suppress(cp.SolverError):
            super()._call(compiled, arguments)
        found = [error for error in errors if not isinstance(error, cp.SolverError)]
        return found[-1] if found else None


def _words(error: BaseException) -> str:
    """Return the message of an exception as a sentence."""
    text = str(error).strip() or type(error).__name__
    return text if text.endswith(".") else f"{text}."
