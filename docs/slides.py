"""Slides: one lecture for each part of the course, made from the lessons that have run.

A lesson gives these slides, in the order of its cells: question and objectives, pictures, theorem,
exercises, next lesson. A picture has the heading of its section, and the sentences before and after it.
Two tags of cells change this choice: ``slide`` shows the cell itself, and ``no-slide`` leaves it out.
"""

import base64
import hashlib
import html
import re
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

sys.path.insert(0, str(Path(__file__).parent))
from lessons import Lesson, addresses, tags

# Text of a slide: lines, characters of a line, and lines of a formula on its own.
MOST_LINES = 16
CHARACTERS = 72
FORMULA = 2.5
# Sentences and words beside a picture, above and below.
SENTENCES = 2
WORDS = 45
# Pictures are enlarged at most by this factor.
ENLARGED = 1.6

METADATA = re.compile(r"\*\*(You learn|You need|Time|Theorem|Next)\*\*")
STATEMENT = re.compile(r"\*\*(Theorem|Claim|Lemma|Corollary|[^*]*\b(theorem|lemma|duality)\.)", re.IGNORECASE)
PROOF = re.compile(r"\W*(Proof|Verified)\b")
# A paragraph of whole sentences: no list, table, proof or formula on its own.
IS_PROSE = re.compile(r"(?![-*>|#]\s|\d+\. |\$\$|```|\||\(|[a-z]|\W*Proof\b).*[.?!]\W*\Z", re.DOTALL)
# A sentence that continues the sentence before it.
REFERS = re.compile(r"(It|Its|They|Their|This|These|So|But|And|Then|Both)\b")
# Tags of cells whose text and pictures are on no slide.
HIDDEN = {"no-slide", "answer", "check", "claims", "solution", "wrong"}
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


@dataclass(frozen=True)
class Slide:
    """Title in Markdown, body in HTML, and what kind of slide it is."""

    title: str
    body: str
    kind: str = "text"


@dataclass
class Piece:
    """A paragraph of text or a cell of code with its pictures, in a section of a lesson."""

    cell: int
    heading: str
    text: str = ""
    code: str = ""
    pictures: list[bytes] = field(default_factory=list)
    alt: str = ""
    tags: frozenset[str] = frozenset()


def formula(text: str, display: bool) -> str:
    """Return the HTML of a formula, as Sphinx writes it."""
    tag, left, right = ("div", r"\[", r"\]") if display else ("span", r"\(", r"\)")
    return f'<{tag} class="math notranslate nohighlight">{left}{html.escape(text.strip())}{right}</{tag}>'


def markdown_parser() -> MarkdownIt:
    """Return a parser of Markdown with formulas."""
    parser = MarkdownIt("commonmark").enable("table")
    parser.use(dollarmath_plugin).use(amsmath_plugin)
    for name in ("math_inline", "math_inline_double", "math_block", "math_block_label", "amsmath"):
        display = name != "math_inline"
        parser.add_render_rule(
            name, lambda self, tokens, i, *_, display=display: formula(tokens[i].content, display)
        )
    return parser


MARKDOWN = markdown_parser()


def render(text: str) -> str:
    """Return Markdown as HTML. Links become their text, because slides are read from a distance."""
    return str(MARKDOWN.render(LINK.sub(r"\1", text)))


def inline(text: str) -> str:
    """Return a line of Markdown as HTML without a paragraph."""
    return str(MARKDOWN.renderInline(LINK.sub(r"\1", text)))


def paragraphs(source: str) -> list[str]:
    """Return the paragraphs, lists, formulas and blocks of code of a cell."""
    parts = re.split(r"\n\s*\n", re.sub(r"^(#+ .*)$", r"\n\n\1\n\n", source, flags=re.MULTILINE))
    found: list[str] = []
    for part in parts:
        if found and found[-1].count("```") % 2:
            found[-1] += f"\n\n{part}"
        elif part.strip():
            found.append(part.strip("\n"))
    return found


