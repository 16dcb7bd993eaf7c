"""Sets of vectors as samples: input, encoding as rows, and models."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from priorsvm import (
    RBF,
    Bhattacharyya,
    Box,
    ClassCosts,
    Ellipsoid,
    InvarianceHint,
    Knowledge,
    Linear,
    MissingValues,
    NegativeDistance,
    Polyhedron,
    PrincipalAngles,
    PriorSVC,
    SampleCosts,
    Shift,
    Terms,
    Transductive,
    UnlabeledSamples,
    VirtualSamples,
    check_knowledge,
)
from priorsvm._utils.arrays import PAD, to_width
from priorsvm.errors import InvalidInput, InvalidType, KernelNotPSD
from priorsvm.kernels import OnRows, set_kernel
from priorsvm.kernels.set_kernel import Sets, as_sets
from priorsvm.knowledge.checks import check_points


def sets_of(sizes, width=2, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    return [spread * rng.normal(size=(m, width)) for m in sizes]


def two_classes(n=40, sizes=(2, 7), seed=0):
    """Sets that differ in their spread only: the mean of a set does not depend on its class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = [rng.normal(size=(rng.integers(*sizes), 2)) * [1 + 3 * label, 1] for label in y]
    return X, y


def of_one_size(n=30, m=3, seed=0):
    X, y = two_classes(n, (m, m + 1), seed)
    return np.array(X), y


# -------------------------------------------------------------------------------- sets and rows


def test_sets_may_be_a_list_an_array_of_objects_or_a_cube():
    cube = np.array(sets_of([3, 3, 3, 3]))
    boxed = np.empty(4, object)
    boxed[:] = list(cube)
    for given in (list(cube), tuple(cube), boxed, cube.tolist(), np.asfortranarray(cube)):
        assert_array_equal(as_sets(given, "X").elements, cube)


@pytest.mark.parametrize("width", [1, 2, 5])
def test_rows_give_the_sets_back_whatever_their_width(width):
    X = sets_of([3, 1, 4, 2], width)
    rows = as_sets(X, "X").rows()
    assert rows.shape == (4, 4 * width)
    assert np.isfinite(rows).all()
    for wide in (rows, to_width(rows, 9 * width)):
        back = Sets.of_rows(wide, width)
        assert back.sizes.tolist() == [3, 1, 4, 2]
        for i, x in enumerate(X):
            assert_array_equal(back[i], x)


def test_sets_of_one_size_are_flattened_as_they_are():
    cube = np.array(sets_of([3, 3]))
    assert_array_equal(as_sets(cube, "X").rows(), cube.reshape(2, 6))


def test_a_set_of_zeros_is_not_taken_for_filling():
    rows = as_sets([np.zeros((2, 1)), np.ones((3, 1))], "X").rows()
    assert Sets.of_rows(rows, 1).sizes.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((4, 3)), r"k: A must be a list of \(m, d\) arrays, .*; its shape is \(4, 3\)"),
        ([[1.0, 2.0]], r"k: A\[0\] has shape \(2,\)"),
        ([np.ones((2, 3)), np.ones((0, 3))], r"k: A\[1\] is an empty set, shape \(0, 3\)"),
        (np.ones((3, 0, 2)), r"k: A\[0\] is an empty set"),
        ([np.ones((2, 3)), np.ones((2, 2))], r"k: A\[1\] has vectors of 2 entries and k: A\[0\] of 3"),
        ([np.ones((2, 3)), np.full((1, 3), np.nan)], r"k: A\[1\] contains NaN or infinity"),
        ([np.full((1, 3), PAD)], r"k: A\[0\] contains NaN or infinity"),
        (["ab", "cd"], "of numbers; got list"),
        (3, "of numbers; got int"),
    ],
)  # fmt: skip
def test_invalid_sets_are_rejected(X, message):
    with pytest.raises(InvalidInput, match=message):
        as_sets(X, "k: A")


def test_kernels_refuse_sets_of_different_widths():
    with pytest.raises(InvalidInput, match="Bhattacharyya: A has 2 columns and B has 3"):
        Bhattacharyya(eta=1.0)(sets_of([2, 3]), sets_of([2, 3], width=3))
    with pytest.raises(InvalidInput, match=r"its shape is \(2, 4\)"):
        Bhattacharyya(eta=1.0)(np.ones((2, 4)))


