"""The assembled problem in the user's hands."""

import pickle

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    InvarianceHint,
    InvariantLoss,
    Knowledge,
    Monotone,
    OddnessHint,
    PriorSVC,
    Shift,
    Terms,
    Transductive,
    UncertainSamples,
    VirtualSamples,
    VirtualSupportVectors,
    load,
    save,
)
from priorsvm.assembly import Assembly
from priorsvm.errors import (
    InaccurateSolution,
    Infeasible,
    InvalidInput,
    InvalidType,
    MissingCapability,
    NotFitted,
    SolverFailed,
    UnknownParameter,
)

Z = np.array([[3.0, 0.0], [3.0, 0.5]])
SHIFT = Shift([[0.05, 0.0], [0.0, 0.05]])

MODELS = {
    "linear": {},
    "linear, scaled": {"scale": "standard"},
    "rbf": {"kernel": "rbf"},
    "rbf, scaled": {"kernel": "rbf", "scale": "minmax"},
    "linear 1-norm": {"norm": "l1"},
    "rbf 1-norm": {"kernel": "rbf", "norm": "l1"},
    "Nyström": {"kernel": "rbf", "n_centres": 20},
    "squared hinge": {"kernel": "rbf", "loss": "squared_hinge"},
}


class Above(Knowledge):
    """The terms that the tests below add by hand, as a block."""

    def __init__(self, mu=1.0):
        self.mu = mu

    def build(self, f, view):
        t = cp.Variable(2, nonneg=True)
        return Terms({"mu": cp.sum(t)}, {"above": f(Z) >= 2 - t, "below": f(Z[:1]) <= 5})


@pytest.fixture(scope="module")
def data():
    return make_moons(120, noise=0.25, random_state=0)


@pytest.fixture(params=MODELS.values(), ids=MODELS)
def arguments(request):
    return request.param


def with_above(assembly):
    t = cp.Variable(2, nonneg=True)
    return assembly.add(cp.sum(t), above=assembly.f(Z) >= 2 - t, below=lambda f: f(Z[:1]) <= 5)


