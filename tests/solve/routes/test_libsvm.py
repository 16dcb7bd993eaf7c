"""The LIBSVM route: what it takes, what it refuses, and that its answer is the answer."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from priorsvm import (
    RBF,
    ClassCosts,
    NegativeDistance,
    OddnessHint,
    PriorSVC,
    SampleCosts,
    Shift,
    UnlabeledSamples,
    VirtualSamples,
)
from priorsvm.errors import InaccurateSolution, InvalidInput, SolverFailed, SolverUnsuited
from priorsvm.solve import auto
from priorsvm.solve.methods import active
from priorsvm.solve.routes import libsvm


@pytest.fixture(scope="module")
def data():
    return make_classification(150, 5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=1)


def dual_conditions(model):
    """How far LIBSVM's answer is from 0 <= alpha <= bound, complementary to the margins."""
    binary = model._models[0]
    sample = binary.sample
    bound, alpha = model.C * sample.cost, binary.alpha
    excess = sample.y * binary.f.value(sample.X) - 1.0
    inside = (alpha > 1e-9 * bound) & (alpha < (1 - 1e-9) * bound)
    return max(
        np.abs(excess[inside]).max(initial=0.0),
        (-excess[alpha <= 1e-9 * bound]).max(initial=0.0),
        excess[(alpha >= (1 - 1e-9) * bound) & (bound > 0)].max(initial=0.0),
        abs(alpha @ sample.y),
    )


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0, pytest.param(1e4, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "kernel", ["linear", "rbf", "poly", lambda A, B: np.exp(-0.1 * np.abs(A[:, None] - B).sum(2))]
)
def test_polished_answer_meets_the_optimality_conditions(data, kernel, C):
    model = PriorSVC(ClassCosts({1: 2.5}), kernel=kernel, C=C, solver="LIBSVM", scale="standard").fit(*data)
    assert dual_conditions(model) < 2e-6
    assert model.report_.solves[0]["residuals"].gap < 1e-6


def clusters(n, n_clusters, separation, noise):
    return make_classification(
        n,
        10,
        n_informative=6,
        n_redundant=0,
        n_clusters_per_class=n_clusters,
        class_sep=separation,
        flip_y=noise,
        random_state=0,
    )


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        (clusters(600, 4, 0.8, 0.1), ["precomputed"]),  # many support vectors: the whole matrix by BLAS
        (clusters(600, 1, 3.0, 0.0), ["rbf", 600]),  # few, and few rows
        (clusters(1500, 1, 3.0, 0.0), ["rbf"]),  # few: LIBSVM sees a part of the rows, unless some are noise
    ],
)
def test_every_way_to_libsvm_ends_at_the_same_optimum(monkeypatch, rows, shown, C, tol):
    X, y = rows
    calls, run = [], libsvm.fit_libsvm

    def watched(points, y, bound, kernel, *rest):
        calls.append((kernel["kernel"], len(points)))
        return run(points, y, bound, kernel, *rest)

    monkeypatch.setattr(libsvm, "fit_libsvm", watched)
    model = PriorSVC(ClassCosts({1: 2.0}), kernel=RBF(0.01), C=C, tol=tol).fit(X, y)
    (_, pilot), (kernel, n), *again = calls
    assert pilot == libsvm.PILOT_ROWS
    assert not again or (tol, C) == (1e-3, 100.0)  # more iterations than a run on its way takes
    assert kernel == shown[0]
    if len(shown) > 1:
        assert n == shown[1]
    elif kernel == "rbf" and tol < 1e-3 and C > 1:
        assert n < len(X)
    reference = SVC(gamma=0.01, C=C, class_weight={1: 2.0}, tol=1e-8).fit(X, y)
    expansions = [(model.centres_, model.dual_coef_[0]), (X[reference.support_], reference.dual_coef_[0])]
    ours, theirs = (np.abs(a).sum() - 0.5 * a @ RBF(0.01)(Z) @ a for Z, a in expansions)
    assert model.solver_ == "LIBSVM"
    assert ours == pytest.approx(theirs, rel=1e-5 if tol > 1e-6 else 1e-9)
    if tol <= 1e-6:
        assert dual_conditions(model) < 2e-6


