"""Tables of all routes, for ``priorsvm solvers`` and for the guide."""

from __future__ import annotations

import re

import numpy as np

from ..explain.table import text_table
from .auto import chosen_for
from .classes import CLASSES
from .further import PACKAGES
from .registry import further_routes, registry
from .route import Route


def text() -> str:
    """Return what ``priorsvm solvers`` prints."""
    further = further_routes()
    listed = {**registry(), **{name: route for name, route in further.items() if route.installed()}}
    head = ["solver", "installed", *CLASSES, "certifies infeasible", "note"]
    rows = [
        [
            name,
            "yes" if route.installed() else "no",
            *("yes" if c in route.solves else "" for c in CLASSES),
            "yes" if route.certifies else "no",
            route.note if route.solves else f"{route.kind}: {route.note}",
        ]
        for name, route in listed.items()
    ]
    parts = [text_table(head, rows), "solver='auto' uses the first that applies:"]
    parts.append("\n".join(f"  {name}: {problems}" for name, problems in chosen_for().items()))
    missing = [route for route in registry().values() if not route.installed()]
    if missing:
        names = ", ".join(route.name for route in missing)
        parts.append(f"Not installed: {names}. To add: pip install {' '.join(r.package for r in missing)}")
    more = [route for name, route in further.items() if name not in listed and route.package]
    if more:
        names = ", ".join(f"{route.name} ({route.package})" for route in more)
        parts.append(f"Other solvers of CVXPY, with the package for pip install: {names}")
    return "\n\n".join(parts)


def markdown() -> dict[str, str]:
    """Return the tables of the guide by name: all routes, ``solver="auto"``, packages of further solvers."""
    routes = [
        [
            name,
            _problems(route),
            "yes" if route.certifies else "no",
            _accuracy(route),
            f"`{route.package}`",
            route.note,
        ]
        for name, route in registry().items()
    ]
    head = ["route", "solves", "certifies", "accurate up to", "comes with", "remark"]
    chosen = [[problems, name] for name, problems in chosen_for().items()]
    packages = [[name, f"`pip install {package}`"] for name, package in PACKAGES.items()]
    return {
        "routes": _table(head, routes),
        "auto": _table(["problem", "route"], chosen),
        "further": _table(["solver", "to install"], packages),
    }


def updated(page: str) -> str:
    """Return a page with the tables between ``<!-- table: name -->`` and ``<!-- end -->`` written anew."""
    for name, table in markdown().items():
        mark = f"<!-- table: {name} -->\n"
        page = re.sub(f"(?s){mark}.*?<!-- end -->", lambda _: f"{mark}{table}\n<!-- end -->", page)  # noqa: B023
    return page


def _problems(route: Route) -> str:
    return ", ".join(c for c in CLASSES if c in route.solves) or route.kind


def _accuracy(route: Route) -> str:
    if np.isinf(route.factor):
        return "the gap is reported"
    tol = "`tol`" if route.factor == 1 else f"{route.factor:g} `tol`"
    return f"max({tol}, {route.floor:.0e})".replace("e-0", "e-")


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
