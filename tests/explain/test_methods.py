"""methods_text() and the words of formulation(): every block, its numbers, and works that exist."""

import re
from pathlib import Path

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import priorsvm
from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    Ellipsoid,
    FeatureDeletion,
    InvarianceHint,
    InvariantLoss,
    Knowledge,
    MissingValues,
    Monotone,
    MonotonicityHint,
    OddnessHint,
    Polyhedron,
    Polynomial,
    PriorSVC,
    Reflection,
    Region,
    RowPermutations,
    Rule,
    SampleCosts,
    Shift,
    TangentPenalty,
    Terms,
    Trajectories,
    Transductive,
    UncertainSamples,
    UnlabeledSamples,
    VirtualSamples,
    VirtualSupportVectors,
)
from priorsvm.errors import NotFitted
from priorsvm.explain.methods import ON_ROWS, REFERENCES
from priorsvm.explain.words import CLAUSES, in_words
from priorsvm.solve.registry import registry

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

BIB = Path(__file__).parents[2] / "docs/references.bib"


def keys_of_bib():
    return set(re.findall(r"^@\w+\{(\w+),", BIB.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 2)) + np.repeat([[0.0], [2.0]], 15, axis=0), columns=["age", "bmi"])
    return X, np.repeat(["well", "ill"], 15)


def outside(X):
    return X[:, 0] - 5.0


SHIFT = Shift([0.0, 0.3])

# Block -> a part of its clause.
BLOCKS = [
    (Rule("age >= 1 and bmi >= 2", label="ill", mu=2.0), "where age >= 1 and bmi >= 2, the class is 'ill'"),
    (Rule("age >= 1", label="ill", mu=2.0), "soft, at rows as they occur; weight mu = 2 rows"),
    (Rule("age >= 1", label="ill", hard=True), "hard, at all points of the region"),
    (
        Box({"age": (1, 3), "bmi": (None, 4)}, label="ill"),
        "where 1 <= age <= 3 and bmi <= 4, the class is 'ill'",
    ),
    (Box({"age": (1, 1)}, label="ill", mu=1.0, holds="everywhere"), "where age = 1, the class is 'ill'"),
    (
        Polyhedron([[1.0, -2.0], [-1.0, 0.5]], [3.0, 4.0], label="well", mu=1.0),
        "age - 2 bmi <= 3 and age - 0.5 bmi >= -4",
    ),
    (Ellipsoid([1.0, 2.0], np.diag([0.5, 0.25]), label="ill", mu=1.0), "age = 1 ± 0.5 and bmi = 2 ± 0.25"),
    (Region(outside, 20, label="ill", mu=1.0), "where g(x) <= 0 for every g of outside, the class is 'ill'"),
    (
        Monotone({"age": 1, "bmi": -1}, label="ill", hard=True),
        "the score of 'ill' rises with age and falls with bmi",
    ),
    (Monotone({"age": 1}), "the score of 'well' rises with age"),
    (ClassCosts({"ill": 5}), "errors cost 5 C on class 'ill' and 1 C on class 'well'"),
    (
        ClassCosts("balanced"),
        "errors cost 1 C on class 'ill' and 1 C on class 'well', by the rule 'balanced'",
    ),
    (SampleCosts(np.linspace(0.5, 1, 30)), "each training row has its own costs from 0.5 to 1"),
    (
        UnlabeledSamples([[3.0, 3.0]], ["ill"], costs=0.5),
        "1 further row has an assumed label, with cost 0.5 times C",
    ),
    (Transductive([[3.0, 3.0], [0.0, 0.0]]), "2 unlabelled rows get the labels"),
    (VirtualSamples(SHIFT), "copies of all training rows keep their class, for Shift("),
    (VirtualSamples(SHIFT @ Shift([0.1, 0.0])), "3 transformations after Shift("),
    (VirtualSamples(SHIFT | Shift([0.1, 0.0])), "3 transformations or Shift("),
    (VirtualSupportVectors(SHIFT), "with parameters in [-1, 1], 3 transformations"),
    (RowPermutations((2, 1)), "the order of the rows of a 2 x 1 matrix carries no information"),
    (
        InvarianceHint(Reflection(axis=1, shape=(1, 2)), mu=3.0),
        "equals the score of its transformed copies, for Reflection(",
    ),
    (OddnessHint(hard=True), "the score of -x is minus the score of x (block oddness_hint; hard)"),
    (
        MonotonicityHint({"age": -1}, pairs=7),
        "the score of 'well' falls with age, at 7 drawn pairs of points",
    ),
    (TangentPenalty(SHIFT, gamma=0.5), "constant along the tangents of Shift("),
    (UncertainSamples({"age": 0.1}), "each row keeps its margin with confidence 0.9, for Gaussian errors"),
    (UncertainSamples({"age": 0.1}, distribution="any"), "any distribution with these moments"),
    (MissingValues(confidence=0.7), "each row with missing entries keeps its margin with confidence 0.7"),
    (Trajectories(SHIFT, degree=1), "every row keeps its margin along the trajectory of Shift("),
    (InvariantLoss(FeatureDeletion(1)), "the worst over its transformed copies, for FeatureDeletion(k=1)"),
]


