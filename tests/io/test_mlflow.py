"""The recipe for MLflow in docs/guide/saving.md, run as it stands there; ``make solvers`` installs MLflow."""

import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

import priorsvm
from priorsvm import PriorSVC, Rule

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "saving.md"


def recipe():
    """Return the code of the section on MLflow."""
    section = re.search(r"(?ms)^## MLflow\n(.*?)^## ", PAGE.read_text(encoding="utf-8"))[1]
    return textwrap.dedent("\n".join(re.findall(r"(?m)^(?: {4}.*)?$", section)))


def test_the_recipe_names_the_trusted_types():
    code = recipe()
    compile(code, "recipe", "exec")
    for call in ("log_model(", "load_model(", "to_onnx(", "skops_trusted_types=sorted(TRUSTED)"):
        assert call in code


@pytest.mark.slow
def test_the_logged_model_is_the_model(tmp_path, monkeypatch, rng):
    pytest.importorskip("mlflow")
    onnxruntime = pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] > 0, "ill", "well")
    model = PriorSVC(Rule("x0 >= 1", label="ill"), kernel="rbf").fit(X, y)
    names = {"model": model, "priorsvm": priorsvm}
    exec(recipe(), names)
    twin = names["twin"]
    assert type(twin) is PriorSVC
    np.testing.assert_array_equal(twin.decision_function(X), model.decision_function(X))
    assert str(twin.report_) == str(model.report_)
    assert str(twin.verify()) == str(model.verify())
    graph = names["mlflow"].onnx.load_model(names["graph"].model_uri)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    [labels] = session.run(["label"], {"X": X})
    np.testing.assert_array_equal(labels, model.predict(X))
