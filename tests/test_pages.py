"""What the pages say of names and parameters is what the code has."""

import ast
import doctest
import inspect
import re
from pathlib import Path

import pytest

import priorsvm
from priorsvm.function.fitted import Fitted
from priorsvm.function.symbolic import Decision
from priorsvm.knowledge.base import Knowledge
from priorsvm.sample import Sample

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/guide").glob("*.md")),
]
OWN_BLOCK = (ROOT / "docs/guide/own_block.md").read_text(encoding="utf-8")


def public(kind):
    """The names of a class that do not begin with an underscore: of its fields, properties and methods."""
    names = {*vars(kind), *getattr(kind, "__annotations__", {})}
    return sorted(name for name in names if not re.fullmatch("_.*|set_.*_request", name))  # scikit-learn's


def in_tables(page):
    """The code in the first cell of each line of a page's tables."""
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("|")]
    return " ".join(code for cell in cells for code in re.findall("`([^`]+)`", cell))


def inline_code(page):
    """The code inside sentences and tables: what doctest does not run."""
    prose = re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"(?<!`)`([^`\n]+)`(?!`)", prose)


@pytest.mark.parametrize(("word", "kind"), [("context", Context), ("sample", Sample)])
def test_the_page_on_own_blocks_has_all_that_a_block_sees(word, kind):
    assert len(public(kind)) > 10
    named = set(re.findall(rf"\b{word}\.(\w+)", in_tables(OWN_BLOCK)))
    assert named == set(public(kind))


def test_the_page_on_own_blocks_has_all_that_a_block_may_say_and_do():
    words = set(re.findall(r"\w+", " ".join(inline_code(OWN_BLOCK))))
    missing = set(public(Knowledge)) - words
    assert not missing


def test_the_page_on_own_blocks_says_nothing_of_f_that_is_not_there():
    named = set(re.findall(r"\bf\.(\w+)", in_tables(OWN_BLOCK)))
    assert {"slope", "coef", "value"} <= named
    assert named <= {*public(Decision), *public(Fitted)}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_calls_in_sentences_have_parameters_that_there_are(page):
    for code in inline_code(page.read_text(encoding="utf-8")):
        try:
            tree = ast.parse(code, mode="eval")
        except SyntaxError:
            continue  # "`0.5 *` in front", and the like
        for call in ast.walk(tree):
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Name)
                and call.func.id in priorsvm.__all__
            ):
                given = {word.arg for word in call.keywords if word.arg}
                known = set(inspect.signature(getattr(priorsvm, call.func.id)).parameters)
                assert given <= known, f"{code}: there is no {', '.join(given - known)}"


def test_the_reading_of_pages():
    page = "One `f(a=1)`.\n```python\n`no`\n```\n| `x.y`, `z` | `w` |\n"
    assert inline_code(page) == ["f(a=1)", "x.y", "z", "w"]
    assert in_tables(page) == "x.y z"


def test_the_first_example_of_the_readme_prints_what_stands_below_it(capsys):
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    code, printed = re.search(
        r"^```python\n(.*?)^```\n+```text\n(.*?)^```", page, re.DOTALL | re.MULTILINE
    ).groups()
    assert ">>>" not in code
    exec(compile(code, "README.md", "exec"), {})
    found = capsys.readouterr().out
    rules = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(printed, found, rules), found
