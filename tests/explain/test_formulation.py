"""What formulation() says, read back: nothing of the problem is left out, and nothing is made up."""

from __future__ import annotations

import re
import warnings

import cvxpy as cp
import numpy as np
import pytest

import priorsvm
from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    Formulas,
    FromFunction,
    HaarIntegration,
    Knowledge,
    MonotonicityHint,
    PriorSVC,
    Region,
    Rule,
    SampleCosts,
    Terms,
)
from priorsvm.errors import InvalidInput, InvalidType, PriorSVMError
from priorsvm.explain.formulation import contains_symbol, formulation
from priorsvm.explain.plain_text import plain_text
from priorsvm.knowledge.regions.base import RegionKnowledge

compositions = pytest.importorskip("benchmarks.compositions")

TERM = re.compile(r"\\underbrace\{(.+)\}_\{J_\{(SVM|PK)\}(?:\{:\}\\;\\mathrm\{(.+)\})?\}(?: \\\\)?$")
ROW = re.compile(r"& \\underbrace\{(.+)\}_\{c_\{(SVM|PK)\}\{:\}\\;\\mathrm\{(.+),\\ (\d+)\\ rows?\}\} \\\\$")
BROKEN = re.compile(r"\\begin\{aligned\} & (.+) \\end\{aligned\}")


def read(latex):
    """(label -> LaTeX, label -> (LaTeX, rows)) out of the LaTeX alone."""
    terms, rows = {}, {}
    problem, _, found = latex.partition("\\text{with}")
    assert found
    for line in problem.splitlines()[1:]:
        if term := TERM.search(line):
            terms[(term[3] or "svm").replace(r"\_", "_")] = term[1]
            assert (term[2] == "SVM") == (term[3] is None)
        else:
            row = ROW.search(line)
            assert row, line
            label = row[3].replace(r"\_", "_")
            assert (row[2] == "SVM") == label.startswith("svm.")
            whole = BROKEN.sub(lambda m: m[1].replace(r", \\ & ", r",\; "), row[1])
            rows[label] = whole, int(row[4])
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


def names_of(found, compiled):
    terms, rows = read(str(found))
    assert list(rows) == list(in_problem(compiled))
    for label, count in in_problem(compiled).items():
        assert rows[label][1] == count
    assert {label: latex for label, (latex, _) in rows.items()} == {l: f for l, f, _ in found.constraints}
    expected = {f"{term.block}.{term.name}" for term in compiled.terms}
    expected |= {name for name in compiled.sample.shares if name != "svm"}
    silent = {name for name, latex in terms.items() if latex.startswith("0 \\text{ (no term")}
    assert set(terms) - silent == {"svm"} | expected
    assert not silent & {label.partition(".")[0] for label in (*expected, *rows)}
    named = {label.partition(".")[0] for label in [*terms, *rows]}
    assert {member.name for member in compiled.members} <= named
    plain_terms, plain_rows = read_text(found.text())
    assert plain_terms == ["SVM", *(label for label in terms if label != "svm")]
    assert plain_rows == {label: count for label, (_, count) in rows.items()}
    assert "\\" not in found.text().replace("\\n", "")
    return named