class TestOwnTerms:
    def test_equal_a_block(self, data, arguments):
        assembly = with_above(PriorSVC(**arguments).assemble(*data))
        outcome = assembly.solve()
        model = assembly.classifier()
        block = PriorSVC(Above(), **arguments).fit(*data)
        assert outcome.status == model.status_ == "optimal"
        assert model.objective_ == pytest.approx(block.objective_, rel=1e-8)
        assert assembly.problem.value == pytest.approx(block.objective_, rel=1e-8)
        np.testing.assert_allclose(
            model.decision_function(data[0]), block.decision_function(data[0]), atol=1e-6
        )

    def test_equal_a_problem_changed_by_hand(self, data, arguments):
        assembly = PriorSVC(**arguments).assemble(*data)
        values = assembly.f(Z)
        t = cp.Variable(2, nonneg=True)
        stated = assembly.problem
        changed = cp.Problem(
            cp.Minimize(stated.objective.expr + cp.sum(t)),
            [*stated.constraints, values >= 2 - t, values[0] <= 5],
        )
        # SCIPY is not in the table of solvers that priorsvm describes.
        solver = "SCIPY" if arguments.get("norm") == "l1" else "CLARABEL"
        changed.solve(solver=solver)
        model = assembly.classifier(changed)
        block = PriorSVC(Above(), **arguments).fit(*data)
        assert model.solver_ == solver
        assert model.objective_ == pytest.approx(block.objective_, rel=1e-6)
        np.testing.assert_allclose(
            model.decision_function(data[0]), block.decision_function(data[0]), atol=1e-4
        )
        assert {row.term for row in model.report_["own"]} >= {"constraint_1", "constraint_2"}

    def test_against_a_problem_written_out(self, data):
        X, y = data
        sign = np.where(y == 1, 1.0, -1.0)
        w = cp.Variable(2)
        b = cp.Variable()
        xi = cp.Variable(len(y), nonneg=True)
        reference = cp.Problem(
            cp.Minimize(0.5 * cp.sum_squares(w) + 3 * cp.sum(xi) + 2 * cp.sum_squares(Z @ w + b - 1)),
            [cp.multiply(sign, X @ w + b) >= 1 - xi, w[0] <= 0.5],
        )
        reference.solve(solver="CLARABEL", tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
        assembly = PriorSVC(C=3.0).assemble(X, y)
        assembly.add(lambda f: 2 * cp.sum_squares(f(Z) - 1), small=assembly.f.coef[0] <= 0.5)
        assembly.solve()
        model = assembly.classifier()
        assert model.objective_ == pytest.approx(reference.value, rel=1e-7)
        np.testing.assert_allclose(model.coef_[0], w.value, atol=1e-5)
        assert assembly.constraints["own.small"].dual_value == pytest.approx(
            float(reference.constraints[1].dual_value), abs=1e-4
        )

    def test_labels_in_report_and_problem(self, data):
        assembly = with_above(PriorSVC(Box({0: (1, 2)}, label=1, holds="everywhere")).assemble(*data))
        assembly.solve()
        assert [c.label for c in assembly.problem.constraints if c.label.startswith("own.")] == [
            "own.above",
            "own.below",
        ]
        terms = [row.term for row in assembly.classifier().report_["own"]]
        assert terms == ["mu", "above", "below"]

    def test_added_twice(self, data):
        assembly = PriorSVC().assemble(*data)
        assembly.add(low=assembly.f.coef[0] <= 0.1).add(high=assembly.f.coef[0] >= 0.1)
        assembly.solve()
        model = assembly.classifier()
        assert model.coef_[0, 0] == pytest.approx(0.1, abs=1e-7)
        assert list(assembly.constraints)[1:] == ["own.low", "own_2.high"]

    def test_on_the_slack_of_rows(self, data):
        assembly = PriorSVC(C=0.1).assemble(*data)
        assembly.solve()
        largest = float(assembly.problem.var_dict["xi"].value.max())
        assembly.add(cap=assembly.slack <= 0.9 * largest)
        assembly.solve()
        assert assembly.slack.value.max() == pytest.approx(0.9 * largest, rel=1e-6)
        assert assembly.classifier().objective_ == pytest.approx(assembly.problem.value, rel=1e-7)

    def test_bias_of_a_kernel_model(self, data):
        assembly = PriorSVC(kernel="rbf").assemble(*data)
        assembly.add(bias=assembly.f.bias == 0.25)
        assembly.solve()
        assert assembly.classifier().intercept_[0] == pytest.approx(0.25, abs=1e-8)

    def test_slopes(self, data):
        at = np.array([[0.0, 0.5]])
        along = np.array([[1.0, 0.0]])
        assembly = PriorSVC(kernel="rbf").assemble(*data)
        assembly.add(flat=assembly.f.slope(at, along) == 0)
        assembly.solve()
        model = assembly.classifier()
        step = 1e-5 * along
        ahead, behind = model.decision_function(np.vstack([at + step, at - step]))
        assert abs(ahead - behind) / 2e-5 < 1e-6

    def test_conflicts_name_own_terms(self, data):
        assembly = PriorSVC(Box({0: (1, 2), 1: (0, 1)}, label=1, hard=True)).assemble(*data)
        assembly.add(below=assembly.f([[1.5, 0.5]]) <= 0)
        with pytest.raises(Infeasible, match=r"(?s)'box'.*'own'|'own'.*'box'"):
            assembly.solve()

    def test_f_of_another_assembly_is_refused(self, data):
        other = PriorSVC(kernel="rbf").assemble(*data)
        assembly = PriorSVC(kernel="rbf").assemble(*data)
        with pytest.raises(InvalidInput, match=r"f of another assembly.*f\(Z\)\.value"):
            assembly.add(near=assembly.f(Z) - other.f(Z) <= 0.01)
        assert assembly.solve().status == "optimal"

    def test_expressions_and_functions_are_one_term_in_all_rounds(self, data):
        prior = Box({0: (1.5, 4.0), 1: (-2.0, 0.0)}, label=1, hard=True)
        found = []
        for as_function in (False, True):
            assembly = PriorSVC(prior, kernel="rbf", n_centres=15).assemble(*data)
            f = assembly.f
            assembly.add(
                above=(lambda f: f(Z) >= 0) if as_function else f(Z) >= 0,
                below=(lambda f: f(Z[:1]) <= 5) if as_function else f(Z[:1]) <= 5,
            )
            while assembly is not None:
                assembly.solve()
                last, assembly = assembly, assembly.refine()
            found.append((last.classifier().objective_, last.classifier().n_rounds_))
        assert found[0] == pytest.approx(found[1], rel=1e-8)

    def test_weight_of_a_penalty_on_the_slack(self, data):
        for penalty in (None, lambda f: cp.sum_squares(f.slack)):
            assembly = PriorSVC().assemble(*data)
            assembly.add(cp.sum_squares(assembly.slack) if penalty is None else penalty)
            assembly.set(own__mu=5.0).solve()
            w = cp.Variable(2)
            b = cp.Variable()
            xi = cp.Variable(len(data[1]), nonneg=True)
            sign = np.where(data[1] == 1, 1.0, -1.0)
            reference = cp.Problem(
                cp.Minimize(0.5 * cp.sum_squares(w) + cp.sum(xi) + 5 * cp.sum_squares(xi)),
                [cp.multiply(sign, data[0] @ w + b) >= 1 - xi],
            )
            reference.solve(solver="CLARABEL")
            assert assembly.classifier().objective_ == pytest.approx(reference.value, rel=1e-6)

    def test_infeasible_bound_of_the_slack(self):
        assembly = PriorSVC().assemble([[0.0], [1.0], [2.0]], [0, 1, 0])
        assembly.add(cap=assembly.slack <= 0.5)
        with pytest.raises(Infeasible, match="own"):
            assembly.solve()

    def test_weight(self, data):
        objectives = []
        for mu in (0.5, 5.0):
            assembly = with_above(PriorSVC(kernel="rbf").assemble(*data)).set(own__mu=mu)
            assembly.solve()
            objectives.append(assembly.classifier().objective_)
            block = PriorSVC(Above(mu), kernel="rbf").fit(*data)
            assert objectives[-1] == pytest.approx(block.objective_, rel=1e-8)


class TestFiles:
    @pytest.mark.parametrize("by_hand", [False, True])
    def test_classifier_is_stored(self, data, tmp_path, by_hand):
        assembly = with_above(PriorSVC(kernel="rbf").assemble(*data))
        if by_hand:
            assembly.problem.solve(solver="CLARABEL")
        else:
            assembly.solve()
        model = assembly.classifier()
        save(model, tmp_path / "model.priorsvm")
        for copied in (pickle.loads(pickle.dumps(model)), load(tmp_path / "model.priorsvm")):
            np.testing.assert_array_equal(copied.decision_function(data[0]), model.decision_function(data[0]))
            assert copied.objective_ == pytest.approx(model.objective_, rel=1e-12)
            assert str(copied.report_) == str(model.report_)
            with pytest.raises(MissingCapability, match=r"block 'own'.*not stored.*Assemble"):
                copied.problem  # noqa: B018


class TestRounds:
    CASES = {
        "box, rbf": (Box({0: (1.5, 2.5), 1: (-0.5, 0.5)}, label=1, holds="everywhere"), {"kernel": "rbf"}),
        "hard box, rbf": (Box({0: (1.5, 2.5), 1: (-0.5, 0.5)}, label=1, hard=True), {"kernel": "rbf"}),
        "invariant loss": (InvariantLoss(SHIFT), {}),
        "invariant loss, rbf": (InvariantLoss(SHIFT), {"kernel": "rbf"}),
        "virtual support vectors": (VirtualSupportVectors(SHIFT), {"kernel": "rbf"}),
        "transductive": (Transductive(np.random.default_rng(0).normal(size=(20, 2))), {}),
        "monotone": (Monotone({1: -1}, holds="everywhere"), {"kernel": "rbf"}),
        "no block": (None, {"kernel": "rbf"}),
    }

    @pytest.mark.parametrize("case", CASES)
    def test_equal_fit(self, data, case):
        prior, arguments = self.CASES[case]
        fitted = PriorSVC(prior, **arguments).fit(*data)
        assembly = PriorSVC(prior, **arguments).assemble(*data)
        objectives = []
        while assembly is not None:
            assembly.solve()
            last = assembly
            objectives.append(last._round.binary.reached)
            assembly = assembly.refine()
        model = last.classifier()
        assert objectives == pytest.approx([entry["objective"] for entry in fitted.history_], rel=1e-9)
        assert [e["rows"] for e in model.history_] == [e["rows"] for e in fitted.history_]
        assert model.n_rounds_ == fitted.n_rounds_
        assert model.objective_ == pytest.approx(fitted.objective_, rel=1e-9)
        np.testing.assert_allclose(
            model.decision_function(data[0]), fitted.decision_function(data[0]), atol=1e-7
        )
        assert repr(model.findings_) == repr(fitted.findings_)

    def test_own_terms_are_kept(self, data):
        prior = Box({0: (1.5, 4.0), 1: (-2.0, 0.0)}, label=1, hard=True)
        reference = PriorSVC(prior + Above(), kernel="rbf").fit(*data)
        assembly = with_above(PriorSVC(prior, kernel="rbf").assemble(*data))
        while assembly is not None:
            assembly.solve()
            last, assembly = assembly, assembly.refine()
        model = last.classifier()
        assert model.n_rounds_ == reference.n_rounds_ > 1
        assert model.objective_ == pytest.approx(reference.objective_, rel=1e-8)

    def test_own_slack_is_kept(self, data):
        assembly = PriorSVC(InvariantLoss(SHIFT), kernel="rbf", C=0.1).assemble(*data)
        assembly.add(cap=assembly.slack <= 1.7)
        rounds = 0
        while assembly is not None:
            assembly.solve()
            last, assembly = assembly, assembly.refine()
            rounds += 1
        assert rounds > 1
        assert last.slack.value.max() == pytest.approx(1.7, abs=1e-6)
        assert last.constraints["own.cap"].dual_value.max() > 1e-3

    def test_own_slack_of_rows_that_are_left_out(self, data):
        assembly = PriorSVC(VirtualSupportVectors(SHIFT), C=0.1).assemble(*data)
        assembly.add(cap=assembly.slack <= 1.7)
        assembly.solve()
        following = assembly.refine()
        with pytest.raises(InvalidInput, match=r"block 'own'.*variable 'xi'.*function of f"):
            following.solve()

    def test_solved_by_hand(self, data):
        prior = Box({0: (1.5, 2.5), 1: (-0.5, 0.5)}, label=1, hard=True)
        fitted = PriorSVC(prior, kernel="rbf").fit(*data)
        assembly = PriorSVC(prior, kernel="rbf").assemble(*data)
        while assembly is not None:
            assembly.problem.solve(solver="CLARABEL")
            last, assembly = assembly, assembly.refine()
        assert last.classifier().objective_ == pytest.approx(fitted.objective_, rel=1e-5)

    def test_earlier_assembly_is_not_changed(self, data):
        prior = Transductive(np.random.default_rng(0).normal(size=(20, 2)))
        first = PriorSVC(prior).assemble(*data)
        first.solve()
        value = first.problem.value
        second = first.refine()
        second.solve()
        assert second.problem is not first.problem
        assert first.problem.objective.value == pytest.approx(value, rel=1e-12)


class TestSolutions:
    @pytest.mark.parametrize("prior", [None, ClassCosts("balanced"), VirtualSamples(SHIFT)])
    def test_any_route_leaves_its_solution_in_the_problem(self, data, arguments, prior):
        assembly = PriorSVC(prior, **arguments).assemble(*data)
        outcome = assembly.solve()
        problem = assembly.problem
        model = assembly.classifier()
        assert problem.value == pytest.approx(model.objective_, rel=1e-9)
        np.testing.assert_allclose(
            assembly.f(data[0][:5]).value, model.decision_function(data[0][:5]), atol=1e-7
        )
        assert outcome.residuals.worst < 1e-5

    def test_f_at_points_after_the_solve(self, data):
        assembly = PriorSVC(kernel="rbf").assemble(*data)
        assembly.solve()
        values = assembly.f(Z)
        assert assembly.problem.value is not None
        np.testing.assert_allclose(values.value, assembly.classifier().decision_function(Z), atol=1e-8)

    def test_set_refills_parameters(self, data):
        prior = OddnessHint() + ClassCosts({0: 2})
        assembly = PriorSVC(prior, kernel="rbf").assemble(*data)
        problem = assembly.problem
        assembly.set(C=5.0, oddness_hint__mu=3.0, class_costs__costs={0: 4})
        assert assembly.problem is problem
        problem.solve(solver="CLARABEL")
        model = assembly.classifier()
        other = PriorSVC(OddnessHint(3.0) + ClassCosts({0: 4}), kernel="rbf", C=5.0).fit(*data)
        assert model.objective_ == pytest.approx(other.objective_, rel=1e-6)
        assert model.C == 5.0
        assert model.prior["oddness_hint"].mu == 3.0

    def test_model_is_not_changed(self, data):
        model = PriorSVC(OddnessHint(), kernel="rbf")
        before = repr(model)
        assembly = model.assemble(*data)
        assembly.set(C=3.0).solve()
        assembly.classifier()
        assert repr(model) == before
        assert not hasattr(model, "classes_")
        assert not hasattr(model, "n_features_in_")

    def test_named_solver_and_options(self, data):
        assembly = PriorSVC(kernel="rbf").assemble(*data)
        assert assembly.solve("CLARABEL", max_iter=40).solver == "CLARABEL"
        assert assembly.solve(["OSQP", "SCS"]).solver == "OSQP"
        assert assembly.solve().solver == "LIBSVM"

    def test_changed_loss(self, data):
        X, y = data
        sign = np.where(y == 1, 1.0, -1.0)
        assembly = PriorSVC().assemble(X, y)
        stated = assembly.problem
        f = assembly.f(X)
        logistic = cp.sum(cp.logistic(-cp.multiply(sign, f)))
        changed = cp.Problem(
            cp.Minimize(0.5 * cp.sum_squares(assembly.f.coef) + logistic), stated.constraints
        )
        changed.solve(solver="CLARABEL")
        from sklearn.linear_model import LogisticRegression

        reference = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(X, y)
        model = assembly.classifier(changed)
        np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-4)
        assert model.objective_ == pytest.approx(changed.value, rel=1e-9)

    def test_sparse_rows(self):
        from scipy.sparse import random_array

        rng = np.random.default_rng(1)
        X = random_array((60, 30), density=0.2, rng=rng, format="csr")
        y = (np.asarray(X @ rng.normal(size=30)) > 0).astype(int)
        assembly = PriorSVC().assemble(X, y)
        assembly.add(cap=assembly.f.coef <= 0.5)
        assembly.solve()
        assert assembly.classifier().coef_.max() <= 0.5 + 1e-7

    def test_repr(self, data):
        assembly = PriorSVC(OddnessHint()).assemble(*data)
        assert repr(assembly) == "Assembly(120 rows, oddness_hint, not solved)"
        assembly.solve("CLARABEL")
        assert repr(assembly) == "Assembly(120 rows, oddness_hint, optimal by CLARABEL)"


