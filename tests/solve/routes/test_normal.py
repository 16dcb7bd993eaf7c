"""The interior point on normal equations: against LIBSVM and Clarabel, and where it is chosen."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from priorsvm import RBF, ClassCosts, OddnessHint, PriorSVC, SampleCosts, load, save
from priorsvm.errors import InaccurateSolution, InvalidInput, SolverFailed, SolverUnsuited
from priorsvm.solve.methods.active import LazyKernelMatrix, LinearKernelMatrix, polish
from priorsvm.solve.weighted import judged


def rows(n=400, d=6, noise=0.1, seed=0):
    X, y = make_classification(n, d, n_informative=d, n_redundant=0, flip_y=noise, random_state=seed)
    return X, y, np.where(y == 1, 1.0, -1.0)


def objectives(X, s, bound, w, b, alpha):
    """Primal and dual, by their formulas."""
    xi = np.maximum(1.0 - s * (X @ w + b), 0.0)
    v = (alpha * s) @ X
    return 0.5 * w @ w + bound @ xi, alpha.sum() - 0.5 * v @ v


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_linear_models_agree_with_clarabel(C, loss):
    X, y, _ = rows()
    prior = ClassCosts({1: 3.0}) + SampleCosts(np.linspace(0.0, 2.0, 400), margins=np.linspace(0.5, 1.5, 400))
    ours = PriorSVC(prior, C=C, loss=loss, tol=1e-8).fit(X, y)
    other = PriorSVC(prior, C=C, loss=loss, tol=1e-8, solver="CLARABEL").fit(X, y)
    assert (ours.solver_, ours.status_) == ("NORMAL", "optimal")
    assert ours.objective_ == pytest.approx(other.objective_, rel=1e-7)
    np.testing.assert_allclose(ours.coef_, other.coef_, atol=1e-5 * np.abs(other.coef_).max())


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_costs_over_sixteen_orders(loss):
    """The gap relative to the objective rises before it falls, which is no reason to stop."""
    X, y, _ = rows(150, 6)
    costs = 10.0 ** np.random.default_rng(0).uniform(-8, 8, len(y))
    model = PriorSVC(SampleCosts(costs), loss=loss, solver="NORMAL").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InaccurateSolution)  # by Clarabel, of its multipliers
        other = PriorSVC(SampleCosts(costs), loss=loss, solver="CLARABEL").fit(X, y)
    assert model.status_ == "optimal"
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-7)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_large_margins_at_a_large_cost(loss):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 50)), np.arange(60) % 2
    prior = SampleCosts(margins=rng.choice([0.5, 1.0, 2.0, 100.0], 60))
    estimator = PriorSVC(prior, C=1.5e4, loss=loss, scale="minmax")
    values = [estimator.set_params(solver=s).fit(X, y).objective_ for s in ("NORMAL", "CLARABEL")]
    assert values[0] == pytest.approx(values[1], rel=1e-7)


def test_large_rows_that_repeat():
    """Equal rows of size 1e5: f from the multipliers would be what rounding leaves of their sum."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(320, 20)))
    X[:160] = X[rng.integers(320, size=160)]
    y = (X[:, 0] + rng.normal(size=320) > 1.5).astype(int)
    model, other = (PriorSVC(C=0.5, solver=s).fit(1e5 * X, y) for s in ("NORMAL", "CLARABEL"))
    small = PriorSVC(C=5e9, solver="NORMAL").fit(X, y)
    assert model.status_ == "optimal"
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-7)
    assert model.objective_ == pytest.approx(1e-10 * small.objective_, rel=1e-7)
    assert model.report_.solves[0]["residuals"].worst <= 1e-6


def test_small_costs_are_no_excuse():
    """A gap of 1e-7 is nothing beside 1, and much beside an objective of 1e-5."""
    X, y, s = rows(60, 2)
    f = np.zeros(len(y))
    for cost in (1e-7, 1.0):
        value, found = judged((0.0, 0.0), f, np.zeros(len(y)), np.full(len(y), cost), s, np.ones(len(y)))
        assert value == pytest.approx(60 * cost)
        assert found.gap > 0.4  # f = 0 without multipliers proves nothing
    model = PriorSVC(C=1e-8, solver="NORMAL").fit(X, y)
    other = PriorSVC(C=1e-8 * 1e6, solver="NORMAL").fit(1e-3 * X, y)
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(1e-3 * X), atol=1e-9)


