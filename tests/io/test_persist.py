"""A model comes back from its file as it was, and nothing else comes out of a file."""

import copy
import io
import json
import os
import pickle
import pkgutil
import random
import stat
import subprocess
import sys
import zipfile
from dataclasses import fields, is_dataclass
from importlib import import_module

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
    Kernel,
    Knowledge,
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
    Terms,
    Trajectories,
    Transductive,
    Transform,
    Translation,
    UncertainSamples,
    UnlabeledSamples,
    VirtualSamples,
    VirtualSupportVectors,
    load,
    save,
)
from priorsvm.errors import BadFile, InvalidInput, InvalidType, OtherVersion, PriorSVMError, SkopsNotInstalled
from priorsvm.io.persist import FORMAT, TRUSTED

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
    "three classes": (PriorSVC(ClassCosts({"other": 2}), kernel="rbf"), X, THREE, NEW),
    "joint": (PriorSVC(InvariantLoss(STEP), multi_class="joint"), X, THREE, NEW),
    "joint kernel": (PriorSVC(multi_class="joint", kernel="rbf"), X, THREE, NEW),
    "truth values": (PriorSVC(ClassCosts({False: 2.0, True: 3.0})), X, WORDS == "ill", NEW),
    "sparse": (PriorSVC(ClassCosts({1: 2})), csr_array(X), np.sign(X[:, 0]).astype(int), csr_matrix(NEW)),
    "few centres": (PriorSVC(kernel="rbf", n_centres=5, random_state=3), X, WORDS, NEW),
    "a sum of kernels": (PriorSVC(kernel=RBF() + 0.5 * Linear() * Polynomial(2)), X, WORDS, NEW),
    "preselect": (PriorSVC(preselect=True, kernel="rbf", solver="CLARABEL"), X, WORDS, NEW),
    "named and weighted": (
        PriorSVC(
            ClassCosts("balanced")
            + 0.5 * Box({"glucose": (1, None)}, "ill").named("high")
            + Polyhedron([[1.0, 0.0]], [-1.0], "well").named("low")
            + 0 * OddnessHint(),
            scale="standard",
        ),
        FRAME,
        WORDS,
        FRAME + 0.3,
    ),
    "rule": (PriorSVC(Rule("glucose >= 1 and bmi >= 0", "ill")), FRAME, WORDS, FRAME - 0.2),
    "cuts": (PriorSVC(Box({0: (1, None)}, "ill"), kernel="rbf"), X, WORDS, NEW),
    "guaranteed": (
        PriorSVC(Box({0: (1, 2), 1: (0, 1)}, "ill", method="guaranteed"), kernel="rbf"),
        X,
        WORDS,
        NEW,
    ),
    "ellipsoid": (PriorSVC(Ellipsoid([2, 0], 0.1 * np.eye(2), "ill")), X, WORDS, NEW),
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
    "tangent vector": (PriorSVC(kernel=TangentVector(0.1, MOVE, 1.0), norm="l1"), IMAGES, UP, IMAGES + 0.1),
    "tangent invariant": (PriorSVC(kernel=TangentInvariant(RBF(0.1), MOVE, 1.0)), IMAGES, UP, IMAGES + 0.1),
    "sets": (PriorSVC(kernel=Bhattacharyya()), SETS, SIDE, SETS[:, ::-1] + 0.1),
    "angles": (PriorSVC(kernel=PrincipalAngles(n_directions=1)), list(SETS), SIDE, list(SETS[:, :3])),
}


def same(a, b):
    """Whether two things hold the same, to the last bit, NaN included."""
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


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.skops"


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.skops"
    save(PriorSVC(ClassCosts({"ill": 2}) + Box({0: (1, None)}, "ill"), kernel="rbf").fit(X, WORDS), path)
    return path.read_bytes()


@pytest.fixture
def saved(file, content):
    file.write_bytes(content)
    return file


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_a_model_comes_back_to_the_last_bit(name, file):
    model, rows, labels, new = MODELS[name]
    model.fit(rows, labels)
    expected = answers(model, new)
    save(model, file)
    loaded = load(file)
    assert same(answers(loaded, new), expected)
    assert same(loaded._machines, model._machines)
    assert repr(loaded) == repr(model)


@pytest.mark.slow
def test_another_process_answers_the_same(saved, tmp_path):
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
    model = load(saved)
    assert all(machine.compiled is None for machine in model._machines)
    assert "box.points" in [constraint.label for constraint in model.problem.constraints]


