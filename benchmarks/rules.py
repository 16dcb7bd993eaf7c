"""Do rules help? Area under the ROC curve with right, weak, idle and reversed rules, at 10 to 200 rows.

``python -m benchmarks rules`` prints the tables. ``python -m benchmarks.rules`` also writes them to
docs/evidence, from where the page *Does it help?* includes them.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from priorsvm import Monotone, PriorSVC, Rule
from priorsvm.errors import DataNotFound
from priorsvm.prior import as_prior
from priorsvm.sample import Sample
from priorsvm.validation import make_task

from .measure import Array, Row, interleaved, quietly, table
from .rule_checks import checked
from .rule_tables import ANY, CLINICAL, REAL, SYNTHETIC, Stated, StudyTable

SIZES = (10, 20, 40, 80, 200)
DRAWS = 20
# Weak and idle rules are tried at these numbers of rows only, to save time.
ALL_KINDS = (20,)
KERNELS = ("linear", "rbf")
# Unlabelled rows, at most a half of the rows that are not used for training.
UNLABELED = 200
FEWEST_TESTED = 12
MOST_TESTED = 1000
PLAIN = "SVM"
EVIDENCE = Path(__file__).parents[1] / "docs/evidence/rules.json"
# Group of tables -> its name in the table of targets.
GROUPS = {"real": "public tables", "clinical": "clinical tables", "synthetic": "synthetic tables"}
# With a plain AUC above this number no rule can add three points or more.
NO_ROOM = 95.0
# Numbers of rows for the checks of rules against the rows.
CHECKED = (20, 40, 80)
# Mean gains in points of AUC: model, n, at least.
TARGETS = (("right", 20, 3.0), ("right", 80, 0.8), ("reversed", 20, -2.5))

# Model -> what it is, in the order of the tables.
MODELS = {
    "right": "right rules, mu='auto'",
    "right, a = 1": "right rules, standard weight",
    "right, unlabelled": "right rules, mu='auto', up to 200 unlabelled rows",
    "weak": "weak rules, mu='auto'",
    "weak, a = 1": "weak rules, standard weight",
    "idle": "idle rules, mu='auto'",
    "idle, a = 1": "idle rules, standard weight",
    "reversed": "reversed rules, mu='auto'",
    "reversed, a = 1": "reversed rules, standard weight",
    "monotone": "directions of columns, standard weight",
    "feature": "plain SVM, each right rule as a 0/1 column",
    "labelling": "plain SVM, unlabelled rows with the label of the right rules",
    "logistic": "logistic regression",
    "logistic, rows": "logistic regression with the rows of 'right, a = 1'",
    "boosting": "HistGradientBoosting with monotonic_cst",
}


# ---------------------------------------------------------------------- models


def blocks(rules: Sequence[Stated], columns: list[str], mu: Any = "auto", unlabeled: Any = None) -> Any:
    """Return the sum of the rules."""
    said = [Rule(rule.text, rule.label, mu=mu, columns=columns, unlabeled=unlabeled) for rule in rules]
    return sum(said[1:], as_prior(said[0]))


def standard_weight(rules: Sequence[Stated], columns: list[str], n: int) -> float:
    """Return the weight of each rule at a = 1."""
    first = Rule(rules[0].text, rules[0].label, columns=columns)
    return first.standard_weight(n, len(rules))


def svm(prior: Any, kernel: str) -> PriorSVC:
    return PriorSVC(prior, kernel=kernel, C=1.0, scale="standard")


def covered(rule: Stated, columns: list[str], X: Array) -> Any:
    """Return a mask of the rows for which a rule holds."""
    classes = np.array([0, 1])
    labels = np.resize(classes, len(X))
    sample = Sample.training(X, labels, classes, positive=1)
    requirements = Rule(rule.text, rule.label, columns=columns).row_requirements(sample)
    return np.any([requirement.region.contains(X) for requirement in requirements], axis=0)


def added_rows(prior: Any, X: Array, y: Array) -> tuple[Array, Array, Array]:
    """Return the rows, labels and weights that rules on rows add, and the training rows before them."""
    task = make_task(PriorSVC(prior, scale="standard"), X, y, None, {})
    sample = task.samples[0]
    rows = [X]
    labels = [y]
    weights = [np.ones(len(y))]
    for _, block, _ in task.prior:
        state = block.start(sample)
        count = sum(map(len, state.points))
        for requirement, points in zip(state.requirements, state.points, strict=True):
            rows.append(points)
            labels.append(np.full(len(points), int(requirement.sign > 0)))
            weights.append(np.full(len(points), block.mu / count))
    return np.vstack(rows), np.concatenate(labels), np.concatenate(weights)


class Draw:
    """One draw of training rows, unlabelled rows and test rows."""

    def __init__(self, study: StudyTable, n: int, seed: int):
        self.study = study
        self.n = n
        train, rest = train_test_split(
            np.arange(len(study.y)), train_size=n, stratify=study.y, random_state=seed
        )
        self.X = study.X[train]
        self.y = study.y[train]
        unlabeled = min(UNLABELED, len(rest) // 2)
        self.unlabeled = study.X[rest[:unlabeled]]
        test = rest[unlabeled : unlabeled + MOST_TESTED]
        self.X_test = study.X[test]
        self.y_test = study.y[test]

    def found(self, model: Any, X_test: Array | None = None) -> tuple[float, float]:
        """Return the AUC and the accuracy on the test rows, in per cent."""
        X = self.X_test if X_test is None else X_test
        right = float(np.mean(model.predict(X) == self.y_test))
        scores = model.decision_function(X)
        return 100 * float(roc_auc_score(self.y_test, scores)), 100 * right

    def of_kernel(self, kernel: str, names: Sequence[str]) -> Iterator[tuple[str, tuple[float, float]]]:
        """Yield the results of the plain SVM and of SVMs with knowledge."""
        study = self.study
        columns = study.columns
        yield PLAIN, self.found(svm(None, kernel).fit(self.X, self.y))
        for name in names:
            kind, _, how = name.partition(", ")
            if kind in study.rules:
                rules = study.rules[kind]
                mu: Any = standard_weight(rules, columns, self.n) if how == "a = 1" else "auto"
                pool = self.unlabeled if how == "unlabelled" else None
                model = svm(blocks(rules, columns, mu, pool), kernel)
                yield name, self.found(model.fit(self.X, self.y))
        if "monotone" in names:
            directions = {columns.index(c): sign for c, sign in study.directions.items()}
            known = Monotone(directions, mu=30.0)
            yield "monotone", self.found(svm(known, kernel).fit(self.X, self.y))
        if "feature" in names:
            wide = [np.column_stack([X, self._holds(X)]) for X in (self.X, self.X_test)]
            yield "feature", self.found(svm(None, kernel).fit(wide[0], self.y), wide[1])
        if "labelling" in names:
            yield "labelling", self.found(svm(None, kernel).fit(*self._labelled()))

    def of_peers(self, names: Sequence[str]) -> Iterator[tuple[str, tuple[float, float]]]:
        """Yield the results of models that are not SVMs."""
        study = self.study
        if "logistic" in names:
            yield "logistic", self._logistic(self.X, self.y, np.ones(self.n))
        if "logistic, rows" in names:
            weight = standard_weight(study.right, study.columns, self.n)
            rows = added_rows(blocks(study.right, study.columns, weight), self.X, self.y)
            yield "logistic, rows", self._logistic(*rows)
        if "boosting" in names:
            signs = [study.directions.get(column, 0) for column in study.columns]
            leaf = max(2, self.n // 10)  # 20, the default, leaves a constant model at 20 rows
            trees = HistGradientBoostingClassifier(
                monotonic_cst=signs, min_samples_leaf=leaf, max_iter=50, early_stopping=False, random_state=0
            )
            yield "boosting", self.found(trees.fit(self.X, self.y))

    def _holds(self, X: Array) -> Array:
        return np.column_stack([covered(rule, self.study.columns, X) for rule in self.study.right]).astype(
            float
        )

    def _labelled(self) -> tuple[Array, Array]:
        """Return the training rows, and the unlabelled rows on which the rules agree."""
        signs = np.array([2 * rule.label - 1 for rule in self.study.right])
        votes = self._holds(self.unlabeled) @ signs
        X = np.vstack([self.X, self.unlabeled[votes != 0]])
        return X, np.concatenate([self.y, (votes[votes != 0] > 0).astype(int)])

    def _logistic(self, X: Array, y: Array, weight: Array) -> tuple[float, float]:
        scaler = StandardScaler().fit(self.X)
        model = LogisticRegression(C=1.0).fit(scaler.transform(X), y, sample_weight=weight)
        return self.found(model, scaler.transform(self.X_test))


# ---------------------------------------------------------------------- the study


def study_table(
    study: StudyTable, sizes: Sequence[int], draws: int, names: Sequence[str], kernels: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the mean AUC of the plain model, and differences to it, by kernel and number of rows."""
    found = []
    for n in sizes:
        if (len(study.y) - n) // 2 < FEWEST_TESTED:
            continue
        some = [name for name in names if n in ALL_KINDS or not name.startswith(("weak", "idle"))]
        runs: dict[str, list[dict[str, tuple[float, float]]]] = {kernel: [] for kernel in kernels}
        for seed in range(draws):
            draw = Draw(study, n, seed)
            peers = dict(draw.of_peers(some))
            for kernel in kernels:
                runs[kernel].append(dict(draw.of_kernel(kernel, some)) | peers)
        found += [_summary(study.name, kernel, n, draws_of) for kernel, draws_of in runs.items()]
    return found


