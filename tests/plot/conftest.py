"""Data of the tests of plots; figures are closed and never shown."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_digits


@pytest.fixture(autouse=True)
def no_window(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("a figure was shown"))
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def clouds():
    """Return 24 rows in the plane, 12 of each of two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2)) + np.repeat([[0.0, 0.0], [3.0, 1.0]], 12, axis=0)
    X.flags.writeable = False
    return X, np.repeat([0, 1], 12)


@pytest.fixture(scope="session")
def zeros_and_ones():
    """Return 40 images of 8 x 8 pixels, and their digits 0 and 1."""
    X, y = load_digits(n_class=2, return_X_y=True)
    return X[:40] / 16, y[:40]
