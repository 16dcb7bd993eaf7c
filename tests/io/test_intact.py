"""A model whose parts do not fit together is refused."""

import copy
import io
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from priorsvm import ClassCosts, PriorSVC, Shift, TangentPenalty, load, save
from priorsvm.errors import BadFile

skops = pytest.importorskip("skops.io")

RNG = np.random.default_rng(7)
X = RNG.normal(size=(30, 2))
NEW = RNG.normal(size=(50, 2))
WORDS = np.where(X[:, 0] + 0.4 * RNG.normal(size=30) > 0, "ill", "well")
THREE = np.where(X[:, 1] > 0.8, "other", WORDS)
FRAME = pd.DataFrame(X, columns=["glucose", "bmi"])

MODELS = {
    "linear": (PriorSVC(), X, WORDS),
    "kernel": (PriorSVC(kernel="rbf", scale="standard"), X, WORDS),
    "sparse": (PriorSVC(ClassCosts({1: 2})), csr_array(X), np.sign(X[:, 0]).astype(int)),
    "slopes": (PriorSVC(TangentPenalty(Shift([0.2, 0.0]), 1.0), kernel="rbf"), X, WORDS),
    "three classes": (PriorSVC(ClassCosts({"other": 2}), kernel="rbf"), X, THREE),
    "columns with names": (PriorSVC(), FRAME, WORDS),
    "joint": (PriorSVC(multi_class="joint"), X, THREE),
}


def put(model, place, value):
    """Replace a part of a fitted model, which may be frozen."""
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
        ("linear", "_models.0.f.coef", cut, r"binary model 0, f: coef has shape \(1,\), expected \(2,\)"),
        ("linear", "_models.0.f.coef", hollow, "coef contains NaN or infinity"),
        ("linear", "_models.0.f.coef", lambda v: v.astype(str), "coef has values of the type <U32"),
        ("linear", "_models.0.f.coef", list, "coef is a list, expected an array"),
        ("linear", "_models.0.f.bias", lambda v: float("nan"), "the bias is nan"),
        ("linear", "_models.0.f.bias", str, "the bias is '"),
        ("linear", "_models.0.f", lambda v: 3.0, "f is a float|no attribute"),
        ("linear", "intercept_", lambda v: v + 1, "intercept_ differs from the binary models"),
        ("linear", "classes_", lambda v: v[:1], "classes_ are"),
        (
            "linear",
            "classes_",
            lambda v: v[::-1],
            r"of the classes \['well'\], and classes_ are \['well', 'ill'\]",
        ),
        ("linear", "classes_", lambda v: np.array(["ill", "odd"]), r"of the classes \['well'\]"),
        ("linear", "n_features_in_", lambda v: 3, r"X has shape \(30, 2\), expected \(30, 3\)"),
        ("linear", "_models", lambda v: [], "there is no binary model"),
        ("linear", "_models.0", lambda v: 3.0, "binary model 0 is a float"),
        ("linear", "_models.0.alpha", lambda v: v[:4], "fewer dual variables than training rows"),
        ("linear", "_models.0.support", lambda v: v * 1.0, "support has values of the type float64"),
        ("linear", "_models.0.spec.C", lambda v: -1.0, "has C=-1.0"),
        ("linear", "_models.0.outcome", lambda v: None, "has a NoneType in place of Outcome"),
        ("linear", "_models.0.history", lambda v: [], "has no history"),
        ("linear", "_models.0.training.y", lambda v: 2 * v, "y has values other than -1 and 1"),
        ("linear", "_models.0.training.cost", lambda v: -v, "cost is negative"),
        ("linear", "_models.0.training.labels", lambda v: np.full(30, "odd"), "some labels are not among"),
        ("linear", "_models.0.training.X", hollow, "training rows: X contains NaN"),
        ("linear", "_models.0.training.n_train", lambda v: 29, "expected"),
        ("sparse", "_models.0.training.X.data", hollow, "training rows: X contains NaN"),
        ("kernel", "_models.0.f.weights", cut, r"f: weights has shape \(21,\), expected \(22,\)"),
        ("kernel", "_models.0.f.weights", hollow, "f: weights contains NaN"),
        (
            "kernel",
            "_models.0.f.centres",
            lambda v: v[:, :1],
            r"centres has shape \(22, 1\), expected \(any, 2\)",
        ),
        ("kernel", "_models.0.f.kernel", lambda v: None, "the kernel is None"),
        ("kernel", "_models.0.f.scale.width", lambda v: 0 * v, "scale.width is not positive"),
        ("kernel", "_models.0.f.scale.shift", cut, "scale.shift has shape"),
        ("slopes", "_models.0.f.slopes.weights", cut, "slopes.weights has shape"),
        ("three classes", "_models", lambda v: v[:2], r"of the classes \['ill', 'other'\]"),
        ("three classes", "_models", lambda v: v[::-1], r"of the classes \['well', 'other', 'ill'\]"),
        ("three classes", "_models.1.f.weights", hollow, "binary model 1, f: weights contains NaN"),
        ("columns with names", "_models.0.training.feature_names", cut, "feature_names has shape"),
        ("joint", "_models.0.f.weights", lambda v: v[:, :2], "binary model 0, f: weights has shape"),
        ("joint", "_models", lambda v: v * 2, "there are 2 models of all classes"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_parts_that_do_not_fit_are_refused(name, place, change, message, file):
    model, rows, labels = MODELS[name]
    changed = copy.deepcopy(model).fit(rows, labels)
    held = changed
    for step in place.split("."):
        held = held[int(step)] if step.isdigit() else getattr(held, step)
    put(changed, place, change(held))
    save(changed, file)
    with pytest.raises(BadFile, match=message):
        load(file)


def test_a_model_inside_another_estimator_is_checked_too(file):
    pipeline = make_pipeline(StandardScaler(), PriorSVC()).fit(X, WORDS)
    object.__setattr__(pipeline[-1]._models[0].f, "bias", float("inf"))
    for model in (pipeline, GridSearchCV(PriorSVC(), {"C": [1.0, 2.0]}, cv=2).fit(X, WORDS)):
        if isinstance(model, GridSearchCV):
            object.__setattr__(model.best_estimator_._models[0].f, "bias", float("inf"))
        save(model, file)
        with pytest.raises(BadFile, match="binary model 0, f: the bias is inf"):
            load(file)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_changed_array_is_refused_or_leaves_a_working_model(saved):
    """Change every array of a file: shorter, empty, not finite, of another type."""
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