def _summary(name: str, kernel: str, n: int, runs: list[dict[str, tuple[float, float]]]) -> dict[str, Any]:
    """Return means over the draws: AUC of the plain model, and gains with their standard errors."""
    models = {}
    for model in MODELS:
        if model in runs[0]:
            gains = np.array([np.subtract(run[model], run[PLAIN]) for run in runs])
            error = gains.std(axis=0, ddof=1) / np.sqrt(len(runs))
            models[model] = [round(float(v), 2) for v in (gains[:, 0].mean(), error[0], gains[:, 1].mean())]
    plain = np.mean([run[PLAIN] for run in runs], axis=0)
    return {
        "table": name,
        "kernel": kernel,
        "n": n,
        "draws": len(runs),
        "plain": [round(float(v), 2) for v in plain],
        "gains": models,
    }


def speed(quick: bool) -> Iterator[Row]:
    """One rule against scikit-learn's SVC: a fixed weight, and mu='auto' against as many fits as it takes."""
    sizes = [(100, 5)] if quick else [(20, 5), (100, 5), (200, 10), (400, 20), (800, 30)]
    for n, d in sizes:
        X, y = make_classification(n, d, n_informative=3, n_redundant=0, flip_y=0.1, random_state=0)
        for kernel in KERNELS:
            yield _timed(f"one Rule, {kernel}, {n} x {d}", 5.0, X, y, kernel, 1, 4.0)
        fits = 80 if n == 20 else 20  # four factors, five folds, drawn four times at 20 rows
        for kernel in KERNELS[: 0 if quick else 2]:
            yield _timed(f"one Rule, mu='auto', {kernel}, {n} x {d}", "auto", X, y, kernel, fits, 3.0)


