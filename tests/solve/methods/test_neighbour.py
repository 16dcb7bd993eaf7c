"""Models of a path from their neighbours, against separate fits and dense linear algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, make_classification, make_moons
from sklearn.metrics.pairwise import rbf_kernel

from priorsvm import RBF, ClassCosts, PriorSVC, SampleCosts
from priorsvm.solve.methods import neighbour as method
from priorsvm.solve.methods.active import FullKernelMatrix, polish
from priorsvm.solve.methods.neighbour import Neighbour, _Factored
from priorsvm.solve.routes import libsvm

VALUES = np.logspace(-1, 2, 6)


def clusters(n=300):
    return make_classification(n, 20, n_informative=8, n_redundant=0, flip_y=0.05, random_state=0)


def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300] / 16, y[:300] > 4


def repeated():
    X, y = clusters(100)
    return np.tile(X, (3, 1)), np.tile(y, 3)


def moons():
    return make_moons(300, noise=0.25, random_state=0)


@pytest.fixture
def runs(monkeypatch):
    """Return the list of runs of LIBSVM on all rows."""
    found = []
    fit = libsvm.fit_libsvm

    def counted(points, *arguments):
        if len(points) > libsvm.PILOT_ROWS:
            found.append(len(points))
        return fit(points, *arguments)

    monkeypatch.setattr(libsvm, "fit_libsvm", counted)
    return found


def together_and_apart(model, X, y, values):
    key = next(iter(values))
    together = model.fit_path(X, y, values)
    apart = [PriorSVC(**{**model.get_params(deep=False), key: value}).fit(X, y) for value in values[key]]
    for a, b in zip(together, apart, strict=True):
        assert_allclose(a.objective_, b.objective_, rtol=1e-9)
        assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-6)
        assert a.solver_ == b.solver_
        assert a.status_ == b.status_
    return together


@pytest.mark.parametrize("data", [clusters, digits])
@pytest.mark.parametrize("order", [1, -1], ids=["rising", "falling"])
def test_a_path_is_a_loop(runs, data, order):
    X, y = data()
    model = PriorSVC(kernel=RBF(1.0 / (X.shape[1] * X.var())))
    model.fit_path(X, y, {"C": VALUES[::order]})
    if order == 1:
        assert len(runs) <= 2  # the first model, and at most one more
    together_and_apart(model, X, y, {"C": VALUES[::order]})


@pytest.mark.parametrize("data", [moons, repeated])
def test_a_kernel_of_low_rank_is_solved_from_the_start(runs, data):
    """Steps that do not converge are not repeated with few free rows."""
    X, y = data()
    model = PriorSVC(kernel=RBF(1.0 / (X.shape[1] * X.var())))
    model.fit_path(X, y, {"C": VALUES})
    assert len(runs) >= 5
    together_and_apart(model, X, y, {"C": VALUES})


def test_paths_of_several_classes_and_of_costs():
    X, y = digits()
    X_all, labels = load_digits(return_X_y=True)
    X_all = X_all[:200] / 16
    model = PriorSVC(kernel=RBF(0.05))
    together = model.fit_path(X_all, labels[:200], {"C": [0.5, 1.0, 3.0]})
    for fitted in together:
        alone = PriorSVC(kernel=RBF(0.05), C=fitted.C).fit(X_all, labels[:200])
        assert_allclose(fitted.objective_, alone.objective_, rtol=1e-9)
    costs = [ClassCosts({True: cost}) for cost in (1.0, 2.0, 5.0)]
    together_and_apart(PriorSVC(kernel=RBF(0.05), C=2.0), X, y, {"prior": costs})


def test_rows_of_other_costs_have_another_kernel_matrix():
    """A row of cost 0 is not a row of the problem."""
    X, y = digits()
    rng = np.random.default_rng(0)
    priors = [SampleCosts(rng.integers(0, 3, len(y)).astype(float)) for _ in range(3)]
    together_and_apart(PriorSVC(kernel=RBF(0.05)), X, y, {"prior": priors})


def test_other_signs_or_matrices_are_refused():
    X, y = clusters(80)
    signs = np.where(y == 1, 1.0, -1.0)
    K = rbf_kernel(X, gamma=0.05)
    bound = np.ones(80)
    known = Neighbour()
    assert known.solve(K, signs, bound, 1e-6) is None
    first = polish(FullKernelMatrix(K), signs, bound, np.zeros(80), 1e-6, effort=1e9)
    known.keep(K, signs, bound, first.a)
    assert known.solve(K.copy(), signs, bound, 1e-6) is None
    assert known.solve(K, -signs, bound, 1e-6) is None
    found = known.solve(K, signs, 2 * bound, 1e-6)
    expected = polish(FullKernelMatrix(K), signs, 2 * bound, first.a, 1e-6, effort=1e9)
    assert_allclose(found.a, expected.a, atol=1e-9)


def test_the_few_last_rows_move_with_step_lengths(monkeypatch):
    X, y = clusters(80)
    signs = np.where(y == 1, 1.0, -1.0)
    K = rbf_kernel(X, gamma=0.05)
    bound = np.ones(80)
    first = polish(FullKernelMatrix(K), signs, bound, np.zeros(80), 1e-6, effort=1e9)
    expected = polish(FullKernelMatrix(K), signs, 2 * bound, first.a, 1e-6, effort=1e9)
    monkeypatch.setattr(method, "REMAINING", 0.0)
    known = Neighbour()
    known.keep(K, signs, bound, first.a)
    assert known.solve(K, signs, 2 * bound, 1e-6) is None
    assert known.solve(K, signs, 2 * bound, 1e-6) is None  # not attempted
    monkeypatch.setattr(method, "FEW", 80)
    known = Neighbour()
    known.keep(K, signs, bound, first.a)
    assert_allclose(known.solve(K, signs, 2 * bound, 1e-6).a, expected.a, atol=1e-9)


def test_changed_rows_are_columns_of_a_larger_system(rng):
    Z = rng.normal(size=(40, 30))
    K = Z @ Z.T
    free = rng.random(40) < 0.5
    factored = _Factored.of(K, free)
    for _ in range(4):
        changed = free.copy()
        changed[rng.permutation(40)[:3]] ^= True
        assert factored.accepts(changed)
        right = rng.normal(size=40)
        a, bias = factored.solve(changed, right, 0.7)
        rows = np.flatnonzero(changed)
        bordered = np.block([[K[np.ix_(rows, rows)], np.ones((len(rows), 1))], [np.ones(len(rows)), 0.0]])
        expected = np.linalg.solve(bordered, np.append(right[rows], 0.7))
        assert_allclose(a[rows], expected[:-1], atol=1e-7)
        assert_allclose(bias, expected[-1], atol=1e-7)
        assert not a[~changed].any()
    assert not factored.accepts(~free)
    assert _Factored.of(K, np.zeros(40, bool)) is None
    assert _Factored.of(-K, free) is None
