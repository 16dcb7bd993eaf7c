"""Sphinx configuration. Every page works without a network: MathJax comes with the pages.

With the environment variable PRIORSVM_ONLINE, names of other packages link to their documentation.
"""

import os
import re
import sys
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import ModuleType

from pybtex.database import parse_file
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinxcontrib.bibtex.plugin import register_plugin
from sphinxcontrib.bibtex.style.referencing import BracketStyle
from sphinxcontrib.bibtex.style.referencing.author_year import AuthorYearReferenceStyle

import priorsvm
from priorsvm.cli import list_kinds

sys.path.insert(0, str(Path(__file__).parent))
from lectures import write_lectures
from lessons import add_downloads, write_course_map
from reading import add_lesson_links, api_links, remove_old_pages, resolve_lesson_links

project = "priorsvm"
author = "priorsvm developers"
copyright = "priorsvm developers"
release = version = priorsvm.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "numpydoc",
    "myst_nb",
    "sphinx_design",
    "sphinxcontrib.bibtex",
    "sphinx_gallery.gen_gallery",
]
if os.environ.get("PRIORSVM_ONLINE"):
    extensions.append("sphinx.ext.intersphinx")
intersphinx_mapping = {
    "python": ("https://docs.python.org/3/", None),
    "numpy": ("https://numpy.org/doc/stable/", None),
    "scipy": ("https://docs.scipy.org/doc/scipy/", None),
    "sklearn": ("https://scikit-learn.org/stable/", None),
    "cvxpy": ("https://www.cvxpy.org/", None),
    "matplotlib": ("https://matplotlib.org/stable/", None),
    "pandas": ("https://pandas.pydata.org/docs/", None),
}
exclude_patterns = ["_build", "evidence/*", "gallery/*", "_gallery/**/*.ipynb", "_notebooks/files/*"]
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3

nb_execution_mode = "off"  # the notebooks have run: see `make notebooks`
nb_ipywidgets_js = {}  # progress bars need no script, and nothing is fetched
nb_code_prompt_hide = "Hide"
nb_render_markdown_format = "myst"  # tables and maths in what a notebook shows

# Each example is run if it changed, and becomes a page below _gallery.
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "_gallery",
    "subsection_order": [
        f"gallery/{folder}"
        for folder in ("regions", "rows", "hints", "worst_case", "kernels", "transforms", "plots")
    ],
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("reading.scrape_picture",),
    "thumbnail_size": (600, 300),
    "capture_repr": (),
    "doc_module": ("priorsvm",),
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": float("inf"),
}

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "alpha"
bibtex_reference_style = "round"

autosummary_generate = False  # write_api_pages does it
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "member-order": "bysource"}
numpydoc_show_class_members = False

toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "priorsvm"
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "logo": {
        "text": f"priorsvm {release}",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
    },
    "secondary_sidebar_items": {"**": ["page-toc"], "guide/which_block": []},  # the picture takes the room
}
html_show_sourcelink = False
html_domain_indices = False  # an index of two modules says nothing
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "_static/logo.svg"

# A transpose is a T without serifs, whose bar is visible at all sizes.
mathjax3_config = {"tex": {"macros": {"top": r"{\mathsf T}"}}}

# Blocks, by what they do to the problem, kernels and transforms: name → heading on the API page.
KINDS = {name: heading for heading, names in list_kinds().items() for name in names}

# Module of priorsvm any other public name lives in → heading. Others get their own name as heading.
API_SECTIONS = {
    "estimator": "The estimator",
    "prior": "The estimator",
    **{heading: heading for heading in KINDS.values()},
    "kernels": KINDS["RBF"],
    "transforms": KINDS["Rotation"],
    "solve": "Solvers",
    "plot": "Pictures",
    "io": "Saving and loading",
    "persist": "Saving and loading",
    "datasets": "Data sets",
    "knowledge": "Blocks of your own",
    "testing": "Blocks of your own",
    "errors": "Errors and warnings",
}


def public_names() -> dict[str, list[str]]:
    """Heading → names under ``priorsvm``: what it exports, and modules that it exports nothing of."""
    sections: dict[str, list[str]] = {heading: [] for heading in API_SECTIONS.values()}

    def heading(module: str) -> str:
        return API_SECTIONS.get(module, module.capitalize())

    homes = {name: priorsvm._HOME[name].split(".")[0] for name in priorsvm.__all__ if name != "__version__"}
    for name, home in homes.items():
        sections.setdefault(KINDS.get(name) or heading(home), []).append(name)
    for module in sorted(set(dir(priorsvm)) - set(priorsvm.__all__) - set(homes.values())):
        sections.setdefault(heading(module), []).append(module)
    return sections


def directive(name: str) -> str:
    value = getattr(priorsvm, name)
    if isinstance(value, ModuleType):
        return "automodule"
    if isinstance(value, type):
        return "autoclass"
    return "autofunction" if callable(value) else "autodata"


def summary(names: list[str], toctree: str = "") -> str:
    """Return a table of names with the first sentences of their docstrings."""
    lines = "".join(f"   {name}\n" for name in names)
    return f".. autosummary::\n   :nosignatures:\n{toctree}\n{lines}"


