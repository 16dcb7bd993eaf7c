"""The pages that `make docs` built: links, maths and pictures, read as files and looked at in a browser.

They are found through PRIORSVM_SITE, the folder that holds them. A browser is used where Chromium is
installed, without any network: pages need nothing but each other.
"""

import http.server
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
from functools import partial
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

import priorsvm

ROOT = Path(__file__).parents[1]
SITE = Path(os.environ.get("PRIORSVM_SITE", "no such folder"))
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SECONDS = 300

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (SITE / "index.html").is_file(),
        reason="reads the built pages: `make docs` builds them and sets PRIORSVM_SITE to their folder",
    ),
]
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="looks at the pages in Chromium, which is not installed (package chromium)"
)

# Tag → attribute by which a page loads something before anybody clicks.
LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "embed": "src", "object": "data"}


VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Page(HTMLParser):
    """What a page holds: anchors, links, what it loads, the words of its article, its maths."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads, self.maths, self.headings = set(), [], [], [], []
        self.article_links, self.pictures = [], []  # addresses in the article; texts of its pictures
        self.words, self.prose = [], []  # of the article; the second without code and maths
        self._open = []  # (tag, what it is) of the elements around
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.update(filter(None, (attributes.get("id"), attributes.get("name"))))
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
            if any(name == "article" for name, _ in self._open):
                self.article_links.append(attributes["href"])
        if tag in ("img", "svg") and any(name == "article" for name, _ in self._open):
            self.pictures.append(attributes.get("alt") or attributes.get("aria-labelledby") or "")
        if tag in LOADS and LOADS[tag] in attributes:
            self.loads.append(attributes[LOADS[tag]])
        if tag == "link" and attributes["rel"] in ("stylesheet", "preload", "icon", "modulepreload"):
            self.loads.append(attributes["href"])
        classes = (attributes.get("class") or "").split()
        kind = "maths" if "math" in classes else "heading" if re.fullmatch("h[1-6]", tag) else None
        if kind == "maths":
            self.maths.append("")
        if kind == "heading":
            self.headings.append("")
        if tag not in VOID:
            self._open.append((tag, kind))

    def handle_endtag(self, tag):
        if any(tag == name for name, _ in self._open):
            while self._open.pop()[0] != tag:
                pass

    def handle_data(self, data):
        tags, kinds = [tag for tag, _ in self._open], [kind for _, kind in self._open]
        if "maths" in kinds:
            self.maths[-1] += data
        if "heading" in kinds:
            self.headings[-1] += data.rstrip("#")
        elif "article" in tags and "script" not in tags and "style" not in tags:
            self.words += data.split()
            if "maths" not in kinds and not {"code", "pre"} & set(tags):
                self.prose += data.split()


def load_lessons():
    """The lessons of the course, by name of the source."""
    spec = spec_from_file_location("lessons", ROOT / "docs" / "lessons.py")
    sys.modules["lessons"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["lessons"])
    return sys.modules["lessons"].lessons()


def is_foreign(address):
    return bool(urlsplit(address).netloc)


@pytest.fixture(scope="module")
def pages():
    """Address below the site → Page."""
    return {
        path.relative_to(SITE).as_posix(): Page(path)
        for path in sorted(SITE.rglob("*.html"))
        if "_static" not in path.parts
    }


def test_every_link_between_pages_leads_somewhere(pages):
    broken = []
    for name, page in pages.items():
        for link in page.links:
            if is_foreign(link) or link.startswith("mailto:"):
                continue
            address, anchor = urldefrag(link)
            target = (SITE / name).parent / unquote(urlsplit(address).path) if address else SITE / name
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                broken.append(f"{name}: {link}")
            elif anchor and target.suffix == ".html":
                other = pages[target.resolve().relative_to(SITE.resolve()).as_posix()]
                if unquote(anchor) not in other.ids:
                    broken.append(f"{name}: {link} (no such place)")
    assert not broken


def test_every_page_has_text(pages):
    # The page of results is written by a script, from what is searched for.
    assert not [name for name, page in pages.items() if name != "search.html" and len(page.words) < 10]


def test_no_markup_is_left_in_the_text(pages):
    mark = re.compile(r"`|\$|\{\w+(:\w+)?\}|\]\(")
    left = {name: [word for word in page.prose if mark.search(word)] for name, page in pages.items()}
    assert not {name: words for name, words in left.items() if words}


def test_pages_load_nothing_from_elsewhere(pages):
    foreign = [f"{name}: {load}" for name, page in pages.items() for load in page.loads if is_foreign(load)]
    for sheet in SITE.rglob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.DOTALL)
        addresses = re.findall(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')]+)""", text)
        foreign += [f"{sheet.name}: {address}" for address in addresses]
    assert not foreign


