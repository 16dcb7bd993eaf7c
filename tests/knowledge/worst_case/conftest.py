"""Data of the worst-case blocks."""

import numpy as np
import pytest
from sklearn.datasets import make_moons


@pytest.fixture(scope="module")
def ring():
    """Two classes at different distances from the origin, for rotations: 60 rows of 3 columns."""
    rng = np.random.default_rng(4)
    y = np.tile([0, 1], 30)
    X = 0.5 * rng.normal(size=(60, 3))
    X[:, 0] += np.where(y == 1, 3.5, 1.5)
    return X, y


@pytest.fixture(scope="module")
def moons():
    """Two half moons about the origin, 60 rows in the plane."""
    X, y = make_moons(60, noise=0.2, random_state=0)
    return X - X.mean(axis=0), y


@pytest.fixture(scope="module")
def few(data):
    return data[0][:40], data[1][:40]


@pytest.fixture(scope="module")
def factors():
    """The directions of the errors of each row of ``few``, one standard deviation long."""
    return 0.2 * np.random.default_rng(5).normal(size=(40, 3, 3))


@pytest.fixture(scope="module")
def covariances(factors):
    return factors @ factors.swapaxes(1, 2)
