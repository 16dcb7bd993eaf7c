"""Every notebook runs from top to bottom, shows a picture, and ends in assertions.

What has run is kept in docs/_notebooks, from where the documentation takes its pages: see `make docs`.
"""

import ast
import os
from pathlib import Path

import pytest

import priorsvm

jupytext = pytest.importorskip("jupytext")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "notebooks").glob("*.py"))
PAGES = ROOT / "docs" / "_notebooks"
SECONDS = 300

# A kernel draws into the notebook unless it is told otherwise, and the tests are: see conftest.py.
INLINE = {**os.environ, "MPLBACKEND": "module://matplotlib_inline.backend_inline"}


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def keep(notebook, stem):
    """Write the page of a notebook, whole or not at all."""
    PAGES.mkdir(exist_ok=True)
    unfinished = PAGES / f".{stem}.{os.getpid()}"
    unfinished.write_text(jupytext.writes(notebook, fmt="ipynb"), encoding="utf-8")
    unfinished.replace(PAGES / f"{stem}.ipynb")


def test_there_are_notebooks():
    assert SOURCES


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_opens_with_a_question_and_ends_in_assertions(source):
    notebook = jupytext.read(source)
    assert notebook.cells[0].cell_type == "markdown"
    title, *_ = notebook.cells[0].source.splitlines()
    assert title.startswith("# ")
    assert title.endswith("?")
    last = code_cells(notebook)[-1].source
    assert any(line.startswith("assert ") for line in last.splitlines())
    headings = [
        line for cell in notebook.cells for line in cell.source.splitlines() if line.startswith("## ")
    ]
    assert headings.index("## Exercises") < headings.index("## Solutions")


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_uses_public_names_only(source):
    modules = {"priorsvm", *(f"priorsvm.{name}" for name in priorsvm._MODULES)}
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("priorsvm"):
            assert node.module in modules
            if node.module == "priorsvm":
                assert {alias.name for alias in node.names} <= set(dir(priorsvm))


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_runs_and_shows_a_picture(source, tmp_path):
    notebook = jupytext.read(source)
    client = nbclient.NotebookClient(
        notebook, kernel_name="python3", timeout=SECONDS, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute(env=INLINE)
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    first = [output for cell in code_cells(notebook)[:3] for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in first), "it opens with a picture"
    for output in outputs:
        assert output.get("name") != "stderr", output["text"]
    keep(notebook, source.stem)
