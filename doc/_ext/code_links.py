"""Names in ``this type`` become links to their page of the API reference, where they have one."""

from functools import cache

import api_reference
from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

NO_LINK_IN = (nodes.reference, nodes.title, nodes.term)


@cache
def short_names():
    """Full name by the name without its module, for names that mean one thing only."""
    found = {}
    for module in api_reference.public_modules():
        for name in api_reference.documented_names(module):
            found.setdefault(name, set()).add(f"{module.__name__}.{name}")
    return {name: homes.pop() for name, homes in found.items() if len(homes) == 1}


class CodeLinks(SphinxPostTransform):
    """Link literals such as ``LiRA``, ``LiRA.fit`` and ``skmia.attacks.LiRA``."""

    default_priority = 5  # before references are resolved: their text is not a literal yet

    def run(self):
        short, known = short_names(), self.env.domains.python_domain.objects
        for literal in list(self.document.findall(nodes.literal)):
            text = literal.astext().removesuffix("()")
            name, _, member = text.partition(".")
            full = text if text in known else f"{short.get(name)}{'.' * bool(member)}{member}"
            if full in known and not inside(literal, NO_LINK_IN):
                self.link(literal, known[full], full)

    def link(self, literal, target, title):
        here = self.env.docname
        if target.docname == here and "." not in literal.astext():
            return
        reference = make_refnode(
            self.app.builder, here, target.docname, target.node_id, literal.deepcopy(), title
        )
        literal.replace_self(reference)


def inside(node, kinds):
    while node is not None:
        if isinstance(node, kinds):
            return True
        node = node.parent
    return False


def setup(app):
    app.add_post_transform(CodeLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
