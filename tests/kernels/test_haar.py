"""Haar integration: against the double mean, its special cases, its models, its messages."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    Elastic,
    FeatureDeletion,
    FromFunction,
    HaarIntegration,
    InvarianceHint,
    Linear,
    NegativeDistance,
    Polynomial,
    PriorSVC,
    Reflection,
    Rotation,
    Shift,
    Translation,
    VirtualSamples,
)
from priorsvm.errors import InvalidInput, InvalidType
from priorsvm.kernels import Pairwise, transformed

SHAPE, D = (5, 4), 20
ORDERS = np.array(list(permutations(range(3))))[1:]


def rolled(X, theta):
    return np.roll(X, int(theta), axis=1)


def reordered(X, theta):
    return np.hstack([X[:, ORDERS[int(theta) - 1]], X[:, 3:]])


def turned(X, degrees):
    c, s = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    return np.hstack([X[:, :2] @ np.array([[c, s], [-s, c]]), X[:, 2:]])


BASES = {
    "rbf": RBF(gamma=0.1),
    "polynomial": Polynomial(degree=3, gamma=0.1, coef0=1.0),
    "linear": Linear(),
    "negative distance": NegativeDistance(),
    "sum, product, multiple": RBF(gamma=0.1) * Linear() + 2 * Polynomial(degree=2, gamma=0.1, coef0=1.0),
    "cosine": Pairwise("cosine"),
    "laplacian": Pairwise("laplacian", {"gamma": 0.1}),
}
# Transform, number of pairs of transformations, and number of different relative transformations for kernels
# of the distance. Images that are translated so far that they do not overlap have equal distances in all
# directions.
TRANSFORMS = {
    "translation": (Translation(SHAPE), 25, 13),
    "translation, full": (Translation(SHAPE, fill=-1.0, grid="full"), 81, 25),
    "translation, steps": (Translation(SHAPE, pixels=2, fill=0.5, grid="full", steps=3), 81, 16),
    "reflection": (Reflection(axis=1, shape=SHAPE), 4, 2),
    "both reflections": (Reflection(axis=1, shape=SHAPE) @ Reflection(axis=0, shape=SHAPE), 16, 4),
    "reflection after translation": (Reflection(axis=1, shape=SHAPE) @ Translation(SHAPE, fill=0.2), 100, 26),
    "either translation": (Translation(SHAPE) | Translation(SHAPE, pixels=2), 169, 32),
    "shift": (Shift(np.ones(D)), 9, 5),
    "cyclic": (FromFunction(rolled, np.arange(1, D), isometric=True), 400, 20),
    "all orders": (FromFunction(reordered, np.arange(1, 6), isometric=True), 36, 6),
    "turns of the plane": (FromFunction(turned, [120.0, 240.0], isometric=True), 9, 3),
    "part of a circle": (FromFunction(turned, [-20.0, -10.0, 10.0, 20.0], isometric=True), 25, 9),
    "a function": (FromFunction(rolled, [1, 2]), 9, 9),
    "rotation": (Rotation(SHAPE, degrees=10), 9, 9),
    "rotation or translation": (Rotation(SHAPE, degrees=10) | Translation(SHAPE, fill=0.3), 49, 49),
    "translation after rotation": (Translation(SHAPE) @ Rotation(SHAPE, degrees=10), 225, 225),
}

every_base = pytest.mark.parametrize("base", BASES.values(), ids=BASES)
# scikit-learn takes a millisecond for each of its kernels: use these with few transformations only.
every_pair = pytest.mark.parametrize(
    ("base", "transform"),
    [
        pytest.param(base, transform, id=f"{one}, {other}")
        for one, base in BASES.items()
        for other, (transform, pairs, _) in TRANSFORMS.items()
        if pairs <= 25 or not isinstance(base, Pairwise)
    ],
)


@pytest.fixture(scope="module")
def X():
    X = np.random.default_rng(0).uniform(-1, 1, size=(23, D))
    X.setflags(write=False)
    return X


@pytest.fixture(scope="module")
def Z():
    Z = np.random.default_rng(1).uniform(-1, 1, size=(9, D))
    Z.setflags(write=False)
    return Z


def on_canvas(transform, X, margin):
    """The orbit of images with background all around, by the transform of the larger images."""
    larger = transform.enlarged(margin)
    return larger.orbit(transform.padded(X, margin))


def double_mean(base, orbits, others):
    s = orbits.shape[1]
    return sum(base(orbits[:, i], others[:, j]) for i in range(s) for j in range(s)) / s**2


@pytest.mark.slow
@every_pair
def test_it_is_the_double_mean_over_both_orbits_with_and_without_reduction(base, transform, X, Z):
    margin = transform.margin
    orbits = [on_canvas(transform, R, margin) if margin else transform.orbit(R) for R in (X, Z)]
    expected = double_mean(base, *orbits)
    scale = np.abs(expected).max()
    for reduction in ("auto", "none"):
        K = HaarIntegration(base, transform, reduction)(X, Z)
        np.testing.assert_allclose(K, expected, rtol=0, atol=3e-14 * scale)


@pytest.mark.slow
@every_pair
def test_reduction_changes_nothing(base, transform, X):
    K = HaarIntegration(base, transform)(X)
    whole = HaarIntegration(base, transform, "none")
    np.testing.assert_allclose(K, whole(X), rtol=0, atol=2e-14 * np.abs(K).max())
    np.testing.assert_allclose(whole.diag(X), np.diagonal(K), rtol=0, atol=2e-14 * np.abs(K).max())
    np.testing.assert_array_equal(K, K.T)


@pytest.mark.parametrize(("transform", "pairs", "relative"), TRANSFORMS.values(), ids=TRANSFORMS)
def test_every_relative_transformation_is_evaluated_once(transform, pairs, relative):
    reduced = HaarIntegration(RBF(gamma=0.1), transform)._pairs(D)
    assert len(reduced) == relative
    assert sum(weight for *_, weight in reduced) == pytest.approx(1, abs=1e-12)
    assert len(HaarIntegration(RBF(gamma=0.1), transform, "none")._pairs(D)) == pairs
    assert len(HaarIntegration(BASES["laplacian"], transform)._pairs(D)) == pairs


def test_weights_of_a_part_of_a_group_are_triangular_and_those_of_a_whole_group_equal():
    part = HaarIntegration(RBF(gamma=0.1), TRANSFORMS["part of a circle"][0])._pairs(D)
    # Five angles: the differences 0, ±10, ..., ±40 occur 5, 4, 4, 3, 3, 2, 2, 1, 1 times.
    assert sorted(round(25 * weight) for *_, weight in part) == [1, 1, 2, 2, 3, 3, 4, 4, 5]
    for name in ("cyclic", "all orders", "turns of the plane", "both reflections"):
        weights = [weight for *_, weight in HaarIntegration(RBF(gamma=0.1), TRANSFORMS[name][0])._pairs(D)]
        np.testing.assert_allclose(weights, 1 / len(weights), rtol=1e-14)


@pytest.mark.parametrize("name", ["cyclic", "all orders", "turns of the plane"])
def test_over_a_whole_group_it_is_the_plain_mean_and_invariant(name, X, Z):
    transform, base = TRANSFORMS[name][0], RBF(gamma=0.1)
    kernel, orbit = HaarIntegration(base, transform), transform.orbit(Z)
    plain = np.mean([base(X, orbit[:, j]) for j in range(orbit.shape[1])], axis=0)
    np.testing.assert_allclose(kernel(X, Z), plain, rtol=0, atol=1e-15)
    for j in range(orbit.shape[1]):
        np.testing.assert_allclose(kernel(X, orbit[:, j]), plain, rtol=0, atol=1e-15)


@every_base
@pytest.mark.parametrize(
    "still",
    [Translation(SHAPE, pixels=0, fill=-1.0), FromFunction(rolled, []), Rotation(SHAPE, degrees=0)],
    ids=["translation", "function", "rotation"],
)
def test_with_the_identity_alone_it_is_the_base(base, still, X, Z):
    kernel = HaarIntegration(base, still)
    np.testing.assert_allclose(kernel(X, Z), base(X, Z), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(X), base.diag(X), rtol=1e-13, atol=1e-14)
    assert kernel.definiteness == base.definiteness


@pytest.mark.parametrize("name", ["translation, full", "rotation", "shift", "reflection"])
@pytest.mark.parametrize("base", [BASES["rbf"], BASES["polynomial"]], ids=["rbf", "polynomial"])
def test_it_is_positive_definite_where_the_base_is(base, name):
    X = np.random.default_rng(5).normal(size=(80, D))
    kernel = HaarIntegration(base, TRANSFORMS[name][0])
    spectrum = np.linalg.eigvalsh(kernel(X))
    assert kernel.definiteness == "psd"
    assert spectrum[0] >= -1e-12 * spectrum[-1]


def test_definiteness_follows_the_base():
    transform = Translation(SHAPE)
    assert HaarIntegration(NegativeDistance(), transform).definiteness == "cpd"
    assert HaarIntegration(Polynomial(degree=2, coef0=-1.0), transform).definiteness == "unknown"


def test_a_transformed_image_keeps_its_edges():
    corner = np.zeros((1, D))
    corner[0, 0] = 1.0
    shifted = Translation(SHAPE).apply(corner, [1, 0])
    kernel = HaarIntegration(Linear(), Translation(SHAPE, grid="full"))
    assert kernel(corner)[0, 0] == pytest.approx(1 / 9)  # 9 of the 81 pairs meet
    assert kernel(corner, shifted)[0, 0] == pytest.approx(6 / 81)


def test_background_counts_as_what_it_is():
    """With a base that looks at inner products the fill of the canvas matters; with distances it cancels."""
    X = np.random.default_rng(3).uniform(-1, 1, size=(6, D))
    lifted = X + 1.0
    for base, same in ((RBF(gamma=0.1), True), (Polynomial(degree=2, gamma=0.1), False)):
        dark = HaarIntegration(base, Translation(SHAPE, fill=-1.0))(X)
        black = HaarIntegration(base, Translation(SHAPE, fill=0.0))(lifted)
        assert np.allclose(dark, black, rtol=0, atol=1e-14) == same


@pytest.mark.slow
@pytest.mark.parametrize("base", [BASES["rbf"], BASES["negative distance"]], ids=["products", "rows"])
@pytest.mark.parametrize("name", ["translation, full", "rotation"])
def test_blocks_change_nothing(base, name, X, Z, monkeypatch):
    kernel = HaarIntegration(base, TRANSFORMS[name][0])
    at_once = kernel(X), kernel(X, Z), kernel(Z, X), kernel.diag(X)
    monkeypatch.setattr(transformed, "TILE", 4)
    monkeypatch.setattr(transformed, "AREA", 24)
    monkeypatch.setattr(transformed, "BYTES", 1)
    in_blocks = kernel(X), kernel(X, Z), kernel(Z, X), kernel.diag(X)
    for one, other in zip(at_once, in_blocks, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=5e-15 * np.abs(one).max())
    np.testing.assert_array_equal(in_blocks[0], in_blocks[0].T)


@pytest.mark.parametrize("base", [RBF(gamma=0.02), Polynomial(degree=2, gamma=0.02, coef0=1.0)], ids=repr)
def test_single_precision_errs_in_the_sixth_digit(base, X):
    transform = Translation(SHAPE, fill=-1.0, grid="full")
    double, single = (HaarIntegration(base, transform, precision=p)(X) for p in ("double", "single"))
    assert single.dtype == float
    error = np.abs(single - double).max() / np.abs(double).max()
    assert 0 < error < 2e-6


def test_far_from_the_origin_no_digits_are_lost(X):
    transform = FromFunction(rolled, np.arange(1, D), isometric=True)
    kernel = HaarIntegration(RBF(gamma=0.1), transform)
    np.testing.assert_allclose(kernel(X + 1e6), kernel(X), rtol=0, atol=1e-8)


def test_progress_is_shown_on_request(X, capsys):
    HaarIntegration(RBF(gamma=0.1), Translation(SHAPE), verbose=1)(X)
    assert "HaarIntegration: " in capsys.readouterr().err
    HaarIntegration(RBF(gamma=0.1), Translation(SHAPE))(X)
    assert capsys.readouterr().err == ""


# ------------------------------------------------------------------------------------ as an estimator


def test_words_refer_to_rows_without_transformations(X):
    kernel = HaarIntegration(RBF(), Translation(SHAPE))
    known = kernel.resolved(X)
    assert known.base.gamma == RBF().resolved(X).gamma
    assert kernel.base.gamma == "scale"
    with pytest.raises(InvalidInput, match="gamma='scale' depends on the training rows"):
        kernel(X)


def test_parameters_reach_base_and_transform():
    kernel = clone(HaarIntegration(RBF(), Translation(SHAPE)))
    kernel.set_params(base__gamma=0.5, transform__pixels=2)
    assert (
        repr(kernel) == "HaarIntegration(base=RBF(gamma=0.5), transform=Translation(pixels=2, shape=(5, 4)))"
    )
    assert {"base__gamma", "transform__fill", "reduction"} <= kernel.get_params().keys()


# ------------------------------------------------------------------------------------ in models


def labelled(n=30, seed=0, d=D):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1, -1)


@pytest.mark.parametrize(
    "group",
    [
        Reflection(axis=1, shape=(2, 3)),
        Reflection(axis=1, shape=(2, 3)) @ Reflection(axis=0, shape=(2, 3)),
        FromFunction(rolled, np.arange(1, 6), isometric=True),
        FromFunction(reordered, np.arange(1, 6), isometric=True),
    ],
    ids=["mirror", "mirrors", "cyclic", "all orders"],
)
def test_copies_at_a_share_of_the_cost_the_haar_kernel_and_the_hard_hint_are_one_model(group):
    X, y = labelled(24, d=6)
    size, C, base = len(group.theta_grid()), 5.0, RBF(gamma=0.2)
    new = np.random.default_rng(7).normal(size=(40, 6))
    haar = PriorSVC(C=C, kernel=HaarIntegration(base, group), tol=1e-10).fit(X, y)
    copies = PriorSVC(VirtualSamples(group), C=C / size, kernel=base, tol=1e-10).fit(X, y)
    hint = PriorSVC(InvarianceHint(group, hard=True), C=C, kernel=base, tol=1e-10, solver="CLARABEL").fit(
        X, y
    )
    assert haar.solver_ == "LIBSVM"
    expected = haar.decision_function(new)
    assert np.ptp(expected) > 0.5
    np.testing.assert_allclose(copies.decision_function(new), expected, rtol=0, atol=1e-7)
    np.testing.assert_allclose(hint.decision_function(new), expected, rtol=0, atol=1e-7)


def test_the_fast_route_and_cvxpy_agree():
    X, y = labelled()
    kernel = HaarIntegration(RBF(gamma=0.05), Translation(SHAPE))
    fast = PriorSVC(kernel=kernel, tol=1e-9).fit(X, y)
    slow = PriorSVC(kernel=kernel, solver="CLARABEL", tol=1e-9).fit(X, y)
    assert (fast.solver_, slow.solver_) == ("LIBSVM", "CLARABEL")
    new = np.random.default_rng(2).normal(size=(20, D))
    np.testing.assert_allclose(fast.decision_function(new), slow.decision_function(new), rtol=0, atol=1e-6)


class Counted(HaarIntegration):
    """Counts its matrices."""

    shapes: list = []

    def _matrix(self, A, B):
        self.shapes.append((len(A), len(B)))
        return super()._matrix(A, B)


def test_one_matrix_serves_all_classes():
    X, _ = labelled(40)
    y = np.arange(40) % 4
    Counted.shapes.clear()
    PriorSVC(kernel=Counted(RBF(), Translation(SHAPE))).fit(X, y)
    assert Counted.shapes == [(40, 40)]


def test_preselect_finds_support_vectors_with_the_base_kernel():
    X, y = labelled(60, seed=1)
    X[y > 0, :6] += 1.5
    plain = PriorSVC(kernel=RBF(gamma=0.01), C=0.5).fit(X, y)
    few = plain.support_
    assert 5 < len(few) < 50
    Counted.shapes.clear()
    kernel = Counted(RBF(gamma=0.01), Translation(SHAPE))
    model = PriorSVC(kernel=kernel, C=0.5, preselect=True, tol=1e-9).fit(X, y)
    assert Counted.shapes == [(len(few), len(few))]
    by_hand = PriorSVC(kernel=kernel, C=0.5, tol=1e-9).fit(X[few], y[few])
    np.testing.assert_allclose(model.decision_function(X), by_hand.decision_function(X), atol=1e-9)
    of_lines = HaarIntegration(Linear(), Translation(SHAPE))
    linear = PriorSVC(kernel=of_lines, preselect=True, n_centres=50, solver="CLARABEL").fit(X, y)
    assert set(linear.support_) <= set(PriorSVC(kernel="linear", tol=1e-9).fit(X, y).support_)


def test_with_a_region_and_costs_in_one_model():
    X, y = labelled()
    low, high = -0.3 * np.ones(D), 0.3 * np.ones(D)
    bounds = {j: (a, b) for j, (a, b) in enumerate(zip(low, high, strict=True))}
    prior = Box(bounds, label=1, hard=True, method="points") + ClassCosts({1: 3.0})
    model = PriorSVC(prior, kernel=HaarIntegration(RBF(gamma=0.05), Translation(SHAPE))).fit(X, y)
    inside = np.random.default_rng(4).uniform(low, high, size=(50, D))
    without = PriorSVC(kernel=HaarIntegration(RBF(gamma=0.05), Translation(SHAPE))).fit(X, y)
    assert model.decision_function(inside).mean() > without.decision_function(inside).mean() + 0.1
    assert model.status_ == "optimal"


# ------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (HaarIntegration("rbf", Translation(SHAPE)), InvalidType, "base is 'rbf'; expected a Kernel such as"),
        (HaarIntegration(RBF(1.0), "shift"), InvalidType, "transform is 'shift'; expected a Transform such"),
        (HaarIntegration(RBF(1.0), FeatureDeletion(1)), InvalidInput, "FeatureDeletion has no finite orbit"),
        (
            HaarIntegration(RBF(1.0), Translation(SHAPE), "on"),
            InvalidInput,
            "reduction is 'on'; expected 'aut",
        ),
        (HaarIntegration(RBF(-1.0), Translation(SHAPE)), InvalidInput, "RBF: gamma is -1.0"),
        (
            HaarIntegration(RBF(1.0), Translation(SHAPE), precision="half"),
            InvalidInput,
            "precision is 'half'; expected 'double' or 'single'",
        ),
        (
            HaarIntegration(RBF(1.0), Translation((3, 3))),
            InvalidInput,
            r"shape \(3, 3\) have 9 pixels.*20 col",
        ),
        (
            HaarIntegration(RBF(1.0), FromFunction(rolled, [1]) @ Translation(SHAPE)),
            InvalidInput,
            "FromFunction cannot transform images with a border of background pixels",
        ),
        (
            HaarIntegration(RBF(1.0), Elastic(SHAPE) | Translation(SHAPE)),
            InvalidInput,
            "Elastic cannot transform images with a border of background pixels",
        ),
        (
            HaarIntegration(RBF(1.0), Translation(SHAPE) | Translation(SHAPE, fill=1.0)),
            InvalidInput,
            "Union: the members have different backgrounds",
        ),
        (
            HaarIntegration(HaarIntegration(RBF(1.0), Translation(SHAPE)), Translation(SHAPE)),
            InvalidInput,
            "base is HaarIntegration.*transforms images itself.*transform_1 @ transform_2",
        ),
        (
            HaarIntegration(RBF(1.0), FromFunction(lambda X, t: t * X, [2.0], isometric=True)),
            InvalidInput,
            "has isometric=True, but it changes the distance.*Set isometric=False",
        ),
    ],
)
def test_what_cannot_be_used_is_named(kernel, error, message, X):
    with pytest.raises(error, match=message):
        kernel(X)


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_scaled_columns_are_rejected_since_transformations_are_in_the_units_of_x(scale):
    X, y = labelled()
    kernel = 2 * HaarIntegration(RBF(), Translation(SHAPE)) + RBF()
    with pytest.raises(InvalidInput, match=rf"units of X.*scale='{scale}'.*scale=None"):
        PriorSVC(kernel=kernel, scale=scale).fit(X, y)


def test_a_conditionally_definite_base_serves_both_norms():
    X, y = labelled()
    kernel = HaarIntegration(NegativeDistance(), Translation(SHAPE))
    model = PriorSVC(kernel=kernel, C=2.0).fit(X, y)
    reference = SVC(kernel="precomputed", C=2.0, tol=1e-10).fit(kernel(X), y)
    np.testing.assert_allclose(
        model.decision_function(X), reference.decision_function(kernel(X)), rtol=1e-5, atol=1e-6
    )
    assert PriorSVC(kernel=kernel, norm="l1", C=10.0).fit(X, y).score(X, y) > 0.8


@pytest.mark.data
def test_on_digits_it_is_the_mean_of_scikit_learns_kernels():
    from priorsvm import load_usps

    usps = load_usps()
    X = usps.X_train[:60]
    images = X.reshape(-1, 16, 16)
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)), constant_values=-1.0)
    shifted = [np.roll(padded, (i, j), axis=(1, 2)).reshape(60, -1) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    expected = np.mean([rbf_kernel(A, B, gamma=0.01) for A in shifted for B in shifted], axis=0)
    kernel = HaarIntegration(RBF(gamma=0.01), Translation((16, 16), fill=-1.0, grid="full"))
    np.testing.assert_allclose(kernel(X), expected, rtol=0, atol=5e-14)