@pytest.mark.parametrize(
    ("block", "words"), BLOCKS, ids=[f"{i} {type(b).__name__}" for i, (b, _) in enumerate(BLOCKS)]
)
def test_every_block_is_in_words(block, words, table):
    X, y = table
    model = PriorSVC(block, scale=None).fit(X, y)
    text = model.methods_text()
    assert words in text
    name = model._models[0].members[0].name
    assert f"(block {name}" in text
    assert "Prior knowledge entered the problem as one block: " in text
    assert set(re.findall(r"@(\w+)", text)) <= keys_of_bib()
    assert not re.search(r"\bnan\b|None|\.\.|  ", text)
    stated = dict(model.formulation().blocks)[name]
    assert in_words(model._models[0].members[0].block, model._models[0].training) in stated
    assert f"{name}: {stated}" in model.formulation().text()


def test_every_public_block_has_a_clause_and_works():
    public = [
        value for value in (getattr(priorsvm, name) for name in priorsvm.__all__) if isinstance(value, type)
    ]
    blocks = [kind for kind in public if issubclass(kind, Knowledge) and kind is not Knowledge]
    missing = set(blocks) - {type(block) for block, _ in BLOCKS}
    assert not missing, f"add an example of {missing} to BLOCKS of this file"
    for kind in blocks:
        name = kind.__name__
        assert any(issubclass(kind, known) for known in CLAUSES), f"add {name} to CLAUSES of explain/words.py"
        assert REFERENCES.get(name), f"add the papers of {name} to REFERENCES of explain/methods.py"
    cited = {key for keys in REFERENCES.values() for key in keys} | set(ON_ROWS)
    cited |= {route.paper for route in registry().values() if route.paper}
    missing = (cited | {"cortes1995", "lauer2008", "crammer2001", "diamond2016"}) - keys_of_bib()
    assert not missing, f"add entries of {', '.join(sorted(missing))} to docs/references.bib"


class Lasso(Knowledge):
    def __init__(self, mu=1.0):
        self.mu = mu

    def build(self, f, view):
        size = cp.Variable(f.coef.shape[0])
        return Terms({"mu": cp.sum(size)}, {"above": size >= f.coef, "below": size >= -f.coef})


class Named(Lasso):
    def words(self):
        return "few weights are needed"


def test_own_blocks(table):
    X, y = table
    text = PriorSVC(Lasso(3.0)).fit(X, y).methods_text()
    assert "the terms of the block Lasso are part of the problem (block lasso; weight mu = 3)." in text
    assert "few weights are needed (block named" in PriorSVC(Named()).fit(X, y).methods_text()
    assembly = PriorSVC().assemble(X, y)
    assembly.add(small=assembly.f([[0.0, 0.0]]) <= 2)
    assembly.solve()
    assert "the problem has constraint 'small' of its own" in assembly.classifier().methods_text()


def test_the_paragraph_on_the_model(table):
    X, y = table
    text = PriorSVC(kernel=RBF(0.5), C=2.5, scale="standard").fit(X, y).methods_text()
    assert text.startswith(
        "A support vector machine [@cortes1995] was trained on 30 rows with 2 columns (15 of class 'ill' and "
        "15 of class 'well'). The decision function used the kernel RBF with gamma = 0.5. Columns were "
        "scaled to mean 0 and standard deviation 1 inside the model. Training minimised half the squared "
        "2-norm of the decision function plus the hinge loss with C = 2.5. The problem was solved with "
    )
    assert "by LIBSVM [@chang2011]. Relative residuals of the optimality conditions" in text
    assert "Prior knowledge" not in text
    assert "with prior knowledge" not in text
    l1 = PriorSVC(norm="l1", loss="hinge", scale="minmax", solver="CLARABEL").fit(
        X, y, sample_weight=np.arange(1, 31)
    )
    text = l1.methods_text()
    assert "minimised the 1-norm of its coefficients" in text
    assert "linear in the columns. Columns were scaled to the range from 0 to 1" in text
    assert "by CLARABEL through CVXPY [@diamond2016]" in text
    further = PriorSVC(norm="l1", solver="SCIPY").fit(X, y).methods_text()
    assert "by SCIPY through CVXPY [@diamond2016]" in further
    assert "by its own solver NORMAL. " in PriorSVC(solver="NORMAL").fit(X, y).methods_text()
    assert "), with sample weights." in text
    squared = (
        PriorSVC(loss="squared_hinge", kernel="rbf", n_centres=5, preselect=True).fit(X, y).methods_text()
    )
    assert "squared hinge loss" in squared
    assert "approximated on 5 centres" in squared
    exact = PriorSVC(kernel="rbf", n_centres=10**12).fit(X, y).methods_text()
    assert "approximated" not in exact
    assert "on the support vectors of a first model" in squared
    worst = float(re.search(r"at most (\S+)\.$", text)[1])
    assert worst <= 1e-5


