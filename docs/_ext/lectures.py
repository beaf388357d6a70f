"""Lectures: a Markdown page becomes a self-contained deck of slides when the site is built.

A page whose front matter says `deck: true` is a deck; deck_source.py says how it is written,
slides.py and slide_results.py which directives and roles its slides have. The page's template is
_templates/deck.html, with the style and the script of lectures/_deck written into it.
"""

import re

import slide_results
import slides
from deck_source import DECKS, LECTURES
from docutils import nodes
from pygments.formatters import HtmlFormatter

PARTS = LECTURES / "_deck"
DRAWN = LECTURES.parent / "_static" / "drawings.css"
LIGHT, DARK = HtmlFormatter(style="a11y-high-contrast-light"), HtmlFormatter(style="github-dark")
PERMALINK = re.compile(r'<a class="headerlink".*?</a>')


def is_deck(env, docname):
    """Return whether a page is a deck."""
    return bool(env.metadata.get(docname, {}).get("deck"))


def make_slides(app, doctree, docname):
    """Mark sections as parts and slides, number the slides, and make one of the title."""
    if not is_deck(app.env, docname):
        return
    (deck,) = [node for node in doctree.children if isinstance(node, nodes.section)]
    parts = [node for node in deck.children if isinstance(node, nodes.section)]
    cover = nodes.container(classes=["slide", "cover"], ids=["1"])
    cover += nodes.raw("", f"<h1>{deck[0].astext()}</h1>", format="html")
    cover += [node for node in deck.children[1:] if node not in parts]
    number = 1
    for part in parts:
        part["classes"].append("part")
        part[0].children = [nodes.Text(part[0].astext())]
        for slide in part.children:
            if isinstance(slide, nodes.section):
                number += 1
                mark_slide(slide, number, part)
    deck.children = [cover, *parts]
    for node in deck.children:
        node.parent = deck


def mark_slide(slide, number, part):
    """Give a slide its number, and a foot with the name of its part."""
    slide["classes"].append("slide")
    slide["ids"].insert(0, str(number))
    heading, rest = slide.children[0], slide.children[1:]
    notes = [node for node in rest if "notes" in node.get("classes", ())]
    body = nodes.container("", *[n for n in rest if n not in notes], classes=["slide-body"])
    name = part[0].astext()
    foot = nodes.raw("", f'<p class="folio">{name} <span>{number}</span></p>', format="html")
    slide.children = [heading, body, foot, *notes]
    for node in slide.children:
        node.parent = slide


def page_context(app, pagename, templatename, context, doctree):
    """Return the template of a deck, with what is written into it; None for other pages."""
    if doctree is None or not is_deck(app.env, pagename):
        return None
    context["body"] = PERMALINK.sub("", context["body"])
    context["deck_name"] = pagename.rpartition("/")[2]
    styles = [DRAWN.read_text(encoding="utf-8"), (PARTS / "deck.css").read_text(encoding="utf-8")]
    context["deck_style"] = "\n".join([*styles, code_colours()])
    context["deck_script"] = (PARTS / "deck.js").read_text(encoding="utf-8")
    return "deck.html"


def code_colours():
    """Return the style of highlighted code, light and dark."""
    dark = DARK.get_style_defs("body[data-theme='dark'] .highlight")
    auto = DARK.get_style_defs("body[data-theme='auto'] .highlight")
    seen = "@media screen and (prefers-color-scheme: dark)"
    light = LIGHT.get_style_defs(".highlight")
    return f"{light}\n@media screen {{ {dark} }}\n{seen} {{ {auto} }}\n"


def note_parts(app, env, added, changed, removed):
    """Read the decks again when their style or script changed: the page holds both."""
    parts = max(path.stat().st_mtime_ns for path in PARTS.iterdir())
    seen, env.deck_parts = getattr(env, "deck_parts", None), parts
    return [] if seen == parts else [f"lectures/{name}" for name in DECKS]


def setup(app):
    """Register the pages' template, and the directives and roles of slides."""
    slides.setup(app)
    slide_results.setup(app)
    app.connect("doctree-resolved", make_slides)
    app.connect("html-page-context", page_context, priority=900)
    app.connect("env-get-outdated", note_parts)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
