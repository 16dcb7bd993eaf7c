"""The table of all speed rows."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import Any

from threadpoolctl import threadpool_limits

from priorsvm.errors import DataNotFound

from . import record
from .measure import Row, computer, one_pair, table

ROWS = {
    "weighted": "libsvm_route.weighted",
    "virtual": "libsvm_route.virtual",
    "engine_plain": "plain_models.engine_plain",
    "engine_large_c": "plain_models.engine_large_c",
    "cvxpy": "cvxpy_route.cvxpy",
    "path": "fit_path.path",
    "engine_rbf": "kernel_engine.engine_rbf",
    "engine_path": "kernel_engine.engine_path",
    "import": "import_time.imports",
    "kernelised": "regions.kernelised",
    "boxes": "regions.boxes",
    "cuts": "regions.cuts",
    "everywhere": "regions.everywhere",
    "cones": "uncertain.cones",
    "trajectories": "uncertain.trajectories",
    "invariant": "invariant.invariant",
    "deletion": "invariant.deletion",
    "engine_lp": "lp_models.lp_models",
    "engine_lp_rules": "lp_models.lp_rules",
    "engine_sparse": "sparse_texts.engine_sparse",
    "tangent_distance": "tangents.tangent_distance",
    "haar_gram": "haar_gram.haar_gram",
    "engine_linear": "engine.linear",
    "engine_uncertain": "engine.uncertain",
    "engine_trajectories": "engine.trajectories",
    "rules_speed": "rules.speed",
    "seconds_regions": "seconds_regions.rules_everywhere",
    "seconds_paths": "seconds_paths.paths",
    "seconds_rbf": "seconds_rbf.plain",
    "seconds_workers": "seconds_workers.workers",
    "seconds_uncertain": "seconds_uncertain.uncertain",
    "seconds_missing": "seconds_uncertain.missing",
    "seconds_dense": "seconds_linear.dense",
    "seconds_sparse": "seconds_linear.sparse",
    "seconds_deletion": "seconds_linear.deletion",
    "seconds_small": "seconds_small.blocks",
    "seconds_auto": "seconds_small.auto_weight",
    "seconds_plain": "seconds_small.plain",
    "seconds_chunks": "seconds_chunks.chunks",
    "seconds_large": "seconds_large.large",
    "seconds_dask": "seconds_large.workers",
    "seconds_monotone": "seconds_monotone.monotone",
}
# These print tables of their own: scaling after the rows, published figures only when named.
REPRODUCTIONS = {
    "scaling": "scaling.scaling",
    "sizes": "sizes.sizes",
    "wpbc60": "linear_knowledge_sets.knowledge_only",
    "promoters": "linear_knowledge_sets.promoters",
    "checkerboard": "kernel_knowledge_sets.checkerboard",
    "wpbc24": "nonlinear_knowledge.prognosis",
    "spirals": "nonlinear_knowledge.spirals",
    "missing": "missing_data.missing",
    "trajectories_usps": "usps_trajectories.rotations",
    "tangents": "mnist_tangents.invariant_hyperplanes",
    "mnist": "mnist_invariant.invariances",
    "haar": "haar_usps.haar",
    "campaign": "campaign.campaign",
    "fits": "fits.fits",
    "promises": "promises.promises",
    "hostile": "hostile.hostile",
    "spam_inboxes": "spam.inboxes",
    "spambase": "spam.spambase",
    "rules": "rules.rules",
}


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Speed as ratios to peers measured in the same run."
    )
    parser.add_argument(
        "rows",
        nargs="*",
        help=f"which rows: {', '.join(ROWS)} (default: all of these); {', '.join(REPRODUCTIONS)}",
    )
    parser.add_argument("--quick", action="store_true", help="small problems, one pair each")
    parser.add_argument("--write", action="store_true", help="update docs/evidence and its tables")
    arguments = parser.parse_args(argv)
    if arguments.write and arguments.quick:
        parser.error("--write is for rows of full size: leave out --quick.")
    unknown = sorted(set(arguments.rows) - set(ROWS) - set(REPRODUCTIONS))
    if unknown:
        parser.error(
            f"no such row: {', '.join(unknown)}. The rows are: {', '.join([*ROWS, *REPRODUCTIONS])}."
        )
    names = [name for name in arguments.rows if name in ROWS] if arguments.rows else list(ROWS)
    papers = [name for name in arguments.rows if name in REPRODUCTIONS] if arguments.rows else ["scaling"]
    print(computer(), end="\n\n")
    pairs = one_pair() if arguments.quick else nullcontext()
    with threadpool_limits(1), pairs:  # numpy may have been imported before this package could say so
        rows = (
            [row.as_dict() for row in table(_rows(names, arguments.quick, arguments.write))] if names else []
        )
        found = {name: _reproduced(name, arguments.quick) for name in papers}
    if arguments.write:
        for name in set(found) & set(record.APART):
            record.save(name, found[name], computer())
    return rows + [row for group in found.values() for row in group]


def _rows(names: Sequence[str], quick: bool, write: bool) -> Iterator[Row]:
    """Yield the rows of every name whose data are available, and save them if ``write``."""
    for name in names:
        found = []
        try:
            for row in _function(ROWS[name])(quick):
                found.append(row.as_dict())
                yield row
        except DataNotFound as error:
            print(f"{name}: skipped, {error}\n")
            continue
        if write:
            record.save(name, found, computer())


def _reproduced(name: str, quick: bool) -> list[dict[str, Any]]:
    """The rows of a reproduction; none, with a word on why, where its data is missing."""
    try:
        return [{"name": name, **row} for row in _function(REPRODUCTIONS[name])(quick)]
    except DataNotFound as error:
        print(f"{name}: skipped, {error}\n")
        return []


def _function(path: str) -> Callable[[bool], Any]:
    module, _, function = path.partition(".")
    found: Callable[[bool], Any] = getattr(import_module(f".{module}", __package__), function)
    return found
