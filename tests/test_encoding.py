"""Columns with categories: their encoding inside the model, and everything that uses it."""

import warnings
from datetime import date

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import priorsvm
from priorsvm import (
    Box,
    ClassCosts,
    InvariantLoss,
    MissingValues,
    Monotone,
    MonotonicityHint,
    PriorSVC,
    Rule,
    UnlabeledSamples,
    VirtualSamples,
)
from priorsvm.encoding import MAX_VALUES, Encoding
from priorsvm.errors import BadRule, Infeasible, InvalidInput, UnknownCategory
from priorsvm.kernels import RBF
from priorsvm.transforms import FeatureDeletion, Shift

pd = pytest.importorskip("pandas")

TEXTS = ["sex", "pain"]
NAMES = ["age", "sex=f", "sex=m", "dose", "pain=mild", "pain=none", "pain=strong", "smoker"]


def table(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": np.round(8 * rng.normal(50, 12, n)) / 8,  # exact in the single precision of LIBSVM
            "sex": rng.choice(["f", "m"], n),
            "dose": np.round(8 * rng.normal(size=n)) / 8,
            "pain": pd.Categorical(rng.choice(["mild", "none"], n), ["mild", "none", "strong"]),
            "smoker": rng.random(n) < 0.4,
        }
    )
    score = X.age / 10 + 2.0 * (X.sex == "f") + X.dose + 1.5 * (X.pain == "mild") - 6.5
    return X, np.where(score + rng.normal(size=n) > 0, "ill", "well")


@pytest.fixture
def data():
    return table()


def encoded(X):
    parts = [
        X.age,
        X.sex == "f",
        X.sex == "m",
        X.dose,
        *(X.pain == p for p in ("mild", "none", "strong")),
        X.smoker,
    ]
    return np.column_stack([np.asarray(part, float) for part in parts])


# The encoding itself


def test_columns_and_values(data):
    X, _ = data
    encoding = Encoding.of(X)
    assert encoding.encoded_names.tolist() == NAMES
    np.testing.assert_array_equal(encoding.encode(X), encoded(X))
    np.testing.assert_array_equal(encoding.encode(X.to_numpy()), encoded(X))
    assert encoding.in_group.tolist() == [name.startswith(("sex", "pain")) for name in NAMES]
    assert encoding.in_words(encoded(X[:1])[0], np.array([1, 5])) == [f"sex {X.sex[0]}", f"pain {X.pain[0]}"]
    assert Encoding.of(X[["age", "smoker"]]) is None
    assert Encoding.of(X.to_numpy()) is None


@pytest.mark.parametrize("dtype", ["object", "string", "str", "category"])
def test_types_of_texts(data, dtype):
    X, _ = data
    expected = Encoding.of(X).encode(X)
    other = X.assign(sex=X.sex.astype(dtype))
    np.testing.assert_array_equal(Encoding.of(other).encode(other), expected)


def test_numbers_stay_numbers(data):
    X, _ = data
    for column in (
        X.age.astype(object),
        X.age.astype(str),
        X.smoker,
        X.smoker.astype("boolean"),
        X.age.round().astype("Int64"),
    ):
        assert Encoding.of(pd.DataFrame({"a": column})) is None


def test_categories_of_numbers_and_of_truth_values():
    X = pd.DataFrame(
        {"grade": pd.Categorical([3, 1, 2, 1]), "flag": pd.Categorical([True, False, True, True])}
    )
    encoding = Encoding.of(X)
    assert encoding.encoded_names.tolist() == ["grade=1", "grade=2", "grade=3", "flag=False", "flag=True"]
    np.testing.assert_array_equal(encoding.encode(X)[0], [0, 0, 1, 0, 1])


def test_columns_without_names_are_numbered():
    X = pd.DataFrame([[1.0, "a"], [2.0, "b"], [3.0, "a"]])
    model = PriorSVC(Rule("x1 == 'a'", 1, mu=1)).fit(X, [0, 1, 0])
    assert model.encoded_names_.tolist() == ["x0", "x1=a", "x1=b"]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_missing_value_is_a_value_of_its_own(data, missing):
    X, y = data
    X["sex"] = X.sex.astype(object)
    X.loc[:9, "sex"] = missing
    model = PriorSVC().fit(X, y)
    assert "sex=missing" in model.encoded_names_
    j = model.encoded_names_.tolist().index("sex=missing")
    rows = model._checked_rows(X)
    np.testing.assert_array_equal(rows[:, j], np.arange(len(X)) < 10)
    rule = Rule("sex is missing", "ill", mu=50)
    assert (PriorSVC(rule).fit(X, y).predict(X[:10]) == "ill").all()


