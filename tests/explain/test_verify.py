"""What verify() finds, and keeps."""

import numpy as np

from priorsvm import RBF, Box, PriorSVC


def test_what_was_verified_is_kept_until_the_next_fit(monkeypatch):
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.2, 0.1]]), [0, 1, 0]
    model = PriorSVC(Box({0: (2, 3)}, label=1), kernel=RBF(1.0)).fit(X, y)
    first = model.verify()["box"]
    asked = []
    verify = Box.verify
    monkeypatch.setattr(Box, "verify", lambda *given: asked.append(1) or verify(*given))
    assert model.verify()["box"] is first
    assert not asked
    model.verify(max_cells=10)
    assert len(asked) == 1
    assert model.fit(X, y).verify()["box"] is not first
    assert len(asked) == 2
