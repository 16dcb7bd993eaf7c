"""A loaded model equals the saved model to the last bit."""

import pickle
import subprocess
import sys
from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import priorsvm
from priorsvm import (
    RBF,
    Bhattacharyya,
    Box,
    ClassCosts,
    Ellipsoid,
    FeatureDeletion,
    FromFunction,
    HaarIntegration,
    InvarianceHint,
    InvariantLoss,
    Jitter,
    Linear,
    MissingValues,
    Monotone,
    MonotonicityHint,
    NegativeDistance,
    OddnessHint,
    Polyhedron,
    Polynomial,
    PrincipalAngles,
    Prior,
    PriorSVC,
    Region,
    RowPermutations,
    Rule,
    SampleCosts,
    Shift,
    TangentDistance,
    TangentInvariant,
    TangentPenalty,
    TangentVector,
    Trajectories,
    Transductive,
    Translation,
    UncertainSamples,
    UnlabeledSamples,
    VirtualSamples,
    VirtualSupportVectors,
    load,
    save,
)
from priorsvm.errors import BadFile, InvalidType
from priorsvm.io.persist import TRUSTED
from priorsvm.prior import as_prior

skops = pytest.importorskip("skops.io")

RNG = np.random.default_rng(7)
X = RNG.normal(size=(30, 2))
NEW = RNG.normal(size=(50, 2))
WORDS = np.where(X[:, 0] + 0.4 * RNG.normal(size=30) > 0, "ill", "well")
THREE = np.where(X[:, 1] > 0.8, "other", WORDS)
FRAME = pd.DataFrame(X, columns=["glucose", "bmi"])
HOLES = X.copy()
HOLES[[1, 5], [0, 1]] = np.nan
IMAGES = RNG.normal(size=(24, 16))
UP = (IMAGES[:, :8].sum(axis=1) > 0).astype(int)
SETS = RNG.normal(size=(12, 4, 2))
SIDE = (SETS.mean(axis=(1, 2)) > 0).astype(int)
STEP = Shift([0.2, 0.0])
MOVE = Translation((4, 4), 1)

