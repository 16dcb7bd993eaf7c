"""The scatter ratio against explicit features, and the search for the best kernel."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from priorsvm import RBF, Bhattacharyya, Linear, NegativeDistance, Polynomial, PriorSVC, select_kernel
from priorsvm.errors import InvalidInput, InvalidType
from priorsvm.kernels.select import scatter_ratio


def ring(n=30, seed=0):
    """The positive class in two clusters around the other."""
    rng = np.random.default_rng(seed)
    centre = np.repeat([[0.0, 0.0], [-3.0, -3.0], [3.0, 3.0]], n // 3, axis=0)
    return centre + rng.normal(size=(n, 2)), np.repeat([0, 1, 1], n // 3)


def features(X):
    """Explicit features of (x'z + 1)^2."""
    d = X.shape[1]
    pairs = [np.sqrt(2 if i < j else 1) * X[:, i] * X[:, j] for i in range(d) for j in range(i, d)]
    return np.column_stack([np.ones(len(X)), np.sqrt(2) * X, *pairs])


def literal(F, chosen):
    """tr S_np / tr S_p from the scatter matrices."""
    middle = F[chosen].mean(axis=0)
    S_p = (F[chosen] - middle).T @ (F[chosen] - middle)
    S_np = (F[~chosen] - middle).T @ (F[~chosen] - middle)
    return np.trace(S_np) / np.trace(S_p)


@pytest.mark.parametrize("positive", [0, 1])
def test_score_is_the_ratio_of_the_scatter_matrices(positive):
    X, y = ring()
    found = select_kernel([Linear(), Polynomial(2, gamma=1.0, coef0=1.0)], X, y, positive)
    for one, F in zip(found.scores, (X, features(X)), strict=True):
        assert_allclose(one.score, literal(F, y == positive), rtol=1e-12)


def test_score_of_a_distance_is_that_of_any_points_with_those_distances():
    # -|x - z|^2 has the distances of sqrt(2) x
    X, y = ring()
    found = select_kernel(NegativeDistance(power=2), X, y, 1)
    assert_allclose(found.score, literal(X, y == 1), rtol=1e-12)


def test_best_of_several_is_the_one_with_the_highest_score():
    X, y = ring()
    kernels = [Linear(), RBF(gamma=0.2), RBF(gamma=5.0), "rbf", lambda A, B: (A @ B.T) ** 2]
    found = select_kernel(kernels, X, y, 1)
    scores = [one.score for one in found.scores]
    assert found.score == max(scores)
    assert found.kernel is found.scores[int(np.argmax(scores))].kernel
    assert found.scores[3].kernel.gamma == 1 / (2 * X.var())
    assert PriorSVC(kernel=found.kernel).fit(X, y).score(X, y) > 0.8


def test_a_parameter_is_optimised_between_its_bounds():
    X, y = ring()
    rows, chosen = np.asarray(X), y == 1
    fine = minimize_scalar(
        lambda t: -scatter_ratio(RBF(gamma=float(np.exp(t))), rows, chosen)[0],
        bounds=(np.log(0.05), np.log(1.0)),
        method="bounded",
        options={"xatol": 1e-9},
    )
    found = select_kernel((RBF(), {"gamma": (1e-3, 1e3)}), X, y, 1)
    assert_allclose(found.score, -fine.fun, rtol=1e-10)
    assert_allclose(found.kernel.gamma, np.exp(fine.x), rtol=1e-4)
    assert found.at_bound == {}
    assert not found.plateau


def test_several_parameters_and_those_of_parts():
    X, y = ring()
    best = max(
        scatter_ratio(RBF(gamma=g) + c * Linear(), X, y == 1)[0]
        for g in np.geomspace(0.01, 10, 30)
        for c in np.linspace(0.1, 2, 20)
    )
    found = select_kernel(
        (RBF() + 1.0 * Linear(), {"rbf__gamma": (0.01, 10), "linear__factor": (0.1, 2)}), X, y, 1
    )
    assert found.score >= best * (1 - 1e-9)
    assert found.at_bound == {"linear__factor": 0.1}
    assert "linear__factor at its bound 0.1" in str(found)


def test_a_narrow_rbf_tends_to_the_plateau():
    X, y = ring()
    n_p, n_n = 20, 10
    score, alike = scatter_ratio(RBF(gamma=1e6), X, y == 1)
    assert_allclose(score, n_n * (1 + 1 / n_p) / (n_p - 1), rtol=1e-12)
    assert alike < 1e-12
    assert_allclose(select_kernel([RBF(1.0)], X, y, 1).limit, score, rtol=1e-12)


def test_a_wide_rbf_tends_to_the_linear_kernel():
    X, y = ring()
    wide, linear = (scatter_ratio(k, X, y == 1)[0] for k in (RBF(gamma=1e-7), Linear()))
    assert_allclose(wide, linear, rtol=1e-4)


def test_an_optimum_on_the_plateau_is_reported_as_one():
    # Others amidst the positive samples: no kernel does better than to tell all of them apart.
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 2)) * np.where(y, 3, 1)[:, None]
    found = select_kernel([Linear(), (RBF(), {"gamma": (1e-3, 1e4)})], X, y, 1)
    assert found.plateau
    assert_allclose(found.score, found.limit, rtol=1e-2)
    assert "plateau J = 1.105, where different rows have no similarity" in str(found)
    assert not select_kernel([Linear(), RBF(0.1)], X, y, 1).plateau


