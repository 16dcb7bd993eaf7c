"""Traits: what a block may do besides build; a trait that is missing is an error at once."""

from types import SimpleNamespace

import numpy as np
import pytest

import priorsvm
from priorsvm import (
    Completes,
    Iterative,
    Knowledge,
    OnRowSlack,
    PriorSVC,
    Scores,
    Step,
    Terms,
)
from priorsvm.errors import InvalidInput, InvalidType
from priorsvm.knowledge.base import _REMOVED, _TRAITS
from priorsvm.knowledge.views import Solved

METHODS = {
    "refine": Iterative,
    "relax": Iterative,
    "row_duals": OnRowSlack,
    "predict": Scores,
    "complete": Completes,
}
WAYS = {
    "centres": r"f\(Z\) in build",
    "slopes": r"f\.slope\(Z, V\) in build",
    "requires": "in build.*MissingCapability",
    "settle": r"refine.*view\.settled",
    "multipliers": "row_duals.*OnRowSlack",
    "shares_slack": "OnRowSlack",
    "adds_rows": "prepares = 'adds'",
    "moves_rows": "prepares = 'moves'",
    "allow_nan": "Completes",
    "iterative": "Iterative",
    "machine_decides": r"f\.linear in build",
    "takes_sparse": "'sparse' to accepts",
    "takes_sets": "'sets' to accepts",
    "latex": r"formulas = Formulas\(latex=",
    "letters": r"formulas = Formulas\(.*letters=",
    "symbols": r"formulas = Formulas\(.*numbers=",
}


def method(self, *arguments):
    """Do nothing."""


def test_every_guard_is_tested():
    assert METHODS == _TRAITS
    assert WAYS.keys() == _REMOVED.keys()


@pytest.mark.parametrize("name", METHODS)
def test_a_forgotten_trait_is_an_error_when_the_class_is_written(name):
    trait = METHODS[name]
    with pytest.raises(TypeError) as caught:
        type("Own", (Knowledge,), {name: method})
    assert str(caught.value) == (
        f"Own defines {name} but does not derive from {trait.__name__}. "
        f"Write class Own({trait.__name__}, Knowledge)."
    )
    for bases in ((trait, Knowledge), (Knowledge, trait)):
        type("Own", bases, {name: method})


@pytest.mark.parametrize("name", METHODS)
def test_another_trait_does_not_stand_in(name):
    others = {trait for trait in METHODS.values() if trait is not METHODS[name]}
    for trait in others:
        with pytest.raises(TypeError, match=f"does not derive from {METHODS[name].__name__}"):
            type("Own", (trait, Knowledge), {name: method})


@pytest.mark.parametrize("name", METHODS)
def test_a_trait_of_a_base_class_counts(name):
    base = type("Base", (METHODS[name], Knowledge), {name: method})
    type("Own", (base,), {name: method})


def test_prepare_requires_prepares():
    with pytest.raises(
        TypeError, match=r"^Own defines prepare\. Set prepares to one of \('reweights', 'adds', 'moves'\)"
    ):
        type("Own", (Knowledge,), {"prepare": method})
    for what in ("reweights", "adds", "moves"):
        own = type("Own", (Knowledge,), {"prepare": method, "prepares": what})
        type("Further", (own,), {"prepare": method})


@pytest.mark.parametrize("name", _REMOVED)
@pytest.mark.parametrize("value", [None, True, {}, method], ids=["None", "True", "dict", "method"])
def test_names_of_earlier_versions_are_refused_with_the_new_way(name, value):
    message = rf"^Old defines {name}, which blocks no longer have\. .*{WAYS[name]}"
    with pytest.raises(TypeError, match=message):
        type("Old", (Knowledge,), {name: value})
    new = type("New", (Knowledge,), {"build": method})
    with pytest.raises(TypeError, match=message):
        type("Old", (new,), {name: value})


def test_all_faults_of_a_class_are_named_at_once():
    with pytest.raises(
        TypeError, match=r"defines centres.* defines latex.* defines refine but.* prepares of Old"
    ):
        type("Old", (Knowledge,), {"centres": None, "latex": {}, "refine": method, "prepares": "changes"})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("accepts", "sparse", r"accepts of Own must be a set of .*, got 'sparse'"),
        ("accepts", {"sparce"}, "accepts of Own must be a set of"),
        ("prepares", "changes", "prepares of Own must be one of"),
        ("row_params", "age", "row_params of Own must be a tuple of names, got 'age'"),
        ("only_rows", True, "only_rows, which the library derives"),
        ("may_forbid", True, "may_forbid, which the library derives"),
    ],
)
def test_wrong_declarations_are_errors_when_the_class_is_written(name, value, message):
    with pytest.raises(TypeError, match=message):
        type("Own", (Knowledge,), {name: value})


