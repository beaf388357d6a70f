"""Lectures: a Markdown page whose front matter says `deck: true` becomes a deck of reveal.js.

`# title` is the title slide, each `## part` has its minutes below it, each `### slide` is a slide.
The template is _templates/deck.html; the files of reveal.js are those of sphinx-revealjs, whose
builder makes slides of every page, in a second site. Directives of slides:

minutes N            below a part's heading: how long it takes
notes                for the speaker: what to say, what to ask, where students stumble
predict N            a moment of N minutes for the class: its first paragraph is the task, and
                     the answer is in a reveal
reveal TITLE         folded until the next key
question TEXT        a question for the end, its answer folded
columns 3 2          blocks side by side, in these shares; `+++` stands between them
agenda               the parts of this deck with their minutes
panels NAME 1 3      panels of a drawing, the first being 1, in a size to be read from afar
play (a role)        {play}`text <run=pin_tile&eta=2>`, the playground in a state

`container live` has what can be tried: links to steppers and the playground.
"""

import re
from html import escape
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from drawings import drawing_of
from generated import box, extension, raw

REVEAL = Path(find_spec("sphinx_revealjs").origin).parent / "_static" / "revealjs"
FILES = ("dist/reveal.css", "dist/reveal.js", "plugin/notes/notes.js", "LICENSE")
PERMALINK = re.compile(r'<a class="headerlink".*?</a>')


class deck_body(nodes.Element):
    """The cover and the parts of a deck."""


class slide_section(nodes.section):
    """A section that is a slide; `seconds` is the time that the speaker has for it."""


def folded(kind, summary, text, tag="div"):
    """Return Markdown that is shown when it is asked for."""
    begin = f'<details class="{kind}-fold"><summary>{escape(summary)}</summary>'
    inside = f'<{tag} class="inside {kind}">\n\n{text}\n\n</{tag}>'
    return box(f"{kind}-box", f"{begin}{inside}</details>")


def minutes(count):
    """Return how long a part takes."""
    return box("minutes", f"{count} minutes")


def notes(content):
    """Return what the speaker has beside the slide."""
    # reveal.js shows each <aside class="notes"> in the speaker's window
    return folded("notes", "Notes for the speaker", content, "aside")


def predict(minutes, content):
    """Return a moment at which the class does something."""
    unit = "minute" if minutes == "1" else "minutes"
    task, _, rest = content.partition("\n\n")
    parts = f"badge\nYour turn, {minutes} {unit}", f"task\n{task}"
    inner = "".join(f":::{{container}} {part}\n:::\n\n" for part in parts)
    return box("predict", f"{inner}{rest}")


def reveal(title, content):
    """Return an answer, folded."""
    return folded("answer", title, content)


def question(text, content):
    """Return a question, and its answer folded."""
    return box("question-text", text) + folded("answer", "Answer", content)


def columns(shares, content):
    """Return blocks in a grid of the shares that are asked for; a column may get narrow."""
    blocks = re.split(r"^\+\+\+$", content, flags=re.M)
    widths = [f"minmax(0, {float(share):g}fr)" for share in shares.split()]
    if len(widths) != len(blocks):
        raise ValueError(f"{len(widths)} shares for {len(blocks)} blocks")
    made = "\n".join(box("column", block) for block in blocks)
    return f'<div class="columns" style="--shares: {" ".join(widths)}">\n\n{made}\n</div>\n'


def agenda():
    """Return the place of the agenda, which `make_slides` fills."""
    return [nodes.container(classes=["agenda"])]


def panels(wanted, env, *, below=None, height=""):
    """Return the SVG of panels of a drawing, each as wide as its share."""
    name, *numbers = wanted.split()
    known, serial = drawing_of(name).panels, env.new_serialno("slide panels")
    chosen = [known[int(number) - 1] for number in numbers] or known
    made = "".join(
        f'<div style="--width: {panel.width}">{panel.markup(f"slide-{name}-{serial}-{k}")}</div>'
        for k, panel in enumerate(chosen)
    )
    kind = "panels" if below is None else "panels below"
    style = f' style="--height: {float(height):g}em"' if height else ""
    return [raw(f'<div class="{kind}"{style}>{made}</div>')]


def play(text, env):
    """Return a link to the playground, which opens in a state: `name=value`, joined by `&`."""
    found = re.fullmatch(r"(.+?)\s*<(\w+=[^<>]*)>", text, re.S)
    if found is None:
        raise ValueError(f"expected text <name=value&..>, got {text!r}")
    page = env.app.builder.get_relative_uri(env.docname, "playground")
    return nodes.reference("", found[1], refuri=f"{page}#{found[2]}")


def is_deck(env, docname):
    """Return whether a page is a deck."""
    return bool(env.metadata.get(docname, {}).get("deck"))


def sections_of(node):
    """Return the sections right below a node."""
    return [child for child in node.children if isinstance(child, nodes.section)]


def of_class(node, kind):
    """Return the containers of a class below a node."""
    return list(node.findall(lambda one: kind in getattr(one, "attributes", {}).get("classes", ())))


def make_slides(app, doctree, docname):
    """Mark sections as parts and slides, make a slide of the title, and fill the agenda."""
    if not is_deck(app.env, docname):
        return
    (deck,) = sections_of(doctree)
    parts, items, total = sections_of(deck), "", 0
    cover = slide_section(classes=["slide", "cover"], ids=["cover"], seconds=0)
    cover += raw(f"<h1>{deck[0].astext()}</h1>")
    cover += [node for node in deck.children[1:] if node not in parts]
    for part in parts:
        title, (said,), slides = part[0].astext(), of_class(part, "minutes"), sections_of(part)
        part["classes"].append("part")
        part[0].children = [nodes.Text(title)]
        count = int(said.astext().split()[0])
        total += count
        items += (
            f'<li style="--minutes: {count}"><a href="#{part["ids"][0]}">{title}</a> '
            f"<span>{count} min</span></li>"
        )
        for slide in slides:
            part.replace(slide, slide_of(slide, round(60 * count / len(slides)), title))
    doctree.replace(deck, deck_body("", cover, *parts))
    for place in of_class(doctree, "agenda"):
        place.replace_self(raw(f'<ol class="agenda">{items}</ol>'))
    app.env.metadata[docname]["minutes"] = total


def slide_of(section, seconds, part):
    """Return the slide of a section: its heading, its body, the name of its part, its notes."""
    heading, rest = section.children[0], section.children[1:]
    notes = [node for node in rest if "notes-box" in node.get("classes", ())]
    body = nodes.container("", *[n for n in rest if n not in notes], classes=["slide-body"])
    foot = raw(f'<p class="folio">{part}</p>')
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
    context["minutes"] = app.env.metadata[pagename]["minutes"]
    return "deck.html"


def reveal_js(app):
    """Return the files of reveal.js."""
    files = [REVEAL / name for name in FILES]
    return {f"_static/reveal/{file.name}": file.read_text(encoding="utf-8") for file in files}


register = extension(
    minutes,
    notes,
    predict,
    reveal,
    question,
    columns,
    agenda,
    panels,
    roles=[play],
    files=reveal_js,
    doctree_resolved=make_slides,
)


def setup(app):
    app.add_node(deck_body, html=(visit_deck, depart_deck))
    app.add_node(slide_section, html=(visit_slide, lambda self, node: self.depart_section(node)))
    app.connect("html-page-context", page_context, priority=900)
    return register(app)
