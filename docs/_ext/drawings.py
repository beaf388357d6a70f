"""The directive of figures that are made from the code when the pages are built.

```{drawing} frontier-steps      a figure of docs/_drawings, with its content as the caption
:form: pins                      a keyword argument of the figure's function
```

{lit}`amber nodes <frontier-steps:warm>` are words that light the shapes of a kind in the page's
drawing of this name, and are lit by these shapes; docs/_static/lit.js does both.
"""

import re
import sys
from pathlib import Path

from docutils import nodes
from generated import extension, raw
from sphinx.util import logging

DOCS = Path(__file__).parents[1]
if str(DOCS) not in sys.path:
    sys.path.append(str(DOCS))

from _drawings import drawings  # noqa: E402
from _drawings.svg import KINDS  # noqa: E402

logger = logging.getLogger(__name__)
PAGE = re.compile(r'href="page:([^"]+)"')


def drawing_of(name, **options):
    """Return the drawing that is named, with the options."""
    if name not in drawings():
        raise ValueError(f"{name!r} is none of {', '.join(drawings())}")
    try:
        return drawings()[name](**options)
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"{name} {options}: {error}") from error


def drawing(name, content, page, *, form=None):
    """Return a drawing; the content is its caption, by default its title."""
    env = page.env
    made = drawing_of(name) if form is None else drawing_of(name, form=form)

    def link(found):
        """Return a link to a page, as "page:learn/frontier", as seen from this page."""
        if found[1] not in env.found_docs:
            raise ValueError(f"{name} leads to {found[1]}, which is no page")
        return f'href="{env.app.builder.get_relative_uri(env.docname, found[1])}"'

    number = env.new_serialno("drawing")
    panels = "".join(p.markup(f"drawing-{number}-{k}") for k, p in enumerate(made.panels))
    html = f'<div class="panels">{PAGE.sub(link, panels)}</div>\n'
    said = page.parse_content_to_nodes() if content else [nodes.Text(made.title)]
    if content and len(said) == 1:
        said = said[0].children
    figure = nodes.figure("", raw(html), nodes.caption("", "", *said))
    figure["classes"] += ["drawing", f"of-{name}"]
    page.set_source_info(figure)
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


setup = extension(drawing, roles=[lit], doctree_read=check_lit)
