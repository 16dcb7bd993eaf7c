"""A fit that fails, or that is interrupted at any point, leaves the model as it was."""

import inspect
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError

import priorsvm
from priorsvm import Box, FromFunction, OddnessHint, PriorSVC, VirtualSamples
from priorsvm.errors import Infeasible, InvalidInput

# The folder of a clone may have the name of the package, so only files of the package count.
LIBRARY = str(Path(priorsvm.__file__).parent)
X, Y = make_moons(40, noise=0.2, random_state=0)
CONFLICT = Box({0: (0, 1)}, 1, hard=True).named("one") + Box({0: (0, 1)}, 0, hard=True).named("two")


def test_a_conflict_with_further_columns_keeps_the_first_fit():
    model = PriorSVC(kernel="rbf").fit(X, Y)
    before = model.decision_function(X)
    frame = pd.DataFrame(np.column_stack([X, X[:, 0]]), columns=["a", "b", "c"])
    with pytest.raises(Infeasible):
        model.set_params(prior=CONFLICT).fit(frame, Y)
    assert model.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert model.prior is CONFLICT


@pytest.mark.parametrize("labels", [1 - Y, np.where(Y == 1, "a", "b")])
def test_other_classes_are_not_mixed_with_the_first_fit(labels):
    model = PriorSVC().fit(X, Y)
    before = model.predict(X)
    with pytest.raises(InvalidInput):
        model.set_params(prior=Box({0: (0, 1)}, "unknown", hard=True)).fit(X, labels)
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("point", ["limited_task", "with_weights", "train", "PriorSVC._store"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_interrupts_at_every_step(monkeypatch, point, error):
    import priorsvm.estimator as module

    model = PriorSVC(kernel="rbf").fit(X, Y)
    before = model.decision_function(X)
    owner = module
    for name in point.split(".")[:-1]:
        owner = getattr(owner, name)
    name = point.split(".")[-1]
    original = getattr(owner, name)

    def interrupted(*arguments, **more):
        original(*arguments, **more)
        raise error

    monkeypatch.setattr(owner, name, interrupted)
    with pytest.raises(error):
        model.fit(-X, 1 - Y)
    np.testing.assert_array_equal(model.decision_function(X), before)
    fresh = clone(model)
    with pytest.raises(error):
        fresh.fit(X, Y)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


class Interrupts:
    """Profile function that raises KeyboardInterrupt at the n-th call of a function of the library."""

    def __init__(self, number):
        self.left = number

    def __call__(self, frame, event, argument):
        code = frame.f_code
        if code.co_flags & inspect.CO_GENERATOR:  # Python drops errors of generators that it closes
            return
        if event == "call" and code.co_filename.startswith(LIBRARY):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


def calls_of(function):
    """Return the number of calls of functions of the library."""
    counting = Interrupts(-1)
    sys.setprofile(counting)
    try:
        function()
    finally:
        sys.setprofile(None)
    return -1 - counting.left


PRIORS = {
    "plain": lambda: None,
    "hint": lambda: OddnessHint(),
    "cuts": lambda: Box({0: (2, 3)}, 1, hard=True),
    "auto": lambda: Box({0: (1, 3)}, 1),
    "copies": lambda: VirtualSamples(FromFunction(lambda X, theta: X + theta, [[0.0], [0.1]])),
}


@pytest.mark.filterwarnings("ignore::priorsvm.errors.PriorSVMWarning")
@pytest.mark.parametrize(
    "name",
    ["plain", "hint", "copies", *(pytest.param(name, marks=pytest.mark.slow) for name in ("cuts", "auto"))],
)
def test_interrupts_at_many_calls_of_the_library(name):
    prior = PRIORS[name]()
    total = calls_of(lambda: PriorSVC(prior, kernel="rbf").fit(X + 0.1, 1 - Y))
    model = PriorSVC(prior, kernel="rbf").fit(X, Y)
    before = model.decision_function(X)
    for number in np.linspace(1, 0.9 * total, 25).astype(int):
        sys.setprofile(Interrupts(int(number)))
        with pytest.raises(KeyboardInterrupt):
            model.fit(X + 0.1, 1 - Y)
        sys.setprofile(None)
        np.testing.assert_array_equal(model.decision_function(X), before)


class InterruptsAtLine:
    """Trace function that raises KeyboardInterrupt at one line of the functions that store a fit."""

    NAMES = ("fit", "_store", "unchanged_on_failure", "refusing_beyond_memory")

    def __init__(self, number):
        self.left = number

    def __call__(self, frame, event, argument):
        code = frame.f_code
        if code.co_name not in self.NAMES or not code.co_filename.startswith(LIBRARY):
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def state(model):
    """Return what a fit decides, or None for a model that is not fitted."""
    if not hasattr(model, "classes_"):
        return None
    labels = ",".join(map(str, model.predict(X)))
    return labels, model.decision_function(X).tobytes(), model.n_features_in_, model.intercept_.tobytes()


@pytest.mark.parametrize("prior", [None, CONFLICT], ids=["a fit", "a fit that fails"])
@pytest.mark.parametrize("first", [True, False], ids=["fitted", "unfitted"])
def test_an_interrupt_at_any_line_leaves_one_whole_fit(prior, first):
    labels = 1 - Y

    def made():
        model = PriorSVC(kernel="rbf")
        return (model.fit(X, Y) if first else model).set_params(prior=prior)

    before = state(made())
    after = None if prior is CONFLICT else state(made().fit(X + 0.1, labels))
    interrupted = 0
    for number in range(1, 60):
        model = made()
        before_tracing = sys.gettrace()
        sys.settrace(InterruptsAtLine(number))
        try:
            model.fit(X + 0.1, labels)
        except KeyboardInterrupt:
            interrupted += 1
        except Infeasible:
            break
        else:
            break
        finally:
            sys.settrace(before_tracing)  # a debugger or coverage may trace, too
        assert model.prior is prior
        assert state(model) in (before, after)
    assert interrupted >= 10