@pytest.mark.parametrize("kernel", [Bhattacharyya, PrincipalAngles])
@pytest.mark.parametrize(
    ("base", "error", "message"),
    [
        ("rbf", InvalidType, "base is 'rbf'; expected None or a kernel between vectors"),
        (PrincipalAngles(), InvalidType, "expected None or a kernel between vectors"),
        (NegativeDistance(), InvalidInput, r"base is NegativeDistance\(\), which is not positive"),
        (RBF(gamma=-1), InvalidInput, "RBF: gamma is -1"),
    ],
)  # fmt: skip
def test_the_base_must_be_a_kernel_with_a_feature_space(kernel, base, error, message):
    with pytest.raises(error, match=message):
        kernel(base=base)(sets_of([2, 2]))


KERNELS = [
    Bhattacharyya(eta=0.3),
    Bhattacharyya(eta=0.3, base=RBF(gamma=0.5)),
    Bhattacharyya(eta=0.3, base=RBF(gamma=0.5), n_components=2),
    PrincipalAngles(n_directions=2),
    PrincipalAngles(base=RBF(gamma=0.5), n_directions=2),
    Bhattacharyya(eta=0.3) + 0.5 * PrincipalAngles(n_directions=1),
]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


@every_kernel
def test_the_order_of_the_vectors_is_nothing(kernel):
    X = sets_of([3, 5, 2, 4])
    turned = [x[::-1] for x in X]
    assert_allclose(kernel(X, turned), kernel(X), rtol=1e-10, atol=1e-12)


@every_kernel
def test_what_fills_up_small_sets_means_nothing(kernel):
    X = sets_of([3, 5, 2, 4])
    K = kernel(X)
    for i, x in enumerate(X):
        for j, z in enumerate(X):
            assert_allclose(kernel([x], [z])[0, 0], K[i, j], rtol=1e-10, atol=1e-12)


@every_kernel
def test_blocks_are_the_whole(kernel, monkeypatch):
    X, Z = sets_of([3, 5, 2, 4, 3]), sets_of([2, 6, 3, 2], seed=1)
    whole = kernel(X), kernel(X, Z)
    monkeypatch.setattr(set_kernel, "BLOCK_BYTES", 5000)
    blocked = kernel(X), kernel(X, Z)
    assert_array_equal(blocked[0], blocked[0].T)
    for a, b in zip(whole, blocked, strict=True):
        assert_allclose(a, b, rtol=1e-12, atol=1e-13)


@every_kernel
def test_on_rows_is_the_kernel_of_the_sets(kernel):
    X, Z = sets_of([3, 5, 2, 4]), sets_of([2, 9], seed=1)
    coded = OnRows(kernel, 2)
    rows, others = coded.encode(X), coded.encode(Z)
    assert rows.shape == (4, 10)
    assert others.shape == (2, 18)
    for a, b in ((rows, others), (X, others), (rows, Z)):
        assert_allclose(coded(a, b), kernel(X, Z), rtol=1e-13, atol=1e-15)
    assert_array_equal(coded.diag(rows), kernel.diag(X))
    assert coded(rows[:0], others).shape == (0, 2)
    with pytest.raises(InvalidInput, match="B has 9 columns, which is not a multiple of the width 2"):
        coded(rows, np.ones((3, 9)))
    assert coded.definiteness == kernel.definiteness
    assert not coded.has_slope
    copy = pickle.loads(pickle.dumps(clone(coded)))
    assert repr(copy) == repr(coded)


