"""Wheels: every dependency has one on the common platforms, and our own contains the types.

The tests ask the index of packages, so they run only if the environment variable PRIORSVM_ONLINE is set.
"""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLATFORMS = {
    "macOS arm64": "aarch64-apple-darwin",
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux arm64": "aarch64-manylinux_2_28",
    "Windows": "x86_64-pc-windows-msvc",
}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MARKERS = {
    "macOS arm64": {"sys_platform": "darwin", "platform_machine": "arm64"},
    "Linux x86-64": {"sys_platform": "linux", "platform_machine": "x86_64"},
    "Linux arm64": {"sys_platform": "linux", "platform_machine": "aarch64"},
    "Windows": {"sys_platform": "win32", "platform_machine": "AMD64"},
}


def uv(*arguments, **variables):
    """Run uv, which evaluates markers for other platforms; pip uses the markers of its own platform."""
    program = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if program is None:
        pytest.skip("uv is not installed")
    environment = {**os.environ, "UV_SYSTEM_CERTS": "1", **variables}
    return subprocess.run(
        [program, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )


@pytest.fixture(scope="module")
def online():
    if not os.environ.get("PRIORSVM_ONLINE"):
        pytest.skip("PRIORSVM_ONLINE is not set")
    probe = uv("pip", "install", "--dry-run", "--target", os.devnull, "--no-deps", "hatchling")
    if "Failed to fetch" in probe.stderr:
        pytest.skip("the index of packages cannot be reached")


def named(extra, python, platform):
    """Return the packages that the package, or an extra of it, requires on a platform."""
    requirements = pytest.importorskip("packaging.requirements")
    values = {"python_version": python, **MARKERS[platform]}
    listed = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    names = set()
    for required in map(requirements.Requirement, listed):
        if required.marker is None or required.marker.evaluate(values):
            parts = required.extras if required.name == "priorsvm" else ()
            names = names.union({required.name}, *(named(part, python, platform) for part in parts))
    return names


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_solvers_are_required_only_where_they_have_wheels(platform, python):
    required = named(None, python, platform)
    assert {"cvxpy", "numpy", "scipy", "scikit-learn", "clarabel", "scs", "highspy", "osqp"} <= required
    assert ("ecos" in required) == (python < "3.13" and platform in ("Linux x86-64", "Windows"))
    every = named("all", python, platform)
    assert {"piqp", "pandas", "skops", "onnx", "onnxruntime", "dask", "pyarrow", "anywidget"} <= every
    assert ("qoco" in every) == (python < "3.14" and platform != "Linux arm64")
    assert "ecos" in named("ecos", python, platform)


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_wheels_only(online, platform, python):
    """Resolve the package and its extra `all`. onnxruntime has wheels for macOS 14 and later."""
    options = ["--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:", "--extra", "all"]
    target = ["--python-platform", PLATFORMS[platform], "--python-version", python]
    found = uv("pip", "compile", *options, *target, "pyproject.toml", MACOSX_DEPLOYMENT_TARGET="14.0")
    assert found.returncode == 0, found.stderr
    names = {line.partition("==")[0] for line in found.stdout.split()}
    assert {"cvxpy", "clarabel", "scs", "highspy", "osqp", "piqp", "skops", "onnxruntime"} <= names
    assert ("ecos" in names) == (python < "3.13" and platform in ("Linux x86-64", "Windows"))
    assert ("qoco" in names) == (python < "3.14" and platform != "Linux arm64")


def test_our_wheel_contains_the_types(online, tmp_path):
    built = uv("build", "--quiet", "--wheel", "--out-dir", str(tmp_path))
    assert built.returncode == 0, built.stderr
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    stubs = {path.relative_to(ROOT).as_posix() for path in (ROOT / "priorsvm").rglob("*.pyi")}
    assert {"priorsvm/py.typed", *stubs} <= names
    assert len(stubs) == 3
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"priorsvm"}


def test_every_requirement_has_a_lowest_version():
    """`make lowest` installs the versions after ">="."""
    extras = PROJECT["optional-dependencies"]
    listed = [*PROJECT["dependencies"], *(line for lines in extras.values() for line in lines)]
    others = [line for line in listed if not line.startswith(("priorsvm[", "cvxpy["))]
    assert len(others) > 30
    assert [line for line in others if ">=" not in line] == []


def test_the_classifiers_name_the_pythons():
    prefix = "Programming Language :: Python :: 3."
    minor = {line.removeprefix(prefix) for line in PROJECT["classifiers"] if line.startswith(prefix)}
    assert {f"3.{number}" for number in minor} == set(PYTHONS)
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
