"""The data assembled here are those that CVXPY makes of the whole problem; so are the answers."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from cvxpy.reductions.chain import Chain
from scipy import sparse
from sklearn.datasets import make_moons

from benchmarks.compositions import composition, problem
from priorsvm import (
    RBF,
    Box,
    Monotone,
    MonotonicityHint,
    OddnessHint,
    PriorSVC,
    Shift,
    TangentPenalty,
    Trajectories,
    UncertainSamples,
)
from priorsvm.errors import Infeasible
from priorsvm.problem.residuals import residuals
from priorsvm.schur.definitions import StructuredProblem
from priorsvm.solve.routes.direct import Direct, columns_of, solver


def compiled(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return problem(*composition(seed))


def of_cvxpy(assembled):
    """What CVXPY makes of all of it, with its columns by variable: those of the user, then its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data, chain, inverse = assembled.problem.get_problem_data(solver(), solver_opts={})
    n = len(data["c"])
    own = columns_of(data, chain, inverse)
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
    ours, variables = direct.stated.expanded(), assembled.problem.variables()
    assert len(theirs[1]) == len(ours[1])
    kept = np.isin(
        np.arange(len(direct.stated.q)), direct.stated.values[~direct.stated.explicit], invert=True
    )
    place = np.cumsum(kept) - 1  # without the products, which the whole problem has as they are
    lean = {**columns_of(direct.data, direct.chain, direct.inverse), **direct.columns}
    lean = {id: place[own] for id, own in lean.items()}
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


def test_a_changed_number_would_be_seen(monkeypatch):
    """Of a definition, and of the regulariser."""
    assembled = compiled_with(RBF(50.0), OddnessHint())
    assert max(differences(assembled)) < 1e-12
    whole = StructuredProblem.expanded
    for changed in ("definitions", "energy"):

        def other(self, changed=changed):
            if changed == "energy":
                return whole(replace(self, energy=self.energy * 1.001))
            first, *rest = self.definitions
            return whole(replace(self, definitions=[replace(first, matrix=first.matrix * 1.001), *rest]))

        monkeypatch.setattr(StructuredProblem, "expanded", other)
        assert max(differences(assembled)) > 1e-5


def compiled_with(kernel, prior, **settings):
    X, y = make_moons(40, noise=0.2, random_state=0)
    return problem(PriorSVC(prior, kernel=kernel, **settings), X, y)


SETTINGS = {
    "values": {"kernel": RBF(20.0)},
    "factor": {"kernel": RBF(0.05)},
    "linear": {"kernel": "linear"},
    "squared hinge": {"kernel": RBF(20.0), "loss": "squared_hinge"},
    "1-norm": {"kernel": RBF(1.0), "norm": "l1"},
    "1-norm, linear": {"kernel": "linear", "norm": "l1"},
    "scaled": {"kernel": RBF(1.0), "scale": "standard"},
}
PRIORS = {
    "oddness": OddnessHint(mu=2.0),
    "hard oddness": OddnessHint(hard=True),
    "order": MonotonicityHint({0: 1}, pairs=15),
    "slopes": Monotone({1: -1}, mu=3.0, holds="everywhere"),
    "tangents": TangentPenalty(Shift([[0.1, 0.0]]), gamma=0.5),
    "uncertain": UncertainSamples(0.02 * np.eye(2), confidence=0.8),
    "box": Box({0: (0.5, 1.0), 1: (-0.5, 0.0)}, 1, hard=True, method="points", points=20),
}


# Forty equations that an ill-conditioned kernel matrix makes almost dependent are beyond SCHUR.
PAIRS = [(m, p) for m in SETTINGS for p in PRIORS if (m, p) != ("1-norm", "hard oddness")]


@pytest.mark.slow
@pytest.mark.parametrize(("settings", "prior"), PAIRS)
def test_the_answer_is_where_cvxpy_would_leave_it(settings, prior):
    """Values of all variables, multipliers of all constraints, those of the definitions too."""
    assembled = compiled_with(prior=PRIORS[prior], **SETTINGS[settings])
    whole = assembled.problem
    Direct.of(assembled).solve(tol=1e-10)
    assert whole.status == "optimal"
    assert whole.solver_stats.solver_name == "SCHUR"
    found = residuals(whole)
    assert found.worst < 1e-7, found
    c, value = np.array(assembled.tie.c.value), whole.value
    duals = [np.hstack([np.ravel(v.value) for v in k.dual_variables]) for k in whole.constraints]
    whole.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert value == pytest.approx(whole.value, rel=1e-7, abs=1e-7)
    if "1-norm" not in settings:  # the optimum is unique
        np.testing.assert_allclose(c, assembled.tie.c.value, atol=1e-4 * (1 + np.abs(c).max()))
        definitions = {k.id for k in assembled.tie.definitions.values()}
        for constraint, before in zip(whole.constraints, duals, strict=True):
            if constraint.id in definitions and prior not in ("box", "hard oddness"):
                after = np.hstack([np.ravel(v.value) for v in constraint.dual_variables])
                np.testing.assert_allclose(before, after, atol=1e-3 * (1 + np.abs(after).max()))