def test_where_draws_go_on_is_kept(file):
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
        PriorSVC(Rule("a > 1", 1) + 0.5 * ClassCosts({0: 1}), kernel=RBF() + Linear(), random_state=3),
        0.5 * Box({"a": (None, 2.0), 1: (0, 1)}, "ill").named("slim") + SampleCosts(np.ones(3)),
        ClassCosts("balanced"),
        ClassCosts({True: 1, False: 2}),
        Box({np.int64(1): (0, np.float64(1))}, True),
        2 * RBF(0.1) * Linear(),
        (STEP | Shift([1.0, 0.0])) @ STEP,
        FromFunction(np.add, [0.1, 0.2]),
        Prior([]),
    ],
    ids=repr,
)
def test_what_is_not_fitted_is_saved_too(thing, file):
    save(thing, file)
    loaded = load(file)
    assert type(loaded) is type(thing)
    assert repr(loaded) == repr(thing)
    assert same(loaded, thing)


def test_members_of_scikit_learn_around_a_model(file):
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


def test_trees_are_loaded_by_who_trusts_them(file):
    model = VotingClassifier([("svm", PriorSVC()), ("tree", DecisionTreeClassifier())]).fit(X, WORDS)
    trees = ["sklearn.tree._tree.Tree"]
    with pytest.raises(InvalidType, match=r"holds sklearn\.tree\._tree\.Tree"):
        save(model, file)
    save(model, file, trusted=trees)
    with pytest.raises(BadFile, match=r"sklearn\.tree\._tree\.Tree"):
        load(file)
    assert same(load(file, trusted=trees).predict(NEW), model.predict(NEW))


def test_skops_itself_reads_the_file_with_the_published_types(saved):
    with pytest.raises(TypeError, match=r"priorsvm\.estimator\.PriorSVC"):
        skops.load(saved)
    assert same(skops.load(saved, trusted=TRUSTED), load(saved))


# ------------------------------------------------------------------ what cannot be saved


def ring(Z):
    return np.hypot(Z[:, 0], Z[:, 1]) - 1


def moved(Z, theta):
    return Z + theta


class OwnBlock(Knowledge):
    def __init__(self, mu=1.0):
        self.mu = mu

    def build(self, f, context):
        return Terms()


class OwnKernel(Kernel):
    def _matrix(self, A, B):
        return A @ B.T


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (PriorSVC(Region(ring, X, "ill") + OddnessHint()), r"prior__region__g is a Python .*ring"),
        (PriorSVC(Region(np.negative, X, "ill", h=ring)), "prior__h is a Python function"),
        (
            PriorSVC(0.5 * VirtualSamples(FromFunction(moved, [0.1]) @ STEP)),
            "prior__virtual_samples__transform__from_function__function is a Python function",
        ),
        (PriorSVC(kernel=lambda A, B: A @ B.T), r"kernel is a Python function \(.*<lambda>\)"),
        (
            PriorSVC(kernel=RBF() + 0.5 * priorsvm.kernels.FromCallable(ring)),
            "kernel__.*function is a Python",
        ),
        (PriorSVC(UncertainSamples(ring)), "prior__covariance is a Python function"),
        (make_pipeline(FunctionTransformer(ring), PriorSVC()), "functiontransformer__func is a Python"),
        (PriorSVC(ClassCosts("balanced") + OwnBlock()), r"prior__own_block is .*trusted=\[OwnBlock\]"),
        (PriorSVC(kernel=2 * OwnKernel()), r"kernel__kernel is of a class .*OwnKernel"),
        (PriorSVC(UnlabeledSamples(FRAME, WORDS)), r"prior__X is a DataFrame.*\.to_numpy\(\)"),
        (PriorSVC(random_state=iter([])), "random_state cannot be saved: it is a list_iterator"),
        (PriorSVC(solver_options={None: 1}), "solver_options cannot be saved: it is a dict"),
        (PriorSVC(solver_options={False: 1}), "keys are of the type builtins.bool, not words or numbers"),
        (PriorSVC(solver_options={("a", "b"): 1}), "solver_options cannot be saved: it is a dict"),
        (PriorSVC(solver_options={1: 1, "1": 2}), "two keys that look the same"),
        (3, "got int"),
        ([PriorSVC()], "got list"),
        (PriorSVC, "got type"),
    ],
)
def test_what_cannot_be_saved_is_named(model, message, file):
    with pytest.raises(InvalidType, match=message):
        save(model, file)
    assert list(file.parent.iterdir()) == []


