"""Pages below the first page of a section in the sidebar, in the order in which it links to them.

These first pages are read on git hosts too, which would show a table of contents of Sphinx as code.
"""

import re
from pathlib import Path

FIRST_PAGES = ("tutorials/index", "user_guide/index", "benchmarks/README")


def grouped(text, present):
    """Heading and pages of each part of a text; a page belongs to the part that names it first."""
    start, *parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    for heading, body in zip(["", *parts[::2]], [start, *parts[1::2]], strict=True):
        linked = dict.fromkeys(re.findall(r"\]\(([\w/]+\.md)[#)]", body))
        pages = [page for page in linked if page in present]
        present = present - set(pages)
        yield heading, pages
    yield "", sorted(present)


def add_contents(app, docname, content):
    if docname not in FIRST_PAGES or "{toctree}" in content[0]:
        return
    folder = Path(app.srcdir, docname).parent
    present = {page.relative_to(folder).as_posix() for page in folder.rglob("*.md")}
    for heading, pages in list(grouped(content[0], present - {f"{Path(docname).name}.md"})):
        if pages:
            caption = f":caption: {heading}\n" if heading else ""
            listed = "\n".join(pages)
            content[0] += f"\n\n```{{toctree}}\n:hidden:\n{caption}\n{listed}\n```\n"


def setup(app):
    app.connect("source-read", add_contents)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