def ellipsoids():
    A = np.random.default_rng(0).normal(size=(40, 2, 2))
    return UncertainSamples(0.01 * A @ A.swapaxes(1, 2), confidence=0.8)


PRODUCTS = {
    "ellipsoids": ellipsoids(),
    "parabolas": Trajectories(Shift([[0.1, 0.05]]), degree=2),
    "both": ellipsoids() + Trajectories(Shift([[0.1, 0.05]]), degree=2),
}
LINEAR = [{}, {"norm": "l1"}, {"scale": "standard"}, {"loss": "squared_hinge"}]


@pytest.mark.slow
@pytest.mark.parametrize("settings", LINEAR, ids=str)
@pytest.mark.parametrize("prior", PRODUCTS)
def test_slopes_of_a_linear_f_do_not_pass_through_cvxpy(prior, settings, monkeypatch):
    assembled = compiled_with("linear", PRODUCTS[prior], **settings)
    assert max(differences(assembled)) < 1e-12
    Direct.of(assembled).solve(tol=1e-10)
    found = residuals(assembled.problem, assembled.jacobians(), products=assembled.products())
    value = assembled.problem.value
    assert found.worst < 1e-7
    for ours, theirs in zip(vars(found).values(), vars(residuals(assembled.problem)).values(), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-12)
    monkeypatch.setattr("priorsvm.schur.definitions.GROWTH", 0.0)
    Direct.of(assembled).solve(tol=1e-10)
    assert assembled.problem.value == pytest.approx(value, rel=1e-8)
    assert residuals(assembled.problem).worst < 1e-7


def test_a_changed_product_would_be_seen():
    assembled = compiled_with("linear", ellipsoids())
    [(g, matrix)] = assembled.f.products.parts
    assembled.f.products.parts[0] = g, matrix * 1.001
    assert max(differences(assembled)) > 1e-5
    Direct.of(assembled).solve(tol=1e-10)
    assert residuals(assembled.problem).worst > 1e-5


@pytest.mark.slow
def test_the_cone_behind_the_norm_of_f():
    """A block that bounds f between corners asks for it; dense rows with values, sparse ones without."""
    X, y = make_moons(40, noise=0.2, random_state=0)
    for gamma in (20.0, 1.0):
        box = Box({0: (0.6, 0.8), 1: (-0.4, -0.2)}, 1, method="guaranteed")
        models = [PriorSVC(box, kernel=RBF(gamma), solver=s).fit(X, y) for s in ("SCHUR", "CLARABEL")]
        [ours, theirs] = [m._models[0].problem for m in models]
        assert "length" in ours.tie.definitions
        assert max(differences(ours)) < 1e-12
        assert ours.problem.value == pytest.approx(theirs.problem.value, rel=1e-6)
        assert residuals(ours.problem).worst < 1e-6


@pytest.mark.parametrize("kernel", ["linear", RBF(1.0), RBF(50.0)])
def test_conflicts_are_named(kernel):
    X, y = make_moons(30, noise=0.2, random_state=0)
    box = {0: (0.0, 0.5), 1: (0.0, 0.5)}
    points = np.random.default_rng(0).uniform(0, 0.5, (10, 2))
    one = Box(box, 0, hard=True, method="points", points=points).named("one")
    two = Box(box, 1, hard=True, method="points", points=points).named("two")
    with pytest.raises(Infeasible, match=r"'one'.* and 'two'"):
        PriorSVC(one + two + OddnessHint(), kernel=kernel, solver="SCHUR").fit(X, y)


def test_new_weights_compile_nothing(monkeypatch):
    """A problem with other weights is the one CVXPY has compiled before."""
    assembled = compiled_with(RBF(1.0), OddnessHint(mu=1.0))
    Direct.of(assembled)
    monkeypatch.setattr(Chain, "apply", lambda *_: pytest.fail("compiled again"))
    member = assembled.members[0]
    other = member._replace(block=OddnessHint(mu=7.0))
    assembled.set_weights(replace(assembled.spec, C=3.0), [other], assembled.states, assembled.sample)
    Direct.of(assembled).solve()
    monkeypatch.undo()
    value = assembled.problem.value
    fresh = compiled_with(RBF(1.0), OddnessHint(mu=7.0), C=3.0)
    Direct.of(fresh).solve()
    assert value == pytest.approx(fresh.problem.value, rel=1e-8)
