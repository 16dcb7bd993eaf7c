"""The parameter psd: corrected matrices, new rows, copies, and the message of the 2-norm without it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.svm import SVC

from priorsvm import Box, ClassCosts, PriorSVC
from priorsvm._utils.cache import equal
from priorsvm.errors import InvalidInput, KernelNotPSD, TooLarge
from priorsvm.kernels import RBF, Linear, Spectral


class Lopsided(Spectral):
    """Indefinite, and with ``tilt`` not symmetric either."""

    def __init__(self, psd=None, tilt=0.0):
        self.psd = psd
        self.tilt = tilt

    @property
    def symmetric(self):
        return self.tilt == 0

    def _raw(self, A, B):
        K = np.cos(1.5 * cdist(A, B)) * np.exp(-0.3 * cdist(A, B))
        return K + self.tilt * np.tanh(A[:, :1] - 2 * B[:, 0])


X = np.random.default_rng(0).normal(size=(30, 2))
Z = np.random.default_rng(1).normal(size=(7, 2))
y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
X.flags.writeable = Z.flags.writeable = False

tilts = pytest.mark.parametrize("tilt", [0.0, 0.3])


def mean(tilt, A, B):
    raw = Lopsided(tilt=tilt)
    return (raw(A, B) + raw(B, A).T) / 2


@tilts
def test_the_test_kernel_is_indefinite(tilt):
    assert np.linalg.eigvalsh(mean(tilt, X, X))[0] < -0.1
    assert Lopsided(tilt=tilt).definiteness == "indefinite"


@tilts
def test_clip_drops_the_negative_eigenvalues_on_the_training_rows(tilt):
    values, U = np.linalg.eigh(mean(tilt, X, X))
    clipped = (U * np.maximum(values, 0)) @ U.T
    np.testing.assert_allclose(Lopsided("clip", tilt).resolved(X)(X), clipped, atol=1e-9)


@tilts
def test_clip_takes_new_rows_through_the_same_map(tilt):
    values, U = np.linalg.eigh(mean(tilt, X, X))
    kept = values > 0
    through = (U[:, kept] / values[kept]) @ U[:, kept].T
    kernel = Lopsided("clip", tilt).resolved(X)
    expected = mean(tilt, Z, X) @ through @ mean(tilt, X, X)
    np.testing.assert_allclose(kernel(Z, X), expected, atol=1e-7)
    np.testing.assert_allclose(kernel(Z), mean(tilt, Z, X) @ through @ mean(tilt, X, Z), atol=1e-7)
    both = np.vstack([X, Z, 3 * Z])
    assert np.linalg.eigvalsh(kernel(both))[0] > -1e-12
    assert kernel.definiteness == "psd"


@tilts
def test_shift_adds_to_equal_rows_only(tilt):
    K = mean(tilt, X, X)
    s = -1.001 * np.linalg.eigvalsh(K)[0]
    kernel = Lopsided("shift", tilt).resolved(X)
    np.testing.assert_allclose(kernel(X), K + s * np.eye(len(X)), atol=1e-13)
    np.testing.assert_array_equal(kernel(Z, X), mean(tilt, Z, X))
    np.testing.assert_allclose(kernel(X[3:5], X), (K + s * np.eye(len(X)))[3:5], atol=1e-13)
    assert 0 < np.linalg.eigvalsh(kernel(X))[0] < 1e-3 * s * 1.01
    assert kernel.definiteness == "unknown"


def test_a_kernel_without_negative_eigenvalues_is_left_as_it_is():
    class Fine(Lopsided):
        def _raw(self, A, B):
            return RBF(gamma=1.0)(A, B)

    np.testing.assert_array_equal(Fine("shift").resolved(X)(X, Z), RBF(gamma=1.0)(X, Z))
    np.testing.assert_allclose(Fine("clip").resolved(X)(X), RBF(gamma=1.0)(X), atol=1e-8)


@pytest.mark.parametrize("psd", ["clip", "shift"])
@tilts
def test_diag_is_the_diagonal_and_the_matrix_symmetric(psd, tilt):
    kernel = Lopsided(psd, tilt).resolved(X)
    np.testing.assert_allclose(kernel.diag(Z), np.diagonal(kernel(Z)), rtol=1e-12)
    np.testing.assert_array_equal(kernel(X), kernel(X).T)
    assert kernel.diag(np.empty((0, 2))).shape == (0,)


@pytest.mark.parametrize("psd", ["clip", "shift"])
def test_rows_that_are_there_twice_or_not_at_all(psd):
    twice = Lopsided(psd).resolved(np.vstack([X, X[:5]]))
    weighted = Lopsided(psd).resolved(np.vstack([X, Z]), np.r_[2 * np.ones(len(X)), np.zeros(len(Z))])
    np.testing.assert_array_equal(twice(Z, X), weighted(Z, X))
    np.testing.assert_allclose(twice(X), Lopsided(psd).resolved(X)(X), atol=1e-9)
    assert np.linalg.eigvalsh(twice(np.vstack([X, X[:5]])))[0] > -1e-10


@pytest.mark.parametrize("psd", ["clip", "shift"])
def test_copies_equal_the_original(psd):
    kernel = Lopsided(psd, 0.3).resolved(X)
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel)), kernel.resolved(Z)):
        np.testing.assert_array_equal(copy(Z, X), kernel(Z, X))
        assert equal(copy, kernel)
        assert repr(copy) == repr(kernel) == f"Lopsided(psd='{psd}', tilt=0.3)"
    np.testing.assert_array_equal((2 * kernel + Linear())(Z, X), 2 * kernel(Z, X) + Linear()(Z, X))
    assert not equal(kernel, Lopsided(psd, 0.3).resolved(X[:-1]))
    assert not equal(kernel, Lopsided(psd, 0.2).resolved(X))
    before = kernel(Z, X)
    kernel.set_params(rows=X[:10], kernel__tilt=0.0)
    np.testing.assert_allclose(kernel(Z, X), Lopsided(psd).resolved(X[:10])(Z, X), atol=1e-12)
    assert np.abs(kernel(Z, X) - before).max() > 1e-3


def test_inside_sums_and_multiples():
    kernel = (2 * Lopsided("clip") + Linear()).resolved(X)
    assert kernel.definiteness == "psd"
    np.testing.assert_array_equal(kernel(Z, X), 2 * Lopsided("clip").resolved(X)(Z, X) + Linear()(Z, X))


def test_without_training_rows_the_correction_is_refused():
    for call in (lambda k: k(X), lambda k: k.diag(X), lambda k: k.resolved(np.empty((0, 2)))(X)):
        with pytest.raises(InvalidInput, match=r"Lopsided: psd='clip' depends on the training rows"):
            call(Lopsided("clip"))
    with pytest.raises(InvalidInput, match="Lopsided: psd is 'flip'; expected None, 'clip' or 'shift'"):
        Lopsided("flip").resolved(X)
    with pytest.raises(NotImplementedError, match=r"Spectral has to define _raw\(A, B\)"):
        Spectral._raw(Spectral(), X, X)


def test_a_matrix_beyond_memory_is_rejected_before_any_work():
    many = np.linspace(0.0, 1.0, 400_000)[:, None]
    with pytest.raises(TooLarge, match=r"whose spectrum psd='clip' requires .*400000 x 400000.*norm='l1'"):
        Lopsided("clip").resolved(many)


@pytest.mark.parametrize(
    ("kernel", "way_out"),
    [
        (Lopsided(), r"Use norm='l1', .*, or psd='clip' or psd='shift' in the kernel\."),
        (Lopsided(tilt=0.3) + Linear(), r"not symmetric, .*norm='l1', .*, or psd='clip' or psd='shift'"),
        (0.5 * Lopsided() + Linear(), r"eigenvalue .*norm='l1', .*, or psd='clip' or psd='shift'"),
    ],
    ids=repr,
)
def test_the_2_norm_names_every_way_out(kernel, way_out):
    with pytest.raises(KernelNotPSD, match=way_out):
        PriorSVC(kernel=kernel).fit(X, y)
    assert PriorSVC(kernel=kernel, norm="l1").fit(X, y).status_ == "optimal"


def test_where_the_shift_is_not_enough_clip_is_named():
    block = Box({0: (-3.0, 3.0), 1: (2.0, 3.0)}, 1, mu=0.1, holds="everywhere")
    with pytest.raises(
        KernelNotPSD, match=r"norm='l1', which accepts any kernel, or psd='clip' in the kernel"
    ):
        PriorSVC(block, kernel=Lopsided("shift")).fit(X, y)
    assert PriorSVC(block, kernel=Lopsided("clip")).fit(X, y).status_ == "optimal"


@pytest.mark.parametrize("psd", ["clip", "shift"])
@pytest.mark.parametrize("solver", ["LIBSVM", "CLARABEL"])
def test_the_model_is_the_svm_on_the_corrected_matrix(psd, solver):
    values, U = np.linalg.eigh(mean(0.0, X, X))
    if psd == "clip":
        kept = values > 1e-10 * values.max()
        K = (U[:, kept] * values[kept]) @ U[:, kept].T
        new = mean(0.0, Z, X) @ U[:, kept] @ U[:, kept].T
    else:
        K = mean(0.0, X, X) - 1.001 * values[0] * np.eye(len(X))
        new = mean(0.0, Z, X)
    reference = SVC(C=2.0, kernel="precomputed", tol=1e-10).fit(K, y)
    model = PriorSVC(C=2.0, kernel=Lopsided(psd), solver=solver).fit(X, y)
    np.testing.assert_allclose(model.decision_function(Z), reference.decision_function(new), atol=1e-5)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(K), atol=1e-5)
    assert np.abs(model.decision_function(Z)).max() > 0.1
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(Z), model.decision_function(Z))


@pytest.mark.parametrize("psd", ["clip", "shift"])
def test_paths_share_what_was_learnt(psd):
    path = PriorSVC(ClassCosts({1: 2.0}), kernel=Lopsided(psd)).fit_path(X, y, {"C": [0.5, 2.0]})
    for model in path:
        alone = PriorSVC(ClassCosts({1: 2.0}), C=model.C, kernel=Lopsided(psd)).fit(X, y)
        np.testing.assert_allclose(model.decision_function(Z), alone.decision_function(Z), atol=1e-8)
