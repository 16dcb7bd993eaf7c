"""The ``priorsvm`` command."""

import errno
import inspect
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import priorsvm
from priorsvm import cli
from priorsvm.demo import digits as demo
from priorsvm.solve import solvers
from priorsvm.solve.classes import CLASSES
from priorsvm.solve.registry import registry

PNG = b"\x89PNG\r\n\x1a\n"


def test_no_arguments_print_help(capsys):
    assert cli.main([]) == 0
    printed = capsys.readouterr().out
    for command in ("demo", "play", "solvers", "blocks"):
        assert command in printed


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_exit(argument, capsys):
    with pytest.raises(SystemExit) as exited:
        cli.main([argument])
    assert exited.value.code == 0
    printed = capsys.readouterr().out
    assert (
        "usage: priorsvm" in printed
        if argument == "--help"
        else printed == f"priorsvm {priorsvm.__version__}\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["paint"], "invalid choice: 'paint'"),
        (["demo", "--seeds", "0"], "an integer of at least 1, got '0'"),
        (["demo", "--seeds", "few"], "an integer of at least 1, got 'few'"),
        (["demo", "--output", "nowhere/at/all.png"], "the folder 'nowhere/at' does not exist"),
        (["demo", "--output", "picture.doc"], "'picture.doc' must end in one of"),
        (["solvers", "--fast"], "unrecognized arguments: --fast"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message, capsys):
    with pytest.raises(SystemExit) as exited:
        cli.main(arguments)
    assert exited.value.code == 2
    assert message in capsys.readouterr().err


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from priorsvm.cli import main; main([]);"
        "print(sorted({'cvxpy', 'matplotlib', 'sklearn', 'scipy', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize("module", ["priorsvm", "priorsvm.cli"])
def test_both_modules_are_the_command(module):
    run = [sys.executable, "-m", module, "--version"]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert done.stdout == f"priorsvm {priorsvm.__version__}\n"


def test_solvers_tells_what_each_solves(capsys):
    assert cli.main(["solvers"]) == 0
    lines = capsys.readouterr().out.splitlines()
    head, table = lines[0], {line.split()[0]: line for line in lines[1:] if line}
    for name, solver in registry().items():
        installed = table[name][head.index("installed") :].split()[0]
        assert installed == ("yes" if solver.installed() else "no")
        for problem in CLASSES:
            at = head.index(f" {problem} ") + 1
            assert (table[name][at : at + 3] == "yes") == (problem in solver.solves)
        assert table[name].endswith(solver.note)
    assert "weighted" in table["LIBSVM"]


def test_solvers_says_how_to_get_what_is_missing(capsys, monkeypatch):
    monkeypatch.setattr(solvers, "installed", lambda: ("CLARABEL", "SCS", "ECOS", "OSQP", "SCHUR"))
    cli.main(["solvers"])
    printed = capsys.readouterr().out
    assert "Not installed: HIGHS, PIQP, QOCO. To add: pip install highspy piqp qoco" in printed


def test_solvers_lists_further_solvers_in_full_once_installed(capsys, monkeypatch):
    monkeypatch.setattr(solvers, "available", lambda: frozenset({"CLARABEL", "SCIPY"}))
    cli.main(["solvers"])
    printed = capsys.readouterr().out
    assert re.search(r"^SCIPY +yes +yes +no +at the default options of CVXPY$", printed, re.MULTILINE)
    other = re.search(
        r"^Other solvers of CVXPY, with the package for pip install: (.*)$", printed, re.MULTILINE
    )
    assert {"MOSEK (mosek)", "GUROBI (gurobipy)", "SDPA (sdpa-python)"} <= set(other[1].split(", "))
    assert "SCIPY" not in other[1]
    assert "COSMO" not in printed


def test_solvers_with_nothing_missing_says_so_by_silence(capsys, monkeypatch):
    monkeypatch.setattr(solvers, "installed", lambda: tuple(solvers.SOLVERS))
    cli.main(["solvers"])
    assert "Not installed" not in capsys.readouterr().out


def listed_by_heading(text):
    """Heading -> {name: line of description}, of what `priorsvm blocks` prints."""
    found = {}
    for section in text.rstrip("\n").split("\n\n"):
        heading, *lines = section.splitlines()
        assert not heading.startswith(" ")
        assert all(re.match(r"  \w", line) for line in lines[::2])
        assert all(re.match(r"      \S", line) for line in lines[1::2])
        names = [line.strip().partition("(")[0] for line in lines[::2]]
        found[heading.partition(":")[0]] = dict(zip(names, lines[1::2], strict=True))
    return found


def test_blocks_lists_every_public_block_kernel_and_transform_once(capsys):
    assert cli.main(["blocks"]) == 0
    printed = capsys.readouterr().out
    sections = listed_by_heading(printed)
    listed = [name for names in sections.values() for name in names]
    bases = priorsvm.Knowledge, priorsvm.Kernel, priorsvm.Transform
    public = [getattr(priorsvm, name) for name in priorsvm.__all__]
    kinds = {value.__name__ for value in public if inspect.isclass(value) and issubclass(value, bases)}
    assert sorted(listed) == sorted(kinds - {"Knowledge", "Kernel", "Spectral", "Transform"})
    line = r"^  VirtualSamples\(transform, cost=1\.0, classes=None\)\n      \w"
    assert re.search(line, printed, re.MULTILINE)
    for names in sections.values():
        assert not [line for line in names.values() if set("\\`") & set(line)], "mathematics is text"


def test_blocks_are_listed_by_kind(capsys):
    cli.main(["blocks"])
    sections = listed_by_heading(capsys.readouterr().out)
    assert list(sections) == ["Rows", "Hints", "Regions", "Worst case", "Kernels", "Transforms"]
    for heading, names in {
        "Rows": ("ClassCosts", "VirtualSupportVectors", "Transductive", "RowPermutations"),
        "Hints": ("InvarianceHint", "TangentPenalty"),
        "Regions": ("Rule", "Region", "Ellipsoid", "Monotone"),
        "Worst case": ("UncertainSamples", "MissingValues", "Trajectories", "InvariantLoss"),
        "Kernels": ("RBF", "Jitter", "Bhattacharyya"),
        "Transforms": ("Translation", "FeatureScaling", "FeatureDeletion"),
    }.items():
        assert set(names) <= set(sections[heading])


@pytest.mark.slow
def test_demo_prints_report_and_table_and_writes_a_picture(tmp_path, capsys):
    picture = tmp_path / "demo.png"
    assert cli.main(["demo", "--seeds", "2", "--output", str(picture)]) == 0
    captured = capsys.readouterr()
    content = picture.read_bytes()
    assert content.startswith(PNG)
    assert len(content) > 50_000
    assert f"Figure: {picture}" in captured.out
    assert "models fitted: 100%" in captured.err
    # The report contains every block of the model.
    report = captured.out[captured.out.index("block ") : captured.out.index("Test errors")]
    for name in ("shifts", "rotations", "unlabelled"):
        assert f"\n{name} " in report
    assert "optimal" in report
    table = captured.out[captured.out.index("Test errors") :]
    assert "over 2 draws" in table
    for line in ("plain SVM ", "+ shifts ", "+ rotations ", "+ unlabelled "):
        assert f"\n{line}" in table
    assert table.count("±") == 6
    assert "Error of always predicting the more frequent digit: 4" in table
    assert captured.out.endswith(f"{cli.NEXT_STEPS}\n")


@pytest.mark.slow
def test_the_labels_of_the_figure_agree_with_the_blocks():
    blocks = demo.prior(np.zeros((100, 64)))
    assert demo._label("+ rotations").endswith("at half the cost")
    assert blocks["rotations"].cost == 0.5
    assert (blocks["rotations"].transform.degrees, blocks["shifts"].transform.pixels) == (15, 1)
    assert blocks["shifts"].cost == 1.0
    assert all(blocks.weights is None or weight == 1 for *_, weight in blocks)


@pytest.mark.slow
def test_demo_works_with_one_draw(tmp_path, capsys):
    assert cli.main(["demo", "--seeds", "1", "--output", str(tmp_path / "demo.svg")]) == 0
    assert "<svg" in (tmp_path / "demo.svg").read_text()
    printed = capsys.readouterr().out
    assert "mean over 1 draw of the labels" in printed
    assert not re.search(r"\bnan\b", printed)
    assert "is malignant" in printed
    assert (tmp_path / "demo-rule.svg").exists()


def slow(*arguments):
    return pytest.param([*arguments], marks=pytest.mark.slow)


@pytest.mark.parametrize("arguments", [slow("blocks"), slow("solvers"), ["--help"], []])
def test_a_pipe_that_closes_early_ends_the_command_without_an_error(arguments):
    buffered = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "priorsvm", *arguments],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            env=buffered,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
@pytest.mark.parametrize(
    "arguments", [slow("blocks"), slow("demo"), slow("solvers"), slow("play", "--no-browser"), ["--help"]]
)
def test_a_full_disk_is_one_line(arguments):
    buffered = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "priorsvm", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=buffered)
    message = f"priorsvm: error: cannot write to the standard output: {os.strerror(errno.ENOSPC)}\n"
    assert (done.returncode, done.stderr) == (1, message)


@pytest.mark.skipif(os.name != "posix", reason="the standard output is closed by `sh`")
@pytest.mark.parametrize("arguments", ["blocks", "demo", "play --no-browser", "solvers", "--version"])
def test_a_closed_output_is_one_line(arguments):
    command = ["sh", "-c", f"exec '{sys.executable}' -m priorsvm {arguments} >&-"]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (1, "priorsvm: error: the standard output is closed\n")


def test_a_figure_that_cannot_be_written_is_one_line(capsys, monkeypatch):
    def full(arguments, parser):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "demo.png")

    monkeypatch.setattr(cli, "_demo", full)
    assert cli.main(["demo"]) == 1
    assert capsys.readouterr().err == (
        f"priorsvm: error: cannot write to demo.png: {os.strerror(errno.ENOSPC)}\n"
    )
