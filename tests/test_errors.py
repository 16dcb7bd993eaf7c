"""Names that are similar to a wrong name, and pages that explain errors."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from priorsvm import RBF, Box, Monotone, OddnessHint, PriorSVC, Rule, SampleCosts, errors
from priorsvm._utils.messages import closest, did_you_mean
from priorsvm.errors import InvalidInput, InvalidType, UnknownParameter

X = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 2)), columns=["alcohol", "proline"])
Y = np.array(["barolo", "barbera"])[np.arange(12) % 2]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("CLARABELL", "CLARABEL"),
        ("highs", "HIGHS"),
        ("Schurr", "SCHUR"),
        ("nothing like it", None),
        (3, None),
    ],
)
def test_the_most_similar_name_is_suggested(given, meant):
    assert closest(given, ["auto", "CLARABEL", "HIGHS", "SCHUR"]) == meant
    sentence = did_you_mean(given, ["auto", "CLARABEL", "HIGHS", "SCHUR"])
    assert sentence == ("" if meant is None else f" Did you mean '{meant}'?")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("CRP", "CRP (mg/l)"),
        ("age", "Âge (années)"),
        ("Stadium", "imputer__stadium"),
        ("mg", None),
        ("l", None),
        ("", None),
        ("(mg/l)", "CRP (mg/l)"),
    ],
)
def test_a_name_that_contains_the_given_name_as_a_word_is_suggested(given, meant):
    known = ["CRP (mg/l)", "Âge (années)", "stage", "imputer__stadium", "dose mg", "all l", "l 2"]
    assert closest(given, known[:4] if given == "(mg/l)" else known) == meant


def test_a_label_of_another_type_is_suggested():
    with pytest.raises(InvalidInput, match=r"label '1' is not among .*: 0, 1\. Did you mean 1\?$"):
        PriorSVC(Box({0: (0, 1)}, "1")).fit([[0.0], [1.0]], [0, 1])


def test_a_text_as_prior_is_answered_with_the_form_of_a_rule():
    with pytest.raises(InvalidType, match=r"got str\. Write a rule as Rule\(text, label\)\."):
        PriorSVC("x0 > 3").fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("row", [3, None, "", "x", object(), {1, 2}])
def test_explain_requires_a_row(row):
    model = PriorSVC().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InvalidType, match=r"explain requires a row: a Series such as X\.iloc\[0\]"):
        model.explain(row)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        (lambda: PriorSVC(solver="CLARABELL").fit(X, Y), "'CLARABEL'"),
        (lambda: PriorSVC(solver=["CLARABEL", "higs"]).fit(X, Y), "'HIGHS'"),
        (lambda: PriorSVC(kernel="rfb").fit(X, Y), "'rbf'"),
        (lambda: PriorSVC(Monotone({"alcool": 1})).fit(X, Y), "'alcohol'"),
        (lambda: PriorSVC(Box({"Proline": (0, 1)}, "barolo")).fit(X, Y), "'proline'"),
        (lambda: PriorSVC(Rule("alcohol >= 1", "barollo")).fit(X, Y), "'barolo'"),
        (lambda: PriorSVC(OddnessHint()).fit_path(X, Y, {"odness_hint__mu": [1]}), "'oddness_hint__mu'"),
        (lambda: PriorSVC(SampleCosts()).fit(X, Y, sample_cost__costs=np.ones(12)), "'sample_costs__costs'"),
        (lambda: (OddnessHint() + SampleCosts()).set_params(odness_hint__mu=1), "'oddness_hint'"),
    ],
)
def test_messages_about_names_suggest_a_name(wrong, meant):
    with pytest.raises((InvalidInput, UnknownParameter), match=f"Did you mean {meant}\\?"):
        wrong()


def test_a_column_of_a_rule_is_suggested_too():
    with pytest.raises(InvalidInput, match=r"did you mean alcohol\?"):
        PriorSVC(Rule("ALCOHL >= 1", "barolo")).fit(X, Y)


@pytest.mark.parametrize("name", [name for name, kind in vars(errors).items() if isinstance(kind, type)])
def test_every_error_and_warning_is_explained_on_its_page(name):
    page = (Path(__file__).parents[1] / "docs" / "guide" / "wrong.md").read_text()
    if name in ("PriorSVMError", "PriorSVMWarning"):
        assert f"derive from `{name}`" in page or f"warnings from `{name}`" in page
    else:
        assert f"\n| `{name}` |" in page


@pytest.mark.parametrize(
    ("kernel", "key", "told"),
    [
        ("rbf", "kernel__gamma", r"kernel='rbf' has no parameters.*'kernel__gamma'.*. Use kernel=RBF\(\)\.$"),
        ("poly", "kernel__degree", r"\. Use kernel=Polynomial\(\)\.$"),
        ("linear", "kernel__gamma", "Use a Kernel that has it"),
        (np.dot, "kernel__gamma", "Use a Kernel that has it"),
    ],
)
def test_a_kernel_given_as_a_str_has_no_parameters(kernel, key, told):
    with pytest.raises(InvalidInput, match=told):
        PriorSVC(kernel=kernel).set_params(**{key: 2})
    with pytest.raises(InvalidInput, match=told):
        PriorSVC(kernel=kernel).fit_path(X, Y, {key: [1, 2]})


def test_a_kernel_and_its_parameter_can_be_set_together():
    assert PriorSVC(kernel="rbf").set_params(kernel=RBF(), kernel__gamma=2.0).kernel.gamma == 2.0
