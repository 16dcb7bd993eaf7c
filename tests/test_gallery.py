"""The gallery is complete, its examples are short and run, and pages are linked with each other."""

import ast
import inspect
import re
import runpy
import warnings
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import priorsvm
from priorsvm import plot
from priorsvm.cli import list_kinds

ROOT = Path(__file__).parents[1]
MOST_LINES = 20
MOST_WORDS = 25
ADVISED_AGAINST = (
    r"\b(who|whoever|whom|nobody|somebody|everybody|in vain|dear|dearer|last word|likes|"
    r"(?<!there )is no [a-z]+|(?<!there )are no [a-z]+)\b"
)


def load_reading():
    spec = spec_from_file_location("reading", ROOT / "docs" / "reading.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reading = load_reading()
EXAMPLES = reading.examples()
each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
each_guide_page = pytest.mark.parametrize("page", reading.guide_pages())


def file_of(example):
    return reading.GALLERY / f"{example.page.removeprefix('/_gallery/')}.py"


def test_every_block_kernel_transform_and_plot_has_one_example():
    kinds = [name for names in list_kinds().values() for name in names]
    plots = [f"plot.{name}" for name in plot.__all__]
    missing = {*kinds, *plots} - {example.name for example in EXAMPLES}
    assert not missing, f"Add examples of {', '.join(sorted(missing))} to docs/gallery."
    assert sorted(example.name for example in EXAMPLES) == sorted(kinds + plots)


@each_example
def test_an_example_is_short_and_uses_what_it_shows(example):
    lines = [line for line in example.code.splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES
    assert re.search(rf"\b{re.escape(example.name)}\(", example.code)


@each_example
def test_an_example_uses_public_names_only(example):
    for node in ast.walk(ast.parse(example.code)):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("priorsvm"):
            assert node.module == "priorsvm"
            assert {alias.name for alias in node.names} <= set(dir(priorsvm))


@each_example
def test_an_example_links_to_its_api_guide_and_lesson(example):
    kind = "func" if example.name.startswith("plot.") else "class"
    assert f":{kind}:`~priorsvm.{example.name}`" in example.text
    guide = reading.guide_pages()[example.guide]
    assert re.search(rf"\b{re.escape(example.name.rpartition('.')[2])}\b", guide)
    assert example.lesson in reading.lessons()


@each_example
def test_texts_of_an_example_are_plain(example):
    for text in (example.title, example.text, example.alt):
        assert not re.search(ADVISED_AGAINST, text, re.IGNORECASE)
        sentences = re.split(r"(?<=[.!?])\s+", text)
        assert max(len(sentence.split()) for sentence in sentences) <= MOST_WORDS
    assert len(example.alt.split()) >= 8


def test_advised_against_words_are_noticed():
    assert re.search(ADVISED_AGAINST, "A kernel is no block.")
    assert not re.search(ADVISED_AGAINST, "A kernel is not a block.")


@each_guide_page
def test_a_guide_page_has_a_picture_and_links_to_api_lesson_and_gallery(page):
    text = reading.guide_pages()[page]
    folder = ROOT / "docs" / "guide"
    links = [link for link in reading.links_in(text) if not link.startswith("lesson:")]
    targets = {Path((folder / link).resolve()).relative_to(ROOT / "docs") for link in links}
    by_folder = {kind: [target for target in targets if target.parts[0] == kind] for kind in KINDS}
    assert "![" in text or "hierarchy.svg" in text
    assert all(by_folder.values()), by_folder
    assert reading.lessons_linked_by(text)
    for kind, stems in KINDS.items():
        pages = {target.stem for target in by_folder[kind] if target.suffix != ".png"}
        assert pages <= stems, f"{kind}: {pages - stems}"
    shown = {target.stem for target in by_folder["_gallery"] if target.suffix == ".png"}
    assert shown <= {Path(example.picture).stem for example in EXAMPLES}


KINDS = {
    "api": {f"priorsvm.{name}" for name in dir(priorsvm)},
    "_gallery": {Path(example.page).name for example in EXAMPLES},
}


@each_guide_page
def test_pictures_of_a_guide_page_have_a_text(page):
    texts = re.findall(r"!\[([^\]]*)\]", reading.guide_pages()[page])
    assert all(len(text.split()) >= 5 for text in texts)


def test_api_pages_link_to_guide_lessons_and_gallery():
    links = reading.api_links("Box")
    assert ":doc:`/guide/box`" in links
    assert f":doc:`/_notebooks/{reading.lessons_of('Box')[0]}`" in links
    assert ":doc:`/_gallery/regions/plot_box`" in links
    classes = [name for name in priorsvm.__all__ if inspect.isclass(getattr(priorsvm, name))]
    missing = [name for name in classes if "/guide/" not in reading.api_links(name)]
    assert not missing, f"Link {', '.join(missing)} in the last line of a guide page."


@pytest.mark.parametrize("lesson", reading.lessons())
def test_lessons_link_to_guide_and_api(lesson):
    links = reading.lesson_links(lesson)
    assert "(/guide/" in links
    assert "(/api/priorsvm.PriorSVC.rst)" in links


@pytest.mark.slow
@each_example
def test_an_example_runs_without_a_warning_and_draws_one_figure(example):
    plt.close("all")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(file_of(example)))
    assert len(plt.get_fignums()) == 1
    plt.gcf().canvas.draw()
    plt.close("all")
