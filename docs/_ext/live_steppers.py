"""Live steppers in the pages: the directive `stepper` and the role `step`.

```{stepper} pin_tile
:step: J4:19
:title: Watch the clean-up
```

shows the page of `minibatch-gnn trace pin_tile` in a frame, opened at a step. A place is a line of
a paper, `23`, or the second time it runs, `23.2`; `J4:19` is a line of another of the stepper's
algorithms, here JPDC'21 Algorithm 4. Without `step` it opens at its beginning.

{step}`the second clean-up <pin_tile@J4:19.2>` is a link that opens the page's stepper at a step, or
the stepper alone where the page has none; <pin_tile> opens it at its beginning. The build warns of
a place that is none.

The pages are written to steppers/ of the site; docs/_static/steppers.js tells them its theme.
"""

import functools
import re
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from generated import role
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri

from refimpl._support.whole_files import replacing
from refimpl.lab.apps.stepper.page import site_pages
from refimpl.lab.apps.stepper.places import step_at
from refimpl.lab.apps.stepper.recipes import recipes

FOLDER = "steppers"


@functools.cache
def recorded(name):
    """Return (Recipe, Recording) of a stepper, recorded once a build."""
    known = recipes()
    if name not in known:
        raise ValueError(f"there is no stepper {name!r}; there are {', '.join(known)}")
    return known[name], known[name].record()


def address(name, place=None):
    """Return the address of a stepper in the site, opened at a place: "steppers/name.html#52"."""
    recipe, recording = recorded(name)
    step = "" if place is None else f"#{step_at(recipe, recording, place) + 1}"
    return f"{FOLDER}/{name}.html{step}"


def seen_from(builder, docname, uri):
    """Return an address in the site as a page names it."""
    path, mark, step = uri.partition("#")
    return relative_uri(builder.get_target_uri(docname), path) + mark + step


class StepperDirective(SphinxDirective):
    """A frame with a stepper."""

    required_arguments = 1
    option_spec = {"step": directives.unchanged_required, "title": directives.unchanged_required}

    def run(self):
        name = self.arguments[0]
        try:
            uri = address(name, self.options.get("step"))
            title = self.options.get("title", recorded(name)[0].title)
        except ValueError as error:
            raise self.error(f"stepper: {error}") from error
        uri = escape(seen_from(self.env.app.builder, self.env.docname, uri))
        title = escape(title)
        html = (
            f'<figure class="stepper"><iframe name="stepper-{name}" src="{uri}" '
            f'title="Stepper: {title}" loading="lazy"></iframe>'
            f'<figcaption>{title}. <a href="{uri}" target="_blank" rel="noopener">Open it alone'
            "</a></figcaption></figure>\n"
        )
        return [nodes.raw("", html, format="html", stepper=name)]


def step(text, env):
    """Return a link to a step of a stepper."""
    found = re.fullmatch(r"(.+?)\s*<(\w+)(?:@([^<>@]+))?>", text, re.S)
    if found is None:
        raise ValueError(f"expected text <NAME> or text <NAME@PLACE>, got {text!r}")
    words, name, place = found.groups()
    uri = seen_from(env.app.builder, env.docname, address(name, place))
    return nodes.reference("", words, refuri=uri, classes=["step"], stepper=name)


def aim_links(app, doctree):
    """Have the links to steps open in the page's own frame, where it has one."""
    there = {frame["stepper"] for frame in doctree.findall(nodes.raw) if "stepper" in frame}
    for link in doctree.findall(nodes.reference):
        if link.get("stepper") in there:
            link["target"] = f"stepper-{link['stepper']}"


def write_pages(app, exception):
    """Write the pages of all steppers."""
    if exception is not None or app.builder.name != "html":
        return
    folder = Path(app.outdir, FOLDER)
    folder.mkdir(exist_ok=True)
    for name, text in site_pages(recorded(name) for name in recipes()).items():
        with replacing(folder / name) as file:
            file.write(text.encode())


def setup(app):
    app.add_directive("stepper", StepperDirective)
    app.add_role("step", role(step))
    app.connect("doctree-read", aim_links)
    app.connect("build-finished", write_pages)
    app.add_js_file("steppers.js", loading_method="defer")
    app.add_css_file("steppers.css")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
