"""The data assembled here are those that CVXPY makes of the whole problem; so are the answers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from benchmarks.compositions import composition, problem
from priorsvm.solve.direct import Direct, _columns, solver


def compiled(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return problem(*composition(seed))


def of_cvxpy(assembled):
    """What CVXPY makes of all of it, with its columns by variable: those of the user, then its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data, chain, inverse = assembled.problem.get_problem_data(solver())
    n = len(data["c"])
    own = _columns(data, chain, inverse)
    P = data["P"] if "P" in data else sparse.csr_array((n, n))
    return (P, data["c"], data["A"], data["b"], data["dims"]), own


def in_order(own, n, variables):
    """The columns of these variables, then those of none of them, in ascending order."""
    known = np.concatenate([own[v.id] for v in variables])
    return np.concatenate([known, np.setdiff1d(np.arange(n), known)])


def as_given(data, order):
    """The data with their columns in this order; inequalities in an order of their own."""
    P, q, A, b, dims = data
    rows = sparse.hstack([sparse.csr_array(A)[:, order], sparse.csr_array(b[:, None])]).toarray()
    ends = np.cumsum([dims.zero, dims.nonneg])
    sortable = rows[ends[0] : ends[1]].round(9) + 0.0
    inequalities = rows[ends[0] : ends[1]][np.lexsort(sortable.T)]
    cones = list(dims.soc), list(dims.psd)
    return (
        sparse.csr_array(P)[order][:, order].toarray(),
        q[order],
        rows[: ends[0]],
        inequalities,
        rows[ends[1] :],
        cones,
    )


def differences(assembled):
    direct = Direct.of(assembled)
    theirs, columns = of_cvxpy(assembled)
    ours, variables = direct.stated.whole(), assembled.problem.variables()
    assert len(theirs[1]) == len(ours[1])
    lean = {**_columns(direct.data, direct.chain, direct.inverse), **direct.columns}
    a = as_given(theirs, in_order(columns, len(theirs[1]), variables))
    b = as_given(ours, in_order(lean, len(ours[1]), variables))
    assert a[-1] == b[-1]
    assert all(x.shape == y.shape for x, y in zip(a[:-1], b[:-1], strict=True))
    return [
        float(np.abs(x - y).max(initial=0.0)) / (1 + float(np.abs(x).max(initial=0.0)))
        for x, y in zip(a[:-1], b[:-1], strict=True)
    ]


@pytest.mark.parametrize("seed", range(40))
def test_the_data_are_those_of_the_whole_problem(seed):
    assert max(differences(compiled(seed))) < 1e-12
