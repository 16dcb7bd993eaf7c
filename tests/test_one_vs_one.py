"""multi_class="ovo": against scikit-learn, and against models of two classes fitted on their rows."""

import pickle
from inspect import signature
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    Ellipsoid,
    FeatureDeletion,
    FeatureScaling,
    InvarianceHint,
    InvariantLoss,
    Knowledge,
    MissingValues,
    Monotone,
    MonotonicityHint,
    OddnessHint,
    Polyhedron,
    Prior,
    PriorSVC,
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
    load,
    plot,
    save,
    training,
)
from priorsvm.cli import list_kinds
from priorsvm.errors import Infeasible, InvalidInput, MissingCapability
from priorsvm.voting import class_scores

PAIRS = [("a", "b"), ("a", "c"), ("b", "c")]


def ovo(prior=None, **parameters):
    return PriorSVC(prior, multi_class="ovo", **parameters)


@pytest.fixture(scope="module")
def three():
    """Three classes of 15, 20 and 25 rows in two columns."""
    rng = np.random.default_rng(3)
    y = np.repeat(["a", "b", "c"], [15, 20, 25])
    centres = {"a": (0.0, 0.0), "b": (2.0, 0.5), "c": (1.0, 2.0)}
    X = np.array([centres[label] for label in y]) + rng.normal(size=(60, 2))
    order = rng.permutation(60)
    return X[order], y[order]


# ---------------------------------------------------------------------- scikit-learn


def standard(loader):
    X, y = loader(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("loader", [load_iris, load_wine, load_digits], ids=lambda f: f.__name__)
def test_plain_models_are_those_of_scikit_learn(loader, kernel):
    X, y = standard(loader)
    ours = ovo(kernel=kernel).fit(X, y)
    theirs = SVC(kernel=kernel, tol=1e-8, break_ties=True).fit(X, y)
    if kernel == "linear":
        assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-6)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=1e-5)
    # Without break_ties, SVC takes the first class where votes are equal.
    votes = np.sort(np.round(ours.decision_function(X)), axis=1)
    clear = votes[:, -1] > votes[:, -2]
    assert clear.mean() > 0.99
    assert_array_equal(ours.predict(X[clear]), SVC(kernel=kernel, tol=1e-8).fit(X, y).predict(X[clear]))


def test_support_vectors_are_those_of_scikit_learn():
    X, y = standard(load_wine)
    assert_array_equal(ovo().fit(X, y).support_, np.sort(SVC(kernel="linear", tol=1e-8).fit(X, y).support_))


def test_balanced_costs_and_sample_weights_are_those_of_scikit_learn(three):
    X, y = three
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    weight[:5] = 0.0
    ours = ovo(ClassCosts("balanced")).fit(X, y)
    assert_allclose(
        ours.coef_, SVC(kernel="linear", class_weight="balanced", tol=1e-9).fit(X, y).coef_, atol=1e-6
    )
    ours = ovo(ClassCosts({"a": 3.0})).fit(X, y, sample_weight=weight)
    theirs = SVC(kernel="linear", class_weight={"a": 3.0}, tol=1e-9).fit(X, y, sample_weight=weight)
    assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-6)
    assert not np.isin(np.arange(5), ours.support_).any()


def test_blocks_without_labels_agree_with_the_wrapper(three):
    X, y = three
    prior = InvarianceHint(Shift([0.3, 0.0])) + VirtualSamples(Shift([0.0, 0.2]))
    ours = ovo(prior).fit(X, y)
    theirs = OneVsOneClassifier(PriorSVC(prior)).fit(X, y)
    found = np.vstack([model.coef_ for model in theirs.estimators_])
    assert_allclose(ours.coef_, -found, rtol=0, atol=1e-6)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=1e-6)


