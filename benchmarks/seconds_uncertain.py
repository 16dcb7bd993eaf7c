"""RBF models of uncertain rows against SVC, and of missing values against IterativeImputer and SVC."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from priorsvm import MissingValues, PriorSVC, UncertainSamples

from .measure import Array, Row, interleaved, quietly

# Share of missing entries in each column, as in a table of diabetes patients.
SHARES = np.array([0.0, 0.007, 0.046, 0.3, 0.487, 0.014, 0.0, 0.0])


def uncertain(quick: bool) -> Iterator[Row]:
    """Yield the rows of known errors: drawn rows, and cell nuclei with their own standard errors."""
    drawn = _drawn(200 if quick else 1000)
    nuclei = load_breast_cancer()
    some = np.arange(150 if quick else 569)
    width = nuclei.data[:, :10].std(axis=0)
    X = (nuclei.data[some, :10] - nuclei.data[:, :10].mean(axis=0)) / width
    errors = nuclei.data[some, 10:20] / width
    cases: list[tuple[str, Array, Array, Any]] = [
        ("drawn", *drawn, np.full(drawn[0].shape, 0.3)),
        ("cell nuclei", X, nuclei.target[some], errors),
    ]
    for name, rows, y, deviations in cases:
        for C in (1.0,) if quick else (1.0, 100.0):
            model = PriorSVC(UncertainSamples(deviations), kernel="rbf", C=C)
            work = f"UncertainSamples, RBF, {name}, {rows.shape[0]} x {rows.shape[1]}, C = {C:g}"
            yield _compared(work, model, "SVC", SVC(C=C), rows, y, 100.0, quick)


def missing(quick: bool) -> Iterator[Row]:
    """Yield the rows of missing values: the gaps of a clinical table, and gaps in all columns."""
    rng = np.random.default_rng(0)
    X, y = _drawn(200 if quick else 768)
    X[rng.random(X.shape) < SHARES] = np.nan
    nuclei = load_breast_cancer()
    some = np.arange(150 if quick else 569)
    Z = nuclei.data[some, :8] / nuclei.data[:, :8].std(axis=0)
    Z[rng.random(Z.shape) < 0.2] = np.nan
    for name, rows, labels in (("clinical gaps", X, y), ("cell nuclei, 20 % gaps", Z, nuclei.target[some])):
        for C in (1.0,) if quick else (1.0, 100.0):
            model = PriorSVC(MissingValues(), kernel="rbf", C=C)
            peer = make_pipeline(IterativeImputer(random_state=0), SVC(C=C))
            work = f"MissingValues, RBF, {name}, {rows.shape[0]} x {rows.shape[1]}, C = {C:g}"
            yield _compared(work, model, "IterativeImputer, SVC", peer, rows, labels, 2.0, quick)


def _compared(
    work: str, model: PriorSVC, peer_name: str, peer: Any, X: Array, y: Array, target: float, quick: bool
) -> Row:
    """Return the row of a model; its gap is certified, and the note has the training accuracy of both."""
    timing, ours, other = interleaved(
        partial(quietly, model.fit, X, y),
        partial(_silently, peer, X, y),
        1 if quick else 3,
        9,
        0.3 if quick else 6.0,
    )
    gap = float(ours.report_.solves[0]["residuals"].gap)
    note = f"{ours.solver_}; training accuracy {ours.score(X, y):.3f} : {other.score(X, y):.3f}"
    name = "seconds_uncertain" if peer_name == "SVC" else "seconds_missing"
    return Row.of(name, work, peer_name, timing, target, "P", gap, note)


def _silently(peer: Any, X: Array, y: Array) -> Any:
    """Fit without the warning of IterativeImputer about its limit of rounds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return peer.fit(X, y)


def _drawn(n: int) -> tuple[Array, Array]:
    X, y = make_classification(
        n, 8, n_informative=5, n_redundant=0, flip_y=0.05, class_sep=0.8, random_state=0
    )
    return (X - X.mean(axis=0)) / X.std(axis=0), y