def test_costs_beyond_all_numbers_are_an_error():
    X, y, _ = rows(60, 3)
    with pytest.raises(SolverFailed, match=r"NORMAL .* smaller C"):
        PriorSVC(C=1e99, solver="NORMAL").fit(X, y)
    model = PriorSVC(C=1e-99, solver="NORMAL").fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def test_tiny_costs_of_the_squared_hinge_have_a_gap():
    X, y, _ = rows(60, 3)
    model = PriorSVC(C=1e-99, loss="squared_hinge", solver="NORMAL").fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("C", 10.0 ** np.arange(-3, 7))
def test_gap_is_certified_for_any_cost(C):
    X, y, s = rows(310, 4)
    model = PriorSVC(C=C).fit(X, y)
    [binary] = model._models
    bound = np.full(len(y), C)
    primal, dual = objectives(X, s, bound, model.coef_[0], model.intercept_[0], binary.alpha)
    assert model.solver_ == "NORMAL"
    assert primal - dual + 1e-9 * primal >= 0
    assert primal - dual <= 1e-6 * primal
    assert model.report_.solves[0]["residuals"].gap <= 1e-6
    assert model.history_[-1]["objective"] == pytest.approx(model.objective_, rel=1e-7)


def test_multipliers_are_exact():
    """Polished: zero, at the bound, or of a row on the margin; and LIBSVM has the same."""
    X, y, s = rows()
    ours = PriorSVC(ClassCosts({1: 2.0}), C=0.5).fit(X, y)
    [binary] = ours._models
    bound = 0.5 * np.where(y == 1, 2.0, 1.0)
    between = (binary.alpha > 0) & (binary.alpha < bound)
    assert between.sum() <= X.shape[1] + 1
    np.testing.assert_allclose((s * ours.decision_function(X))[between], 1.0, atol=1e-9)
    other = PriorSVC(ClassCosts({1: 2.0}), C=0.5, solver="LIBSVM").fit(X, y)
    np.testing.assert_allclose(binary.alpha, other._models[0].alpha, atol=1e-8)
    np.testing.assert_array_equal(ours.support_, other.support_)


def test_sparse_rows_give_the_model_of_dense_ones():
    X, y, _ = rows()
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense = PriorSVC(C=2.0).fit(X, y)
    sparse = PriorSVC(C=2.0).fit(csr_array(X), y)
    assert dense.solver_ == sparse.solver_ == "NORMAL"
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-9)
    assert sparse.intercept_ == pytest.approx(dense.intercept_, abs=1e-9)


def twice(X, y):
    return np.vstack([X, X]), np.concatenate([y, y])


def contradicted(X, y):
    return np.vstack([X, X]), np.concatenate([y, 1 - y])


def grid(X, y):
    """Many rows on the margin at once."""
    return np.round(X), y


@pytest.mark.parametrize("spoil", [twice, contradicted, grid])
@pytest.mark.parametrize("solver", ["NORMAL", "LIBSVM"])
@pytest.mark.parametrize("kernel", ["linear", RBF(0.01)])
def test_rows_that_repeat_or_contradict_each_other(spoil, solver, kernel):
    X, y = spoil(*rows(160, 3)[:2])
    ours = PriorSVC(kernel=kernel, C=1.0, solver=solver).fit(X, y)
    other = PriorSVC(kernel=kernel, C=1.0, solver="CLARABEL").fit(X, y)
    assert ours.status_ == "optimal"
    assert ours.report_.solves[0]["residuals"].worst <= 1e-6
    assert ours.objective_ == pytest.approx(other.objective_, rel=1e-7)


@pytest.mark.parametrize("solver", ["NORMAL", "LIBSVM"])
@pytest.mark.parametrize("kernel", ["linear", RBF(1.0)])
def test_two_rows(solver, kernel):
    model = PriorSVC(kernel=kernel, C=10.0, solver=solver).fit([[0.0], [2.0]], [0, 1])
    np.testing.assert_allclose(model.decision_function([[0.0], [2.0]]), [-1.0, 1.0], atol=1e-9)


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e6])
def test_separable_rows_of_one_column(C):
    X = np.concatenate([np.linspace(-3.0, -1.0, 200), np.linspace(1.0, 2.0, 200)])[:, None]
    y = np.repeat([0, 1], 200)
    model = PriorSVC(C=C).fit(X, y)
    other = PriorSVC(C=C, solver="CLARABEL").fit(X, y)
    assert model.solver_ == "NORMAL"
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-6)


