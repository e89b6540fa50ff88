"""Which examples are run while the site is built, and a line on each page that says so."""

import os
import re
from pathlib import Path

from docutils import nodes

FAST = (
    "The output on this page comes from the script's fast mode, with fewer records or models. Run "
    "the script to see the full numbers."
)
NOT_RUN = (
    "Shown without its output: this script reads data that were not at hand when the site was "
    "built. Run it to see figures and numbers."
)


def needs_data(path):
    """Whether a script reads a data set that is not part of the package."""
    return "fetch_" in path.read_text(encoding="utf-8")


def is_runnable(path):
    """Whether a script can be run here; SKMIA_EXAMPLE_DATA names a folder with the data sets."""
    return bool(os.environ.get("SKMIA_EXAMPLE_DATA")) or not needs_data(path)


def pattern_of_runnable(folder):
    """A regular expression that finds the runnable scripts below a folder by their path."""
    runnable = [path.stem for path in sorted(folder.rglob("plot_*.py")) if is_runnable(path)]
    return rf"/({'|'.join(map(re.escape, runnable))})\.py$"


def say_how_it_was_run(app, doctree):
    """Put the line below the title of an example's page."""
    docname = app.env.docname
    gallery = app.config.sphinx_gallery_conf["gallery_dirs"]
    if not re.fullmatch(rf"{gallery}/.*/plot_\w+", docname):
        return
    script = Path(app.srcdir) / f"{docname}.py"
    text = FAST if is_runnable(script) else NOT_RUN
    title = next(doctree.findall(nodes.title))
    note = nodes.paragraph("", text, classes=["how-it-was-run"])
    title.parent.insert(title.parent.index(title) + 1, note)


def setup(app):
    app.connect("doctree-read", say_how_it_was_run)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