def test_what_fit_was_given_is_named_too(file):
    model = PriorSVC(SampleCosts()).fit(X, WORDS, sample_costs__costs=pd.Series(np.ones(30)))
    with pytest.raises(InvalidType, match=r"sample_costs__costs is a Series"):
        save(model, file)


def test_a_fitted_region_with_a_function_is_refused_as_an_unfitted_one(file):
    model = PriorSVC(Region(ring, X[:6], "ill")).fit(X, WORDS)
    with pytest.raises(InvalidType, match="prior__g is a Python function"):
        save(model, file)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module whose import can be seen, with a block, a kernel, a function and a state of its own."""
    (tmp_path / "surgery.py").write_text(
        """
from dataclasses import dataclass
from pathlib import Path
import numpy as np
from priorsvm import Kernel, Knowledge, Terms
Path(__file__).with_name("imported").touch()

def ring(Z):
    return np.hypot(Z[:, 0], Z[:, 1]) - 1

class Own(Knowledge):
    def __init__(self, mu=1.0):
        self.mu = mu
    def start(self, sample):
        return Seen(len(sample))
    def build(self, f, context):
        return Terms()

@dataclass
class Seen:
    rows: int
"""
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("surgery")
    sys.modules.pop("surgery", None)


def test_blocks_of_ones_own_are_loaded_by_who_names_them(module, file):
    model = PriorSVC(module.Own(3.0) + ClassCosts({"ill": 2})).fit(X, WORDS)
    with pytest.raises(InvalidType, match=r"prior__own is of a class .*, surgery\.Own"):
        save(model, file)
    with pytest.raises(InvalidType, match=r"holds surgery\.Seen"):
        save(model, file, trusted=[module.Own])
    mine = [module.Own, "surgery.Seen"]
    save(model, file, trusted=mine)
    with pytest.raises(BadFile, match=r"model\.skops was refused.*surgery\.Own.*surgery\.Seen"):
        load(file)
    loaded = load(file, trusted=mine)
    assert loaded.get_params()["prior__own__mu"] == 3.0
    assert loaded._machines[0].states["own"] == module.Seen(30)
    assert same(loaded.decision_function(NEW), model.decision_function(NEW))


def test_a_function_of_a_module_is_loaded_by_who_names_it(module, file):
    model = PriorSVC(Region(module.ring, X[:6], "ill")).fit(X, WORDS)
    with pytest.raises(InvalidType, match=r"Name it: save\(\.\.\., trusted=\['surgery\.ring'\]\)"):
        save(model, file)
    save(model, file, trusted=["surgery.ring"])
    with pytest.raises(BadFile, match=r"surgery\.ring"):
        load(file)
    assert same(answers(load(file, trusted=[module.ring]), NEW), answers(model, NEW))
    assert same(answers(load(file, trusted="surgery.ring"), NEW), answers(model, NEW))


def test_nothing_is_imported_before_it_is_trusted(module, file):
    save(PriorSVC(module.Own()), file, trusted=module.Own)
    mark = file.with_name("imported")
    mark.unlink()
    del sys.modules["surgery"]
    with pytest.raises(BadFile, match=r"surgery\.Own"):
        load(file)
    assert not mark.exists()
    assert "surgery" not in sys.modules
    load(file, trusted=["surgery.Own"])
    assert mark.exists()


def test_what_is_trusted_is_a_class_that_can_be_found_again(file):
    class Inner(OwnBlock):
        pass

    for nameless in (Inner, lambda A, B: A @ B.T):
        with pytest.raises(InvalidInput, match=r"(Inner|<lambda>) has no name of its own in a module"):
            save(PriorSVC(Inner()), file, trusted=[nameless])
    with pytest.raises(InvalidType, match="trusted takes classes, functions, or full names"):
        load(file, trusted=[3])


# ------------------------------------------------------------------ files that are refused


def rewritten(path, change=lambda schema: schema, header=None, **how):
    """The same archive with another schema or header."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["schema.json"] = json.dumps(change(json.loads(parts["schema.json"]))).encode()
    if header is not None:
        parts["priorsvm.json"] = header if isinstance(header, bytes) else json.dumps(header).encode()
    with zipfile.ZipFile(path, "w", **how) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def nodes(schema):
    """Every node, as a list of references."""
    found = []
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "__loader__" in part:
                found.append(part)
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return found