def test_outer_weights_and_several_blocks(table):
    X, y = table
    prior = (
        0.5 * Box({"age": (5, 6)}, label="ill", mu=2.0)
        + ClassCosts("brown")
        + Monotone({"age": 1}, label="ill")
    )
    text = PriorSVC(prior).fit(X, y).methods_text()
    assert "Prior knowledge entered the problem as 3 blocks: (1) where 5 <= age <= 6" in text
    assert "weight mu = 2 rows; outer weight 0.5) [@fung2002; @mangasarian2008]; (2) errors cost" in text
    assert "[@veropoulos1999; @brown2000]; (3) the score of 'ill' rises with age" in text
    guaranteed = Box({"age": (5, 6), "bmi": (0, 1)}, label="ill", hard=True, method="guaranteed")
    assert "@aubin2020" in PriorSVC(guaranteed, kernel=RBF(0.1)).fit(X, y).methods_text()


def test_how_weights_were_chosen(table):
    X, y = table
    model = PriorSVC(Rule("age >= 3", label="ill") + Box({"age": (None, 0)}, label="well")).fit(X, y)
    chosen = model._models[0].members[0].block.chosen_weight
    text = model.methods_text()
    assert f"The weights of rule and box were {chosen.factor:g} times the standard weight" in text
    assert f"{chosen.scores[0.3]:.3f} with 0.3" in text
    assert "chosen out of 0, 0.3, 1 and 3 by the area under the ROC curve" in text
    assert f"the area of the rules alone ({chosen.alone:.3f}), which had the share {chosen.share:.2f}" in text
    assert "[@hanley1982]" in text
    few = PriorSVC(Rule("age >= 3", label="ill")).fit(X[14:], y[14:])
    assert "The weight of rule had its standard value." in few.methods_text()


def test_several_classes_and_local_optima():
    X, y = load_iris(return_X_y=True)
    text = PriorSVC(kernel=Polynomial(degree=2)).fit(X[::3], y[::3]).methods_text()
    assert "One decision function was trained for each of the 3 classes against all others" in text
    assert "with coef0 = " in text
    text = PriorSVC(multi_class="joint").fit(X[::3], y[::3]).methods_text()
    assert "each of the 3 classes was solved [@crammer2001]" in text
    model = PriorSVC(Transductive(X[1::3])).fit(X[:100:3], y[:100:3])
    assert "may be a local optimum, because of transductive." in model.methods_text()


def test_an_unfitted_model_has_no_methods():
    with pytest.raises(NotFitted):
        PriorSVC().methods_text()


def test_words_in_latex(table):
    X, y = table
    latex = str(PriorSVC(Rule("age >= 1 and bmi >= 2", label="ill", hard=True)).fit(X, y).formulation())
    flat = latex.replace("\\ ", " ").replace("} \\\\\n& \\mathrm{", " ")
    assert "\\text{blocks}\\quad & \\mathrm{rule: where age >= 1 and bmi >= 2, the class is 'ill'" in flat


@pytest.mark.filterwarnings("ignore::priorsvm.errors.PriorSVMWarning")
def test_the_folds_and_the_unlabelled_rows_of_rules(table):
    X, y = table
    text = PriorSVC(Rule("age >= 1", label="ill", unlabeled=X[:7])).fit(X, y).methods_text()
    assert "soft, at rows as they occur, 7 unlabelled rows included; weight" in text
    assert "in stratified 5-fold cross-validation, the mean of 2 draws of the folds, within" in text
    text = PriorSVC(Rule("age >= 1", label="ill", unlabeled=X[:1])).fit(X[3:], y[3:]).methods_text()
    assert "1 unlabelled row included" in text
    rng = np.random.default_rng(1)
    many = rng.normal(size=(90, 2))
    text = PriorSVC(Rule("x0 >= 1", label=1)).fit(many, (many[:, 0] > 0).astype(int)).methods_text()
    assert "in stratified 5-fold cross-validation within" in text


@pytest.mark.parametrize(("gap", "included"), [("b", ""), (None, ", missing values included,")])
def test_missing_values_of_categories_are_part_of_the_methods(gap, included):
    X = pd.DataFrame({"age": np.arange(6.0), "unit": ["a", "b", gap, "a", "b", "a"]})
    text = PriorSVC(ClassCosts("balanced")).fit(X, [0, 1, 0, 1, 0, 1]).methods_text()
    assert f"Every value of a column with categories{included} became a 0/1 column." in text
