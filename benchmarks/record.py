"""Measured figures as a file, and the tables of the documentation that are made from it.

``python -m benchmarks --write`` updates docs/evidence/measured.json by the rows it measures, and writes every
table of docs/evidence/measured_*.md again. The pages *How fast, and why*, *Solvers* and *Reliability* include
the tables.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from .measure import HEADER, Row

EVIDENCE = Path(__file__).parents[1] / "docs/evidence"
MEASURED = EVIDENCE / "measured.json"

# Table -> the rows it contains, by the start of their names.
TABLES = {
    "everyday": ("seconds_",),
    "weighted": ("weighted", "virtual", "engine_plain", "engine_large_c"),
    "engine": (
        "engine_rbf",
        "engine_path",
        "engine_li",
        "engine_lp",
        "engine_sparse",
        "engine_u",
        "engine_t",
        "cvxpy",
        "path",
    ),
    "blocks": ("kernelised", "boxes", "cuts", "everywhere", "cones", "trajectories", "invariant", "deletion"),
    "kernels": ("tangent_distance", "haar_gram", "import"),
}
# Results with a form of their own.
APART = ("sizes", "scaling", "promises", "campaign", "hostile", "objectives")
# Rows N of the table of sizes.
SIZES = ("300", "1000", "2000", "4000", "10000")


def load(file: Path = MEASURED) -> dict[str, Any]:
    """Return what was measured, or an empty record."""
    empty: dict[str, Any] = {"computer": "", "rows": {}, **{name: [] for name in APART}}
    return empty | json.loads(file.read_text(encoding="utf-8")) if file.exists() else empty


def save(name: str, rows: Sequence[dict[str, Any]], computer: str, file: Path = MEASURED) -> None:
    """Replace what was measured by the rows of one name, and write the tables again."""
    measured = load(file)
    measured["computer"] = computer
    if name in APART:
        measured[name] = [{key: value for key, value in row.items() if key != "name"} for row in rows]
    else:
        measured["rows"][name] = list(rows)
    file.write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for table, text in pages(measured).items():
        (file.parent / f"{table}.md").write_text(text, encoding="utf-8")


def pages(measured: dict[str, Any]) -> dict[str, str]:
    """Return the text of each included file."""
    texts = {"measured_computer": f"Measured on: {measured['computer']}.\n"}
    for table, starts in TABLES.items():
        names = [name for name in measured["rows"] if name.startswith(starts)]
        rows = [[f"`{name}`", *_row(row).cells()] for name in names for row in measured["rows"][name]]
        texts[f"measured_{table}"] = markdown(["command", *HEADER], rows)
    everyday = [
        row for name in measured["rows"] if name.startswith("seconds_") for row in measured["rows"][name]
    ]
    met = sum(row["met"] for row in everyday)
    texts["measured_count"] = f"{met} of {len(everyday)} rows meet their target.\n"
    sizes = [[row["problem"], *(row.get(n, "") for n in SIZES)] for row in measured["sizes"]]
    texts["measured_sizes"] = markdown(["problem", *(f"N = {n}" for n in SIZES)], sizes)
    growth = [_growth(list(rows)) for _, rows in groupby(measured["scaling"], itemgetter("model"))]
    texts["measured_scaling"] = markdown(["model", "route", "N", "CPU seconds", "exponent"], growth)
    head = [
        "hard block",
        "fits",
        "infeasible",
        "warned",
        "silent violations",
        "largest violation",
        "CPU seconds",
    ]
    kept = [[str(value) for value in row.values()] for row in measured["promises"]]
    texts["measured_promises"] = markdown(head, kept)
    found = [[row["outcome"], str(row["count"]), _seeds(row)] for row in measured["campaign"]]
    texts["measured_campaign"] = markdown(["SCHUR and CLARABEL", "problems", "seeds"], found)
    head = ["attempts", "number", "refused", "accepted", "raw errors", "hangs", "wrong results"]
    attempts = [[str(value) for value in row.values()] for row in measured["hostile"]]
    texts["measured_hostile"] = markdown(head, attempts)
    head = ["problems", "lower", "equal", "higher", "only now", "not solved", "CPU seconds", "higher by"]
    objectives = [[str(value) for value in row.values()] for row in measured["objectives"]]
    texts["measured_objectives"] = markdown(head, objectives)
    return texts


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _seeds(row: dict[str, Any]) -> str:
    """Return the first seeds of an outcome on which the solvers do not agree."""
    if row["outcome"].startswith("agree"):
        return ""
    return ", ".join(map(str, row["seeds"][:6]))


def _growth(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the cells of one model: all its sizes, and the exponent of the last ones."""
    routes = dict.fromkeys(row["solver"] for row in rows)
    sizes = ", ".join(str(row["N"]) for row in rows)
    seconds = ", ".join(row["seconds"] for row in rows)
    return [rows[0]["model"], ", ".join(routes), sizes, seconds, rows[-1]["exponent"]]


def _row(saved: dict[str, Any]) -> Row:
    return Row(**{key: value for key, value in saved.items() if key != "met"})