@pytest.fixture
def ran(monkeypatch):
    """What was run of that which must never be run."""
    calls = []
    monkeypatch.setattr(os, "system", lambda *a: calls.append(("os.system", a)))
    monkeypatch.setattr(os, "popen", lambda *a: calls.append(("os.popen", a)))
    return calls


class Bomb:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (self.mark,)


def test_a_pickle_is_refused_and_not_run(tmp_path):
    import joblib

    mark = tmp_path / "mark"
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(Bomb(str(mark))))
    joblib.dump(Bomb(str(mark)), tmp_path / "model.joblib")
    with zipfile.ZipFile(tmp_path / "torch.zip", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Bomb(str(mark))))
    for name in ("model.pkl", "model.joblib", "torch.zip"):
        with pytest.raises(BadFile, match=rf"{name} is not a model saved by priorsvm\.save"):
            load(tmp_path / name)
    assert not mark.exists()
    pickle.loads((tmp_path / "model.pkl").read_bytes())
    assert mark.exists()  # the bomb is one


def test_foreign_and_missing_files(tmp_path):
    for content in (b"", b"PK", b"\x80\x04.", b"a,b\n1,2\n", os.urandom(1000)):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(BadFile, match="x is not a model saved"):
            load(tmp_path / "x")
    skops.dump(StandardScaler(), tmp_path / "plain.skops")
    with pytest.raises(BadFile, match="another kind of zip archive"):
        load(tmp_path / "plain.skops")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load(tmp_path / "nowhere")


def test_a_truncated_file_is_refused(saved):
    data = saved.read_bytes()
    for share in (0.01, 0.3, 0.6, 0.9, 0.999):
        saved.write_bytes(data[: int(share * len(data))])
        with pytest.raises(BadFile, match=r"model\.skops"):
            load(saved)


def test_a_flipped_byte_is_seen_or_harmless(saved):
    data, expected = saved.read_bytes(), load(saved).decision_function(NEW)
    draw, refused = random.Random(0), 0
    for place in draw.sample(range(len(data)), 60):
        saved.write_bytes(data[:place] + bytes([data[place] ^ 0x5A]) + data[place + 1 :])
        try:
            assert same(load(saved).decision_function(NEW), expected)
        except BadFile:
            refused += 1
    assert refused > 40


def test_other_formats(saved):
    with zipfile.ZipFile(saved) as archive:
        header = json.loads(archive.read("priorsvm.json"))
    assert header == {"format": FORMAT, "priorsvm": priorsvm.__version__}
    with pytest.raises(BadFile, match=rf"priorsvm 9\.0 in format {FORMAT + 1}.*Upgrade priorsvm"):
        load(rewritten(saved, header={"format": FORMAT + 1, "priorsvm": "9.0"}))
    wrong = [{**header, "format": version} for version in ("1", 0, -1, True, None)]
    for bad in (*wrong, {"format": 1}, {"priorsvm": "1"}, [1], b"{", b"\xff"):
        with pytest.raises(BadFile, match="is damaged"):
            load(rewritten(saved, header=bad))
    with pytest.warns(OtherVersion, match=r"saved by priorsvm 0\.0\.1, and this is") as caught:
        load(rewritten(saved, header={"format": FORMAT, "priorsvm": "0.0.1"}))
    assert caught[0].filename == __file__


def test_other_protocols_of_skops(saved):
    before = saved.read_bytes()
    for protocol, message in (
        (0, "protocol 0 of old versions"),
        (1, "protocol 1"),
        (99, "update skops"),
        ("2", "damaged"),
        (None, "damaged"),
    ):
        saved.write_bytes(before)
        with pytest.raises(BadFile, match=message):
            load(rewritten(saved, lambda schema, other=protocol: {**schema, "protocol": other}))


def test_an_old_protocol_would_hide_what_stands_where(saved):
    path = {"module_path": "priorsvm.estimator", "function": "PriorSVC"}
    hidden = node("numpy.add", "FunctionNode", content=path)

    def change(schema):
        return {**in_place_of_the_prior(hidden)(schema), "protocol": 0}

    with pytest.raises(BadFile, match="protocol 0"):
        load(rewritten(saved, change))
    assert skops.load(saved, trusted=TRUSTED).prior is PriorSVC


