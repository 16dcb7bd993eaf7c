"""Write one saved model for each kind of state that a file can contain.

Run ``python tests/io/make_saved.py FOLDER``, or ``FOLDER regions`` for region blocks of format 2. FOLDER
receives ``<case>.skops.xz`` for each case and ``values.json`` with rows and the values of the decision
function at these rows. ``types.txt`` receives the
names and attributes of the classes that a file can contain. ``priorsvm.save`` does not compress. The
compression by xz keeps the repository small and is undone before ``priorsvm.load``.

A folder ``saved*`` next to this script is read by ``test_old_files.py``. Files of a later format belong in a
new folder, such as ``saved_format_2``. Do not replace files of an earlier format.
"""

import json
import lzma
import sys
import tempfile
import zipfile
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import priorsvm
from priorsvm import (
    RBF,
    Box,
    ClassCosts,
    Ellipsoid,
    HaarIntegration,
    InvarianceHint,
    InvariantLoss,
    Jitter,
    Kernel,
    Knowledge,
    MissingValues,
    Monotone,
    OddnessHint,
    Polyhedron,
    PriorSVC,
    Reflection,
    Region,
    Rotation,
    RowPermutations,
    Rule,
    SampleCosts,
    Shift,
    Spectral,
    TangentDistance,
    TangentPenalty,
    Trajectories,
    Transductive,
    Transform,
    Translation,
    UncertainSamples,
    VirtualSamples,
    VirtualSupportVectors,
)
from priorsvm.io.schema import full_name, nodes


