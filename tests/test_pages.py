"""Names and parameters on the pages exist in the code, and the tables of a block's protocol are complete."""

import ast
import doctest
import inspect
import re
from pathlib import Path

import pytest

import priorsvm
from priorsvm import Building, Completes, Iterative, Knowledge, OnRowSlack, Scores, Solved
from priorsvm.function.fitted import Fitted, FittedKernel, FittedLinear
from priorsvm.function.symbolic import Decision
from priorsvm.sample import Sample
from priorsvm.solve.registry import registry
from priorsvm.spec import Spec

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/guide").glob("*.md")),
    *sorted((ROOT / "docs/reproductions").glob("*.md")),
]
PROTOCOL = (ROOT / "docs/block_protocol.md").read_text(encoding="utf-8")


def public(*kinds):
    """Return the names of fields, properties and methods of classes or objects, without private names."""
    names = {name for kind in kinds for name in (*vars(kind), *getattr(kind, "__annotations__", {}))}
    return {name for name in names if not re.fullmatch("_.*|set_.*_request", name)}  # scikit-learn's


def section(page, heading):
    """Return a page from a heading to the next heading."""
    return re.split("^#+ ", page.partition(f" {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def in_tables(page):
    """The code in the first cell of each line of a page's tables."""
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("|")]
    return " ".join(code for cell in cells for code in re.findall("`([^`]+)`", cell))


def inline_code(page):
    """The code inside sentences and tables: what doctest does not run."""
    prose = re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"(?<!`)`([^`\n]+)`(?!`)", prose)


LINEAR = Decision(Spec(1.0, None, "l2", "hinge", None, None, 1e-6), 2)
TABLES = [
    ("While the problem is built", "f", public(Decision, LINEAR)),
    ("Once it is fitted", "f", public(Fitted, FittedLinear, FittedKernel)),
    ("The problem while it is built", "view", public(Building)),
    ("The solved model", "view", public(Solved)),
    ("The rows", "sample", public(Sample)),
]


@pytest.mark.parametrize(("heading", "word", "names"), TABLES, ids=[heading for heading, _, _ in TABLES])
def test_a_table_of_the_protocol_has_exactly_the_names_of_the_class(heading, word, names):
    assert len(names) >= 5
    assert set(re.findall(rf"\b{word}\.(\w+)", in_tables(section(PROTOCOL, heading)))) == names


def test_the_protocol_has_all_that_a_block_may_define():
    sections = [section(PROTOCOL, heading) for heading in ("What a block may define", "Traits")]
    words = set(re.findall(r"\w+", " ".join(code for part in sections for code in inline_code(part))))
    assert public(Knowledge, Iterative, OnRowSlack, Scores, Completes) <= words


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


def public_blocks():
    public_classes = [value for name in priorsvm.__all__ if inspect.isclass(value := getattr(priorsvm, name))]
    return sorted(
        kind.__name__ for kind in public_classes if issubclass(kind, Knowledge) and kind is not Knowledge
    )


def missing_in(text, names):
    """Return the names that are not a word of a text."""
    return [name for name in names if not re.search(rf"\b{name}\b", text)]


LISTS = [
    "README.md",
    "docs/guide/blocks.md",
    "docs/guide/which_block.md",
    "docs/guide/what_is_changed.md",
    "CHANGELOG.md",
    "docs/drawings/hierarchy.py",
]


@pytest.mark.parametrize("pattern", LISTS)
def test_every_public_block_is_listed(pattern):
    text = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob(pattern))
    if pattern in LISTS[:4]:
        text = "\n".join(line for line in text.splitlines() if line.startswith("|"))
    missing = missing_in(text, public_blocks())
    assert not missing, f"Add {', '.join(missing)} to {pattern}."


def test_every_work_has_a_heading_on_the_page_of_references():
    works = (ROOT / "docs/references.bib").read_text(encoding="utf-8")
    page = (ROOT / "docs/references.md").read_text(encoding="utf-8")
    entries = re.findall(r"^@\w+\{(\w+),(.*?)^\}", works, re.MULTILINE | re.DOTALL)
    found = {key: re.search(r"keywords = \{(\w+)\}", fields) for key, fields in entries}
    missing = [key for key, word in found.items() if word is None or f'keywords % "{word[1]}"' not in page]
    assert not missing, f"Give {', '.join(missing)} of docs/references.bib keywords of docs/references.md."


# The transforms that are blocks together with InvariantLoss have pages of their own, too.
PAGES_OF_TRANSFORMS = ["FeatureDeletion", "FeatureScaling"]
MOST_WORDS_OF_A_PAGE = 2500
# Pages with another limit.
MOST_WORDS_OF = {"design.md": 1850}


def titles():
    """Return the title of each guide page, by name of its file."""
    pages = (ROOT / "docs/guide").glob("*.md")
    return {path.name: path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for path in pages}


def test_every_public_block_has_a_page_of_its_own():
    missing = [name for name in public_blocks() + PAGES_OF_TRANSFORMS if name not in titles().values()]
    assert not missing, f"Add pages with the titles {', '.join(missing)} to docs/guide."