def test_gamma_and_eta_are_resolved_on_the_vectors_of_all_sets():
    X = sets_of([3, 5, 2, 4])
    vectors = np.vstack(X)
    total = vectors.var(axis=0).sum()
    assert_allclose(Bhattacharyya().resolved(X).eta, 0.1 * total / 2, rtol=1e-13)
    assert_allclose(Bhattacharyya(base=Linear()).resolved(X).eta, 0.1 * total / 2, rtol=1e-12)
    found = Bhattacharyya(base=RBF()).resolved(X)
    assert_allclose(found.base.gamma, 1 / (2 * vectors.var()))
    assert_allclose(found.eta, 0.1 * (1 - found.base(vectors).mean()) / 2, rtol=1e-12)
    assert_allclose(PrincipalAngles(base=RBF()).resolved(X).base.gamma, 1 / (2 * vectors.var()))
    assert Bhattacharyya().resolved([[[1.0]], [[1.0]]]).eta == 1.0
    combined = (Bhattacharyya() + 2 * PrincipalAngles(RBF(), 1)).resolved(X)
    assert "scale" not in repr(combined)


@pytest.mark.parametrize("base", [None, RBF()])
def test_a_weight_of_two_is_a_set_that_is_there_twice(base):
    X = sets_of([3, 5, 2, 4])
    twice = Bhattacharyya(base=base).resolved([*X[:3], X[0]])
    weighted = Bhattacharyya(base=base).resolved(X, np.array([2.0, 1.0, 1.0, 0.0]))
    assert_allclose(weighted(X), twice(X), rtol=1e-12)


# -------------------------------------------------------------------------------- in PriorSVC


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_model_is_the_svm_on_the_kernel_matrix(kernel):
    X, y = two_classes()
    Z = sets_of([2, 9, 4], seed=5, spread=2.0)  # larger than any set of the training data
    model = PriorSVC(kernel=kernel, C=3.0).fit(X, y)
    svc = SVC(C=3.0, kernel="precomputed", tol=1e-10).fit(kernel(X), y)
    assert_allclose(model.decision_function(Z), svc.decision_function(kernel(Z, X)), atol=1e-6)
    found = model.kernel_(Z, model.centres_) @ model.dual_coef_.T + model.intercept_
    assert_allclose(found[:, 0], model.decision_function(Z), atol=1e-10)
    assert model.n_features_in_ == 2


def test_a_set_kernel_separates_classes_of_equal_means():
    X, y = two_classes(200, (5, 12))
    score = cross_val_score(PriorSVC(kernel=Bhattacharyya()), X, y, cv=5).mean()
    means = np.array([x.mean(axis=0) for x in X])
    assert score > 0.9 > cross_val_score(PriorSVC(kernel="rbf"), means, y, cv=5).mean() + 0.05


def test_lists_and_cubes_go_through_scikit_learn():
    X, y = of_one_size(40, 4)
    search = {"kernel__eta": [0.1, 1.0], "C": [1.0, 10.0]}
    a = GridSearchCV(PriorSVC(kernel=Bhattacharyya()), search, cv=3).fit(X, y)
    b = GridSearchCV(PriorSVC(kernel=Bhattacharyya()), search, cv=3).fit(list(X), y)
    assert a.best_params_ == b.best_params_
    assert_array_equal(a.predict(X), b.predict(list(X)))
    piped = make_pipeline(PriorSVC(kernel=Bhattacharyya())).fit(X, y)
    assert piped.score(X, y) == piped.score(list(X), y)