@pytest.mark.parametrize("K", [3, 4, 6])
def test_scores_are_votes_and_bounded_sums(K):
    rng = np.random.default_rng(K)
    pairs = rng.normal(size=(40, K * (K - 1) // 2)) * 10.0 ** rng.integers(-2, 3, size=(40, 1))
    found = class_scores(pairs, K)
    for row, values in zip(found, pairs, strict=True):
        votes, sums = np.zeros(K), np.zeros(K)
        for (i, j), value in zip(combinations(range(K), 2), values, strict=True):
            votes[i if value >= 0 else j] += 1
            sums[i] += value
            sums[j] -= value
        assert_allclose(row, votes + sums / (3 * np.abs(sums) + 3), rtol=1e-12)


def test_two_classes_are_one_model(three):
    X, y = three
    two = y != "c"
    prior = Box({0: (2, 3)}, label="b", holds="everywhere") + ClassCosts({"a": 2.0})
    one, other = (PriorSVC(prior, multi_class=m).fit(X[two], y[two]) for m in ("ovo", "ovr"))
    assert_array_equal(one.coef_, other.coef_)
    assert_array_equal(one.intercept_, other.intercept_)
    assert_array_equal(one.decision_function(X), other.decision_function(X))
    assert one.solver_ == other.solver_


# ---------------------------------------------------------------------- each pair is a model of its rows


def without(prior, pair):
    """Return the prior of a pair as a user would write it: no other classes, no blocks of other classes."""
    blocks = []
    for name, block, _ in prior:
        block = clone(block)
        if isinstance(block, UnlabeledSamples):
            kept = np.isin(block.y, pair)
            block = UnlabeledSamples(np.array(block.X)[kept], np.array(block.y)[kept], cost_of(block, kept))
        if isinstance(block, ClassCosts):
            block.costs = {label: cost for label, cost in block.costs.items() if label in pair}
        labels = getattr(block, "label", None)
        if isinstance(labels, list):
            kept = [k for k, label in enumerate(labels) if label in pair]
            block = Box(
                [block.bounds[k] for k in kept],
                [labels[k] for k in kept],
                within=block.within,
                holds="everywhere",
            )
        if labels is None or not set(np.ravel(labels).tolist()).isdisjoint(pair):
            blocks.append((name, block))
    return Prior(blocks)


def cost_of(block, kept):
    return np.broadcast_to(np.asarray(block.costs, float), len(kept))[kept]


def beyond(Z):
    return 2.5 - Z[:, 0]


EVERYWHERE = {0: (-2.0, 4.0), 1: (-2.0, 4.0)}
COMPOSITIONS = {
    "rules": (
        Rule("x0 >= 2 and x1 <= 0", label="b", within=EVERYWHERE, holds="everywhere")
        + Polyhedron(np.array([[0.0, -1.0]]), [-3.0], label="c", hard=True, within=EVERYWHERE),
        {},
    ),
    "list of labels": (
        Prior(
            [
                (
                    "box",
                    Box(
                        [{0: (3, 4)}, {1: (3, 4)}, {0: (-2, -1)}],
                        ["b", "c", "a"],
                        within=EVERYWHERE,
                        holds="everywhere",
                    ),
                )
            ]
        ),
        {},
    ),
    "ellipsoid": (Prior([("round", Ellipsoid([3.0, 0.0], np.eye(2), "b", holds="everywhere"))]), {}),
    "region": (Prior([("far", Region(beyond, [[3.0, 0.0], [4.0, 1.0]], "b", mu=2.0))]), {}),
    "rule on a kernel": (
        Prior([("box", Box({0: (3, 4), 1: (-1, 0)}, label="b", hard=True))]),
        {"kernel": RBF(0.4)},
    ),
    "monotone": (
        Monotone({1: 1}, label="c", within=EVERYWHERE, holds="everywhere")
        + MonotonicityHint({0: -1}, label="a", mu=5.0),
        {},
    ),
    "oddness": (Prior([("odd", OddnessHint(mu=2.0))]), {}),
    "rows": (
        ClassCosts({"a": 3.0, "c": 0.5})
        + UnlabeledSamples([[0.0, 0.0], [2.0, 0.0], [1.0, 3.0]], ["a", "b", "c"], costs=[0.5, 2.0, 1.0])
        + VirtualSamples(Shift([0.2, 0.0])),
        {"kernel": RBF(0.4)},
    ),
    "virtual support vectors": (Prior([("virtual", VirtualSupportVectors(Shift([0.2, 0.1])))]), {}),
    "invariant loss": (Prior([("moved", InvariantLoss(Shift([0.3, 0.0])))]), {"kernel": RBF(0.4)}),
    "deletion": (Prior([("deleted", InvariantLoss(FeatureDeletion(1)))]), {"C": 5.0}),
    "trajectories": (Prior([("along", Trajectories(Shift([0.3, 0.2])))]), {}),
    "tangents": (
        Prior([("level", TangentPenalty(Shift([0.3, 0.2]), gamma=0.1))]),
        {"kernel": RBF(0.4)},
    ),
    "uncertain": (Prior([("uncertain", UncertainSamples([0.1, 0.3]))]), {"kernel": RBF(0.4), "norm": "l1"}),
    "permutations": (Prior([("orders", RowPermutations((2, 1), rho=0.5))]), {}),
}


def test_every_block_with_a_label_is_in_a_composition():
    used = {type(member.block) for prior, _ in COMPOSITIONS.values() for member in prior}
    kinds = [kind for names in list_kinds().values() for kind in names.values()]
    labelled = {
        kind for kind in kinds if issubclass(kind, Knowledge) and "label" in signature(kind).parameters
    }
    missing = sorted(kind.__name__ for kind in labelled - used)
    assert not missing, f"Add {', '.join(missing)} to COMPOSITIONS of this file."


@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
@pytest.mark.parametrize("name", COMPOSITIONS)
def test_each_pair_is_the_model_of_its_rows(three, name):
    X, y = three
    prior, parameters = COMPOSITIONS[name]
    model = ovo(prior, **parameters).fit(X, y)
    scores = np.column_stack([binary.f.value(X) for binary in model._models])
    for k, pair in enumerate(PAIRS):
        rows = np.isin(y, pair)
        alone = PriorSVC(without(prior, pair), **parameters).fit(X[rows], y[rows])
        assert model.objective_[k] == pytest.approx(alone.objective_, rel=1e-5, abs=1e-8)
        if parameters.get("norm") != "l1":  # which has several solutions
            assert_allclose(scores[:, k], -alone._models[0].f.value(X), rtol=0, atol=2e-4)


@pytest.mark.parametrize("as_function", [False, True])
def test_row_parameters_go_with_their_rows(three, as_function):
    X, y = three
    rng = np.random.default_rng(1)
    costs, margins, errors = rng.uniform(0.5, 2, 60), rng.uniform(0.5, 1, 60), rng.uniform(0, 0.3, (60, 2))
    rows = {"sample_costs__costs": costs, "sample_costs__margins": margins}
    rows["uncertain_samples__covariance"] = (lambda X, y: errors) if as_function else errors
    prior = SampleCosts() + UncertainSamples()
    model = ovo(prior).fit(X, y, **rows)
    for k, pair in enumerate(PAIRS):
        chosen = np.isin(y, pair)
        given = {key: value[chosen] for key, value in rows.items() if not callable(value)}
        given["uncertain_samples__covariance"] = errors[chosen]
        alone = PriorSVC(prior).fit(X[chosen], y[chosen], **given)
        assert_allclose(model.coef_[k], -alone.coef_[0], rtol=0, atol=1e-5)


def test_missing_values_are_completed_by_the_classes_of_a_pair(three):
    X, y = three
    gaps = X.copy()
    gaps[::7, 0] = np.nan
    gaps[3::11, 1] = np.nan
    model = ovo(MissingValues()).fit(gaps, y)
    new = np.array([[np.nan, 1.0], [0.5, np.nan]])
    for binary, pair in zip(model._models, PAIRS, strict=True):
        state = binary.states["missing_values"]
        assert list(state.gaussians) == list(pair)
        values = np.array([binary.f.value(g.completed(new)) for g in state.gaussians.values()])
        expected = values[np.abs(values).argmax(axis=0), [0, 1]]
        assert_allclose(MissingValues().predict(binary.f, new, state), expected)
    assert set(model.predict(new)) <= {"a", "b", "c"}


# ---------------------------------------------------------------------- blocks that name a class


def test_a_block_of_another_class_is_left_out_and_the_report_says_so(three, recwarn):
    X, y = three
    # All of these rows contradict a rule for class c in the pair of a and b.
    rule = Rule("x1 <= 1", label="c", within=EVERYWHERE, holds="everywhere").named("low")
    model = ovo(rule).fit(X, y)
    plain = ovo().fit(X, y)
    assert_allclose(model.coef_[0], plain.coef_[0], rtol=0, atol=1e-6)
    assert np.abs(model.coef_[1:] - plain.coef_[1:]).max() > 0.1
    assert model.report_.inactive == {"low": [("a", "b")]}
    assert "low: inactive in a against b, without a class that it names" in str(model.report_)
    assert [check.label for check in model.verify().checks] == [("a", "c"), ("b", "c")]
    assert {row.label for row in model.report_["low"]} == {("a", "c"), ("b", "c")}
    warned = [str(w.message) for w in recwarn]
    assert len(warned) <= 2  # of the pairs with class c alone
    assert plain.report_.inactive == {}


def test_long_lists_of_inactive_models_are_counted():
    X, y = load_digits(n_class=5, return_X_y=True)
    model = ovo(
        Box({20: (14, 16)}, label=3, holds="everywhere") + 0 * Box({21: (0, 1)}, label=2, holds="everywhere")
    ).fit(X[:100], y[:100])
    assert len(model.report_.inactive["box"]) == 6
    assert "box: inactive in 6 of 10 models, without a class that it names" in str(model.report_)
    assert list(model.report_.inactive) == ["box"]  # weight 0 leaves the other block out of all models


def test_blocks_of_users_with_a_label_are_left_out_too(three):
    X, y = three

    class Above(Knowledge):
        def __init__(self, point, label):
            self.point = point
            self.label = label

        def build(self, f, view):
            sign = view.sample.sign(self.label)
            assert sign != 0
            return Terms(constraints={"above": sign * f([self.point]) >= 1})

    model = ovo(Above([0.0, 5.0], "b")).fit(X, y)
    values = np.array([binary.f.value([[0.0, 5.0]])[0] for binary in model._models])
    assert values[0] <= -1 + 1e-6
    assert values[2] >= 1 - 1e-6
    assert model.report_.inactive == {"above": [("a", "c")]}


def test_labels_that_do_not_exist_are_named(three):
    for block in (
        Box({0: (0, 1)}, label="d", holds="everywhere"),
        MonotonicityHint({0: 1}, label="d"),
        ClassCosts({"d": 2}),
    ):
        with pytest.raises(InvalidInput, match=r"label 'd' is not among the classes .*: 'a', 'b', 'c'"):
            ovo(block).fit(*three)
    with pytest.raises(InvalidInput, match="label is required with 3 classes"):
        ovo(MonotonicityHint({0: 1})).fit(*three)


@pytest.mark.parametrize("wrapper", [OneVsOneClassifier, OneVsRestClassifier])
def test_wrappers_that_rename_classes_are_explained(three, wrapper):
    message = "label 'b' is not among .*: 0, 1.* rename classes to 0 and 1. Use PriorSVC.multi_class='ovo'"
    with pytest.raises(InvalidInput, match=message):
        wrapper(PriorSVC(Box({0: (0, 1)}, label="b"))).fit(*three)
    with pytest.raises(InvalidInput) as caught:
        PriorSVC(Box({0: (0, 1)}, label="b")).fit([[0.0], [1.0]], ["a", "c"])
    assert "rename" not in str(caught.value)


def test_unlabelled_rows_may_have_a_third_class(three):
    with pytest.raises(MissingCapability, match=r"'transductive': .*unlabelled rows may have another class"):
        ovo(Transductive([[0.0, 0.0]])).fit(*three)
    two = three[1] != "c"
    ovo(Transductive([[0.0, 0.0], [2.0, 1.0]])).fit(three[0][two], three[1][two])


def test_conflicts_name_the_pair(three):
    both = Box({0: (0, 1), 1: (0, 1)}, label="a", hard=True).named("first") + Box(
        {0: (0, 1), 1: (0, 1)}, label="c", hard=True
    ).named("second")
    with pytest.raises(Infeasible, match="No score of 'a' against 'c' satisfies"):
        ovo(both).fit(*three)


def test_rows_without_cost_name_the_class(three):
    with pytest.raises(InvalidInput, match="block 'class_costs' leaves no cost to class 'b'"):
        ovo(ClassCosts({"b": 0})).fit(*three)


# ---------------------------------------------------------------------- the estimator


def test_attributes_have_an_entry_for_each_pair(three):
    X, y = three
    model = ovo(Box({0: (3, 4), 1: (-1, 0)}, label="b", hard=True), kernel=RBF(0.4)).fit(X, y)
    assert model.intercept_.shape == (3,)
    for values in (model.solver_, model.status_, model.n_rounds_, model.objective_, model.history_):
        assert len(values) == 3
    assert [sorted(found) for found in model.findings_] == [["box"], [], ["box"]]
    assert model.decision_function(X).shape == (60, 3)
    assert model.dual_coef_.shape == (3, len(model.centres_))
    values = model.kernel_(X, model.centres_) @ model.dual_coef_.T + model.intercept_
    assert_allclose(class_scores(values, 3), model.decision_function(X), rtol=0, atol=1e-9)
    assert len(model.problem) == 3
    assert model.verify().holds
    text = str(model.formulation())
    assert r"C \sum_{i} \xi_i" in text
    assert "first" in text
    frame = model.report_.to_frame()
    assert set(frame["class"]) == set(PAIRS)
    assert_allclose(frame.groupby("class")["share"].sum(), 1.0)


def test_support_vectors_are_rows_of_the_training_data(three):
    X, y = three
    model = ovo().fit(X, y)
    found = set()
    for pair in PAIRS:
        rows = np.flatnonzero(np.isin(y, pair))
        found |= set(rows[PriorSVC().fit(X[rows], y[rows]).support_].tolist())
    assert model.support_.tolist() == sorted(found)


@pytest.mark.parametrize("scale", [None, "standard"])
def test_saved_models_predict_the_same(three, scale, tmp_path):
    X, y = three
    prior = (
        Box({0: (3, 4)}, label="b", holds="everywhere")
        + ClassCosts({"c": 2.0})
        + InvarianceHint(Shift([0.1, 0.0]))
    )
    model = ovo(prior, scale=scale).fit(X, y)
    save(model, tmp_path / "model.skops")
    for other in (load(tmp_path / "model.skops"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(other.decision_function(X), model.decision_function(X))
        assert other.report_.inactive == model.report_.inactive
        assert str(other.verify()) == str(model.verify())
        assert str(other.formulation()) == str(model.formulation())


def test_a_file_whose_pairs_do_not_fit_is_refused(three, tmp_path):
    model = ovo().fit(*three)
    model._models = model._models[::-1]
    model.intercept_ = model.intercept_[::-1].copy()
    save(model, tmp_path / "model.skops")
    with pytest.raises(InvalidInput, match="binary models are of the classes"):
        load(tmp_path / "model.skops")


def test_a_path_equals_its_fits(three):
    X, y = three
    prior = Box({0: (3, 4)}, label="b", holds="everywhere").named("rule")
    models = ovo(prior).fit_path(X, y, {"C": [0.5, 2.0], "rule__mu": [1.0, 5.0]})
    for model, (C, mu) in zip(models, [(0.5, 1.0), (0.5, 5.0), (2.0, 1.0), (2.0, 5.0)], strict=True):
        alone = ovo(Box({0: (3, 4)}, label="b", mu=mu, holds="everywhere"), C=C).fit(X, y)
        assert_allclose(model.coef_, alone.coef_, rtol=0, atol=1e-5)
    mixed = PriorSVC().fit_path(X, y, {"multi_class": ["ovr", "ovo"]})
    assert_allclose(mixed[1].coef_, ovo().fit(X, y).coef_, rtol=0, atol=1e-6)


def test_assembled_problems_are_those_of_the_pairs(three):
    X, y = three
    prior = Box({0: (3, 4)}, label="b", holds="everywhere").named("rule")
    assemblies = ovo(prior).assemble(X, y)
    assert len(assemblies) == 3
    assert [any(label.startswith("rule.") for label in a.constraints) for a in assemblies] == [
        True,
        False,
        True,
    ]
    assemblies.set(C=2.0, rule__mu=3.0).solve()
    model = assemblies.classifier()
    alone = ovo(Box({0: (3, 4)}, label="b", mu=3.0, holds="everywhere"), C=2.0).fit(X, y)
    assert_allclose(model.coef_, alone.coef_, rtol=0, atol=1e-5)
    assert_array_equal(model.predict(X), alone.predict(X))
    with pytest.raises(MissingCapability, match="one class or pair"):
        assemblies[0].classifier()


def test_processes_return_the_same_models(monkeypatch, three):
    monkeypatch.setattr(training._Processes, "worth", -1.0)
    X, y = three
    prior = Box({0: (3, 4)}, label="b", holds="everywhere")
    one, two = (ovo(prior, n_jobs=n).fit(X, y) for n in (None, 2))
    assert_allclose(one.coef_, two.coef_, rtol=0, atol=1e-9)


def test_preselected_rows_are_those_of_each_pair(three):
    X, y = three
    prior = VirtualSamples(Shift([0.1, 0.0]))
    model = ovo(prior, preselect=True).fit(X, y)
    for k, pair in enumerate(PAIRS):
        rows = np.isin(y, pair)
        alone = PriorSVC(prior, preselect=True).fit(X[rows], y[rows])
        assert_allclose(model.coef_[k], -alone.coef_[0], rtol=0, atol=1e-5)


def test_sparse_rows(three):
    X, y = three
    assert_allclose(ovo().fit(csr_array(X), y).coef_, ovo().fit(X, y).coef_, rtol=0, atol=1e-6)


@pytest.mark.slow
def test_a_grid_search_compares_both_kinds(three):
    grid = {"multi_class": ["ovr", "ovo"], "prior__box__mu": [0.1, 1.0]}
    search = GridSearchCV(PriorSVC(Box({0: (3, 4)}, label="b", holds="everywhere")), grid, cv=3).fit(*three)
    assert search.best_params_["multi_class"] in ("ovr", "ovo")


# ---------------------------------------------------------------------- new rows and figures


def test_new_rows_keep_their_class_if_no_vote_changes_it(three):
    X, y = three
    transform = Shift([0.4, 0.0])
    model = ovo(VirtualSamples(transform)).fit(X, y)
    found = model.verify(X).stability["virtual_samples"]
    orbit = transform.orbit(X)
    classes = model.predict(orbit.reshape(-1, 2)).reshape(60, -1)
    assert_array_equal(found.kept, (classes == classes[:, :1]).all(axis=1))
    assert 0 < found.share < 1


@pytest.mark.filterwarnings("ignore::priorsvm.errors.CollapsedModel")
def test_scaled_features_of_new_rows_need_one_function_for_each_class(three):
    X, y = three
    with pytest.raises(MissingCapability, match=r"a one-vs-one model counts votes\. Use multi_class='ovr'"):
        ovo(InvariantLoss(FeatureScaling(1)), C=5.0).fit(X, y).verify(X)
    deleted = ovo(InvariantLoss(FeatureDeletion(1)), C=5.0).fit(X, y)
    found = deleted.verify(X).stability["invariant_loss"]
    copies = deleted.predict(FeatureDeletion(1).orbit(X).reshape(-1, 2)).reshape(60, -1)
    assert_array_equal(found.kept, (copies == copies[:, :1]).all(axis=1))


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_figures_of_all_classes_and_of_a_pair(three):
    X, y = three
    prior = Box({0: (3, 4)}, label="b", holds="everywhere").named("rule") + VirtualSamples(Shift([0.1, 0.0]))
    model = ovo(prior).fit(X, y)
    whole = texts(plot.decision(model))
    assert len(whole) == len(set(whole))
    assert {"a", "b", "c", "rule: b (soft)", "virtual_samples: a", "decision boundary"} <= set(whole)
    pair = texts(plot.decision(model, class_of_interest=("c", "b")))
    assert {"f = 0", "f = ±1", "rule: b (soft)", "virtual_samples: b"} <= set(pair)
    assert "virtual_samples: a" not in pair
    assert "class a against b" in texts(plot.shares(model))
    assert "class b against c" in texts(plot.convergence(model))
    assert "objective" in texts(plot.convergence(model, class_of_interest=["a", "b"]))
    models = model.fit_path(X, y, {"C": [0.1, 1.0]})
    assert plot.path(models, {"C": [0.1, 1.0]}, class_of_interest=("a", "b")).lines


@pytest.mark.parametrize("given", ["a", ("a", "d"), ("a", "a"), ("a",)])
def test_figures_need_a_pair(three, given):
    model = ovo().fit(*three)
    with pytest.raises(InvalidInput, match=r"each pair of the classes .*for example \('a', 'b'\); got"):
        plot.decision(model, class_of_interest=given)


def test_worst_moves_are_the_worst_of_all_pairs():
    X, y = load_digits(n_class=3, return_X_y=True)
    X, y = X[:60] / 16, y[:60]
    transform = Shift(np.eye(64)[20])
    model = ovo(InvariantLoss(transform)).fit(X, y)
    from priorsvm.plot.transformations import _worst_points

    found = _worst_points(model._models, model.prior, np.arange(60))
    orbit = transform.orbit(X)
    for x, label, copies in zip(found, y, orbit, strict=True):
        margins = np.min(
            [
                (1 if binary.training.positive == label else -1) * binary.f.value(copies)
                for binary in model._models
                if label in binary.training.label
            ],
            axis=0,
        )
        assert_array_equal(x, copies[margins.argmin()])
