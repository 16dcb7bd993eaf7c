"""Rows on which methods for many rows may fail, with two classes."""

import numpy as np

KINDS = ["normal", "heavy tails", "binary", "nearly separable", "sorted", "rare"]


def rows_of(kind, n, seed=0):
    """Return X and y; with "rare" a class has 0.3 % of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    if kind == "heavy tails":
        X = rng.standard_t(1.5, size=(n, 5))
    if kind == "binary":
        X = (rng.random((n, 5)) < 0.4).astype(float)
    if kind == "float32":
        X = X.astype(np.float32)
    noise = 0.02 if kind == "nearly separable" else 1.0
    score = X @ rng.normal(size=5) + noise * rng.normal(size=n)
    y = (score > np.quantile(score, 0.997 if kind == "rare" else 0.6)).astype(int)
    order = np.argsort(y, kind="stable") if kind in ("sorted", "one class in each chunk") else np.arange(n)
    return X[order], y[order]
