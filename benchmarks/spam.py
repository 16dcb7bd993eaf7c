"""Spam whose words change: hinge, deleted features, scaled features, on inboxes and under attack.

``python -m benchmarks spam_inboxes`` and ``spambase``. The questions of Globerson & Roweis (2006) and Teo,
Globerson, Roweis & Smola (2007).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.stats import binomtest
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import normalize

from priorsvm import FeatureDeletion, FeatureScaling, InvariantLoss, PriorSVC
from priorsvm.errors import CollapsedModel

from .measure import Array
from .reproduction import Table, arrays, paired

Move = FeatureScaling | None  # None: the plain hinge

INBOXES = ("u00", "u01", "u02")
TRAIN, DRAWS, WHOLE = 400, 3, 2500
INBOX_C, INBOX_K, INBOX_FACTORS = (1.0, 10.0, 100.0), (1, 2, 4, 8), ((0.5, 2.0), (0.5, 4.0))
LOOSE = 1e-2  # of column generation: how far apart the bounds on the objective may be

FIT, VALIDATE, SPLITS = 1000, 500, 10
ATTACKS = (0, 1, 2, 3, 4, 6)
FREQUENCIES = 54  # of words and characters; the three run lengths behind them are left out
C, K, FACTORS = (0.1, 1.0, 10.0), (1, 2, 3, 4, 6), ((0.5, 2.0), (0.0, 2.0))


# ---------------------------------------------------------------------- models and how they are chosen


def moves_of(k: Sequence[int], factors: Sequence[tuple[float, float]]) -> dict[str, list[Move]]:
    """What each kind of model is chosen from; k = 0, the hinge, is among all of them."""
    return {
        "hinge": [None],
        "deletion": [None, *map(FeatureDeletion, k)],
        "scaling": [None, *(FeatureScaling(one, *two) for two in factors for one in k)],
    }


def called(move: Move) -> str:
    if move is None:
        return "hinge"
    if isinstance(move, FeatureDeletion):
        return f"deletion, k = {move.k}"
    return f"scaling {move.low:g} to {move.high:g}, k = {move.k}"


def fitted(move: Move, C: float, X: Any, y: Array, tol: float = 1e-6) -> PriorSVC:
    """Sparse rows by column generation, dense ones in closed form; the plain hinge always to 1e-6."""
    if move is None:
        return PriorSVC(C=C).fit(X, y)
    block = InvariantLoss(move, method="columns" if issparse(X) else "closed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapsedModel)  # seen in the tables: it answers with one class
        return PriorSVC(block, C=C, tol=tol).fit(X, y)


def scores(model: PriorSVC, X: Any, y: Array) -> tuple[float, float]:
    """Accuracy and area under the curve, in %."""
    f = model.decision_function(X)
    return 100 * float(np.mean((f > 0) == (y > 0))), 100 * float(roc_auc_score(y, f))


def chosen(valid: Array, moves: Sequence[Move], kind: Sequence[Move]) -> tuple[int, int]:
    """The place of the best of a kind in an array by moves and C; of equal ones the first."""
    among = [moves.index(move) for move in kind]
    best, c = np.unravel_index(np.argmax(valid[among]), valid[among].shape)
    return among[int(best)], int(c)


def majority(y: Array) -> float:
    """How often the commoner class is right, in %."""
    return 100 * float(max(np.mean(y > 0), np.mean(y <= 0)))


def spread(values: Array) -> str:
    return f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else f"{values[0]:.1f}"


# ---------------------------------------------------------------------- inboxes


def inbox(name: str) -> tuple[csr_array, Array]:
    """Counts of words, every mail divided by its Euclidean length, and +1 for spam."""
    data = arrays("ecml06a_inboxes")
    words = max(int(data[f"{one}_indices"].max()) for one in INBOXES)
    parts = (data[f"{name}_data"].astype(float), data[f"{name}_indices"] - 1, data[f"{name}_indptr"])
    y = data[f"{name}_y"].astype(int)
    return csr_array(normalize(csr_array(parts, shape=(len(y), words)))), y


def inboxes(quick: bool) -> list[dict[str, Any]]:
    """Train on part of one inbox, choose on the rest of it, test on another."""
    n, draws, whole, k, costs, factors = (
        (60, 2, 100, (1, 2), (10.0,), ((0.5, 2.0),))
        if quick
        else (TRAIN, DRAWS, WHOLE, INBOX_K, INBOX_C, INBOX_FACTORS)
    )
    kinds = moves_of(k, factors)
    moves = list({called(move): move for kind in kinds.values() for move in kind}.values())
    boxes = [inbox(name) for name in INBOXES]
    valid = np.zeros((3, draws, len(moves), len(costs)))
    found = np.zeros((3, draws, len(moves), len(costs), 3, 2))
    for train, (X, y) in enumerate(boxes):
        order = np.random.default_rng(train).permutation(len(y))
        for draw in range(draws):
            rows = order[draw * n : (draw + 1) * n]
            rest = np.setdiff1d(order, rows)
            for m, move in enumerate(moves):
                for c, cost in enumerate(costs):
                    model = fitted(move, cost, X[rows], y[rows], LOOSE)
                    valid[train, draw, m, c] = scores(model, X[rest], y[rest])[0]
                    found[train, draw, m, c] = [scores(model, *other) for other in boxes]
    return [
        *_directions(valid, found, moves, kinds, n, max(majority(y) for _, y in boxes)),
        *_choices(valid, moves, costs, kinds),
        *_settings(found, moves, costs),
        *_whole_inboxes(boxes, whole, k[1]),
        *_looseness(boxes, n, k[-2]),
    ]


PAIRS = [(train, test) for train in range(3) for test in range(3) if train != test]


def _directions(
    valid: Array, found: Array, moves: list[Move], kinds: dict[str, list[Move]], n: int, baseline: float
) -> list[dict[str, Any]]:
    draws = valid.shape[1]
    picked = {
        name: np.array(
            [[found[t, d][chosen(valid[t, d], moves, kind)] for d in range(draws)] for t in range(3)]
        )
        for name, kind in kinds.items()
    }
    at_home = np.array(
        [[valid[t, d][chosen(valid[t, d], moves, kinds["hinge"])] for d in range(draws)] for t in range(3)]
    )
    table = Table(
        f"Train on {n} mails of one inbox, test on another: accuracy and AUC in %, mean ± standard deviation "
        f"over {draws} disjoint draws, in the line of all over the six directions. C, k and factors by the "
        "accuracy on the other mails of the training inbox, k = 0 among them. 'At home': hinge on these. "
        "Last line: mean ± standard error over the directions (in how many better : worse). Always one "
        f"class: {baseline:.1f}",
        "train, test", "at home", *(f"{name}, {what}" for what in ("accuracy", "AUC") for name in kinds),
    )  # fmt: skip
    means = {
        name: np.array([values[a, :, b].mean(axis=0) for a, b in PAIRS]) for name, values in picked.items()
    }
    for a, b in PAIRS:
        cells = [spread(picked[name][a, :, b, what]) for what in (0, 1) for name in kinds]
        table.row(f"{INBOXES[a]}, {INBOXES[b]}", spread(at_home[a]), *cells)
    cells = [spread(means[name][:, what]) for what in (0, 1) for name in kinds]
    table.row("all", spread(at_home.mean(axis=1)), *cells)
    less = [
        "" if name == "hinge" else paired(means[name][:, what] - means["hinge"][:, what], better=1)
        for what in (0, 1)
        for name in kinds
    ]
    table.row("less hinge", "", *less)
    return table.end()


def _choices(
    valid: Array, moves: list[Move], costs: Sequence[float], kinds: dict[str, list[Move]]
) -> list[dict[str, Any]]:
    table = Table("What was chosen, and its accuracy on the other mails of the inbox", "inbox, draw", *kinds)
    for train, draw in np.ndindex(valid.shape[:2]):
        cells = []
        for kind in kinds.values():
            m, c = chosen(valid[train, draw], moves, kind)
            cells.append(f"{called(moves[m])}, C = {costs[c]:g}: {valid[train, draw, m, c]:.1f}")
        table.row(f"{INBOXES[train]}, {draw}", *cells)
    return table.end()


def _settings(found: Array, moves: list[Move], costs: Sequence[float]) -> list[dict[str, Any]]:
    table = Table(
        "Every setting: mean over directions and draws, nothing chosen",
        "model", *(f"{what}, C = {cost:g}" for what in ("accuracy", "AUC") for cost in costs),
    )  # fmt: skip
    means = np.mean([found[a, :, :, :, b] for a, b in PAIRS], axis=(0, 1))
    for m, move in enumerate(moves):
        table.row(called(move), *(f"{value:.1f}" for value in means[m].T.ravel()))
    return table.end()


def _whole_inboxes(boxes: list[tuple[csr_array, Array]], n: int, k: int) -> list[dict[str, Any]]:
    """At one setting, since a choice among many would take long."""
    table = Table(
        f"Train on {n} mails, C = 10, k = {k}, mean ± standard deviation over the six directions, and less "
        "the hinge ± standard error (better : worse)",
        "model", "accuracy", "AUC", "accuracy less hinge", "AUC less hinge",
    )  # fmt: skip
    some: list[Move] = [None, FeatureDeletion(k), FeatureScaling(k, *INBOX_FACTORS[0])]
    found = np.zeros((len(some), len(PAIRS), 2))
    right: list[list[Array]] = []
    for m, move in enumerate(some):
        models = [fitted(move, 10.0, X[:n], y[:n], LOOSE) for X, y in boxes]
        found[m] = [scores(models[a], *boxes[b]) for a, b in PAIRS]
        right.append([models[a].predict(boxes[b][0]) == boxes[b][1] for a, b in PAIRS])
        less = [paired(found[m, :, w] - found[0, :, w], better=1) if m else "" for w in (0, 1)]
        table.row(called(move), spread(found[m, :, 0]), spread(found[m, :, 1]), *less)
    return [*table.end(), *_mcnemar_tests(some, right)]


def mcnemar(first: Array, second: Array) -> tuple[int, int, float]:
    """Return on how many rows only the first and only the second classifier is right, and the p-value.

    The test is exact and two-sided: under the null hypothesis the rows on which one classifier is right are
    divided like tosses of a fair coin.
    """
    only_first = int(np.sum(first & ~second))
    only_second = int(np.sum(second & ~first))
    if only_first + only_second == 0:
        return 0, 0, 1.0
    return only_first, only_second, float(binomtest(only_first, only_first + only_second).pvalue)


def _mcnemar_tests(moves: list[Move], right: list[list[Array]]) -> list[dict[str, Any]]:
    """Compare the predictions for every mail with those of the hinge, in each direction."""
    table = Table(
        "McNemar's test of the models above against the hinge: mails that only the hinge gets right : mails "
        "that only the other model gets right, and the exact two-sided p-value",
        "train, test", *(called(move) for move in moves[1:]),
    )  # fmt: skip
    for pair, (a, b) in enumerate(PAIRS):
        cells = []
        for m in range(1, len(moves)):
            hinge, other, p = mcnemar(right[0][pair], right[m][pair])
            cells.append(f"{hinge} : {other}, p = {p:.1e}")
        table.row(f"{INBOXES[a]}, {INBOXES[b]}", *cells)
    return table.end()


def _looseness(boxes: list[tuple[csr_array, Array]], n: int, k: int) -> list[dict[str, Any]]:
    """What the bounds that may be 1 % apart cost."""
    table = Table(
        f"Stopped when the bounds are {LOOSE:g} apart, against 1e-6: first draw of {INBOXES[0]}, C = 10",
        "model", "objective less", f"mails of {INBOXES[1]} answered otherwise",
    )  # fmt: skip
    (X, y), (Z, _) = boxes[:2]
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    for move in (FeatureDeletion(k), FeatureScaling(k, *INBOX_FACTORS[0])):
        loose, tight = (fitted(move, 10.0, X[rows], y[rows], tol) for tol in (LOOSE, 1e-6))
        # The objective of the last round's problem: a lower bound.
        less = 1 - loose.objective_ / tight.objective_
        table.row(called(move), f"{less:.1e}", f"{np.mean(loose.predict(Z) != tight.predict(Z)):.2%}")
    return table.end()


# ---------------------------------------------------------------------- spambase


def attacked(model: PriorSVC, X: Array, y: Array, j: int) -> Array:
    """Of every spam mail the j entries are deleted that this model needs most."""
    spam, moved = y > 0, X.copy()
    moved[spam] = FeatureDeletion(j).worst(X[spam], model.coef_[0], np.ones(spam.sum()))
    return moved


def thinned(X: Array, y: Array, j: int, seed: int) -> Array:
    """Of every spam mail j entries are deleted at random, all if there are fewer."""
    there = np.random.default_rng(seed).random(X.shape) * (X > 0)
    kept = FeatureDeletion(j).worst(there, np.ones(X.shape[1]), np.ones(len(X))) > 0
    return np.where((y > 0)[:, None], X * kept, X)


def spambase(quick: bool) -> list[dict[str, Any]]:
    """Spam with words deleted after the model is fitted."""
    n, validate, splits, attacks, costs, k, factors = (
        (150, 100, 2, (0, 2), (1.0,), (2,), ((0.5, 2.0),))
        if quick
        else (FIT, VALIDATE, SPLITS, ATTACKS, C, K, FACTORS)
    )
    data = arrays("spambase")
    X, y = data["X"][:, :FREQUENCIES].astype(float), data["y"].astype(int)
    kinds = moves_of(k, factors)
    moves = list({called(move): move for kind in kinds.values() for move in kind}.values())
    valid = np.zeros((splits, len(moves), len(costs), len(attacks)))
    found = np.zeros((splits, len(moves), len(costs), len(attacks), 2, 2))
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(y))
        fit, check, test = np.split(order, [n, n + validate])
        Z = X / np.maximum(X[fit].std(axis=0), 1e-3)  # not centred: zero is a word that is not there
        random = [thinned(Z[test], y[test], j, split) for j in attacks]
        for m, move in enumerate(moves):
            for c, cost in enumerate(costs):
                model = fitted(move, cost, Z[fit], y[fit])
                for a, j in enumerate(attacks):
                    valid[split, m, c, a] = scores(model, attacked(model, Z[check], y[check], j), y[check])[0]
                    worst = scores(model, attacked(model, Z[test], y[test], j), y[test])
                    found[split, m, c, a] = worst, scores(model, random[a], y[test])
    return [
        *_attacks(valid, found, moves, attacks, kinds, n, majority(y)),
        *_by_k(found, moves, attacks, costs),
    ]


def _attacks(
    valid: Array,
    found: Array,
    moves: list[Move],
    attacks: Sequence[int],
    kinds: dict[str, list[Move]],
    n: int,
    baseline: float,
) -> list[dict[str, Any]]:
    splits = len(valid)
    table = Table(
        f"Accuracy and AUC in % when j words of every test spam are deleted, mean ± standard deviation over "
        f"{splits} splits ({n} mails to fit). C, k and factors, k = 0 among them, by the accuracy on other "
        "mails under the worst deletion of j words; the same models under random deletion. 'Less hinge': "
        f"accuracy ± standard error (better : worse). Always 'no spam': {baseline:.1f}",
        "deleted", "j", *(f"{name}, {what}" for what in ("accuracy", "AUC") for name in kinds),
        "deletion less hinge", "scaling less hinge",
    )  # fmt: skip
    for way, deleted in enumerate(("worst", "random")):
        for a, j in enumerate(attacks):
            if way and not j:
                continue  # nothing is deleted either way
            at = {
                name: np.array(
                    [found[s][chosen(valid[s, :, :, a], moves, kind)][a, way] for s in range(splits)]
                )
                for name, kind in kinds.items()
            }
            cells = [spread(at[name][:, what]) for what in (0, 1) for name in kinds]
            less = [at[name][:, 0] - at["hinge"][:, 0] for name in ("deletion", "scaling")]
            table.row(deleted if j else "–", j, *cells, *(paired(one, better=1) for one in less))
    return table.end()


def _by_k(
    found: Array, moves: list[Move], attacks: Sequence[int], costs: Sequence[float]
) -> list[dict[str, Any]]:
    c = list(costs).index(1.0)
    table = Table(
        "Every k at C = 1, nothing chosen: mean accuracy under the worst deletion of j words",
        "model", *(f"j = {j}" for j in attacks),
    )  # fmt: skip
    for m, move in enumerate(moves):
        table.row(called(move), *(f"{value:.1f}" for value in found[:, m, c, :, 0, 0].mean(axis=0)))
    return table.end()