def _timed(work: str, mu: Any, X: Array, y: Array, kernel: str, fits: int, target: float) -> Row:
    model = PriorSVC(Rule("x0 >= 1", 1, mu=mu), kernel=kernel)
    peer = SVC(kernel=kernel)

    def of_peer() -> None:
        for _ in range(fits):
            peer.fit(X, y)

    timing, _, _ = interleaved(lambda: quietly(model.fit, X, y), of_peer, least=5, most=31, seconds=0.5)
    return Row.of("rules_speed", work, "SVC" if fits == 1 else f"{fits} fits of SVC", timing, target)


# ---------------------------------------------------------------------- tables


def mean_gain(found: Sequence[dict[str, Any]], model: str, n: int) -> tuple[float, float, int] | None:
    """Return the mean gain over tables and kernels, its standard error, and the number of tables."""
    gains = [row["gains"][model] for row in found if row["n"] == n and model in row["gains"]]
    if not gains:
        return None
    mean, error = np.array(gains)[:, 0], np.array(gains)[:, 1]
    tables = {row["table"] for row in found if row["n"] == n and model in row["gains"]}
    # The kernels share their draws, so their errors are not independent.
    return float(mean.mean()), float(np.sqrt(np.mean(error**2) / len(tables))), len(tables)


def _cell(gain: tuple[float, float, int] | None) -> str:
    return "–" if gain is None else f"{gain[0]:+.1f} ± {gain[1]:.1f}"


