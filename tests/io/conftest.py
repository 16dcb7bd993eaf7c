"""A saved model, and the path of a file to write."""

import numpy as np
import pytest

from priorsvm import Box, ClassCosts, PriorSVC, save


@pytest.fixture
def file(tmp_path):
    """Return a path that does not exist yet."""
    return tmp_path / "model.skops"


@pytest.fixture(scope="session")
def content(tmp_path_factory):
    """Return the bytes of a saved kernel model with two blocks."""
    pytest.importorskip("skops")
    rng = np.random.default_rng(7)
    X = rng.normal(size=(30, 2))
    y = np.where(X[:, 0] + 0.4 * rng.normal(size=30) > 0, "ill", "well")
    path = tmp_path_factory.mktemp("saved") / "model.skops"
    save(
        PriorSVC(ClassCosts({"ill": 2}) + Box({0: (1, None)}, "ill", holds="everywhere"), kernel="rbf").fit(
            X, y
        ),
        path,
    )
    return path.read_bytes()


@pytest.fixture
def saved(file, content):
    """Return the path of a saved model."""
    file.write_bytes(content)
    return file
