"""Formulas as MathML, made when the pages are built: no script, and nothing from a network."""

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
WORD = re.compile(r"_\{([A-Za-z]{2,})\}")  # a subscript of several letters: upright, not spaced
PART = r"\s*(<mi>[^<]*</mi>|<mrow>(?:(?!<mrow>).)*?</mrow>)"
MARKED = re.compile(  # a subscript of a letter with a mark on it: docutils takes it for a limit
    rf'<munderover>{PART}{PART}\s*(<mo stretchy="false">[~¯ˉ^]</mo>)\s*</munderover>', re.S
)
RAISED = re.compile(rf"<msup>\s*<msub>(<mover>.*?</mover>){PART}</msub>{PART}\s*</msup>", re.S)
SIZES = re.compile(r"\\[bB]igg?[lr]?(?![A-Za-z])")  # of brackets: MathML stretches them itself

LEGIBLE = (  # a prime; and a bar that does not touch its letter where no font for formulas is there
    (">'<", ">\u2032<"),
    ("\u29f5", "\u2216"),  # a backslash that fonts have
    ("\u02c9", "\u00af"),
    ('<mover accent="true">', "<mover>"),
)


def mathml(node, *, as_block):
    """Return a formula's MathML; a command that is not known is a warning, as a dead link is."""
    try:
        tex = WORD.sub(r"_{\\mathrm{\1}}", node.astext())
        tex = SIZES.sub("", tex).replace(r"\dots", r"\ldots")
        html = tex2mathml(tex, as_block=as_block)
    except (MathError, ValueError, KeyError, IndexError) as error:
        LOGGER.warning("cannot turn %r into MathML: %s", node.astext(), error, location=node)
        return f"<code>{node.astext()}</code>"
    for old, new in LEGIBLE:
        html = html.replace(old, new)
    html = MARKED.sub(r"<msub><mover>\1\3</mover>\2</msub>", html)
    return RAISED.sub(r"<msubsup>\1\2\3</msubsup>", html)


def visit_inline(translator, node):
    """Write a formula in the text."""
    translator.body.append(mathml(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator, node):
    """Write a formula on lines of its own."""
    translator.body.append(translator.starttag(node, "div", "", CLASS="math-block"))
    translator.body.append(mathml(node, as_block=True))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
