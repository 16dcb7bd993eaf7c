"""PriorSVC among scikit-learn's tools: its checks, searches, pipelines, routing, copies and attributes."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_predict, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import priorsvm
from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    InvarianceHint,
    MonotonicityHint,
    OddnessHint,
    Polynomial,
    Prior,
    PriorSVC,
    Rule,
    SampleCosts,
    Shift,
    Transductive,
    UncertainSamples,
    UnlabeledSamples,
    VirtualSamples,
    VirtualSupportVectors,
    training,
)
from priorsvm.errors import InvalidInput

ROUTING = pytest.mark.parametrize("routing", [False, True], ids=["routing off", "routing on"])


def config(routing):
    return config_context(enable_metadata_routing=routing)


def two_classes(n=60, d=3, seed=0):
    return make_classification(
        n, d, n_informative=2, n_redundant=0, n_classes=2, flip_y=0.15, class_sep=0.7, random_state=seed
    )


def three_classes(n=60):
    X, y = load_iris(return_X_y=True)
    rows = np.random.default_rng(0).permutation(150)[:n]
    return X[rows], y[rows]


# -------------------------------------------------------------------------------- scikit-learn's checks


@parametrize_with_checks([PriorSVC(), PriorSVC(kernel="rbf"), PriorSVC(multi_class="ovo")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([PriorSVC(ClassCosts("balanced"), kernel="rbf", solver="CLARABEL")])
def test_scikit_learn_checks_with_a_block_and_a_solver(estimator, check):
    check(estimator)


def test_it_is_a_classifier():
    assert is_classifier(PriorSVC())
    assert not PriorSVC().__sklearn_tags__().input_tags.allow_nan
    assert PriorSVC().__sklearn_tags__().input_tags.sparse


# -------------------------------------------------------------------------------- rows given to fit


def weighted_problem():
    """Rows, classes, and costs and margins that make a difference."""
    X, y = two_classes()
    rng = np.random.default_rng(1)
    return X, y, rng.uniform(0.01, 5.0, len(y)), rng.uniform(0.5, 2.0, len(y))


@pytest.mark.parametrize("parameter", ["costs", "margins"])
def test_a_row_parameter_given_to_fit_is_the_one_in_the_constructor(parameter):
    X, y, costs, margins = weighted_problem()
    values = {"costs": costs, "margins": margins}[parameter]
    given = PriorSVC(SampleCosts()).fit(X, y, **{f"sample_costs__{parameter}": values})
    stored = PriorSVC(SampleCosts(**{parameter: values})).fit(X, y)
    computed = PriorSVC(SampleCosts(**{parameter: lambda X, y: values})).fit(X, y)
    plain = PriorSVC().fit(X, y)
    assert_allclose(given.coef_, stored.coef_, rtol=1e-9)
    assert_allclose(given.coef_, computed.coef_, rtol=1e-9)
    assert not np.allclose(given.coef_, plain.coef_, rtol=1e-2)


def test_a_row_parameter_given_to_fit_beats_the_constructor_and_leaves_it_alone():
    X, y, costs, _ = weighted_problem()
    block = SampleCosts(np.ones(len(y)))
    model = PriorSVC(block).fit(X, y, sample_costs__costs=costs)
    assert_allclose(model.coef_, PriorSVC(SampleCosts(costs)).fit(X, y).coef_, rtol=1e-9)
    assert_array_equal(block.costs, np.ones(len(y)))
    assert model.prior is block


def test_row_parameters_follow_the_blocks_names():
    X, y, costs, margins = weighted_problem()
    prior = SampleCosts().named("sensor") + SampleCosts().named("doctor")
    model = PriorSVC(prior).fit(X, y, sensor__costs=costs, doctor__margins=margins)
    assert_allclose(model.coef_, PriorSVC(SampleCosts(costs, margins)).fit(X, y).coef_, atol=1e-6)


@ROUTING
def test_rows_are_split_in_cross_validate(routing):
    X, y, costs, margins = weighted_problem()
    folds = KFold(3, shuffle=True, random_state=0)
    with config(routing):
        result = cross_validate(
            PriorSVC(SampleCosts()),
            X,
            y,
            cv=folds,
            params={"sample_costs__costs": costs, "sample_costs__margins": margins},
            return_estimator=True,
        )
    for (train, _), model in zip(folds.split(X), result["estimator"], strict=True):
        by_hand = PriorSVC(SampleCosts(costs[train], margins[train])).fit(X[train], y[train])
        assert_allclose(model.coef_, by_hand.coef_, atol=1e-8)


@ROUTING
def test_rows_are_split_in_a_grid_search(routing):
    X, y, costs, _ = weighted_problem()
    folds = KFold(3, shuffle=True, random_state=0)
    grid = {"C": [0.05, 1.0]}
    with config(routing):
        search = GridSearchCV(PriorSVC(SampleCosts()), grid, cv=folds).fit(X, y, sample_costs__costs=costs)
    for i, C in enumerate(grid["C"]):
        for k, (train, test) in enumerate(folds.split(X)):
            by_hand = PriorSVC(SampleCosts(costs[train]), C=C).fit(X[train], y[train])
            assert search.cv_results_[f"split{k}_test_score"][i] == by_hand.score(X[test], y[test])
    by_hand = PriorSVC(SampleCosts(costs), C=search.best_params_["C"]).fit(X, y)
    assert_allclose(search.best_estimator_.coef_, by_hand.coef_, atol=1e-8)


@ROUTING
def test_rows_reach_a_step_of_a_pipeline(routing):
    X, y, costs, _ = weighted_problem()
    pipe = Pipeline([("scale", StandardScaler()), ("svc", PriorSVC(SampleCosts()))])
    key = "sample_costs__costs" if routing else "svc__sample_costs__costs"
    with config(routing):
        pipe.fit(X, y, **{key: costs})
    by_hand = PriorSVC(SampleCosts(costs)).fit(StandardScaler().fit_transform(X), y)
    assert_allclose(pipe["svc"].coef_, by_hand.coef_, atol=1e-8)


@ROUTING
def test_rows_reach_a_step_of_a_pipeline_within_a_search(routing):
    X, y, costs, _ = weighted_problem()
    pipe = Pipeline([("scale", StandardScaler()), ("svc", PriorSVC(SampleCosts()))])
    key = "sample_costs__costs" if routing else "svc__sample_costs__costs"
    folds = KFold(3, shuffle=True, random_state=0)
    with config(routing):
        search = GridSearchCV(pipe, {"svc__C": [0.05, 1.0]}, cv=folds).fit(X, y, **{key: costs})
    for i, C in enumerate([0.05, 1.0]):
        for k, (train, test) in enumerate(folds.split(X)):
            scaler = StandardScaler().fit(X[train])
            by_hand = PriorSVC(SampleCosts(costs[train]), C=C).fit(scaler.transform(X[train]), y[train])
            score = by_hand.score(scaler.transform(X[test]), y[test])
            assert search.cv_results_[f"split{k}_test_score"][i] == score


def test_sample_weight_can_be_routed():
    X, y, costs, _ = weighted_problem()
    folds = KFold(3)
    with config(True):
        model = PriorSVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        result = cross_validate(model, X, y, cv=folds, params={"sample_weight": costs}, return_estimator=True)
    for (train, _), model in zip(folds.split(X), result["estimator"], strict=True):
        by_hand = PriorSVC().fit(X[train], y[train], costs[train])
        assert_allclose(model.coef_, by_hand.coef_, atol=1e-9)


def test_the_requests_are_the_row_parameters_of_the_prior():
    model = PriorSVC(SampleCosts().named("sensor") + ClassCosts("balanced") + SampleCosts())
    requests = model.get_metadata_routing().fit.requests
    wanted = {key for key, request in requests.items() if request is True}
    assert wanted == {
        "sensor__costs",
        "sensor__margins",
        "sample_costs__costs",
        "sample_costs__margins",
    }
    assert requests["sample_weight"] is None


# -------------------------------------------------------------------------------- searches


@pytest.mark.slow
def test_a_grid_search_reaches_a_blocks_parameter_and_weight_in_a_pipeline():
    X, y = two_classes(40)
    prior = InvarianceHint(Shift([0.0, 1.0, 0.0])).named("drift") + ClassCosts("balanced")
    pipe = Pipeline([("scale", StandardScaler()), ("svc", PriorSVC(prior))])
    grid = {"svc__prior__drift__mu": [0.01, 100.0], "svc__prior__class_costs__weight": [0.0, 1.0]}
    folds = KFold(2)
    search = GridSearchCV(pipe, grid, cv=folds, n_jobs=2, error_score="raise").fit(X, y)
    for i, params in enumerate(search.cv_results_["params"]):
        mu, weight = params["svc__prior__drift__mu"], params["svc__prior__class_costs__weight"]
        again = InvarianceHint(Shift([0.0, 1.0, 0.0]), mu=mu) + weight * ClassCosts("balanced")
        for k, (train, test) in enumerate(folds.split(X)):
            by_hand = Pipeline([("scale", StandardScaler()), ("svc", PriorSVC(again))])
            score = by_hand.fit(X[train], y[train]).score(X[test], y[test])
            assert search.cv_results_[f"split{k}_test_score"][i] == score
    best = search.best_estimator_["svc"].prior
    assert best["drift"].mu == search.best_params_["svc__prior__drift__mu"]
    assert prior["drift"].mu == 1.0  # the search works on copies


def test_a_grid_search_reaches_the_parameter_of_a_bare_block():
    X, y = two_classes()
    search = GridSearchCV(PriorSVC(OddnessHint()), {"prior__mu": [0.1, 10.0]}, cv=2).fit(X, y)
    assert search.best_estimator_.prior.mu == search.best_params_["prior__mu"]


def test_calibration_and_column_transformers_take_it():
    X, y = two_classes(80)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=np.where(X[:, 0] > 0, "up", "down"))
    columns = ColumnTransformer([("number", MinMaxScaler(), ["a", "b"]), ("word", OneHotEncoder(), ["kind"])])
    model = Pipeline([("columns", columns), ("svc", PriorSVC(ClassCosts("balanced"), kernel="rbf"))])
    calibrated = CalibratedClassifierCV(model, cv=3).fit(frame, y)
    chances = calibrated.predict_proba(frame)
    assert chances.shape == (80, 2)
    assert_allclose(chances.sum(axis=1), 1.0)
    scores = model.fit(frame, y).decision_function(frame)
    assert np.corrcoef(scores, chances[:, 1])[0, 1] > 0.9


def by_hand(model, X, y, rows, weight=None, cv=3):
    """Platt's method on each fold, as CalibratedClassifierCV does it, with sliced row parameters."""
    chances = []
    for train, test in StratifiedKFold(cv).split(X, y):
        given = {key: value[train] for key, value in rows.items()}
        part = None if weight is None else weight[train]
        fitted = clone(model).fit(X[train], y[train], sample_weight=part, **given)
        sigmoid = CalibratedClassifierCV(FrozenEstimator(fitted))
        sigmoid.fit(X[test], y[test], sample_weight=None if weight is None else weight[test])
        chances.append(sigmoid.predict_proba(X))
    return np.mean(chances, axis=0)