class TestOwnProblems:
    """Problems that the user states with the parts of an assembly."""

    @pytest.mark.parametrize("gamma", [0.05, 5.0])
    def test_regulariser_of_a_kernel_model(self, gamma):
        X, y = make_moons(50, noise=0.2, random_state=1)
        sign = np.where(y == 1, 1.0, -1.0)
        K = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
        size, directions = np.linalg.eigh(K)
        Phi = directions[:, size > 1e-11] * np.sqrt(size[size > 1e-11])
        c = cp.Variable(Phi.shape[1])
        b = cp.Variable()
        loss = cp.sum(cp.logistic(-cp.multiply(sign, Phi @ c + b)))
        reference = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(c) + loss))
        reference.solve(solver="CLARABEL")
        assembly = PriorSVC(kernel=RBF(gamma)).assemble(X, y)
        values = assembly.f(X)
        own = cp.sum(cp.logistic(-cp.multiply(sign, values)))
        problem = cp.Problem(cp.Minimize(assembly.regulariser + own), assembly.problem.constraints)
        problem.solve(solver="CLARABEL")
        assert problem.value == pytest.approx(reference.value, rel=1e-6)
        model = assembly.classifier(problem)
        np.testing.assert_allclose(model.decision_function(X), (Phi @ c + b).value, atol=1e-4)
        text = repr(model.formulation())
        assert "own.mu" in text
        assert "not computed" in str(model.report_)

    def test_values_after_any_route(self, data):
        assembly = PriorSVC().assemble(*data)
        problem = assembly.problem
        coef = assembly.f.coef
        assert assembly.solve().solver == "LIBSVM"
        np.testing.assert_allclose(coef.value, assembly.classifier().coef_[0], atol=1e-9)
        assert problem.value == pytest.approx(assembly.classifier().objective_, rel=1e-9)
        assert PriorSVC().assemble(*data).f.coef.value is None
        other = PriorSVC().assemble(*data)
        other.solve()
        np.testing.assert_allclose(other.f.coef.value, coef.value, atol=1e-9)

    def test_changed_problem_leaves_the_assembly_as_it_is(self, data):
        assembly = PriorSVC().assemble(*data)
        assembly.solve()
        before = assembly.classifier()
        stated = assembly.problem
        changed = cp.Problem(stated.objective, [*stated.constraints, assembly.f.coef[0] == 5])
        changed.solve(solver="CLARABEL")
        assert assembly.classifier(changed).coef_[0, 0] == pytest.approx(5, abs=1e-6)
        np.testing.assert_allclose(assembly.classifier().coef_, before.coef_)

    def test_without_the_margin(self, data):
        assembly = PriorSVC(C=3.0).assemble(*data)
        rest = [c for c in assembly.problem.constraints if c.label != "svm.margin"]
        changed = cp.Problem(assembly.problem.objective, [*rest, assembly.f.coef[0] == 1])
        changed.solve(solver="CLARABEL")
        assert assembly.classifier(changed).objective_ == pytest.approx(changed.value, rel=1e-6)

    def test_classifier_keeps_its_problem(self, data):
        assembly = PriorSVC(OddnessHint()).assemble(*data)
        assembly.solve()
        first = assembly.classifier()
        objective = first.objective_
        assembly.set(C=50.0).solve()
        assert first.problem.value == pytest.approx(objective, rel=1e-7)
        assert assembly.classifier().problem.value > objective

    def test_advice_names_other_solvers(self, data):
        assembly = PriorSVC(kernel="rbf", C=100.0).assemble(*data)
        problem = assembly.problem
        problem.solve(solver="CLARABEL")
        problem.var_dict["b"].value = problem.var_dict["b"].value + 3.0
        with pytest.raises(SolverFailed, match=r"another solver \((?!.*CLARABEL)"):
            assembly.classifier()


