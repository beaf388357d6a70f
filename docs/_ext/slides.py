"""Directives of slides: what a lecturer says and asks, and how a slide is laid out.

minutes N            below a part's heading: how long it takes
notes                for the speaker: what to say, what to ask, where students stumble
predict N            a moment of N minutes for the class: its first paragraph is the task, and
                     the answer is in a reveal
reveal TITLE         folded until the next key
question TEXT        a question for the end, its answer folded
columns 3 2          blocks side by side, in these shares; `+++` stands between them
agenda               the parts of this deck with their minutes
lecture-table        the decks, with their parts, minutes and slides
panels NAME 1 3      panels of a drawing, the first being 1, in a size to be read from afar
play (a role)        {play}`text <run=pin_tile&eta=2>`, the playground in a state

`container live` has what can be tried: links to steppers and the playground.
"""

import re
from html import escape

from deck_source import DECKS, read_deck
from docutils import nodes
from docutils.parsers.rst import directives
from drawings import DrawingDirective
from generated import directive, role, table
from sphinx.util.osutil import relative_uri


def box(kind, text):
    """Return Markdown in a box of some classes."""
    return f"::::::::{{container}} {kind}\n{text}\n::::::::\n"


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


def agenda(env):
    """Return the parts of this deck, each a link with its minutes."""
    items = "".join(
        f'<li style="--minutes: {part.minutes}"><a href="#{nodes.make_id(part.title)}">'
        f"{part.title}</a> <span>{part.minutes} min</span></li>"
        for part in read_deck(env.docname.rpartition("/")[2]).parts
    )
    return f'<ol class="agenda">{items}</ol>\n'


def lecture_table():
    """Return a table of the parts, minutes and slides of each deck, under the deck's title."""
    made = []
    for deck in map(read_deck, DECKS):
        rows = [(part.title, part.minutes, len(part.slides)) for part in deck.parts]
        total = f"**{len(deck.slides)}, the title with them**"
        rows.append(("**in all**", f"**{deck.minutes}**", total))
        made.append(f"**{deck.cover.title}**\n\n")
        made.append(table(("part", "minutes", "slides"), rows, (6, 1, 2)))
    return "\n".join(made)


class Panels(DrawingDirective):
    """Some panels of a drawing of docs/_drawings, side by side or one below the other."""

    has_content = False
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = {"below": directives.flag, "height": directives.unchanged}

    def run(self):
        """Return their SVG, each as wide as its share."""
        panels = self.drawing().panels
        wanted = [int(n) for n in " ".join(self.arguments[1:]).split()]
        wanted = wanted or range(1, len(panels) + 1)
        if not all(1 <= number <= len(panels) for number in wanted):
            raise self.error(f"panels: {self.arguments[0]} has {len(panels)} panels")
        serial = self.env.new_serialno("slide panels")
        made = [
            f'<div style="--width: {panels[n - 1].width}">'
            f"{panels[n - 1].markup(f'slide-{self.arguments[0]}-{serial}-{n}')}</div>"
            for n in wanted
        ]
        below, height = " below" if "below" in self.options else "", ""
        if "height" in self.options:
            height = f' style="--height: {float(self.options["height"]):g}em"'
        html = f'<div class="panels{below}"{height}>{"".join(made)}</div>'
        return [nodes.raw("", html, format="html")]


def play(text, env):
    """Return a link to the playground, which opens in a state: `name=value`, joined by `&`."""
    found = re.fullmatch(r"(.+?)\s*<(\w+=[^<>]*)>", text, re.S)
    if found is None:
        raise ValueError(f"expected text <name=value&..>, got {text!r}")
    uri_of = env.app.builder.get_target_uri
    uri = relative_uri(uri_of(env.docname), uri_of("playground"))
    return nodes.reference("", found[1], refuri=f"{uri}#{found[2]}")


def setup(app):
    """Register the directives and the role."""
    for made in (minutes, notes, predict, reveal, question, columns, agenda, lecture_table):
        app.add_directive(made.__name__.replace("_", "-"), directive(made))
    app.add_directive("panels", Panels)
    app.add_role("play", role(play))
