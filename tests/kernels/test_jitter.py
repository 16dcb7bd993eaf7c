"""Jittering: against a loop over pairs and transformations, its special cases, its symmetry, its models."""

from __future__ import annotations

import numpy as np
import pytest

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    FeatureScaling,
    FromFunction,
    Jitter,
    Linear,
    NegativeDistance,
    Polynomial,
    PriorSVC,
    Reflection,
    Rotation,
    Shift,
    Translation,
)
from priorsvm.errors import InvalidInput, InvalidType, KernelNotPSD
from priorsvm.kernels import Pairwise, transformed

SHAPE, D = (4, 4), 16


def rolled(X, theta):
    return np.roll(X, int(theta), axis=1)


BASES = [
    RBF(gamma=0.1),
    NegativeDistance(),
    RBF(gamma=0.1) + 2 * RBF(gamma=0.3),
    -1 * RBF(gamma=0.1),
    Polynomial(degree=2, gamma=0.1, coef0=1.0),
    Linear(),
    RBF(gamma=0.1) * Linear(),
    Pairwise("laplacian", {"gamma": 0.1}),
]
# Transforms, and whether the inverse of each isometry is one of them.
TRANSFORMS = {
    "translation": (Translation(SHAPE), True),
    "translation, full": (Translation(SHAPE, fill=-1.0, grid="full"), True),
    "mirror": (Reflection(axis=1, shape=SHAPE), True),
    "shift": (Shift(np.ones(D)), True),
    "one way": (FromFunction(rolled, [1, 2], isometric=True), False),
    "both ways": (FromFunction(rolled, [1, -1], isometric=True), True),
    "rotation": (Rotation(SHAPE, degrees=20), False),
    "rotation or translation": (Rotation(SHAPE, degrees=20) | Translation(SHAPE), False),
}

every_base = pytest.mark.parametrize("base", BASES, ids=repr)
every_transform = pytest.mark.parametrize(("transform", "closed"), TRANSFORMS.values(), ids=TRANSFORMS)


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).uniform(-1, 1, size=(13, D))


@pytest.fixture(scope="module")
def Z():
    return np.random.default_rng(1).uniform(-1, 1, size=(8, D))


def members(transform, X):
    margin = transform.margin
    return transform.enlarged(margin).orbit(transform.padded(X, margin)) if margin else transform.orbit(X)


def by_loops(base, transform, A, B):
    """Return the value of the transformation nearest in feature space, pair by pair."""
    others = members(transform, B)[:, 0]
    K = np.empty((len(A), len(B)))
    for i, orbit in enumerate(members(transform, A)):
        values, own, theirs = base(orbit, others), base.diag(orbit), base.diag(others)
        for j in range(len(B)):
            squared = [own[q] - 2 * values[q, j] + theirs[j] for q in range(len(orbit))]
            K[i, j] = values[squared.index(min(squared)), j]
    return K


@pytest.mark.slow
@every_base
@every_transform
def test_it_is_the_value_at_the_nearest_transformation(base, transform, closed, X, Z):
    expected = by_loops(base, transform, X, Z)
    kernel = Jitter(base, transform)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=0, atol=1e-13 * scale)
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(kernel(X)), rtol=0, atol=1e-13 * scale)


@every_base
@every_transform
def test_it_is_symmetric_for_isometries_with_their_inverses(base, transform, closed, X):
    kernel, K = Jitter(base, transform), Jitter(base, transform)(X)
    seen_by_base = base.depends_on == "distance" or (
        base.depends_on == "inner" and not isinstance(transform, Shift)
    )
    symmetric = closed and seen_by_base
    assert kernel._is_symmetric(D) == symmetric
    if transform.n_features is not None:
        assert kernel.symmetric == symmetric
    if symmetric:
        np.testing.assert_array_equal(K, K.T)
        # and not only because half of it was copied
        np.testing.assert_allclose(kernel(X, X.copy()), K, rtol=0, atol=1e-13 * np.abs(K).max())
    elif not closed:
        assert np.abs(K - K.T).max() > 1e-3


def test_the_base_of_distances_takes_the_largest_value(X, Z):
    transform, base = Translation(SHAPE, grid="full"), RBF(gamma=0.1)
    orbit, others = members(transform, X), members(transform, Z)[:, 0]
    largest = np.max([base(orbit[:, i], others) for i in range(9)], axis=0)
    np.testing.assert_allclose(Jitter(base, transform)(X, Z), largest, rtol=0, atol=1e-15)


@pytest.mark.parametrize("base", BASES, ids=repr)
@pytest.mark.parametrize("still", [Translation(SHAPE, pixels=0), FromFunction(rolled, [])], ids=repr)
def test_with_the_identity_alone_it_is_the_base(base, still, X, Z):
    kernel = Jitter(base, still)
    np.testing.assert_allclose(kernel(X, Z), base(X, Z), rtol=1e-13, atol=1e-14)
    assert kernel._is_symmetric(D)
    assert kernel.definiteness == base.definiteness


def test_three_dots_in_a_row_break_the_triangle_inequality():
    dots = np.zeros((3, 9))
    dots[[0, 1, 2], [3, 4, 5]] = 1.0
    kernel = Jitter(RBF(gamma=1.0), Translation((3, 3)))
    a, b, c = np.sqrt(2 - 2 * kernel(dots)[[0, 1, 0], [1, 2, 2]])
    assert (a, b) == (0.0, 0.0)
    assert c > 1
    assert np.linalg.eigvalsh(kernel(dots))[0] < -0.2
    assert kernel.definiteness == "unknown"


