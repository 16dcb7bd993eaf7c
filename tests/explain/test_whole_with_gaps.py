"""A column of whole numbers stays one if some of its values are missing."""

import numpy as np
import pandas as pd
import pytest

from priorsvm import MissingValues, PriorSVC, Rule
from priorsvm.knowledge.regions.on_rows import Pool

GAP = 7  # a row without a value of k


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    k = rng.integers(0, 30, 80).astype(float)
    X = pd.DataFrame({"k": k, "z": 0.1 * k + rng.normal(size=80)})
    y = np.where(k + 2 * X.z + 4 * rng.normal(size=80) > 18, "ill", "well")
    X.loc[GAP, "k"] = np.nan
    return X, y


def test_changed_values_are_whole(table):
    X, y = table
    model = PriorSVC(MissingValues(), scale="standard").fit(X, y)
    completed = model._models[0].training.X_train[GAP, 0]
    assert completed != round(completed)
    found = [flip for i in range(20) for flip in model.explain(X.iloc[i]).flips if flip.column == "k"]
    assert len(found) > 5
    assert all(float(flip.new).is_integer() for flip in found)


def test_moved_rows_have_whole_values(table):
    X, y = table
    model = PriorSVC(MissingValues() + Rule("k >= 26", label="ill", mu=2.0), scale="standard").fit(X, y)
    pool = Pool.of(model._models[0].training, None)
    assert pool.whole.tolist() == [True, False]
    binary = model._models[0]
    added = binary.sample.X[binary.sample.n_train :, 0]
    assert len(added) >= 50
    assert (added == np.rint(added)).all()
