"""Rule: a text over columns, as regions in the columns' own units."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from priorsvm import RBF, Box, Polyhedron, PriorSVC, Rule, check_knowledge
from priorsvm.errors import BadRule, Infeasible, InvalidInput

NAMES = ["age", "body mass", "dose"]
TIGHT = {"solver": "CLARABEL", "tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.uniform(20, 80, 50), rng.uniform(18, 40, 50), rng.uniform(0, 1, 50)])
    ill = X[:, 0] + 2 * X[:, 1] + 10 * rng.normal(size=50) > 110
    return pd.DataFrame(X, columns=NAMES), np.where(ill, "yes", "no")


def by_corners(X, y, sets, scale=True):
    """min 1/2 |w * std|^2 + sum xi + sum mu zeta, margins required at all corners of each set."""
    X = X.to_numpy()
    width = X.std(axis=0) if scale else np.ones(X.shape[1])
    w, b, xi = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(len(y), nonneg=True)
    Z = (X - X.mean(axis=0)) / width
    objective = 0.5 * cp.sum_squares(w) + cp.sum(xi)
    constraints = [cp.multiply(np.where(y == "yes", 1.0, -1.0), Z @ w + b) >= 1 - xi]
    for corners, sign, mu in sets:
        margins = sign * ((corners - X.mean(axis=0)) / width @ w + b)
        if np.isinf(mu):
            constraints.append(margins >= 1)
        else:
            objective = objective + mu * cp.max(cp.pos(1 - margins))
    return cp.Problem(cp.Minimize(objective), constraints).solve(**TIGHT)


def corners_of(*sides):
    return np.array(np.meshgrid(*sides)).reshape(len(sides), -1).T


@pytest.mark.parametrize("hard", [False, True])
def test_a_rule_over_single_columns_is_a_box_in_their_units(patients, hard):
    X, y = patients
    low, high = X.min().to_numpy(), X.max().to_numpy()
    rule = Rule("age >= 60 and `body mass` < 25", "yes", mu=0.7, hard=hard, holds="everywhere")
    model = PriorSVC(rule, scale="standard", tol=1e-9).fit(X, y)
    corners = corners_of((60, high[0]), (low[1], 25), (low[2], high[2]))
    assert model.objective_ == pytest.approx(
        by_corners(X, y, [(corners, 1, np.inf if hard else 0.7)]), rel=1e-8
    )
    box = PriorSVC(
        Box({"age": (60, None), "body mass": (None, 25)}, "yes", mu=0.7, hard=hard, holds="everywhere"),
        scale="standard",
        tol=1e-9,
    ).fit(X, y)
    assert model.objective_ == pytest.approx(box.objective_, rel=1e-9)


def test_a_rule_over_sums_is_a_polyhedron(patients):
    X, y = patients
    limits = {"age": (20, 80), "body mass": (18, 40), "dose": (0, 1)}
    rule = Rule(
        "age + 2 * `body mass` <= 90 and dose >= 0.5", "yes", mu=0.9, within=limits, holds="everywhere"
    )
    model = PriorSVC(rule, scale="standard", tol=1e-9).fit(X, y)
    plane = np.array([[20, 18], [54, 18], [20, 35]])  # age + 2 mass <= 90 above (20, 18)
    corners = np.vstack([np.column_stack([plane, np.full(3, dose)]) for dose in (0.5, 1.0)])
    assert model.objective_ == pytest.approx(by_corners(X, y, [(corners, 1, 0.9)]), rel=1e-8)
    B = np.vstack([[1, 2, 0], [0, 0, -1], np.eye(3), -np.eye(3)])
    d = np.array([90, -0.5, 80, 40, 1, -20, -18, 0])
    same = PriorSVC(Polyhedron(B, d, "yes", mu=0.9, holds="everywhere"), scale="standard", tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(same.objective_, rel=1e-8)


def test_or_makes_several_regions_each_with_its_own_slack(patients):
    X, y = patients
    low, high = X.min().to_numpy(), X.max().to_numpy()
    rule = Rule("age < 30 or (dose between 0.2 and 0.4 and age > 70)", "no", mu=0.6, holds="everywhere")
    model = PriorSVC(rule, scale="standard", tol=1e-9).fit(X, y)
    young = corners_of((low[0], 30), (low[1], high[1]), (low[2], high[2]))
    old = corners_of((70, high[0]), (low[1], high[1]), (0.2, 0.4))
    assert model.objective_ == pytest.approx(by_corners(X, y, [(young, -1, 0.6), (old, -1, 0.6)]), rel=1e-8)
    assert model.verify()["rule"].checked == 2


def test_without_within_unnamed_columns_lose_their_weight(patients):
    X, y = patients
    literal = PriorSVC(
        Rule("age >= 60", "yes", mu=1e-3, within=None, holds="everywhere"), scale="standard"
    ).fit(X, y)
    np.testing.assert_allclose(literal.coef_[0, 1:], 0.0, atol=1e-7)
    closed = PriorSVC(Rule("age >= 60", "yes", mu=1e-3, holds="everywhere"), scale="standard").fit(X, y)
    assert abs(closed.coef_[0, 1]) > 0.01


def test_a_rule_beyond_the_data_stays_whole(patients):
    X, y = patients
    model = PriorSVC(Rule("age >= 100", "no", hard=True), scale="standard").fit(X, y)
    far = X.iloc[:8].assign(age=[100, 110, 150, 200, 1e3, 1e4, 1e5, 1e6])
    assert (model.predict(far) == "no").all()


def test_the_text_comes_back():
    text = "age >= 50 and `body mass` > 30"
    rule = Rule(text, "yes", holds="everywhere")
    assert str(rule) == text
    assert text in repr(rule)
    assert rule.words() == f"{text!r} is 'yes'"


def test_without_a_data_frame_columns_are_numbered(patients):
    X, y = patients
    with pytest.raises(InvalidInput, match=r"(?s)'rule'.*there is no column 'age'.*x0, x1, x2"):
        PriorSVC(Rule("age > 50", "yes")).fit(X.to_numpy(), y)
    numbered = PriorSVC(Rule("x0 > 60 and x1 <= 25", "yes", holds="everywhere"), scale="standard").fit(
        X.to_numpy(), y
    )
    named = PriorSVC(Rule("age > 60 and `body mass` <= 25", "yes", holds="everywhere"), scale="standard").fit(
        X, y
    )
    np.testing.assert_allclose(numbered.coef_, named.coef_, atol=1e-8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age > 50 and height > 2", "there is no column 'height'"),
        ("agee > 50", "did you mean age"),
        ("age > 50 and age < 40", "conditions contradict each other"),
        ("age > 50 or (dose > 1 and dose < 0.5)", r"no row can satisfy '\(dose > 1 and dose < 0\.5\)' in"),
        ("age + dose > 50 and age + dose < 40", "conditions contradict each other"),
        ("age > ", "missing here"),
        ("body mass > 3", "must be in backticks"),
        ("", "a rule must be a text such as"),
        (None, "a rule must be a text such as"),
    ],
)
@pytest.mark.parametrize("kernel", ["linear", RBF(0.5)])
def test_texts_that_cannot_be_meant(patients, text, message, kernel):
    with pytest.raises(InvalidInput, match="(?s)block 'rule'.*" + message):
        PriorSVC(Rule(text, "yes"), kernel=kernel).fit(*patients)


@pytest.mark.parametrize(
    ("text", "message"),
    [("age * dose > 3", "add a column that contains the product"), ("age != 3", "closed region")],
)
@pytest.mark.parametrize("kernel", ["linear", RBF(0.5)])
def test_conditions_without_a_meaning_everywhere(patients, text, message, kernel):
    with pytest.raises(InvalidInput, match=f"(?s)block 'rule'.*{message}.*or use holds='rows'"):
        PriorSVC(Rule(text, "yes", hard=True), kernel=kernel).fit(*patients)


def test_within_that_leaves_nothing_names_the_rule(patients):
    rule = Rule("age >= 60", "yes", within={"age": (20, 50)}, holds="everywhere")
    with pytest.raises(InvalidInput, match=r"'age >= 60'.*within leaves nothing.*column 'age'"):
        PriorSVC(rule).fit(*patients)


def test_conflicting_rules_are_quoted(patients):
    X, y = patients
    prior = Rule("age >= 60", "yes", hard=True) + Rule("age >= 50 and dose >= 0.5", "no", hard=True)
    for kernel in ("linear", RBF("scale")):
        with pytest.raises(Infeasible) as caught:
            PriorSVC(prior, kernel=kernel, scale="standard").fit(X, y)
        assert "'rule' ('age >= 60' is 'yes')" in str(caught.value)
        assert "'rule_2' ('age >= 50 and dose >= 0.5' is 'no')" in str(caught.value)


def test_a_kernel_model_satisfies_a_rule_in_the_users_units(patients):
    X, y = patients
    rule = Rule("age >= 60 and `body mass` <= 25 and dose <= 0.5", "yes", hard=True)
    model = PriorSVC(rule, kernel=RBF(0.5), scale="standard").fit(X, y)
    low, high = X.min().to_numpy(), X.max().to_numpy()
    sides = [np.linspace(60, high[0], 25), np.linspace(low[1], 25, 25), np.linspace(low[2], 0.5, 25)]
    grid = pd.DataFrame(corners_of(*sides), columns=NAMES)
    assert model.decision_function(grid).min() > 1 - 1.1e-4
    assert PriorSVC(kernel=RBF(0.5), scale="standard").fit(X, y).decision_function(grid).min() < 0.5


def test_multi_class_gives_the_region_to_its_class(three):
    X, y = three
    frame = pd.DataFrame(X, columns=["u", "v"])
    model = PriorSVC(Rule("u between 2 and 3 and v between 2 and 3", "a", hard=True)).fit(frame, y)
    scores = model.decision_function(pd.DataFrame(corners_of((2, 3), (2, 3)), columns=["u", "v"]))
    assert scores[:, 0].min() > 1 - 1e-6
    assert scores[:, 1:].max() < -1 + 1e-6


def test_laws():
    assert "weight 0 disables the block" in check_knowledge(
        Rule("x0 + x1 <= -1 and x2 <= 1", 1, holds="everywhere"), kernels=("linear",)
    )


def test_the_message_explains_how_to_keep_names_with_a_scaler():
    frame = pd.DataFrame({"age": [30.0, 40.0, 50.0, 60.0]})
    pipe = make_pipeline(StandardScaler(), PriorSVC(Rule("age >= 55", label=1, holds="everywhere")))
    with pytest.raises(BadRule, match=r"An array has no names.*scale='standard'\) instead of a scaler"):
        pipe.fit(frame, [0, 0, 1, 1])


def test_rules_on_arrays(data):
    X, y = data
    with pytest.raises(BadRule, match=r"fit on a DataFrame, or give columns=\[\.\.\.\]"):
        PriorSVC(Rule("radius >= 1", 1)).fit(X, y)
    named = PriorSVC(Rule("radius >= 1", 1, columns=["radius", "b", "c"], hard=True)).fit(X, y)
    plain = PriorSVC(Rule("x0 >= 1", 1, hard=True)).fit(X, y)
    np.testing.assert_allclose(named.coef_, plain.coef_)
    assert "radius from 1 to" in named.verify()["rule"].asked
    sums = PriorSVC(Rule("radius + b >= 1", 1, columns=["radius", "b", "c"], holds="everywhere")).fit(X, y)
    assert "where radius + b >= 1" in sums.verify()["rule"].asked


def test_texts_have_no_negative_zero():
    X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 1.0], [3.0, 3.0]])
    rule = Rule("x0 >= 0 and x1 <= 2", label=1, mu=1.0)
    model = PriorSVC(rule).fit(X, [0, 1, 1, 0])
    assert "x0 from 0 to inf" in str(model.verify())


def test_a_second_fit_reads_no_text_and_draws_the_same_points(data, monkeypatch):
    X, y = data
    rule = Rule("x0 >= 1 and x1 + x2 <= 3", 1, mu=2.0)
    first = PriorSVC(rule).fit(X, y).decision_function(X)
    monkeypatch.setattr("priorsvm.knowledge.regions.rule.parse", None)
    np.testing.assert_array_equal(PriorSVC(rule).fit(X, y).decision_function(X), first)
    monkeypatch.undo()
    changed = Rule("x0 >= 1 and x1 + x2 <= 3", 0, mu=2.0)
    fitted = PriorSVC(changed)
    assert np.abs(fitted.fit(X, y).decision_function(X) - first).max() > 0.1
    changed.set_params(label=1)
    np.testing.assert_array_equal(fitted.fit(X, y).decision_function(X), first)
