"""Links between the guide, the lessons, the gallery and the API pages, and the pictures of the gallery.

The last lines of a guide page link to API pages, lessons and examples. The header of an example links to
its guide page. All other links are derived from these: "Where to read more" at the end of each API page and
of each lesson.

Pages name lessons by number: ``[](lesson:05)`` is a link to the lesson whose file starts with ``05_``. A
lesson can be renamed, and all links follow. An example links to the lesson of the page of its block, or to
the lesson that uses its name most often.
"""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
GALLERY = DOCS / "gallery"
LESSONS = DOCS.parent / "notebooks"

# The narrowest picture, in pixels, and pixels per inch of wider pictures.
NARROWEST = 480
DPI = 100
# Links of one kind at the end of an API page.
MOST = 4

# The last line of a guide page starts with these words.
MORE = "**Where to read more.**"


@dataclass(frozen=True)
class Example:
    """An example of the gallery.

    Attributes
    ----------
    page : address of its page, without extension.
    picture : address of its picture.
    title, text, alt : parts of its header.
    name : name of what it shows, below ``priorsvm``.
    guide : name of the guide page that it links to.
    code : its lines of code.
    """

    page: str
    picture: str
    title: str
    text: str
    alt: str
    name: str
    guide: str
    code: str

    @property
    def lesson(self) -> str:
        """The name of the lesson that it links to."""
        guide = guide_pages()[self.guide]
        own = guide.startswith(f"# {self.name}\n")
        found = [
            *(lessons_linked_by(guide) if own else []),
            *lessons_of(self.name),
            *lessons_linked_by(guide),
        ]
        if not found:
            raise ValueError(f"{self.page}: docs/guide/{self.guide}.md links to none of the lessons")
        return found[0]


@cache
def examples() -> list[Example]:
    """Return all examples, in the order of their folders and files."""
    return [read_example(path) for path in sorted(GALLERY.rglob("plot_*.py"))]