@ROUTING
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.filterwarnings("ignore:Since FrozenEstimator:UserWarning")
def test_calibration_slices_row_parameters(routing, weighted):
    X, y = two_classes(90)
    rng = np.random.default_rng(0)
    costs = rng.uniform(0.1, 1.0, 90)
    errors = rng.uniform(0.001, 0.1, (90, X.shape[1]))[:, :, None] * np.eye(X.shape[1])
    weight = rng.uniform(0.5, 2.0, 90) if weighted else None
    model = PriorSVC(SampleCosts() + UncertainSamples(confidence=0.7))
    rows = {"sample_costs__costs": costs, "uncertain_samples__covariance": errors}
    expected = by_hand(model, X, y, rows, weight)
    with config(routing):
        routed = model.set_fit_request(sample_weight=True) if routing and weighted else model
        calibrated = CalibratedClassifierCV(routed, cv=3)
        given = rows if weight is None else {**rows, "sample_weight": weight}
        calibrated.fit(X, y, **given)
    assert_allclose(calibrated.predict_proba(X), expected, atol=1e-4)
    plain = CalibratedClassifierCV(PriorSVC(), cv=3).fit(X, y).predict_proba(X)
    assert np.abs(plain - expected).max() > 1e-2


@ROUTING
def test_calibration_of_one_model_and_in_a_pipeline(routing):
    X, y = two_classes(90)
    costs = np.random.default_rng(0).uniform(0.1, 1.0, 90)
    with config(routing):
        one = CalibratedClassifierCV(PriorSVC(SampleCosts()), cv=3, ensemble=False)
        one.fit(X, y, sample_costs__costs=costs)
        [fitted] = one.calibrated_classifiers_
        assert_allclose(fitted.estimator.coef_, PriorSVC(SampleCosts(costs)).fit(X, y).coef_, atol=1e-6)
        pipe = CalibratedClassifierCV(make_pipeline(StandardScaler(), PriorSVC(SampleCosts())), cv=3)
        key = "sample_costs__costs" if routing else "priorsvc__sample_costs__costs"
        pipe.fit(X, y, **{key: costs})
    assert pipe.predict_proba(X).shape == (90, 2)


