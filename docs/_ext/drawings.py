"""The directive of figures that are made from the code when the pages are built.

```{drawing} frontier-steps      a figure of docs/_drawings, with its content as the caption
:form: pins                      an option is a keyword argument of the figure's function
```

{lit}`amber nodes <frontier-steps:warm>` are words that light the shapes of a kind in the page's
drawing of this name, and are lit by these shapes; docs/_static/lit.js does both.
"""

import inspect
import re
import sys
from pathlib import Path

from docutils import nodes
from generated import read_again
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

DOCS = Path(__file__).parents[1]
if str(DOCS) not in sys.path:
    sys.path.append(str(DOCS))

from _drawings import drawings  # noqa: E402
from _drawings.svg import KINDS  # noqa: E402

logger = logging.getLogger(__name__)
PAGE = re.compile(r'href="page:([^"]+)"')


class drawing_panels(nodes.General, nodes.Element):
    """The pictures of a drawing; `panels` are their SVG, with links as "page:learn/frontier"."""


def options_of(functions):
    """Return the options of the directive: the keyword arguments of all drawings."""
    names = {name for function in functions for name in inspect.signature(function).parameters}
    return dict.fromkeys(sorted(names), str)


class DrawingDirective(SphinxDirective):
    """Show a drawing; the content is its caption, by default its title."""

    required_arguments = 1
    has_content = True
    option_spec = options_of(drawings().values())

    def run(self):
        name, known = self.arguments[0], drawings()
        if name not in known:
            raise self.error(f"drawing: {name!r} is none of {', '.join(known)}")
        try:
            drawing = known[name](**self.options)
        except (TypeError, KeyError, ValueError) as error:
            raise self.error(f"drawing: {name} {self.options}: {error}") from error
        number = self.env.new_serialno("drawing")
        figure = nodes.figure(classes=["drawing", f"of-{name}"])
        self.set_source_info(figure)
        markup = [panel.markup(f"drawing-{number}-{k}") for k, panel in enumerate(drawing.panels)]
        for page in {page for one in markup for page in PAGE.findall(one)}:
            if page not in self.env.found_docs:
                raise self.error(f"drawing: {name} leads to {page}, which is no page")
        figure += drawing_panels("", panels=markup)
        caption = nodes.caption()
        if self.content:
            said = self.parse_content_to_nodes()
            caption += said[0].children if len(said) == 1 else said
        else:
            caption += nodes.Text(drawing.title)
        figure += caption
        read_again(self.env)
        return [figure]


class lit_words(nodes.Inline, nodes.TextElement):
    """Words that name a kind of shape; `shapes` is "DRAWING:KIND"."""


class LitRole(SphinxRole):
    """See the module."""

    def run(self):
        found = re.fullmatch(r"(.+?)\s*<([\w-]+):(\w+)>", self.text, re.S)
        if found and found[2] in drawings() and found[3] in KINDS:
            return [lit_words("", found[1], shapes=f"{found[2]}:{found[3]}")], []
        said = f"lit: expected text <DRAWING:KIND>, a kind of {', '.join(KINDS)}; got {self.text!r}"
        return [], [self.inliner.reporter.error(said, line=self.lineno)]


def check_lit(app, doctree, docname):
    """Warn of words that light nothing on their page."""
    shown = {}
    for figure in doctree.findall(nodes.figure):
        name = next((one[3:] for one in figure["classes"] if one.startswith("of-")), None)
        panels = "".join("".join(one["panels"]) for one in figure.findall(drawing_panels))
        shown[name] = shown.get(name, "") + panels
    for words in doctree.findall(lit_words):
        name, kind = words["shapes"].split(":")
        if f'"d-{kind}"' not in shown.get(name, ""):
            logger.warning("lit: nothing on the page is %s", words["shapes"], location=words)


def visit_lit(translator, node):
    marks = {"data-lit": node["shapes"], "class": "lit"}
    translator.body.append(translator.starttag(node, "span", "", **marks))


def visit_panels(translator, node):
    """Write the pictures."""
    builder = translator.builder
    here = builder.current_docname

    def uri(found):
        return f'href="{builder.get_relative_uri(here, found[1])}"'

    panels = "".join(PAGE.sub(uri, panel) for panel in node["panels"])
    translator.body.append(f'<div class="panels">{panels}</div>\n')
    raise nodes.SkipNode


def setup(app):
    app.add_node(drawing_panels, html=(visit_panels, None))
    app.add_directive("drawing", DrawingDirective)
    app.add_node(lit_words, html=(visit_lit, lambda self, node: self.body.append("</span>")))
    app.add_role("lit", LitRole())
    app.connect("doctree-resolved", check_lit)
    app.add_css_file("drawings.css")
    app.add_js_file("lit.js", loading_method="defer")
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
