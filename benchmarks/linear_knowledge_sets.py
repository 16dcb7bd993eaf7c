"""Fung, Mangasarian & Shavlik 2002: linear models that are told polyhedral knowledge sets.

``python -m benchmarks wpbc60`` fits an oncologist's rules and no data. ``python -m benchmarks promoters``
counts leave-one-out errors of the 1-norm model on DNA, with and without the biologists' rules.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from priorsvm import Box, PriorSVC, Rule

from .measure import Array
from .reproduction import Table, arrays, left_out_errors

NU = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0)
MU = (0.1, 1.0, 10.0)

# Right answers of 110 without data: the 66.4 % of the paper.
RIGHT = 73

# Leave-one-out errors of 106 measured elsewhere with the same boxes and slacks: without, and for every mu.
REFERENCE = {
    0.1: (42, None),
    0.5: (13, (6, 7, 7)),
    1.0: (15, (11, 6, 6)),
    2.0: (15, (12, 11, 11)),
    5.0: (15, None),
    10.0: (15, (12, 7, 7)),
    100.0: (15, None),
}


def wpbc(months: int) -> tuple[Any, Any]:
    """Tumour size T in cm and positive lymph nodes L, and who recurred within so many months.

    Left out: patients whose lymph nodes were not counted, and those last seen well within the months.
    """
    import pandas as pd

    data = arrays("wpbc")
    X = pd.DataFrame(data["X"][:, -2:].astype(float), columns=["T", "L"])
    recurred = (data["recur"] == 1) & (data["time"] <= months)
    known = (recurred | (data["time"] > months)) & X["L"].notna().to_numpy()
    return X[known].round(6), recurred[known]


def knowledge_only(quick: bool) -> list[dict[str, Any]]:
    """Two rules, no patient.

    A classifier has to be given a row of each class. These two are corners of the rules' own regions: where a
    hard rule holds their slack is zero, so that they add nothing to the problem.
    """
    import pandas as pd

    X, y = wpbc(60)
    corners, classes = pd.DataFrame({"T": [4.0, 1.9], "L": [5.0, 0.0]}), [True, False]
    majority = max(np.mean(y), np.mean(~y))
    recur, not_recur = "L >= 5 and T >= 4", "L = 0 and T <= 1.9"
    table = Table(
        f"WPBC, 60 months, no data: {len(y)} patients, {y.sum()} recurred; always 'no': {majority:.1%} right",
        "norm", "rules beyond the data", "w_T", "w_L", "b", "right", "share", "expected",
    )  # fmt: skip
    for norm, within in product(("l1", "l2"), (None, {"T": (0, 12), "L": (0, 30)})):
        prior = Rule(recur, True, hard=True, within=within) + Rule(not_recur, False, hard=True, within=within)
        model = PriorSVC(prior, norm=norm).fit(corners, classes)
        if np.any(model.decision_function(corners) * (1, -1) < 1 - 1e-6):
            raise ArithmeticError("a row that was to add nothing has slack")
        right = int(np.sum(model.predict(X) == y))
        beyond = "open" if within is None else "closed"
        w_T, w_L = model.coef_[0]
        table.row(norm, beyond, w_T, w_L, model.intercept_[0], right, f"{right / len(y):.1%}", RIGHT)
    return table.end()


def contact_rules(data: dict[str, Any]) -> list[dict[int, tuple[float, float]]]:
    """contact :- minus_35, minus_10: four alternatives each, so 16 conjunctions of "base b at position p"."""
    position = data["position"].tolist()
    literals = list(zip(data["rule_id"], data["rule_pos"], data["rule_base"], strict=True))

    def alternatives(head: str) -> list[list[int]]:
        rules = np.flatnonzero(data["rule_head"] == head)
        return [[4 * position.index(p) + int(b) for i, p, b in literals if i == rule] for rule in rules]

    return [
        dict.fromkeys([*upstream, *downstream], (1.0, 1.0))
        for upstream, downstream in product(alternatives("minus_35"), alternatives("minus_10"))
    ]


def promoters(quick: bool) -> list[dict[str, Any]]:
    """The 16 rules as boxes in [0, 1]^228, at every nu (our C) with the errors without them beside."""
    data = arrays("promoters")
    y = data["y"]
    X = (data["seq"][:, :, None] == np.arange(4)).reshape(len(y), -1).astype(float)
    cube = dict.fromkeys(range(X.shape[1]), (0.0, 1.0))
    rules = Box(contact_rules(data), label=1, within=cube, holds="everywhere")
    nu, step = (NU[1:2], 53) if quick else (NU, 1)

    def fits(X: Array, y: Array) -> list[PriorSVC]:
        plain = PriorSVC(norm="l1", solver="HIGHS").fit_path(X, y, {"C": nu})
        model = PriorSVC(rules, norm="l1", solver="HIGHS")
        # MU are weights in the objective, and box__mu is a number of rows of weight C.
        told = [model.fit_path(X, y, {"C": [C], "box__mu": [mu / C for mu in MU]}) for C in nu]
        return plain + [fitted for path in told for fitted in path]

    errors = left_out_errors(fits, X, y, step)
    without, told = errors[: len(nu)], errors[len(nu) :].reshape(len(nu), len(MU))
    table = Table(
        f"DNA promoters, leave-one-out errors of {len(range(0, len(y), step))}, 1-norm linear model; "
        "always one class: half of them",
        "nu", "without", *(f"rules, mu={mu:g}" for mu in MU), "reference without", "reference with",
    )  # fmt: skip
    for value, plain, with_rules in zip(nu, without, told, strict=True):
        table.row(value, int(plain), *map(int, with_rules), *REFERENCE[value])
    return table.end()
