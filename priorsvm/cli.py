"""The ``priorsvm`` command. What a subcommand needs is imported when it runs, so that help is quick."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return 0
    return int(arguments.command(arguments, parser))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="priorsvm", description="Support vector machines that can be told what you already know."
    )
    parser.set_defaults(command=None)
    parser.add_argument("--version", action="version", version=f"priorsvm {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    demo = commands.add_parser(
        "demo", help="plain SVM against SVMs that know more, on real data, in under a minute"
    )
    demo.add_argument(
        "--output",
        type=Path,
        default=Path("priorsvm-demo.png"),
        metavar="FILE",
        help="where the picture goes; the suffix is the format (default: %(default)s)",
    )
    demo.add_argument(
        "--seeds",
        type=_positive,
        default=8,
        metavar="N",
        help="how often the labelled digits are drawn (default: %(default)s)",
    )
    demo.set_defaults(command=_demo)
    solvers = commands.add_parser("solvers", help="the solvers that can be named, and what each can solve")
    solvers.set_defaults(command=_solvers)
    blocks = commands.add_parser(
        "blocks", help="the blocks of knowledge by kind, the kernels and the transforms, with one line each"
    )
    blocks.set_defaults(command=_blocks)
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


# ---------------------------------------------------------------------- demo


def _demo(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    from matplotlib.backend_bases import FigureCanvasBase
    from tqdm import tqdm

    from .demo import digits as demo

    output: Path = arguments.output
    formats = FigureCanvasBase.get_supported_filetypes()
    if not output.parent.is_dir():
        parser.error(f"argument --output: there is no folder {str(output.parent)!r}")
    if output.suffix.lstrip(".").lower() not in formats:
        parser.error(
            f"argument --output: {str(output)!r} should end in one of .{', .'.join(sorted(formats))}"
        )

    print(_introduction(demo), flush=True)
    jobs = len(demo.machines()) * arguments.seeds
    results = list(tqdm(demo.fits(arguments.seeds), total=jobs, desc="machines fitted", unit=""))
    lines = demo.table(results)
    draw = demo.typical(lines)
    composed = demo.find(results, lines[-2].machine, draw)

    blocks = len(composed.model.prior)
    print(f"\nThe machine with all {blocks} blocks, on the draw where the plain one has its median error:\n")
    print(composed.model.report_)
    print(f"\n{_errors(lines, arguments.seeds, demo.majority_error(arguments.seeds))}")
    demo.picture(lines, demo.find(results, demo.PLAIN, draw), composed).savefig(output)
    print(f"\nPicture: {output.resolve()}\n")
    _demo_rule(output.with_stem(output.stem + "-rule"))
    return 0


def _demo_rule(output: Path) -> None:
    """A rule in words, where no data lies."""
    from .demo import rule as demo_rule
    from .explain.table import text_table

    comparison = demo_rule.compare()
    head = ["tumours", "how many", "malignant in %", "plain SVM: error in %", "with the rule"]
    print(
        f"A rule in words. Two machines see breast tumours of radius below {demo_rule.SEEN} only "
        f"(scikit-learn's data);\none is told: {demo_rule.RULE} is malignant.\n\n"
        f"{text_table(head, comparison.rows())}\n\n"
        f"Is the rule kept? {demo_rule.LARGE} to {demo_rule.LARGEST}, all textures:\n\n"
        f"{comparison.told.verify()}"
    )
    demo_rule.picture(comparison).savefig(output)
    print(f"\nPicture: {output.resolve()}")


def _introduction(demo: Any) -> str:
    """What is done, in two sentences."""
    (a, b), (many, few) = demo.DIGITS, demo.LABELLED
    return (
        f"Task: tell {a} from {b} in 8 x 8 scans (scikit-learn's digits) with {many} labelled {a}s, "
        f"{few} labelled {b}s\nand {demo.UNLABELLED} digits without labels; all others are the test set.\n"
        "Each machine below knows one thing more than the one above; kernel (RBF, gamma 'scale'), "
        f"C = {demo.C:g} and\nall weights are the same on every draw and not tuned to the errors shown.\n"
    )


def _errors(lines: Sequence[Any], seeds: int, majority: float) -> str:
    """The table of test errors, and in words what it shows."""
    from .explain.table import text_table

    rows = []
    for line in lines:
        change = f"{sum(line.steps) / len(line.steps):+.2f}" if line.steps else "-"
        counts = " / ".join(map(str, line.counts)) if line.steps else "-"
        spread = f" ± {line.spread:.2f}" if seeds > 1 else ""
        rows.append([line.machine, f"{line.mean:.2f}{spread}", change, counts])
    head = ["machine", "test error in %", "change", "lower / same / higher"]
    draws, deviation = (f"{seeds} draws", " ± standard deviation") if seeds > 1 else ("1 draw", "")
    first = lines[0]
    last = lines[-2]
    lower = sum(after < before for before, after in zip(first.errors, last.errors, strict=True))
    return "\n".join(
        [
            f"Test errors, mean{deviation} over {draws} of the labels. Change: against the line above.",
            "",
            text_table(head, rows),
            "",
            f"Always naming the more frequent digit: {majority:.1f} % error.",
            *_verdicts([line for line in lines if line.steps]),
            f"All blocks against none: {last.mean:.1f} instead of {first.mean:.1f} %, "
            f"lower on {lower} of {draws}.",
        ]
    )


def _verdicts(steps: Sequence[Any]) -> list[str]:
    """Which blocks help on most draws, which change nothing, and which do neither."""
    found: dict[str, list[str]] = {
        "Lower the error on most draws": [],
        "Leave it as it is on every draw": [],
        "Lower it on half of the draws or fewer": [],
    }
    helping, idle, doubtful = found.values()
    for line in steps:
        lower, same, higher = line.counts
        which = idle if not lower + higher else helping if 2 * lower > lower + same + higher else doubtful
        which.append(line.machine.removeprefix("+ "))
    return [f"{what}: {', '.join(names)}." for what, names in found.items() if names]


# ---------------------------------------------------------------------- solvers


def _solvers(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    from .solve.tables import text

    print(text())
    return 0


# ---------------------------------------------------------------------- blocks

_BASES = {"Knowledge", "Kernel", "Spectral", "Transform"}  # to derive from


def _blocks(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    import inspect

    listed = []
    for heading, names in kinds().items():
        listed.append(heading)
        for name, value in names.items():
            listed.append(f"  {name}{_signature(value)}\n      {_plain(inspect.getdoc(value) or '')}")
        listed.append("")
    print("\n".join(listed[:-1]))
    return 0


def kinds() -> dict[str, dict[str, type]]:
    """Heading -> name -> class, of all blocks, by what they do to the problem, of kernels and of transforms.

    >>> [heading for heading, names in kinds().items() if "Rule" in names]
    ['Regions: the class, or the slope of f, is known on a part of the space']
    """
    from .knowledge.base import Knowledge
    from .knowledge.regions.base import RegionKnowledge

    rows = "Rows: training rows are reweighted or rearranged, others are added"
    hints = "Hints: penalties on values and slopes of f"
    regions = "Regions: the class, or the slope of f, is known on a part of the space"
    worst = "Worst case: a row has its margin for all that it may be"
    found: dict[str, dict[str, type]] = {rows: {}, hints: {}, regions: {}, worst: {}}
    for name, block in _public("Knowledge").items():
        heading = hints
        if block.build is Knowledge.build:
            heading = rows
        elif block.shares_slack:
            heading = worst
        elif issubclass(block, RegionKnowledge):
            heading = regions
        found[heading][name] = block
    found["Kernels: PriorSVC(kernel=...)"] = _public("Kernel")
    found["Transforms: what a pattern may undergo without changing class"] = _public("Transform")
    return found


def _public(base: str) -> dict[str, Any]:
    """The public classes by name that derive from a base and can be used as they are."""
    import priorsvm

    kind = getattr(priorsvm, base)
    public = {name: getattr(priorsvm, name) for name in priorsvm.__all__ if name not in _BASES}
    return {
        name: value for name, value in public.items() if isinstance(value, type) and issubclass(value, kind)
    }


def _signature(block: type) -> str:
    """What the constructor takes, without types."""
    import inspect

    signature = inspect.signature(block)
    empty = inspect.Parameter.empty
    parameters = [p.replace(annotation=empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=empty))


def _plain(docstring: str) -> str:
    r"""The first line of a docstring, its mathematics as text.

    >>> print(_plain(r"Labels :math:`y^*`: :math:`\sum_i C \cdot \mathrm{cost}_i\,\xi_i`: :class:`Rule`."))
    Labels y^*: Σᵢ C · costᵢ ξᵢ: Rule.
    """
    import re

    from .explain.plain import plain

    line = docstring.partition("\n")[0]
    line = re.sub(r":math:`([^`]*)`", lambda found: plain(found[1]), line)
    return re.sub(r"(?::\w+:)?`+([^`]*)`+", r"\1", line)
