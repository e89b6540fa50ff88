"""Write the pages of the API reference into doc/api, and find the source code of each name."""

import sys
from pathlib import Path

import api_reference


def write(app):
    api_reference.write_pages(Path(app.srcdir) / "api")


def find_source(app, module, name):
    """The module whose source code is linked from a page: classes are named by their room."""
    room = sys.modules.get(module)
    return api_reference.file_of(room, name) if hasattr(room, name) else None


def setup(app):
    app.connect("builder-inited", write)
    app.setup_extension("sphinx.ext.viewcode")
    app.connect("viewcode-follow-imported", find_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
