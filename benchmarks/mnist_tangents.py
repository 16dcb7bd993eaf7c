"""Schölkopf, Simard, Smola & Vapnik 1998: hyperplanes that are level along the tangents of translations.

``python -m benchmarks tangents``. Test errors on MNIST against the weight of the tangents, polynomial of
degree 4, one against the rest: in feature space, with the kernel :class:`TangentInvariant`; and in input
space, on rows whitened by the covariance of the tangents.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from priorsvm import Kernel, Polynomial, PriorSVC, TangentInvariant, Translation
from priorsvm.datasets import load_mnist

from .measure import Array
from .reproduction import Table

SIDE, DEGREE, COST = 20, 4, 100.0

# Of the paper: test errors in % by λ, of which 1 is the plain model.
PUBLISHED = dict(
    zip(
        (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
        (4.2, 3.8, 3.6, 3.6, 3.7, 3.8, 3.8, 3.9, 3.9, 4.0),
        strict=True,
    )
)


def boxed(X: Array) -> Array:
    """The digits without their margins, in the middle of 20 x 20 pixels, from -1 to 1."""
    images = np.zeros((len(X), SIDE, SIDE))
    for image, whole in zip(images, X.reshape(-1, 28, 28), strict=True):
        rows, columns = (np.flatnonzero(whole.any(axis=axis)) for axis in (1, 0))
        digit = whole[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        top, left = ((SIDE - length) // 2 for length in digit.shape)
        image[top : top + digit.shape[0], left : left + digit.shape[1]] = digit
    return 2 * images.reshape(len(X), -1) - 1


def digits(quick: bool) -> tuple[Array, Array, Array, Array]:
    """Training and test images and their digits: the first of each set, as many as the paper has."""
    mnist = load_mnist()
    n, m = (300, 1000) if quick else (5000, 10_000)
    return boxed(mnist.X_train[:n]), mnist.y_train[:n], boxed(mnist.X_test[:m]), mnist.y_test[:m]


def error(kernel: Kernel, X: Array, y: Array, X_test: Array, y_test: Array) -> float:
    """Per cent of wrong test images."""
    model = PriorSVC(kernel=kernel, C=COST, tol=1e-3).fit(X, y)
    return float(100 * np.mean(model.predict(X_test) != y_test))


def invariant_hyperplanes(quick: bool) -> list[dict[str, Any]]:
    X, y, X_test, y_test = digits(quick)
    shift = Translation((SIDE, SIDE), fill=-1.0)
    base = Polynomial(DEGREE, gamma=1 / X.shape[1])
    m = shift.n_parameters * len(X)
    table = Table(
        f"MNIST {len(X)} / {len(X_test)}, 20 x 20, degree {DEGREE}, TangentInvariant: test errors in %",
        "gamma", "λ = 1 / (1 + γM)", "error",
    )  # fmt: skip
    for gamma in (0.0, 1.0, 10.0) if quick else (0.0, 0.1, 1.0, 10.0, 100.0):
        kernel = TangentInvariant(base, shift, gamma)
        table.row(f"{gamma:g}", f"{1 / (1 + gamma * m):.1e}", error(kernel, X, y, X_test, y_test))
    return table.end() + _whitened(quick, X, y, X_test, y_test, shift)


def _whitened(
    quick: bool, X: Array, y: Array, X_test: Array, y_test: Array, shift: Translation
) -> list[dict[str, Any]]:
    """The degree-4 kernel of rows multiplied by C_λ^(-1/2), brought to mean squared length 1."""
    tangents = shift.tangents(X).reshape(-1, X.shape[1])
    covariance = tangents.T @ tangents / len(tangents)
    table = Table(
        f"MNIST {len(X)} / {len(X_test)}, degree {DEGREE}, whitened rows: test errors in %",
        "λ", "error", "published",
    )  # fmt: skip
    for share in (1.0, 0.4) if quick else (1.0, 0.9, 0.6, 0.4, 0.2, 0.1):
        values, U = np.linalg.eigh((1 - share) * covariance + share * np.eye(X.shape[1]))
        white = (U / np.sqrt(values)) @ U.T
        white /= np.sqrt(np.mean(((X @ white) ** 2).sum(axis=1)))
        found = error(Polynomial(DEGREE, 1.0), X @ white, y, X_test @ white, y_test)
        table.row(share, found, PUBLISHED[share])
    return table.end()