@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_a_mixin_requires_its_trait_too(name):
    mixin = type("Mixin", (), {name: method})
    with pytest.raises(TypeError, match=f"does not derive from {METHODS[name].__name__}"):
        type("Own", (mixin, Knowledge), {})
    type("Own", (mixin, METHODS[name], Knowledge), {})


def test_a_step_with_a_wrong_slack_is_named():
    class Wrong(Iterative, Knowledge):
        def build(self, f, view):
            return Terms()

        def refine(self, f, view):
            return Step(needed_slack=np.zeros(3))

    with pytest.raises(InvalidType, match=r"'wrong': needed_slack.*each of the 4 rows.*got shape \(3,\)"):
        PriorSVC(Wrong()).fit([[0.0], [1.0], [0.9], [2.0]], [0, 0, 1, 1])


def test_the_slack_of_the_rows_requires_its_trait():
    class Capped(Knowledge):
        def build(self, f, view):
            return Terms(constraints={"cap": view.slack <= 1.5})

    X, y = [[0.0], [1.0], [0.9], [2.0]], [0, 0, 1, 1]
    with pytest.raises(
        InvalidInput, match=r"'capped': build uses view.slack.*class Capped\(OnRowSlack, Knowledge\)"
    ):
        PriorSVC(Capped()).fit(X, y)


def test_missing_values_of_new_rows_require_a_block_that_scores():
    class Filled(Completes, Knowledge):
        def complete(self, X, labels, weight, names=None):
            return SimpleNamespace(X=np.nan_to_num(X))

    model = PriorSVC(Filled()).fit([[0.0], [np.nan], [0.9], [2.0]], [0, 0, 1, 1])
    with pytest.raises(InvalidInput, match="no block of the prior scores such rows"):
        model.predict([[np.nan]])


def test_verify_must_return_a_verdict():
    class Sure(Knowledge):
        def build(self, f, view):
            return Terms()

        def verify(self, f, view):
            return True

    model = PriorSVC(Sure()).fit([[0.0], [1.0], [0.9], [2.0]], [0, 0, 1, 1])
    with pytest.raises(InvalidType, match="'sure': verify must return a Verdict, got bool"):
        model.verify()


def test_no_block_of_the_library_has_a_removed_name():
    exported = (getattr(priorsvm, name) for name in priorsvm.__all__)
    blocks = [kind for kind in exported if isinstance(kind, type) and issubclass(kind, Knowledge)]
    assert len(blocks) > 20
    for block in blocks:
        assert not [name for name in _REMOVED if hasattr(block, name)], block


def test_defaults_of_the_traits():
    class Own(Iterative, OnRowSlack, Knowledge):
        def refine(self, f, view):
            return None

    block = Own()
    assert block.exact
    assert block.relax(3, None) is None
    np.testing.assert_array_equal(block.row_duals(Solved("own", None, rows=np.arange(3))), np.zeros(3))
    assert Knowledge.way_out_of_collapse is None
    assert "smaller" in Own.way_out_of_collapse


def test_a_block_may_relax_its_state(data):
    class Modest(Iterative, Knowledge):
        """f >= level and f <= 1 at one row; the level falls until both are possible."""

        def start(self, sample):
            return 4.0

        def build(self, f, view):
            value = f(view.sample.X_train[:1])
            return Terms(constraints={"above": value >= view.state, "below": value <= 1.0})

        def refine(self, f, view):
            return None

        def relax(self, state, sample):
            return state - 1.0 if state > 0 else None

    model = PriorSVC(Modest()).fit(*data)
    assert model.decision_function(data[0][:1])[0] == pytest.approx(1.0, abs=1e-5)
    assert model.n_rounds_ == 1


def test_a_settled_block_may_start_a_further_stage(data):
    class Stages(Iterative, Knowledge):
        """The first stage ends at level 2, the second stage at 5."""

        def start(self, sample):
            return 0

        def build(self, f, view):
            return Terms(constraints={"low": f(view.sample.X_train[:1]) >= -10.0 + view.state})

        def refine(self, f, view):
            last = 5 if view.settled or view.state > 2 else 2
            return Step(view.state + 1) if view.state < last else None

    model = PriorSVC(Stages()).fit(*data)
    assert model.n_rounds_ == 6
