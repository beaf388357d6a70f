"""Directives of slides: what a lecturer says and asks, and how a slide is laid out.

minutes N            below a part's heading: how long it takes
notes                for the speaker: what to say, what to ask, where students stumble
predict              a moment for the class, of `:minutes:`; the answer stands in a reveal
reveal TITLE         folded until the next key
question TEXT        a question for the end, its answer folded
columns 3 2          blocks side by side, in these shares; `+++` stands between them
live                 what can be tried: links to steppers and the playground
agenda               the parts of this deck with their minutes
lecture-table        the decks, with their parts, minutes and slides
panels NAME 1 3      panels of a drawing, the first being 1, in a size to be read from afar
printed              what Python code prints, without the code; with `:markdown:` as Markdown
play (a role)        {play}`text <run=pin_tile&eta=2>`, the playground in a state
computed (a role)    the value of an expression, in the names of the worked examples so far
"""

import re
from pathlib import Path

import worked_examples
from deck_source import DECKS, deck_of, read_deck
from docutils import nodes
from docutils.parsers.rst import directives
from drawings import drawings
from generated import directive, read_again, table
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.osutil import relative_uri


def raw(text):
    """Return a node of HTML."""
    return nodes.raw("", text, format="html")


class Minutes(SphinxDirective):
    """How long a part takes."""

    required_arguments = 1

    def run(self):
        """Return a paragraph that says so."""
        count = directives.positive_int(self.arguments[0])
        return [nodes.paragraph("", f"{count} minutes", classes=["minutes"])]


class Box(SphinxDirective):
    """Content in a box of one class."""

    has_content = True

    def run(self):
        """Return the box."""
        self.assert_has_content()
        return [nodes.container("", *self.parse_content_to_nodes(), classes=[self.name])]


class Folded(SphinxDirective):
    """Content that is shown when it is asked for, under a summary."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    summary, kind, inside = "Answer", "answer", "div"

    def run(self):
        """Return the summary and the folded content."""
        self.assert_has_content()
        words = self.arguments[0] if self.arguments else self.summary
        shown, messages = self.parse_inline(words)
        summary = nodes.inline("", "", *shown)
        begin = raw(f'<details class="{self.kind}-fold"><summary>')
        middle = raw(f'</summary><{self.inside} class="inside {self.kind}">')
        content = [middle, *self.parse_content_to_nodes(), raw(f"</{self.inside}></details>")]
        inner = nodes.container("", begin, summary, *content, classes=[f"{self.kind}-box"])
        return [inner, *messages]


class Notes(Folded):
    """What the speaker has beside the slide."""

    # reveal.js shows each <aside class="notes"> in the speaker's window
    summary, kind, inside = "Notes for the speaker", "notes", "aside"


class Predict(SphinxDirective):
    """A moment at which the class does something: its first paragraph is the task."""

    has_content = True
    option_spec = {"minutes": directives.positive_int}

    def run(self):
        """Return the task in its box."""
        self.assert_has_content()
        minutes = self.options.get("minutes", 1)
        unit = "minute" if minutes == 1 else "minutes"
        badge = nodes.paragraph("", f"Your turn, {minutes} {unit}", classes=["badge"])
        task, *rest = self.parse_content_to_nodes()
        task["classes"].append("task")
        return [nodes.container("", badge, task, *rest, classes=["predict"])]


class Question(Folded):
    """A question with its answer folded."""

    required_arguments, optional_arguments = 1, 0

    def run(self):
        """Return the question and the answer."""
        (box, *messages) = super().run()
        asked, summary = box.children[1], nodes.inline("", "Answer")
        box.children[1] = summary
        summary.parent = box
        question = nodes.paragraph("", "", *asked.children, classes=["question-text"])
        return [question, box, *messages]


class Columns(SphinxDirective):
    """Blocks side by side."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self):
        """Return the blocks, in a grid of the shares that are asked for."""
        blocks, first = [], 0
        for at, line in [*enumerate(self.content), (len(self.content), "+++")]:
            if line.strip() == "+++":
                blocks.append((first, self.content[first:at]))
                first = at + 1
        shares = (self.arguments[0] if self.arguments else "1 " * len(blocks)).split()
        if len(shares) != len(blocks):
            raise self.error(f"columns: {len(shares)} shares for {len(blocks)} blocks")
        made = [raw(f'<div class="columns" style="--shares: {" ".join(map(fraction, shares))}">')]
        for at, lines in blocks:
            block = nodes.container(classes=["column"])
            self.state.nested_parse(lines, self.content_offset + at, block)
            made.append(block)
        return [*made, raw("</div>")]


def fraction(share):
    """Return a column's share as CSS has it: it may be narrower than what is in it."""
    return f"minmax(0, {float(share):g}fr)"


