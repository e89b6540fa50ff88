"""How Sphinx builds the documentation; ``make doc`` runs it."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "_ext")]

import example_pages  # noqa: E402

import skmia  # noqa: E402

# Read by the examples, which are run while the site is built, on a machine without a display.
os.environ["SKMIA_EXAMPLE_FAST"] = "1"
os.environ["MPLBACKEND"] = "Agg"

project = "skmia"
author = "The skmia developers"
copyright = author
version = release = skmia.__version__

extensions = [
    # Of doc/_ext, first, so that what is wrong with them shows before the examples are run.
    "api_pages",
    "code_links",
    "contents",
    "example_pages",
    "glossary_links",
    "mathml",
    "pictures",
    "repository_links",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]

# The guide has to be readable without Sphinx too: few extensions of markdown.
myst_enable_extensions = ["attrs_block", "colon_fence", "dollarmath"]
myst_heading_anchors = 4
default_role = "literal"
smartquotes = False  # they would change the strings in types of parameters

autodoc_typehints = "none"
# api_reference.py lists the methods: scikit-learn's have a documentation of their own.
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "auto_examples",
    "filename_pattern": example_pages.pattern_of_runnable(HERE.parent / "examples"),
    "backreferences_dir": "auto_examples/by_name",
    "doc_module": ("skmia",),
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "skmia"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["skmia.css"]
html_favicon = "_static/logo.svg"
html_copy_source = False
html_show_sphinx = False
html_sidebars = {
    page: []
    for page in (
        "index",
        "changelog",
        "citing",
        "coming_from",
        "contributing",
        "faq",
        "glossary",
        "papers",
        "search",
    )
}
html_theme_options = {
    "logo": {"text": "skmia", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
copybutton_exclude = ".linenos, .gp, .go"