def test_clone_pickle_and_paths_work_with_sets():
    X, y = two_classes()
    model = PriorSVC(kernel=Bhattacharyya(), C=2.0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert_array_equal(clone(model).fit(X, y).decision_function(X), model.decision_function(X))
    path = model.fit_path(X, y, {"C": [0.5, 2.0]})
    assert_allclose(path[1].decision_function(X), model.decision_function(X), atol=1e-6)


def test_three_classes_and_the_one_norm():
    rng = np.random.default_rng(0)
    y = np.arange(45) % 3
    X = [rng.normal(size=(rng.integers(4, 9), 2)) * [[1, 1], [4, 1], [1, 4]][k] for k in y]
    assert PriorSVC(kernel=Bhattacharyya(), C=10).fit(X, y).score(X, y) > 0.9
    with pytest.raises(KernelNotPSD, match=r"PrincipalAngles.*not positive definite.*norm='l1'"):
        PriorSVC(kernel=PrincipalAngles(n_directions=1, squared=False)).fit(X, y)
    plain = PriorSVC(kernel=PrincipalAngles(n_directions=1, squared=False), norm="l1", C=10).fit(X, y)
    assert plain.score(X, y) > 0.6


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
def test_sample_blocks_work_with_sets_of_any_size(norm, solver):
    X, y = two_classes(30)
    extra = sets_of([9, 1, 4], seed=3)  # one larger than all training sets
    parameters = {"kernel": Bhattacharyya(eta=0.5), "norm": norm, "solver": solver, "tol": 1e-7}
    weighted = PriorSVC(ClassCosts({1: 3.0}), **parameters).fit(X, y)
    same = PriorSVC(**parameters).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    assert_allclose(weighted.decision_function(X), same.decision_function(X), atol=1e-5)
    extended = PriorSVC(UnlabeledSamples(extra, [0, 1, 0]), **parameters).fit(X, y)
    if norm == "l2":
        joined = PriorSVC(**parameters).fit([*X, *extra], [*y, 0, 1, 0])
        assert_allclose(extended.decision_function(X), joined.decision_function(X), atol=1e-5)
    assert extended.verify()["unlabeled_samples"].checked == 3
    costs = PriorSVC(SampleCosts(np.where(y == 1, 3.0, 1.0)), **parameters).fit(X, y)
    assert_allclose(costs.decision_function(X), same.decision_function(X), atol=1e-5)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_centres": 15},
        {"preselect": True},
        {"loss": "squared_hinge"},
        {"multi_class": "joint"},
    ],
    ids=str,
)
def test_every_kind_of_model_takes_sets(parameters):
    rng = np.random.default_rng(0)
    y = np.arange(36) % 3
    X = [rng.normal(size=(rng.integers(4, 9), 2)) * [[1, 1], [5, 1], [1, 5]][k] for k in y]
    model = PriorSVC(kernel=Bhattacharyya(), C=10.0, **parameters).fit(X, y)
    assert model.score(X, y) > 0.85
    assert model.predict([np.ones((15, 2))]).shape == (1,)


def test_transductive_sets():
    X, y = two_classes(40)
    model = PriorSVC(Transductive([*X[20:], np.ones((11, 2))]), kernel=Bhattacharyya(eta=0.5)).fit(
        X[:20], y[:20]
    )
    assert model.score(X, y) > 0.7


def test_regions_apply_to_the_flattened_vectors_of_sets_of_one_size():
    X, y = of_one_size(30, 2)
    box = Box({0: (2, 3), 3: (None, 0.5)}, label=1, hard=True, method="points", points=32)
    model = PriorSVC(box, kernel=Bhattacharyya(eta=1.0)).fit(X, y)
    low, high = X.reshape(30, 4).min(axis=0), X.reshape(30, 4).max(axis=0)
    inside = np.random.default_rng(0).uniform(low, np.minimum(high, [9, 9, 9, 0.5]), size=(300, 4))
    inside[:, 0] = np.random.default_rng(1).uniform(2, 3, 300)
    plain = PriorSVC(kernel=Bhattacharyya(eta=1.0)).fit(X, y)
    f, g = (m.decision_function(inside.reshape(-1, 2, 2)) for m in (model, plain))
    assert (f >= 1).mean() > 0.8 > (g >= 1).mean()


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [Bhattacharyya(eta=1.0), PrincipalAngles(n_directions=1)], ids=repr)
@pytest.mark.parametrize(
    "block",
    [
        Polyhedron([[1.0, 0, 0, 0], [0, 0, 0, -1]], [-1, -1], 0, method="points", points=16, within="data"),
        Ellipsoid([3.0, 0, 3, 0], np.eye(4), 1, method="points", points=16),
        InvarianceHint(Shift([0.0, 0.1, 0, 0])),
        VirtualSamples(Shift([0.0, 0.1, 0, 0.1])),
        ClassCosts({1: 2.0}),
    ],
    ids=lambda block: type(block).__name__,
)  # fmt: skip
def test_blocks_obey_their_laws_on_sets(block, kernel):
    X, y = of_one_size(20, 2)
    assert "the answer satisfies KKT" in check_knowledge(block, X, y, kernels=(kernel,))


# -------------------------------------------------------------------------------- what makes no sense