def test_values_that_no_training_row_has(data):
    X, y = data
    model = PriorSVC().fit(X, y)
    new = X[:4].assign(sex=["f", "x", None, "x"])
    with pytest.warns(
        UnknownCategory, match=r"column 'sex' of X has the value 'missing', 'x' in 3 of 4 rows"
    ):
        scores = model.decision_function(new)
    rows = encoded(new)
    np.testing.assert_allclose(scores, rows @ model.coef_[0] + model.intercept_)
    assert not rows[1:, 1:3].any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X)


# The same f as a pipeline


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_f_is_that_of_a_pipeline_with_an_encoder(data, kernel, scale):
    X, y = data
    numbers = StandardScaler() if scale else "passthrough"
    encoder = make_column_transformer(
        (OneHotEncoder(categories=[["f", "m"], ["mild", "none", "strong"]]), TEXTS),
        (numbers, ["age", "dose", "smoker"]),
    )
    gamma = 0.1
    svc = SVC(C=2.0, kernel=kernel, gamma=gamma, tol=1e-12)
    expected = make_pipeline(encoder, svc).fit(X, y).decision_function(X)
    model = PriorSVC(C=2.0, kernel=RBF(gamma) if kernel == "rbf" else kernel, scale=scale).fit(X, y)
    sign = 1 if model.classes_[1] == svc.classes_[1] else -1
    tol = 1e-6 if scale is None else 1e-5
    np.testing.assert_allclose(sign * model.decision_function(X), expected, atol=tol)
    same = make_pipeline(encoder, clone(model).set_params(scale=None)).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), atol=1e-6)
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert model.n_features_in_ == 5
    assert model.encoded_names_.tolist() == NAMES
    if kernel == "linear":
        assert model.coef_.shape == (1, len(NAMES))
        np.testing.assert_allclose(encoded(X) @ model.coef_[0] + model.intercept_, sign * expected, atol=tol)


def test_names_without_categories():
    X, y = [[0.0, 1.0], [2.0, 0.0]], [0, 1]
    assert PriorSVC().fit(X, y).encoded_names_.tolist() == ["x0", "x1"]
    assert PriorSVC().fit(pd.DataFrame(X, columns=["a", "b"]), y).encoded_names_.tolist() == ["a", "b"]
    with pytest.raises(AttributeError, match="not fitted"):
        _ = PriorSVC().encoded_names_


def test_a_rule_over_an_encoder_of_a_pipeline_is_a_rule_over_the_column(data):
    X, y = data
    inside = PriorSVC(Rule("sex == 'm' and age >= 60", "ill", hard=True), scale=None).fit(X, y)
    encoder = ColumnTransformer([("", OneHotEncoder(sparse_output=False), TEXTS)], remainder="passthrough")
    encoder.set_output(transform="pandas")
    before = make_pipeline(encoder, PriorSVC(ClassCosts({"ill": 2}))).fit(X, y)
    assert before.score(X, y) > 0.7
    assert inside.verify().holds


# Everything else of scikit-learn


