"""An exported graph gives the classes and scores of the model."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.pipeline import make_pipeline

import priorsvm
from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    FeatureDeletion,
    InvariantLoss,
    MissingValues,
    Monotone,
    Polynomial,
    PriorSVC,
    RowPermutations,
    Shift,
    TangentPenalty,
    VirtualSamples,
)
from priorsvm.errors import InvalidInput, InvalidType, NotFitted, PackageNotInstalled

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def run(graph, X):
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(["label", "scores"], {"X": np.asarray(X, float)})


def assert_equal(model, X):
    """Compare the classes, and the scores up to rounding errors of the sum over centres."""
    label, scores = run(priorsvm.to_onnx(model), X)
    expected = model.decision_function(X)
    size = np.abs(expected).max()
    if not model._linear:
        scale = model._models[0].spec.scale
        inner = [Z if scale is None else scale.points(Z) for Z in (X, model.centres_)]
        size += (np.abs(model.kernel_(*inner)) @ np.abs(model.dual_coef_).T).max()
    assert scores.shape == expected.shape
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12 * size)
    assert label.tolist() == model.predict(X).tolist()


def rows(n=40, d=3, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 20.0, 0.1][:d] + [0.0, 100.0, 5.0][:d]
    y = rng.integers(classes, size=n)
    X[:, 0] += y
    return X, y


@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_kernels_scales_and_numbers_of_classes(kernel, scale, multi_class, classes):
    X, y = rows(classes=classes)
    gamma = 0.01 if scale is None else 0.5
    of_name = {"linear": "linear", "rbf": RBF(gamma), "poly": Polynomial(2, gamma=gamma, coef0=1.0)}
    model = PriorSVC(kernel=of_name[kernel], scale=scale, multi_class=multi_class).fit(X, y)
    assert_equal(model, rows(n=60, seed=1)[0])


BLOCKS = {
    "costs": ClassCosts("balanced"),
    "copies": VirtualSamples(Shift(np.array([0.5, 0.0, 0.0]))),
    "slopes": Monotone({0: +1}, holds="everywhere"),
    "tangents": TangentPenalty(Shift(np.array([0.0, 1.0, 0.0]))),
    "box": Box({0: (2.0, 4.0)}, label=1, holds="everywhere"),
}


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("block", BLOCKS)
def test_blocks_that_do_not_score(block, kernel):
    X, y = rows()
    known = Polynomial(2, gamma=0.3, coef0=1.0) if kernel == "poly" else kernel
    model = PriorSVC(BLOCKS[block], kernel=known, scale="standard").fit(X, y)
    if (block, kernel) in (("slopes", "rbf"), ("tangents", "rbf"), ("tangents", "poly")):
        assert len(model.slopes_[0])
    assert_equal(model, rows(n=60, seed=1)[0])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_joint_model(kernel, classes):
    X, y = rows(classes=classes)
    block = InvariantLoss(Shift(np.array([0.1, 0.0, 0.0])))
    model = PriorSVC(block, kernel=kernel, multi_class="joint", scale="standard").fit(X, y)
    assert_equal(model, rows(n=60, seed=1)[0])


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_real_tables(load, kernel):
    data = load()
    words = np.array(data.target_names)[data.target]
    model = PriorSVC(kernel=kernel, scale="standard").fit(data.data[::2], words[::2])
    assert_equal(model, data.data[1::2])


@pytest.mark.parametrize(
    "labels", [[False, True], [-1, 1], [1.0, 2.0], ["ill", "well"], np.array(["a", "bc"], dtype=object)]
)
def test_labels_keep_their_kind(labels):
    X, y = rows()
    model = PriorSVC().fit(X, np.asarray(labels)[y])
    label, _ = run(priorsvm.to_onnx(model), X)
    assert label.tolist() == model.predict(X).tolist()
    assert type(label.tolist()[0]) is type(labels[0])


def test_column_names_and_one_row():
    X, y = rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = PriorSVC(kernel="rbf", scale="standard").fit(frame, y)
    label, scores = run(priorsvm.to_onnx(model), X[:1])
    assert label.shape == scores.shape == (1,)
    np.testing.assert_allclose(scores, model.decision_function(frame[:1]), atol=1e-12)


def with_gaps():
    X, y = rows()
    X[::7, 1] = np.nan
    return PriorSVC(MissingValues()).fit(X, y)


def with_words():
    X, y = rows()
    frame = pd.DataFrame({"a": X[:, 0], "sex": np.where(X[:, 1] > 100, "f", "m")})
    return PriorSVC(ClassCosts("balanced")).fit(frame, y)


def with_matrices():
    X, y = rows(d=2)
    return PriorSVC(RowPermutations((2, 1))).fit(X, y)


REFUSED = {
    "a scoring block": (with_gaps, r"block 'missing_values' \(MissingValues\) scores new rows"),
    "matrices": (with_matrices, "RowPermutations"),
    "categories": (with_words, "columns with categories"),
    "a kernel": (lambda: PriorSVC(kernel="laplacian").fit(*rows()), "laplacian.*has no ONNX form"),
    "a sum": (lambda: PriorSVC(kernel=RBF(1.0) + RBF(2.0)).fit(*rows()), "has no ONNX form"),
    "a matrix": (lambda: PriorSVC(kernel="precomputed").fit(np.eye(4), [0, 0, 1, 1]), "has no ONNX form"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_exported_is_refused(case):
    make, message = REFUSED[case]
    with pytest.raises(InvalidInput, match=message):
        priorsvm.to_onnx(make())


def test_worst_features_are_no_obstacle():
    """FeatureDeletion changes the loss of training rows, not the scores of new rows."""
    X, y = load_iris(return_X_y=True)
    model = PriorSVC(InvariantLoss(FeatureDeletion(1)), scale="standard").fit(X[:100], y[:100])
    assert_equal(model, X)


def test_other_objects_are_refused():
    X, y = rows()
    with pytest.raises(InvalidType, match=r"got Pipeline\. Of a pipeline, give its last step"):
        priorsvm.to_onnx(make_pipeline(PriorSVC()).fit(X, y))
    with pytest.raises(NotFitted):
        priorsvm.to_onnx(PriorSVC())


def test_labels_of_another_kind_are_refused():
    model = PriorSVC().fit(*rows())
    model.classes_ = np.array([(1, 2), "a"], dtype=object)
    with pytest.raises(InvalidInput, match="neither texts nor numbers"):
        priorsvm.to_onnx(model)


def test_without_onnx(monkeypatch):
    model = PriorSVC().fit(*rows())
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(PackageNotInstalled, match=r"pip install onnx\."):
        priorsvm.to_onnx(model)
