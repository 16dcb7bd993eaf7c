"""The ``priorsvm`` command. Each subcommand imports its modules when it runs, so that the help is fast."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 1 without a traceback if the output cannot be written."""
    if sys.stdout is None:
        print("priorsvm: error: the standard output is closed", file=sys.stderr)
        return 1
    try:
        try:
            return _run(argv)
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is None:
            # Python flushes stdout once more at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # the reader of a pipe ended first
            place = "the standard output" if error.filename is None else str(error.filename)
            print(f"priorsvm: error: cannot write to {place}: {error.strerror}", file=sys.stderr)
        return 1


def _run(argv: Sequence[str] | None) -> int:
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return 0
    return int(arguments.command(arguments, parser))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="priorsvm", description="Support vector machines with prior knowledge."
    )
    parser.set_defaults(command=None)
    parser.add_argument("--version", action="version", version=f"priorsvm {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    demo = commands.add_parser(
        "demo", help="compare a plain SVM with SVMs that use prior knowledge, on real data"
    )
    demo.add_argument(
        "--output",
        type=Path,
        default=Path("priorsvm-demo.png"),
        metavar="FILE",
        help="file of the figure; the suffix is the format (default: %(default)s)",
    )
    demo.add_argument(
        "--seeds",
        type=_positive,
        default=8,
        metavar="N",
        help="number of random draws of the labelled digits (default: %(default)s)",
    )
    demo.set_defaults(command=_demo)
    _add_play(commands)
    solvers = commands.add_parser("solvers", help="list the solvers and the problems that each one solves")
    solvers.set_defaults(command=_solvers)
    blocks = commands.add_parser("blocks", help="list the blocks by kind, the kernels and the transforms")
    blocks.set_defaults(command=_blocks)
    return parser


def _add_play(commands: Any) -> None:
    """Add the command of the playground."""
    play = commands.add_parser("play", help="open the playground in a browser, on this computer only")
    play.add_argument(
        "--lesson", type=_positive, default=1, metavar="N", help="lesson whose preset is shown first"
    )
    play.add_argument(
        "--port", type=_port, default=0, metavar="N", help="port of the server (default: a free one)"
    )
    play.add_argument("--no-browser", action="store_true", help="print the address and open no browser")
    play.set_defaults(command=_play)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, got {text!r}")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected an integer of at least 1, got {text!r}")
    return int(text)


# ---------------------------------------------------------------------- demo

NEXT_STEPS = """Next: write a rule about a table of your own.

    from priorsvm import PriorSVC, Rule
    model = PriorSVC(Rule("age >= 60", label="ill"), scale="standard").fit(X, y)
    print(model.report_, model.verify(), sep="\\n\\n")

priorsvm blocks    lists all blocks
README.md          has an example with three rules, and links to the guide and the notebooks"""