def test_what_pages_load_is_there(pages):
    missing = []
    for name, page in pages.items():
        for load in page.loads:
            path = (SITE / name).parent / unquote(urlsplit(load).path)
            if not load.startswith("data:") and not path.is_file():
                missing.append(f"{name}: {load}")
    assert not missing


def test_maths_is_there_as_its_source(pages):
    maths = {name: page.maths for name, page in pages.items() if page.maths}
    assert len(maths) > 20
    for name, sources in maths.items():
        for source in sources:
            inside = re.fullmatch(r"\\\((.+)\\\)|\\\[(.+)\\\]|\\begin\{.+", source.strip(), flags=re.DOTALL)
            assert inside, f"{name}: {source!r}"


def test_every_notebook_is_a_page(pages):
    sources = {path.stem for path in (ROOT / "notebooks").glob("*.py")}
    assert {Path(name).stem for name in pages if name.startswith("_notebooks/")} == sources


def test_a_lesson_links_to_its_notebooks_and_its_solutions(pages):
    for stem in load_lessons():
        links = pages[f"_notebooks/{stem}.html"].article_links
        files = {Path(urlsplit(link).path).name for link in links}
        assert {f"{stem}_ex.ipynb", f"{stem}_sol.ipynb"} <= files
        assert f"../_solutions/{stem}.html" in links
        assert f"_notebooks/{stem}.html" in pages["notebooks.html"].article_links


def test_every_part_has_a_lecture_whose_pictures_have_a_text(pages):
    parts = sorted({lesson.part for lesson in load_lessons().values()})
    lectures = {name: page for name, page in pages.items() if name.startswith("slides/")}
    assert parts == list("ABCDEF")
    assert sorted(lectures) == [f"slides/part_{part.lower()}.html" for part in parts]
    for name, page in lectures.items():
        assert len(page.headings) >= 8, name
        assert len(page.pictures) >= 4, name
        assert min(map(len, page.pictures)) >= 20, name
        assert name in pages["notebooks.html"].article_links
        starts = {link for link in page.links if link.startswith("#")}
        text = (SITE / name).read_text(encoding="utf-8")
        assert starts == {f"#{place}" for place in re.findall(r'class="slide lesson" id="(\d+)"', text)}


def test_every_public_name_has_a_page(pages):
    names = [name for name in priorsvm.__all__ if name != "__version__"]
    assert not [name for name in names if f"api/priorsvm.{name}.html" not in pages]


def without_links(pages, folder, *targets):
    """Return the pages of a folder whose article lacks a link to a page of a target folder."""
    lacking = {}
    for name, page in pages.items():
        if name.startswith(f"{folder}/"):
            missing = [to for to in targets if not any(f"{to}/" in link for link in page.article_links)]
            if missing:
                lacking[name] = missing
    return lacking


def test_guide_lessons_gallery_and_api_link_to_each_other(pages):
    assert not without_links(pages, "guide", "api", "_notebooks", "_gallery")
    assert not without_links(pages, "_notebooks", "guide", "api")
    classes = [name for name in pages if re.fullmatch(r"api/priorsvm\.[A-Z]\w+\.html", name)]
    lacking = without_links(pages, "api", "guide")
    assert len(classes) > 50
    assert not [name for name in classes if name in lacking]


def test_pictures_of_lessons_have_a_text(pages):
    lessons = {name: page for name, page in pages.items() if name.startswith(("_notebooks/", "_solutions/"))}
    bad = {name: [alt for alt in page.pictures if len(alt.split()) < 8] for name, page in lessons.items()}
    assert not {name: alts for name, alts in bad.items() if alts}


def test_guide_pages_and_examples_have_pictures_with_a_text(pages):
    example = re.compile(r"_gallery/\w+/plot_\w+\.html|guide/\w+\.html")
    shown = {name: page.pictures for name, page in pages.items() if example.fullmatch(name)}
    assert len(shown) > 80
    assert not [name for name, texts in shown.items() if not texts]
    assert not {name: texts for name, texts in shown.items() if min(map(len, texts)) < 20}


def methods():
    """The pages that the guide lists as methods."""
    text = (ROOT / "docs" / "guide" / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r":maxdepth: 1\n\n(.*?)```", text, flags=re.DOTALL)
    return [
        name for names in listed for name in names.split() if name not in ("blocks", "kernels", "transforms")
    ]