def test_calibration_of_rules_chosen_weights_and_classes():
    X, y = load_iris(return_X_y=True)
    rule = Rule("x3 >= 2", label=2)
    chances = CalibratedClassifierCV(PriorSVC(rule), cv=3).fit(X, y).predict_proba(X)
    assert_allclose(chances.sum(axis=1), 1.0)
    assert (chances.argmax(axis=1) == y).mean() > 0.8
    with pytest.raises(InvalidInput, match="there are 100 training rows"):
        CalibratedClassifierCV(PriorSVC(SampleCosts(np.ones(150))), cv=3).fit(X, y)


# -------------------------------------------------------------------------------- copies

BLOCKS = {
    "none": (None, {}),
    "rows, LIBSVM": (ClassCosts({1: 3.0}) + 0.5 * VirtualSamples(Shift([0.1, 0.0, 0.0])), {}),
    "rows, CLARABEL": (ClassCosts({1: 3.0}), {"solver": "CLARABEL", "kernel": "rbf"}),
    "hint": (InvarianceHint(Shift([0.0, 1.0, 0.0])), {"kernel": RBF(0.5), "scale": "standard"}),
    "drawn pairs, hard": (MonotonicityHint({0: 1}, hard=True), {"kernel": Polynomial(2), "C": 0.1}),
    "1-norm": (OddnessHint(hard=True), {"norm": "l1", "loss": "squared_hinge"}),
    "iterative": (VirtualSupportVectors(Shift([0.1, 0.0, 0.0])), {"kernel": "rbf"}),
    "transductive": (Transductive(np.eye(4, 3)), {}),
}
FITTED = pytest.mark.parametrize(("prior", "parameters"), BLOCKS.values(), ids=BLOCKS.keys())