@pytest.mark.parametrize("base", [RBF(gamma=0.1), NegativeDistance(), Polynomial(2, 0.1, 1.0)], ids=repr)
@pytest.mark.parametrize("name", ["translation, full", "one way"])
def test_blocks_change_nothing(base, name, X, Z, monkeypatch):
    kernel = Jitter(base, TRANSFORMS[name][0])
    at_once = kernel(X), kernel(X, Z)
    monkeypatch.setattr(transformed, "TILE", 3)
    monkeypatch.setattr(transformed, "AREA", 24)
    monkeypatch.setattr(transformed, "BYTES", 1)
    for one, other in zip(at_once, (kernel(X), kernel(X, Z)), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=5e-15 * np.abs(one).max())


def test_single_precision_errs_in_the_sixth_digit(X):
    transform = Translation(SHAPE, fill=-1.0)
    double, single = (Jitter(RBF(gamma=0.1), transform, precision=p)(X) for p in ("double", "single"))
    assert 0 < np.abs(double - single).max() < 2e-6


# ------------------------------------------------------------------------------------ in models


def dots(n=60, seed=0):
    """A stroke down or across somewhere, with noise."""
    rng = np.random.default_rng(seed)
    images = 0.2 * rng.normal(size=(n, 4, 4))
    y = np.arange(n) % 2
    for image, label, place in zip(images, y, rng.integers(4, size=n), strict=True):
        if label:
            image[place] += 1.0
        else:
            image[:, place] += 1.0
    return images.reshape(n, D), y


def test_the_1_norm_takes_it_with_a_region_and_costs():
    X, y = dots()
    bounds = dict.fromkeys(range(D), (-0.1, 0.1))
    prior = Box(bounds, label=1, hard=True, method="points") + ClassCosts({0: 2.0})
    kernel = Jitter(RBF(gamma=0.2), Translation(SHAPE))
    model = PriorSVC(prior, kernel=kernel, norm="l1", C=10.0).fit(X, y)
    assert model.status_ == "optimal"
    X_new, y_new = dots(seed=1)
    assert model.score(X_new, y_new) > 0.9
    assert model.decision_function(np.zeros((1, D)))[0] > 0


def test_the_2_norm_refuses_it_and_names_the_ways_out():
    X, y = dots()
    with pytest.raises(KernelNotPSD, match=r"norm='l1'.*psd='clip' or psd='shift'"):
        PriorSVC(kernel=Jitter(RBF(gamma=0.2), Translation(SHAPE))).fit(X, y)


@pytest.mark.parametrize("psd", ["clip", "shift"])
@pytest.mark.parametrize(
    "transform", [Translation(SHAPE), Rotation(SHAPE, degrees=20)], ids=["translation", "rotation"]
)
def test_the_corrected_kernel_gives_a_2_norm_model(psd, transform):
    X, y = dots()
    kernel = Jitter(RBF(gamma=0.2), transform, psd=psd)
    model = PriorSVC(ClassCosts("balanced"), kernel=kernel, C=10.0, tol=1e-8).fit(X, y)
    assert model.solver_ == "LIBSVM"
    slow = PriorSVC(ClassCosts("balanced"), kernel=kernel, C=10.0, solver="CLARABEL", tol=1e-8).fit(X, y)
    X_new, y_new = dots(seed=1)
    np.testing.assert_allclose(
        model.decision_function(X_new), slow.decision_function(X_new), rtol=0, atol=2e-5
    )
    assert np.mean(model.predict(X_new) == y_new) > 0.8
    raw = Jitter(RBF(gamma=0.2), transform)(X)
    raw = (raw + raw.T) / 2
    spectrum, U = np.linalg.eigh(raw)
    clipped = (U * np.maximum(spectrum, 0)) @ U.T
    corrected = clipped if psd == "clip" else raw - min(spectrum[0], 0) * np.eye(60)
    np.testing.assert_allclose(model.kernel_(X), corrected, rtol=0, atol=2e-3 * abs(spectrum[0]))


def test_preselect_uses_the_base_kernel_of_a_corrected_kernel():
    X, y = dots()
    kernel = Jitter(RBF(gamma=0.2), Translation(SHAPE), psd="clip")
    model = PriorSVC(kernel=kernel, preselect=True, tol=1e-8).fit(X, y)
    plain = PriorSVC(kernel=RBF(gamma=0.2), tol=1e-8).fit(X, y)
    assert set(model.support_) <= set(plain.support_)


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (Jitter("rbf", Translation(SHAPE)), InvalidType, "Jitter: base is 'rbf'; expected a Kernel such as"),
        (Jitter(RBF(1.0), FeatureScaling(1)), InvalidInput, "FeatureScaling has no finite orbit"),
        (
            Jitter(RBF(1.0), Translation(SHAPE), psd="flip"),
            InvalidInput,
            "psd is 'flip'; expected None, 'clip'",
        ),
        (
            Jitter(RBF(1.0), Translation(SHAPE), psd="clip"),
            InvalidInput,
            "psd='clip' depends on the training",
        ),
        (Jitter(RBF(), Translation(SHAPE)), InvalidInput, "gamma='scale' depends on the training rows"),
    ],
)
def test_what_cannot_be_used_is_named(kernel, error, message, X):
    with pytest.raises(error, match=message):
        kernel(X)


def test_scaled_columns_are_refused():
    X, y = dots()
    kernel = Jitter(RBF(), Translation(SHAPE))
    with pytest.raises(InvalidInput, match=r"scale='standard'.*scale=None"):
        PriorSVC(kernel=kernel, scale="standard", norm="l1").fit(X, y)
