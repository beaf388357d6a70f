"""Live steppers in the pages: the directive `stepper` and the role `step`.

```{stepper} pin_tile
```

shows the page of `minibatch-gnn trace pin_tile` in a frame.

{step}`the second clean-up <pin_tile@J4:19.2>` is a link that opens the page's stepper at a step, or
the stepper alone where the page has none; <pin_tile> opens it at its beginning. A place is a line
of a paper, `23`, or the second time it runs, `23.2`; `J4:19` is a line of another of the stepper's
algorithms, here JPDC'21 Algorithm 4. The build warns of a place that is none.

The pages are written to steppers/ of the site; docs/_static/steppers.js tells them its theme. The
script of the playground is written, too.
"""

import functools
import re
from html import escape

from docutils import nodes
from generated import extension, raw
from playground import bundle

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


def address(env, name, place):
    """Return the address of a stepper as the page names it, opened at a place or its beginning."""
    recipe, recording = recorded(name)
    step = f"#{step_at(recipe, recording, place) + 1}" if place is not None else ""
    return f"{'../' * env.docname.count('/')}{FOLDER}/{name}.html{step}"


def stepper(name, env):
    """Return a frame with a stepper."""
    uri, title = escape(address(env, name, None)), escape(recorded(name)[0].title)
    frame = raw(
        f'<figure class="stepper"><iframe name="stepper-{name}" src="{uri}" '
        f'title="Stepper: {title}" loading="lazy"></iframe>'
        f'<figcaption>{title}. <a href="{uri}" target="_blank" rel="noopener">Open it alone'
        "</a></figcaption></figure>\n"
    )
    frame["stepper"] = name
    return [frame]


def step(text, env):
    """Return a link to a step of a stepper."""
    found = re.fullmatch(r"(.+?)\s*<(\w+)(?:@([^<>@]+))?>", text, re.S)
    if found is None:
        raise ValueError(f"expected text <NAME> or text <NAME@PLACE>, got {text!r}")
    words, name, place = found.groups()
    uri = address(env, name, place)
    return nodes.reference("", words, refuri=uri, classes=["step"], stepper=name)


def aim_links(app, doctree):
    """Have the links to steps open in the page's own frame, where it has one."""
    there = {frame["stepper"] for frame in doctree.findall(nodes.raw) if "stepper" in frame}
    for link in doctree.findall(nodes.reference):
        if link.get("stepper") in there:
            link["target"] = f"stepper-{link['stepper']}"


def pages(app):
    """Return the pages of all steppers, and the script of the playground."""
    made = site_pages(recorded(name) for name in recipes())
    made = {f"{FOLDER}/{name}": text for name, text in made.items()}
    return {**made, "_static/playground.js": bundle()}


setup = extension(stepper, roles=[step], files=pages, doctree_read=aim_links)
