"""Precision and memory of kernels between transformed rows, and their base kernels."""

import numpy as np
import pytest

from priorsvm import (
    RBF,
    Bhattacharyya,
    FromFunction,
    HaarIntegration,
    InvarianceHint,
    Jitter,
    Linear,
    Polynomial,
    PriorSVC,
    Reflection,
    Shift,
    TangentDistance,
    TangentInvariant,
    TangentVector,
    Translation,
)
from priorsvm.errors import InvalidInput, InvalidType
from priorsvm.function.fitted import FittedKernel
from priorsvm.kernels import transformed


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(80, 9))
    return X, (X[:, :4].sum(axis=1) + 0.3 * rng.normal(size=80) > X[:, 5:].sum(axis=1)).astype(int)


@pytest.mark.parametrize("beside", [None, InvarianceHint(Shift(np.full(9, 0.05)))])
def test_single_precision_is_not_taken_for_small_eigenvalues(images, beside):
    X, y = images
    base = Polynomial(degree=2, gamma=1.0, coef0=1.0)  # of low rank: noise would count as directions
    single, double = (
        PriorSVC(beside, kernel=HaarIntegration(base, Reflection(1), precision=p), C=10.0).fit(X, y)
        for p in ("single", "double")
    )
    tol = 1e-3 if beside is None else 1e-6
    assert single.objective_ == pytest.approx(double.objective_, rel=tol)
    np.testing.assert_allclose(single.decision_function(X), double.decision_function(X), atol=tol)


def test_clip_computes_the_spectrum_in_double_precision(images):
    X, _ = images
    kernels = (Jitter(RBF(0.5), Translation((3, 3)), psd="clip", precision=p) for p in ("single", "double"))
    single, double = (kernel.resolved(X)(X) for kernel in kernels)
    np.testing.assert_allclose(single, double, atol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 10.0, 1000.0])
def test_single_precision_far_from_the_background(offset):
    Y = np.random.default_rng(0).uniform(size=(20, 16)) + offset
    single, double = (
        HaarIntegration(RBF(0.5), Translation((4, 4), fill=0.5 * offset), precision=p)(Y)
        for p in ("single", "double")
    )
    np.testing.assert_allclose(single, double, atol=1e-5)


def test_many_pairs_take_no_copies(images, monkeypatch):
    X, _ = images
    kernel = HaarIntegration(RBF(0.5), Translation((3, 3), grid="full"), reduction="none")
    expected = kernel(X)
    taken = []
    columns = transformed.Orbits.columns
    monkeypatch.setattr(transformed, "BYTES", 2**16)

    def counted(self, transformations, kept):
        found = columns(self, transformations, kept)
        taken.extend(not np.shares_memory(part, self.rows) for part in found)
        return found

    monkeypatch.setattr(transformed.Orbits, "columns", counted)
    np.testing.assert_allclose(kernel(X), expected, atol=1e-14)
    assert taken
    assert not any(taken)


def _stretched(X, theta):
    return X * (1.0 + theta)


def _stretched_by_one(X, theta):
    return X * (1.0 + theta[0])


@pytest.mark.parametrize("make", [HaarIntegration, Jitter])
@pytest.mark.parametrize("thetas", [[], [0.3]])
def test_a_base_that_is_not_symmetric_stays_so(make, thetas):
    X = np.random.default_rng(0).normal(size=(12, 4))
    base = TangentVector(3.0, FromFunction(_stretched_by_one, [[0.3]]), spread=0.5)
    kernel = make(base, FromFunction(_stretched, thetas))
    np.testing.assert_allclose(kernel(X), kernel(X, X.copy()), atol=1e-13)


class Counted(Translation):
    """Translation that counts the rows it transforms."""

    transformed = 0

    def orbit(self, X):
        Counted.transformed += len(X)
        return super().orbit(X)


@pytest.mark.parametrize(
    ("kernel", "moved"),
    [
        (HaarIntegration(RBF(0.1), Counted((3, 3))), 4),
        (Jitter(RBF(0.1), Counted((3, 3))), 0),
        (Jitter(RBF(0.1), Counted((3, 3), steps=5)), 4),
        (2.0 * Jitter(RBF(0.1), Counted((3, 3))), 0),
        (Jitter(RBF(0.1), Counted((3, 3)), psd="clip"), 0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kept", [transformed.KEPT, 0])
def test_centres_are_transformed_once(images, monkeypatch, kernel, moved, kept):
    X, _ = images
    monkeypatch.setattr(transformed, "KEPT", kept)
    monkeypatch.setattr(Counted, "transformed", 0)
    kernel = kernel.resolved(X)
    f = FittedKernel(0.3, kernel, X, np.linspace(-1, 1, len(X)))
    Z = X[:4] + 0.1
    first = f.value(Z)
    before = Counted.transformed
    np.testing.assert_array_equal(f.value(Z), first)
    if kept:
        # A few rows are transformed only to find the shape of the orbits.
        assert moved <= Counted.transformed - before <= moved + 4
    np.testing.assert_allclose(first, kernel(Z, X) @ f.weights + 0.3, rtol=1e-11)


def test_set_kernels_are_rejected_as_base():
    sets = np.random.default_rng(0).normal(size=(6, 3, 2))
    with pytest.raises(InvalidType, match=r"HaarIntegration: base is Bhattacharyya.*between rows"):
        HaarIntegration(Bhattacharyya(), Reflection(1))(sets)
    with pytest.raises(InvalidInput, match=r"combines a kernel between sets .* with a kernel between rows"):
        PriorSVC(kernel=Bhattacharyya() + Linear()).fit(sets, [0, 1] * 3)


@pytest.mark.parametrize(
    "kernel",
    [
        HaarIntegration(RBF(0.5), Translation((3, 3))),
        Jitter(RBF(0.5), Translation((3, 3)), psd="clip"),
        TangentDistance(0.5, Translation((3, 3)), psd="clip"),
        TangentVector(0.5, Translation((3, 3)), spread=0.5, psd="shift"),
        TangentInvariant(RBF(0.5), Translation((3, 3)), gamma=0.1),
    ],
)
def test_preselection_takes_every_kernel(images, kernel):
    X, y = images
    model = PriorSVC(kernel=kernel, C=10.0, preselect=True).fit(X, y)
    plain = PriorSVC(kernel=kernel.resolved(X).plain, C=10.0).fit(X, y)
    assert set(model.support_) <= set(plain.support_)
    assert len(plain.support_) < len(X)


def test_rows_of_weight_zero_do_not_count_for_the_shift(images):
    X, y = images
    weight = np.ones(len(X))
    weight[::7] = 0.0
    kernel = TangentDistance(0.5, Translation((3, 3)), psd="shift")
    weighed = PriorSVC(kernel=kernel).fit(X, y, sample_weight=weight)
    left_out = PriorSVC(kernel=kernel).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(
        weighed.decision_function(X[:5] + 0.01), left_out.decision_function(X[:5] + 0.01), atol=1e-6
    )