def test_nothing_unfolds_to_more_than_the_file(saved):
    with pytest.raises(BadFile, match="compressed parts"):
        load(rewritten(saved, compression=zipfile.ZIP_DEFLATED))


def in_place_of_the_prior(node):
    def change(schema):
        schema["content"]["content"]["prior"] = node
        return schema

    return change


def node(name, loader, **rest):
    module, _, kind = name.rpartition(".")
    return {"__class__": kind, "__module__": module, "__loader__": loader, **rest}


def dict_node(content, key_type):
    kinds = node("builtins.list", "ListNode", content=[key_type])
    return node("builtins.dict", "DictNode", content=content, key_types=kinds)


WORD = node("builtins.str", "JsonNode", content='"echo"', is_json=True)
NONE = {**WORD, "content": "null"}
ARGUMENTS = node("builtins.tuple", "TupleNode", content=[WORD])
CALL = "ConstructorFromReduceNode"
SYSTEM = node("os.system", "FunctionNode")
PARTS = {"func": SYSTEM, "args": ARGUMENTS, "kwds": NONE, "namespace": NONE}
WORD_TYPE = node("builtins.str", "TypeNode")
SCALER = "sklearn.preprocessing._data.StandardScaler"


@pytest.mark.parametrize(
    ("put", "named"),
    [
        (node("os.system", "ObjectNode"), r"os\.system"),
        (SYSTEM, r"os\.system"),
        (node("os.system", "TypeNode"), r"os\.system"),
        (node("os.system", CALL, content=ARGUMENTS), r"os\.system"),
        (node("os.system", "ListNode", content=[WORD]), r"os\.system"),
        (node("os.system", "TupleNode", content=[WORD]), r"os\.system"),
        (node("os.system", "SetNode", content=[WORD]), r"os\.system"),
        (node("os.system", "NdArrayNode", type="json", content=[WORD], shape=ARGUMENTS), r"os\.system"),
        (node("builtins.eval", "FunctionNode"), r"builtins\.eval"),
        (node("builtins.eval", CALL, content=ARGUMENTS), r"builtins\.eval"),
        (node("functools.partial", "PartialNode", content=PARTS), r"functools\.partial"),
        (node("operator.methodcaller", "OperatorFuncNode", attrs=ARGUMENTS), r"operator\.methodcaller"),
        (
            node(SCALER, "MethodNode", content={"func": "__init__", "obj": node(SCALER, "ObjectNode")}),
            r"StandardScaler\.__init__",
        ),
        (node("priorsvm.estimator.PriorSVC", "FunctionNode"), r"PriorSVC where that cannot stand"),
        (node("priorsvm.estimator.PriorSVC", "TypeNode"), r"PriorSVC where that cannot stand"),
        (node("priorsvm.kernels.resolve.FromCallable", CALL, content=ARGUMENTS), "FromCallable where"),
        (
            node("sklearn.metrics._classification.accuracy_score", CALL, content=ARGUMENTS),
            "where that cannot",
        ),
        (
            node(
                "priorsvm.kernels.resolve.FromCallable",
                "ObjectNode",
                content=dict_node({"function": SYSTEM}, WORD_TYPE),
            ),
            r"os\.system",
        ),
        (dict_node({"echo": WORD}, node("os.system", "TypeNode")), r"os\.system"),
        (node("os.system", "NoSuchNode"), "NoSuchNode"),
    ],
)
def test_a_schema_that_was_changed_is_refused_and_nothing_is_run(put, named, saved, ran):
    with pytest.raises(BadFile, match=named):
        load(rewritten(saved, in_place_of_the_prior(put)))
    assert ran == []


def test_with_skops_alone_some_of_these_would_call_our_types(saved):
    call = node("priorsvm.kernels.resolve.FromCallable", CALL, content=ARGUMENTS)
    rewritten(saved, in_place_of_the_prior(call))
    assert skops.load(saved, trusted=TRUSTED).prior.function == "echo"