MODELS = {
    "linear": (PriorSVC(), X, WORDS, NEW),
    "kernel": (PriorSVC(kernel="rbf", scale="standard"), X, WORDS, NEW),
    "squared": (PriorSVC(loss="squared_hinge", kernel="poly", scale="minmax"), X, WORDS, NEW),
    "l1": (PriorSVC(norm="l1"), X, WORDS, NEW),
    "l1 kernel": (PriorSVC(norm="l1", kernel=NegativeDistance()), X, WORDS, NEW),
    "centred kernel": (PriorSVC(kernel=NegativeDistance()), X, WORDS, NEW),
    "centred kernel, three classes": (PriorSVC(kernel=NegativeDistance(1.5)), X, THREE, NEW),
    "precomputed": (PriorSVC(ClassCosts("balanced"), kernel="precomputed"), X @ X.T, WORDS, NEW @ X.T),
    "precomputed cpd": (
        PriorSVC(kernel="precomputed"),
        NegativeDistance()(X),
        THREE,
        NegativeDistance()(NEW, X),
    ),
    "precomputed l1": (PriorSVC(kernel="precomputed", norm="l1"), X @ X.T, WORDS, NEW @ X.T),
    "precomputed frame": (
        PriorSVC(kernel="precomputed"),
        pd.DataFrame(X @ X.T).add_prefix("s"),
        WORDS,
        pd.DataFrame(NEW @ X.T).add_prefix("s"),
    ),
    "costs of rows": (PriorSVC(SampleCosts(np.linspace(0.5, 2.0, len(X)))), X, WORDS, NEW),
    "three classes": (PriorSVC(ClassCosts({"other": 2}), kernel="rbf"), X, THREE, NEW),
    "one against one": (
        PriorSVC(
            Box({0: (0, 1)}, label="other", holds="everywhere") + ClassCosts({"other": 2}),
            kernel="rbf",
            multi_class="ovo",
        ),
        X,
        THREE,
        NEW,
    ),
    "deletions": (PriorSVC(InvariantLoss(FeatureDeletion(1)), kernel="rbf"), X, WORDS, NEW),
    "joint": (PriorSVC(InvariantLoss(STEP), multi_class="joint"), X, THREE, NEW),
    "joint kernel": (PriorSVC(multi_class="joint", kernel="rbf"), X, THREE, NEW),
    "joint with added rows": (
        PriorSVC(
            VirtualSamples(STEP) + UnlabeledSamples([[0.0, 1.0]], "other") + InvariantLoss(STEP, 0.5, 2.0),
            multi_class="joint",
        ),
        X,
        THREE,
        NEW,
    ),
    "passes with a kernel": (
        PriorSVC(InvariantLoss(STEP, method="pegasos"), C=0.1, kernel="rbf", tol=0.5),
        X,
        WORDS,
        NEW,
    ),
    "joint passes": (
        PriorSVC(
            InvariantLoss(STEP, method="pegasos", confusion_scaling={("ill", "well"): 2.0}),
            multi_class="joint",
            C=0.1,
            tol=0.5,
            scale="standard",
        ),
        X,
        THREE,
        NEW,
    ),
    "truth values": (PriorSVC(ClassCosts({False: 2.0, True: 3.0})), X, WORDS == "ill", NEW),
    "sparse": (PriorSVC(ClassCosts({1: 2})), csr_array(X), np.sign(X[:, 0]).astype(int), csr_matrix(NEW)),
    "few centres": (PriorSVC(kernel="rbf", n_centres=5, random_state=3), X, WORDS, NEW),
    "a sum of kernels": (PriorSVC(kernel=RBF() + 0.5 * Linear() * Polynomial(2)), X, WORDS, NEW),
    "preselect": (PriorSVC(preselect=True, kernel="rbf", solver="CLARABEL"), X, WORDS, NEW),
    "named and weighted": (
        PriorSVC(
            ClassCosts("balanced")
            + 0.5 * Box({"glucose": (1, None)}, "ill", holds="everywhere").named("high")
            + Polyhedron([[1.0, 0.0]], [-1.0], "well", holds="everywhere").named("low")
            + 0 * OddnessHint(),
            scale="standard",
        ),
        FRAME,
        WORDS,
        FRAME + 0.3,
    ),
    "rule": (
        PriorSVC(Rule("glucose >= 1 and bmi >= 0", "ill", holds="everywhere")),
        FRAME,
        WORDS,
        FRAME - 0.2,
    ),
    "rule on rows": (PriorSVC(Rule("glucose >= 1 or bmi >= 1", "ill")), FRAME, WORDS, FRAME - 0.2),
    "unlabelled rows": (PriorSVC(Box({0: (1, None)}, "ill", unlabeled=NEW), kernel="rbf"), X, WORDS, NEW),
    "monotone on rows": (PriorSVC(Monotone({0: -1}), kernel="rbf"), X, WORDS, NEW),
    "hard on rows": (
        PriorSVC(Box({0: (2, 3)}, "ill", hard=True, holds="rows"), kernel="rbf"),
        X,
        WORDS,
        NEW,
    ),
    "cuts": (PriorSVC(Box({0: (1, None)}, "ill", holds="everywhere"), kernel="rbf"), X, WORDS, NEW),
    "guaranteed": (
        PriorSVC(Box({0: (1, 2), 1: (0, 1)}, "ill", method="guaranteed"), kernel="rbf"),
        X,
        WORDS,
        NEW,
    ),
    "ellipsoid": (PriorSVC(Ellipsoid([2, 0], 0.1 * np.eye(2), "ill", holds="everywhere")), X, WORDS, NEW),
    "monotone": (PriorSVC(Monotone({0: -1}, method="points"), kernel="rbf"), X, WORDS, NEW),
    "ufunc": (PriorSVC(Region(np.negative, X[:4], "ill")), X, WORDS, NEW),
    "uncertain": (PriorSVC(UncertainSamples(0.1 * np.eye(2)), kernel="rbf"), X, WORDS, NEW),
    "missing": (PriorSVC(MissingValues()), HOLES, WORDS, np.where(NEW > 1.2, np.nan, NEW)),
    "trajectories": (PriorSVC(Trajectories(STEP)), X, WORDS, NEW),
    "invariant": (PriorSVC(InvariantLoss(STEP @ Shift([0.0, 0.1])), kernel="rbf"), X, WORDS, NEW),
    "deletion": (PriorSVC(InvariantLoss(FeatureDeletion(1))), X, WORDS, NEW),
    "tangents": (PriorSVC(TangentPenalty(STEP, 1.0), kernel="rbf"), X, WORDS, NEW),
    "virtual": (
        PriorSVC(VirtualSamples(STEP) + VirtualSupportVectors(STEP | STEP)),
        X,
        WORDS,
        NEW,
    ),
    "unlabelled": (PriorSVC(UnlabeledSamples(NEW[:3], WORDS[:3])), X, WORDS, NEW),
    "transductive": (PriorSVC(Transductive(NEW[:8])), X, WORDS, NEW),
    "hints": (PriorSVC(InvarianceHint(STEP) + OddnessHint() + MonotonicityHint({0: -1})), X, WORDS, NEW),
    "permutations": (PriorSVC(RowPermutations(shape=(4, 4))), IMAGES, UP, IMAGES[::-1] + 0.1),
    "haar": (PriorSVC(kernel=HaarIntegration(RBF(0.1), MOVE)), IMAGES, UP, IMAGES + 0.1),
    "jitter": (PriorSVC(kernel=Jitter(RBF(0.1), MOVE, psd="clip")), IMAGES, UP, IMAGES + 0.1),
    "tangent distance": (PriorSVC(kernel=TangentDistance(0.1, MOVE, psd="shift")), IMAGES, UP, IMAGES + 0.1),
    "one-sided tangent distance": (
        PriorSVC(kernel=TangentDistance(0.1, MOVE, sides=1, bounds=0.5, symmetric=False), norm="l1"),
        IMAGES,
        UP,
        IMAGES + 0.1,
    ),
    "tangent vector": (PriorSVC(kernel=TangentVector(0.1, MOVE, 1.0), norm="l1"), IMAGES, UP, IMAGES + 0.1),
    "tangent invariant": (PriorSVC(kernel=TangentInvariant(RBF(0.1), MOVE, 1.0)), IMAGES, UP, IMAGES + 0.1),
    "sets": (PriorSVC(kernel=Bhattacharyya()), SETS, SIDE, SETS[:, ::-1] + 0.1),
    "angles": (PriorSVC(kernel=PrincipalAngles(n_directions=1)), list(SETS), SIDE, list(SETS[:, :3])),
}