def group_pages(sections: dict[str, list[str]]) -> dict[str, str]:
    """Return a page for each group of names, which groups the sidebar, and the tables of api.rst."""
    pages, tables = {}, []
    for heading, names in sections.items():
        if names:
            group = "group-" + re.sub(r"\W+", "-", heading.lower()).strip("-")
            title = f"{heading}\n{'=' * len(heading)}"
            text = "All names of this group are imported from ``priorsvm``. The API page lists all groups."
            table = summary(names, "   :toctree: .\n")
            pages[f"{group}.rst"] = f"{title}\n\n{text}\n\n.. currentmodule:: priorsvm\n\n{table}"
            tables.append((heading, group, names))
    tree = ".. toctree::\n   :hidden:\n\n" + "".join(
        f"   {heading.split(':')[0]} <api/{group}>\n" for heading, group, _ in tables
    )
    shown = [f"{heading}\n{'-' * len(heading)}\n\n{summary(names)}" for heading, _, names in tables]
    pages["tables.txt"] = "\n".join([tree, *shown])
    return pages


def write_api_pages(app: Sphinx) -> None:
    """Write a page for every public name and group of names, and the tables that api.rst includes."""
    folder = Path(app.srcdir, "api")
    folder.mkdir(exist_ok=True)
    sections = public_names()
    pages = {}
    for name in chain.from_iterable(sections.values()):
        try:
            # What a block overrides is told on the page of Knowledge, and is no affair of who uses it.
            block = name in KINDS and issubclass(getattr(priorsvm, name), priorsvm.Knowledge)
            options = "   :no-members:\n" if block else ""
            if name == "PriorSVC":  # its attributes are in a base class of this library
                options = "   :inherited-members: ClassifierMixin, BaseEstimator\n"
            pages[f"priorsvm.{name}.rst"] = (
                f"{name}\n{'=' * len(name)}\n\n.. {directive(name)}:: priorsvm.{name}\n{options}"
                f"{api_links(name)}"
            )
        except (ImportError, AttributeError) as error:
            logging.getLogger(__name__).warning(
                "priorsvm.%s cannot be documented: %s", name, error, type="priorsvm", subtype="missing"
            )
    pages |= group_pages(sections)
    for name, text in pages.items():
        path = folder / name
        # Left alone when unchanged, so that Sphinx reads only what is new.
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.iterdir():
        if path.name not in pages:
            path.unlink()


def skip_request_methods(
    app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object
) -> bool | None:
    """Leave out ``set_fit_request`` and the like: scikit-learn adds them, with links into its own pages."""
    return True if name.startswith("set_") and name.endswith("_request") else None


@dataclass
class RoundReferenceStyle(AuthorYearReferenceStyle):
    """Lauer and Bloch (2008)."""

    bracket_textual: BracketStyle = field(default_factory=lambda: BracketStyle("(", ")"))
    bracket_parenthetical: BracketStyle = field(default_factory=lambda: BracketStyle("(", ")"))


register_plugin("sphinxcontrib.bibtex.style.referencing", "round", RoundReferenceStyle)


def short_citations() -> dict[tuple[str, str], str]:
    """How docstrings name a work, ("Wolf & Shashua", "2003"), → its key in references.bib."""
    keys = {}
    for key, entry in parse_file(Path(__file__).with_name("references.bib")).entries.items():
        *names, last = [" ".join(person.last_names) for person in entry.persons["author"]]
        keys[f"{', '.join(names)} & {last}" if names else last, entry.fields["year"]] = key
    return keys


CITATIONS = short_citations()
NAMES = "|".join({re.escape(names).replace(r"\ ", r"\s+") for names, _ in CITATIONS})
A_CITATION = re.compile(rf"(?<!& )\b({NAMES})\s+(\d{{4}}(?:, \d{{4}})*)")


def link_citations(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Link the works that a docstring names, "Mangasarian & Wild 2007, 2008", to the page of references."""

    def roles(match: re.Match[str]) -> str:
        names, years = " ".join(match[1].split()), match[2].split(", ")
        keys = [CITATIONS.get((names, year)) for year in years]
        return ", ".join(f":cite:t:`{key}`" for key in keys) if all(keys) else match[0]

    lines[:] = A_CITATION.sub(roles, "\n".join(lines)).split("\n")


AN_ATTRIBUTE = re.compile(r"(\S.*?) : (\S.*)")
A_TYPED_ATTRIBUTE = re.compile(
    r"\S+ : ((ndarray|list|tuple|dict) of |(int|float|str|bool|dict|Kernel)( or .*)?$|Report$|cvxpy\.)"
)


def put_attributes_in_words(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Put "name : what it is" on two lines, because numpydoc would take the words for a type.

    An entry whose name is followed by a type, "name : ndarray of shape (n,)", stays as it is.
    """
    if "Attributes" not in lines:
        return
    start = lines.index("Attributes") + 2
    ends = [i for i in range(start + 1, len(lines)) if re.fullmatch("-+", lines[i])]
    section = lines[start : ends[0] - 1] if ends else lines[start:]
    written: list[str] = []
    for line in section:
        entry = None if A_TYPED_ATTRIBUTE.match(line) else AN_ATTRIBUTE.fullmatch(line)
        written += [entry[1], f"    {entry[2][0].upper()}{entry[2][1:]}"] if entry else [line]
    lines[start : start + len(section)] = written


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-docstring", put_attributes_in_words, priority=400)  # before numpydoc
    app.connect("autodoc-process-docstring", link_citations)
    app.connect("autodoc-skip-member", skip_request_methods)
    app.connect("builder-inited", write_api_pages)
    app.connect("builder-inited", remove_old_pages, priority=400)  # before sphinx-gallery
    app.connect("source-read", write_course_map)
    app.connect("source-read", add_downloads)
    app.connect("source-read", add_lesson_links)
    app.connect("source-read", resolve_lesson_links)
    app.connect("build-finished", write_lectures)
