"""Link the first use of each glossary term on a page of the guide to the glossary.

A term is a heading of ``glossary.md``; "Baseline, blind" is found as "blind baseline". Nothing is
linked in headings, links and code.
"""

import re
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref

GLOSSARY = "glossary"
LINKED = ("user_guide/", "tutorials/", "faq", "officers", "coming_from", "papers", "contributing")
NOT_IN = (nodes.reference, nodes.title, nodes.literal, nodes.literal_block, nodes.raw, pending_xref)


@cache
def terms(folder):
    """Place in the glossary by the forms of each term."""
    text = Path(folder, f"{GLOSSARY}.md").read_text(encoding="utf-8")
    found = {}
    for heading in re.findall(r"^## (.+)$", text, re.MULTILINE):
        place = nodes.make_id(heading)
        for form in forms(heading):
            found.setdefault(form, place)
    return found


def forms(heading):
    """How a term is written in a sentence: each of two names, turned at a comma, with a hyphen.

    Short words in capitals, such as IN and OUT, are terms in capitals only.
    """
    for name in heading.strip("`").split(" and "):
        first, comma, rest = name.partition(", ")
        form = f"{rest} {first}" if comma else name
        form = form if form.isupper() else form.lower()
        yield from {form, form.replace(" ", "-"), form.replace("-", " ")}


@cache
def pattern(forms):
    """A regular expression that finds any of the forms as a word, also in the plural.

    The words of a form may be on two lines of the page.
    """
    longest_first = sorted(forms, key=len, reverse=True)
    sources = {form: r"\s+".join(map(re.escape, form.split())) for form in longest_first}
    either = (source if form.isupper() else f"(?i:{source})" for form, source in sources.items())
    return re.compile(rf"(?<![-\w])({'|'.join(either)})(?:s|es)?(?![-\w])")


def is_linkable(text):
    node = text.parent
    while node is not None:
        if isinstance(node, NOT_IN):
            return False
        node = node.parent
    return True


def make_link(text, uri, place, *children):
    return nodes.reference(
        "", text, *children, refuri=f"{uri}#{place}", internal=True, classes=["glossary-term"]
    )


def link_words(text, known, seen, uri):
    """The nodes that a text becomes, with links at the first uses."""
    parts, end = [], 0
    whole = text.astext()
    for found in pattern(tuple(known)).finditer(whole):
        form = " ".join(found[1].split())
        place = known.get(form) or known[form.lower()]
        if place not in seen:
            seen.add(place)
            parts += [nodes.Text(whole[end : found.start()]), make_link(found[0], uri, place)]
            end = found.end()
    return [*parts, nodes.Text(whole[end:])] if parts else []


def link_name(literal, known, seen, uri):
    """A link around a name in the code that is a term, such as ``group_by``."""
    place = known.get(literal.astext()) if "_" in literal.astext() else None
    if place is None or place in seen:
        return []
    seen.add(place)
    return [make_link("", uri, place, literal.deepcopy())]


def join_texts(paragraph):
    """Make one text of adjacent ones, which a page has for each line and each line break."""
    for parent in {id(text.parent): text.parent for text in paragraph.findall(nodes.Text)}.values():
        joined = []
        for child in parent.children:
            if isinstance(child, nodes.Text) and joined and isinstance(joined[-1], nodes.Text):
                joined[-1] = nodes.Text(joined[-1] + child)
            else:
                joined.append(child)
        parent[:] = joined


def add_links(app, doctree, docname):
    if not docname.startswith(LINKED) or docname == "tutorials/index":
        return
    known, seen = terms(app.srcdir), set()
    uri = app.builder.get_relative_uri(docname, GLOSSARY)
    for paragraph in list(doctree.findall(nodes.paragraph)):
        join_texts(paragraph)
        for kind, link in ((nodes.Text, link_words), (nodes.literal, link_name)):
            for node in list(paragraph.findall(kind)):
                if is_linkable(node) and (parts := link(node, known, seen, uri)):
                    node.parent.replace(node, parts)


def setup(app):
    app.connect("doctree-resolved", add_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