def test_searches_clones_and_folds(data):
    X, y = data
    model = PriorSVC(Rule("sex == 'f' and age > 55", "ill", mu=5), scale="standard")
    assert clone(model).get_params()["categories"] == "auto"
    scores = cross_val_score(model, X, y, cv=3)
    assert np.isfinite(scores).all()
    search = GridSearchCV(model, {"C": [0.1, 1.0], "prior__rule__mu": [1, 5]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.7
    assert search.predict(X[:3]).shape == (3,)


def test_folds_of_the_chosen_weight_have_the_values_of_the_fit(data):
    X, y = data
    X["sex"] = X.sex.astype(object)
    X.loc[0, "sex"] = "x"  # in one fold only
    model = PriorSVC(Rule("sex == 'x'", "ill")).fit(X, y)
    assert len(model.findings_["rule"].weight.scores) == 4
    rule = Rule("dose is missing", "ill")
    X.loc[3, "dose"] = np.nan
    found = PriorSVC(rule + MissingValues(confidence=0.5)).fit(X, y).findings_["rule"]
    assert found.rows == 1
    assert len(found.weight.scores) == 4


def test_paths_and_assemblies(data):
    X, y = data
    rule = Rule("sex == 'f'", "ill", mu=5)
    models = PriorSVC(rule).fit_path(X, y, {"C": [0.1, 1.0]})
    expected = PriorSVC(rule).fit(X, y)
    np.testing.assert_allclose(models[1].coef_, expected.coef_, atol=1e-5)
    assembly = PriorSVC(rule).assemble(X, y)
    assembly.solve()
    np.testing.assert_allclose(
        assembly.classifier().decision_function(X), expected.decision_function(X), atol=1e-4
    )


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_three_classes(data, n_jobs):
    X, _ = data
    y = np.where(X.sex == "f", "a", np.where(X.age > 50, "b", "c"))
    model = PriorSVC(Rule("sex == 'f'", "a", mu=5), n_jobs=n_jobs, scale="standard").fit(X, y)
    assert model.decision_function(X).shape == (len(X), 3)
    assert model.coef_.shape == (3, len(NAMES))
    assert np.mean(model.predict(X)[X.sex == "f"] == "a") > 0.9


def test_the_joint_model(data):
    X, _ = data
    y = np.where(X.sex == "f", "a", np.where(X.age > 50, "b", "c"))
    model = PriorSVC(multi_class="joint", scale="standard").fit(X, y)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_saved_models(data, tmp_path, kernel):
    pytest.importorskip("skops")
    X, y = data
    X["sex"] = X.sex.astype(object)
    X.loc[:5, "sex"] = None
    X["grade"] = pd.Categorical(np.arange(len(X)) % 3)
    X.loc[10:14, "dose"] = np.nan
    prior = (
        Rule("sex == 'f' and age / 2 > 20 or age * dose > 30", "ill", mu=5)
        + Rule("dose is missing and not grade in (1, 2)", "ill", mu=1)
        + MissingValues()
    )
    model = PriorSVC(prior, kernel=kernel, scale="standard").fit(X, y)
    priorsvm.save(model, tmp_path / "model.skops")
    again = priorsvm.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.encoded_names_.tolist() == model.encoded_names_.tolist()
    assert str(again.verify()) == str(model.verify())


def test_numbers_without_names_of_a_fitted_frame(data):
    X, y = data
    model = PriorSVC().fit(X, y)
    with pytest.warns(UserWarning, match="valid feature names"):
        scores = model.decision_function(X.to_numpy())
    np.testing.assert_array_equal(scores, model.decision_function(X))


# Blocks


def test_unlabelled_rows_have_the_columns_of_the_table(data):
    X, y = data
    more, _ = table(60, seed=3)
    rule = Rule("sex == 'f' and age > 50", "ill", mu=5, unlabeled=more)
    model = PriorSVC(rule, scale="standard").fit(X, y)
    by_numbers = Rule("sex == 'f' and age > 50", "ill", mu=5, unlabeled=encoded(more))
    np.testing.assert_allclose(PriorSVC(by_numbers, scale="standard").fit(X, y).coef_, model.coef_, atol=1e-9)
    guesses = UnlabeledSamples(more, ["ill"] * 60, 0.1)
    assert PriorSVC(guesses).fit(X, y).predict(X).shape == (90,)
    with pytest.raises(
        InvalidInput, match="unlabeled has the columns age, sex, but the training data has age, sex, dose"
    ):
        PriorSVC(Rule("sex == 'f'", "ill", unlabeled=more[["age", "sex"]])).fit(X, y)


def test_monotone_in_a_column_of_numbers(data):
    X, y = data
    for kernel in ("linear", "rbf"):
        model = PriorSVC(Monotone({"age": 1}, label="ill", mu=30), kernel=kernel, scale="standard").fit(X, y)
        assert model.verify()
    for block in (Monotone({"sex=f": 1}), MonotonicityHint({"sex=f": 1})):
        with pytest.raises(InvalidInput, match="'sex=f' is a value of a category, which cannot rise or fall"):
            PriorSVC(block).fit(X, y)
    with pytest.raises(InvalidInput, match="column 'sex' has categories"):
        PriorSVC(Monotone({"sex": 1})).fit(X, y)


def test_transforms_leave_groups_whole(data):
    X, y = data
    vector = np.zeros(len(NAMES))
    vector[0] = 3.0
    model = PriorSVC(VirtualSamples(Shift(vector))).fit(X, y)
    assert model.coef_.shape == (1, len(NAMES))
    vector[1] = 1.0
    with pytest.raises(
        InvalidInput, match=r"block 'virtual_samples'.*changes the column 'sex=f'.*encoded_names_"
    ):
        PriorSVC(VirtualSamples(Shift(vector))).fit(X, y)
    with pytest.raises(
        InvalidInput, match=r"block 'virtual_samples'.*With categories, the model has 8 columns"
    ):
        PriorSVC(VirtualSamples(Shift(np.ones(5)))).fit(X, y)
    with pytest.raises(InvalidInput, match=r"block 'invariant_loss'.*can change any column"):
        PriorSVC(InvariantLoss(FeatureDeletion(1))).fit(X, y)


def test_conflicts_are_told_in_values(data):
    X, y = data
    prior = Rule("sex == 'f'", "ill", hard=True) + Rule("age > 60", "well", hard=True)
    with pytest.raises(
        Infeasible, match=r"Both apply to the point \(age .*, sex f, dose .*, pain \w+, smoker"
    ):
        PriorSVC(prior).fit(X, y)


def test_findings_and_reports_are_about_columns(data):
    X, y = data
    model = PriorSVC(Rule("pain == 'strong'", "ill", mu=3)).fit(X, y)
    assert str(model.findings_["rule"]).startswith("no training row inside")
    assert "=strong" not in str(model.verify(everywhere=True))
    assert "where pain == 'strong'" in str(model.verify(everywhere=True))
    hard = PriorSVC(Rule("sex == 'f' and age > 60", "ill", hard=True)).fit(X, y)
    text = str(hard.verify())
    assert "where sex == 'f' and age > 60" in text
    assert "sex=" not in text
    assert hard.report_
    assert hard.formulation()


def test_plots_have_columns_and_values(data):
    pytest.importorskip("matplotlib")
    from priorsvm import plot

    X, y = data
    model = PriorSVC(Rule("sex == 'f' and age > 60", "ill", mu=3), kernel="rbf", scale="standard").fit(X, y)
    ax = plot.decision(model, features=("age", "dose"), at={"sex": "m"})
    title = (
        ax.figure.legends[0].get_title().get_text()
        if ax.figure.legends
        else ax.get_legend().get_title().get_text()
    )
    assert "sex = m, pain = " in title
    with pytest.raises(InvalidInput, match="column 'sex' has the values 'f', 'm', got 'x'"):
        plot.decision(model, features=("age", "dose"), at={"sex": "x"})
    with pytest.raises(InvalidInput, match="column 'sex' has categories"):
        plot.decision(model, features=("age", "sex"))


# Refusals


def test_refusals(data):
    X, y = data
    with pytest.raises(InvalidInput, match="X contains text in column 'sex'"):
        PriorSVC(categories=None).fit(X[["age", "sex"]], y)
    with pytest.raises(InvalidInput, match="categories must be 'auto' or None, got 'all'"):
        PriorSVC(categories="all").fit(X, y)
    with pytest.raises(InvalidInput, match=r"could not convert string to float: 'f'|'m'"):
        PriorSVC().fit(X.to_numpy(), y)
    names = X.assign(name=[f"patient {i}" for i in range(90)])
    many = pd.concat([names, names.assign(name=[f"guest {i}" for i in range(90)])])
    with pytest.raises(InvalidInput, match=r"column 'name' has 180 different texts.*identifier"):
        PriorSVC().fit(many, np.tile(y, 2))
    assert MAX_VALUES < 180
    assert PriorSVC().fit(many.assign(name=many.name.astype("category")), np.tile(y, 2)).coef_.shape == (
        1,
        188,
    )
    dates = X.assign(day=[date(2020, 1, 1 + i % 28) for i in range(90)])
    with pytest.raises(InvalidInput, match="X contains dates in column 'day'"):
        PriorSVC().fit(dates, y)
    typo = X.assign(age=["?", *X.age[1:].astype(str)])
    with pytest.raises(InvalidInput, match=r"column 'age': most of its values are numbers, but one is '\?'"):
        PriorSVC().fit(typo, y)
    comma = X.assign(age=[text.replace(".", ",") for text in X.age.astype(str)])
    with pytest.raises(InvalidInput, match=r"decimal=','"):
        PriorSVC().fit(comma.drop(columns=TEXTS), y)
    gap = X.copy()
    gap.loc[0, "age"] = np.nan
    with pytest.raises(InvalidInput, match=r"Input X contains NaN\. Add MissingValues"):
        PriorSVC().fit(gap, y)
    model = PriorSVC().fit(X, y)
    with pytest.raises(InvalidInput, match=r"X contains text in column 'age'.*'old'"):
        model.predict(X[:2].assign(age=["old", "young"]))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["age", "sex"]])
    with pytest.raises(InvalidInput, match="column 'sex' has categories, and this block requires a number"):
        PriorSVC(Box({"sex": (0, 1)}, "ill")).fit(X, y)
    with pytest.raises(BadRule, match="no training row has 'female'"):
        PriorSVC(Rule("sex == 'female'", "ill")).fit(X, y)