def same(a, b):
    """Return whether two values are equal to the last bit, NaN included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray) and a.dtype != object:
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if issparse(a):
        return same(a.toarray(), b.toarray())
    if isinstance(a, (list, tuple, np.ndarray)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if is_dataclass(a):
        kept = [field.name for field in fields(a) if field.name not in ("compiled", "_values")]
        return all(same(getattr(a, name), getattr(b, name)) for name in kept)
    if isinstance(a, BaseEstimator) or type(a).__module__.startswith("priorsvm."):
        return same(vars(a), vars(b))
    return a == b or (a != a and b != b)


def answers(model, rows):
    scores = model.decision_function(rows)
    return {
        "scores": scores,
        "classes": model.predict(rows),
        "report": str(model.report_),
        "frame": model.report_.to_frame().to_json(),
        "verify": str(model.verify()),
        "formulation": str(model.formulation()),
        "history": model.history_,
        "findings": model.findings_,
        "objective": model.objective_,
        "support": model.support_,
        "intercept": model.intercept_,
        "names": list(getattr(model, "feature_names_in_", [])),
    }


def test_every_public_block_is_in_a_saved_model():
    public = [getattr(priorsvm, name) for name in priorsvm.__all__]
    blocks = {kind for kind in public if isinstance(kind, type) and issubclass(kind, priorsvm.Knowledge)}
    saved = {type(member.block) for model, *_ in MODELS.values() for member in as_prior(model.prior)}
    missing = sorted(kind.__name__ for kind in blocks - saved - {priorsvm.Knowledge})
    assert not missing, f"Add {', '.join(missing)} to MODELS of this file."


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_a_loaded_model_is_equal_to_the_last_bit(name, file):
    model, rows, labels, new = MODELS[name]
    model.fit(rows, labels)
    expected = answers(model, new)
    save(model, file)
    loaded = load(file)
    found = answers(loaded, new)
    # The last bit of a sum depends on the address of the array in memory.
    assert found.pop("objective") == pytest.approx(expected.pop("objective"), rel=1e-14, abs=0)
    assert same(found, expected)
    assert same(loaded, model)
    assert repr(loaded) == repr(model)


@pytest.mark.slow
def test_another_process_returns_the_same_scores(saved, tmp_path):
    np.save(tmp_path / "rows.npy", NEW)
    code = f"""
import sys
import numpy as np
import priorsvm
model = priorsvm.load({str(saved)!r})
sys.stdout.write(model.decision_function(np.load({str(tmp_path / "rows.npy")!r})).tobytes().hex())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == load(saved).decision_function(NEW).tobytes().hex()


def test_the_comparison_sees_a_last_bit():
    a, b = np.array([1.0, np.nan]), np.array([np.nextafter(1.0, 2), np.nan])
    assert same(a, a.copy())
    assert not same(a, b)
    assert not same({"a": [a]}, {"a": [b]})
    assert not same(PriorSVC(C=1.0), PriorSVC(C=2.0))