@FITTED
def test_clones_are_equal_and_unfitted(prior, parameters):
    X, y = two_classes()
    model = PriorSVC(prior, **parameters).fit(X, y)
    copied = clone(model)
    assert not hasattr(copied, "classes_")
    assert repr(copied) == repr(model)
    assert copied.prior is not model.prior or model.prior is None
    assert_array_equal(copied.fit(X, y).decision_function(X), model.decision_function(X))


def by_joblib(model, tmp_path):
    joblib.dump(model, tmp_path / "model.joblib")
    return joblib.load(tmp_path / "model.joblib")


COPIES = pytest.mark.parametrize(
    "copied",
    [lambda m, _: pickle.loads(pickle.dumps(m)), lambda m, _: copy.deepcopy(m), by_joblib],
    ids=["pickle", "deepcopy", "joblib"],
)


@COPIES
@FITTED
def test_copies_of_a_fitted_model_are_that_model(prior, parameters, copied, tmp_path):
    X, y = two_classes()
    model = PriorSVC(prior, **parameters).fit(X, y)
    again = copied(model, tmp_path)
    assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.objective_ == model.objective_
    assert again.history_ == model.history_
    assert str(again.report_) == str(model.report_)
    assert str(again.formulation()) == str(model.formulation())
    assert str(again.verify()) == str(model.verify())
    assert_array_equal(again.support_, model.support_)
    assert (again.solver_, again.status_, again.n_rounds_) == (model.solver_, model.status_, model.n_rounds_)


