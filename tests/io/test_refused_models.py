"""Values that cannot be saved are named, and types of the user are loaded if the user trusts them."""

import sys
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import priorsvm
from priorsvm import (
    RBF,
    ClassCosts,
    FromFunction,
    Kernel,
    Knowledge,
    OddnessHint,
    PriorSVC,
    Region,
    SampleCosts,
    Shift,
    Terms,
    UncertainSamples,
    UnlabeledSamples,
    VirtualSamples,
    load,
    save,
)
from priorsvm.errors import BadFile, InvalidInput, InvalidType

skops = pytest.importorskip("skops.io")

RNG = np.random.default_rng(7)
X = RNG.normal(size=(30, 2))
NEW = RNG.normal(size=(50, 2))
WORDS = np.where(X[:, 0] + 0.4 * RNG.normal(size=30) > 0, "ill", "well")
FRAME = pd.DataFrame(X, columns=["glucose", "bmi"])
STEP = Shift([0.2, 0.0])


def ring(Z):
    return np.hypot(Z[:, 0], Z[:, 1]) - 1


def moved(Z, theta):
    return Z + theta


class OwnBlock(Knowledge):
    def __init__(self, mu=1.0):
        self.mu = mu

    def build(self, f, view):
        return Terms()


class OwnKernel(Kernel):
    def _matrix(self, A, B):
        return A @ B.T


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (PriorSVC(Region(ring, X, "ill") + OddnessHint()), r"prior__region__g is a Python .*ring"),
        (PriorSVC(Region(np.negative, X, "ill", h=ring)), "prior__h is a Python function"),
        (
            PriorSVC(0.5 * VirtualSamples(FromFunction(moved, [0.1]) @ STEP)),
            "prior__virtual_samples__transform__from_function__function is a Python function",
        ),
        (PriorSVC(kernel=lambda A, B: A @ B.T), r"kernel is a Python function \(.*<lambda>\)"),
        (
            PriorSVC(kernel=RBF() + 0.5 * priorsvm.kernels.FromCallable(ring)),
            "kernel__.*function is a Python",
        ),
        (PriorSVC(UncertainSamples(ring)), "prior__covariance is a Python function"),
        (make_pipeline(FunctionTransformer(ring), PriorSVC()), "functiontransformer__func is a Python"),
        (PriorSVC(ClassCosts("balanced") + OwnBlock()), r"prior__own_block is .*trusted=\[OwnBlock\]"),
        (PriorSVC(kernel=2 * OwnKernel()), r"kernel__kernel is of the class .*OwnKernel"),
        (PriorSVC(UnlabeledSamples(FRAME, WORDS)), r"prior__X is a DataFrame.*\.to_numpy\(\)"),
        (PriorSVC(random_state=iter([])), "random_state cannot be saved: it is a list_iterator"),
        (PriorSVC(solver_options={None: 1}), "solver_options cannot be saved: it is a dict"),
        (PriorSVC(solver_options={False: 1}), "keys of the type builtins.bool, and only strings"),
        (PriorSVC(solver_options={("a", "b"): 1}), "solver_options cannot be saved: it is a dict"),
        (PriorSVC(solver_options={1: 1, "1": 2}), "two keys with the same text"),
        (3, "got int"),
        ([PriorSVC()], "got list"),
        (PriorSVC, "got type"),
    ],
)
def test_a_value_that_cannot_be_saved_is_named(model, message, file):
    with pytest.raises(InvalidType, match=message):
        save(model, file)
    assert list(file.parent.iterdir()) == []


def test_a_parameter_of_fit_is_named_too(file):
    model = PriorSVC(SampleCosts()).fit(X, WORDS, sample_costs__costs=pd.Series(np.ones(30)))
    with pytest.raises(InvalidType, match=r"sample_costs__costs is a Series"):
        save(model, file)