def _demo(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    from matplotlib.backend_bases import FigureCanvasBase
    from tqdm import tqdm

    from .demo import digits as demo

    output: Path = arguments.output
    formats = FigureCanvasBase.get_supported_filetypes()
    if not output.parent.is_dir():
        parser.error(f"argument --output: the folder {str(output.parent)!r} does not exist")
    if output.suffix.lstrip(".").lower() not in formats:
        parser.error(f"argument --output: {str(output)!r} must end in one of .{', .'.join(sorted(formats))}")

    print(_introduction(demo), flush=True)
    jobs = len(demo.model_names()) * arguments.seeds
    results = list(tqdm(demo.fits(arguments.seeds), total=jobs, desc="models fitted", unit=""))
    lines = demo.table(results)
    draw = demo.typical(lines)
    composed = demo.find(results, lines[-2].name, draw)

    blocks = len(composed.model.prior)
    print(f"\nModel with all {blocks} blocks, on the draw with the median error of the plain SVM:\n")
    print(composed.model.report_)
    print(f"\n{_errors(lines, arguments.seeds, demo.majority_error(arguments.seeds))}")
    demo.draw_figure(lines, demo.find(results, demo.PLAIN, draw), composed).savefig(output)
    print(f"\nFigure: {output.resolve()}\n")
    _demo_rule(output.with_stem(output.stem + "-rule"))
    print(f"\n{NEXT_STEPS}")
    return 0


def _demo_rule(output: Path) -> None:
    """Compare two models on data that only a rule covers."""
    from .demo import rule as demo_rule
    from .explain.table import text_table

    comparison = demo_rule.compare()
    head = ["tumours", "number", "malignant in %", "error of the plain SVM in %", "error with the rule in %"]
    print(
        f"A rule as text. Two models are trained on breast tumours of radius below {demo_rule.TRAINED} "
        f"(scikit-learn's data).\nOne model has the rule: {demo_rule.RULE} is malignant.\n\n"
        f"{text_table(head, comparison.rows())}\n\n"
        f"Verification of the rule, radius {demo_rule.LARGE} to {demo_rule.LARGEST}, all textures:\n\n"
        f"{comparison.informed.verify()}"
    )
    demo_rule.draw_figure(comparison).savefig(output)
    print(f"\nFigure: {output.resolve()}")


def _introduction(demo: Any) -> str:
    """Return a description of the task."""
    a, b = demo.DIGITS
    many, few = demo.LABELLED
    return (
        f"Task: classify {a} and {b} in 8 x 8 scans (scikit-learn's digits) with {many} labelled {a}s, "
        f"{few} labelled {b}s\nand {demo.UNLABELLED} digits without labels. The rest is for the test.\n"
        "Each model has one block more than the model above it. The kernel (RBF, gamma 'scale'), "
        f"C = {demo.C:g}\nand all weights are equal on all draws and were not tuned to the errors below.\n"
    )


def _errors(lines: Sequence[Any], seeds: int, majority: float) -> str:
    """Return the table of test errors and its summary."""
    from .explain.table import text_table

    rows = []
    for line in lines:
        change = f"{sum(line.steps) / len(line.steps):+.2f}" if line.steps else "-"
        counts = " / ".join(map(str, line.counts)) if line.steps else "-"
        spread = f" ± {line.spread:.2f}" if seeds > 1 else ""
        rows.append([line.name, f"{line.mean:.2f}{spread}", change, counts])
    head = ["model", "test error in %", "change", "lower / equal / higher"]
    draws = f"{seeds} draws" if seeds > 1 else "1 draw"
    deviation = " ± standard deviation" if seeds > 1 else ""
    first = lines[0]
    last = lines[-2]
    lower = sum(after < before for before, after in zip(first.errors, last.errors, strict=True))
    return "\n".join(
        [
            f"Test errors, mean{deviation} over {draws} of the labels. Change: from the line above.",
            "",
            text_table(head, rows),
            "",
            f"Error of always predicting the more frequent digit: {majority:.1f} %.",
            *_summary([line for line in lines if line.steps]),
            f"All blocks: {last.mean:.1f} %, no block: {first.mean:.1f} %; lower on {lower} of {draws}.",
        ]
    )


def _summary(steps: Sequence[Any]) -> list[str]:
    """Return which blocks lower the error on most draws, which change nothing, and the rest."""
    found: dict[str, list[str]] = {
        "Lower error on most draws": [],
        "Equal error on every draw": [],
        "Lower error on half of the draws or fewer": [],
    }
    helpful, neutral, doubtful = found.values()
    for line in steps:
        lower, equal, higher = line.counts
        if lower + higher == 0:
            group = neutral
        elif 2 * lower > lower + equal + higher:
            group = helpful
        else:
            group = doubtful
        group.append(line.name.removeprefix("+ "))
    return [f"{what}: {', '.join(names)}." for what, names in found.items() if names]


# ---------------------------------------------------------------------- play


def _play(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    from .errors import InvalidInput
    from .playground.server import PlaygroundServer, serve

    try:
        server = PlaygroundServer(arguments.port, arguments.lesson)
    except InvalidInput as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f"argument --port: the server cannot use port {arguments.port}: {error.strerror}")
    serve(server, browser=not arguments.no_browser)
    return 0


# ---------------------------------------------------------------------- solvers


def _solvers(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    from .solve.tables import text

    print(text())
    return 0


# ---------------------------------------------------------------------- blocks

_BASES = {"Knowledge", "Kernel", "Spectral", "Transform"}  # bases to derive from


def _blocks(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    import inspect

    listed = []
    for heading, names in list_kinds().items():
        listed.append(heading)
        for name, value in names.items():
            listed.append(f"  {name}{_signature(value)}\n      {_first_line(inspect.getdoc(value) or '')}")
        listed.append("")
    print("\n".join(listed[:-1]))
    return 0


def list_kinds() -> dict[str, dict[str, type]]:
    """Return heading -> name -> class of blocks, kernels and transforms.

    >>> [heading for heading, names in list_kinds().items() if "Rule" in names]
    ['Regions: known class or slope of f in a part of the space']
    """
    from .knowledge.base import Knowledge
    from .knowledge.regions.base import RegionKnowledge
    from .knowledge.traits import OnRowSlack

    rows = "Rows: weights or order of training rows, and additional rows"
    hints = "Hints: penalties on values and slopes of f"
    regions = "Regions: known class or slope of f in a part of the space"
    worst = "Worst case: the margin of a row for all its possible values"
    found: dict[str, dict[str, type]] = {rows: {}, hints: {}, regions: {}, worst: {}}
    for name, block in _public("Knowledge").items():
        heading = hints
        if block.build is Knowledge.build:
            heading = rows
        elif issubclass(block, OnRowSlack):
            heading = worst
        elif issubclass(block, RegionKnowledge):
            heading = regions
        found[heading][name] = block
    found["Kernels: PriorSVC(kernel=...)"] = _public("Kernel")
    found["Transforms: changes of a row that keep its class"] = _public("Transform")
    return found


def _public(base: str) -> dict[str, Any]:
    """Return the public classes by name that derive from a base, without the bases."""
    import priorsvm

    kind = getattr(priorsvm, base)
    public = {name: getattr(priorsvm, name) for name in priorsvm.__all__ if name not in _BASES}
    return {
        name: value for name, value in public.items() if isinstance(value, type) and issubclass(value, kind)
    }


def _signature(block: type) -> str:
    """Return the signature of the constructor without types."""
    import inspect

    signature = inspect.signature(block)
    empty = inspect.Parameter.empty
    parameters = [p.replace(annotation=empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=empty))


def _first_line(docstring: str) -> str:
    r"""Return the first line of a docstring, with formulas as plain text.

    >>> print(_first_line(r":math:`y^*`: :math:`\sum_i C \cdot \mathrm{cost}_i\,\xi_i`: :class:`Rule`."))
    y^*: Σᵢ C · costᵢ ξᵢ: Rule.
    """
    import re

    from .explain.plain_text import plain_text

    line = docstring.partition("\n")[0]
    line = re.sub(r":math:`([^`]*)`", lambda found: plain_text(found[1]), line)
    return re.sub(r"(?::\w+:)?`+([^`]*)`+", r"\1", line)


if __name__ == "__main__":
    sys.exit(main())