@FITTED
def test_the_problem_is_rebuilt_after_unpickling(prior, parameters):
    X, y = two_classes()
    model = PriorSVC(prior, tol=1e-9, **parameters).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    again.problem.solve(solver="CLARABEL", tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    assert again.problem.value == pytest.approx(model.objective_, rel=1e-6)
    labels = [c.label for c in model.problem.constraints]
    assert [c.label for c in again.problem.constraints] == labels


@pytest.mark.slow
@COPIES
@FITTED
def test_copies_of_an_unfitted_model_can_be_fitted(prior, parameters, copied, tmp_path):
    X, y = two_classes()
    model = PriorSVC(prior, **parameters)
    again = copied(model, tmp_path).fit(X, y)
    assert not hasattr(model, "classes_")
    assert_array_equal(again.decision_function(X), model.fit(X, y).decision_function(X))


def test_a_second_fit_forgets_the_first():
    X, y = two_classes()
    model = PriorSVC().fit(pd.DataFrame(X, columns=list("abc")), y)
    model.set_params(kernel="rbf").fit(X[:, :2], np.where(y == 1, "x", "y"))
    fresh = PriorSVC(kernel="rbf").fit(X[:, :2], np.where(y == 1, "x", "y"))
    assert model.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")
    assert not hasattr(model, "coef_")
    assert_array_equal(model.classes_, ["x", "y"])
    assert_array_equal(model.decision_function(X[:, :2]), fresh.decision_function(X[:, :2]))


# -------------------------------------------------------------------------------- parameters


def test_parameters_are_reached_by_name():
    prior = 0.5 * InvarianceHint(Shift([1.0, 0.0, 0.0]), mu=3.0).named("drift") + ClassCosts("balanced")
    model = PriorSVC(prior, C=2.0, kernel=RBF(0.5))
    params = model.get_params()
    assert params["prior__drift__mu"] == 3.0
    assert params["prior__drift__weight"] == 0.5
    assert params["prior__class_costs__weight"] == 1.0
    assert params["prior__drift__transform__steps"] == 3
    assert params["kernel__gamma"] == 0.5
    model.set_params(prior__drift__mu=7.0, prior__drift__weight=2.0, kernel__gamma=0.1, C=1.0)
    model.set_params(prior__drift__transform__steps=5, prior__class_costs=ClassCosts({0: 2.0}))
    assert model.prior["drift"].mu == 7.0
    assert [m.weight for m in model.prior] == [2.0, 1.0]
    assert model.prior["drift"].transform.steps == 5
    assert model.prior["class_costs"].costs == {0: 2.0}
    assert model.kernel.gamma == 0.1
    assert model.C == 1.0


def test_every_parameter_is_stored_untouched():
    values = {
        "prior": ClassCosts({}),
        "C": np.float32(3),
        "kernel": RBF(),
        "norm": "l1",
        "loss": "squared_hinge",
        "scale": "minmax",
        "categories": None,
        "n_centres": 7,
        "multi_class": "ovr",
        "preselect": True,
        "solver": ["CLARABEL", "SCS"],
        "solver_options": {"max_iter": 7},
        "tol": 1e-3,
        "max_rounds": 3,
        "max_seconds": 60.0,
        "n_jobs": 2,
        "memory_limit": "1 GB",
        "verbose": 1,
        "random_state": 5,
    }
    model = PriorSVC(**values)
    assert all(getattr(model, name) is value for name, value in values.items())
    assert model.get_params(deep=False).keys() == values.keys()


def test_a_class_with_other_parameters_has_its_own_names(monkeypatch):
    class OfOneCost(PriorSVC):
        def __init__(self, C=3.0):
            super().__init__(C=C)

    assert OfOneCost().get_params(deep=False) == {"C": 3.0}
    assert "tol" in PriorSVC().get_params(deep=False)
    # A signature is read once: scikit-learn's clone, and so every model of a path, would read it twice.
    monkeypatch.setattr(PriorSVC, "_get_param_names", None)
    assert clone(PriorSVC(C=2.0)).C == 2.0


def test_the_prior_shows_in_text_and_html():
    model = PriorSVC(0.5 * OddnessHint(mu=3.0) + ClassCosts({1: 2}).named("ill"))
    assert "0.5 * OddnessHint(mu=3.0) + ClassCosts(costs={1: 2}).named('ill')" in repr(model.prior)
    html = model._repr_html_()
    assert "PriorSVC" in html
    assert "OddnessHint(mu=3.0)" in html
    assert "fitted" in model.fit(*two_classes())._repr_html_()
    assert "PriorSVC" in Pipeline([("svc", model)])._repr_html_()


# -------------------------------------------------------------------------------- labels and frames

Y = two_classes()[1]


@pytest.mark.parametrize(
    "labels",
    [
        np.where(Y == 1, "well", "ill"),
        np.where(Y == 1, "well", "ill").astype(object),
        Y.astype(bool),
        np.where(Y == 1, 7, -3),
        np.where(Y == 1, 2.0, 1.0),
        pd.Series(np.where(Y == 1, "well", "ill")),
        pd.Series(np.where(Y == 1, "well", "ill"), dtype="category"),
        pd.Series(Y.astype(bool)),
        list(np.where(Y == 1, "well", "ill")),
    ],
    ids=["str", "object", "bool", "int", "float", "series", "category", "bool series", "list"],
)
@pytest.mark.parametrize("solver", ["LIBSVM", "CLARABEL"])
def test_labels_of_any_kind(labels, solver):
    X, y = two_classes()
    model = PriorSVC(solver=solver, tol=1e-9).fit(X, labels)
    plain = PriorSVC(solver=solver, tol=1e-9).fit(X, y)
    assert_array_equal(model.classes_, np.unique(np.asarray(labels)))
    assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-9)
    assert_array_equal(model.predict(X), model.classes_[plain.predict(X)])
    assert model.score(X, labels) == plain.score(X, y)


@pytest.mark.parametrize(("low", "high"), [(False, True), ("ill", "well"), (-3, 7)])
def test_blocks_speak_of_the_labels_as_the_user_writes_them(low, high):
    X, y = two_classes()
    labels = np.where(y == 1, np.array(high), np.array(low))
    extra = np.array([[0.5, 0.0, 0.0], [-0.5, 0.3, 0.1]])
    written = (
        ClassCosts({high: 3.0}) + UnlabeledSamples(extra, [high, low]) + UnlabeledSamples(extra[:1], high)
    )
    counted = ClassCosts({1: 3.0}) + UnlabeledSamples(extra, [1, 0]) + UnlabeledSamples(extra[:1], 1)
    a, b = PriorSVC(written).fit(X, labels), PriorSVC(counted).fit(X, y)
    assert_allclose(a.coef_, b.coef_, atol=1e-12)
    down = PriorSVC(MonotonicityHint({0: -1}, hard=True, label=low)).fit(X, labels)
    assert down.coef_[0, 0] > -1e-7  # the score of the lower class falls, so f rises