def read_example(path: Path) -> Example:
    """Return the example of a file; raise ValueError if a part of its header is missing."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    header = ast.get_docstring(tree) or ""
    patterns = {
        "title": r"\A(.+)\n=+\n",
        "text": r"\n=+\n\n(.+?)\n\n",
        "alt": r"^\.\. alt: (.+)\Z",
        "name": r"\A([\w.]+): ",
        "guide": r"^Guide: :doc:`/guide/(\w+)`",
    }
    found = {part: re.search(pattern, header, re.DOTALL | re.MULTILINE) for part, pattern in patterns.items()}
    missing = [part for part, match in found.items() if match is None]
    if missing:
        raise ValueError(f"{path}: the header has no {', '.join(missing)}")
    parts = {part: " ".join(match[1].split()) for part, match in found.items() if match is not None}
    folder = path.parent.name
    return Example(
        page=f"/_gallery/{folder}/{path.stem}",
        picture=f"/_gallery/{folder}/images/sphx_glr_{path.stem}_001.png",
        code="\n".join(source.splitlines()[tree.body[0].end_lineno :]),
        **parts,
    )


@cache
def guide_pages() -> dict[str, str]:
    """Return the text of each guide page, by name."""
    paths = sorted((DOCS / "guide").glob("*.md"))
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


@cache
def lessons() -> dict[str, set[str]]:
    """Return the names that each lesson imports from priorsvm, by name of the lesson."""
    found = {}
    for path in sorted(LESSONS.glob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "priorsvm"]
        found[path.stem] = {alias.name for node in imports for alias in node.names}
    return found


@cache
def lessons_of(name: str) -> list[str]:
    """Return the lessons that use a public name such as "plot.path", the most frequent user first."""
    counts = {}
    for lesson, names in lessons().items():
        text = (LESSONS / f"{lesson}.py").read_text(encoding="utf-8")
        used = len(re.findall(rf"\b{re.escape(name)}\b", text))
        if used and name.split(".")[0] in names:
            counts[lesson] = used
    return sorted(counts, key=lambda lesson: -counts[lesson])


A_LESSON_LINK = re.compile(r"\]\(lesson:(\d\d)\)")


def numbered(number: str) -> str:
    """Return the lesson with a number; raise ValueError if it does not exist."""
    found = [lesson for lesson in lessons() if lesson.startswith(f"{number}_")]
    if not found:
        raise ValueError(f"a page links to lesson:{number}, but notebooks/ has no file {number}_*.py")
    return found[0]


def lessons_linked_by(text: str) -> list[str]:
    """Return the lessons that a page in Markdown links to."""
    return list(dict.fromkeys(map(numbered, A_LESSON_LINK.findall(text))))


def resolve_lesson_links(app: Any, page: str, source: list[str]) -> None:
    """Write the addresses of lessons into pages and examples, while Sphinx reads them."""
    # The page is read again if one of its lessons has another name.
    for lesson in lessons_linked_by(source[0]):
        app.env.note_dependency(LESSONS / f"{lesson}.py")
    source[0] = A_LESSON_LINK.sub(lambda m: f"](/_notebooks/{numbered(m[1])}.ipynb)", source[0])
    if page.startswith("_gallery/"):
        for example in examples():
            if example.page == f"/{page}":
                line = f"Guide: :doc:`/guide/{example.guide}`."
                source[0] = source[0].replace(line, f"{line} Lesson: :doc:`/_notebooks/{example.lesson}`.")


def guides_of(name: str) -> list[str]:
    """Return the guide pages for a name: its own, those that link to its API page, those that name it."""
    pages = guide_pages()
    own = [page for page, text in pages.items() if text.startswith(f"# {name}\n")]
    address = f"api/priorsvm.{name}.rst"
    linked = [page for page, text in pages.items() if address in text]
    counts = {page: len(re.findall(rf"\b{re.escape(name)}\b", text)) for page, text in pages.items()}
    named = sorted((page for page in pages if counts[page]), key=lambda page: -counts[page])
    return list(dict.fromkeys([*own, *sorted(linked, key=lambda page: -counts[page]), *named]))[:MOST]


def examples_of(name: str) -> list[Example]:
    """Return the examples that show a public name, then those that use it."""
    shown = [example for example in examples() if example.name.split(".")[0] == name]
    if shown:
        return shown
    return [example for example in examples() if re.search(rf"\b{name}\b", example.code)][:MOST]


def api_links(name: str) -> str:
    """Return "Where to read more" of an API page, in reStructuredText."""
    addresses = {
        "Guide": [f"/guide/{page}" for page in guides_of(name)],
        "Lessons": [f"/_notebooks/{lesson}" for lesson in lessons_of(name)[:MOST]],
        "Gallery": [example.page for example in examples_of(name)],
    }
    lines = [
        f"- {kind}: " + ", ".join(f":doc:`{address}`" for address in pages)
        for kind, pages in addresses.items()
        if pages
    ]
    return "\n.. rubric:: Where to read more\n\n" + "\n".join(lines) + "\n" if lines else ""


def lesson_links(lesson: str) -> str:
    """Return "Where to read more" of a lesson, in Markdown."""
    names = sorted(lessons()[lesson])
    pages = [page for page, text in guide_pages().items() if lesson in lessons_linked_by(text)]
    shown = [example for example in examples() if example.lesson == lesson]
    links = {
        "Guide": [f"[](/guide/{page}.md)" for page in pages],
        "API": [f"[`{name}`](/api/priorsvm.{name}.rst)" for name in names],
        "Gallery": [f"[](/{example.page.lstrip('/')}.rst)" for example in shown],
    }
    lines = [f"- {kind}: {', '.join(addresses)}" for kind, addresses in links.items() if addresses]
    return "## Where to read more\n\n" + "\n".join(lines)


def add_lesson_links(app: Any, page: str, source: list[str]) -> None:
    """Add a last cell with links to the page of a lesson, while Sphinx reads it."""
    folder, _, lesson = page.rpartition("/")
    if folder != "_notebooks" or lesson not in lessons():
        return
    notebook = json.loads(source[0])
    cell = {"cell_type": "markdown", "metadata": {}, "source": lesson_links(lesson)}
    if notebook["nbformat_minor"] >= 5:
        cell["id"] = "where-to-read-more"
    notebook["cells"].append(cell)
    source[0] = json.dumps(notebook)
    # The page is read again if one of the links may have changed.
    for path in [*(DOCS / "guide").glob("*.md"), *GALLERY.rglob("plot_*.py")]:
        app.env.note_dependency(path)


def remove_old_pages(app: Any) -> None:
    """Remove the pages of examples that do not exist any more, before the gallery is built."""
    present = {example.page for example in examples()}
    for path in (DOCS / "_gallery").glob("*/plot_*"):
        if f"/_gallery/{path.parent.name}/{path.name.split('.')[0]}" not in present:
            path.unlink()


def scrape_picture(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figure of an example and return its image with the alternative text of the header."""
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import matplotlib_scraper

    widths = [plt.figure(number).get_figwidth() for number in plt.get_fignums()]
    dpi = max([DPI, *(NARROWEST / width for width in widths)])
    image = matplotlib_scraper(block, block_vars, gallery_conf, dpi=dpi)
    alt = read_example(Path(block_vars["src_file"])).alt
    return re.sub(r":alt: .*", lambda _: f":alt: {alt}", image)


def links_in(text: str) -> Iterator[str]:
    """Yield the addresses of Markdown links and images."""
    yield from re.findall(r"\]\(([^)\s]+)\)", text)
