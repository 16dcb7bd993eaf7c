"""The package imports nothing of the library."""

import ast
from pathlib import Path

import pytest

import priorsvm.schur

FILES = sorted(Path(priorsvm.schur.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_imports_stay_inside_the_package(path):
    """Imports at any depth of the file: other packages, or modules beside it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert not any(alias.name.split(".")[0] == "priorsvm" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level <= 1
            assert node.level == 1 or str(node.module).split(".")[0] != "priorsvm"