@pytest.mark.slow
def test_no_mutation_of_a_schema_runs_anything_or_fails_otherwise(saved, tmp_path, ran):
    original = saved.read_bytes()
    draw = random.Random(1)
    loaders = sorted({loader for loader, _ in skops._audit.NODE_TYPE_MAPPING})
    names = ["os.system", "os.popen", "builtins.eval", "builtins.exec", "builtins.map", "numpy.ndarray", "x"]
    names += ["priorsvm.estimator.PriorSVC", "priorsvm.solve.machine.Machine", "sklearn.pipeline.Pipeline"]
    refused = 0

    def mutate(schema):
        every = nodes(schema)
        for _ in range(draw.randint(1, 2)):
            one, other = draw.choice(every), draw.choice(every)
            kind = draw.randrange(5)
            if kind == 0:
                one["__module__"], _, one["__class__"] = draw.choice(names).rpartition(".")
            elif kind == 1:
                one["__loader__"] = draw.choice(loaders)
            elif kind == 2:
                one["__id__"] = other.get("__id__")
            elif kind == 3:
                one["content"] = draw.choice([None, [], {}, "null", 3, copy.deepcopy(other.get("content"))])
            else:
                one.pop(draw.choice(sorted(one)))
        return schema

    for _ in range(80):
        saved.write_bytes(original)
        try:
            found = load(rewritten(saved, mutate))
        except BadFile:
            refused += 1
        else:
            assert isinstance(found, BaseEstimator)
    assert ran == []
    assert refused > 40


# ---------------------------------------------------------------------- parts that do not fit


def put(model, place, value):
    """Change a part of a fitted model, which may be frozen."""
    *path, last = place.split(".")
    for name in path:
        model = model[int(name)] if name.isdigit() else getattr(model, name)
    if last.isdigit():
        model[int(last)] = value
    else:
        object.__setattr__(model, last, value)


def cut(values):
    return values[:-1]


