"""Which route solves a weighted SVM: one name for each, and the order in which "auto" tries them."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ..prior import Member
from ..sample import Sample
from ..spec import Spec
from .routes import libsvm, normal, sparse_rows

ROUTES: dict[str, ModuleType] = {"LIBSVM": libsvm, "NORMAL": normal, "SPARSE": sparse_rows}

# What "auto" hands to LIBSVM, and to no other route.
OPTIONS = libsvm.OPTIONS

# With more rows than this, and than columns, a linear machine is solved faster on its d + 1 parameters.
LINEAR_ROWS = 300

# The normal equations of more columns are not worth a second try, and with sparse rows not worth a first one.
COLUMNS = 2000

# Iterations, at least and per row, after which LIBSVM is not on its way: up to C = 100 it mostly took fewer.
STALLED = (5000, 10)


def routes(spec: Spec, members: Sequence[Member], sample: Sample) -> list[tuple[str, dict[str, Any]]]:
    """What ``solver="auto"`` tries, in order, before it turns to CVXPY; each with its options."""
    rows = int(np.count_nonzero(sample.cost))
    columns = sample.X.shape[1]
    patient = ("LIBSVM", {"max_iter": 200_000 + 100 * rows})
    tries: list[tuple[str, dict[str, Any]]] = [("NORMAL", {})]
    if spec.kernel is not None:
        tries = [("LIBSVM", {"max_iter": STALLED[0] + STALLED[1] * rows}), ("NORMAL", {}), patient]
    elif rows <= max(LINEAR_ROWS, columns):
        tries = [patient] + [("NORMAL", {})] * (columns <= COLUMNS)
    if rows > LINEAR_ROWS and columns > min(rows, COLUMNS):
        tries = [("SPARSE", {}), *tries]
    return [
        (name, options) for name, options in tries if ROUTES[name].obstacle(spec, members, sample) is None
    ]
