"""Verdicts are computed once for each fitted model."""

import numpy as np

from priorsvm import RBF, Box, PriorSVC


class CountedBox(Box):
    """Box that counts its verifications."""

    calls = 0

    def verify(self, f, view):
        CountedBox.calls += 1
        return super().verify(f, view)


def test_verdicts_are_kept_until_the_next_fit():
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.2, 0.1]]), [0, 1, 0]
    model = PriorSVC(CountedBox({0: (2, 3)}, label=1, holds="everywhere"), kernel=RBF(1.0)).fit(X, y)
    first = model.verify()["counted_box"]
    before = CountedBox.calls
    assert model.verify()["counted_box"] is first
    assert CountedBox.calls == before
    model.verify(max_cells=10)
    assert CountedBox.calls == before + 1
    assert model.fit(X, y).verify()["counted_box"] is not first
    assert CountedBox.calls == before + 2