def pieces(notebook: Any) -> list[Piece]:
    """Return the pieces of a lesson, each with the heading of its section."""
    heading = ""
    found = []
    for number, cell in enumerate(notebook.cells):
        marks = frozenset(tags(cell))
        if cell.cell_type == "code":
            data = [output.get("data", {}) for output in cell.outputs]
            pictures = [base64.b64decode(item["image/png"]) for item in data if "image/png" in item]
            alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
            found.append(Piece(number, heading, code=cell.source, pictures=pictures, alt=alt, tags=marks))
        else:
            for text in paragraphs(cell.source):
                if re.match("#+ ", text):
                    heading = text.lstrip("# ")
                else:
                    found.append(Piece(number, heading, text=text, tags=marks))
    return found


def beside(texts: list[str], last: bool) -> str:
    """Return the last or the first sentences of a paragraph among texts, at most WORDS words."""
    whole = [text for text in texts if IS_PROSE.match(text) and not METADATA.match(text) and "∎" not in text]
    if not whole:
        return ""
    text = " ".join(whole[-1 if last else 0].split())
    # The place after a formula or code is no end of a sentence.
    marked = re.sub(r"\$[^$]*\$|`[^`]*`", lambda match: match[0].replace(" ", "\0"), text)
    found = re.split(r"(?<=[.?!]) (?=\W*[A-Z]|\$)", marked)
    start = max(len(found) - SENTENCES, 0)
    while start and REFERS.match(found[start]):
        start -= 1
    found = found[start:] if last else found[:SENTENCES]
    while found and len(" ".join(found).split()) > WORDS:
        found = found[1:] if last else found[:-1]
    return " ".join(found).replace("\0", " ")


def before(found: list[Piece], place: int) -> str:
    """Return the sentences before a picture, in its section and after the picture before it."""
    texts: list[str] = []
    for piece in reversed(found[:place]):
        if piece.pictures or piece.heading != found[place].heading:
            break
        texts.insert(0, piece.text)
    return beside(texts, last=True)


def after(found: list[Piece], place: int) -> str:
    """Return the sentences directly behind a picture, in its section."""
    following = found[place + 1 : place + 2]
    texts = [piece.text for piece in following if piece.heading == found[place].heading and not piece.tags]
    return beside(texts, last=False)


def picture_slides(found: list[Piece], place: int, folder: Path) -> Iterator[Slide]:
    """Yield a slide for each picture of a piece, and keep the picture in a folder below the site."""
    piece = found[place]
    texts = [before(found, place), after(found, place)]
    plain = re.sub(r"[$*`\\{}]", "", " ".join(filter(None, texts)))
    alt = html.escape(piece.alt or f"Picture of the section “{piece.heading}”. {plain}".strip())
    for data in piece.pictures:
        path = folder / f"{hashlib.sha256(data).hexdigest()}.png"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        width, height = struct.unpack(">II", data[16:24])
        image = (
            f'<img src="../{folder.name}/{path.name}" alt="{alt}" width="{width}" height="{height}" '
            f'style="max-width: {round(width * ENLARGED)}px; max-height: {round(height * ENLARGED)}px">'
        )
        above, below = (f"<p>{inline(text)}</p>" if text else "" for text in texts)
        yield Slide(piece.heading, f'{above}<div class="frame">{image}</div>{below}', "picture")


def fenced(code: str) -> str:
    """Return code in Markdown."""
    return f"```\n{code}\n```"


