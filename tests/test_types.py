"""Type checkers see every public name: the types that mypy reveals in a user's file."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import priorsvm

PACKAGE = Path(priorsvm.__file__).parent
# Packages whose names are imported on first use, each with a stub.
LAZY = ("priorsvm", "priorsvm.kernels", "priorsvm.transforms")

USERS_FILE = """
import priorsvm
import priorsvm.plot
from priorsvm import ClassCosts, PriorSVC, RBF
from priorsvm.kernels import Sum
X = [[0.0], [1.0], [3.0]]
model = PriorSVC(ClassCosts({0: 2.0}) + ClassCosts("balanced"), kernel=RBF(gamma=1.0)).fit(X, [0, 0, 1])
reveal_type(model)
reveal_type(model.predict(X))
reveal_type(model.report_)
reveal_type(model.explain(X[0]))
reveal_type(model.verify())
reveal_type(ClassCosts("balanced") + ClassCosts("balanced"))
reveal_type(RBF() + RBF())
reveal_type(priorsvm.errors.Infeasible)
reveal_type(priorsvm.datasets.Digits)
reveal_type(priorsvm.plot.decision)
PriorSVC(kernal="rbf")
"""
REVEALED = [
    "priorsvm.estimator.PriorSVC",
    "numpy.ndarray[",
    "priorsvm.explain.report.Report",
    "priorsvm.explain.row.Explanation",
    "priorsvm.explain.verify.Verification",
    "priorsvm.prior.Prior",
    "priorsvm.kernels.base.Kernel",
    "def (",
    "def (",
    "def (",
]


def stub(package):
    """Return name -> module of the imports of a stub."""
    seen = {}
    path = Path(import_module(package).__file__).with_suffix(".pyi")
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ImportFrom):
            [alias] = statement.names
            assert alias.name == alias.asname, "without 'as', a type checker does not export the name"
            seen[alias.name] = statement.module or ""
    return seen


@pytest.mark.parametrize("package", LAZY)
def test_a_stub_lists_the_lazy_names(package):
    module = import_module(package)
    modules = {name: path.rpartition(".")[0] for name, path in getattr(module, "_MODULES", {}).items()}
    assert stub(package) == module._HOME | modules


def test_every_lazy_package_has_a_stub():
    lazy = {path for path in PACKAGE.rglob("__init__.py") if "_HOME = {" in path.read_text(encoding="utf-8")}
    assert lazy == {path.with_suffix(".py") for path in PACKAGE.rglob("__init__.pyi")}
    assert len(lazy) == len(LAZY)
    assert (PACKAGE / "py.typed").is_file()


@pytest.mark.slow  # mypy reads the package; after `make lint` most of it is in its cache
def test_mypy_reveals_the_public_names(tmp_path):
    pytest.importorskip("mypy")
    names = [(package, name) for package in LAZY for name in import_module(package)._HOME]
    text = USERS_FILE + "".join(f"import {package}\n" for package in LAZY)
    text += "".join(f"reveal_type({package}.{name})\n" for package, name in names)
    path = tmp_path / "users_file.py"
    path.write_text(text, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file=pyproject.toml", str(path)],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )
    revealed = re.findall(r'Revealed type is "(.*)"', run.stdout)
    assert len(revealed) == len(REVEALED) + len(names), run.stdout + run.stderr
    for found, begin in zip(revealed, REVEALED, strict=False):
        assert found.startswith(begin), f"{found} does not begin with {begin}"
    for (package, name), found in zip(names, revealed[len(REVEALED) :], strict=True):
        value = getattr(import_module(package), name)
        expected = f"{value.__module__}.{name}" if isinstance(value, type) else "def ("
        assert expected in found, f"{package}.{name} is {found} for mypy"
    errors = [line for line in run.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1, run.stdout
    assert 'Unexpected keyword argument "kernal"' in errors[0]