def test_frames_keep_their_columns_names():
    X, y = two_classes()
    frame = pd.DataFrame(X, columns=["dose", "age", "noise"])
    model = PriorSVC(MonotonicityHint({"noise": -1, "age": +1}, hard=True)).fit(frame, y)
    by_index = PriorSVC(MonotonicityHint({2: -1, 1: +1}, hard=True)).fit(X, y)
    assert_array_equal(model.feature_names_in_, ["dose", "age", "noise"])
    assert_allclose(model.coef_, by_index.coef_, atol=1e-9)
    assert model.coef_[0, 2] < 1e-7
    assert model.coef_[0, 1] > -1e-7
    assert_array_equal(model.predict(frame), by_index.predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["age", "dose", "noise"]])


def test_points_in_a_frame_are_points_in_an_array():
    X, y = two_classes()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    extra = pd.DataFrame([[0.5, 0.0, 0.0]], columns=["a", "b", "c"])
    a = PriorSVC(UnlabeledSamples(extra, 1)).fit(frame, y)
    b = PriorSVC(UnlabeledSamples(extra.to_numpy(), 1)).fit(X, y)
    assert_allclose(a.coef_, b.coef_, rtol=1e-12)


@pytest.mark.parametrize("block", [lambda X: UnlabeledSamples(X, 1), Transductive], ids=["supposed", "found"])
def test_points_in_a_frame_with_other_columns_are_refused(block):
    X, y = two_classes()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    extra = pd.DataFrame([[0.5, 9.0, 0.0]], columns=["b", "a", "c"])
    with pytest.raises(priorsvm.errors.InvalidInput, match="column"):
        PriorSVC(block(extra)).fit(frame, y)


# -------------------------------------------------------------------------------- sample_weight

MACHINES = {
    "linear": {},
    "linear, CLARABEL": {"solver": "CLARABEL"},
    "rbf, gamma and scale from the rows": {"kernel": "rbf", "scale": "standard"},
    "rbf, minmax, CLARABEL": {"kernel": "rbf", "scale": "minmax", "solver": "CLARABEL"},
    "squared hinge": {"loss": "squared_hinge", "scale": "standard"},
    "1-norm": {"norm": "l1", "scale": "standard"},
    "1-norm, rbf": {"norm": "l1", "kernel": RBF(0.5), "C": 5.0},
    "balanced": {"prior": ClassCosts("balanced"), "kernel": "rbf"},
    "brown": {"prior": ClassCosts("brown"), "loss": "squared_hinge"},
    "virtual samples": {"prior": VirtualSamples(Shift([0.2, 0.0, 0.0]))},
    "virtual support vectors": {"prior": VirtualSupportVectors(Shift([0.2, 0.0, 0.0])), "kernel": "rbf"},
}

# Of two equal rows, one can be a support vector without the other.
TWICE = [pytest.param(p, id=name) for name, p in MACHINES.items() if name != "virtual support vectors"]
ABSENT = [pytest.param(p, id=name) for name, p in MACHINES.items()]


@pytest.mark.parametrize("parameters", TWICE)
def test_a_weight_of_two_is_a_row_that_is_there_twice(parameters):
    X, y = two_classes(40)
    times = np.random.default_rng(3).integers(1, 4, len(y))
    weighted = PriorSVC(**parameters, tol=1e-8).fit(X, y, times.astype(float))
    repeated = PriorSVC(**parameters, tol=1e-8).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-4)
    plain = PriorSVC(**parameters, tol=1e-8).fit(X, y)
    assert np.abs(weighted.decision_function(X) - plain.decision_function(X)).max() > 1e-2


@pytest.mark.parametrize("parameters", ABSENT)
def test_a_weight_of_zero_is_a_row_that_is_not_there(parameters):
    X, y = two_classes(40)
    kept = np.arange(len(y)) % 2 != 0
    weighted = PriorSVC(**parameters, tol=1e-8).fit(X, y, kept.astype(float))
    removed = PriorSVC(**parameters, tol=1e-8).fit(X[kept], y[kept])
    assert weighted.objective_ == pytest.approx(removed.objective_, rel=1e-6)
    assert_allclose(weighted.decision_function(X), removed.decision_function(X), atol=1e-4)


def test_weights_costs_and_class_costs_multiply():
    X, y, costs, _ = weighted_problem()
    weight = np.random.default_rng(5).uniform(0.5, 2.0, len(y))
    together = PriorSVC(SampleCosts(costs) + ClassCosts({1: 3.0}), tol=1e-9).fit(X, y, weight)
    product = PriorSVC(tol=1e-9).fit(X, y, weight * costs * np.where(y == 1, 3.0, 1.0))
    assert_allclose(together.coef_, product.coef_, atol=1e-9)
    reference = SVC(kernel="linear", tol=1e-10).fit(X, y, weight * costs * np.where(y == 1, 3.0, 1.0))
    assert_allclose(together.coef_, reference.coef_, atol=1e-5)


# -------------------------------------------------------------------------------- several classes


