"""Steps of CONES on few rows."""

import numpy as np

from priorsvm.solve.methods.cone_margins import ConeMargins
from priorsvm.solve.methods.cone_newton import minimise


class Coordinates:
    """Coordinates of rows, with one slope of 0 for each."""

    def __init__(self, values):
        self.values = values

    def slopes(self, size):
        return np.zeros((len(self.values), size))

    def slopes_of(self, c, some):
        return np.zeros(len(self.values))

    def combined(self, weights, some):
        return np.zeros((len(some), self.values.shape[1]))

    def summed(self, weights):
        return np.zeros(self.values.shape[1])


def test_few_rows_may_change_often():
    rng = np.random.default_rng(12)
    values = rng.normal(size=(6, 5))[rng.integers(2, size=6)]
    y = np.where(rng.random(6) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    margin = rng.uniform(0.1, 2.0, 6)
    problem = ConeMargins(y, margin, np.full(6, 10.0), np.arange(6), np.ones(6, int))
    found = minimise(problem, Coordinates(values), lambda K: np.zeros(6), 1e-9)
    assert abs(found.gap) < 1e-8