class Solved:
    """The parts of a binary model that a formulation uses."""

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
def test_the_problem_of_the_last_round_is_read_back(seed):
    model, X, y = compositions.composition(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.set_params(max_rounds=3).fit(X, y)
        except PriorSVMError:
            pytest.skip("this composition has no answer")
    names_of(model.formulation(), model._models[0].problem)


def test_braces_of_the_latex_are_balanced():
    for seed in range(20):
        text = str(formulation([Solved(compositions.problem(*compositions.composition(seed)))]))
        bare = re.sub(r"\\[{}]", "", text)
        depth = np.cumsum([{"{": 1, "}": -1}.get(letter, 0) for letter in bare])
        assert depth.min() >= 0
        assert depth[-1] == 0


# A letter, perhaps with an accent, and its index; or one with what it is a function of.
SYMBOL = re.compile(
    r"\\\|g\\\|(?:_H)?|\\Delta\([^()]*\)|\bt\(u\)|[gh]\(x_p\)|"
    r"(?:\\tilde\s?|\\bar\s?)?(?:\\[a-zA-Z]+|SV|[a-zA-Z])'?(?:\^\*)?(?:_(?:\{[^{}]*\}|\\[a-z]+|\w))?"
)
# What a reader of the first line knows, what stands for "for all", and operators.
KNOWN = {
    *("f", "C", "w", "c", "b", "x", "x_i", "x_j", "w_j", "x_{ij}", "k_{x_i}", "f_k", "f_{y_i}", "i", "j"),
    *(
        r"\sum",
        r"\max",
        r"\nabla",
        r"\partial",
        r"\top",
        r"\ge",
        r"\le",
        r"\in",
        r"\notin",
        r"\cdot",
        r"\tfrac",
    ),
    *(
        r"\frac",
        r"\big",
        r"\left",
        r"\right",
        r"\textstyle",
        r"\succeq",
        r"\theta",
        r"\begin",
        r"\end",
        r"\quad",
        r"\ne",
        r"\mathbf",
    ),
}


def symbols(latex):
    """The letters of a formula, without words and indices of sums."""
    latex = re.sub(r"\\(?:text|mathrm)\{[^{}]*\}|\{[pb]?matrix\}|\{aligned\}", " ", latex)
    latex = re.sub(r"\\sum_(?:\{[^{}]*\}|\w)(?:\^\{\d+\})?|\\max_x", " ", latex)
    return set(SYMBOL.findall(latex)) - KNOWN


def unexplained(formulas, letters):
    found = symbols(" ".join(f"{symbol} {meaning}" for symbol, meaning in letters))
    return {s for s in set().union(*map(symbols, formulas)) - found if not s.startswith(r"\partial")}


def test_the_search_for_symbols_finds_them():
    assert symbols(r"\sum_{i} (C_i - C)\, \xi_i^2") == {"C_i", r"\xi_i"}
    assert symbols(r"\sum_{v} C_v\, \tilde\xi_v") == {"C_v", r"\tilde\xi_v"}
    assert symbols(r"s_l f(v_p) - \eta_p \|g\|_H \ge 1 - \zeta_l") == {
        "s_l", "v_p", r"\eta_p", r"\|g\|_H", r"\zeta_l",
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_every_symbol_is_explained(seed):
    found = formulation([Solved(compositions.problem(*compositions.composition(seed)))])
    formulas = [latex for _, latex in found.objective] + [latex for _, latex, _ in found.constraints]
    for symbol, _ in found.values[1:]:
        assert symbol in str(found)
        formulas = [formula.replace(symbol, " ") for formula in formulas]
    given = {symbol.partition("_{")[0] for symbol, _ in found.values[1:]}
    assert unexplained(formulas, found.letters) - given == set()
    stale = [
        s for s, _ in found.letters if not any(s in f for _, f, *_ in [*found.objective, *found.constraints])
    ]
    assert stale == []


BLOCKS = [
    kind
    for kind in (getattr(priorsvm, name) for name in priorsvm.__all__)
    if isinstance(kind, type) and issubclass(kind, Knowledge)
]


def written(kind):
    """Return all formulas of a kind of block, and its letters."""
    if kind is Region:
        both = (True, False)
        blocks = [
            Region(None, 9, 1, hard=hard, method=m, holds="everywhere")
            for hard in both
            for m in ("cuts", "points")
        ]
        return [f for block in blocks for f in block.formulas.latex.values()], kind.letters_of_regions
    if issubclass(kind, RegionKnowledge):
        return kind.templates.values(), kind.letters_of_regions
    return kind.formulas.latex.values(), kind.formulas.letters


@pytest.mark.parametrize("kind", BLOCKS)
def test_every_block_explains_the_symbols_of_all_its_formulas(kind):
    formulas, letters = written(kind)
    formulas = [formula.replace("<z>", r" - \zeta_l").replace("<p>", "^2") for formula in formulas]
    known = {r"y_i": "", r"\rho_i": "", r"\xi_i": "", **letters}
    missing = unexplained(formulas, known.items())
    assert not missing, f"Add {', '.join(sorted(missing))} to the letters of the formulas of {kind.__name__}."
    unused = [s for s in letters if not any(contains_symbol(s, formula) for formula in formulas)]
    assert not unused or issubclass(kind, RegionKnowledge), f"No formula of {kind.__name__} has {unused}."


def test_a_symbol_with_two_meanings_is_explained_for_each_block():
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]), [0, 0, 1, 1]
    box = Box({0: (1.5, 2.5)}, label=1, holds="everywhere").named("a_box")
    found = PriorSVC(box + Region(lambda P: P[:, 0] - 1, X, label=0)).fit(X, y).formulation()
    assert [meaning for symbol, meaning in found.letters if symbol == "v"] == [
        r"\text{variables, upper bounds of the absolute weights}\text{ (}\mathrm{a\_box}\text{)}",
        r"\text{variables, which relax the requirement outside the region}\text{ (}\mathrm{region}\text{)}",
    ]
    costs = ClassCosts({1: 2.0}) + SampleCosts([1.0, 1.0, 2.0, 2.0])
    found = PriorSVC(costs).fit(X, y).formulation()
    assert [symbol for symbol, _ in found.letters].count("C_i") == 1


