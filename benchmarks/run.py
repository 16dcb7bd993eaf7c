"""The table of all speed rows."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from threadpoolctl import threadpool_limits

from .measure import Row, machine, table

ROWS = {
    "weighted": "libsvm_route.weighted",
    "virtual": "libsvm_route.virtual",
    "cvxpy": "cvxpy_route.cvxpy",
    "path": "fit_path.path",
    "import": "import_time.imports",
}


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Speed as ratios to peers measured in the same run."
    )
    parser.add_argument("rows", nargs="*", help=f"which rows: {', '.join(ROWS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="small problems, under a minute")
    arguments = parser.parse_args(argv)
    unknown = sorted(set(arguments.rows) - set(ROWS))
    if unknown:
        parser.error(f"no such row: {', '.join(unknown)}. The rows are: {', '.join(ROWS)}.")
    names = arguments.rows or list(ROWS)
    print(machine(), end="\n\n")
    with threadpool_limits(1):  # numpy may have been imported before this package could say so
        return [row.as_dict() for row in table(_rows(names, arguments.quick))]


def _rows(names: Sequence[str], quick: bool) -> Iterator[Row]:
    for name in names:
        module, _, function = ROWS[name].partition(".")
        measure: Callable[[bool], Iterator[Row]] = getattr(import_module(f".{module}", __package__), function)
        yield from measure(quick)