def test_rows_sorted_by_class_and_kind():
    """Whatever the order of the rows; and a pilot that meets one sign only decides nothing."""
    X, y = clusters(1500, 1, 3.0, 0.0)
    order = np.argsort(y, kind="stable")
    shuffled = PriorSVC(kernel=RBF(0.01)).fit(X, y)
    ordered = PriorSVC(kernel=RBF(0.01)).fit(X[order], y[order])
    np.testing.assert_allclose(ordered.decision_function(X), shuffled.decision_function(X), atol=1e-6)
    rare = np.zeros(1500, int)
    rare[[7, 11]] = 1
    model = PriorSVC(kernel=RBF(0.01), C=10.0).fit(X, rare)
    assert dual_conditions(model) < 2e-6


@pytest.mark.parametrize(
    ("n", "C", "shift"), [(450, 1e6, 0.0), (700, 1e6, 0.0), (700, 10.0, 1e4), (1200, 10.0, 1e4)]
)
def test_wrong_answers_of_the_single_precision_cache_are_not_believed(n, C, shift):
    X, y = clusters(n, 2, 1.0, 0.05)
    model = PriorSVC(kernel=RBF(0.02), C=C, tol=1e-3).fit(X + shift, y)
    assert model.status_ == "optimal"
    assert model.report_.solves[0]["residuals"].worst <= 1e-2


@pytest.mark.parametrize("shift", [2.0**20, 2.0**30])
def test_rows_far_from_the_origin(data, shift):
    """Whole numbers of 1/1024 are moved without rounding, and an RBF knows differences only."""
    X, y = data
    X = np.round(1024 * X) / 1024
    near, far = (PriorSVC(kernel=RBF(0.3), C=10.0, solver="LIBSVM").fit(Z, y) for Z in (X, X + shift))
    np.testing.assert_allclose(far.decision_function(X + shift), near.decision_function(X), atol=1e-9)


def test_multipliers_of_one_class_alone_are_no_start(data):
    """All rows of a class at their bounds and none of the other: no bias lies between them."""
    X, y = data
    s, bound = np.where(y == 1, 1.0, -1.0), np.full(len(y), 2.0)
    K = RBF(0.2)(X)
    kernel = active.FullKernelMatrix(K)
    found = active.polish(kernel, s, bound, np.where(s > 0, 2.0, 0.0), 1e-6)
    assert found is None or abs(found.a.sum()) < 1e-9


def test_libsvm_itself_answers_as_svc(data):
    """It is called below SVC, so a new scikit-learn may move it: then this test says so."""
    X, y = data
    s, bound = np.where(y == 1, 1.0, -1.0), np.linspace(1.0, 3.0, len(y))
    options = libsvm._with_defaults({}, len(y))
    a, bias, ended, steps = libsvm.fit_libsvm(X, s, bound, {"kernel": "rbf", "gamma": 0.2}, 1e-4, options)
    reference = SVC(C=1.0, gamma=0.2, tol=1e-4, cache_size=500).fit(X, y, sample_weight=bound)
    np.testing.assert_array_equal(np.flatnonzero(a), np.sort(reference.support_))
    np.testing.assert_array_equal(a[reference.support_], reference.dual_coef_[0])
    assert bias == reference.intercept_[0]
    assert ended
    assert steps == reference.n_iter_[0]


