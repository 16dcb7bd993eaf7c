"""fit_path: one compile for many weights, and the same models as separate fits."""

import itertools
import warnings

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    InvarianceHint,
    Knowledge,
    MonotonicityHint,
    OddnessHint,
    Polynomial,
    PriorSVC,
    Region,
    SampleCosts,
    Shift,
    Terms,
    Transductive,
    UnlabeledSamples,
    VirtualSamples,
    VirtualSupportVectors,
)
from priorsvm.errors import InvalidInput, Recompiled, UnknownParameter

RECOMPILES = pytest.mark.filterwarnings("ignore::priorsvm.errors.Recompiled")


def two_classes(n=40):
    return make_classification(
        n, 2, n_informative=2, n_redundant=0, flip_y=0.15, class_sep=0.7, random_state=0
    )


def three_classes(n=45):
    X, y = load_iris(return_X_y=True)
    rows = np.random.default_rng(0).permutation(150)[:n]
    return X[rows], y[rows]


def separate(base, combination, X, y, **fit):
    """The model a fit of its own gives."""
    model = clone(base)
    for key, value in combination.items():
        model.set_params(**{key if key in model.get_params() else f"prior__{key}": value})
    return model.fit(X, y, **fit)


def combinations(values):
    return [dict(zip(values, c, strict=True)) for c in itertools.product(*values.values())]


def assert_same_as_separate_fits(base, values, X, y, atol=1e-6, **fit):
    models = base.fit_path(X, y, values, **fit)
    assert len(models) == len(combinations(values))
    for model, combination in zip(models, combinations(values), strict=True):
        alone = separate(base, combination, X, y, **fit)
        assert_allclose(
            model.decision_function(X), alone.decision_function(X), atol=atol, err_msg=str(combination)
        )
        assert_allclose(model.objective_, alone.objective_, rtol=1e-6)
        assert model.solver_ == alone.solver_
        assert str(model.formulation()) == str(alone.formulation())
    return models


@pytest.fixture
def compiled(monkeypatch):
    """The problems that CVXPY has compiled, each once."""
    problems = []
    compile_problem = cp.Problem.get_problem_data

    def watched(problem, *arguments, **more):
        if not any(problem is known for known in problems):
            problems.append(problem)
        return compile_problem(problem, *arguments, **more)

    monkeypatch.setattr(cp.Problem, "get_problem_data", watched)
    return problems


def test_the_watch_sees_every_compilation(compiled):
    X, y = two_classes()
    with pytest.warns(Recompiled):
        PriorSVC(solver="CLARABEL").fit_path(X, y, {"loss": ["hinge", "squared_hinge"]})
    assert len(compiled) == 2
    PriorSVC(kernel="rbf").fit(X, y)
    assert len(compiled) == 2