@pytest.mark.parametrize(
    ("labels", "found"), [("ab", "+1 for 'b' and -1 for 'a'"), ("abc", "and -1 for all other classes")]
)
def test_the_positive_class_is_named(labels, found):
    X = np.random.default_rng(0).normal(size=(12, 2))
    text = PriorSVC().fit(X, np.array(list(labels * 6))[:12]).formulation().text()
    assert any(
        line.startswith("where yᵢ: the class of row i, +1 for") and found in line
        for line in text.splitlines()
    )


@pytest.mark.slow
def test_lines_are_not_too_long_for_a_page():
    turns = FromFunction(np.add, thetas=list(range(9)))
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]), [0, 0, 1, 1]
    prior = sum([Rule("x0 >= 3", label=1, holds="everywhere").named(f"rule_number_{k}") for k in range(9)])
    found = PriorSVC(prior, kernel=HaarIntegration(RBF(0.5), turns), max_rounds=1).fit(X, y).formulation()
    for line in str(found).splitlines()[1:-1]:
        for part in line.split(r"\\ &"):
            assert len(plain_text(re.sub(r"\\underbrace|_\{[cJ]_.*$", "", part))) <= 90, line


def test_scale_and_few_centres_are_in_the_definition_of_f():
    X, y = np.random.default_rng(0).normal(size=(12, 2)), np.arange(12) % 2
    assert "x scaled column by column" in PriorSVC(scale="standard").fit(X, y).formulation().text()
    few = PriorSVC(kernel="rbf", n_centres=3).fit(X, y).formulation()
    assert r"\varphi(x)^\top \varphi(z) \approx k(x, z)" in str(few)
    one = PriorSVC(kernel="rbf", norm="l1").fit(X, y).formulation()
    assert r"\varphi_j(x) = k(x, x_j)" in str(one)


class Own(Knowledge):
    """Block with a constraint of every type, and formulas as parameters."""

    def __init__(self, given=None, mu=1.0):
        self.given = given
        self.mu = mu

    @property
    def formulas(self):
        return self.given

    def build(self, f, view):
        M = cp.Variable((2, 2), symmetric=True)
        return Terms(
            {"mu": cp.sum_squares(f.coef)},
            {
                "same": f.coef[0] == f.coef[1],
                "round": cp.SOC(f.bias + 10, f.coef),
                "matrix": M >> 0,
                "below": f.coef <= 5,
                "power": cp.PowCone3D(f.bias + 10, f.bias + 10, f.coef[0], 0.5),
            },
        )


def of_own(**arguments):
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]), [0, 0, 1, 1]
    return PriorSVC(Own(Formulas(**arguments))).fit(X, y).formulation()


def test_a_constraint_without_a_formula_is_described_by_its_type():
    found = {label: plain_text(latex) for label, latex, _ in of_own().constraints}
    assert found["own.same"] == "c_own.same(f) = 0"
    assert found["own.below"] == "c_own.below(f) ≤ 0"
    assert found["own.round"] == "c_own.round(f) in a second-order cone"
    assert found["own.matrix"] == "c_own.matrix(f) ⪰ 0"
    assert found["own.power"] == "c_own.power(f) in a cone"


def test_a_formula_without_a_term_is_refused_if_a_term_has_no_formula():
    with pytest.raises(
        InvalidInput, match=r"'own': latex has a formula for 'samee', which is not a term"
    ) as caught:
        of_own(latex={"mu": "w^2", "samee": "w_1 = w_2"})
    assert "The terms are 'mu', 'same', 'round', 'matrix', 'below', 'power'." in str(caught.value)
    whole = dict.fromkeys(("mu", "same", "round", "matrix", "below", "power", "other_models"), "w")
    assert len(of_own(latex=whole).constraints) == 6
    assert of_own(latex={"same": "w_1 = w_2"}).constraints[1][1] == "w_1 = w_2"


@pytest.mark.parametrize("given", [None, ["w"], {"mu": None}, {1: "w"}])
@pytest.mark.parametrize("attribute", ["latex", "letters"])
def test_formulas_of_another_type_are_refused(attribute, given):
    with pytest.raises(InvalidType, match=f"block 'own': {attribute} must be a dict of"):
        of_own(**{attribute: given})


@pytest.mark.parametrize("given", [None, {"mu": "w"}, "w"])
def test_formulas_are_an_object_of_their_own(given):
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]), [0, 0, 1, 1]
    model = PriorSVC(Own(given)).fit(X, y)
    with pytest.raises(InvalidType, match=r"block 'own': formulas must be Formulas\(latex="):
        model.formulation()