@pytest.mark.parametrize("solver", ["LIBSVM", "CLARABEL"])
@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        ("linear", {"kernel": "linear"}),
        ("rbf", {"kernel": "rbf"}),
        (Polynomial(2, gamma=0.1, coef0=1.0), {"kernel": "poly", "degree": 2, "gamma": 0.1, "coef0": 1.0}),
    ],
    ids=["linear", "rbf", "poly"],
)
def test_several_classes_are_one_vs_rest(kernel, reference, solver):
    X, y = three_classes()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = PriorSVC(kernel=kernel, solver=solver, tol=1e-9).fit(X, y)
    ovr = OneVsRestClassifier(SVC(**reference, tol=1e-10)).fit(X, y)
    assert_allclose(model.decision_function(X), ovr.decision_function(X), atol=1e-4)  # LIBSVM's own rounding
    assert_array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])
    assert_array_equal(model.predict(X), ovr.predict(X))


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "rbf"},
        {"prior": ClassCosts("balanced") + VirtualSamples(Shift([0.1, 0, 0, 0])), "scale": "standard"},
        {"prior": InvarianceHint(Shift([0.1, 0, 0, 0])), "kernel": "rbf", "preselect": True},
        {"prior": MonotonicityHint({0: 1}, label=2), "random_state": 3, "kernel": "rbf"},
    ],
    ids=["plain", "rows", "hint", "drawn pairs"],
)
def test_processes_give_what_one_process_gives(monkeypatch, parameters):
    monkeypatch.setattr(training._Processes, "worth", -1.0)
    monkeypatch.setattr(training._Threads, "worth", -1.0)
    X, y = three_classes()
    alone, together = PriorSVC(**parameters).fit(X, y), PriorSVC(**parameters, n_jobs=2).fit(X, y)
    assert_allclose(together.decision_function(X), alone.decision_function(X), atol=1e-7)
    assert_allclose(together.objective_, alone.objective_, rtol=1e-9)
    assert together.solver_ == alone.solver_
    assert together.status_ == alone.status_ == ["optimal"] * 3
    assert [r.block for r in together.report_.rows] == [r.block for r in alone.report_.rows]
    assert [p.is_dcp() for p in together.problem] == [True] * 3


def test_what_is_one_value_for_two_classes_is_a_list_for_more():
    X, y = three_classes()
    many, two = PriorSVC().fit(X, y), PriorSVC().fit(X, y == 1)
    for name in ("solver_", "status_", "n_rounds_", "objective_", "history_", "problem"):
        assert len(getattr(many, name)) == 3
    assert isinstance(two.objective_, float)
    assert isinstance(two.history_[0], dict)
    assert isinstance(many.history_[0][0], dict)
    assert two.problem.is_dcp()


def test_shapes():
    X, y = three_classes()
    many, two = PriorSVC().fit(X, y), PriorSVC().fit(X, y == 1)
    assert many.decision_function(X[:5]).shape == (5, 3)
    assert two.decision_function(X[:5]).shape == (5,)
    assert many.decision_function(X[:1]).shape == (1, 3)
    assert (many.coef_.shape, many.intercept_.shape) == ((3, 4), (3,))
    assert (two.coef_.shape, two.intercept_.shape) == ((1, 4), (1,))
    many, two = many.set_params(kernel="rbf").fit(X, y), two.set_params(kernel="rbf").fit(X, y == 1)
    assert many.dual_coef_.shape == (3, len(many.centres_))
    assert two.dual_coef_.shape == (1, len(two.centres_))
    assert (many.intercept_.shape, two.intercept_.shape) == ((3,), (1,))


# -------------------------------------------------------------------------------- attributes

SCALES = pytest.mark.parametrize("scale", [None, "standard", "minmax"])
SOLVERS = pytest.mark.parametrize("solver", ["LIBSVM", "CLARABEL"])
DATA = pytest.mark.parametrize("data", [two_classes, three_classes], ids=["two classes", "three classes"])


@DATA
@SCALES
@SOLVERS
def test_coef_and_intercept_are_the_decision_function_in_the_units_of_x(data, scale, solver):
    X, y = data()
    X = X * np.geomspace(0.1, 100, X.shape[1]) + 5
    prior = VirtualSamples(Shift(0.1 * X.std(axis=0)))
    model = PriorSVC(prior, scale=scale, solver=solver, C=0.5).fit(X, y)
    scores = X @ model.coef_.T + model.intercept_
    assert_allclose(model.decision_function(X), scores[:, 0] if len(model.coef_) == 1 else scores, rtol=1e-9)
    for name in ("centres_", "dual_coef_"):
        assert not hasattr(model, name)


