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
from generated import read_again, role
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

DOCS = Path(__file__).parents[1]
if str(DOCS) not in sys.path:
    sys.path.append(str(DOCS))

from _drawings import drawings  # noqa: E402
from _drawings.svg import KINDS  # noqa: E402

logger = logging.getLogger(__name__)
PAGE = re.compile(r'href="page:([^"]+)"')


# of the directive: the keyword arguments of all drawings
OPTIONS = {name: str for made in drawings().values() for name in inspect.signature(made).parameters}


class DrawingDirective(SphinxDirective):
    """Show a drawing; the content is its caption, by default its title."""

    required_arguments = 1
    has_content = True
    option_spec = OPTIONS

    def drawing(self):
        """Return the drawing that is named, with the options."""
        name, known = self.arguments[0], drawings()
        if name not in known:
            raise self.error(f"{self.name}: {name!r} is none of {', '.join(known)}")
        asked = {key: value for key, value in self.options.items() if key in OPTIONS}
        try:
            return known[name](**asked)
        except (TypeError, KeyError, ValueError) as error:
            raise self.error(f"drawing: {name} {self.options}: {error}") from error

    def link(self, found):
        """Return a link to a page, as "page:learn/frontier", as seen from this page."""
        page, here = found[1], self.env.docname
        if page not in self.env.found_docs:
            raise self.error(f"drawing: {self.arguments[0]} leads to {page}, which is no page")
        return f'href="{self.env.app.builder.get_relative_uri(here, page)}"'

    def run(self):
        name, drawing = self.arguments[0], self.drawing()
        number = self.env.new_serialno("drawing")
        figure = nodes.figure(classes=["drawing", f"of-{name}"])
        self.set_source_info(figure)
        panels = "".join(p.markup(f"drawing-{number}-{k}") for k, p in enumerate(drawing.panels))
        html = f'<div class="panels">{PAGE.sub(self.link, panels)}</div>\n'
        figure += nodes.raw("", html, format="html")
        caption = nodes.caption()
        if self.content:
            said = self.parse_content_to_nodes()
            caption += said[0].children if len(said) == 1 else said
        else:
            caption += nodes.Text(drawing.title)
        figure += caption
        read_again(self.env)
        return [figure]


def lit(text):
    """Return words that name a kind of shape: "words <DRAWING:KIND>"."""
    found = re.fullmatch(r"(.+?)\s*<([\w-]+):(\w+)>", text, re.S)
    if not found or found[2] not in drawings() or found[3] not in KINDS:
        kinds = ", ".join(KINDS)
        raise ValueError(f"expected text <DRAWING:KIND>, a kind of {kinds}; got {text!r}")
    return nodes.inline("", found[1], classes=["lit", f"{found[2]}:{found[3]}"])


def check_lit(app, doctree):
    """Warn of words that light nothing on their page."""
    shown = {}
    for figure in doctree.findall(nodes.figure):
        name = next((one[3:] for one in figure["classes"] if one.startswith("of-")), None)
        panels = "".join(one.astext() for one in figure.findall(nodes.raw))
        shown[name] = shown.get(name, "") + panels
    for words in doctree.findall(nodes.inline):
        if words["classes"][:1] == ["lit"]:
            name, kind = words["classes"][1].split(":")
            if f'"d-{kind}"' not in shown.get(name, ""):
                logger.warning("lit: nothing on the page is %s:%s", name, kind, location=words)


def setup(app):
    app.add_directive("drawing", DrawingDirective)
    app.add_role("lit", role(lit))
    app.connect("doctree-read", check_lit)
    app.add_css_file("drawings.css")
    app.add_js_file("lit.js", loading_method="defer")
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
