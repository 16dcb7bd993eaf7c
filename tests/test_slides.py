"""The slides of a lecture: what a lesson puts on them, and what tags of cells change."""

import base64
import re
import struct
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

jupytext = pytest.importorskip("jupytext")
pytest.importorskip("markdown_it")
pytest.importorskip("mdit_py_plugins")

DOCS = Path(__file__).parents[1] / "docs"


def load(name):
    spec = spec_from_file_location(name, DOCS / f"{name}.py")
    sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


lessons, slides, lectures = map(load, ("lessons", "slides", "lectures"))

SOURCE = r"""
# %% [markdown]
# # How much is it?
#
# A paragraph of one sentence.
#
# **You learn**
#
# - to add $a + b$,
#
# **You need** lesson 1
#
# **Time** 20 minutes
#
# **Theorem** Sums do not depend on the order

# %%
first = "picture"

# %% [markdown]
# ## Many numbers
#
# Not on the slide. A sum has [terms](lesson:01). Is $1. + 2 < 4$ a sum?

# %%
second = "picture"

# %% [markdown]
# Numbers are `bars`.
#
# ## The theorem
#
# Let $a$ be a number.
#
# **Theorem.** For all $b$
#
# $$a + b = b + a .$$
#
# **Proof.** Secret.

# %% tags=["no-slide"]
third = "picture"

# %% [markdown] tags=["slide"]
# ## Shown
#
# | a | b |
# |---|---|
# | 1 | 2 |

# %% [markdown] tags=["exercise"]
# ### Exercise 1: Add
#
# What is 1 + 2?

# %% tags=["answer"]
total = ...  # your answer

# %% tags=["check"]
assert total == 3, "picture"

# %% [markdown]
# **Next** lesson 4.
"""

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 300, 200)


@pytest.fixture
def notebook():
    """A lesson that has run: each cell with the word picture has a picture."""
    made = jupytext.reads(SOURCE.lstrip(), fmt="py:percent")
    for number, cell in enumerate(made.cells):
        if cell.cell_type == "code" and "picture" in cell.source:
            data = {"image/png": base64.b64encode(PNG + bytes([number])).decode()}
            cell["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}}]
    return made


def made(notebook, folder):
    lesson = lessons.describe("03_sum", notebook.cells[0].source)
    return lesson, list(slides.lesson_slides(lesson, notebook, folder))


def test_a_lesson_gives_its_slides_in_the_order_of_its_cells(notebook, tmp_path):
    _, found = made(notebook, tmp_path / "_images")
    assert [(slide.kind, slide.title) for slide in found] == [
        ("lesson", "How much is it?"),
        ("picture", "How much is it?"),
        ("picture", "Many numbers"),
        ("theorem", "The theorem"),
        ("text", "Shown"),
        ("exercise", "Exercise 1: Add"),
        ("next", "What comes next"),
    ]
    opening, first, second, theorem, shown, exercise, last = (slide.body for slide in found)
    assert r'<li>to add <span class="math notranslate nohighlight">\(a + b\)</span>,</li>' in opening
    assert "order.</p>" in opening
    assert first.startswith("<p>A paragraph of one sentence.</p>")
    assert r"<p>A sum has terms. Is <span" in second
    assert r"\(1. + 2 &lt; 4\)</span> a sum?</p>" in second
    assert "<p>Numbers are <code>bars</code>.</p>" in second
    assert theorem.index("be a number") < theorem.index(r"\[a + b = b + a .\]")
    assert "<td>2</td>" in shown
    assert "total = ...  # your answer" in exercise
    assert "../_notebooks/03_sum.html" in last
    assert not [slide for slide in found if "Secret" in slide.body or "assert" in slide.body]
    assert len(list((tmp_path / "_images").iterdir())) == 2


def test_a_picture_has_a_text_and_a_size(notebook, tmp_path):
    notebook.cells[3]["metadata"]["mystnb"] = {"image": {"alt": 'Bars of "1" and 2'}}
    _, found = made(notebook, tmp_path / "_images")
    texts = re.findall('alt="([^"]*)" width="300" height="200"', "".join(slide.body for slide in found))
    assert texts == [
        "Picture of the section “How much is it?”. A paragraph of one sentence.",
        "Bars of &quot;1&quot; and 2",
    ]


def test_long_texts_are_on_several_slides_and_none_is_cut():
    texts = [f"Paragraph {number}. " + "word " * 60 for number in range(9)] + ["$$x^2$$"]
    found = list(slides.text_slides("Long", texts))
    assert [slide.title for slide in found] == [f"Long ({number} of 5)" for number in range(1, 6)]
    assert "".join(slide.body for slide in found).count("word") == 9 * 60
    assert "Paragraph 8" in found[-1].body
    assert r"\[x^2\]" in found[-1].body


def test_only_short_sentences_are_beside_a_picture():
    long = "A " + "very " * 60 + "long sentence."
    assert slides.beside([f"First one. Second one. {long}"], last=True) == ""
    assert slides.beside([f"First one. Second one. {long}"], last=False) == "First one. Second one."
    assert (
        slides.beside(["One. Rows move. They turn. So f turns."], last=True)
        == "Rows move. They turn. So f turns."
    )
    assert slides.beside(["Prose.", "- a list.", "**Proof.** Words.", "The end. ∎"], last=True) == "Prose."


def test_a_lecture_is_a_page_of_numbered_slides(notebook, tmp_path):
    lesson, found = made(notebook, tmp_path / "_images")
    page = lectures.lecture("A", [lectures.first_slide("A", [lesson], [2]), *found], "<script></script>")
    assert re.findall(r'<section class="slide \w+" id="(\d)"', page) == list("12345678")
    assert page.count("<h1>") == 1
    assert '<li value="3"><a href="#2">How much is it?</a></li>' in page
    assert "<span>8 / 8</span>" in page
    assert not re.search(r"https?://", page)
