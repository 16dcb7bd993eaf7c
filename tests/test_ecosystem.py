"""Conventions of the ecosystem: files of a public repository, the page on PyPI, links to other packages."""

import os
import re
import runpy
import shutil
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LINK = re.compile(r"\[[^\]]*\]\(([^)]*)\)")
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"]


@pytest.mark.parametrize("page", PAGES)
def test_links_of_the_community_pages_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in LINK.findall(text):
        if not link.startswith("https://"):
            assert (ROOT / link.partition("#")[0]).exists(), f"{page} links to {link}, which does not exist"


def test_the_page_on_pypi_has_no_relative_links():
    hook = CONFIGURATION["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    [fragment] = hook["fragments"]
    text = (ROOT / fragment["path"]).read_text(encoding="utf-8")
    assert any(not link.startswith("https://") for link in LINK.findall(text))
    for rule in hook["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    assert [link for link in LINK.findall(text) if not link.startswith("https://")] == []
    assert "[Does it help?]" not in text
    assert "Does it help? measures" in text
    assert "[0, 25, 30, 99]" in text, "code is not changed"


@pytest.mark.parametrize("online", [False, True])
def test_intersphinx_only_with_a_network(monkeypatch, online):
    pytest.importorskip("sphinxcontrib.bibtex")
    monkeypatch.setitem(os.environ, "PRIORSVM_ONLINE", "1" if online else "")
    configuration = runpy.run_path(str(ROOT / "docs" / "conf.py"))
    assert ("sphinx.ext.intersphinx" in configuration["extensions"]) == online
    assert len(configuration["intersphinx_mapping"]) > 5


def test_the_workflow_runs_targets_that_exist():
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    steps = [step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"]]
    targets = {step.split()[1] for step in steps if step.startswith("make ")}
    known = set(re.findall(r"^([a-z]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    assert {"lint", "test", "lowest", "wheels", "docs"} <= targets <= known
    pythons = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    classifiers = CONFIGURATION["project"]["classifiers"]
    assert all(f"Programming Language :: Python :: {python}" in classifiers for python in pythons)
    assert workflow["permissions"] == {"contents": "read"}


def test_a_change_is_tested_with_the_lowest_versions_and_on_newer_pythons():
    """Both stages run by default, with files that exist."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    default = script.partition("\nelse\n")[2]
    for stage in ("make lint", "make test", "make solvers", "make docs"):
        assert f"\nstage {stage}\n" in script
    slices = dict(re.findall(r'stage (make lowest|env) SLICE="([^"]*)"', default))
    assert set(slices) == {"make lowest", "env"}
    assert ".ci/pythons" in default
    assert all((ROOT / part).exists() for files in slices.values() for part in files.split())
    assert all("tests/test_estimator.py" in files and "tests/knowledge" in files for files in slices.values())
    pythons = (ROOT / ".ci" / "pythons").read_text(encoding="utf-8")
    loop = re.search(r"^for version in (.*); do$", pythons, re.M)
    named = " ".join(CONFIGURATION["project"]["classifiers"])
    assert ["3.11", *loop[1].split()] == re.findall(r"Python :: (3\.\d+)", named)


def test_pre_commit_uses_the_tools_of_the_extra_dev():
    yaml = pytest.importorskip("yaml")
    [repository] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    tools = {hook["entry"].split()[0] for hook in repository["hooks"]}
    dev = " ".join(CONFIGURATION["project"]["optional-dependencies"]["dev"])
    assert tools == {"ruff", "mypy"}
    assert all(f"{tool}>=" in dev for tool in tools)


def test_no_invented_address():
    """Without a public address, [project.urls] is left out."""
    assert "urls" not in CONFIGURATION["project"]
    texts = [(ROOT / page).read_text(encoding="utf-8") for page in (*PAGES, "CITATION.cff", "pyproject.toml")]
    assert not re.search(r"github\.com/[\w-]+/priorsvm|readthedocs\.io/[\w-]*priorsvm", " ".join(texts))


def test_read_the_docs_builds_these_pages():
    yaml = pytest.importorskip("yaml")
    built = yaml.safe_load((ROOT / ".readthedocs.yaml").read_text(encoding="utf-8"))
    assert (ROOT / built["sphinx"]["configuration"]).exists()
    assert {"method": "pip", "path": ".", "extra_requirements": ["dev"]} in built["python"]["install"]


def test_issue_templates_are_forms():
    yaml = pytest.importorskip("yaml")
    folder = ROOT / ".github" / "ISSUE_TEMPLATE"
    forms = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in folder.glob("*.yml")}
    assert {"bug", "knowledge"} <= set(forms)
    assert all(form["body"] for name, form in forms.items() if name != "config")


def test_repo_review_has_no_failures_but_those_with_a_reason():
    """The checks of sp-repo-review; `[tool.repo-review.ignore]` lists what does not apply, with reasons."""
    pytest.importorskip("sp_repo_review")
    results = pytest.importorskip("repo_review.processor").process(ROOT).results
    failed = {result.name: result.description for result in results if result.result is False}
    assert failed == {}
    assert sum(result.result is True for result in results) >= 45
    ignored = CONFIGURATION["tool"]["repo-review"]["ignore"]
    assert all(len(reason.split()) > 3 for reason in ignored.values())
    assert set(ignored) <= {result.name for result in results}, "an ignored check does not exist"


@pytest.mark.parametrize(
    ("name", "setting", "check"),
    [
        ("README.md", "", "PY002"),
        ("tests", "", "PY005"),
        ("docs", "", "PY004"),
        (".pre-commit-config.yaml", "", "PY006"),
        (".github/dependabot.yml", "", "GH200"),
        ("LICENSE", "", "PY003"),
        ("pyproject.toml", "\nstrict = true", "MY101"),
        ("pyproject.toml", "--strict-config ", "PP306"),
        ("pyproject.toml", "\nxfail_strict = true", "PP305"),
    ],
)
def test_repo_review_fails_without_a_file_or_setting(tmp_path, name, setting, check):
    pytest.importorskip("sp_repo_review")
    processor = pytest.importorskip("repo_review.processor")
    for part in ROOT.iterdir():
        if part.name not in {".git", "pyproject.toml", ".github"}:
            (tmp_path / part.name).symlink_to(part)
    shutil.copytree(ROOT / ".github", tmp_path / ".github")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    if setting:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert setting in text
        (tmp_path / name).write_text(text.replace(setting, ""), encoding="utf-8")
    else:
        (tmp_path / name).unlink()
    failed = {result.name for result in processor.process(tmp_path).results if result.result is False}
    assert failed == {check}


def test_coverage_counts_branches_in_every_process():
    settings = CONFIGURATION["tool"]["coverage"]
    assert settings["run"]["branch"]
    assert settings["run"]["patch"] == ["subprocess"]
    assert settings["report"]["fail_under"] >= 95


def test_mypy_is_strict_on_the_whole_package():
    """`make lint` runs it; bases and values of packages without types are the only exceptions."""
    settings = CONFIGURATION["tool"]["mypy"]
    assert settings["strict"] is True
    assert settings["packages"] == ["priorsvm"]
    relaxed = {name for name, value in settings.items() if value is False}
    assert relaxed == {"disallow_subclassing_any", "warn_return_any", "warn_unreachable"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^lint:.*\n(\t.*\n)*\t\$\(BIN\)/mypy$", makefile, re.M)


def test_long_random_tests_have_a_target():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [recipe] = re.findall(r"^fuzz:.*\n((?:\t.*\n)+)", makefile, re.M)
    assert "PRIORSVM_FUZZ" in recipe
    paths = re.findall(r"tests/[\w/.]+", recipe)
    assert "tests/fuzz" in paths
    assert all((ROOT / path).exists() for path in paths)


def test_removals_of_other_packages_are_errors():
    """A coming removal in a call from our code fails a test."""
    filters = CONFIGURATION["tool"]["pytest"]["ini_options"]["filterwarnings"]
    kinds = ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning")
    assert {f"error::{kind}:priorsvm" for kind in kinds} <= set(filters)
