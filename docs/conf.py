"""Sphinx configuration. Every page works without a network: MathJax comes with the pages."""

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

import priorsvm

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
    "sphinxcontrib.bibtex",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3

nb_execution_mode = "off"  # the notebooks have run: see `make notebooks`

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "unsrt"
bibtex_reference_style = "author_year"

autosummary_generate = False  # write_api_pages does it
autodoc_typehints = "none"
autodoc_default_options = {"members": True}
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_show_sourcelink = False

# Module of priorsvm a public name lives in → heading on the API page.
API_SECTIONS = {
    "estimator": "The estimator",
    "prior": "Prior knowledge",
    "knowledge": "Prior knowledge",
    "kernels": "Kernels",
    "transforms": "Transforms",
    "datasets": "Data sets",
    "testing": "Testing your own blocks",
}


def write_api_pages(app: Sphinx) -> None:
    """Write a page for every name in ``priorsvm.__all__``, and the tables that api.rst includes."""
    folder = Path(app.srcdir, "api")
    folder.mkdir(exist_ok=True)
    sections: dict[str, list[str]] = {heading: [] for heading in API_SECTIONS.values()}
    pages = {}
    for name in priorsvm.__all__:
        if name == "__version__":
            continue
        try:
            value = getattr(priorsvm, name)
        except (ImportError, AttributeError) as error:
            logging.getLogger(__name__).warning(
                "priorsvm.%s cannot be documented: %s", name, error, type="priorsvm", subtype="missing"
            )
            continue
        module = value.__module__.split(".")[1]
        sections[API_SECTIONS[module]].append(name)
        directive = "autoclass" if isinstance(value, type) else "autofunction"
        pages[f"priorsvm.{name}.rst"] = (
            f"{name}\n{'=' * len(name)}\n\n.. currentmodule:: priorsvm\n\n.. {directive}:: {name}\n"
        )
    pages["tables.txt"] = "\n".join(
        f"{heading}\n{'-' * len(heading)}\n\n.. autosummary::\n   :nosignatures:\n   :toctree: api\n\n"
        + "".join(f"   {name}\n" for name in names)
        for heading, names in sections.items()
        if names
    )
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


def setup(app: Sphinx) -> None:
    app.connect("autodoc-skip-member", skip_request_methods)
    app.connect("builder-inited", write_api_pages)
