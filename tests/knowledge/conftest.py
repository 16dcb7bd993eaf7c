"""Data and independent references shared by the tests of the blocks."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from priorsvm import RBF
from priorsvm.function.scale import Scale
from priorsvm.prior import as_prior
from priorsvm.problem.assemble import Compiled, prepare
from priorsvm.sample import Sample
from priorsvm.spec import Spec

GAMMA = 0.4


@pytest.fixture(scope="session")
def data():
    """Two classes that overlap, the second one rarer: 80 rows of 3 columns.

    On a grid, so that X @ X.T is exact in single precision, in which LIBSVM keeps it: otherwise that
    rounding, and not the models, would decide how close to scikit-learn they come.
    """
    rng = np.random.default_rng(0)
    X = _on_grid(rng.normal(size=(80, 3)))
    y = (X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.4 * rng.normal(size=80) > 0.8).astype(int)
    return _read_only(X, y)


@pytest.fixture(scope="session")
def new():
    """Points that are not among the training rows."""
    [Z] = _read_only(np.random.default_rng(1).normal(size=(50, 3)))
    return Z


@pytest.fixture(scope="session")
def three():
    """Three classes of 12, 18 and 30 rows."""
    rng = np.random.default_rng(2)
    y = np.repeat(["a", "b", "c"], [12, 18, 30])
    centres = {"a": (0.0, 0.0), "b": (1.5, 0.5), "c": (0.5, 1.5)}
    return _read_only(_on_grid(np.array([centres[k] for k in y]) + rng.normal(scale=0.7, size=(60, 2))), y)


def _on_grid(X):
    return np.round(16 * X) / 16


def _read_only(*arrays):
    for array in arrays:
        array.setflags(write=False)
    return arrays


@pytest.fixture(params=["linear", "rbf"])
def kernel(request):
    """Both kinds of model."""
    return "linear" if request.param == "linear" else RBF(gamma=GAMMA)


@pytest.fixture(params=["LIBSVM", "CLARABEL"])
def route(request):
    """Both ways to a weighted SVM."""
    return request.param


@pytest.fixture
def gram(kernel):
    """The kernel matrix of ``kernel``, by scikit-learn."""
    return (lambda A, B: A @ B.T) if kernel == "linear" else (lambda A, B: rbf_kernel(A, B, gamma=GAMMA))


@pytest.fixture
def svc(gram):
    """Values at Z of scikit-learn's SVC on a precomputed matrix."""

    def values(X, y, Z, C=1.0, weight=None, class_weight=None):
        estimator = SVC(C=C, kernel="precomputed", tol=1e-10, class_weight=class_weight)
        estimator.fit(gram(X, X), y, sample_weight=weight)
        return estimator.decision_function(gram(Z, X))

    return values


@pytest.fixture
def dual(gram):
    r"""Values at Z of the dual

    max rho'a - 1/2 (ya)'(K + diag(D))(ya) over 0 <= a <= upper, y'a = 0.

    D is used for training only; a row off its bounds has y f(x) = rho - D a.
    """

    def values(X, y, Z, D=0.0, rho=1.0, upper=None):
        n = len(y)
        y, D, rho = np.where(y == np.max(y), 1.0, -1.0), np.broadcast_to(D, n), np.broadcast_to(rho, n)
        lowest, vectors = np.linalg.eigh(gram(X, X))
        factor = vectors * np.sqrt(np.maximum(lowest, 0.0))
        a = cp.Variable(n, nonneg=True)
        penalty = cp.sum_squares(factor.T @ cp.multiply(y, a)) + cp.sum_squares(cp.multiply(np.sqrt(D), a))
        limits = [] if upper is None else [a <= upper]
        problem = cp.Problem(cp.Maximize(rho @ a - 0.5 * penalty), [y @ a == 0, *limits])
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
        inside = a.value > 1e-4 * a.value.max()
        if upper is not None:
            inside &= a.value < 0.999 * upper
        assert inside.any()
        g = gram(X, X) @ (y * a.value)
        b = np.mean((y * (rho - D * a.value) - g)[inside])
        return gram(Z, X) @ (y * a.value) + b

    return values


@pytest.fixture
def assemble():
    """Return a prior as one assembled, unsolved problem."""

    def assembled(prior, X, y, kernel=None, C=2.0, loss="hinge", scale=None, positive=None, states=None):
        members = list(as_prior(prior))
        classes = np.unique(y)
        training = Sample.training(X, y, classes, classes[-1] if positive is None else positive)
        states = {m.name: m.block.start(training) for m in members} if states is None else states
        kernel = None if kernel in (None, "linear") else kernel
        spec = Spec(C, kernel, "l2", loss, Scale.of(scale, X), None, 1e-6)
        return Compiled(spec, members, states, prepare(members, training, states))

    return assembled


@pytest.fixture
def draw():
    """Put a random f into an assembled problem, all variables consistent with it, and return f."""

    def drawn(compiled, seed=0):
        rng = np.random.default_rng(seed)
        tie = compiled.tie
        tie.c.value = rng.normal(size=tie.c.shape)
        tie.b.value = rng.normal()
        for definition in tie.definitions.values():
            variable, affine = definition.args
            variable.value = affine.value
        fitted = compiled.fitted()
        scale = compiled.spec.scale
        inner = (lambda Z: Z) if scale is None else (lambda Z: (Z - scale.shift) / scale.width)

        def value(Z):
            Z = np.asarray(Z, float)
            if compiled.spec.kernel is None:
                return Z @ fitted.coef + fitted.bias
            return rbf_kernel(inner(Z), inner(fitted.centres), gamma=GAMMA) @ fitted.weights + fitted.bias

        rows = compiled.sample.X[compiled.active]
        y, margin = compiled.sample.y[compiled.active], compiled.sample.margin[compiled.active]
        compiled.slack.value = np.maximum(margin - y * value(rows), 0.0)
        return value

    return drawn