class Agenda(SphinxDirective):
    """The parts of this deck, each a link with its minutes."""

    def run(self):
        """Return the list."""
        text = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
        deck = deck_of(self.env.docname, text)
        items = "".join(
            f'<li style="--minutes: {part.minutes}"><a href="#{nodes.make_id(part.title)}">'
            f"{part.title}</a> <span>{part.minutes} min</span></li>"
            for part in deck.parts
        )
        return [raw(f'<ol class="agenda">{items}</ol>')]


def lecture_table():
    """Return a table of the parts, minutes and slides of each deck, under the deck's title."""
    made = []
    for name in DECKS:
        deck = read_deck(name)
        rows = [(part.title, part.minutes, len(part.slides)) for part in deck.parts]
        rows.append(
            ("**in all**", f"**{deck.minutes}**", f"**{len(deck.slides)}, the title with them**")
        )
        made.append(f"**{deck.cover.title}**\n\n")
        made.append(table(("part", "minutes", "slides"), rows, (6, 1, 2)))
    return "\n".join(made)


class Panels(SphinxDirective):
    """Some panels of a drawing of docs/_drawings, side by side or one below the other."""

    required_arguments = 1
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = {"below": directives.flag, "height": directives.unchanged}

    def run(self):
        """Return their SVG, each as wide as its share."""
        name, chosen = self.arguments[0], " ".join(self.arguments[1:]).split()
        known = drawings()
        if name not in known:
            raise self.error(f"panels: there is no drawing {name!r}, only {', '.join(known)}")
        panels = known[name]().panels
        wanted = [int(number) for number in chosen] or range(1, len(panels) + 1)
        if not all(1 <= number <= len(panels) for number in wanted):
            raise self.error(f"panels: {name} has {len(panels)} panels")
        serial = self.env.new_serialno("slide panels")
        made = [
            f'<div style="--width: {panels[number - 1].width}">'
            f"{panels[number - 1].markup(f'slide-{name}-{serial}-{number}')}</div>"
            for number in wanted
        ]
        below, height = " below" if "below" in self.options else "", ""
        if "height" in self.options:
            height = f' style="--height: {float(self.options["height"]):g}em"'
        return [raw(f'<div class="panels{below}"{height}>{"".join(made)}</div>')]


class Printed(SphinxDirective):
    """What code prints. It shares its names with the page's worked examples."""

    has_content = True
    option_spec = {"markdown": directives.flag}

    def run(self):
        """Run the code; return what it printed, or nothing."""
        code = "\n".join(self.content)
        names = self.env.temp_data.setdefault("worked_examples", {"__name__": "__main__"})
        read_again(self.env)
        try:
            printed = worked_examples.run(code, names, self.env.docname)
        except RuntimeError as error:
            raise self.error(str(error)) from error
        if "markdown" in self.options:
            made = self.parse_text_to_nodes(printed)
        else:
            made = [nodes.literal_block(printed, printed.rstrip("\n"), language="text")]
        return [nodes.container("", *made, classes=["printed"])] if printed else []


class Play(SphinxRole):
    """A link to the playground, which opens in a state: `name=value`, joined by `&`."""

    def run(self):
        """Return the link."""
        found = re.fullmatch(r"(.+?)\s*<(\w+=[^<>]*)>", self.text, re.S)
        if found is None:
            words = f"play: expected text <name=value&..>, got {self.text!r}"
            return [], [self.inliner.reporter.error(words, line=self.lineno)]
        here = self.env.app.builder.get_target_uri(self.env.docname)
        uri = relative_uri(here, self.env.app.builder.get_target_uri("playground"))
        return [nodes.reference("", found[1], refuri=f"{uri}#{found[2]}")], []


class Computed(SphinxRole):
    """The value of an expression, in the names of the page's worked examples so far."""

    def run(self):
        """Return it as text; what cannot be computed is an error of the build."""
        names = self.env.temp_data.get("worked_examples", {})
        try:
            value = eval(compile(self.text, "<computed>", "eval"), names)
        except Exception as error:
            words = f"computed: {self.text!r}: {type(error).__name__}: {error}"
            return [], [self.inliner.reporter.error(words, line=self.lineno)]
        return [nodes.inline("", str(value), classes=["computed"])], []


def setup(app):
    """Register the directives and the role."""
    for name, made in {
        "minutes": Minutes,
        "notes": Notes,
        "predict": Predict,
        "reveal": Folded,
        "question": Question,
        "columns": Columns,
        "live": Box,
        "aside": Box,
        "lead": Box,
        "panels": Panels,
        "printed": Printed,
        "agenda": Agenda,
        "lecture-table": directive(lecture_table),
    }.items():
        app.add_directive(name, made)
    app.add_role("computed", Computed())
    app.add_role("play", Play())