REGION = Box({0: (1.0, 2.0)}, label=1, holds="everywhere").named("region")
DRIFT = InvarianceHint(Shift([0.0, 0.5])).named("drift")
PATHS = {
    "C, LIBSVM": (PriorSVC(), {"C": [0.01, 1.0, 100.0]}),
    "C, LIBSVM, rbf": (PriorSVC(ClassCosts({1: 3.0}), kernel="rbf"), {"C": [0.1, 10.0]}),
    "C, CLARABEL": (PriorSVC(solver="CLARABEL"), {"C": [0.01, 1.0, 100.0]}),
    "C, HIGHS": (PriorSVC(norm="l1", solver="HIGHS"), {"C": [0.1, 1.0, 10.0]}),
    "C, CENTRES": (PriorSVC(norm="l1", kernel="rbf"), {"C": [0.1, 1.0, 10.0]}),
    "C, squared hinge, rbf": (PriorSVC(loss="squared_hinge", kernel="rbf"), {"C": [0.1, 10.0]}),
    "mu": (PriorSVC(DRIFT + ClassCosts("balanced")), {"drift__mu": [0.0, 0.1, 10.0]}),
    "mu and C": (
        PriorSVC(DRIFT, kernel="rbf", solver="CLARABEL"),
        {"drift__mu": [0.1, 10.0], "C": [0.1, 1.0]},
    ),
    "weight": (
        PriorSVC(DRIFT + OddnessHint(), solver="CLARABEL"),
        {"drift__weight": [0.1, 2.0], "oddness_hint__mu": [1, 5]},
    ),
    "costs of rows": (
        PriorSVC(ClassCosts({1: 2.0}) + DRIFT, solver="CLARABEL"),
        {"class_costs__weight": [0.5, 1.0], "class_costs__costs": [{1: 2.0}, {0: 3.0}]},
    ),
    "cost of virtual rows": (
        PriorSVC(VirtualSamples(Shift([0.1, 0.0])).named("virtual_samples"), solver="CLARABEL"),
        {"virtual_samples__cost": [0.1, 1.0, 3.0]},
    ),
    "weight of extra rows": (
        PriorSVC(UnlabeledSamples([[1.0, 1.0]], 1) + DRIFT, solver="CLARABEL"),
        {"unlabeled_samples__weight": [0.1, 1.0, 5.0]},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("base", "values"), PATHS.values(), ids=PATHS.keys())
def test_a_path_over_weights_is_its_separate_fits_at_one_compile(base, values, compiled):
    X, y = two_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models = base.fit_path(X, y, values)
    assert len(compiled) == (0 if models[0].solver_ in ("LIBSVM", "CENTRES") else 1)
    assert_same_as_separate_fits(base, values, X, y)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
@pytest.mark.parametrize("prior", [None, VirtualSamples(Shift([0.1, 0, 0, 0])) + ClassCosts("balanced")])
def test_several_classes_compile_once_each(prior, solver, compiled):
    X, y = three_classes()
    base = PriorSVC(prior, kernel="rbf", solver=solver)
    base.fit_path(X, y, {"C": [0.1, 1.0, 10.0]})
    assert len(compiled) == (3 if solver == "CLARABEL" else 0)
    assert_same_as_separate_fits(base, {"C": [0.1, 1.0, 10.0]}, X, y)


@RECOMPILES
def test_several_classes_with_preselect_and_weights():
    X, y = three_classes()
    base = PriorSVC(VirtualSamples(Shift([0.1, 0, 0, 0])).named("copies"), kernel="rbf", preselect=True)
    assert_same_as_separate_fits(base, {"C": [0.1, 1.0], "copies__cost": [0.5, 1.0]}, X, y)


def test_the_last_key_varies_fastest():
    X, y = two_classes()
    models = PriorSVC(DRIFT).fit_path(X, y, {"drift__mu": [1.0, 2.0], "C": (0.1, 0.2, 0.3)})
    found = [(m.prior["drift"].mu, m.C) for m in models]
    assert found == [(1.0, 0.1), (1.0, 0.2), (1.0, 0.3), (2.0, 0.1), (2.0, 0.2), (2.0, 0.3)]
    assert [m.C for m in PriorSVC().fit_path(X, y, {"C": np.array([3.0, 1.0, 2.0])})] == [3.0, 1.0, 2.0]


@pytest.mark.parametrize(
    "prior", [OddnessHint(mu=7.0), OddnessHint(mu=7.0).named("oddness_hint") + ClassCosts({})]
)
def test_the_estimator_is_left_as_it_is(prior):
    X, y = two_classes()
    base = PriorSVC(prior, C=5.0)
    before, state = repr(base), set(vars(base))
    base.fit_path(X, y, {"C": [1.0, 2.0], "oddness_hint__mu": [0.1], "oddness_hint__weight": [3.0]})
    assert repr(base) == before
    assert set(vars(base)) == state
    assert base.prior is prior


def test_every_model_of_a_path_can_be_verified():
    X, y = two_classes()
    base = PriorSVC(DRIFT + ClassCosts({1: 2.0}), kernel="rbf", tol=1e-9)
    for model in base.fit_path(X, y, {"drift__mu": [0.1, 1.0, 10.0]}):
        assert sum(row.contribution for row in model.report_.rows) == pytest.approx(model.objective_)
        model.problem.solve(solver="CLARABEL")
        assert model.problem.value == pytest.approx(model.objective_, rel=1e-6)
        assert model.history_[-1]["objective"] == pytest.approx(model.objective_, rel=1e-6)
        assert model.verify()["drift"].worst < 0
    first, last = (m.verify()["drift"].worst for m in base.fit_path(X, y, {"drift__mu": [0.1, 100.0]}))
    assert last > first


def test_row_parameters_and_sample_weight_are_taken():
    X, y = two_classes()
    costs, weight = np.linspace(0.1, 2.0, len(y)), np.linspace(2.0, 1.0, len(y))
    base = PriorSVC(SampleCosts() + DRIFT)
    assert_same_as_separate_fits(
        base, {"C": [0.1, 1.0]}, X, y, sample_weight=weight, sample_costs__costs=costs
    )


# -------------------------------------------------------------------------------- more than weights


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "values"),
    [
        (PriorSVC(solver="CLARABEL"), {"loss": ["hinge", "squared_hinge"]}),
        (PriorSVC(solver="CLARABEL"), {"kernel": [RBF(0.1), RBF(2.0), Polynomial(2)]}),
        (PriorSVC(DRIFT, kernel=RBF(), solver="CLARABEL"), {"kernel__gamma": [0.1, 2.0]}),
        (PriorSVC(DRIFT, solver="CLARABEL"), {"drift__hard": [False, True]}),
        (PriorSVC(DRIFT, solver="CLARABEL"), {"drift__transform": [Shift([0.0, 0.1]), Shift([1.0, 0.0])]}),
        (PriorSVC(DRIFT, solver="CLARABEL"), {"drift__transform__steps": [3, 5]}),
        (PriorSVC(DRIFT, solver="CLARABEL"), {"drift__weight": [0.0, 1.0]}),
        (PriorSVC(REGION, solver="CLARABEL"), {"region__weight": [0.0, 1.0]}),
        (PriorSVC(REGION, solver="CLARABEL"), {"loss": ["hinge", "squared_hinge"]}),
        (PriorSVC(DRIFT, solver="CLARABEL"), {"scale": [None, "standard"]}),
        (PriorSVC(DRIFT, kernel="rbf"), {"n_centres": [3, 6]}),
        (
            PriorSVC(VirtualSamples(Shift([1.0, 0.0])).named("copies"), solver="CLARABEL"),
            {"copies__cost": [0.0, 1.0]},
        ),
    ],
    ids=[
        "loss",
        "kernel",
        "inside a kernel",
        "hard",
        "transform",
        "inside a transform",
        "from nothing",
        "from no region",
        "loss with a region",
        "scale",
        "centres",
        "rows",
    ],
)
def test_what_is_more_than_a_weight_is_compiled_again_with_a_warning(base, values):
    X, y = two_classes()
    [key] = values
    with pytest.warns(Recompiled, match=f"the path over {key} could not keep its compiled problem"):
        assert_same_as_separate_fits(base, values, X, y)


