"""Rules that hold everywhere on RBF models, soft and hard, against ``SVC.fit`` on the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from priorsvm import RBF, Box, PriorSVC

from .measure import Array, Row, interleaved, quietly
from .regions import _upper_quarter

SOFT = 30.0
HARD = 200.0
C = 10.0


def rules_everywhere(quick: bool) -> Iterator[Row]:
    """Return fits of a rule in the two columns of the largest correlation, soft and hard."""
    for name, X, labels in _tables(quick):
        correlation = [np.corrcoef(column, labels)[0, 1] for column in X.T]
        best = np.argsort(-np.abs(correlation))[:2]
        bounds = {int(j): _upper_quarter(X[:, j], correlation[j]) for j in best}
        svc = SVC(C=C, gamma="scale")
        Z = StandardScaler().fit_transform(X)
        blocks = {
            "soft": (Box(bounds, 1, mu=10.0, holds="everywhere"), SOFT),
            "hard": (Box(bounds, 1, hard=True), HARD),
        }
        for kind, (block, target) in blocks.items():
            model = PriorSVC(block, C=C, kernel=RBF("scale"), scale="standard")
            timing, ours, _ = interleaved(
                partial(quietly, model.fit, X, labels), partial(svc.fit, Z, labels), least=1, most=5
            )
            worst = ours.verify().checks[0].verdict.worst
            note = f"{ours.n_rounds_} rounds, worst {worst:+.0e}, objective {ours.objective_:.6f}"
            yield Row.of("seconds_regions", f"{kind} rule, RBF, {name}", "SVC.fit", timing, target, note=note)


def _tables(quick: bool) -> Iterator[tuple[str, Array, Array]]:
    """Yield tables of 200 to 800 rows and 8 to 30 columns."""
    for n, d in ((200, 8),) if quick else ((200, 8), (400, 13), (768, 8)):
        X, labels = make_classification(
            n, d, n_informative=min(d, 6), n_redundant=0, flip_y=0.05, random_state=1
        )
        yield f"{n} x {d}", X, labels
    if not quick:
        X, labels = load_breast_cancer(return_X_y=True)
        yield "breast cancer, 569 x 30", X, labels