class TestSeveralClasses:
    def test_names_and_own_terms(self):
        X, y = load_iris(return_X_y=True)
        assemblies = PriorSVC(multi_class="ovo").assemble(X, y)
        names = [repr(assembly).partition(",")[0] for assembly in assemblies]
        assert len(set(names)) == 3
        assemblies.add(cap=lambda f: f.coef <= 0.5).solve()
        assert assemblies.classifier().coef_.max() <= 0.5 + 1e-7

    def test_list(self):
        X, y = load_iris(return_X_y=True)
        assemblies = PriorSVC(kernel="rbf").assemble(X, y)
        assert [type(assembly) for assembly in assemblies] == [Assembly] * 3
        assemblies.set(C=2.0).solve()
        model = assemblies.classifier()
        fitted = PriorSVC(kernel="rbf", C=2.0).fit(X, y)
        assert model.objective_ == pytest.approx(fitted.objective_, rel=1e-9)
        np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
        with pytest.raises(MissingCapability, match=r"one class.*list"):
            assemblies[0].classifier()

    def test_rounds_and_problems(self):
        X, y = load_iris(return_X_y=True)
        X = X[:, :2]
        prior = VirtualSupportVectors(Shift([[0.1, 0.0]]))
        fitted = PriorSVC(prior, kernel="rbf").fit(X, y)
        assemblies = PriorSVC(prior, kernel="rbf").assemble(X, y)
        while assemblies is not None:
            assemblies.solve()
            last, assemblies = assemblies, assemblies.refine()
        assert last.classifier().objective_ == pytest.approx(fitted.objective_, rel=1e-9)
        model = last.classifier([assembly.problem for assembly in last])
        assert model.objective_ == pytest.approx(fitted.objective_, rel=1e-7)
        for wrong in ([last[0].problem], 5):
            with pytest.raises(InvalidInput, match="one problem for each of 3 models"):
                last.classifier(wrong)
        last.reverse()
        with pytest.raises(InvalidInput, match="in their order"):
            last.classifier()
        del last[0]
        with pytest.raises(InvalidInput, match="in their order"):
            last.classifier()


