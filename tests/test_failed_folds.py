"""Folds of mu="auto" that cannot be fitted, although the whole table can."""

import numpy as np
import pytest

from priorsvm import MissingValues, PriorSVC, Region, Rule, weights
from priorsvm.errors import InvalidInput, SolverFailed

pytestmark = pytest.mark.filterwarnings("ignore::priorsvm.errors.PriorSVMWarning")


def table(n=40):
    """Return rows of two overlapping classes in three columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n) > 0).astype(int)
    return X, y


def chosen(model):
    return next(m.block.chosen_weight for m in model._models[0].members if hasattr(m.block, "chosen_weight"))


def test_a_fold_without_the_only_row_of_a_region():
    X, y = table()
    X[5, 0] = 10.0
    model = PriorSVC(Region(lambda Z: 9 - Z[:, 0], None, label=1)).fit(X, y)
    assert set(chosen(model).scores) == set(weights.FACTORS)
    assert max(chosen(model).scores.values()) < 0.9  # a fifth of it is the share of the fold that fails


def test_a_fold_whose_class_has_no_value_of_a_column():
    X, y = table()
    X[:, 2] = np.nan
    X[np.flatnonzero(y == 0)[0], 2] = 1.0
    X[np.flatnonzero(y == 1)[:9], 2] = np.arange(9.0)
    model = PriorSVC(MissingValues() + Rule("x1 > 0", label=1)).fit(X, y)
    scores = [m.block.chosen_weight for m in model._models[0].members if hasattr(m.block, "chosen_weight")]
    assert any(found is not None and found.scores for found in scores)


@pytest.mark.parametrize("error", [InvalidInput, SolverFailed])
def test_the_factor_is_1_if_every_fold_fails(monkeypatch, error):
    X, y = table()

    def fails(*arguments, **options):
        raise error("no model")

    monkeypatch.setattr(weights, "train", fails)
    model = PriorSVC(Rule("x0 > 0.5", label=1)).fit(X, y)
    assert chosen(model).factor == 1.0
    assert chosen(model).scores == {}
