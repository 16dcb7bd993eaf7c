"""explain(): parts add up, rules are found, changes of one column change the class."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_iris

from priorsvm import (
    RBF,
    Bhattacharyya,
    Box,
    Completes,
    Explanation,
    Knowledge,
    MissingValues,
    Monotone,
    MonotonicityHint,
    Polynomial,
    PriorSVC,
    RowPermutations,
    Rule,
    Scores,
    Shift,
    UncertainSamples,
    VirtualSamples,
    load,
    save,
)
from priorsvm.errors import AgainstData, InvalidInput, MissingCapability, NotFitted
from priorsvm.explain.row_terms import row_terms


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:80, :6], np.where(y[:80] == 1, "benign", "malignant")


def total(found):
    return found.base + sum(part.part for part in found.parts)


def part_of(found, column):
    return next(part for part in found.parts if part.column == column)


MODELS = {
    "linear": {},
    "linear, scaled": {"scale": "standard"},
    "rbf": {"kernel": "rbf", "scale": "standard"},
    "poly": {"kernel": Polynomial(degree=3, coef0=1.0), "scale": "minmax"},
    "l1": {"kernel": "rbf", "norm": "l1", "scale": "standard"},
    "laplacian": {"kernel": "laplacian", "scale": "standard"},
}


@pytest.mark.parametrize("name", MODELS)
def test_parts_add_up_to_the_score(name, cancer):
    X, y = cancer
    model = PriorSVC(**MODELS[name]).fit(X, y)
    for i, found in enumerate(model.explain(X[:4])):
        assert_allclose(found.score, model.decision_function(X)[i], atol=1e-12)
        assert_allclose(total(found), found.score, atol=1e-9)
        assert_allclose(found.base, model.decision_function(X.mean().to_frame().T)[0], atol=1e-9)
        assert found.label == model.predict(X)[i]
        assert found.error == 0


@pytest.mark.parametrize("kernel", ["linear", "rbf", Polynomial(degree=2)])
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_three_classes(kernel, multi_class):
    iris = load_iris(as_frame=True)
    X = iris.data.iloc[::3]
    y = iris.target_names[iris.target][::3]
    model = PriorSVC(kernel=kernel, multi_class=multi_class).fit(X, y)
    scores = model.decision_function(X)
    for i in (3, 20, 45):
        found = model.explain(X.iloc[i])
        assert_allclose(total(found), scores[i].max(), atol=1e-9)
        assert found.of == found.label == model.classes_[scores[i].argmax()]
        assert found.second[0] == model.classes_[np.argsort(-scores[i])[1]]
        assert_allclose(found.second[1], np.sort(scores[i])[-2], atol=1e-12)
        assert f"and the next is {found.second[0]!r}" in str(found)
        check_flips(model, X, i, found)


@pytest.mark.parametrize("kernel", ["linear", "rbf", Polynomial(degree=2)])
def test_one_vs_one_explains_the_pair_of_the_two_best_classes(kernel):
    iris = load_iris(as_frame=True)
    X = iris.data.iloc[::3]
    y = iris.target_names[iris.target][::3]
    rule = Rule("`petal width (cm)` >= 2", label="virginica", mu=1.0)
    model = PriorSVC(rule, kernel=kernel, multi_class="ovo").fit(X, y)
    scores = model.decision_function(X)
    for i in (3, 20, 40, 49):
        found = model.explain(X.iloc[i])
        best, second = np.argsort(-scores[i])[:2]
        names = model.classes_[[best, second]].tolist()
        assert [found.label, found.against] == names
        assert [found.of, found.second[0]] == names
        pair = next(m for m in model._models if {m.training.positive, m.training.against} == set(names))
        sign = 1.0 if pair.training.positive == names[0] else -1.0
        assert_allclose([found.score, total(found)], sign * pair.f.value(X[i : i + 1])[0], atol=1e-9)
        assert_allclose(found.base, sign * pair.f.value(X.mean().to_frame().T)[0], atol=1e-9)
        assert f"its score against {names[1]!r}, the next, is" in str(found)
        assert [r.agrees for r in found.rules] == [True] * int(X["petal width (cm)"].iloc[i] >= 2)
        check_flips(model, X, i, found)
    assert "where `petal width (cm)` >= 2, the class is 'virginica'" in model.methods_text()
    assert "each of the 3 pairs of classes" in model.methods_text()


def test_what_cannot_be_explained():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 6))
    y = np.repeat([0, 1, 2], 10)
    model = PriorSVC(RowPermutations((3, 2)), multi_class="ovo").fit(X, y)
    with pytest.raises(MissingCapability, match="a one-vs-one model counts votes"):
        model.explain(X[0])
    with pytest.raises(MissingCapability, match=r"kernel='precomputed' has kernel values"):
        PriorSVC(kernel="precomputed").fit(X @ X.T, y).explain(X @ X.T)


def test_a_joint_model_of_two_classes(cancer):
    X, y = cancer
    model = PriorSVC(kernel="rbf", scale="standard", multi_class="joint").fit(X, y)
    found = model.explain(X.iloc[1])
    assert_allclose([found.score, total(found)], model.decision_function(X[1:2])[0], atol=1e-9)


def test_many_columns():
    X, y = load_breast_cancer(return_X_y=True)
    for kernel in (Polynomial(degree=2), RBF(0.02)):
        model = PriorSVC(kernel=kernel, scale="standard").fit(X[:60], y[:60])
        found = model.explain(X[70])
        assert_allclose(total(found), model.decision_function(X[70:71])[0], atol=1e-9)
        assert (found.error > 0) == isinstance(kernel, Polynomial)
        assert "more columns" in str(found)


def test_linear_parts_are_weight_times_distance(cancer):
    X, y = cancer
    model = PriorSVC(scale="standard").fit(X, y)
    found = model.explain(X.iloc[5])
    for j, column in enumerate(X):
        expected = model.coef_[0, j] * (X.iloc[5, j] - X[column].mean())
        part = part_of(found, column)
        assert_allclose(part.part, expected, atol=1e-12)
        assert part.value == X.iloc[5, j]
        assert_allclose(part.mean, X[column].mean())
    sizes = [abs(part.part) for part in found.parts]
    assert sizes == sorted(sizes, reverse=True)


def test_the_mean_has_the_sample_weights(cancer):
    X, y = cancer
    weight = np.where(np.arange(80) % 3 == 0, 0.0, 2.0)
    model = PriorSVC().fit(X, y, sample_weight=weight)
    expected = X[weight > 0].mean()
    assert_allclose(model.explain(X.iloc[0]).base, model.decision_function(expected.to_frame().T)[0])


# -------------------------------------------------------------------------------- what a row may be


def test_rows_of_all_kinds(cancer):
    X, y = cancer
    model = PriorSVC().fit(X, y)
    row = X.iloc[3]
    expected = model.explain(row)
    assert isinstance(expected, Explanation)
    shuffled = row.sample(frac=1, random_state=0)
    for one in (dict(row), shuffled, shuffled.astype(object)):
        assert model.explain(one).score == expected.score
    for several in (X[3:4], X[3:4].to_dict("list")):
        [found] = model.explain(several)
        assert found.score == expected.score
    plain = PriorSVC().fit(X.to_numpy(), y)
    for one in (
        X.to_numpy()[3],
        X.to_numpy()[3].tolist(),
        pd.Series(X.to_numpy()[3]),
        dict(enumerate(X.to_numpy()[3])),
    ):
        assert plain.explain(one).score == expected.score
    assert plain.explain(X.to_numpy()[3]).parts[0].column.startswith("x")
    assert len(plain.explain(X.to_numpy()[:3].tolist())) == 3


def test_sparse_rows():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(30, 8))) * (rng.random((30, 8)) > 0.5)
    y = (X[:, 0] > X[:, 1]).astype(int)
    sparse, dense = PriorSVC().fit(csr_array(X), y), PriorSVC().fit(X, y)
    found, expected = sparse.explain(csr_array(X[:2]))[1], dense.explain(X[1])
    assert_allclose(total(found), expected.score, atol=1e-6)
    assert_allclose([p.part for p in found.parts], [p.part for p in expected.parts], atol=1e-6)


def test_bad_rows_are_explained(cancer):
    X, y = cancer
    model = PriorSVC().fit(X, y)
    with pytest.raises(InvalidInput, match=r"there is no column 'mean radus'\. Did you mean 'mean radius'"):
        model.explain({"mean radus": 1.0})
    with pytest.raises(InvalidInput, match=r"no value of column 'mean texture'\. Give all 6 columns"):
        model.explain({"mean radius": 1.0})
    with pytest.raises(InvalidInput, match=r"there is no column 'a'\. Fit on a DataFrame"):
        PriorSVC().fit(X.to_numpy(), y).explain({"a": 1.0})
    with pytest.raises(ValueError, match="6 features"):
        PriorSVC().fit(X.to_numpy(), y).explain([1.0, 2.0])
    with pytest.raises(ValueError, match="NaN"):
        model.explain(X.iloc[0] * np.nan)
    with pytest.raises(NotFitted):
        PriorSVC().explain([1.0])
    sets = [np.ones((3, 2)) * k + np.eye(3, 2) for k in range(6)]
    model = PriorSVC(kernel=Bhattacharyya()).fit(sets, [0, 0, 0, 1, 1, 1])
    with pytest.raises(MissingCapability, match="sets of vectors"):
        model.explain(sets)


def test_large_sparse_data_are_refused(monkeypatch):
    monkeypatch.setattr("priorsvm.explain.explain_rows.MOST_DENSE", 5)
    model = PriorSVC().fit(csr_array(np.eye(4)), [0, 1, 0, 1])
    with pytest.raises(MissingCapability, match=r"4 x 4 entries are too many\. Use coef_"):
        model.explain(csr_array(np.eye(4)))


# -------------------------------------------------------------------------------- changes of the class


def check_flips(model, X, i, found):
    """Every change is confirmed by predict, and is the smallest up to 1/10000 of the range of the column."""
    row = X.iloc[i]
    for flip in found.flips:
        changed = row.copy()
        changed[flip.column] = flip.new
        assert model.predict(changed.to_frame().T)[0] == flip.label != found.label
        shorter = abs(flip.new - flip.value) - 1.1e-4 * np.ptp(X[flip.column])
        if shorter > 0:
            changed[flip.column] = flip.value + shorter * np.sign(flip.new - flip.value)
            assert model.predict(changed.to_frame().T)[0] == found.label
    sizes = [flip.size for flip in found.flips]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize("name", MODELS)
def test_changes_are_confirmed_by_predict(name, cancer):
    X, y = cancer
    model = PriorSVC(**MODELS[name]).fit(X, y)
    near = np.argsort(np.abs(model.decision_function(X)))[:4]
    found = model.explain(X.iloc[near])
    assert any(one.flips for one in found)
    for i, one in zip(near, found, strict=True):
        check_flips(model, X, i, one)


def test_linear_changes_have_a_closed_form(cancer):
    X, y = cancer
    model = PriorSVC(scale="standard", C=0.1).fit(X, y)
    i = int(np.argmin(np.abs(model.decision_function(X))))
    found = model.explain(X.iloc[i])
    for j, column in enumerate(X):
        expected = X.iloc[i, j] - found.score / model.coef_[0, j]
        spread = X[column].max() - X[column].min()
        flips = [flip for flip in found.flips if flip.column == column]
        if X[column].min() <= expected <= X[column].max():
            assert_allclose(flips[0].new, expected, atol=1e-3 * spread)
            assert_allclose(flips[0].size, abs(flips[0].new - X.iloc[i, j]) / X[column].std(ddof=0))
        else:
            assert not flips
    assert found.flips
    smallest = found.flips[0]
    assert f"smallest change of one column: {smallest.column} from " in str(found)
    assert f" gives {smallest.label!r}" in str(found)


def test_no_change_within_the_data_is_stated(cancer):
    X, y = cancer
    model = PriorSVC(kernel=RBF(1e-3), scale="standard", C=0.1).fit(X, y)
    i = int(np.argmax(np.abs(model.decision_function(X))))
    found = model.explain(X.iloc[i])
    assert found.flips == []
    stated = "No change of one recorded value within the range of the training rows changes the class."
    assert stated in str(found)


def test_whole_numbers_change_to_whole_numbers():
    X = pd.DataFrame({"age": [30.0, 40, 50, 60, 70, 80], "sex": [0.0, 1, 0, 1, 1, 0]})
    model = PriorSVC(C=10.0).fit(X, [0, 0, 0, 1, 1, 1])
    found = model.explain({"age": 60, "sex": 1})
    [flip] = [flip for flip in found.flips if flip.column == "age"]
    border = 60 - found.score / model.coef_[0, 0]
    assert flip.new == np.floor(border)
    assert all(flip.new in (0.0, 1.0) for flip in found.flips if flip.column == "sex")


def test_a_row_outside_the_data_can_move_into_it():
    model = PriorSVC(C=10.0).fit([[0.0, 0.5], [1.25, 0.5], [2.0, 0.5]], [0, 1, 1])
    [flip] = model.explain([7.3, 0.5]).flips
    assert flip.column == "x0"
    assert flip.new < 1.25


# -------------------------------------------------------------------------------- rules and near rows


@pytest.mark.parametrize("holds", ["rows", "everywhere"])
def test_rules_that_contain_the_row(holds, cancer):
    X, y = cancer
    large = Rule("`mean radius` >= 15 and `mean area` > 600", label="malignant", mu=1.0, holds=holds)
    small = Box({"mean radius": (None, 12)}, label="benign", mu=1.0, holds=holds)
    wrong = Rule("`mean radius` >= 14", label="benign", mu=1e-4, holds=holds)
    model = PriorSVC(large.named("large") + small.named("small") + wrong.named("wrong"), scale="standard")
    with pytest.warns(AgainstData):
        model.fit(X, y)
    inside = int(np.flatnonzero((X["mean radius"] > 16) & (model.predict(X) == "malignant"))[0])
    found = model.explain(X.iloc[inside])
    assert [(rule.block, rule.agrees) for rule in found.rules] == [("large", True), ("wrong", False)]
    text = str(found)
    assert "large: where `mean radius` >= 15 and `mean area` > 600, the class is 'malignant'. The" in text
    assert "wrong: where `mean radius` >= 14, the class is 'benign'. The prediction disagrees." in text
    tiny = int(np.flatnonzero(X["mean radius"] < 11)[0])
    assert [rule.block for rule in model.explain(X.iloc[tiny]).rules] == ["small"]
    assert "where mean radius <= 12, the class is 'benign'" in str(model.explain(X.iloc[tiny]))


def test_monotone_columns(cancer):
    X, y = cancer
    model = PriorSVC(Monotone({"mean radius": 1}, label="malignant", hard=True), scale="standard").fit(X, y)
    [rule] = model.explain(X.iloc[0]).rules
    assert rule.words == "the score of 'malignant' rises with mean radius"
    assert rule.agrees
    [rule] = (
        PriorSVC(MonotonicityHint({"mean radius": -1}, mu=1e-6), scale="standard")
        .fit(X, y)
        .explain(X.iloc[0])
        .rules
    )
    assert "falls with mean radius" in rule.words
    assert not rule.agrees
    assert "From this row it does not always." in str(rule)


def test_terms_of_training_rows_add_up(cancer):
    X, y = cancer
    model = PriorSVC(VirtualSamples(Shift([0.1] * 6)), kernel=RBF(0.05), scale="standard").fit(X, y)
    found = model.explain(X.iloc[7])
    centres = model._models[0].f
    scale = model._models[0].spec.scale
    rows = X.to_numpy()
    expected = np.zeros(80)
    added = 0.0
    for centre, weight in zip(centres.centres, centres.weights, strict=True):
        k = np.exp(-0.05 * np.sum(((centre - rows[7]) / scale.width) ** 2))
        match = np.flatnonzero((rows == centre).all(axis=1))
        if len(match):
            expected[match[0]] += weight * k
        else:
            added += weight * k
    order = np.argsort(-np.abs(expected))[:3]
    assert [near.row for near in found.rows] == order.tolist()
    assert_allclose([near.part for near in found.rows], expected[order], atol=1e-10)
    assert_allclose(found.added, added, atol=1e-10)
    assert_allclose(expected.sum() + added + model.intercept_[0], found.score, atol=1e-9)
    assert [near.label for near in found.rows] == [y[i] for i in order]
    assert "points of blocks add" in str(found)


def test_nearest_support_vectors_of_a_linear_model(cancer):
    X, y = cancer
    model = PriorSVC(scale="standard").fit(X, y)
    found = model.explain(X.iloc[7])
    Z = ((X - X.mean()) / X.std(ddof=0)).to_numpy()
    distance = np.linalg.norm(Z - Z[7], axis=1)
    nearest = model.support_[np.argsort(distance[model.support_])][:3]
    assert [near.row for near in found.rows] == nearest.tolist()
    assert_allclose([near.distance for near in found.rows], distance[nearest], atol=1e-9)
    assert np.isnan([near.part for near in found.rows]).all()
    assert "nearest support vectors: rows" in str(found)


# -------------------------------------------------------------------------------- scores of blocks


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("average", [None, True])
def test_missing_values(kernel, average, cancer):
    X, y = cancer
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    model = PriorSVC(MissingValues(average=average, confidence=0.6), kernel=kernel, scale="standard").fit(
        holes, y
    )
    i = int(np.flatnonzero(holes.isna().any(axis=1))[0])
    found = model.explain(holes.iloc[i])
    assert_allclose(found.score, model.decision_function(holes[i : i + 1])[0], atol=1e-12)
    assert_allclose(total(found), found.score, atol=1e-9)
    missing = [part.column for part in found.parts if part.missing]
    assert sorted(missing) == sorted(holes.columns[holes.iloc[i].isna()])
    assert f"not recorded, so their parts are not evidence: {', '.join(missing)}." in str(found)
    given = part_of(found, missing[0]).value
    how = "(mean over the classes)" if average else f"under class {found.under!r}"
    assert f"not recorded, completed as {given:.3g} {how}  " in str(found)
    if not average:  # the class under which |f| is larger
        gaussians = model._models[0].training.missing.gaussians
        completed = {label: g.completed(holes.iloc[[i]].to_numpy())[0] for label, g in gaussians.items()}
        assert_allclose(given, completed[found.under][list(holes).index(missing[0])])
        complete = pd.DataFrame(list(completed.values()), index=list(completed), columns=list(holes))
        sizes = pd.Series(np.abs(model.decision_function(complete)), index=complete.index)
        assert found.under == sizes.idxmax()
    for flip in found.flips:
        assert flip.column not in missing
        changed = holes.iloc[i].copy()
        changed[flip.column] = flip.new
        assert model.predict(changed.to_frame().T)[0] == flip.label != found.label


def test_no_change_of_or_to_a_value_that_is_not_recorded():
    rng = np.random.default_rng(0)
    smoker = rng.choice(["yes", "no", None], size=90)
    X = pd.DataFrame({"age": rng.normal(60, 5, 90), "smoker": smoker})
    y = np.where(X["age"] / 5 + 1.5 * (smoker == "yes") + 0.3 * rng.normal(size=90) > 12.5, "ill", "well")
    X.loc[::4, "age"] = np.nan
    model = PriorSVC(MissingValues(), scale="standard", C=10).fit(X, y)
    found = {i: model.explain(X.iloc[i]).flips for i in range(90)}
    changed = [(i, flip) for i, flips in found.items() for flip in flips]
    assert {flip.column for _, flip in changed} == {"age", "smoker"}
    assert all(pd.notna(X.loc[i, flip.column]) and flip.new != "missing" for i, flip in changed)
    # Both kinds of change would change the class of some rows.
    other = X.assign(age=X["age"].fillna(95.0)), X.assign(smoker=None)
    gaps = X["age"].isna(), X["smoker"].notna()
    for table, gap in zip(other, gaps, strict=True):
        assert (model.predict(table) != model.predict(X))[gap].any()


def test_missing_values_of_three_classes():
    X, y = load_iris(return_X_y=True)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.05, np.nan, X)[::3]
    model = PriorSVC(MissingValues(confidence=0.6)).fit(X, y[::3])
    i = int(np.flatnonzero(np.isnan(X).any(axis=1))[0])
    found = model.explain(X[i])
    assert_allclose([found.score, total(found)], model.decision_function(X[i : i + 1]).max(), atol=1e-9)


class Zeros(Completes, Scores, Knowledge):
    def complete(self, X, labels, weight, names=None):
        class Done:
            pass

        done = Done()
        done.X = np.nan_to_num(X)
        return done

    def predict(self, f, X, state=None):
        return f.value(np.nan_to_num(X))


def test_a_block_without_completions_is_refused():
    model = PriorSVC(Zeros()).fit([[0.0, 1.0], [np.nan, 2.0], [3.0, 0.0]], [0, 0, 1])
    assert_allclose(total(model.explain([1.0, 2.0])), model.decision_function([[1.0, 2.0]])[0], atol=1e-9)
    with pytest.raises(MissingCapability, match=r"no method completions\. Complete the row before"):
        model.explain([np.nan, 2.0])


def test_a_block_that_scores_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 6)) + np.repeat([[0.0], [1.5]], 12, axis=0)
    model = PriorSVC(RowPermutations((3, 2))).fit(X, np.repeat([0, 1], 12))
    found = model.explain(X[0])
    assert_allclose(total(found), model.decision_function(X[:1])[0], atol=1e-9)
    assert found.rows == []


# -------------------------------------------------------------------------------- groups of columns


def test_columns_of_a_group_are_one_part():
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b", "c"], size=60)
    X = pd.DataFrame({"u": rng.normal(size=60), "kind": kind, "v": rng.normal(size=60)})
    y = (X["u"] + 2 * (kind == "b") + 0.3 * rng.normal(size=60) > 0.8).astype(int)
    flipped = 0
    for kernel in ("linear", "rbf"):
        model = PriorSVC(Rule("kind == 'b'", 1, mu=1), kernel=kernel, C=10.0).fit(X, y)
        for i in np.flatnonzero((model.predict(X) == 1) & (kind == "b")).tolist():
            found = model.explain(X.iloc[i])
            assert {part.column for part in found.parts} == {"u", "kind", "v"}
            assert_allclose(total(found), model.decision_function(X.iloc[[i]])[0], atol=1e-9)
            assert part_of(found, "kind").value == "b"
            assert [rule.block for rule in found.rules] == ["rule"]
            if kernel == "linear":
                row = (kind[i] == np.array(["a", "b", "c"])).astype(float)
                mean = np.array([np.mean(kind == value) for value in ("a", "b", "c")])
                assert_allclose(part_of(found, "kind").part, model.coef_[0, 1:4] @ (row - mean), atol=1e-9)
            for flip in found.flips:
                if flip.column == "kind":
                    flipped += 1
                    assert model.predict(X.iloc[[i]].assign(kind=flip.new))[0] == flip.label == 0
    assert flipped > 0


# -------------------------------------------------------------------------------- what is printed


def test_text_table_and_frame(cancer):
    X, y = cancer
    model = PriorSVC(kernel="rbf", scale="standard").fit(X, y)
    found = model.explain(X.iloc[0])
    text = str(found)
    assert text.startswith("class 'malignant': the score of 'malignant' is +")
    assert "Shapley values of the score against the mean of the training rows, exact." in text
    assert repr(found) == text
    html = found._repr_html_()
    assert html.count("<tr>") == 1 + 1 + 6 + 1
    assert "class &#x27;malignant&#x27;" in html
    frame = found.to_frame()
    assert list(frame.columns) == ["column", "value", "mean", "part", "missing"]
    assert_allclose(frame["part"].sum() + frame.attrs["base"], frame.attrs["score"], atol=1e-9)
    several = model.explain(X[:3])
    assert str(several).count("class '") >= 3
    assert str(several).startswith("row 0\nclass")
    assert several._repr_html_().count("<h4>row ") == 3
    frames = several.to_frame()
    assert len(frames) == 18
    assert frames["row"].unique().tolist() == [0, 1, 2]


def test_without_pandas_the_message_names_it(monkeypatch, cancer):
    X, y = cancer
    model = PriorSVC().fit(X, y)
    found = model.explain(X.iloc[0])
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame requires the package pandas"):
        found.to_frame()
    with pytest.raises(ImportError, match="a row given by column names requires pandas"):
        model.explain(dict(X.iloc[0]))


def test_a_loaded_model_explains_and_describes_as_before(cancer, tmp_path):
    X, y = cancer
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    model = PriorSVC(MissingValues(confidence=0.6) + Monotone({"mean radius": 1}, label="malignant", mu=1.0))
    model.fit(holes, y)
    save(model, tmp_path / "model.skops")
    twin = load(tmp_path / "model.skops")
    assert str(twin.explain(holes[:2])) == str(model.explain(holes[:2]))
    assert twin.methods_text() == model.methods_text()


def _clinic(n=70, seed=0):
    """Return rows with gaps in two columns, and classes."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "bmi": rng.normal(27, 4, n).round(1),
            "crp": rng.exponential(5, n).round(1),
            "glucose": rng.normal(105, 15, n).round(),
        }
    )
    y = np.where((X.glucose - 105) / 15 + (X.bmi - 27) / 4 + rng.normal(0, 0.8, n) > 0.3, "ill", "well")
    for column in ("bmi", "crp"):
        X.loc[rng.random(n) < 0.2, column] = np.nan
    return X, y


