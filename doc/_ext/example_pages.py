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
    "built. The picture is of an earlier run of its fast mode, with fewer records or models. Run "
    "the script to see all figures and the full numbers."
)


def needs_data(path):
    """Whether a script reads a data set that is not part of the package."""
    return "fetch_" in path.read_text(encoding="utf-8")


def picture_of(path):
    """Where in doc/ the picture of such a script is stored, which doc/make_pictures.py draws."""
    return f"_static/examples/{path.stem}.png"


def is_runnable(path):
    """Whether a script can be run here; SKMIA_EXAMPLE_DATA names a folder with the data sets."""
    return bool(os.environ.get("SKMIA_EXAMPLE_DATA")) or not needs_data(path)


def pattern_of_runnable(folder):
    """A regular expression that finds the runnable scripts below a folder by their path."""
    runnable = [path.stem for path in sorted(folder.rglob("plot_*.py")) if is_runnable(path)]
    return rf"/({'|'.join(map(re.escape, runnable))})\.py$"


def say_how_it_was_run(app, doctree):
    """Put the line below the title of an example's page, and a picture if it was not run."""
    docname = app.env.docname
    gallery = app.config.sphinx_gallery_conf["gallery_dirs"]
    if not re.fullmatch(rf"{gallery}/.*/plot_\w+", docname):
        return
    script = Path(app.srcdir) / f"{docname}.py"
    was_run = is_runnable(script)
    title = next(doctree.findall(nodes.title))
    added = [nodes.paragraph("", FAST if was_run else NOT_RUN, classes=["how-it-was-run"])]
    if not was_run:
        uri = f"/{picture_of(script)}"
        added.append(nodes.image(uri=uri, alt=f"A figure of the example: {title.astext()}"))
    place = title.parent.index(title) + 1
    title.parent[place:place] = added


def setup(app):
    # Before Sphinx collects the images of the page.
    app.connect("doctree-read", say_how_it_was_run, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