class TestRefusals:
    def test_joint(self):
        with pytest.raises(MissingCapability, match=r"multi_class='joint'.*'ovr'"):
            PriorSVC(multi_class="joint").assemble(*load_iris(return_X_y=True))

    def test_pegasos(self, data):
        prior = InvariantLoss(SHIFT, method="pegasos")
        with pytest.raises(MissingCapability, match=r"'invariant_loss'.*PEGASOS.*fit\(\)"):
            PriorSVC(prior).assemble(*data)

    def test_bad_data(self):
        with pytest.raises(InvalidInput, match="one class only"):
            PriorSVC().assemble([[0.0], [1.0]], [1, 1])

    def test_not_solved(self, data):
        assembly = PriorSVC().assemble(*data)
        for call in (assembly.classifier, assembly.refine):
            with pytest.raises(NotFitted, match=r"not solved.*solve\(\)"):
                call()
        assembly.solve()
        assembly.set(C=2.0)
        with pytest.raises(NotFitted, match="not solved"):
            assembly.classifier()
        assembly.solve()
        assembly.add(cap=assembly.f.coef <= 1)
        with pytest.raises(NotFitted, match="not solved"):
            assembly.classifier()

    def test_problems_of_others(self, data):
        assembly = PriorSVC(kernel="rbf").assemble(*data)
        with pytest.raises(InvalidType, match=r"cvxpy\.Problem, got str"):
            assembly.classifier("problem")
        x = cp.Variable()
        with pytest.raises(InvalidInput, match="minimisation"):
            assembly.classifier(cp.Problem(cp.Maximize(-(x**2))))
        other = cp.Problem(cp.Minimize(x**2))
        with pytest.raises(NotFitted, match="not solved"):
            assembly.classifier(other)
        other.solve()
        with pytest.raises(InvalidInput, match=r"does not contain the variables c, b.*assembly\.problem"):
            assembly.classifier(other)

    def test_values_without_their_equations(self, data):
        assembly = PriorSVC(kernel="rbf").assemble(*data)
        stated = assembly.problem
        late = assembly.f(Z)
        changed = cp.Problem(stated.objective, [*stated.constraints, late >= 1])
        changed.solve(solver="CLARABEL")
        with pytest.raises(InvalidInput, match=r"Read assembly\.problem again|read assembly\.problem"):
            assembly.classifier(changed)

    def test_infeasible_problem(self, data):
        assembly = PriorSVC().assemble(*data)
        changed = cp.Problem(
            assembly.problem.objective,
            [*assembly.problem.constraints, assembly.f.bias <= 0, assembly.f.bias >= 1],
        )
        changed.solve(solver="CLARABEL")
        with pytest.raises(SolverFailed, match="status is 'infeasible'"):
            assembly.classifier(changed)

    def test_inaccurate_problem(self, data):
        assembly = PriorSVC(kernel="rbf", C=100.0).assemble(*data)
        problem = assembly.problem
        problem.solve(solver="CLARABEL")
        b = problem.var_dict["b"]
        solved = float(b.value)
        b.value = solved + 3.0
        with pytest.raises(SolverFailed, match="residuals of the original problem are too large"):
            assembly.classifier()
        b.value = solved + 1e-3
        with pytest.warns(InaccurateSolution, match="CLARABEL"):
            assembly.classifier()

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda a: a.add(), r"add\(\) takes a penalty"),
            (lambda a: a.add(penalty=-cp.sum_squares(a.f(Z))), r"block 'own'.*not convex"),
            (lambda a: a.add(penalty=a.f(Z)), r"block 'own'.*scalar"),
            (lambda a: a.add(penalty=3), r"block 'own'.*scalar cvxpy expression"),
            (lambda a: a.add(a.f(Z) <= 1), r"constraints by label.*add\(cap="),
            (lambda a: a.add(cap=[a.f(Z) <= 1, a.f(Z) >= 0]), r"'cap' of add\(\) is a list"),
            (lambda a: a.add(cap=a.f(Z) <= cp.Variable(boolean=True)), "is integer"),
            (lambda a: a.add(cp.Parameter() * cp.sum(a.f(Z))), r"set\(own__mu="),
            (lambda a: a.add(cap=cp.sum_squares(a.f(Z)) >= 1), r"block 'own'.*'cap' is not convex"),
            (lambda a: a.add(cap=True), r"block 'own'.*'cap' is a bool"),
            (lambda a: a.add(cap=lambda f: 1), r"block 'own'.*'cap' is a int"),
            (lambda a: a.add(lambda f: cp.Parameter() * cp.sum(f(Z))), r"free of cvxpy Parameters"),
            (lambda a: a.set(C=-1), "C must be a positive number"),
            (lambda a: a.set(kernel="linear"), r"set\(kernel\) changes more than weights.*assemble"),
            (lambda a: a.set(oddness_hint__hard=True), r"changes more than weights"),
        ],
    )
    def test_wrong_terms_and_weights(self, data, call, message):
        assembly = PriorSVC(OddnessHint(), kernel="rbf").assemble(*data)
        with pytest.raises((InvalidInput, InvalidType), match=message):
            call(assembly)
        assert assembly.solve().status == "optimal"
        assert list(assembly.constraints) == list(
            PriorSVC(OddnessHint(), kernel="rbf").assemble(*data).constraints
        )

    def test_unknown_weights(self, data):
        assembly = PriorSVC(OddnessHint()).assemble(*data)
        with pytest.raises(UnknownParameter, match=r"^set: .*oddness_hint__my.*oddness_hint__mu"):
            assembly.set(oddness_hint__my=1.0)
        assembly.add(cap=assembly.f.coef <= 1)
        with pytest.raises(UnknownParameter, match="'own' has no parameter 'nu'"):
            assembly.set(own__nu=1.0)

    def test_parameters_written_directly(self, data):
        assembly = PriorSVC(OddnessHint(), kernel="rbf").assemble(*data)
        assembly.solve("CLARABEL")
        assembly.terms[0].parameter.value = 50.0
        with pytest.raises(NotFitted, match="a parameter of the problem has changed"):
            assembly.classifier()
        assembly.problem.solve(solver="CLARABEL")
        with pytest.raises(InvalidInput, match=r"'oddness_hint\.mu' was changed directly.*set\("):
            assembly.classifier()
        costs = PriorSVC().assemble(*data)
        costs.problem.param_dict["costs"].value = 10 * np.ones(len(data[1]))
        with pytest.raises(InvalidInput, match=r"'costs' was changed directly.*set\(C="):
            costs.solve()

    def test_parameter_without_a_value(self, data):
        assembly = PriorSVC().assemble(*data)
        assembly.add(cap=assembly.f.coef <= cp.Parameter(name="limit"))
        with pytest.raises(InvalidInput, match="'limit' has no value"):
            assembly.solve()

    def test_integer_problem(self, data):
        assembly = PriorSVC(norm="l1").assemble(*data)
        z = cp.Variable(boolean=True)
        objective = cp.Minimize(assembly.problem.objective.expr + z)
        changed = cp.Problem(objective, assembly.problem.constraints)
        changed.solve(solver="HIGHS")
        with pytest.raises(InvalidInput, match="integer variables"):
            assembly.classifier(changed)

    def test_options_of_a_derived_solver(self, data):
        model = PriorSVC(norm="l1", solver="SCIPY", solver_options={"method": "highs"})
        with pytest.raises(InvalidInput, match="does not take these solver_options"):
            model.fit(*data)

    def test_parameters_of_own_constraints(self, data):
        limit = cp.Parameter(value=0.5)
        assembly = PriorSVC().assemble(*data)
        assembly.add(cap=assembly.f.coef <= limit).solve()
        limit.value = 0.1
        with pytest.raises(NotFitted, match="solve it again"):
            assembly.classifier()
        assembly.solve()
        assert assembly.classifier().coef_.max() <= 0.1 + 1e-7

    def test_not_pickled(self, data):
        with pytest.raises(TypeError, match=r"Pickle classifier\(\)"):
            pickle.dumps(PriorSVC().assemble(*data))

    def test_conflict_of_own_constraints_names_their_labels(self, data):
        assembly = PriorSVC().assemble(*data)
        assembly.add(up=assembly.f.bias >= 1, down=assembly.f.bias <= 0)
        with pytest.raises(Infeasible, match="constraints up, down of"):
            assembly.solve()

    def test_coefficients_of_a_kernel_model(self, data):
        assembly = PriorSVC(kernel="rbf").assemble(*data)
        c = assembly.problem.var_dict["c"]
        with pytest.raises(InvalidInput, match=r"variable 'c'.*function of f"):
            assembly.add(cap=c <= 1)


@pytest.mark.parametrize(
    "prior",
    [
        InvarianceHint(SHIFT),
        UncertainSamples(0.1),
        Box({0: (1, 2)}, label=1, hard=True),
        Monotone({0: 1}, hard=True),
    ],
)
def test_fitted_problem_has_values_after_copies(data, prior):
    for arguments in ({}, {"kernel": "rbf"}):
        model = PriorSVC(prior, **arguments).fit(*data)
        for copied in (model, pickle.loads(pickle.dumps(model))):
            problem = copied.problem
            assert problem.value == pytest.approx(model.objective_, rel=1e-6)
            assert all(c.dual_value is not None for c in problem.constraints)
