"""Linear models with many columns against LinearSVC: dense images, sparse texts, deleted words.

LIBLINEAR penalises the bias. For texts its ``intercept_scaling`` is so large that the penalty changes the
optimum by at most its tolerance of 1e-6, relative. So both solve the same problem. LIBLINEAR then ends at its
1000 passes in most cells, and the note has its distance from the optimum.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from priorsvm import FeatureDeletion, InvariantLoss, PriorSVC
from priorsvm.datasets import load_mnist
from priorsvm.errors import DataNotFound

from .measure import Array, Row, Timing, interleaved, primal_objective, quietly, timed
from .spam import inbox
from .sparse_texts import texts

# LIBLINEAR's tolerance for texts, and the change of the optimum by its penalty of the bias.
TIGHT = 1e-6


def dense(quick: bool) -> Iterator[Row]:
    """Yield the rows of images, even digits against odd ones and one digit against the rest."""
    for name, X, y in _small_images() if quick else _images():
        for C in (0.01,) if quick else (0.01, 1.0, 100.0):
            peer = LinearSVC(loss="hinge", C=C, tol=1e-4, random_state=0)
            work = f"{name}, {X.shape[0]} x {X.shape[1]} dense, C = {C:g}"
            yield _compared("seconds_dense", work, PriorSVC(C=C), peer, X, y, C, 2.0, quick)


def sparse(quick: bool) -> Iterator[Row]:
    """Yield the rows of texts: mails of an inbox, and drawn texts."""
    for name, X, y in _texts(400 if quick else 3000, quick):
        for C in (0.1,) if quick else (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0):
            scaling = _bias_scaling(PriorSVC(C=C).fit(X, y), X, y)
            peer = LinearSVC(loss="hinge", C=C, tol=TIGHT, intercept_scaling=scaling, random_state=0)
            work = f"{name}, {X.shape[0]} x {X.shape[1]} sparse, C = {C:g}"
            yield _compared("seconds_sparse", work, PriorSVC(C=C), peer, X, y, C, 1.0, quick)


def _bias_scaling(found: PriorSVC, X: Any, y: Array) -> float:
    """Return the ``intercept_scaling`` with which the penalty of the bias is below the tolerance.

    With a tiny C many biases are best, and a bias of 0 is best for LIBLINEAR if it is one of them.
    """
    sign = np.where(y == found.classes_[1], 1.0, -1.0)
    values = X @ found.coef_[0]
    bias = float(found.intercept_[0])
    with_bias, without = (np.maximum(1.0 - sign * (values + b), 0.0).sum() for b in (bias, 0.0))
    if without <= (1.0 + 1e-12) * with_bias:
        return 1.0
    return max(1.0, abs(bias) / float(np.sqrt(2 * TIGHT * found.objective_)))


def deletion(quick: bool) -> Iterator[Row]:
    """Yield the rows of the worst deletion of five words, against one LinearSVC fit of the plain hinge.

    Both run once, because a fit takes up to some seconds.
    """
    C = 1.0
    for name, X, y in _texts(100 if quick else 3000, quick):
        model = PriorSVC(InvariantLoss(FeatureDeletion(5), method="columns"), C=C)
        peer = LinearSVC(loss="hinge", C=C, tol=TIGHT, random_state=0)
        theirs, _ = timed(partial(_silently, peer, X, y))
        seconds, ours = timed(partial(quietly, model.fit, X, y))
        last = ours.history_[-1]
        gap = (last["upper"] - last["lower"]) / last["upper"]
        work = f"FeatureDeletion(5), {name}, {X.shape[0]} x {X.shape[1]}, C = {C:g}"
        note = f"{len(ours.history_)} rounds, gap of the bounds on the objective"
        timing = Timing(np.array([seconds]), np.array([theirs]))
        yield Row.of("seconds_deletion", work, "one LinearSVC", timing, 10.0, "P", gap, note)


def _texts(n: int, quick: bool) -> Iterator[tuple[str, Any, Array]]:
    """Yield mails if their file is there, and drawn texts."""
    try:
        yield ("mails", *_mails(n))
    except DataNotFound as error:
        print(f"mails are left out: {error}")
    drawn, label = texts(n, 1500 if quick else 13_000)
    yield "drawn texts", _narrow(drawn), label


def _compared(
    name: str,
    work: str,
    model: PriorSVC,
    peer: LinearSVC,
    X: Any,
    y: Array,
    C: float,
    target: float,
    quick: bool,
) -> Row:
    """Return the row of a model against LinearSVC, with the distance of both from the optimum."""
    seconds = 0.3 if quick else 3.0
    timing, ours, other = interleaved(
        partial(model.fit, X, y), partial(_silently, peer, X, y), 1 if quick else 3, 15, seconds
    )
    sign = np.where(y == ours.classes_[1], 1.0, -1.0)
    bound = np.full(len(sign), C)
    values = []
    for fitted in (ours, other):
        w = fitted.coef_[0]
        scores = X @ w + fitted.intercept_[0]
        values.append(primal_objective(0.5 * float(w @ w), scores, sign, bound))
    certified = ours.report_.solves[0]["residuals"].gap
    above = (values[1] - values[0]) / values[0]
    note = f"{ours.solver_}, duality gap {certified:.0e}; LinearSVC {above:.0e} above the optimum"
    gap = (values[0] - values[1]) / values[1]
    return Row.of(name, work, "LinearSVC", timing, target, "P", gap, note)


def _silently(peer: LinearSVC, X: Any, y: Array) -> LinearSVC:
    """Fit LinearSVC without its warning about the limit of passes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return peer.fit(X, y)


def _images() -> Iterator[tuple[str, Array, Array]]:
    mnist = load_mnist()
    chosen = np.random.default_rng(0).choice(len(mnist.y_train), 6000, replace=False)
    X = mnist.X_train[chosen]
    digit = mnist.y_train[chosen]
    yield "MNIST even", X, digit % 2
    yield "MNIST eight", X, np.where(digit == 8, 1, 0)


def _small_images() -> Iterator[tuple[str, Array, Array]]:
    X, digit = load_digits(return_X_y=True)
    wide = np.hstack([X, X**2 / 16.0, np.sqrt(X), X[:, ::-1] * X / 16.0])[:600] / 16.0
    yield "digits even", wide, digit[:600] % 2
    yield "digits eight", wide, np.where(digit[:600] == 8, 1, 0)


def _mails(n: int) -> tuple[Any, Array]:
    """Return at most n mails of one inbox, with the 13 000 most frequent words."""
    X, y = inbox("u00")
    count = np.bincount(X.indices, minlength=X.shape[1])
    frequent = np.sort(np.argsort(-count, kind="stable")[:13_000])
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    return _narrow(csr_array(X[rows][:, frequent])), y[rows]


def _narrow(X: Any) -> Any:
    """Return the rows with 32-bit indices, which LIBLINEAR requires."""
    X.sort_indices()
    return csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)
