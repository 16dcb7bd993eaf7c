"""A block of one's own takes six lines, and has the optimum of a problem written without the library."""

import inspect

import cvxpy as cp
import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from priorsvm import RBF, Knowledge, PriorSVC, Terms, check_knowledge

C = 2.0
GAMMA = 0.5
CENTRES = 12
POINTS = np.array([[-0.5, 0.5, 0.0], [0.0, -1.0, 0.5]])  # the plain models have f < 0 there


class Anchor(Knowledge):
    def __init__(self, points, value, mu=1.0):
        self.points, self.value, self.mu = points, value, mu

    def build(self, f, view):
        return Terms({"mu": cp.sum_squares(f(self.points) - self.value)})


class Floor(Knowledge):
    def __init__(self, points, value):
        self.points, self.value = points, value

    def build(self, f, view):
        return Terms(constraints={"floor": f(self.points) >= self.value})


class Near(Knowledge):
    def __init__(self, points, value, mu=1.0):
        self.points, self.value, self.mu = points, value, mu

    def build(self, f, view):
        return Terms({"mu": cp.norm1(f(self.points) - self.value)})


BLOCKS = {
    "anchor": Anchor(POINTS, 1.2, mu=3.0),
    "floor": Floor(POINTS, 0.7),
    "near": Near(POINTS, 1.2, mu=3.0),
}
MODELS = {
    "linear": {},
    "rbf": {"kernel": RBF(GAMMA)},
    "1-norm": {"norm": "l1"},
    "1-norm rbf": {"kernel": RBF(GAMMA), "norm": "l1"},
    "nystrom": {"kernel": RBF(GAMMA), "n_centres": CENTRES},
}


@pytest.fixture(scope="module")
def few(data):
    X, y = data
    return X[:40], y[:40]


def greedy(K, count):
    """Return pivots: each is the point that the span of the pivots before it represents worst."""
    pivots = []
    for _ in range(count):
        chosen = K[np.ix_(pivots, pivots)]
        left = np.diag(K) - np.sum(K[:, pivots].T * np.linalg.solve(chosen, K[pivots]), axis=0)
        pivots.append(int(np.argmax(left)))
    return pivots


def features(model, X):
    """Return features of the rows and of the points, in which the norm of f is that of its coefficients."""
    if "rbf" not in model and model != "nystrom":
        return X, POINTS
    if model == "1-norm rbf":
        return rbf_kernel(X, gamma=GAMMA), rbf_kernel(POINTS, X, gamma=GAMMA)
    K = rbf_kernel(np.vstack([X, POINTS]), gamma=GAMMA)
    pivots = greedy(K, CENTRES) if model == "nystrom" else np.arange(len(K))
    values, vectors = np.linalg.eigh(K[np.ix_(pivots, pivots)])
    whole = K[:, pivots] @ (vectors / np.sqrt(values))
    return whole[: len(X)], whole[len(X) :]


def optimum(model, block, X, y):
    """Return the optimum of the whole problem, written by hand."""
    of_rows, of_points = features(model, X)
    w = cp.Variable(of_rows.shape[1])
    b = cp.Variable()
    slack = cp.Variable(len(y), nonneg=True)
    constraints = [cp.multiply(np.where(y == 1, 1.0, -1.0), of_rows @ w + b) >= 1 - slack]
    norm = cp.norm1(w) if model.startswith("1-norm") else 0.5 * cp.sum_squares(w)
    at = of_points @ w + b
    objective = norm + C * cp.sum(slack)
    if block == "anchor":
        objective += 3.0 * cp.sum_squares(at - 1.2)
    elif block == "near":
        objective += 3.0 * cp.norm1(at - 1.2)
    else:
        constraints.append(at >= 0.7)
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return problem.value


@pytest.mark.parametrize("kind", [Anchor, Floor, Near])
def test_it_takes_six_lines(kind):
    assert len([line for line in inspect.getsource(kind).splitlines() if line.strip()]) <= 6


@pytest.mark.parametrize("solver", ["auto", "CLARABEL", "SCHUR"])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("model", MODELS)
def test_the_optimum_is_that_of_a_problem_written_by_hand(few, model, block, solver):
    X, y = few
    fitted = PriorSVC(BLOCKS[block], C=C, solver=solver, **MODELS[model]).fit(X, y)
    assert fitted.objective_ == pytest.approx(optimum(model, block, X, y), rel=1e-5)
    values = fitted.decision_function(POINTS)
    plain = PriorSVC(C=C, **MODELS[model]).fit(X, y).decision_function(POINTS)
    assert plain.max() < 0
    if block == "floor":
        assert values.min() >= 0.7 - 1e-5
    else:
        assert np.abs(values - 1.2).sum() < np.abs(plain - 1.2).sum()


@pytest.mark.parametrize("block", ["floor", "near"])
@pytest.mark.parametrize("model", ["1-norm", "1-norm rbf"])
def test_a_linear_programme_has_the_same_optimum(few, model, block):
    X, y = few
    fitted = PriorSVC(BLOCKS[block], C=C, solver="HIGHS", **MODELS[model]).fit(X, y)
    assert fitted.objective_ == pytest.approx(optimum(model, block, X, y), rel=1e-6)


@pytest.mark.parametrize("block", BLOCKS)
def test_it_obeys_the_laws(few, block):
    laws = check_knowledge(BLOCKS[block], *few)
    assert "the linear model is the kernel model with a linear kernel" in laws


def test_a_sum_with_other_blocks_is_a_problem_too(few):
    X, y = few
    both = PriorSVC(BLOCKS["anchor"] + BLOCKS["floor"], C=C, kernel=RBF(GAMMA)).fit(X, y)
    assert both.objective_ >= optimum("rbf", "anchor", X, y) - 1e-5
    assert both.decision_function(POINTS).min() >= 0.7 - 1e-5
    assert {row.block for row in both.report_.rows} == {"svm", "anchor", "floor"}