@pytest.mark.filterwarnings("ignore::priorsvm.errors.PriorSVMWarning")
@pytest.mark.parametrize(
    "prior",
    [
        MissingValues(),
        MissingValues() + Rule("glucose >= 120", label="ill", mu=5.0),
        MissingValues() + Rule("glucose >= 125 and bmi >= 30", label="ill", hard=True),
    ],
)
def test_terms_of_rows_with_norms_of_slopes_do_not_cancel(prior):
    """The term of a row has the sign of its class near the row, and at most about the size of its cost."""
    X, y = _clinic()
    model = PriorSVC(prior, kernel="rbf", scale="standard").fit(X, y)
    binary = model._models[0]
    signs = binary.training.y_train
    for i in range(0, len(X), 9):
        found = model.explain(X.iloc[i])
        at = binary.training.X_train[i]
        terms = row_terms(binary, binary.f, binary.training.X_train, at)
        assert np.abs(terms).max() < 3.0
        assert all(np.sign(row.part) == signs[row.row] for row in found.rows if row.distance < 0.5)
        assert total(found) == pytest.approx(found.score, abs=1e-9)
        completed = binary.f.value(at[None])[0]
        if not X.iloc[i].isna().any():
            assert binary.f.bias + terms.sum() + found.added == pytest.approx(completed, abs=1e-9)
    if isinstance(prior, MissingValues):  # without points of rules the terms are the whole score
        terms = np.array(
            [row_terms(binary, binary.f, binary.training.X_train, at) for at in binary.training.X]
        )
        assert_allclose(terms.sum(axis=1) + binary.f.bias, binary.f.value(binary.training.X), atol=1e-4)