def test_the_problem_is_built_again(saved):
    assert "box.points" in [constraint.label for constraint in load(saved).problem.constraints]


def test_the_state_of_a_random_generator_is_kept(file):
    model = PriorSVC(random_state=np.random.RandomState(3))
    save(model, file)
    assert load(file).random_state.randint(1000) == model.random_state.randint(1000)


def test_a_model_can_be_fitted_again_and_searched_over(saved):
    model = load(saved).set_params(prior__box__mu=3.0)
    model.fit(X, WORDS)
    assert model.get_params()["prior__box__mu"] == 3.0


def test_a_model_saved_twice_is_the_same(saved, tmp_path):
    again = tmp_path / "again.skops"
    save(load(saved), again)
    assert same(load(again), load(saved))


@pytest.mark.parametrize(
    "thing",
    [
        PriorSVC(
            Rule("a > 1", 1, holds="everywhere") + 0.5 * ClassCosts({0: 1}),
            kernel=RBF() + Linear(),
            random_state=3,
        ),
        0.5 * Box({"a": (None, 2.0), 1: (0, 1)}, "ill", holds="everywhere").named("slim")
        + SampleCosts(np.ones(3)),
        ClassCosts("balanced"),
        ClassCosts({True: 1, False: 2}),
        Box({np.int64(1): (0, np.float64(1))}, True, holds="everywhere"),
        2 * RBF(0.1) * Linear(),
        (STEP | Shift([1.0, 0.0])) @ STEP,
        FromFunction(np.add, [0.1, 0.2]),
        Prior([]),
    ],
    ids=repr,
)
def test_unfitted_models_and_parts_are_saved_too(thing, file):
    save(thing, file)
    loaded = load(file)
    assert type(loaded) is type(thing)
    assert repr(loaded) == repr(thing)
    assert same(loaded, thing)


def test_estimators_of_scikit_learn_that_contain_a_model(file):
    frame = FRAME.assign(sex=np.where(X[:, 1] > 0, "f", "m"))
    columns = make_column_transformer((OneHotEncoder(), ["sex"]), (SimpleImputer(), ["glucose", "bmi"]))
    for model, rows in (
        (make_pipeline(StandardScaler(), FunctionTransformer(np.exp), PriorSVC(ClassCosts({"ill": 2}))), X),
        (make_pipeline(columns, PriorSVC(kernel="rbf")), frame),
        (GridSearchCV(PriorSVC(), {"C": [1, 2], "prior": [None, ClassCosts({"ill": 2})]}, cv=2), X),
        (GridSearchCV(PriorSVC(), {"C": [1, 2]}, scoring="accuracy", cv=StratifiedKFold(2)), X),
        (CalibratedClassifierCV(PriorSVC(), cv=2), X),
        (VotingClassifier([("svm", PriorSVC()), ("rbf", PriorSVC(kernel="rbf"))]), X),
    ):
        model.fit(rows, WORDS)
        save(model, file)
        loaded = load(file)
        offered = ("predict_proba", "decision_function", "predict")
        answer = next(method for method in offered if hasattr(model, method))
        assert same(getattr(loaded, answer)(rows), getattr(model, answer)(rows))
        assert loaded.score(rows, WORDS) == model.score(rows, WORDS)
        if hasattr(model, "cv_results_"):
            assert same(loaded.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"])
            assert (
                loaded.best_params_ == model.best_params_
                or loaded.best_params_["C"] == model.best_params_["C"]
            )


def test_trees_are_loaded_if_they_are_trusted(file):
    model = VotingClassifier([("svm", PriorSVC()), ("tree", DecisionTreeClassifier())]).fit(X, WORDS)
    trees = ["sklearn.tree._tree.Tree"]
    with pytest.raises(InvalidType, match=r"contains sklearn\.tree\._tree\.Tree"):
        save(model, file)
    save(model, file, trusted=trees)
    with pytest.raises(BadFile, match=r"sklearn\.tree\._tree\.Tree"):
        load(file)
    assert same(load(file, trusted=trees).predict(NEW), model.predict(NEW))


def test_skops_alone_reads_the_file_with_the_trusted_types(saved):
    with pytest.raises(TypeError, match=r"priorsvm\.estimator\.PriorSVC"):
        skops.load(saved)
    assert same(skops.load(saved, trusted=TRUSTED), load(saved))


def test_a_pickled_model_is_equal(saved):
    model = load(saved)
    assert same(pickle.loads(pickle.dumps(model)), model)
    costs = pickle.loads(pickle.dumps(ClassCosts({True: 1.0, False: 2.0}))).costs
    assert costs == {True: 1.0, False: 2.0}
