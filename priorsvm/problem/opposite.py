"""Soft blocks that assign common training rows to different classes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ..errors import OppositeRules
from ..knowledge.views import Caution
from ..prior import Member
from ..sample import Sample

# Blocks are opposite from this many common rows on, and from this share of the rows of the smaller block on.
COMMON = 2
SHARE = 0.1


def opposite_rules(members: Sequence[Member], sample: Sample) -> dict[str, list[Caution]]:
    """Return warnings by block name: of pairs of blocks with opposite signs at common rows.

    In a model of one class against several, the first block of a pair has the positive class. So each pair is
    reported in one model.
    """
    if len(members) < 2:
        return {}
    classes = {m.name: m.block.row_classes(sample) for m in members}
    blocks = {m.name: m.block for m in members}
    signs = {name: found for name, found in classes.items() if found is not None}
    cautions: dict[str, list[Caution]] = {}
    for first, second in combinations(signs, 2):
        a = signs[first]
        b = signs[second]
        common = a * b < 0
        if sample.negative is None:
            common &= a > 0
        count = int(common.sum())
        fewest = min(int(np.count_nonzero(a)), int(np.count_nonzero(b)))
        if count < max(COMMON, SHARE * fewest):
            continue
        words = [f"'{name}' ({blocks[name].words()})" for name in (first, second)]
        kind = "training" if sample.totals is None else "drawn"
        text = (
            f"{words[0]} and {words[1]} assign {count} common {kind} rows to different classes, of "
            f"{fewest} rows in the smaller region. Narrow one of them, or compare their weights."
        )
        for name in (first, second):
            cautions.setdefault(name, []).append(Caution(OppositeRules, text))
    return cautions
