"""Models of blocks with a DataFrame of unlabelled rows."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import priorsvm
from priorsvm import ClassCosts, PriorSVC, Rule

pd = pytest.importorskip("pandas")
pytest.importorskip("skops")

pytestmark = pytest.mark.filterwarnings("ignore::priorsvm.errors.PriorSVMWarning")


@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("kind", ["alone", "sum", "pipeline"])
def test_a_frame_of_unlabelled_rows_is_saved_as_an_array(tmp_path, kind, texts):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    if texts:
        X["k"] = np.resize(["u", "v"], 40)
    y = (X.a > 0).astype(int).to_numpy()
    rule = Rule("a > 0.3", label=1, mu=2.0, unlabeled=X[:9])
    prior = rule + ClassCosts("balanced") if kind == "sum" else rule
    model = PriorSVC(prior)
    if kind == "pipeline":
        model = make_pipeline(FunctionTransformer(), model)
    model.fit(X, y)
    priorsvm.save(model, tmp_path / "model.skops")
    loaded = priorsvm.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert rule.unlabeled.columns.tolist() == X.columns.tolist()  # the model itself is unchanged
    again = loaded.fit(X, y)
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-9)
