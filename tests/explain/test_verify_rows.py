"""verify at rows: missing values, rows of weight 0, and hard blocks."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from priorsvm import Box, InvariantLoss, MissingValues, PriorSVC, Rule
from priorsvm.errors import InvalidInput
from priorsvm.knowledge.traits import Completes
from priorsvm.transforms import FeatureDeletion

pytestmark = pytest.mark.filterwarnings("ignore::priorsvm.errors.PriorSVMWarning")


def table(n=60):
    """Return rows of two overlapping classes in three columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n) > 0).astype(int)
    return X, y


@pytest.mark.parametrize("average", [None, True])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_new_rows_with_gaps_are_completed_as_in_predict(kernel, average):
    X, y = table()
    X[::5, 0] = np.nan
    prior = MissingValues(average=average) + Rule("x1 > 0", label=1, mu=2.0)
    model = PriorSVC(prior, kernel=kernel).fit(X, y)
    new = np.array([[np.nan, 0.5, 0.1], [0.3, 0.2, np.nan], [np.nan, -1.0, 0.0], [0.1, 0.9, 0.2]])
    found = model.verify(new)["rule"]
    inside = new[:, 1] > 0
    assert found.checked == 3
    assert found.worst == pytest.approx(model.decision_function(new)[inside].min())
    assert found.remarks == ()


def test_rules_about_missing_values_apply_to_the_gaps_of_new_rows():
    X, y = table()
    X[::5, 0] = np.nan
    model = PriorSVC(MissingValues() + Rule("x0 is missing", label=1, mu=2.0)).fit(X, y)
    new = np.array([[np.nan, 0.5, 0.1], [0.3, 0.2, np.nan], [0.1, 0.9, 0.2], [np.nan, -1.0, 0.0]])
    found = model.verify(new)["rule"]
    assert found.checked == 2
    assert found.worst == pytest.approx(model.decision_function(new)[[0, 3]].min())


def test_completed_values_decide_about_a_rule():
    X, y = table()
    X[::5, 0] = np.nan
    model = PriorSVC(MissingValues() + Box({0: (-50, 50)}, label=1, mu=2.0)).fit(X, y)
    assert model.verify(np.array([[np.nan, 0.5, 0.1]]))["box"].checked == 1


class Zeros(Completes, Rule):
    """A rule that completes training rows by 0, and says nothing about new rows."""

    def complete(self, X, labels, weight, names=None):
        from types import SimpleNamespace

        return SimpleNamespace(X=np.nan_to_num(X))


def test_new_rows_that_no_block_completes_are_counted():
    X, y = table()
    model = PriorSVC(Zeros("x1 > 0", label=1, mu=2.0)).fit(X, y)
    found = model.verify(np.array([[np.nan, 0.5, 0.1], [0.1, 0.9, 0.2]]))["zeros"]
    assert found.checked == 1
    assert found.remarks == ("1 row with missing values was left out: no block completes them",)


def test_rows_of_weight_0_are_left_out():
    X, y = table()
    weight = np.ones(60)
    weight[:20] = 0
    block = Rule("x0 > 0.5", label=1, mu=2.0)
    found = PriorSVC(block).fit(X, y, sample_weight=weight).verify()["rule"]
    removed = PriorSVC(block).fit(X[20:], y[20:]).verify()["rule"]
    assert found.checked == removed.checked == np.sum(X[20:, 0] > 0.5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_hard_block_on_rows_is_checked_at_its_points_with_its_margin(kernel):
    X, y = table()
    model = PriorSVC(Rule("x0 > 0.5", label=1, hard=True, holds="rows"), kernel=kernel).fit(X, y)
    found = model.verify()["rule"]
    points = np.unique(np.vstack(model._models[0].states["rule"].points), axis=0)
    assert found.asked == "score of 1 >= 1 where x0 > 0.5, at rows and moved rows"
    assert found.checked == len(points) > np.sum(X[:, 0] > 0.5)
    assert found.holds
    assert found.worst == pytest.approx(model.decision_function(points).min() - 1)
    # New rows have no margin to keep: they have the class of the rule.
    assert ">= 0" in model.verify(X[:10])["rule"].asked


@pytest.mark.parametrize("everywhere", ["yes", 1, None])
def test_everywhere_is_a_flag(everywhere):
    X, y = table()
    model = PriorSVC(Rule("x0 > 0.5", label=1, mu=2.0)).fit(X, y)
    with pytest.raises(InvalidInput, match="everywhere must be True or False"):
        model.verify(everywhere=everywhere)


def test_sparse_new_rows_are_verified():
    X, y = table()
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    block = InvariantLoss(FeatureDeletion(1))
    dense = PriorSVC(block).fit(X, y).verify(X[:9])
    sparse = PriorSVC(block).fit(csr_array(X), y).verify(csr_array(X[:9]))
    assert sparse["invariant_loss"].holds == dense["invariant_loss"].holds
    assert sparse.stability["invariant_loss"].share == dense.stability["invariant_loss"].share
