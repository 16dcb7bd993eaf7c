"""What the reproductions share: their data, their tables, leaving one row out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from priorsvm.datasets import DATA_VARIABLE
from priorsvm.errors import DataNotFound

from .measure import Array


def arrays(name: str) -> dict[str, Any]:
    """What ``name.npz`` holds, in the folder named by PRIORSVM_DATA."""
    folder = os.environ.get(DATA_VARIABLE)
    if not folder or not (path := Path(folder) / f"{name}.npz").exists():
        raise DataNotFound(
            f"needs {name}.npz in the folder named by {DATA_VARIABLE} ({folder or 'not set'})."
        )
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


class Table:
    """Prints every row as it comes and keeps it as a dict."""

    def __init__(self, title: str, *columns: str):
        self.columns, self.rows = columns, list[dict[str, Any]]()
        print(f"{title}\n", "| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns), sep="\n")

    def row(self, *cells: Any) -> None:
        self.rows.append(dict(zip(self.columns, cells, strict=True)))
        print("| " + " | ".join(map(_text, cells)) + " |", flush=True)

    def end(self) -> list[dict[str, Any]]:
        print()
        return self.rows


def _text(cell: Any) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def paired(differences: Array, better: int) -> str:
    """Mean ± standard error (how many are of the sign that is better : of the other one)."""
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    for_it, against = np.sum(better * differences > 0), np.sum(better * differences < 0)
    return f"{differences.mean():+.2f} ± {error:.2f} ({for_it} : {against})"


def each_left_out(n: int, step: int = 1) -> Iterator[tuple[int, Array]]:
    """Every ``step``-th of n rows, and the mask of all the others."""
    for i in range(0, n, step):
        yield i, np.arange(n) != i


def left_out_errors(fits: Callable[[Any, Any], list[Any]], X: Any, y: Array, step: int = 1) -> Array:
    """How often each of several models, fitted on all rows but one, is wrong about that one."""
    wrong = [
        [bool(model.predict(X[i : i + 1])[0] != y[i]) for model in fits(X[others], y[others])]
        for i, others in each_left_out(len(y), step)
    ]
    return np.sum(wrong, axis=0)