@DATA
@SOLVERS
@pytest.mark.parametrize("kernel", ["rbf", Polynomial(2), lambda A, B: (1 + A @ B.T) ** 2])
def test_dual_coef_and_centres_are_the_decision_function(data, solver, kernel):
    X, y = data()
    prior = VirtualSamples(Shift(0.1 * X.std(axis=0)))
    model = PriorSVC(prior, kernel=kernel, solver=solver, C=0.5).fit(X, y)
    scores = model.kernel_(X, model.centres_) @ model.dual_coef_.T + model.intercept_
    expected = scores[:, 0] if len(model.dual_coef_) == 1 else scores
    assert_allclose(model.decision_function(X), expected, atol=1e-8)
    assert not hasattr(model, "coef_")


@SCALES
def test_dual_coef_with_scale_belongs_to_scaled_rows_and_centres(scale):
    X, y = two_classes()
    X = X * [1.0, 10.0, 100.0]
    model = PriorSVC(kernel=RBF(0.5), scale=scale).fit(X, y)
    scaler = {"standard": StandardScaler, "minmax": MinMaxScaler}.get(scale)
    inner = (lambda Z: Z) if scaler is None else scaler().fit(X).transform
    scores = model.kernel_(inner(X), inner(model.centres_)) @ model.dual_coef_[0] + model.intercept_
    assert_allclose(model.decision_function(X), scores, atol=1e-9)


def test_dual_coef_where_zero_has_two_signs():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [-1.0, 0.3], [0.5, -2.0]])
    model = PriorSVC(kernel="rbf").fit(X, [0, 1, 1, 0, 1, 0])
    scores = model.kernel_(X, model.centres_) @ model.dual_coef_[0] + model.intercept_
    assert_allclose(model.decision_function(X), scores, atol=1e-9)


@SOLVERS
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_support_rows_are_those_on_or_inside_the_margin(solver, kernel):
    X, y = two_classes()
    model = PriorSVC(kernel=kernel, solver=solver, tol=1e-9).fit(X, y)
    reference = SVC(kernel=kernel, tol=1e-10).fit(X, y)
    assert_array_equal(model.support_, reference.support_[np.argsort(reference.support_)])
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    outside = np.setdiff1d(np.arange(len(y)), model.support_)
    assert margins[model.support_].max() < 1 + 1e-5
    assert margins[outside].min() > 1 - 1e-5


def test_support_rows_are_training_rows_of_any_class():
    X, y = three_classes()
    model = PriorSVC(UnlabeledSamples(X[:5] + 0.1, y[:5]), kernel="rbf", tol=1e-9).fit(X, y)
    expected = set()
    for k in model.classes_:
        rows = np.vstack([X, X[:5] + 0.1])
        binary = SVC(tol=1e-10, gamma=model.kernel_.gamma).fit(rows, np.r_[y, y[:5]] == k)
        expected |= {int(i) for i in binary.support_ if i < len(y)}
    assert_array_equal(model.support_, sorted(expected))


@SOLVERS
def test_support_rows_of_small_cost_count_too(solver):
    X, y = two_classes()
    costs = np.where(np.arange(len(y)) < 30, 1e-7, 1.0)
    model = PriorSVC(SampleCosts(costs), solver=solver, tol=1e-9).fit(X, y)
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert set(np.flatnonzero(margins < 1 - 1e-3)) <= set(model.support_)


def test_a_prior_is_iterable_and_sized():
    prior = Prior([("a", OddnessHint()), ("b", ClassCosts({}))], {"b": 2.0})
    assert [(m.name, m.weight) for m in prior] == [("a", 1.0), ("b", 2.0)]
    assert len(prior) == 2
    assert clone(prior).names == ["a", "b"]


def test_tools_that_rename_classes_are_named_with_the_way_out():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "ill", "well")
    model = PriorSVC(Rule("x0 > 1", "ill", mu=1.0))
    with pytest.raises(InvalidInput, match=r"'ill' .*0, 1.*ensemble=True.*cross_val_predict.*y as 0 and 1"):
        cross_val_predict(model, X, y, method="decision_function", cv=3)
    ones = (y == "ill").astype(int)
    other = PriorSVC(Rule("x0 > 1", 1, mu=1.0))
    scores = cross_val_predict(other, X, ones, method="decision_function", cv=3)
    assert scores.shape == (60,)


@pytest.mark.parametrize("kind", [BaggingClassifier, AdaBoostClassifier])
@pytest.mark.parametrize("block", [Rule("age > 1", 1), Box({"age": (1, 2)}, 1)], ids=["rule", "box"])
def test_ensembles_that_remove_the_names_of_columns_are_named_with_the_way_out(kind, block):
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["age", "bmi"])
    labels = (rows["age"] > 0).astype(int)
    with pytest.raises(InvalidInput, match=kind.__name__):
        kind(PriorSVC(block), n_estimators=2).fit(rows, labels)
    way_out = Rule("age > 1", 1, columns=["age", "bmi"]) if isinstance(block, Rule) else Box({0: (1, 2)}, 1)
    assert kind(PriorSVC(way_out), n_estimators=2).fit(rows, labels).score(rows, labels) > 0.8