@pytest.mark.parametrize(
    ("block", "name"),
    [(Box({0: (1, 2)}, 1, holds="everywhere"), "box"), (VirtualSamples(Shift([0.1])), "virtual_samples")],
)
def test_blocks_on_columns_are_refused_for_sets_of_different_sizes(block, name):
    X, y = two_classes()
    with pytest.raises(InvalidInput, match=f"block '{name}' requires columns, but sets of 2 to 6 vectors"):
        PriorSVC(block, kernel=Bhattacharyya()).fit(X, y)


def test_what_else_is_refused():
    X, y = two_classes(20)
    kernel = Bhattacharyya()
    with pytest.raises(InvalidInput, match=r"scale='standard' applies to columns.*scale=None"):
        PriorSVC(kernel=kernel, scale="standard").fit(X, y)
    with pytest.raises(InvalidInput, match="X must be a list of"):
        PriorSVC(kernel=kernel).fit(np.ones((20, 3)), y)
    with pytest.raises(InvalidInput, match="X contains no set"):
        PriorSVC(kernel=kernel).fit([], [])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        PriorSVC(kernel=kernel).fit(X, y[:-1])
    with pytest.raises(InvalidInput, match=r"X\[2\] contains NaN"):
        PriorSVC(MissingValues(), kernel=kernel).fit([*X[:2], np.full((2, 2), np.nan), *X[3:]], y)
    with pytest.raises(InvalidInput, match=r"2-D array.*its shape is \(20, 3, 2\)"):
        PriorSVC(kernel=Bhattacharyya() + RBF()).fit(np.ones((20, 3, 2)), y)
    with pytest.raises(ValueError, match="dim 3"):
        PriorSVC(kernel="rbf").fit(np.ones((20, 3, 2)), y)
    model = PriorSVC(kernel=kernel).fit(X, y)
    with pytest.raises(InvalidInput, match="vectors of 3 entries, but this model was fitted on vectors of 2"):
        model.predict(sets_of([2, 3], width=3))
    with pytest.raises(InvalidInput, match="block 'unlabeled_samples': X has sets of vectors of 3 entries"):
        PriorSVC(UnlabeledSamples(sets_of([2], width=3), [0]), kernel=kernel).fit(X, y)


class AtSets(Knowledge):
    """Values of f at sets of vectors."""

    accepts = frozenset({"dense", "sets"})

    def __init__(self, Z, encode=True):
        self.Z = Z
        self.encode = encode

    def build(self, f, view):
        Z = check_points("Z", self.Z, view.sample) if self.encode else self.Z
        return Terms(constraints={"above": f(Z) >= -5.0})


@pytest.mark.parametrize(
    ("Z", "encode", "got"),
    [
        (sets_of([9, 3]), True, "got sets of 9 vectors of length 2"),
        (np.array(sets_of([9, 9])).reshape(2, 18), False, "got sets of 9 vectors of length 2"),
        (np.ones((2, 7)), False, "got rows of 7 numbers"),
        (np.ones((2, 3, 2)), False, r"got shape \(2, 3, 2\)"),
    ],
)
def test_sets_larger_than_those_of_X_are_described_by_their_vectors(Z, encode, got):
    X, y = two_classes(20)
    with pytest.raises(
        InvalidInput, match=f"takes sets of 6 vectors of length 2, the largest size in X, {got}"
    ):
        PriorSVC(AtSets(Z, encode), kernel=Bhattacharyya()).fit(X, y)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_smaller_sets_are_padded():
    X, y = two_classes(20)
    assert PriorSVC(AtSets(sets_of([2, 3])), kernel=Bhattacharyya()).fit(X, y).status_ == "optimal"


def test_flat_rows_of_another_size_are_described_by_their_vectors():
    X, y = two_classes(20)
    message = (
        r"X has sets of 9 vectors of length 2 as flat rows.*are sets of 6 vectors.*list of \(m, 2\) arrays"
    )
    with pytest.raises(InvalidInput, match=message):
        PriorSVC(UnlabeledSamples(np.ones((2, 18)), [0, 1]), kernel=Bhattacharyya()).fit(X, y)