def overview(found: Sequence[dict[str, Any]]) -> str:
    """Format mean gains by model and number of rows."""
    sizes = sorted({row["n"] for row in found})
    head = ["model", *(f"n = {n}" for n in sizes)]
    lines = [head, ["---"] * len(head)]
    lines.append(["tables", *(str(len({row["table"] for row in found if row["n"] == n})) for n in sizes)])
    draws = [sorted({row["draws"] for row in found if row["n"] == n}) for n in sizes]
    lines.append(["draws of each table", *("–".join(map(str, sorted({d[0], d[-1]}))) for d in draws)])
    plain = [np.mean([row["plain"][0] for row in found if row["n"] == n]) for n in sizes]
    lines.append(["AUC of the plain SVM", *(f"{value:.1f}" for value in plain)])
    for model in MODELS:
        cells = [_cell(mean_gain(found, model, n)) for n in sizes]
        if set(cells) != {"–"}:
            lines.append([model, *cells])
    return _markdown(lines)


def by_table(found: Sequence[dict[str, Any]], n: int, models: Sequence[str]) -> str:
    """Format gains table by table at one number of rows, as means over the kernels."""
    some = [row for row in found if row["n"] == n]
    head = ["table", "plain AUC", *models]
    lines = [head, ["---"] * len(head)]
    for name in dict.fromkeys(row["table"] for row in some):
        rows = [row for row in some if row["table"] == name]
        plain = np.mean([row["plain"][0] for row in rows])
        lines.append([name, f"{plain:.1f}", *(_cell(mean_gain(rows, model, n)) for model in models)])
    return _markdown(lines)


def by_kernel(found: Sequence[dict[str, Any]], models: Sequence[str]) -> str:
    """Format mean gains by kernel and number of rows."""
    sizes = sorted({row["n"] for row in found})
    head = ["kernel", "model", *(f"n = {n}" for n in sizes)]
    lines = [head, ["---"] * len(head)]
    for kernel in dict.fromkeys(row["kernel"] for row in found):
        some = [row for row in found if row["kernel"] == kernel]
        lines += [[kernel, model, *(_cell(mean_gain(some, model, n)) for n in sizes)] for model in models]
    return _markdown(lines)


def accuracy(found: Sequence[dict[str, Any]], models: Sequence[str]) -> str:
    """Format mean gains of accuracy."""
    sizes = sorted({row["n"] for row in found})
    head = ["model", *(f"n = {n}" for n in sizes)]
    plain = [np.mean([row["plain"][1] for row in found if row["n"] == n]) for n in sizes]
    lines = [head, ["---"] * len(head), ["plain SVM, accuracy in %", *(f"{value:.1f}" for value in plain)]]
    for model in models:
        gains = [[r["gains"][model][2] for r in found if r["n"] == n and model in r["gains"]] for n in sizes]
        lines.append([model, *(f"{np.mean(some):+.1f}" if some else "–" for some in gains)])
    return _markdown(lines)