def test_polish_gains_digits_over_libsvm(data):
    X, y = data
    model = PriorSVC(kernel=RBF(0.2), C=10.0).fit(X, y)
    rough = SVC(gamma=0.2, C=10.0, tol=1e-3).fit(X, y)
    exact = SVC(gamma=0.2, C=10.0, tol=1e-12).fit(X, y)
    error = np.abs(model.decision_function(X) - exact.decision_function(X)).max()
    assert error < 1e-5  # the reference itself is limited by its float32 cache
    assert error < 0.1 * np.abs(rough.decision_function(X) - exact.decision_function(X)).max()


def test_polish_with_equal_rows(data):
    X, y = data
    twice = PriorSVC(kernel="rbf", C=5.0).fit(np.vstack([X, X]), np.concatenate([y, y]))
    once = PriorSVC(kernel="rbf", C=10.0).fit(X, y)
    np.testing.assert_allclose(twice.decision_function(X), once.decision_function(X), atol=1e-8)


def test_polish_gives_up_on_an_unsettled_start(data):
    """From a start that is nonsense the answer is None or right, never wrong."""
    X, y = data
    s = np.where(y == 1, 1.0, -1.0)
    K = RBF(0.2)(X)
    bound = np.full(len(X), 10.0)
    rng = np.random.default_rng(0)
    exact = PriorSVC(kernel=RBF(0.2), C=10.0).fit(X, y).decision_function(X)
    right = PriorSVC(kernel=RBF(0.2), C=10.0).fit(X, y)._models[0].alpha
    settled = 0
    for spoiled in (0, 2, 4, 8, 40):
        alpha = right.copy()
        rows = rng.choice(len(X), spoiled, replace=False)
        alpha[rows] = rng.uniform(0, 10, spoiled)
        support = np.flatnonzero(alpha)
        kernel = active.LazyKernelMatrix(K[support], support, lambda rows: K[rows])
        polished = active.polish(kernel, s, bound, s * alpha, 1e-6)
        if polished is not None:
            np.testing.assert_allclose(polished.scores, exact, atol=1e-5)
            np.testing.assert_allclose(K @ polished.a + polished.bias, exact, atol=1e-5)
            settled += 1
    assert settled >= 4


def test_loose_tolerance_is_libsvms_own_answer(data):
    X, y = data
    model = PriorSVC(kernel=RBF(0.2), tol=1e-3).fit(X, y)
    reference = SVC(gamma=0.2, tol=1e-3).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=1e-12)


@pytest.mark.parametrize(
    ("prior", "parameters", "reason"),
    [
        (OddnessHint(), {}, "block 'oddness_hint' does more than add or reweight rows"),
        (None, {"norm": "l1"}, "not norm='l1'"),
        (None, {"loss": "squared_hinge"}, "not loss='squared_hinge'"),
        (None, {"n_centres": 5, "kernel": "rbf"}, "takes no n_centres"),
        (SampleCosts(margins=np.full(150, 0.5)), {}, "margin other than 1"),
    ],
)
def test_refusals_say_why(data, prior, parameters, reason):
    with pytest.raises(SolverUnsuited, match=reason):
        PriorSVC(prior, solver="LIBSVM", **parameters).fit(*data)
    assert PriorSVC(prior, **parameters).fit(*data).solver_ != "LIBSVM"


def test_block_of_weight_zero_is_no_obstacle(data):
    assert PriorSVC(0 * OddnessHint(), kernel="rbf").fit(*data).solver_ == "LIBSVM"


def test_margins_of_extra_samples_count(data):
    extra = UnlabeledSamples(data[0][:3], 1, margins=2.0)
    assert PriorSVC(extra, kernel="rbf").fit(*data).solver_ == "ROWS"


def test_large_linear_problems_take_the_interior_point():
    X, y = clusters(auto.LINEAR_ROWS + 1, 2, 1.0, 0.1)
    assert PriorSVC().fit(X[:-1], y[:-1]).solver_ == "LIBSVM"
    other = PriorSVC().fit(X, y)
    assert other.solver_ == "NORMAL"
    assert PriorSVC(solver="LIBSVM").fit(X, y).objective_ == pytest.approx(other.objective_, rel=1e-8)