def test_a_fitted_region_with_a_function_is_refused_as_an_unfitted_one(file):
    model = PriorSVC(Region(ring, X[:6], "ill")).fit(X, WORDS)
    with pytest.raises(InvalidType, match="prior__g is a Python function"):
        save(model, file)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module with a block, a function and a state; its import leaves a file."""
    (tmp_path / "surgery.py").write_text(
        """
from dataclasses import dataclass
from pathlib import Path
import numpy as np
from priorsvm import Kernel, Knowledge, Terms, Verdict
Path(__file__).with_name("imported").touch()

def ring(Z):
    return np.hypot(Z[:, 0], Z[:, 1]) - 1

class Own(Knowledge):
    def __init__(self, mu=1.0):
        self.mu = mu
    def start(self, sample):
        return Seen(len(sample))
    def build(self, f, view):
        return Terms()
    def verify(self, f, view):
        return Verdict(True, worst=float(view.state.rows))

@dataclass
class Seen:
    rows: int
"""
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("surgery")
    sys.modules.pop("surgery", None)


def test_blocks_of_the_user_are_loaded_if_they_are_trusted(module, file):
    model = PriorSVC(module.Own(3.0) + ClassCosts({"ill": 2})).fit(X, WORDS)
    with pytest.raises(InvalidType, match=r"prior__own is of the class surgery\.Own"):
        save(model, file)
    with pytest.raises(InvalidType, match=r"contains surgery\.Seen"):
        save(model, file, trusted=[module.Own])
    mine = [module.Own, "surgery.Seen"]
    save(model, file, trusted=mine)
    with pytest.raises(BadFile, match=r"model\.skops was refused.*surgery\.Own.*surgery\.Seen"):
        load(file)
    loaded = load(file, trusted=mine)
    assert loaded.get_params()["prior__own__mu"] == 3.0
    assert loaded.verify()["own"].worst == 30
    assert np.array_equal(loaded.decision_function(NEW), model.decision_function(NEW))


def test_a_function_of_a_module_is_loaded_if_it_is_trusted(module, file):
    model = PriorSVC(Region(module.ring, X[:6], "ill")).fit(X, WORDS)
    with pytest.raises(InvalidType, match=r"Name it: save\(\.\.\., trusted=\['surgery\.ring'\]\)"):
        save(model, file)
    save(model, file, trusted=["surgery.ring"])
    with pytest.raises(BadFile, match=r"surgery\.ring"):
        load(file)
    for trusted in ([module.ring], "surgery.ring"):
        loaded = load(file, trusted=trusted)
        assert np.array_equal(loaded.decision_function(NEW), model.decision_function(NEW))
        assert str(loaded.verify()) == str(model.verify())


def test_nothing_is_imported_before_it_is_trusted(module, file):
    save(PriorSVC(module.Own()), file, trusted=module.Own)
    mark = file.with_name("imported")
    mark.unlink()
    del sys.modules["surgery"]
    with pytest.raises(BadFile, match=r"surgery\.Own"):
        load(file)
    assert not mark.exists()
    assert "surgery" not in sys.modules
    load(file, trusted=["surgery.Own"])
    assert mark.exists()


def test_a_trusted_type_has_a_name_in_a_module(file):
    class Inner(OwnBlock):
        pass

    for nameless in (Inner, lambda A, B: A @ B.T):
        with pytest.raises(InvalidInput, match=r"(Inner|<lambda>) cannot be found again by its name"):
            save(PriorSVC(Inner()), file, trusted=[nameless])
    with pytest.raises(InvalidType, match="trusted must contain classes, functions, or full names"):
        load(file, trusted=[3])


@pytest.mark.parametrize("trusted", [None, 3, 1.5])
def test_trusted_must_be_a_list(trusted, saved):
    for call in (lambda: load(saved, trusted=trusted), lambda: save(PriorSVC(), saved, trusted=trusted)):
        with pytest.raises(InvalidType, match=rf"trusted must be a list of classes.*got {trusted!r}"):
            call()
