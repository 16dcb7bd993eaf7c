"""Labels of the index of a DataFrame in explanations."""

import pickle

import numpy as np
import pytest

from priorsvm import PriorSVC

pd = pytest.importorskip("pandas")


def table(index=None):
    """Return twenty rows of two classes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(20, 2)), columns=["a", "b"], index=index)
    return X, (X.a > 0).astype(int).to_numpy()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_near_rows_have_the_labels_of_the_index(kernel):
    X, y = table([f"pat{i}" for i in range(20)])
    model = PriorSVC(kernel=kernel).fit(X, y)
    for found in (model.explain(X.iloc[0]), pickle.loads(pickle.dumps(model)).explain(X.iloc[0])):
        assert len(found.rows) == 3
        for near in found.rows:
            assert near.name == f"pat{near.row}"
            assert f"{near.row} [pat{near.row}] (class" in str(found)


def test_explained_rows_have_the_labels_of_their_index():
    X, y = table()
    found = PriorSVC().fit(X, y).explain(X.iloc[[4, 7]])
    assert str(found).startswith("row 0 [4]\n")
    assert "\nrow 1 [7]\n" in str(found)
    assert "<h4>row 1 [7]</h4>" in found._repr_html_()


def test_an_index_that_counts_the_rows_is_not_shown():
    X, y = table()
    model = PriorSVC().fit(X, y)
    assert [near.name for near in model.explain(X.iloc[0]).rows] == [None] * 3
    assert str(model.explain(X.iloc[:2])).startswith("row 0\n")
    assert [near.name for near in PriorSVC().fit(X.to_numpy(), y).explain(X.to_numpy()[0]).rows] == [None] * 3


def test_a_model_of_an_earlier_file_has_no_labels():
    X, y = table([f"pat{i}" for i in range(20)])
    model = PriorSVC().fit(X, y)
    del model._row_names
    assert model.explain(X.iloc[0]).rows[0].name is None