def test_solver_options_reach_libsvm(data):
    with pytest.raises(InvalidInput, match="LIBSVM does not take these solver_options"):
        PriorSVC(kernel="rbf", solver_options={"no_such": 1}).fit(*data)
    options = {"max_iter": 350, "tol": 1e-9}
    with pytest.warns(
        InaccurateSolution, match=r"LIBSVM reported 'iteration limit reached'.*larger tol.*max_iter"
    ):
        model = PriorSVC(kernel="rbf", C=10.0, solver="LIBSVM", solver_options=options).fit(*data)
    assert model.status_ == "optimal_inaccurate"
    with pytest.raises(SolverFailed, match=r"discarded.*after 3 iterations: a larger tol.*smaller C"):
        PriorSVC(kernel="rbf", C=1e3, solver="LIBSVM", solver_options={"max_iter": 3, "tol": 1e-9}).fit(*data)


def test_options_that_no_route_accepts_are_not_dropped():
    """A linear model of many rows is NORMAL's, which accepts no option: the next route must accept it."""
    X, y = make_classification(400, 4, random_state=0)
    with pytest.raises(InvalidInput, match="CLARABEL does not take these solver_options: cache_size"):
        PriorSVC(solver_options={"cache_size": 100}).fit(X, y)
    with pytest.raises(SolverFailed, match="CLARABEL reported 'iteration limit reached'"):
        PriorSVC(solver_options={"max_iter": 2}).fit(X, y)
    with pytest.raises(InvalidInput, match="max_iter"):
        PriorSVC(kernel="rbf", solver="LIBSVM", solver_options={"max_iter": -3}).fit(X, y)


def test_auto_does_not_keep_a_poor_answer(data):
    """Columns of very different size: LIBSVM's single-precision cache ends far from the optimum, or never."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2)) * [1.0, 1e4]
    y = (X[:, 0] + 0.3 * rng.normal(size=20) > 0).astype(int)
    for shift, kernel in ((0.0, "linear"), (1e5, "linear"), (0.0, RBF(1e-8))):
        model = PriorSVC(kernel=kernel, C=10.0).fit(X + shift, y)
        other = PriorSVC(kernel=kernel, C=10.0, solver="CLARABEL", scale=None).fit(X + shift, y)
        assert model.status_ == "optimal"
        assert model.objective_ == pytest.approx(other.objective_, rel=1e-4)


def test_gram_is_computed_once_for_all_classes():
    X, y = make_classification(90, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    shapes = []

    def kernel(A, B):
        shapes.append((len(A), len(B)))
        return np.exp(-0.1 * ((A[:, None] - B) ** 2).sum(2))

    PriorSVC(VirtualSamples(Shift(np.full(5, 0.1))), kernel=kernel).fit(X, y)
    full = [s for s in shapes if s == (270, 270)]
    assert len(full) == 1


def test_l1_model_takes_any_kernel(data):
    model = PriorSVC(kernel=NegativeDistance(), norm="l1").fit(*data)
    assert model.solver_ == "CENTRES"
    assert model.score(*data) > 0.8


@pytest.mark.parametrize("C", [100.0, 1e4])
def test_the_first_limit_of_iterations_depends_on_c(monkeypatch, C):
    """Up to LARGE_C LIBSVM is given more iterations before NORMAL follows."""
    limits = []
    run = libsvm.fit_libsvm

    def watched(points, y, bound, kernel, tol, options):
        limits.append(options["max_iter"])
        return run(points, y, bound, kernel, tol, options)

    monkeypatch.setattr(libsvm, "fit_libsvm", watched)
    X, y = clusters(60, 1, 3.0, 0.0)
    PriorSVC(kernel=RBF(0.01), C=C).fit(X, y)
    least, per_row = libsvm.STALLED if C <= libsvm.LARGE_C else libsvm.IMPATIENT
    assert limits[0] == least + 60 * per_row
