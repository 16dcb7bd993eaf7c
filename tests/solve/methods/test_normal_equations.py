"""The interior point on arrays: optimality conditions, and the rows of a low-rank factor."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from priorsvm import RBF
from priorsvm.errors import SolverFailed
from priorsvm.solve.methods.normal_equations import low_rank_rows, solve_normal


def problem(n=200, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0.2, 1.0, -1.0)
    return X, y, rng.uniform(0.2, 3.0, n), rng.uniform(0.5, 1.5, n)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("C", 10.0 ** np.arange(-3, 7, 3))
def test_primal_and_dual_objectives_are_equal(C, squared, kind):
    X, y, bound, rho = problem()
    bound = C * bound
    found = solve_normal(kind(X), y, bound, rho, squared)
    slack = np.maximum(rho - y * (X @ found.c + found.bias), 0.0)
    v = (found.alpha * y) @ X
    primal = 0.5 * found.c @ found.c + bound @ (slack**2 if squared else slack)
    dual = rho @ found.alpha - 0.5 * v @ v - (0.25 * found.alpha**2 @ (1 / bound) if squared else 0.0)
    assert primal - dual == pytest.approx(0.0, abs=1e-7 * primal)
    assert abs(found.alpha @ y) <= 1e-8 * found.alpha.max()
    assert (found.alpha > 0).all()
    assert squared or (found.alpha <= bound * (1 + 1e-12)).all()


def test_the_guess_has_the_rows_on_the_margin():
    X, y, bound, rho = problem()
    found = solve_normal(X, y, bound, rho)
    guess = found.guess(bound)
    excess = y * (X @ found.c + found.bias) - rho
    assert (guess[excess > 1e-4] == 0.0).all()
    assert (guess[excess < -1e-4] == bound[excess < -1e-4]).all()
    assert 1 <= np.count_nonzero((guess > 0) & (guess < bound)) <= X.shape[1] + 1


def test_low_rank_rows_have_the_products_of_the_kernel():
    X = problem()[0]
    K = RBF(0.02)(X)
    rows = low_rank_rows(K)
    assert rows.shape[1] < 60
    np.testing.assert_allclose(rows @ rows.T, K, atol=1e-3)
    with pytest.raises(SolverFailed, match=r"NORMAL: the kernel matrix does not have a low rank\. 66 of 200"):
        low_rank_rows(RBF(300.0)(X))
