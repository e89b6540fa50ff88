"""Links of markdown pages to files of the repository, which work on a git host, work here too.

The pages of benchmarks/ become part of the site, as copies in doc/benchmarks. A link to an example
goes to its page of the gallery, a link to doc/_static to the file; any other file is a download.
"""

import posixpath
import shutil
from pathlib import Path, PurePosixPath

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

COPIED = "benchmarks"
PAGES = {
    "README.md": "index",
    "CHANGELOG.md": "changelog",
    "examples/README.md": "auto_examples/index",
    "doc/api_reference.py": "api/index",
}


def copy_pages(app):
    """Copy the markdown of benchmarks/ into the site; equal files keep their time."""
    source, target = Path(app.srcdir).parent / COPIED, Path(app.srcdir) / COPIED
    wanted = {target / page.relative_to(source): page for page in source.rglob("*.md")}
    for copy in set(target.rglob("*.md")) - wanted.keys():
        copy.unlink()
    for copy, page in wanted.items():
        if not copy.exists() or copy.read_bytes() != page.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, copy)


def page_of(path):
    """Name of the page that shows a file of the repository, None if no page does."""
    if path in PAGES:
        return PAGES[path]
    pure = PurePosixPath(path)
    if pure.match("examples/*/plot_*.py"):
        return f"auto_{pure.with_suffix('')}"
    if pure.suffix == ".md" and pure.parts[0] == COPIED:
        return str(pure.with_suffix(""))
    if pure.suffix == ".md" and pure.parts[0] == "doc":
        return str(pure.relative_to("doc").with_suffix(""))
    return None


def is_inside(node):
    """Whether a link goes to another page of the site, or to a place on the same page."""
    target = node["reftarget"]
    return target.startswith("#") or (node["refdomain"] == "doc" and not target.startswith("/"))


def repository_path(node, root):
    """The path in the repository that a link names, with its anchor."""
    target, page = node["reftarget"], node["refdoc"]
    if node["refdomain"] == "doc":  # a page outside of the site, with its whole path
        return f"{Path(target).relative_to(root)}.md"
    written = page if page.startswith(f"{COPIED}/") else f"doc/{page}"
    return posixpath.normpath(f"{posixpath.dirname(written)}/{target}")


class RepositoryLinks(SphinxTransform):
    """Give each link of a markdown page that names a file of the repository its place here."""

    default_priority = 400

    def apply(self):
        kinds = (addnodes.download_reference, addnodes.pending_xref)
        for node in list(self.document.findall(lambda node: isinstance(node, kinds))):
            if node.get("reftype") == "myst" and not is_inside(node):
                self.redirect(node)

    def redirect(self, node):
        root = Path(self.env.srcdir).parent
        path, _, anchor = repository_path(node, root).partition("#")
        page = page_of(path)
        if page is not None:
            found = addnodes.pending_xref(
                "",
                refdomain="doc",
                reftype="myst",
                reftarget=page,
                reftargetid=anchor or node.get("reftargetid"),
                refdoc=self.env.docname,
                refexplicit=True,
            )
        elif path.startswith("doc/_static/") and (root / path).is_file():
            up = "../" * self.env.docname.count("/")
            found = nodes.reference("", "", refuri=up + path.removeprefix("doc/"))
        elif (root / path).is_file():
            up = "../" * (self.env.docname.count("/") + 1)
            found = addnodes.download_reference(
                "", reftarget=up + path, refdoc=self.env.docname, reftype="myst", refexplicit=True
            )
        else:
            return
        found += [child.deepcopy() for child in node.children]
        found.source, found.line = node.source, node.line
        node.replace_self(found)


def setup(app):
    app.connect("builder-inited", copy_pages)
    app.add_transform(RepositoryLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