def hollow(values):
    values = values.copy()
    values.flat[0] = np.nan
    return values


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "place", "change", "message"),
    [
        ("linear", "_machines.0.f.coef", cut, r"machine 0, f: coef has shape \(1,\), expected \(2,\)"),
        ("linear", "_machines.0.f.coef", hollow, "coef holds NaN or infinity"),
        ("linear", "_machines.0.f.coef", lambda v: v.astype(str), "coef holds values of the type <U32"),
        ("linear", "_machines.0.f.coef", list, "coef is a list, not an array"),
        ("linear", "_machines.0.f.bias", lambda v: float("nan"), "the bias is nan"),
        ("linear", "_machines.0.f.bias", str, "the bias is '"),
        ("linear", "_machines.0.f", lambda v: 3.0, "f is a float|no attribute"),
        ("linear", "intercept_", lambda v: v + 1, "intercept_ is not that of the machines"),
        ("linear", "classes_", lambda v: v[:1], "classes_ are"),
        (
            "linear",
            "classes_",
            lambda v: v[::-1],
            r"of the classes \['well'\], and classes_ are \['well', 'ill'\]",
        ),
        ("linear", "classes_", lambda v: np.array(["ill", "odd"]), r"of the classes \['well'\]"),
        ("linear", "n_features_in_", lambda v: 3, r"X has shape \(30, 2\), expected \(30, 3\)"),
        ("linear", "_machines", lambda v: [], "there is no machine"),
        ("linear", "_machines.0", lambda v: 3.0, "machine 0 is a float"),
        ("linear", "_machines.0.alpha", lambda v: v[:4], "fewer multipliers than training rows"),
        ("linear", "_machines.0.support", lambda v: v * 1.0, "support holds values of the type float64"),
        ("linear", "_machines.0.spec.C", lambda v: -1.0, "has C=-1.0"),
        ("linear", "_machines.0.outcome", lambda v: None, "has a NoneType for its Outcome"),
        ("linear", "_machines.0.history", lambda v: [], "has no history"),
        ("linear", "_machines.0.training.y", lambda v: 2 * v, "y holds more than -1 and 1"),
        ("linear", "_machines.0.training.cost", lambda v: -v, "cost is negative"),
        ("linear", "_machines.0.training.labels", lambda v: np.full(30, "odd"), "some labels are not among"),
        ("linear", "_machines.0.training.X", hollow, "training rows: X holds NaN"),
        ("linear", "_machines.0.training.n_train", lambda v: 29, "expected"),
        ("sparse", "_machines.0.training.X.data", hollow, "training rows: X holds NaN"),
        ("kernel", "_machines.0.f.weights", cut, r"f: weights has shape \(21,\), expected \(22,\)"),
        ("kernel", "_machines.0.f.weights", hollow, "f: weights holds NaN"),
        (
            "kernel",
            "_machines.0.f.centres",
            lambda v: v[:, :1],
            r"centres has shape \(22, 1\), expected \(any, 2\)",
        ),
        ("kernel", "_machines.0.f.kernel", lambda v: None, "the kernel is None"),
        ("kernel", "_machines.0.f.scale.width", lambda v: 0 * v, "scale.width is not positive"),
        ("kernel", "_machines.0.f.scale.shift", cut, "scale.shift has shape"),
        ("tangents", "_machines.0.f.slopes.weights", cut, "slopes.weights has shape"),
        ("three classes", "_machines", lambda v: v[:2], r"of the classes \['ill', 'other'\]"),
        ("three classes", "_machines", lambda v: v[::-1], r"of the classes \['well', 'other', 'ill'\]"),
        ("three classes", "_machines.1.f.weights", hollow, "machine 1, f: weights holds NaN"),
        ("named and weighted", "_machines.0.training.feature_names", cut, "feature_names has shape"),
        ("joint", "_machines.0.f.weights", lambda v: v[:, :2], "machine 0, f: weights has shape"),
        ("joint", "_machines", lambda v: v * 2, "the machines are"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_parts_that_do_not_fit_are_refused(name, place, change, message, file):
    model, rows, labels, _ = MODELS[name]
    changed = copy.deepcopy(model).fit(rows, labels)
    held = changed
    for step in place.split("."):
        held = held[int(step)] if step.isdigit() else getattr(held, step)
    put(changed, place, change(held))
    save(changed, file)
    with pytest.raises(BadFile, match=message):
        load(file)


def test_a_model_inside_others_is_looked_at_too(file):
    pipeline = make_pipeline(StandardScaler(), PriorSVC()).fit(X, WORDS)
    object.__setattr__(pipeline[-1]._machines[0].f, "bias", float("inf"))
    for model in (pipeline, GridSearchCV(PriorSVC(), {"C": [1.0, 2.0]}, cv=2).fit(X, WORDS)):
        if isinstance(model, GridSearchCV):
            object.__setattr__(model.best_estimator_._machines[0].f, "bias", float("inf"))
        save(model, file)
        with pytest.raises(BadFile, match="machine 0, f: the bias is inf"):
            load(file)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_changed_array_is_refused_or_leaves_a_model_that_answers(saved):
    """Every array of a file in turn: cut, emptied, not finite, of another kind."""
    with zipfile.ZipFile(saved) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    changes = [
        cut,
        lambda v: v[:0],
        lambda v: v.astype(complex),
        lambda v: np.full_like(v, np.nan),
        np.atleast_3d,
    ]
    refused = 0
    for name in [name for name in parts if name.endswith(".npy")]:
        values = np.load(io.BytesIO(parts[name]))
        for change in changes:
            try:
                new, buffer = change(values), io.BytesIO()
            except (IndexError, TypeError, ValueError):  # a scalar cannot be cut, nor words be NaN
                continue
            np.save(buffer, new)
            with zipfile.ZipFile(saved, "w") as archive:
                for other, content in parts.items():
                    archive.writestr(other, buffer.getvalue() if other == name else content)
            try:
                loaded = load(saved)
            except BadFile:
                refused += 1
            else:
                assert np.isfinite(loaded.decision_function(NEW)).all()
                assert set(loaded.predict(NEW)) <= {"ill", "well"}
    assert refused > 40


@pytest.mark.parametrize("trusted", [None, 3, 1.5])
def test_what_is_no_list_of_trusted_types_is_refused_by_name(trusted, saved):
    for call in (lambda: load(saved, trusted=trusted), lambda: save(PriorSVC(), saved, trusted=trusted)):
        with pytest.raises(InvalidType, match=rf"trusted takes a list of classes.*got {trusted!r}"):
            call()


def test_a_file_that_holds_no_model_is_refused(file):
    buffer = skops.dumps({"a": 1})
    file.write_bytes(buffer)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("priorsvm.json", json.dumps({"format": FORMAT, "priorsvm": priorsvm.__version__}))
    with pytest.raises(BadFile, match="holds a dict, which is no model"):
        load(file)


def test_a_schema_nested_without_end_is_refused(saved):
    with zipfile.ZipFile(saved) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["schema.json"] = b"[" * 200_000
    with zipfile.ZipFile(saved, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(BadFile, match="is damaged"):
        load(saved)


# ------------------------------------------------------------------ laws of the trusted types


def classes_of_priorsvm():
    for found in pkgutil.walk_packages(priorsvm.__path__, "priorsvm."):
        if found.name != "priorsvm.__main__":
            for value in vars(import_module(found.name)).values():
                if isinstance(value, type) and value.__module__ == found.name:
                    yield value


def test_no_block_kernel_transform_or_part_of_a_machine_is_forgotten():
    homes = "assemble cover decision diagnose estimator gaussian kernels knowledge prior sample sets solve "
    homes += "transforms"
    held = [
        kind
        for kind in classes_of_priorsvm()
        if issubclass(kind, (Knowledge, Kernel, Transform, Prior, PriorSVC))
        or (
            kind.__module__.split(".")[1] in homes.split()
            and (is_dataclass(kind) or hasattr(kind, "_fields"))
        )
    ]
    assert len(held) > 90
    assert sorted({f"{kind.__module__}.{kind.__name__}" for kind in held} - set(TRUSTED)) == []


def test_trusted_names_are_classes_that_are_found_under_them():
    for name in TRUSTED:
        if name.startswith("priorsvm."):
            module, _, kind = name.rpartition(".")
            assert isinstance(getattr(import_module(module), kind), type)
    assert not any("Exception" in name or "Error" in name for name in TRUSTED)


def test_none_of_our_types_does_anything_when_an_empty_one_is_made_and_filled():
    known = {"Machine.__setstate__", "ClassCosts.__setstate__"}
    for kind in classes_of_priorsvm():
        if f"{kind.__module__}.{kind.__name__}" not in TRUSTED:
            continue
        for special in (
            "__new__",
            "__setstate__",
            "__del__",
            "__getattr__",
            "__getattribute__",
            "__reduce__",
        ):
            if special in vars(kind) and not (special == "__new__" and hasattr(kind, "_fields")):
                assert f"{kind.__name__}.{special}" in known


# ------------------------------------------------------------------ the file


def test_a_file_appears_whole_or_not_at_all(saved, monkeypatch):
    before = saved.read_bytes()

    def fails(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="the disk is full"):
        save(PriorSVC(), saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_paths_are_words_or_paths_and_files_are_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(PriorSVC(C=2.0), "model.skops")
    save(PriorSVC(C=3.0), "model.skops")
    assert load(tmp_path / "model.skops").C == 3.0
    plain = tmp_path / "plain"
    plain.touch()
    assert stat.S_IMODE((tmp_path / "model.skops").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    with pytest.raises(InvalidInput, match="there is no folder 'nowhere'"):
        save(PriorSVC(), "nowhere/model.skops")


def test_without_skops_the_command_is_named(monkeypatch, file):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    monkeypatch.setitem(sys.modules, "skops.io.exceptions", None)
    for call in (lambda: save(PriorSVC(), file), lambda: load(file)):
        with pytest.raises(SkopsNotInstalled, match="pip install skops") as caught:
            call()
        assert isinstance(caught.value, (ImportError, PriorSVMError))


def test_pickles_hold_the_same(saved):
    model = load(saved)
    assert same(pickle.loads(pickle.dumps(model))._machines, model._machines)
    assert isinstance(model._machines[0].penalties, dict)
    costs = pickle.loads(pickle.dumps(ClassCosts({True: 1.0, False: 2.0}))).costs
    assert costs == {True: 1.0, False: 2.0}


def test_saving_again_keeps_who_may_read_it(tmp_path):
    path, model = tmp_path / "m.skops", PriorSVC()
    priorsvm.save(model, path)
    path.chmod(0o600)
    priorsvm.save(model, path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_saving_to_a_link_writes_where_it_points(tmp_path):
    target, link = tmp_path / "m.skops", tmp_path / "link.skops"
    link.symlink_to(target)
    priorsvm.save(PriorSVC(C=3.0), link)
    assert link.is_symlink()
    assert priorsvm.load(target).C == 3.0


@pytest.mark.parametrize("name", ["", "."])
def test_a_folder_is_no_file(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="is no file to write to"):
        priorsvm.save(PriorSVC(), name)
    assert not list(tmp_path.iterdir())
