"""`import priorsvm` is fast, names are imported on first use, and no module imports itself again."""

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import priorsvm

PACKAGE = Path(priorsvm.__file__).parent
HEAVY = ("cvxpy", "matplotlib", "sklearn", "scipy", "pandas", "joblib", "numpy")


def in_a_fresh_python(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


def test_importing_the_package_imports_nothing_heavy():
    code = f"""
import json, sys
import priorsvm
print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))
"""
    assert in_a_fresh_python(code) == []


@pytest.mark.slow
def test_names_and_a_plain_fit_import_neither_cvxpy_nor_matplotlib():
    code = """
import json, sys
import priorsvm
priorsvm.PriorSVC, priorsvm.ClassCosts, priorsvm.Translation, priorsvm.RBF
names = [name in sys.modules for name in ("sklearn", "cvxpy", "matplotlib")]
model = priorsvm.PriorSVC(kernel="rbf").fit([[0.0], [1.0], [3.0]], [0, 0, 1])
model.predict([[2.0]])
print(json.dumps([names, model.solver_, "cvxpy" in sys.modules, "matplotlib" in sys.modules]))
"""
    assert in_a_fresh_python(code) == [[True, False, False], "LIBSVM", False, False]


def test_the_version_and_the_errors_need_nothing():
    code = f"""
import json, sys
import priorsvm
assert priorsvm.__version__ and priorsvm.errors.InvalidInput
print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))
"""
    assert in_a_fresh_python(code) == []


def test_star_import_gives_the_public_names():
    names = {}
    exec("from priorsvm import *", names)
    assert set(priorsvm.__all__) <= set(names)


@pytest.mark.parametrize("name", [n for n in priorsvm.__all__ if n != "__version__"])
def test_every_public_name_resolves_and_is_documented(name):
    value = getattr(priorsvm, name)
    assert value.__name__ == name
    text = inspect.getdoc(value)
    assert text
    assert value.__doc__  # its own, and not its base's
    assert text.strip().splitlines()[0].strip().endswith((".", ":"))
    if inspect.isclass(value):
        for method, function in vars(value).items():
            if inspect.isfunction(function) and not method.startswith("_"):
                assert inspect.getdoc(getattr(value, method)), f"{name}.{method} has no docstring"


def test_every_block_has_a_formula_and_an_example():
    blocks = [
        value
        for name in priorsvm.__all__
        if inspect.isclass(value := getattr(priorsvm, name))
        and issubclass(value, priorsvm.Knowledge)
        and value is not priorsvm.Knowledge
    ]
    assert len(blocks) >= 9
    for block in blocks:
        for part in (".. math::", ">>>", "Parameters", "References"):
            assert part in block.__doc__, f"Add {part} to the docstring of {block.__name__}."


def test_dir_lists_the_public_names():
    listed = dir(priorsvm)
    assert set(priorsvm.__all__) <= set(listed)
    assert {"errors", "datasets", "kernels", "transforms", "knowledge", "testing"} <= set(listed)
    assert listed == sorted(listed)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'priorsvm' has no attribute 'PriorSVM'"):
        priorsvm.PriorSVM  # noqa: B018
    assert not hasattr(priorsvm, "nonsense")
    with pytest.raises(ImportError, match="nonsense"):
        exec("from priorsvm import nonsense")


def test_every_error_derives_from_a_builtin_error():
    classes = [c for _, c in inspect.getmembers(priorsvm.errors, inspect.isclass)]
    assert len(classes) >= 15
    for error in classes:
        assert issubclass(error, (priorsvm.errors.PriorSVMError, priorsvm.errors.PriorSVMWarning))
        assert error.__doc__
    for error, kind in {
        "InvalidInput": ValueError,
        "InvalidType": TypeError,
        "NameClash": ValueError,
        "KernelNotPSD": ValueError,
        "SolverUnsuited": ValueError,
        "UnknownParameter": TypeError,
        "MissingCapability": TypeError,
        "TooLarge": MemoryError,
        "SolverNotInstalled": ImportError,
        "Infeasible": RuntimeError,
        "Unbounded": RuntimeError,
        "SolverFailed": RuntimeError,
        "NotFitted": AttributeError,
        "Recompiled": UserWarning,
    }.items():
        assert issubclass(getattr(priorsvm.errors, error), kind)


# The graph of imports, with lazy imports and imports for type checkers


def modules(folder):
    """Return the path of every module of a package, by dotted name."""
    found = {}
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported_by(name, path, known):
    """Return the modules of the package that a file imports anywhere, inside functions too."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            names = {f"{source}.{alias.name}" for alias in node.names}
            found |= {full if full in known else source for full in names}
    return (found & known.keys()) - {name}


def import_cycles(folder):
    """Return the sets of modules that import each other, each in alphabetical order."""
    known = modules(folder)
    # The lazy public names of the package itself are not imports.
    graph = {name: imported_by(name, path, known) - {folder.name} for name, path in known.items()}
    reach = {}
    for name in graph:
        seen, left = set(), [name]
        while left:
            new = graph[left.pop()] - seen
            seen |= new
            left += new
        reach[name] = seen
    cycles = {tuple(sorted(a for a in reach[b] if b in reach[a])) for b in graph if b in reach[b]}
    return sorted(cycles)


def test_no_module_imports_itself_through_others():
    assert import_cycles(PACKAGE) == []


@pytest.mark.parametrize(
    "back",
    [
        "from .a import x",
        "from ..made.a import x",
        "from . import a",
        "import made.a",
        "from made.a import x",
        "def f():\n    from .a import x",
        "def f():\n    if True:\n        import made.a as other",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import x",
    ],
)
def test_a_cycle_is_found(tmp_path, back):
    package = tmp_path / "made"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "inner" / "__init__.py").touch()
    (package / "a.py").write_text("from .inner.c import y\nimport numpy\n")
    (package / "inner" / "c.py").write_text("from ..b import z\n")
    (package / "b.py").write_text("import os\n")
    assert import_cycles(package) == []
    (package / "b.py").write_text(back + "\n")
    assert import_cycles(package) == [("made.a", "made.b", "made.inner.c")]


def test_a_package_that_imports_its_own_module_back_is_found(tmp_path):
    package = tmp_path / "made"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "inner" / "__init__.py").write_text("from .c import y\n")
    (package / "inner" / "c.py").write_text("def f():\n    from . import z\n")
    assert import_cycles(package) == [("made.inner", "made.inner.c")]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_file_is_longer_than_600_lines(path):
    assert len(path.read_text().splitlines()) <= 600


# What routes may import of the blocks: interfaces, no block itself.
INTERFACES = {
    "base",
    "traits",
    "views",
    "worst_case.base",
    "worst_case.orbit_loss",
    "worst_case.orbit_columns",
}


@pytest.mark.parametrize("path", sorted((PACKAGE / "solve").rglob("*.py")), ids=lambda path: path.name)
def test_routes_import_no_block(path):
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    used = imported_by(name, path, modules(PACKAGE))
    blocks = {n.removeprefix("priorsvm.knowledge.") for n in used if n.startswith("priorsvm.knowledge.")}
    assert blocks <= INTERFACES
    assert "priorsvm.knowledge" not in used


def test_a_name_of_an_earlier_version_is_explained():
    with pytest.raises(
        ImportError, match=r"'Context' from 'priorsvm'\. Use Building in build, and Solved in"
    ):
        from priorsvm import Context  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name 'Contxt'"):
        from priorsvm import Contxt  # noqa: F401
    assert not hasattr(priorsvm, "Contxt")