def plane(n=24):
    """Return rows in two columns, and their classes."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(n, 2)), 2)
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.4 * rng.normal(size=n) > 0.4, "ill", "well")
    return X, y


def three():
    """Return rows of three classes in two columns."""
    rng = np.random.default_rng(1)
    y = np.repeat(["a", "b", "c"], 8)
    middle = np.repeat([[0.0, 0.0], [1.5, 0.5], [0.5, 1.5]], 8, axis=0)
    return np.round(middle + 0.6 * rng.normal(size=(24, 2)), 2), y


def images(n=16):
    """Return images of four by four pixels: vertical bars and horizontal bars."""
    rng = np.random.default_rng(2)
    y = np.arange(n) % 2
    X = 0.3 * rng.random((n, 4, 4))
    for i in range(n):
        bar = rng.integers(1, 3)
        if y[i]:
            X[i, :, bar] += 0.8
        else:
            X[i, bar, :] += 0.8
    return np.round(X.reshape(n, 16), 2), y


def gaps():
    """Return rows of the plane with missing entries."""
    X, y = plane()
    X = np.column_stack([X, np.round(X[:, 0] - 0.5 * X[:, 1], 1)])
    X[np.random.default_rng(3).random(X.shape) < 0.15] = np.nan
    return X, y


def matrices():
    """Return matrices of three rows and two columns, flattened, with rows in random order."""
    rng = np.random.default_rng(4)
    middle = rng.normal(size=(3, 2))
    change = rng.normal(size=(3, 2))
    y = np.arange(20) % 2
    Z = 2 * middle + np.where(y, 0.5, -0.5)[:, None, None] * change + 0.3 * rng.normal(size=(20, 3, 2))
    mixed = np.array([rng.permutation(z) for z in Z])
    return np.round(mixed.reshape(20, 6), 2), y


def sparse():
    """Return sparse rows of eight columns."""
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=(30, 8)) * (rng.random((30, 8)) < 0.3), 2)
    y = (X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=30) > 0).astype(int)
    return csr_array(X), y


RULE = "x0 between -1.5 and -0.5 and x1 between -0.5 and 0.5"
TURN = Rotation((4, 4), degrees=20)
MOVE = Translation((4, 4))
STEP = Shift([0.1, 0.0])

CASES = {
    "linear_rule": (lambda: PriorSVC(Rule(RULE, "well", holds="everywhere") + ClassCosts({"ill": 2})), plane),
    "rbf_rule_cuts": (
        lambda: PriorSVC(Rule(RULE, "well", mu=2.5, method="cuts"), kernel=RBF(0.5), C=2),
        plane,
    ),
    "rbf_box_guaranteed": (
        lambda: PriorSVC(
            Box({0: (-1.0, -0.8), 1: (-0.2, 0.2)}, "well", method="guaranteed"), kernel=RBF(0.2)
        ),
        plane,
    ),
    "rbf_monotone": (lambda: PriorSVC(Monotone({0: -1}, mu=5.0, holds="everywhere"), kernel=RBF(0.3)), plane),
    "linear_rule_on_rows": (lambda: PriorSVC(Rule("x0 <= -0.5 or x1 >= 1", "well")), plane),
    "rbf_monotone_on_rows": (lambda: PriorSVC(Monotone({0: -1}, mu=5.0), kernel=RBF(0.3)), plane),
    "rbf_tangent_penalty": (lambda: PriorSVC(TangentPenalty(STEP, gamma=2.0), kernel=RBF(0.5)), plane),
    "trajectories": (lambda: PriorSVC(Trajectories(TURN), C=5), images),
    "uncertain_samples": (lambda: PriorSVC(UncertainSamples([0.2, 0.1]), kernel=RBF(0.5)), plane),
    "missing_values": (lambda: PriorSVC(MissingValues()), gaps),
    "invariant_loss_columns": (lambda: PriorSVC(InvariantLoss(MOVE), kernel=RBF(0.3), C=5), images),
    "joint": (lambda: PriorSVC(multi_class="joint", kernel=RBF(0.5)), three),
    "three_classes": (
        lambda: PriorSVC(Rule("x0 >= 1.5 and x1 <= 0.5", "b", holds="everywhere") + ClassCosts("balanced")),
        three,
    ),
    "scale_standard": (
        lambda: PriorSVC(OddnessHint(mu=2.0) + InvarianceHint(STEP), scale="standard", kernel=RBF(0.5)),
        plane,
    ),
    "nystroem": (
        lambda: PriorSVC(InvarianceHint(STEP), kernel=RBF(0.5), n_centres=6, random_state=0),
        plane,
    ),
    "norm_l1": (lambda: PriorSVC(kernel=RBF(0.5), norm="l1", C=3), plane),
    "pipeline": (
        lambda: make_pipeline(StandardScaler(), PriorSVC(ClassCosts("balanced"), kernel="rbf")),
        plane,
    ),
    "haar_integration": (
        lambda: PriorSVC(kernel=HaarIntegration(RBF(0.4), Reflection(axis=1, shape=(4, 4)))),
        images,
    ),
    "tangent_distance_clip": (lambda: PriorSVC(kernel=TangentDistance(0.3, TURN, psd="clip")), images),
    "jitter_l1": (lambda: PriorSVC(kernel=Jitter(RBF(0.4), MOVE), norm="l1"), images),
    "row_permutations": (lambda: PriorSVC(RowPermutations((3, 2), rho=10.0), C=0.5), matrices),
    "sparse": (lambda: PriorSVC(ClassCosts({1: 2})), sparse),
    "virtual_support_vectors": (lambda: PriorSVC(VirtualSupportVectors(STEP), kernel=RBF(0.5)), plane),
    "transductive": (
        lambda: PriorSVC(
            Transductive([[0.1, 0.2], [1.0, 0.1], [-0.6, 0.4], [0.9, -0.2]], n_positive={"ill": 2})
            + VirtualSamples(STEP),
            kernel=RBF(0.5),
        ),
        plane,
    ),
    "margins": (lambda: PriorSVC(SampleCosts(margins=np.linspace(0.5, 1.5, 24)), kernel=RBF(0.5)), plane),
    "unfitted_prior": (
        lambda: (
            ClassCosts({"ill": 2.0})
            + 0.5 * Rule(RULE, "well", hard=True).named("expert")
            + Monotone({0: 1}, label="ill", holds="everywhere")
            + InvariantLoss(MOVE)
        ),
        None,
    ),
}


# Region blocks as of format 2, without ``holds`` and with weights that are not numbers of rows. The last
# version before format 3 has written them to ``saved2``. Today's version makes other models of them.
SIDES = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
ENDS = [-0.5, 1.5, 0.5, 0.5]
BOX = {0: (-1.5, -0.5), 1: (-0.5, 0.5)}
POINTS = np.array([[0.5, 0.5], [1.0, 0.2], [0.2, 1.0]])
WIDE = {"kernel": RBF(0.3), "C": 4.0}
RESIDUALS = Polyhedron(SIDES, ENDS, "well", mu=0.6, mu_residual=0.2)
REGIONS_OF_FORMAT_2 = {
    "rule_soft": (lambda: PriorSVC(Rule(f"{RULE} or x0 <= -2", "well", mu=0.6), C=3.0), plane),
    "rule_hard": (lambda: PriorSVC(Rule(RULE, "well", hard=True), **WIDE), plane),
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
        lambda: 0.5 * Rule(RULE, "well").named("expert") + Monotone({0: 1}, label="ill", mu=3.0),
        None,
    ),
}


def new_rows(X):
    """Return rows that are not training rows."""
    if isinstance(X, csr_array):
        X = X.toarray()
    rng = np.random.default_rng(6)
    return np.round(X[:5] + 0.1 * rng.normal(size=X[:5].shape), 2)


def record(model, X):
    """Return rows, values of the decision function, and facts about a fitted model."""
    rows = new_rows(X)
    values = model.decision_function(csr_array(rows) if isinstance(X, csr_array) else rows)
    last = model[-1] if hasattr(model, "steps") else model
    verified = last.verify()
    return {
        "rows": [[None if np.isnan(value) else value for value in row] for row in rows.tolist()],
        "values": values.tolist(),
        "sparse": isinstance(X, csr_array),
        "solver": last.solver_,
        "objective": last.objective_,
        "verify": {name: verified[name].holds for name in verified},
    }


def write(model, path):
    """Save a model, compress the file, and return the names of the trusted classes in it."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "model.skops")
        priorsvm.save(model, plain)
        path.write_bytes(lzma.compress(plain.read_bytes(), preset=9))
        with zipfile.ZipFile(plain) as archive:
            schema = json.loads(archive.read("schema.json"))
    return {name for name in map(full_name, nodes(schema)) if name.startswith("priorsvm.")}


