"""Write the pages of the API reference into doc/api before Sphinx looks for pages."""

from pathlib import Path

import api_reference


def write(app):
    api_reference.write_pages(Path(app.srcdir) / "api")


def setup(app):
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