def test_pages_of_blocks_are_listed_with_the_blocks():
    index = (ROOT / "docs/guide/index.md").read_text(encoding="utf-8")
    names = {*public_blocks(), *PAGES_OF_TRANSFORMS}
    pages = [page.removesuffix(".md") for page, title in titles().items() if title in names]
    missing = [page for page in pages if f"\n{page}\n" not in index]
    assert not missing, f"Add {', '.join(missing)} to the toctree of docs/guide/index.md."


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_page_is_short(page):
    words = len(page.read_text(encoding="utf-8").split())
    most = MOST_WORDS_OF.get(page.name, MOST_WORDS_OF_A_PAGE)
    assert words <= most, f"{page.name} has {words} words, at most {most} are allowed. Split it."


NO_PROSE = r"```.*?```|\$\$.*?\$\$|^\|[^\n]*$|^#[^\n]*$|^:::[^\n]*$"  # code, formulas, tables, headings
ADVISED_AGAINST = (
    r"\b(who|whoever|whom|nobody|somebody|everybody|in vain|dear|dearer|last word|likes|"
    r"(?<!there )(?<!There )(is|are) no (?!larger|smaller|longer|more|less|other)[a-z]+)\b"
)
MOST_WORDS_OF_A_SENTENCE = 25
MOST_LONG_SENTENCES = 0.05


def prose(page):
    """Return the sentences of a page."""
    return re.sub(NO_PROSE, "", page, flags=re.DOTALL | re.MULTILINE)


def sentences(page):
    """Return the sentences of a page that have more than three words."""
    parts = re.split(r"(?<=[.!?])\s+", prose(page))
    return [part for part in parts if len(part.split()) > 3]


def all_pages():
    """Return the text of each page that is written by hand, by path."""
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    made = {"_build", "_gallery", "_notebooks"}
    return {path: path.read_text(encoding="utf-8") for path in paths if not made & set(path.parts)}


def test_few_sentences_are_long():
    lengths = [len(part.split()) for page in all_pages().values() for part in sentences(page)]
    long = sum(length > MOST_WORDS_OF_A_SENTENCE for length in lengths)
    assert long <= MOST_LONG_SENTENCES * len(lengths), f"{long} of {len(lengths)} sentences are long"


def test_pages_do_without_words_that_are_advised_against():
    found = {
        path.name: [match[0] for match in re.finditer(ADVISED_AGAINST, prose(page), re.IGNORECASE)]
        for path, page in all_pages().items()
    }
    assert not {name: words for name, words in found.items() if words}


def test_the_guide_states_no_measured_times_in_prose():
    measured = r"\b\d[\d.]*\s?(?:s|ms|GB)\b"
    pages = {
        path.name: prose(path.read_text(encoding="utf-8")) for path in (ROOT / "docs/guide").glob("*.md")
    }
    found = {name: re.findall(measured, re.sub(r"`[^`]*`", "", text)) for name, text in pages.items()}
    assert not {name: numbers for name, numbers in found.items() if numbers}, (
        "put numbers into generated tables"
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_review_is_introduced_at_its_first_use(page):
    text = page.read_text(encoding="utf-8")
    first = re.search(r"\bthe\s+review\b", text, re.IGNORECASE)
    around = text[max(0, first.start() - 60) : first.end() + 60] if first else ""
    assert not first or re.search("lauer2008|Lauer", around), around


def test_greek_letters_of_pages_have_a_meaning_on_the_page_on_notation():
    notation = (ROOT / "docs/notation.md").read_text(encoding="utf-8")
    capitals = "Gamma|Delta|Sigma|Phi|Omega"
    letters = (
        r"\\(alpha|beta|gamma|varepsilon|zeta|eta|theta|kappa|lambda|mu|nu|xi|rho|sigma|tau|varphi|psi|omega|"
        rf"epsilon|phi|delta|{capitals})(?![a-zA-Z])"
    )
    known = set(re.findall(letters, notation))
    used = {
        path.name: set(re.findall(letters, path.read_text(encoding="utf-8"))) - known
        for path in (ROOT / "docs/guide").glob("*.md")
    }
    assert not {name: unknown for name, unknown in used.items() if unknown}


def test_missing_names_are_noticed():
    assert missing_in("| `Box` | `Rules` |", ["Box", "Rule"]) == ["Rule"]
    assert {"Box", "InvarianceHint"} <= set(public_blocks())
    assert not {"Knowledge", "PriorSVC", "RBF"} & set(public_blocks())


def test_the_readme_is_short_and_names_no_route():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 120
    assert not [name for name in registry() if re.search(rf"\b{name}\b", page)]


def test_the_reading_of_pages():
    page = "One `f(a=1)`.\n```python\n`no`\n```\n| `x.y`, `z` | `w` |\n"
    assert inline_code(page) == ["f(a=1)", "x.y", "z", "w"]
    assert in_tables(page) == "x.y z"
    assert section("## A\none\n### B\ntwo\n## C\n", "A") == "one\n"
    assert section("## A\none\n### B\ntwo\n## C\n", "B") == "two\n"


@pytest.mark.slow
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
