"""The loop: state, build, solve, refine."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from priorsvm import Iterative, Knowledge, PriorSVC, Step, Terms, Transductive
from priorsvm._utils.messages import warn
from priorsvm.errors import InaccurateSolution, PriorSVMWarning
from priorsvm.solve.loop import fit_binary
from priorsvm.validation import make_task


class Cutting(Iterative, Knowledge):
    "f(x) >= 0.2 on the segment {(t, 0)}, by adding its worst point until none is left."

    def __init__(self, tol=1e-6):
        self.tol = tol

    def start(self, sample):
        return np.empty((0, 2))

    def build(self, f, view):
        if len(view.state) == 0:
            return Terms()
        return Terms(constraints={"cuts": f(view.state) >= 0.2})

    def refine(self, f, view):
        grid = np.column_stack([np.linspace(-1, 1, 101), np.zeros(101)])
        values = f.value(grid)
        worst = int(np.argmin(values))
        if values[worst] >= 0.2 - self.tol:
            return None
        return Step(np.vstack([view.state, grid[worst]]))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return X, (X[:, 1] > 0.3).astype(int)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_column_generation_ends_where_nothing_is_violated(data, kernel):
    model = PriorSVC(Cutting(), kernel=kernel).fit(*data)
    segment = np.column_stack([np.linspace(-1, 1, 101), np.zeros(101)])
    assert model.decision_function(segment).min() >= 0.2 - 1e-5
    objectives = [entry["objective"] for entry in model.history_]
    assert model.n_rounds_ == len(objectives) > 1
    assert np.all(np.diff(objectives) >= -1e-7)
    assert [entry["round"] for entry in model.history_] == list(range(1, model.n_rounds_ + 1))


class Local(Cutting):
    """Cutting planes that claim to be a local search."""

    exact = False


@pytest.mark.parametrize(("block", "fewer"), [(Cutting(), True), (Local(), False)])
def test_a_rough_fit_ends_once_the_objective_is_stable(data, block, fewer):
    """The objective of a local search may stop for a while, so all of its rounds are needed."""
    task = make_task(PriorSVC(block, kernel="rbf"), *data, None, {})
    arguments = task.spec, task.members(task.samples[0]), task.samples[0]
    whole = fit_binary(*arguments)
    rough = fit_binary(*arguments, rough=True)
    assert (len(rough.history) < len(whole.history)) == fewer
    assert rough.history[-1]["objective"] == pytest.approx(whole.history[-1]["objective"], rel=1e-2)


def test_max_rounds_warns_with_the_block(data):
    with pytest.warns(ConvergenceWarning, match=r"'cutting'.*max_rounds=1.*Raise max_rounds"):
        PriorSVC(Cutting(), max_rounds=1).fit(*data)


def test_rounds_that_change_costs_alone_keep_the_compiled_problem(data):
    X, y = data
    built = []

    class Counting(Knowledge):
        "Counts how often a problem is assembled."

        def build(self, f, view):
            built.append(view.sample)
            return Terms()

    model = PriorSVC(Transductive(X[20:]) + Counting(), solver="CLARABEL").fit(X[:20], y[:20])
    assert model.n_rounds_ >= 17
    assert 1 <= len(built) < model.n_rounds_ / 2


def test_kernel_is_factorised_once_for_the_same_centres(data, monkeypatch):
    from priorsvm.function import maps

    X, y = data
    factorised = []
    original = maps.pivoted_cholesky
    monkeypatch.setattr(maps, "pivoted_cholesky", lambda *a: factorised.append(1) or original(*a))
    model = PriorSVC(Transductive(X[20:]), kernel="rbf", solver="CLARABEL").fit(X[:20], y[:20])
    assert model.n_rounds_ >= 17
    assert len(factorised) == 2  # the labelled rows, then all rows


def test_failure_inside_a_block_names_it(data):
    class Broken(Knowledge):
        "Raises."

        def build(self, f, view):
            return 1 / 0

    with pytest.raises(ZeroDivisionError) as caught:
        PriorSVC(Broken().named("mine")).fit(*data)
    assert "This happened in block 'mine'." in caught.value.__notes__


def inaccurate(monkeypatch, wrong):
    """Let answers of some rounds have residuals that are too large to pass and too small to fail."""
    from priorsvm.problem.residuals import Residuals
    from priorsvm.solve.routes import conic

    numbers = iter(range(1, 1000))

    def found(*_):
        number = next(numbers)
        return Residuals(wrong.get(number, 0.0), 0.0, 0.0, 0.0)

    monkeypatch.setattr(conic, "residuals", found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (dict.fromkeys(range(1, 1000), 1e-4), "^CLARABEL reported 'optimal'.*primal 1.0e-04"),
        ({1: 1e-3, 2: 1e-4}, "^in round 1 of .*: CLARABEL reported .*primal 1.0e-03"),
    ],
    ids=["every round", "early rounds"],
)
def test_inaccurate_rounds_are_warned_of_once(data, monkeypatch, wrong, said):
    inaccurate(monkeypatch, wrong)
    with pytest.warns(InaccurateSolution, match=said) as caught:
        model = PriorSVC(Cutting(), kernel="rbf", solver="CLARABEL").fit(*data)
    assert model.n_rounds_ > 2
    assert len([w for w in caught if w.category is InaccurateSolution]) == 1
    assert caught[0].filename == __file__


def test_a_warning_says_which_of_several_models_it_is_about(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.array(["a", "b", "c"])[np.arange(30) % 3]
    inaccurate(monkeypatch, {2: 1e-4})
    with pytest.warns(InaccurateSolution, match="^for class 'b': CLARABEL") as caught:
        PriorSVC(solver="CLARABEL").fit(X, y)
    assert len(caught) == 1


class Short(Knowledge):
    "Warns from deep inside."

    def build(self, f, view):
        warn("mind the gap", PriorSVMWarning)
        return Terms()


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("how", ["fit", "fit_path"])
def test_warnings_point_at_the_line_that_called(data, many, how):
    X, y = data
    y = np.arange(len(y)) % 3 if many else y
    model = PriorSVC(Short())
    with pytest.warns(PriorSVMWarning, match="mind the gap") as caught:
        model.fit(X, y) if how == "fit" else model.fit_path(X, y, {"C": [1.0]})
    assert {w.filename for w in caught} == {__file__}
