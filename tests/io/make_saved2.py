"""Write saved models of format 2 with one region block each, for ``test_old_files.py``.

The files in ``saved2`` were written by the last version of priorsvm before format 3:
``python tests/io/make_saved2.py FOLDER``. In that version a region block has no ``holds`` and its weight is
not a number of rows. With today's version the script writes other models, so do not replace the files.
"""

import json
import sys
from pathlib import Path

import make_saved
import numpy as np
from make_saved import plane, three
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from priorsvm import RBF, Box, ClassCosts, Ellipsoid, Monotone, Polyhedron, PriorSVC, Region, Rule

SIDES = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
ENDS = [-0.5, 1.5, 0.5, 0.5]
BOX = {0: (-1.5, -0.5), 1: (-0.5, 0.5)}
POINTS = np.array([[0.5, 0.5], [1.0, 0.2], [0.2, 1.0]])
TEXT = make_saved.RULE
WIDE = {"kernel": RBF(0.3), "C": 4.0}
RESIDUALS = Polyhedron(SIDES, ENDS, "well", mu=0.6, mu_residual=0.2)
CASES = {
    "rule_soft": (lambda: PriorSVC(Rule(f"{TEXT} or x0 <= -2", "well", mu=0.6), C=3.0), plane),
    "rule_hard": (lambda: PriorSVC(Rule(TEXT, "well", hard=True), **WIDE), plane),
    "box_soft": (lambda: PriorSVC(0.5 * Box(BOX, "well", mu=2.0) + ClassCosts({"ill": 2}), C=0.25), plane),
    "box_hard": (lambda: PriorSVC(Box(BOX, "well", hard=True), C=3.0, scale="standard"), plane),
    "polyhedron_residuals": (lambda: PriorSVC(RESIDUALS, C=3.0), plane),
    "polyhedron_hard": (
        lambda: PriorSVC(Polyhedron(SIDES, ENDS, "well", hard=True, method="points", points=16), **WIDE),
        plane,
    ),
    "ellipsoid_soft": (lambda: PriorSVC(Ellipsoid([-1.0, 0.0], 0.5, "well"), **WIDE), plane),
    "ellipsoid_hard": (lambda: PriorSVC(Ellipsoid([-1.0, 0.0], 0.5, "well", hard=True), C=3.0), plane),
    "region_soft": (lambda: PriorSVC(Region(np.negative, POINTS, "ill", mu=2.0), **WIDE), plane),
    "region_hard": (lambda: PriorSVC(Region(np.negative, POINTS, "ill", hard=True), C=3.0), plane),
    "monotone_soft": (lambda: PriorSVC(Monotone({0: -1}, mu=0.5), **WIDE), plane),
    "monotone_hard": (lambda: PriorSVC(Monotone({0: -1}, hard=True), C=3.0), plane),
    "three_classes_soft": (lambda: PriorSVC(Rule("x0 >= 1.5 and x1 <= 0.5", "b", mu=3.0), C=2.0), three),
    "pipeline_rule": (
        lambda: make_pipeline(StandardScaler(), PriorSVC(Rule("x0 <= -0.5", "well"), C=5.0)),
        plane,
    ),
    "unfitted_prior": (
        lambda: 0.5 * Rule(TEXT, "well").named("expert") + Monotone({0: 1}, label="ill", mu=3.0),
        None,
    ),
}


def main(folder):
    """Write the files, and the training rows beside the recorded values."""
    make_saved.CASES = CASES
    make_saved.main(folder)
    path = Path(folder, "values.json")
    recorded = json.loads(path.read_text())
    for name, (_, data) in CASES.items():
        if data is not None:
            X, y = data()
            recorded[name]["training"] = {"X": X.tolist(), "y": y.tolist()}
    lines = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in recorded.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tests/io/make_saved2.py FOLDER")
    main(sys.argv[1])