def test_sets_of_vectors_are_samples_too():
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    X = [rng.normal(size=(rng.integers(2, 6), 2)) * [1 + 3 * k, 1] for k in y]
    found = select_kernel([(Bhattacharyya(), {"eta": (0.01, 10.0)}), Bhattacharyya()], X, y, 0)
    assert found.score >= found.scores[1].score > 1


def test_candidates_are_left_as_they_are():
    X, y = ring()
    kernel = RBF(gamma=0.5)
    select_kernel([kernel, (kernel, {"gamma": (0.1, 1.0)})], X, y, 1)
    assert kernel.gamma == 0.5


def test_the_table_names_the_best():
    X, y = ring()
    lines = str(select_kernel([Linear(), RBF(gamma=0.2)], X, y, 1)).splitlines()
    assert lines[0].split() == ["kernel", "J", "remark"]
    assert lines[2].startswith("RBF(gamma=0.2)")
    assert lines[2].endswith("best")


@pytest.mark.parametrize(
    ("candidates", "error", "message"),
    [
        ([], InvalidInput, "candidates is empty"),
        (["rfb"], InvalidInput, "Unknown kernel 'rfb'"),
        ([3], InvalidType, "kernel is 3"),
        ([(RBF(), {})], InvalidInput, "is not a candidate; expected a kernel, or a pair such as"),
        ([(RBF(), {"gama": (1, 2)})], InvalidInput, r"RBF\(\) has no parameter 'gama'.*Did you mean 'gamma'"),
        ([(RBF(), {"gamma": (2, 1)})], InvalidInput, r"the bounds of 'gamma' are \(2, 1\)"),
        ([(RBF(), {"gamma": 3})], InvalidInput, "the bounds of 'gamma' are 3"),
        ([lambda A, B: np.ones((len(A), len(B)))], InvalidInput, "have no scatter in feature space"),
    ],
)
def test_what_cannot_be_selected_is_named(candidates, error, message):
    X, y = ring()
    with pytest.raises(error, match=message):
        select_kernel(candidates, X, y, 1)


def test_classes_and_rows_are_checked():
    X, y = ring()
    with pytest.raises(InvalidInput, match="0 rows of class 'x' and 30 other rows"):
        select_kernel(Linear(), X, y, "x")
    with pytest.raises(InvalidInput, match="1 rows of class 7"):
        select_kernel(Linear(), X, np.where(np.arange(30) == 0, 7, y), 7)
    with pytest.raises(InvalidInput, match="X has 30 rows and y has 29 labels"):
        select_kernel(Linear(), X, y[1:], 1)


def test_words_for_gamma_mean_what_they_mean_on_the_rows():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    assert select_kernel([RBF("auto")], rng.normal(size=(40, 16)), y, 1).kernel.gamma == 1 / 16
    sets = rng.normal(size=(40, 5, 3))
    assert select_kernel([Bhattacharyya(base=RBF("auto"))], sets, y, 1).kernel.base.gamma == 1 / 3
