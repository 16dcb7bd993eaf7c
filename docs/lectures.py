"""Lectures: the slides of each part of the course as one page of the site, which works without a network."""

import json
import sys
from pathlib import Path
from typing import Any

import jupytext

sys.path.insert(0, str(Path(__file__).parent))
from lessons import DOCS, PARTS, Lesson, addresses, lessons
from slides import Slide, inline, lesson_slides


def first_slide(letter: str, members: list[Lesson], places: list[int]) -> Slide:
    """Return the title slide of a part, with links to the slides at which its lessons begin."""
    items = "".join(
        f'<li value="{lesson.number}"><a href="#{place}">{inline(lesson.title)}</a></li>'
        for lesson, place in zip(members, places, strict=True)
    )
    body = (
        f'<p class="number">Part {letter} of the course on support vector machines with prior knowledge</p>'
        f'<ol>{items}</ol><p class="note">Next slide: arrow keys, space, a click or a swipe. '
        '<a href="../notebooks.html">The course</a></p>'
    )
    return Slide(PARTS[letter][0], body, "first")


def lecture(letter: str, slides: list[Slide], scripts: str) -> str:
    """Return the page of a lecture."""
    name = f"Part {letter}: {PARTS[letter][0]}"
    sections = []
    for number, slide in enumerate(slides, 1):
        heading = "h1" if number == 1 else "h2"
        sections.append(
            f'<section class="slide {slide.kind}" id="{number}" aria-label="Slide {number} of {len(slides)}">'
            f"<{heading}>{inline(slide.title)}</{heading}>"
            f'<div class="body">{slide.body}</div>'
            f'<p class="place">{name} <span>{number} / {len(slides)}</span></p></section>'
        )
    text = "\n".join(sections)
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name} — slides — priorsvm</title>
<link rel="icon" href="../_static/logo.svg">
<link rel="stylesheet" href="../_static/slides.css">
{scripts}
<article class="slides">
{text}
</article>
</html>
"""


def write_lectures(app: Any, exception: Exception | None) -> None:
    """Write the lectures into the site, after Sphinx has built it."""
    if exception or app.builder.name != "html":
        return
    site = Path(app.outdir)
    scripts = (
        f"<script>window.MathJax = {json.dumps(app.config.mathjax3_config)}</script>\n"
        '<script defer src="../_static/slides.js"></script>\n'
        f'<script defer src="../_static/{app.config.mathjax_path}"></script>'
    )
    (site / "slides").mkdir(exist_ok=True)
    for letter in PARTS:
        members = [lesson for lesson in lessons().values() if lesson.part == letter]
        slides: list[Slide] = []
        places = []
        for lesson in members:
            notebook = jupytext.read(DOCS / addresses(lesson.stem)["page"])
            places.append(len(slides) + 2)
            slides += lesson_slides(lesson, notebook, site / "_images")
        if members:
            page = lecture(letter, [first_slide(letter, members, places), *slides], scripts)
            (site / "slides" / f"part_{letter.lower()}.html").write_text(page, encoding="utf-8")
