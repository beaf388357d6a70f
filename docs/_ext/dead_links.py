"""After a build: every link of every page leads to a page, and to a place on it, that exists."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from source_pages import page_of, source_files
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
LINK = re.compile(r"""<(?:a|img|link|script)\b[^>]*?\s(?:href|src)="([^"]*)\"""")
ID = re.compile(r"""\s(?:id|name)="([^"]+)\"""")
STEPS = re.compile(r"""<body data-steps="(\d+)">""")  # of a stepper, which opens at each of them
STATE = re.compile(r"\w+=")  # of the playground, which opens in it


def dead_links(folder, names):
    """Return "page: link" for each link that leads nowhere on these pages of a folder."""
    folder = Path(folder).resolve()

    @cache
    def text_of(path):
        return path.read_text()

    @cache
    def ids_of(path):
        if path.suffix != ".html":
            return {""}
        steps = STEPS.search(text_of(path))
        numbers = range(1, int(steps[1]) + 1) if steps else ()
        return {"", *ID.findall(text_of(path)), *map(str, numbers)}

    dead = []
    for name in names:
        path = folder / f"{name}.html"
        for link in dict.fromkeys(LINK.findall(text_of(path))):
            if re.match(r"[a-z]+:|//", link):
                continue
            place, _, anchor = unquote(link).partition("#")
            target = (path.parent / place.partition("?")[0]).resolve() if place else path
            if target.exists() and STATE.match(anchor) and "pg" in ids_of(target):
                continue
            if not target.exists() or anchor not in ids_of(target):
                dead.append(f"{name}: {link}")
    return dead


def check(app, exception):
    """Warn of every link that is dead."""
    if exception is None and app.builder.name == "html":
        names = [*sorted(app.env.found_docs), *map(page_of, source_files())]
        for dead in dead_links(app.outdir, names):
            LOGGER.warning("dead link on %s", dead)


def setup(app):
    app.connect("build-finished", check, priority=900)  # behind the pages of source files
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