def test_symbols_of_a_block_are_explained_if_they_are_used():
    found = of_own(latex={"mu": r"\|w\|^2 + z_p"}, letters={"z_p": r"\text{the slack of point } p", "q": "1"})
    assert found.letters[-1] == ("z_p", r"\text{the slack of point } p")
    assert "\n      zₚ: the slack of point p\nblocks own: " in found.text()


def numbered(letter):
    """Return a block whose formula has a letter with a number."""

    class Numbered(Knowledge):
        formulas = Formulas(
            latex={"level": rf"f(z) \le {letter} + {letter}_2 \text{{ if {letter} }}"},
            letters={letter: rf"\text{{the level, }} {letter} > 0"},
            numbers={letter: "value"},
        )

        def __init__(self, value):
            self.value = value

        def build(self, f, view):
            return Terms(constraints={"level": f([[0.0, 0.0]]) <= self.value})

    return Numbered


def test_a_number_has_the_letter_of_the_formula():
    X, y = [[0.0, 1.0], [1.0, 0.0]], [0, 1]
    found = PriorSVC(numbered("v")(3.0)).fit(X, y).formulation()
    assert ("v", 3.0) in found.values
    assert ("numbered.level", r"f(z) \le v + v_2 \text{ if v }", 1) in found.constraints
    assert ("v", r"\text{the level, } v > 0") in found.letters


def test_a_letter_of_two_blocks_has_their_names_in_the_formulas_too():
    X, y = [[0.0, 1.0], [1.0, 0.0]], [0, 1]
    prior = numbered("v")(3.0).named("high") + numbered("v")(4.0).named("higher")
    found = PriorSVC(prior).fit(X, y).formulation()
    for name, value in (("high", 3.0), ("higher", 4.0)):
        symbol = rf"v_{{\mathrm{{{name}}}}}"
        assert (symbol, value) in found.values
        assert (f"{name}.level", rf"f(z) \le {symbol} + v_2 \text{{ if v }}", 1) in found.constraints
        assert (symbol, rf"\text{{the level, }} {symbol} > 0") in found.letters
    assert "v" not in dict(found.values)


@pytest.mark.parametrize("letter", ["C", r"\rho_i"])
def test_a_letter_of_the_model_has_the_name_of_the_block(letter):
    X, y = [[0.0, 1.0], [1.0, 0.0]], [0, 1]
    found = PriorSVC(numbered(letter)(3.0), C=7.0).fit(X, y).formulation()
    assert dict(found.values)["C"] == 7.0
    assert dict(found.values)[rf"{letter}_{{\mathrm{{numbered}}}}"] == 3.0


def test_the_kernel_and_the_numbers_are_shown():
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]), [0, 0, 1, 1]
    found = PriorSVC(ClassCosts({1: 2.0}), kernel=RBF(gamma=0.25), C=3.0).fit(X, y).formulation()
    assert r"k = \mathrm{RBF(gamma=0.25)}" in str(found)
    lines = found.text().splitlines()
    assert "with  f(x) = c' φ(x) + b, φ(x)' φ(z) = k(x, z), k = RBF(gamma=0.25), C = 3" in lines
    assert lines[-2] == "      Cᵢ: C times the cost of row i"
    assert lines[-1] == "blocks class_costs: errors cost 1 C on class 0 and 2 C on class 1"
    assert repr(found) == found.text()


def test_names_with_underscores_stay_names():
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]), [0, 0, 1, 1]
    prior = Rule("x0 >= 3", label=1, columns=["x0", "x1"], holds="everywhere").named(
        "a_rule"
    ) + MonotonicityHint({0: 1})
    found = PriorSVC(prior, C=3.0).fit(X, y).formulation()
    assert r"J_{PK}{:}\;\mathrm{a\_rule.mu}" in str(found)
    assert "J_PK: a_rule.mu" in found.text()


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
        (r"\sum_l \mathbf{1}^\top z_l", "Σₗ 1' zₗ"),
        (r"\unknown{x} + 1", "unknownx + 1"),
    ],
)
def test_latex_in_plain_text(latex, text):
    assert plain_text(latex) == text


def test_numbers_of_a_kernel_are_rounded():
    X = np.random.default_rng(0).normal(size=(20, 3))
    text = str(PriorSVC(kernel="rbf").fit(X, X[:, 0] > 0).formulation())
    gamma = re.search(r"gamma=([0-9.e-]+)", text)[1]
    assert len(gamma) <= 8
    assert float(gamma) == pytest.approx(1 / (3 * X.var()), rel=1e-5)
