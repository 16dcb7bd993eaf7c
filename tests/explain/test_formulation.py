"""What formulation() says, read back: nothing of the problem is left out, and nothing is made up."""

from __future__ import annotations

import re
import warnings

import cvxpy as cp
import numpy as np
import pytest

from priorsvm import RBF, ClassCosts, MonotonicityHint, PriorSVC, Rule
from priorsvm.errors import PriorSVMError
from priorsvm.explain.formulation import formulation
from priorsvm.explain.plain import plain

compositions = pytest.importorskip("benchmarks.compositions")

TERM = re.compile(r"\\underbrace\{(.+)\}_\{J_\{(SVM|PK)\}(?:\{:\}\\;\\mathrm\{(.+)\})?\}(?: \\\\)?$")
ROW = re.compile(r"& (.+) && c_\{(SVM|PK)\}\{:\}\\;\\mathrm\{(.+),\\ (\d+)\\ rows?\} \\\\$")


def read(latex):
    """(label -> LaTeX, label -> (LaTeX, rows)) out of the LaTeX alone."""
    terms, rows = {}, {}
    for line in latex.splitlines()[1:-2]:
        if term := TERM.search(line):
            terms[(term[3] or "svm").replace(r"\_", "_")] = term[1]
            assert (term[2] == "SVM") == (term[3] is None)
        else:
            row = ROW.search(line)
            assert row, line
            label = row[3].replace(r"\_", "_")
            assert (row[2] == "SVM") == label.startswith("svm.")
            rows[label] = row[1], int(row[4])
    return terms, rows


def read_text(text):
    """The same marks out of the plain text."""
    terms = re.findall(r"   J_(?:PK: )?(\S+)$", text, re.MULTILINE)
    rows = re.findall(r"   c_(?:SVM|PK): (\S+), (\d+) rows?$", text, re.MULTILINE)
    return terms, {label: int(count) for label, count in rows}


def in_problem(compiled):
    """label -> number of scalar rows, cones or matrices, from CVXPY."""
    return {c.label: count(c) for c in compiled.problem.constraints if not c.label.startswith("f.")}


def count(constraint):
    if isinstance(constraint, cp.SOC):
        return constraint.args[0].size  # the heights
    if isinstance(constraint, cp.constraints.PSD):
        shape = constraint.args[0].shape
        return shape[0] if len(shape) == 3 else shape[0] * shape[1]
    return constraint.size


def names_of(told, compiled):
    terms, rows = read(str(told))
    assert list(rows) == list(in_problem(compiled))
    for label, count in in_problem(compiled).items():
        assert rows[label][1] == count
    expected = {f"{term.block}.{term.name}" for term in compiled.terms}
    expected |= {name for name in compiled.sample.shares if name != "svm"}
    silent = {name for name, latex in terms.items() if latex.startswith("0 \\text{ (it asks")}
    assert set(terms) - silent == {"svm"} | expected
    assert not silent & {label.partition(".")[0] for label in (*expected, *rows)}
    named = {label.partition(".")[0] for label in [*terms, *rows]}
    assert {member.name for member in compiled.members} <= named
    plain_terms, plain_rows = read_text(told.text())
    assert plain_terms == ["SVM", *(label for label in terms if label != "svm")]
    assert plain_rows == {label: count for label, (_, count) in rows.items()}
    assert "\\" not in told.text().replace("\\n", "")
    return named


class Solved:
    """As much of a machine as a formulation looks at."""

    def __init__(self, compiled):
        self.spec, self.problem, self.training = compiled.spec, compiled, compiled.sample


@pytest.mark.parametrize(
    "seed", [*range(30), *(pytest.param(s, marks=pytest.mark.slow) for s in range(30, 150))]
)
def test_every_block_and_constraint_of_a_random_composition_is_read_back(seed):
    compiled = compositions.problem(*compositions.composition(seed))
    names_of(formulation([Solved(compiled)]), compiled)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1040))
def test_and_of_the_problem_of_the_last_round(seed):
    model, X, y = compositions.composition(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.set_params(max_rounds=3).fit(X, y)
        except PriorSVMError:
            pytest.skip("this composition has no answer")
    names_of(model.formulation(), model._machines[0].problem)


def test_braces_of_the_latex_are_balanced():
    for seed in range(20):
        text = str(formulation([Solved(compositions.problem(*compositions.composition(seed)))]))
        bare = re.sub(r"\\[{}]", "", text)
        depth = np.cumsum([{"{": 1, "}": -1}.get(letter, 0) for letter in bare])
        assert depth.min() >= 0
        assert depth[-1] == 0


def test_the_kernel_and_the_numbers_are_told():
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]), [0, 0, 1, 1]
    told = PriorSVC(ClassCosts({1: 2.0}), kernel=RBF(gamma=0.25), C=3.0).fit(X, y).formulation()
    assert r"k = \mathrm{RBF(gamma=0.25)}" in str(told)
    assert told.text().splitlines()[-1] == "with  f(x) = c' φ(x) + b, k = RBF(gamma=0.25), C = 3"
    assert repr(told) == told.text()


def test_words_with_special_letters_stay_words():
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]), [0, 0, 1, 1]
    prior = Rule("x0 >= 3", label=1, columns=["x0", "x1"]).named("a_rule") + MonotonicityHint({0: 1})
    told = PriorSVC(prior, C=3.0).fit(X, y).formulation()
    assert r"J_{PK}{:}\;\mathrm{a\_rule.mu}" in str(told)
    assert "J_PK: a_rule.mu" in told.text()


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (
            r"\frac{1}{M} \sum_{i,\theta} \big(f(T_\theta x_i) - f(x_i)\big)^2",
            "1/M Σ_{i,θ} (f(T_θ xᵢ) - f(xᵢ))²",
        ),
        (r"\sum_{v} C_v\, \tilde\xi_v^2", "Σᵥ Cᵥ ξ̃ᵥ²"),
        (r"\|A_i^\top \nabla f(x_i)\| \le t_i", "‖Aᵢ' ∇f(xᵢ)‖ ≤ tᵢ"),
        (r"\mu_{\text{a\_b}}\, t", "μ_a_b t"),
        (r"x \in \{1, 2\}", "x ∈ {1, 2}"),
        (r"\frac{a + b}{2}", "(a + b)/2"),
        (r"\frac{\frac{a}{b}}{c}", "(a/b)/c"),
        (r"\text{a \{ b}", "a { b"),
        (r"\mathrm{a\_b\ c}", "a_b c"),
        (r"\unknown{x} + 1", "unknownx + 1"),
    ],
)
def test_latex_in_plain_letters(latex, text):
    assert plain(latex) == text