# ---------------------------------------------------------------------- names, and rows of weight 0


def small(values, n=60, **columns):
    """Return rows of a column with some values, and of a number."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"k": np.resize(np.array(values, object), n), "b": rng.normal(size=n)})
    return X.assign(**columns), np.resize([0, 1, 1, 0], n)


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["missing", "b", None], ["k=b", "k='missing'", "k=missing"]),
        (["missing", "b"], ["k=b", "k=missing"]),
        ([1, "1", "x"], ["k=1", "k='1'", "k=x"]),
    ],
)
def test_encoded_names_are_unique(values, names):
    X, y = small(values)
    model = PriorSVC().fit(X, y)
    assert model.encoded_names_.tolist() == [*names, "b"]


def test_a_box_by_an_encoded_name_means_one_value():
    X, y = small(["missing", "b", None])
    for name, value in (("k=missing", None), ("k='missing'", "missing")):
        model = PriorSVC(Box({name: (1, 1)}, label=1, mu=1.0)).fit(X, y)
        assert model.findings_["box"].rows == sum(X.k.isna() if value is None else X.k == value) == 20


def test_explain_distinguishes_a_text_from_a_missing_value():
    X, y = small(["missing", "b", None])
    found = PriorSVC().fit(X, y).explain(X.iloc[:3])
    values = [next(part.value for part in one.parts if part.column == "k") for one in found]
    assert values == ["'missing'", "b", "missing"]


def test_a_column_with_the_name_of_an_encoded_value():
    X, y = small(["m", "f"], **{"k=m": 1.0})
    model = PriorSVC(Box({"k='m'": (1, 1)}, label=1, mu=1.0)).fit(X, y)
    assert model.encoded_names_.tolist() == ["k=f", "k='m'", "b", "k=m"]
    assert model.findings_["box"].rows == 30
    X["k"] = pd.Categorical(np.resize([1, 2], 60))
    with pytest.raises(InvalidInput, match="two columns of the model have the name 'k=1'"):
        PriorSVC().fit(X.assign(**{"k=1": 1.0}), y)


@pytest.mark.parametrize("value", ["q", None])
def test_a_value_of_rows_of_weight_0_has_no_effect(value):
    X, y = small(["u", "v"])
    X.loc[:19, "k"] = value
    weight = np.ones(60)
    weight[:20] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PriorSVC(kernel="rbf").fit(X, y, sample_weight=weight)
    removed = PriorSVC(kernel="rbf").fit(X[20:], y[20:])
    assert model.encoded_names_.tolist() == removed.encoded_names_.tolist()
    np.testing.assert_allclose(model.decision_function(X[20:]), removed.decision_function(X[20:]), atol=1e-6)
