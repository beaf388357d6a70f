"""Lectures: a Markdown page becomes a deck that reveal.js shows.

A page whose front matter says `deck: true` is a deck; deck_source.py says how it is written,
slides.py and slide_results.py which directives and roles its slides have. The page's template is
_templates/deck.html. The files of reveal.js are those in the wheel of sphinx-revealjs. Its own
builder is not used: it makes slides of every page, in a second site.
"""

import re
from importlib.util import find_spec
from pathlib import Path

import slide_results
import slides
from deck_source import read_deck
from docutils import nodes
from sphinx.util.fileutil import copy_asset_file

REVEAL = Path(find_spec("sphinx_revealjs").origin).parent / "_static" / "revealjs"
FILES = ("dist/reveal.css", "dist/reveal.js", "plugin/notes/notes.js", "LICENSE")
PERMALINK = re.compile(r'<a class="headerlink".*?</a>')


class deck_body(nodes.Element):
    """The cover and the parts of a deck."""


class slide_section(nodes.section):
    """A section that is a slide; `seconds` is the time that the speaker has for it."""


def is_deck(env, docname):
    """Return whether a page is a deck."""
    return bool(env.metadata.get(docname, {}).get("deck"))


def make_slides(app, doctree, docname):
    """Mark sections as parts and slides, and make a slide of the title."""
    if not is_deck(app.env, docname):
        return
    (deck,) = [node for node in doctree.children if isinstance(node, nodes.section)]
    parts = [node for node in deck.children if isinstance(node, nodes.section)]
    cover = slide_section(classes=["slide", "cover"], ids=["cover"], seconds=0)
    cover += nodes.raw("", f"<h1>{deck[0].astext()}</h1>", format="html")
    cover += [node for node in deck.children[1:] if node not in parts]
    for part, written in zip(parts, read_deck(docname.rpartition("/")[2]).parts, strict=True):
        part["classes"].append("part")
        part[0].children = [nodes.Text(written.title)]
        seconds = round(60 * written.minutes / len(written.slides))
        for slide in [node for node in part.children if isinstance(node, nodes.section)]:
            part.replace(slide, slide_of(slide, seconds, written.title))
    doctree.replace(deck, deck_body("", cover, *parts))


def slide_of(section, seconds, part):
    """Return the slide of a section: its heading, its body, the name of its part, its notes."""
    heading, rest = section.children[0], section.children[1:]
    notes = [node for node in rest if "notes-box" in node.get("classes", ())]
    body = nodes.container("", *[n for n in rest if n not in notes], classes=["slide-body"])
    foot = nodes.raw("", f'<p class="folio">{part}</p>', format="html")
    slide = slide_section("", heading, body, foot, *notes, classes=["slide"], ids=section["ids"])
    slide["seconds"] = seconds
    return slide


def visit_deck(translator, node):
    """Write nothing: what reveal.js shows are the sections inside."""
    translator.section_level += 1


def depart_deck(translator, node):
    """End what `visit_deck` began."""
    translator.section_level -= 1


def visit_slide(translator, node):
    """Write a slide's beginning, with the time for it."""
    translator.section_level += 1
    tag = translator.starttag(node, "section", **{"data-timing": node["seconds"]})
    translator.body.append(tag)


def page_context(app, pagename, templatename, context, doctree):
    """Return the template of a deck; None for other pages."""
    if doctree is None or not is_deck(app.env, pagename):
        return None
    context["body"] = PERMALINK.sub("", context["body"])
    context["minutes"] = read_deck(pagename.rpartition("/")[2]).minutes
    return "deck.html"


def copy_reveal(app):
    """Copy the files of reveal.js into the folder of static files."""
    if app.builder.format == "html":
        folder = Path(app.outdir, "_static", "reveal")
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            copy_asset_file(REVEAL / name, folder)


def setup(app):
    """Register the pages' template, and the directives and roles of slides."""
    slides.setup(app)
    slide_results.setup(app)
    app.add_node(deck_body, html=(visit_deck, depart_deck))
    app.add_node(slide_section, html=(visit_slide, lambda self, node: self.depart_section(node)))
    app.connect("builder-inited", copy_reveal)
    app.connect("doctree-resolved", make_slides)
    app.connect("html-page-context", page_context, priority=900)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