def lines(text: str) -> float:
    """Return about how many lines a paragraph takes on a slide."""
    if text.startswith("```"):
        return 0.85 * text.count("\n")
    formulas = len(re.findall(r"\$\$", text)) / 2
    rest = re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL)
    rest = re.sub(r"\\[A-Za-z]+", "x", rest)  # a command is about one character
    items = re.split(r"\n(?=[-*|] |\d+\. |\|)", rest.strip()) if rest.strip() else []
    return 0.5 + FORMULA * formulas + sum(-(-len(item) // CHARACTERS) for item in items)


def text_slides(title: str, texts: list[str], kind: str = "text") -> Iterator[Slide]:
    """Yield the paragraphs on as many slides as they need."""
    shares: list[list[str]] = [[]]
    for text in texts:
        alone = text.startswith("$$")  # a formula stays with the words before it
        if shares[-1] and not alone and sum(map(lines, [*shares[-1], text])) > MOST_LINES:
            shares.append([])
        shares[-1].append(text)
    for number, share in enumerate(shares, 1):
        part = f" ({number} of {len(shares)})" if len(shares) > 1 else ""
        yield Slide(title + part, render("\n\n".join(share)), kind)


def statements(found: list[Piece]) -> set[int]:
    """Return the places of theorems: paragraphs that start with the word, else sections named after it."""
    places = {place for place, piece in enumerate(found) if piece.cell and STATEMENT.match(piece.text)}
    stated = {found[place].heading for place in places}
    for place, piece in enumerate(found):
        if piece.text and "theorem" in piece.heading and piece.heading not in stated:
            places.add(place)
            stated.add(piece.heading)
    return places


def statement(found: list[Piece], place: int) -> list[str]:
    """Return the paragraphs of a theorem, and for the first of a section those before it if they fit."""
    section = [piece for piece in found if piece.heading == found[place].heading]

    def goes_on(piece: Piece) -> bool:
        ends = PROOF.match(piece.text) or STATEMENT.match(piece.text)
        return bool(piece.text) and piece in section and not ends

    lead = [piece.text for piece in takewhile(goes_on, reversed(found[:place]))][::-1]
    first = next(piece for piece in section if STATEMENT.match(piece.text) or piece is found[place])
    if first is not found[place] or sum(map(lines, lead)) > MOST_LINES:
        lead = []
    return [*lead, found[place].text, *(piece.text for piece in takewhile(goes_on, found[place + 1 :]))]


def whole_cell(found: list[Piece], piece: Piece) -> Iterator[Slide]:
    """Yield the slides of a cell that is shown as it is. Below an exercise is the answer to fill in."""
    exercise = "exercise" in piece.tags
    texts = [other.text or fenced(other.code) for other in found if other.cell == piece.cell]
    if exercise:
        texts += [
            fenced(other.code) for other in found if other.cell > piece.cell and "answer" in other.tags
        ][:1]
    yield from text_slides(piece.heading, texts, "exercise" if exercise else "text")


def opening(lesson: Lesson) -> Slide:
    """Return the slide with the question of a lesson."""
    objectives = "".join(f"<li>{inline(text)}</li>" for text in lesson.learn)
    theorem = inline(lesson.theorem.rstrip("."))
    needs = f"You need {inline(lesson.needs).rstrip('.')}. " if lesson.needs else ""
    body = (
        f'<p class="number">Lesson {lesson.number}</p><p>You learn</p><ul>{objectives}</ul>'
        f"<p><strong>Theorem.</strong> {theorem}.</p>"
        f'<p class="note">{needs}The lesson takes {lesson.minutes} minutes.</p>'
    )
    return Slide(lesson.title, body, "lesson")


def closing(lesson: Lesson, found: list[Piece]) -> Slide:
    """Return the last slide of a lesson, with links to its pages."""
    text = next((piece.text for piece in reversed(found) if piece.text.startswith("**Next**")), "")
    text = text.partition("See also")[0]  # pages to read are on the page of the lesson
    files = addresses(lesson.stem)
    page = f'<a href="../{files["page"].with_suffix(".html")}">page of the lesson</a>'
    solutions = f'<a href="../{files["solutions"].with_suffix(".html")}">solutions</a>'
    body = f'{render(text)}<p class="note">Lesson {lesson.number}: {page} and {solutions}.</p>'
    return Slide("What comes next", body, "next")


def lesson_slides(lesson: Lesson, notebook: Any, folder: Path) -> Iterator[Slide]:
    """Yield the slides of a lesson; its pictures are kept in a folder."""
    found = pieces(notebook)
    yield opening(lesson)
    theorems = statements(found)
    for place, piece in enumerate(found):
        if piece.tags & HIDDEN:
            continue
        if piece.tags & {"slide", "exercise"}:
            if place == 0 or found[place - 1].cell != piece.cell:
                yield from whole_cell(found, piece)
        elif place in theorems:
            yield from text_slides(piece.heading, statement(found, place), "theorem")
        yield from picture_slides(found, place, folder)
    yield closing(lesson, found)
