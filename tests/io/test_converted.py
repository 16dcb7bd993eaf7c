"""Values of region blocks in files of formats 1 and 2."""

import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from priorsvm import Box, ClassCosts, Polyhedron, PriorSVC, Rule
from priorsvm.io.converted import ADDED, convert

X = [[0.0], [1.0], [2.0], [3.0], [0.5], [2.5]]
Y = [0, 0, 1, 1, 0, 1]


def old(block):
    """Return a block as a file of format 2 contains it."""
    for name in ADDED:
        vars(block).pop(name)
    return block


def old_box(mu=6.0):
    return old(Box({0: (2, 3)}, 1, mu=mu))


def test_a_block_outside_a_model_keeps_its_weight():
    block = convert(old(Polyhedron([[1.0]], [0.0], 0, mu=2.0, mu_residual=0.5)))
    assert (block.holds, block.unlabeled, block.mu, block.mu_residual) == ("everywhere", None, 2.0, 0.5)
    assert convert(0.5 * old_box().named("expert"))["expert"].mu == 6.0


def test_other_blocks_stay():
    costs = ClassCosts({1: 2.0})
    assert convert(costs) is costs


def test_a_model_that_is_not_fitted_divides_by_its_C():
    model = convert(PriorSVC(ClassCosts({1: 2.0}) + old_box(), C=3.0))
    assert model.prior["box"].mu == 2.0
    assert model.prior["box"].holds == "everywhere"


@pytest.mark.parametrize("C", [0.0, "three", None])
def test_a_model_without_a_valid_C_still_loads(C):
    assert convert(PriorSVC(old_box(), C=C)).prior.mu == 6.0


def test_fitted_members_divide_by_the_C_of_the_fit():
    """Change C after the fit: the objective belongs to the old C, and a new fit has the new C."""
    fitted = PriorSVC(Box({0: (2, 3)}, 1, hard=True), C=2.0).fit(X, Y).set_params(C=3.0, prior=old_box())
    [model] = fitted._models
    model.members = [member._replace(block=old_box()) for member in model.members]
    assert convert(fitted).prior.mu == 2.0
    assert model.members[0].block.mu == 3.0


def test_one_block_in_two_models_is_divided_by_each_C():
    block = old_box()
    pipeline = make_pipeline(StandardScaler(), PriorSVC(block, C=3.0))
    search = GridSearchCV(pipeline, {"priorsvc__prior": [block, None]})
    search.other = PriorSVC(block, C=2.0)
    found = convert(search)
    assert found.estimator[-1].prior.mu == 2.0
    assert found.other.prior.mu == 3.0
    assert found.param_grid["priorsvc__prior"][0].mu == 6.0
    assert found.param_grid["priorsvc__prior"][1] is None


def test_a_weight_that_is_not_a_number_stays():
    assert convert(PriorSVC(old(Rule("x0 > 1", 1, mu="many")), C=2.0)).prior.mu == "many"