def targets(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each target with what was found."""
    rows = []
    for model, n, least in TARGETS:
        gain = mean_gain(found, model, n)
        if gain is not None:
            rows.append({"model": model, "n": n, "target": least, "found": gain[0], "met": gain[0] >= least})
    return rows


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


# ---------------------------------------------------------------------- the command


def _available(names: Sequence[str]) -> Iterator[tuple[str, StudyTable]]:
    """Yield the tables whose data are available."""
    for name in names:
        make: Callable[[], StudyTable] = ANY[name]
        try:
            yield name, make()
        except DataNotFound as error:
            print(f"{name}: skipped, {error}\n")


def measured(
    names: Sequence[str], sizes: Sequence[int], draws: int, models: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the results on some tables."""
    found: list[dict[str, Any]] = []
    for name, study in _available(names):
        group = _group(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = study_table(study, sizes, draws, models, KERNELS)
        found += [{"group": group, **row} for row in rows]
        print(f"{study.name}: done", flush=True)
    return found


def _group(name: str) -> str:
    """Return the group of a table."""
    if name in CLINICAL:
        return "clinical"
    return "synthetic" if name in SYNTHETIC else "real"


def rules(quick: bool) -> list[dict[str, Any]]:
    """Print the tables of the study, and the time of a fit."""
    if quick:
        models = ["right", "right, a = 1", "reversed", "logistic, rows", "monotone", "boosting", "labelling"]
        found = measured(["diabetes", "suppressor"], (20,), 2, [*models, "feature", "logistic"])
    else:
        found = measured(list(ANY), SIZES, DRAWS, list(MODELS))
    for group, words in GROUPS.items():
        some = [row for row in found if row["group"] == group]
        if some:
            print(f"\nGains over the plain SVM in points of AUC, {words}\n\n{overview(some)}", flush=True)
    reached = targets([row for row in found if row["group"] != "synthetic"])
    for row in reached:
        verdict = "met" if row["met"] else "missed"
        print(f"{row['model']}, n = {row['n']}: {row['found']:+.2f}, target {row['target']:+g} {verdict}")
    print()
    return found + reached + [row.as_dict() for row in table(speed(quick))]


def main(argv: Sequence[str] | None = None) -> None:
    """Measure some tables and write the results next to the page that includes them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rules", description=__doc__)
    parser.add_argument("tables", nargs="*", default=list(ANY), help=f"which tables: {', '.join(ANY)}")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument(
        "--models", nargs="*", choices=MODELS, default=list(MODELS), help="models to measure; others are kept"
    )
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument(
        "--pages", action="store_true", help="write the pages from the results, measure nothing"
    )
    parser.add_argument("--describe", action="store_true", help="write the list of tables")
    parser.add_argument("--save", type=Path, default=EVIDENCE, help="the file of the results")
    parser.add_argument("--speed", action="store_true", help="measure the time of a fit")
    parser.add_argument("--checks", action="store_true", help="measure the checks against the rows")
    arguments = parser.parse_args(argv)
    saved: dict[str, Any] = {"tables": [], "gains": [], "speed": [], "checks": []}
    if arguments.save.exists():
        saved |= json.loads(arguments.save.read_text(encoding="utf-8"))
    if arguments.describe:
        saved["tables"] = [described(study) for _, study in _available(list(ANY))]
    elif arguments.checks:
        studies = [study for _, study in _available([*REAL, *CLINICAL])]
        saved["checks"] = [
            [check.name, n, check.warned, check.tried]
            for n in CHECKED
            for check in checked(studies, n, arguments.draws)
        ]
    elif arguments.speed:
        saved["speed"] = [row.cells()[:4] for row in table(speed(False))]
    elif not arguments.pages:
        for n, name in product(arguments.sizes, arguments.tables):
            new = measured([name], (n,), arguments.draws, arguments.models)
            saved["gains"] = merged(saved["gains"], new)
            _save(saved, arguments.save)
    _save(saved, arguments.save)


def described(study: StudyTable) -> list[str]:
    """Return a table and its right rules as cells."""
    cells = []
    for rule in study.right:
        alternatives = rule.text.count(" or ") + 1
        text = rule.text if alternatives == 1 else f"one of {alternatives} sequences"
        cells.append(f"{text}: {rule.label}")
    size = [str(len(study.y)), str(len(study.columns)), f"{100 * study.y.mean():.0f} %"]
    return [study.name, *size, study.source, "; ".join(cells)]


def _targets_text(found: dict[str, Sequence[dict[str, Any]]]) -> str:
    """Format the targets and what was found in each group of tables."""
    head = ["rules", "rows", "target", *found]
    lines = [head, ["---"] * len(head)]
    for model, n, least in TARGETS:
        cells = []
        for rows in found.values():
            gain = mean_gain(rows, model, n)
            if gain is None:
                cells.append("–")
                continue
            verdict = "met" if gain[0] >= least else "missed"
            cells.append(f"{gain[0]:+.2f} ± {gain[1]:.2f}, {verdict}")
        lines.append([model, str(n), f"{least:+g}", *cells])
    return _markdown(lines)


def headroom(found: Sequence[dict[str, Any]], models: Sequence[str]) -> str:
    """Format mean gains apart for tables on which the plain model leaves room, and for the remaining ones."""
    sizes = sorted({row["n"] for row in found})
    head = ["plain AUC", "model", *(f"n = {n}" for n in sizes)]
    lines = [head, ["---"] * len(head)]
    for words, has_room in ((f"up to {NO_ROOM:g}", True), (f"above {NO_ROOM:g}", False)):
        some = [row for row in found if (_plain_of(found, row) <= NO_ROOM) == has_room]
        tables = [len({row["table"] for row in some if row["n"] == n}) for n in sizes]
        lines.append([words, "tables", *map(str, tables)])
        lines += [[words, model, *(_cell(mean_gain(some, model, n)) for n in sizes)] for model in models]
    return _markdown(lines)


def _plain_of(found: Sequence[dict[str, Any]], row: dict[str, Any]) -> float:
    """Return the mean AUC of the plain model over the kernels, for the table and the n of a row."""
    same = [r["plain"][0] for r in found if (r["table"], r["n"]) == (row["table"], row["n"])]
    return float(np.mean(same))


def _checks_text(rows: Sequence[Sequence[Any]]) -> str:
    """Format how often each check warned."""
    sizes = sorted({row[1] for row in rows})
    head = ["knowledge", "warning is", *(f"n = {n}" for n in sizes), "trials at each n"]
    lines = [head, ["---"] * len(head)]
    for name in dict.fromkeys(row[0] for row in rows):
        of_name = {row[1]: row for row in rows if row[0] == name}
        rates = [f"{100 * of_name[n][2] / of_name[n][3]:.0f} %" if n in of_name else "–" for n in sizes]
        tried = [row[3] for row in of_name.values()]
        trials = "–".join(map(str, sorted({min(tried), max(tried)})))
        false = name.startswith(("right", "units"))
        lines.append([name, "a false alarm" if false else "right", *rates, trials])
    return _markdown(lines)


def merged(saved: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with new results; other models of a row are kept if their draws are the same."""
    before = {_key(row): row for row in saved}
    for row in new:
        old = before.get(_key(row))
        gains = row["gains"]
        if old is not None and (old["draws"], old["plain"]) == (row["draws"], row["plain"]):
            gains = old["gains"] | gains
        before[_key(row)] = row | {"gains": {model: gains[model] for model in MODELS if model in gains}}
    return list(before.values())


def _key(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["table"], row["kernel"], row["n"]


def _save(saved: dict[str, Any], path: Path) -> None:
    """Write the results and the tables that the page includes."""
    order = [name.replace("_", " ") for name in ANY]
    saved["gains"].sort(key=lambda row: (order.index(row["table"]), row["kernel"], row["n"]))
    parts = []
    for key, rows in saved.items():
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        parts.append(f'"{key}": [\n{lines}\n]')
    path.parent.mkdir(exist_ok=True)
    path.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")
    for name, text in pages(saved).items():
        (path.parent / f"{name}.md").write_text(text, encoding="utf-8")


def pages(saved: dict[str, Any]) -> dict[str, str]:
    """Return the text of each included file."""
    groups = {group: [row for row in saved["gains"] if row["group"] == group] for group in GROUPS}
    every = groups["real"] + groups["clinical"]
    shown = ("right", "right, a = 1", "right, unlabelled", "reversed", "reversed, a = 1", "monotone")
    texts = {"overview": overview(every), "public": overview(groups["real"])}
    texts |= {group: overview(groups[group]) for group in ("clinical", "synthetic")}
    texts["headroom"] = headroom(every, ("right", "right, a = 1", "reversed"))
    texts["kernels"] = by_kernel(every, ("right", "right, a = 1", "monotone"))
    texts["accuracy"] = accuracy(every, ("right", "right, a = 1", "right, unlabelled", "reversed"))
    for n in (20, 80):
        texts[f"tables_{n}"] = by_table(saved["gains"], n, shown)
    texts["checks"] = _checks_text(saved["checks"])
    head = ["table", "rows", "columns", "class 1", "thresholds from", "right rules"]
    texts["described"] = _markdown([head, ["---"] * len(head), *saved["tables"]])
    of_targets = {words: groups[group] for group, words in GROUPS.items() if group != "synthetic"}
    texts["targets"] = _targets_text(of_targets | {"all of them": every})
    head = ["work", "peer", "ratio: median (min–max)", "target"]
    texts["speed"] = _markdown([head, ["---"] * len(head), *saved["speed"]])
    return texts


if __name__ == "__main__":
    main()