def test_the_warning_names_what_made_it_compile_again():
    X, y = two_classes()
    with pytest.warns(Recompiled) as caught:
        PriorSVC(DRIFT, solver="CLARABEL").fit_path(X, y, {"C": [0.1, 1.0], "drift__hard": [False, True]})
    assert "drift__hard" in str(caught[0].message)
    assert "over C" not in str(caught[0].message)


class Anchored(Knowledge):
    """(f(point) - 1)^2 for rows of a table."""

    def __init__(self, points, mu=1.0):
        self.points = points
        self.mu = mu

    def build(self, f, view):
        return Terms({"mu": cp.sum_squares(f(np.asarray(self.points)) - 1)})


def test_a_block_that_holds_a_table_keeps_its_compiled_problem():
    pandas = pytest.importorskip("pandas")
    X, y = two_classes()
    table = pandas.DataFrame([[0.0, 1.0], [2.0, 0.5]])
    with warnings.catch_warnings():
        warnings.simplefilter("error", Recompiled)
        models = PriorSVC(Anchored(table)).fit_path(X, y, {"anchored__mu": [0.1, 1.0, 10.0]})
    for model, mu in zip(models, (0.1, 1.0, 10.0), strict=True):
        alone = PriorSVC(Anchored(table, mu)).fit(X, y)
        assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-5)