def describe(name):
    """Return the name of a class and the names of its attributes, in one line."""
    module, _, kind = name.rpartition(".")
    kind = getattr(import_module(module), kind)
    attributes = []
    if is_dataclass(kind):
        attributes = [field.name for field in fields(kind)]
    elif issubclass(kind, BaseEstimator):
        attributes = kind._get_param_names()
    return " ".join([name, *attributes])


def public_parts():
    """Return the names of the public blocks, kernels and transforms."""
    kinds = [getattr(priorsvm, name) for name in priorsvm.__all__]
    bases = (Kernel, Knowledge, Spectral, Transform)
    parts = [
        kind for kind in kinds if isinstance(kind, type) and issubclass(kind, bases) and kind not in bases
    ]
    return {f"{kind.__module__}.{kind.__name__}" for kind in parts}


def main(folder, cases):
    """Fit every case, save each model, and record values of each decision function."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    recorded = {}
    types = public_parts()
    for name, (make, data) in cases.items():
        model = make()
        if data is None:
            recorded[name] = {"names": model.names}
        else:
            X, y = data()
            model.fit(X, y)
            recorded[name] = record(model, X)
            if cases is REGIONS_OF_FORMAT_2:
                recorded[name]["training"] = {"X": X.tolist(), "y": y.tolist()}
        path = folder / f"{name}.skops.xz"
        types |= write(model, path)
        print(f"{path.stat().st_size:7d} bytes  {name}")
    (folder / "types.txt").write_text("\n".join(map(describe, sorted(types))) + "\n")
    lines = [f"{json.dumps(name)}: {json.dumps(entry, allow_nan=False)}" for name, entry in recorded.items()]
    (folder / "values.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["regions"]):
        sys.exit("usage: python tests/io/make_saved.py FOLDER [regions]")
    main(sys.argv[1], REGIONS_OF_FORMAT_2 if sys.argv[2:] else CASES)
