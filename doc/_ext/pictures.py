"""Pictures that have a copy for dark mode, ``name_dark.webp`` beside ``name.webp``, show both."""

from pathlib import Path

from docutils import nodes

ENDING = "_dark"


def add_dark_copies(app, doctree):
    """Put the dark copy behind each picture that has one; the style shows one of the two."""
    folder = Path(app.env.doc2path(app.env.docname)).parent
    for image in list(doctree.findall(nodes.image)):
        path = Path(image["uri"])
        dark = path.with_stem(path.stem + ENDING)
        base = Path(app.srcdir) if image["uri"].startswith("/") else folder
        if (base / str(dark).lstrip("/")).is_file():
            copy = image.deepcopy()
            copy["uri"] = dark.as_posix()
            image["classes"] = [*image["classes"], "only-light"]
            copy["classes"] = [*copy["classes"], "only-dark"]
            image.parent.insert(image.parent.index(image) + 1, copy)


def setup(app):
    # Before Sphinx collects the images of the page.
    app.connect("doctree-read", add_dark_copies, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