def test_rows_without_weight_are_not_there():
    X, y, _ = rows()
    kept = np.arange(400) % 7 != 0
    weighted = PriorSVC(C=3.0).fit(X, y, sample_weight=kept.astype(float))
    fewer = PriorSVC(C=3.0).fit(X[kept], y[kept])
    np.testing.assert_allclose(weighted.coef_, fewer.coef_, atol=1e-9)
    assert kept[weighted.support_].all()


def board(n=500):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, (n, 2))
    y = (np.floor(X).sum(axis=1) % 2).astype(int)
    y[::20] = 1 - y[::20]
    return X, y


def test_auto_leaves_libsvm_where_it_stalls():
    """C of 1e4 and a kernel of low rank; the answer is exact for the kernel, not for its low rank."""
    X, y = board()
    model = PriorSVC(kernel=RBF(1.0), C=1e4).fit(X, y)
    assert (model.solver_, model.status_) == ("NORMAL", "optimal")
    s, a = np.where(y == 1, 1.0, -1.0), model.dual_coef_[0]
    half = 0.5 * a @ RBF(1.0)(model.centres_) @ a
    primal = half + 1e4 * np.maximum(1 - s * model.decision_function(X), 0.0).sum()
    assert primal - (np.abs(a).sum() - half) <= 1e-8 * primal
    assert PriorSVC(kernel=RBF(1.0), C=1.0).fit(X, y).solver_ == "LIBSVM"


def test_kernels_of_full_rank_are_refused():
    X, y = board(200)
    with pytest.raises(
        SolverFailed, match=r"NORMAL: the kernel matrix does not have a low rank\. 66 of 200 columns"
    ):
        PriorSVC(kernel=RBF(300.0), C=1e4, solver="NORMAL").fit(X, y)


@pytest.mark.parametrize(
    ("prior", "parameters", "reason"),
    [
        (OddnessHint(), {}, "block 'oddness_hint' does more than add or reweight rows"),
        (None, {"norm": "l1"}, "not norm='l1'"),
        (None, {"kernel": "rbf", "loss": "squared_hinge"}, "with a kernel it has the hinge only"),
        (None, {"n_centres": 5, "kernel": "rbf"}, "takes no n_centres"),
    ],
)
def test_refusals_say_why(prior, parameters, reason):
    X, y, _ = rows(50)
    with pytest.raises(SolverUnsuited, match=f"NORMAL cannot solve this problem: .*{reason}"):
        PriorSVC(prior, solver="NORMAL", **parameters).fit(X, y)


def test_options_are_refused():
    X, y, _ = rows(50)
    with pytest.raises(InvalidInput, match="NORMAL takes no solver_options, got max_iter"):
        PriorSVC(solver="NORMAL", solver_options={"max_iter": 3}).fit(X, y)


def test_everything_a_fit_leaves_behind(tmp_path):
    X, y, _ = rows()
    model = PriorSVC(ClassCosts({1: 2.0})).fit(X, y)
    assert model.history_[0]["objective"] == pytest.approx(model.objective_, rel=1e-9)
    assert model.history_[0]["gap"] <= 1e-8
    assert "NORMAL" in str(model.report_)
    assert "svm" in str(model.formulation()).lower()
    assert model.problem.solve(solver="CLARABEL") == pytest.approx(model.objective_, rel=1e-6)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.report_.solves[0]["residuals"].gap <= 1e-8


def test_products_of_rows_are_never_made():
    """Both kernels of the active-set method say the same."""
    X, y, s = rows(60, 3)
    a = np.zeros(60)
    a[[3, 10, 40]] = [1.0, -2.0, 0.5]
    support = np.flatnonzero(a)
    svc = SVC(C=0.1, kernel="linear").fit(X, y)
    start = np.zeros(60)
    start[svc.support_] = svc.dual_coef_[0]
    made = LazyKernelMatrix(X[support] @ X.T, support, lambda rows: X[rows] @ X.T)
    for kernel in (made, LinearKernelMatrix(X), LinearKernelMatrix(csr_array(X))):
        np.testing.assert_allclose(kernel.times(a), X @ X.T @ a, atol=1e-12)
        np.testing.assert_allclose(kernel.among(np.array([1, 10, 59])), (X @ X.T)[np.ix_(*[[1, 10, 59]] * 2)])
        found = polish(kernel, s, np.full(60, 0.1), start, 1e-6)
        np.testing.assert_allclose(X @ X.T @ found.a + found.bias, found.scores, atol=1e-10)
