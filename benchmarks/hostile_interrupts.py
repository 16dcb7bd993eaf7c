"""KeyboardInterrupt at random lines of the library and at random times of a fit."""

from __future__ import annotations

import inspect
import signal
import sys
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import make_moons

from priorsvm import (
    Box,
    InvariantLoss,
    Monotone,
    OddnessHint,
    PriorSVC,
    Shift,
    UncertainSamples,
    VirtualSupportVectors,
)

from .hostile_tally import Tally

TRIES, QUICK = 24, 3
X, Y = make_moons(40, noise=0.2, random_state=0)
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "plain": (None, {}),
    "linear": (None, {"kernel": "linear"}),
    "hint": (OddnessHint(), {}),
    "rule everywhere": (Box({0: (2, 3)}, 1, hard=True), {}),
    "mu auto": (Box({0: (1, 3)}, 1), {}),
    "monotone": (Monotone({0: 1}, holds="everywhere", mu=1.0), {}),
    "virtual support vectors": (VirtualSupportVectors(Shift([0.1, 0.0])), {}),
    "CLARABEL": (OddnessHint(), {"solver": "CLARABEL"}),
    "SCS": (OddnessHint(), {"solver": "SCS", "kernel": "linear"}),
    "invariant loss": (InvariantLoss(Shift([0.1, 0.0])), {}),
    "uncertain": (UncertainSamples(0.01 * np.eye(2)), {}),
}


def interrupts(tally: Tally, quick: bool) -> None:
    """Interrupt second fits; afterwards the model is the first or the second one, in every attribute."""
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (prior, parameters) in MODELS.items():
            parameters = {"kernel": "rbf", "solver": "auto", **parameters}
            lines = _Lines(-1)
            after = _state(_traced(PriorSVC(prior, **parameters), lines))
            for k in range(QUICK if quick else TRIES):
                model = PriorSVC(**{**parameters, "solver": "auto"}).fit(X, Y)
                before = _state(model)
                model.set_params(prior=prior, **parameters)
                last = k % 4 == 3  # the result is stored in the last lines
                line = lines.seen - int(rng.integers(40)) if last else int(rng.integers(1, lines.seen + 1))
                seconds = float(rng.uniform(1e-4, 0.05)) if k % 2 else None
                _interrupted(model, line, seconds)
                kept = _state(model) in (before, after)
                tally.count("accepted" if kept else "wrong", f"{name}, line {line}, seconds {seconds}")
            again = _state(PriorSVC(prior, **parameters).fit(X + 0.1, 1 - Y))
            tally.count("accepted" if again == after else "wrong", f"{name}: a fit after interrupts differs")


class _Lines:
    """Trace function that raises KeyboardInterrupt at the n-th line of the library."""

    def __init__(self, number: int):
        self.number = number
        self.seen = 0

    def __call__(self, frame: Any, event: str, argument: Any) -> Any:
        code = frame.f_code
        # Python drops errors of generators that it closes.
        if "priorsvm" not in code.co_filename or code.co_flags & inspect.CO_GENERATOR:
            return None
        if event == "line":
            self.seen += 1
            if self.seen == self.number:
                raise KeyboardInterrupt
        return self


def _traced(model: PriorSVC, lines: _Lines) -> PriorSVC:
    before = sys.gettrace()
    sys.settrace(lines)
    try:
        return model.fit(X + 0.1, 1 - Y)
    finally:
        sys.settrace(before)


def _interrupted(model: PriorSVC, line: int, seconds: float | None) -> None:
    """Fit with an interrupt at a line, or after some seconds by a signal."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    try:
        if seconds is None or not hasattr(signal, "setitimer"):
            _traced(model, _Lines(line))
            return
        before = signal.signal(signal.SIGALRM, stop)
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            model.fit(X + 0.1, 1 - Y)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)
    except KeyboardInterrupt:
        pass


def _state(model: PriorSVC) -> tuple[Any, ...]:
    """Return all that a fit decides."""
    scores = model.decision_function(X)
    labels = tuple(model.predict(X).tolist())
    return scores.tobytes(), labels, tuple(model.classes_.tolist()), model.intercept_.tobytes()
