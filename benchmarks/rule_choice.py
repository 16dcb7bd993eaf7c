"""How ``mu="auto"`` chooses: the largest cross-validated AUC against the AUC after shrinkage.

``python -m benchmarks.rule_choice`` prints gains over the plain SVM on the development tables.
The study of rules reports other tables.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence

import numpy as np

from priorsvm.weights import FACTORS, ChosenWeight

from .rule_development import DEVELOPMENT
from .rule_tables import StudyTable
from .rules import FEWEST_TESTED, KERNELS, PLAIN, Draw, blocks, standard_weight, svm

CHOICES = ("largest AUC", "after shrinkage", "factor 1")


def choice(found: ChosenWeight) -> dict[str, float]:
    """Return the factor of each way to choose."""
    shrunken = found.shrunken
    return {
        "largest AUC": max(FACTORS, key=lambda a: round(found.scores[a], 12)),
        "after shrinkage": max(FACTORS, key=lambda a: round(shrunken[a], 12)),
        "factor 1": 1.0,
    }


def gains(study: StudyTable, n: int, kind: str, draws: int) -> np.ndarray:
    """Return gains of AUC in points, an array of shape (draws, kernels, choices)."""
    found = np.zeros((draws, len(KERNELS), len(CHOICES)))
    rules = study.rules[kind]
    weight = standard_weight(rules, study.columns, n)
    for seed in range(draws):
        draw = Draw(study, n, seed)
        for k, kernel in enumerate(KERNELS):
            plain = dict(draw.of_kernel(kernel, []))[PLAIN][0]
            auto = svm(blocks(rules, study.columns), kernel).fit(draw.X, draw.y)
            factors = choice(next(iter(auto.findings_.values())).weight)
            for c, way in enumerate(CHOICES):
                if factors[way] > 0:
                    prior = blocks(rules, study.columns, factors[way] * weight)
                    found[seed, k, c] = draw.found(svm(prior, kernel).fit(draw.X, draw.y))[0] - plain
    return found


def main(argv: Sequence[str] | None = None) -> None:
    """Print the mean gains of each way to choose, with standard errors."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rule_choice", description=__doc__)
    parser.add_argument("tables", nargs="*", default=list(DEVELOPMENT), help=", ".join(DEVELOPMENT))
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--kinds", nargs="*", default=["right", "reversed", "weak", "idle"])
    arguments = parser.parse_args(argv)
    studies = [DEVELOPMENT[name]() for name in arguments.tables]
    studies = [study for study in studies if (len(study.y) - arguments.rows) // 2 >= FEWEST_TESTED]
    warnings.simplefilter("ignore")
    for kind in arguments.kinds:
        tables = [gains(study, arguments.rows, kind, arguments.draws) for study in studies]
        mean = np.mean([table.mean(axis=(0, 1)) for table in tables], axis=0)
        # The kernels share their draws, so the mean over the kernels of a draw is one observation.
        variances = [table.mean(axis=1).var(axis=0, ddof=1) / arguments.draws for table in tables]
        error = np.sqrt(np.mean(variances, axis=0) / len(tables))
        cells = [f"{way} {m:+.2f} ± {e:.2f}" for way, m, e in zip(CHOICES, mean, error, strict=True)]
        print(f"{kind}, {len(tables)} tables, {arguments.rows} rows: {', '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
