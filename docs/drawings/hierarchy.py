"""Draw the picture of the page "which block for which knowledge": `python docs/drawings/hierarchy.py`.

Down: what is known, after Figure 1 of the review. Across: what is changed, after its Figure 2. Every leaf
is a link. The drawing stands in the page itself, so it takes colours and fonts from there, light or dark.
"""

from html import escape
from pathlib import Path

PATH = Path(__file__).parents[1] / "_static" / "hierarchy.svg"

MEANS = {
    "the samples": "rows added or weighted",
    "the kernel": "what is near to what",
    "the problem": "penalties, constraints",
}

# Kind of knowledge → what is known, in two lines → for each of the means, leaf → page.
TREE = {
    "Class-invariance: what leaves the class as it is": {
        ("transformations,", "as large as they are"): (
            {"VirtualSamples": "virtual_samples", "VirtualSupportVectors": "virtual_support_vectors"},
            {"HaarIntegration": "invariant_kernels", "Jitter": "invariant_kernels"},
            {
                "InvariantLoss": "invariant",
                "Trajectories": "trajectories",
                "InvarianceHint": "invariance_hint",
                "OddnessHint": "oddness_hint",
            },
        ),
        ("transformations,", "infinitely small"): (
            {},
            {"TangentDistance": "tangents", "TangentVector": "tangents", "TangentInvariant": "tangents"},
            {"TangentPenalty": "tangent_penalty"},
        ),
        ("permutations", "of parts"): (
            {},
            {"Bhattacharyya": "sets", "PrincipalAngles": "sets"},
            {"RowPermutations": "permutations"},
        ),
        ("domains:", "whole regions"): (
            {},
            {},
            {
                "Rule": "rule",
                "Box": "box",
                "Polyhedron": "polyhedron",
                "Ellipsoid": "ellipsoid",
                "Region": "region",
            },
        ),
        ("directions", "of a feature"): (
            {},
            {},
            {"Monotone": "monotone", "MonotonicityHint": "monotonicity_hint"},
        ),
    },
    "Knowledge on the data: what rows are worth": {
        ("unlabelled", "samples"): (
            {"UnlabeledSamples": "unlabelled", "Transductive": "transductive"},
            {},
            {},
        ),
        ("imbalance", "of the classes"): ({"ClassCosts": "class_costs"}, {"select_kernel": "kernels"}, {}),
        ("quality", "of the data"): (
            {"SampleCosts": "sample_costs"},
            {},
            {"UncertainSamples": "uncertain", "MissingValues": "missing", "InvariantLoss": "invariant"},
        ),
    },
}

KINDS, KNOWN, COLUMNS = 0, 168, (326, 504, 682)  # left edges
KIND_WIDTH, KNOWN_WIDTH, LEAF_WIDTH, LEAF_HEIGHT, STEP = 140, 142, 164, 24, 30
TOP, PADDING = 56, 10
WIDTH = COLUMNS[-1] + LEAF_WIDTH + 2

STYLE = """
.hierarchy text { fill: currentColor; font-size: 13px; }
.hierarchy .bold { font-weight: 600; }
.hierarchy .small { font-size: 11.5px; }
.hierarchy rect { fill: var(--pst-color-surface, #f3f4f5); stroke: currentColor; stroke-width: 1; }
.hierarchy path { fill: none; stroke: currentColor; stroke-width: 1; }
.hierarchy .rule { stroke-opacity: 0.25; }
.hierarchy a rect { fill: var(--pst-color-background, #ffffff); }
.hierarchy a text { fill: var(--pst-color-link, #0a5d6b); text-decoration: underline; }
.hierarchy a:hover rect, .hierarchy a:focus rect { stroke-width: 2.5; }
"""


def text(x: float, y: float, line: str, name: str = "") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="middle" class="{name}">{escape(line)}</text>'


def box(x: float, y: float, width: float, height: float, lines: list[str], name: str = "") -> str:
    first = y + height / 2 - 8 * (len(lines) - 1) + 4.5
    rows = "".join(text(x + width / 2, first + 16 * i, line, name) for i, line in enumerate(lines))
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4"/>{rows}'


def leaf(x: float, y: float, name: str, page: str) -> str:
    return f'<a href="{page}.html">{box(x, y, LEAF_WIDTH, LEAF_HEIGHT, [name])}</a>'


def wrapped(line: str, width: int = 16) -> list[str]:
    lines = [""]
    for word in line.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def drawing() -> str:
    parts = []
    for x, (means, what) in zip(COLUMNS, MEANS.items(), strict=True):
        parts.append(text(x + LEAF_WIDTH / 2, 16, f"changes {means}", "bold"))
        parts.append(text(x + LEAF_WIDTH / 2, 34, what, "small"))
    y = TOP
    for kind, known in TREE.items():
        start, middles = y, []
        for lines, cells in known.items():
            height = STEP * max(1.4, *(len(cell) for cell in cells))
            parts.append(f'<path class="rule" d="M{KNOWN} {y - PADDING / 2} H{WIDTH}"/>')
            parts.append(box(KNOWN, y + height / 2 - 21, KNOWN_WIDTH, 38, list(lines)))
            middles.append(y + height / 2 - 2)
            for x, cell in zip(COLUMNS, cells, strict=True):
                first = y + (height - STEP * len(cell)) / 2
                parts += [leaf(x, first + STEP * i, *item) for i, item in enumerate(cell.items())]
            y += height + PADDING
        middle, trunk = (start + y - PADDING) / 2, (KINDS + KIND_WIDTH + KNOWN) / 2
        parts.append(box(KINDS + 1, middle - 50, KIND_WIDTH, 100, wrapped(kind), "bold"))
        branch = f"M{KINDS + 1 + KIND_WIDTH} {middle} H{trunk} M{trunk} {middles[0]} V{middles[-1]}"
        parts.append(f'<path d="{branch}"/>')
        parts += [f'<path d="M{trunk} {at} H{KNOWN}"/>' for at in middles]
        y += PADDING
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="hierarchy" viewBox="0 0 {WIDTH} {y:g}" role="group"'
        ' aria-labelledby="hierarchy-title hierarchy-text">\n'
        '<title id="hierarchy-title">Blocks and kernels by what is known and what they change</title>\n'
        f'<desc id="hierarchy-text">{escape(description())}</desc>\n<style>{STYLE}</style>\n'
    )
    return head + "\n".join(parts) + "\n</svg>\n"


def description() -> str:
    """The picture in words, for those who listen to it."""
    sentences = []
    for kind, known in TREE.items():
        for lines, cells in known.items():
            ways = [
                f"change {means}: {', '.join(cell)}" for means, cell in zip(MEANS, cells, strict=True) if cell
            ]
            sentences.append(f"{kind}; {' '.join(lines)}; {'; '.join(ways)}.")
    return " ".join(sentences)


if __name__ == "__main__":
    PATH.write_text(drawing(), encoding="utf-8")