def disc(X):
    return ((X - 1.0) ** 2).sum(axis=1) - 0.3


@pytest.mark.slow
@pytest.mark.parametrize("h", [1.0, disc], ids=["a number", "a function"])
def test_a_region_of_a_function_keeps_its_compiled_problem(h):
    X, y = two_classes()
    model = PriorSVC(
        Region(disc, points=20, within="data", label=1, h=h, holds="everywhere"),
        kernel=RBF(0.5),
        solver="CLARABEL",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", Recompiled)
        assert_same_as_separate_fits(model, {"C": [0.1, 1.0, 10.0]}, X, y)


@pytest.mark.parametrize(
    "values",
    [{"kernel": [RBF(0.1), RBF(2.0), Polynomial(2)]}, {"kernel": ["rbf", "linear"]}],
    ids=["kernels", "names"],
)
def test_kernels_on_the_libsvm_route(values):
    X, y = two_classes()
    assert_same_as_separate_fits(PriorSVC(), values, X, y)


@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
@RECOMPILES
def test_scales_under_a_kernel(solver):
    X, y = two_classes()
    base = PriorSVC(kernel=RBF(0.5), solver=solver)
    assert_same_as_separate_fits(base, {"scale": [None, "standard", "minmax"]}, 3 * X, y)


@pytest.mark.parametrize(
    "values",
    [{"norm": ["l2", "l1"]}, {"loss": ["hinge", "squared_hinge"]}, {"solver": ["LIBSVM", "CLARABEL"]}],
    ids=["norm", "loss", "solver"],
)
@RECOMPILES
def test_a_path_may_change_the_route(values):
    X, y = two_classes()
    base = PriorSVC(ClassCosts({1: 2.0}), kernel=RBF(0.5), tol=1e-8)
    assert_same_as_separate_fits(base, {**values, "C": [0.1, 1.0]}, X, y, atol=1e-5)


def test_drawn_pairs_are_kept(compiled):
    X, y = two_classes()
    base = PriorSVC(MonotonicityHint({0: -1}), solver="CLARABEL")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        base.fit_path(X, y, {"monotonicity_hint__mu": [0.1, 1.0, 10.0]})
    assert len(compiled) == 1


@RECOMPILES
@pytest.mark.parametrize(
    "block",
    [
        MonotonicityHint({0: -1}),
        VirtualSupportVectors(Shift([0.1, 0.0])),
        Transductive([[0.0, 1.0], [1.0, 0.0]]),
    ],
    ids=["drawn pairs", "virtual support vectors", "transductive"],
)
@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
def test_blocks_with_a_state(block, solver):
    X, y = two_classes()
    assert_same_as_separate_fits(PriorSVC(block, solver=solver, tol=1e-8), {"C": [0.1, 1.0]}, X, y, atol=1e-4)


# -------------------------------------------------------------------------------- what can be wrong


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({}, InvalidInput, ["values must be a dict", "{'C': [1, 10]}"]),
        ([("C", [1.0])], InvalidInput, ["values must be a dict"]),
        (
            {"drfit__mu": [1.0]},
            UnknownParameter,
            ["'drfit__mu'", "The parameters are", "drift__mu", "drift__weight", "C"],
        ),
        ({"mu": [1.0]}, UnknownParameter, ["'mu'", "drift__mu"]),
        ({"drift": [OddnessHint()]}, UnknownParameter, ["'drift'"]),
        ({"drift__mux": [1.0]}, UnknownParameter, ["'drift__mux'", "drift__mu"]),
        ({"C": [1.0, -1.0]}, InvalidInput, ["C must be a positive number", "-1"]),
        ({"drift__mu": [1.0, -1.0]}, InvalidInput, ["'drift'", "mu", "-1"]),
        ({"drift__weight": [1.0, "a"]}, InvalidInput, ["'drift'", "weight", "'a'"]),
        ({"C": 1.0}, InvalidInput, ["'C'", "list of values", "1.0"]),
        ({"kernel": "rbf"}, InvalidInput, ["'kernel'", "list of values", "'rbf'"]),
        ({"C": []}, InvalidInput, ["'C'", "nonempty list"]),
        ({"C": {1.0, 2.0}}, InvalidInput, ["'C'", "in order", "{1.0, 2.0}"]),
        ({"C": {1.0: 2.0}}, InvalidInput, ["'C'", "list of values"]),
        ({1: [2.0]}, InvalidInput, ["parameter names", "'C'", "got 1"]),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_bad_values(values, error, words):
    X, y = two_classes()
    with pytest.raises(error) as caught:
        PriorSVC(DRIFT).fit_path(X, y, values)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("values", [[1, 2], (1, 2), np.array([1, 2]), range(1, 3)], ids=repr)
def test_all_that_has_an_order_is_a_list(values):
    X, y = two_classes()
    assert [model.C for model in PriorSVC().fit_path(X, y, {"C": values})] == [1, 2]


def test_a_bad_value_is_found_before_the_first_fit(compiled):
    X, y = two_classes()
    with pytest.raises(InvalidInput):
        PriorSVC(DRIFT).fit_path(X, y, {"C": [1.0, -1.0]})
    assert compiled == []


def test_names_of_a_grid_search_are_understood():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    model = PriorSVC(MonotonicityHint({0: 1}))
    one, other = (
        model.fit_path(X, y, {name: [0.5, 5.0]})
        for name in ("monotonicity_hint__mu", "prior__monotonicity_hint__mu")
    )
    assert [m.objective_ for m in one] == [m.objective_ for m in other]


class Bounded(Knowledge):
    """Values of f up to a bound that depends on the weight."""

    def __init__(self, mu=1.0, where="number"):
        self.mu = mu
        self.where = where

    def build(self, f, view):
        t = cp.Variable(nonneg=True)
        X = view.sample.X_train
        if self.where == "number":
            return Terms({"mu": t}, {"most": cp.sum_squares(f(X)) <= len(X) / (1 + self.mu) + t})
        if self.where == "point":
            return Terms({"mu": t}, {"most": cp.sum_squares(f(self.mu * X)) <= 1.0 + t})
        return Terms({"mu": t}, {f"most{self.mu:g}": f(X) * (1 if self.mu > 1 else -1) <= t})


@pytest.mark.parametrize("kernel", ["linear", RBF(0.5)], ids=["linear", "rbf"])
@pytest.mark.parametrize("where", ["number", "point", "label"])
def test_a_weight_that_a_constraint_contains_is_compiled_again(where, kernel):
    X, y = two_classes()
    model = PriorSVC(Bounded(where=where), kernel=kernel, solver="CLARABEL", tol=1e-8)
    values = [0.3, 3.0, 5.0]
    with pytest.warns(Recompiled, match="changes more than weights"):
        path = model.fit_path(X, y, {"bounded__mu": values})
    for found, mu in zip(path, values, strict=True):
        alone = clone(model).set_params(prior=Bounded(mu, where)).fit(X, y)
        assert found.objective_ == pytest.approx(alone.objective_, rel=1e-6)


def test_the_terms_of_a_block_are_compared_once_for_a_path(compiled):
    X, y = two_classes()
    builds = []

    class Counted(OddnessHint):
        def build(self, f, view):
            builds.append(self.mu)
            return super().build(f, view)

    PriorSVC(Counted(), solver="CLARABEL").fit_path(X, y, {"counted__mu": [1.0, 2.0, 3.0, 4.0]})
    assert builds == [1.0, 1.0, 2.0]  # assembled, then compared
    assert len(compiled) == 1
