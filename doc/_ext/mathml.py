"""Formulas as MathML, which browsers draw without a script and without a network."""

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import functions, tex2mathml
from sphinx.util import logging

# As identifiers they would stick to what follows; an operator has a space.
FUNCTION = re.compile(rf"<mi>({'|'.join(functions)})</mi>")
OPERATOR = r'<mo form="prefix" lspace="0" rspace="0.17em">\1</mo>'

logger = logging.getLogger(__name__)


def converted(node, as_block):
    """MathML of a node; the formula as it was written where docutils cannot read it."""
    try:
        formula = tex2mathml(node.astext().replace("\n", " "), as_block=as_block)
        return FUNCTION.sub(OPERATOR, formula)
    except MathError as error:
        logger.warning("formula cannot be shown: %s", error, location=node)
        return node.astext()


def visit_inline(translator, node):
    translator.body.append(converted(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator, node):
    formula = converted(node, as_block=True)
    translator.body.append(f'<div class="formula">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
