"""A solution of any route, written to the assembled problem, satisfies its optimality conditions."""

import pickle

import pytest
from sklearn.datasets import make_moons

from priorsvm import (
    Box,
    ClassCosts,
    InvariantLoss,
    Monotone,
    OddnessHint,
    PriorSVC,
    Shift,
    UncertainSamples,
)
from priorsvm.problem.residuals import residuals

MODELS = {
    "linear": {},
    "rbf": {"kernel": "rbf"},
    "linear 1-norm": {"norm": "l1"},
    "rbf 1-norm": {"kernel": "rbf", "norm": "l1"},
    "squared hinge": {"kernel": "rbf", "loss": "squared_hinge"},
    "scaled": {"scale": "standard"},
    "large C": {"kernel": "rbf", "scale": "standard", "C": 100.0},
}
PRIORS = {
    "none": None,
    "costs": ClassCosts({0: 3}),
    "box": Box({0: (1.5, 2.5), 1: (-0.5, 0.5)}, label=1, holds="everywhere"),
    "orbit": InvariantLoss(Shift([[0.05, 0.0], [0.0, 0.05]])),
    "monotone": Monotone({0: 1}, holds="everywhere"),
    "odd": OddnessHint(),
    "uncertain": UncertainSamples(0.1),
}


@pytest.fixture(scope="module")
def data():
    return make_moons(110, noise=0.25, random_state=0)


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("arguments", MODELS.values(), ids=MODELS)
def test_lifted_solution_is_optimal(data, arguments, prior):
    model = PriorSVC(prior, **arguments).fit(*data)
    # A copy has no variables of blocks, which are computed again for its f.
    # CONES smooths norms, so dual variables of norms near 0 have fewer digits.
    exact = 1e-3 if model.solver_ == "CONES" else 1e-5
    for copied, accuracy in ((model, exact), (pickle.loads(pickle.dumps(model)), 1e-3)):
        problem = copied.problem
        assert problem.status == "optimal"
        assert problem.value == pytest.approx(model.objective_, rel=1e-6)
        assert residuals(problem).worst < accuracy


def test_path_has_solved_problems(data):
    models = PriorSVC(OddnessHint(), kernel="rbf").fit_path(*data, {"oddness_hint__mu": [0.1, 10.0]})
    for model in models:
        assert model.problem.value == pytest.approx(model.objective_, rel=1e-8)
        assert residuals(model.problem).worst < 1e-6