def test_terms_of_uncertain_rows_are_values_and_slopes_of_the_kernel():
    """On rows with equal errors, the terms are those of the expansion over values and slopes."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=40) > 0).astype(int)
    model = PriorSVC(UncertainSamples({0: 0.3, 1: 0.2}), kernel=RBF(gamma=0.5)).fit(X, y)
    binary = model._models[0]
    active = model.findings_["uncertain_samples"]
    at = np.array([0.3, -0.2])
    expected = np.zeros(40)
    for row, point, weight in zip(active.rows, active.points, active.weights, strict=True):
        difference = at - X[row]
        k = np.exp(-0.5 * difference @ difference)
        slope = 2 * 0.5 * k * difference @ (point - X[row])
        expected[row] += weight * (2 * y[row] - 1) * (k + slope)
    assert_allclose(row_terms(binary, binary.f, X, at), expected, atol=1e-9)
    assert_allclose(expected.sum() + binary.f.bias, model.decision_function([at])[0], atol=1e-2)


def test_truth_values_are_shown_as_in_the_table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"dose": rng.normal(size=40), "smoker": rng.random(40) < 0.5, "sex": ["f", "m"] * 20})
    X["fever"] = pd.Series([True, None, False, True] * 10, dtype="boolean")
    y = (X.dose + 2 * X.smoker > 1).astype(int)
    model = PriorSVC(MissingValues(confidence=0.6), kernel="rbf").fit(X, y)
    found = model.explain(X.iloc[0])
    assert part_of(found, "smoker").value is bool(X.smoker[0])
    assert part_of(found, "fever").value is True
    assert isinstance(part_of(found, "dose").value, float)
    lines = {line.split()[0]: line.split()[1] for line in str(found).splitlines() if line.split()}
    assert lines["smoker"] == str(bool(X.smoker[0]))
    flips = [
        flip for row in X.index[:12] for flip in model.explain(X.loc[row]).flips if flip.column == "smoker"
    ]
    assert flips
    assert all(flip.new is not flip.value and isinstance(flip.new, bool) for flip in flips)
    array = PriorSVC().fit(np.array([[True, False], [False, False], [True, True]]), [1, 0, 1])
    assert part_of(array.explain([True, False]), "x0").value is True