def test_every_method_says_when_to_use_it_when_not_and_its_limits(pages):
    assert len(methods()) > 10
    for method in methods():
        page = pages[f"guide/{method}.html"]
        assert page.maths, method
        assert {"When to use", "When not", "Limits"} <= set(page.headings), method


class Desk(http.server.SimpleHTTPRequestHandler):
    """Serves the site, and test_site.html, which opens page after page and posts what it saw."""

    def __init__(self, *args, looking, reports, **settings):
        self.looking, self.reports = looking, reports
        super().__init__(*args, **settings)

    def do_GET(self):
        if self.path != "/looking":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.looking.encode())

    def do_POST(self):
        self.reports.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def seen(pages, tmp_path_factory):
    """Address → what Chromium saw there; "search" is the page of results for a word."""
    addresses = {name: name for name in pages} | {"search": "search.html?q=invariance"}
    looking = Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
    looking = looking.replace("ADDRESSES", json.dumps(addresses))
    reports = queue.Queue()
    desk = partial(Desk, looking=looking, reports=reports, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), desk) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = subprocess.Popen(
            [
                CHROMIUM,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                f"--user-data-dir={tmp_path_factory.mktemp('chromium')}",
                f"http://127.0.0.1:{server.server_port}/looking",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            report = reports.get(timeout=SECONDS)
        except queue.Empty:
            pytest.fail(f"Chromium did not see {len(pages)} pages in {SECONDS} s")
        finally:
            browser.terminate()
            browser.wait(timeout=20)
            server.shutdown()
    assert "failure" not in report, report["failure"]
    return report


@needs_browser
def test_browser_sees_the_front_page(seen):
    assert "priorsvm" in seen["index.html"]["title"]
    assert seen["index.html"]["pictures"]
    assert seen["index.html"]["rendered"]


@needs_browser
def test_browser_renders_all_maths_without_an_error(seen):
    for name, page in seen.items():
        assert not page["bare"], name
        assert not page["errors"], name
    assert seen["guide/problem.html"]["rendered"] > 10


@needs_browser
def test_browser_shows_every_picture(seen):
    assert not {name: page["unseen"] for name, page in seen.items() if page["unseen"]}
    assert all(page["pictures"] for name, page in seen.items() if name.startswith("_notebooks/"))


@needs_browser
def test_browser_finds_a_word(seen):
    assert seen["search"]["results"] > 3


@needs_browser
def test_search_results_have_no_raw_formulas(seen):
    snippets = seen["search"]["snippets"]
    assert snippets
    assert not [text for text in snippets if re.search(r"\\[(\[a-zA-Z]", text)]


@needs_browser
def test_copy_buttons_leave_prompts_out(seen):
    assert seen["quickstart.html"]["buttons"] > 3
    assert not {name: page["prompts"] for name, page in seen.items() if page["prompts"]}


@needs_browser
def test_contents_of_long_pages_are_visible_in_a_window_of_1280(seen):
    long = {name: page["contents"] for name, page in seen.items() if page["contents"] is not None}
    assert {"guide/box.html", "guide/solvers.html", "notation.html"} <= set(long)
    assert all(long.values())


@needs_browser
def test_browser_asks_for_nothing_from_elsewhere(seen):
    assert not {name: page["foreign"] for name, page in seen.items() if page["foreign"]}


@needs_browser
def test_nothing_is_hidden_at_the_right_in_a_window_of_1280(seen):
    for what in ("cut", "code"):
        assert not {name: page[what] for name, page in seen.items() if page[what]}, what


@needs_browser
def test_slides_show_all_of_their_text(seen):
    lectures = {name: page for name, page in seen.items() if name.startswith("slides/")}
    assert len(lectures) == 6
    assert all(page["slides"] >= 8 for page in lectures.values())
    assert not {name: page["spilled"] for name, page in lectures.items() if page["spilled"]}


@needs_browser
def test_formulas_and_tables_fit_their_column_in_a_window_of_1280(seen):
    # The long tables of the reproductions are moved sideways.
    read = {name: page for name, page in seen.items() if not name.startswith("reproductions")}
    assert {"index.html", "guide/index.html", "api/priorsvm.PriorSVC.html"} <= set(read)
    assert not {name: page["tables"] for name, page in read.items() if page["tables"]}
    # What formulation() shows in notebooks is as wide as the kernel that stands in it.
    read = {name: page for name, page in read.items() if not name.startswith("_notebooks/")}
    assert not {name: page["formulas"] for name, page in read.items() if page["formulas"]}


@needs_browser
def test_no_page_is_wider_than_its_window(seen):
    assert not {name: page["wider"] for name, page in seen.items() if max(page["wider"]) > 0}
