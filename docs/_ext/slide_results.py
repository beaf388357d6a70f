"""Numbers and figures of docs/results on slides: nothing measured is typed.

result ID; CELL; ..; COLUMN      (a role) a cell of a figure's table: of the row that has
                                    these cells, under this column's title; `layers=2` is a
                                    cell of one column, `COLUMN > NAME` what stands behind
                                    "NAME: " in brackets, `COLUMN #2` the second of the name
result-lead ..                      (a role) the same, without what stands behind it in brackets
outcome CLAIM                       (a role) what became of a claim: holds, holds weaker, ..
claim CLAIM                         what a paper says, what was found here, and the outcome;
                                    content takes the place of what was found
outcomes CLAIM ..                   a table of claims with their outcomes
bars                                bars, a line each: `label = ID; CELL; ..; COLUMN`
result-figure ID N                  panel N of a stored figure, with its legend
"""

from html import escape

from docutils import nodes
from docutils.parsers.rst import directives
from gallery import DOCS, RESULTS, inline, known, result_of, title_of, verdict_of
from result_cells import cell_of, lead, number_in, shares_of
from sphinx.util.docutils import SphinxDirective, SphinxRole
from stored_figures import panel_of
from tables import table_of

OUTCOMES = {
    "holds": "holds",
    "holds weaker": "weaker",
    "does not hold here": "not",
    "cannot be tested here": "untested",
}


def badge(outcome):
    """Return an outcome as a node of its own colour."""
    return nodes.inline("", outcome, classes=["outcome", OUTCOMES[outcome]])


class Result(SphinxRole):
    """A cell of a stored table."""

    short = False

    def run(self):
        """Return its text."""
        note(self.env)
        try:
            text = cell_of(self.text)
        except ValueError as error:
            return [], [self.inliner.reporter.error(f"result: {error}", line=self.lineno)]
        return [nodes.inline("", lead(text) if self.short else text, classes=["result"])], []


class ResultLead(Result):
    """The number of a cell alone."""

    short = True


class Outcome(SphinxRole):
    """What became of a claim."""

    def run(self):
        """Return it as a badge."""
        note(self.env)
        try:
            _, found = verdict_of(self.text)
        except KeyError:
            message = f"outcome: there is no claim {self.text!r}"
            return [], [self.inliner.reporter.error(message, line=self.lineno)]
        return [badge(found["outcome"])], []


def note(env):
    """Note that a page is made again when the results are others."""
    for path in (DOCS / "results.toml", *sorted(RESULTS.glob("*.json"))):
        env.note_dependency(str(path))


class Judged(SphinxDirective):
    """A directive about claims."""

    def judged(self, claim):
        """Return the figure that judges a claim, and the verdict."""
        note(self.env)
        try:
            return verdict_of(claim)
        except KeyError:
            raise self.error(f"{self.name}: there is no claim {claim!r}") from None

    def figure_link(self, id):
        """Return a link to a figure in the gallery."""
        text = f"[{title_of(id)}](/figures.md#figure-{id.lower()})"
        return self.parse_text_to_nodes(text)[0].children[0]


class Claim(Judged):
    """A claim, what was found, and the outcome."""

    required_arguments = 1
    has_content = True

    def run(self):
        """Return them one below the other."""
        id, found = self.judged(self.arguments[0])
        said = nodes.paragraph("", "", nodes.strong(text="Paper"), classes=["said"])
        said += [*inline(f" {upper(found['says'])} "), nodes.inline("", f"({found['where']})")]
        here = nodes.container(classes=["ours"])
        here += nodes.paragraph("", "", nodes.strong(text="Here"))
        here += self.parse_content_to_nodes() or [nodes.paragraph("", "", *inline(found["ours"]))]
        last = nodes.paragraph("", "", nodes.strong(text="So it"), nodes.Text(" "))
        last += [badge(found["outcome"]), nodes.Text(" ")]
        return [nodes.container("", said, here, last, classes=["claim"])]


def upper(words):
    """Return a sentence with a capital."""
    return words[0].upper() + words[1:]


class Outcomes(Judged):
    """Claims with their outcomes."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        """Return the table."""
        rows = []
        for claim in self.arguments[0].split():
            _, found = self.judged(claim)
            rows.append([nodes.inline("", "", *inline(found["says"])), badge(found["outcome"])])
        table = table_of(("the paper says", "here it"), (5, 2), rows)
        table["classes"].append("outcomes")
        return [table]


class Bars(SphinxDirective):
    """Bars of cells of stored tables."""

    has_content = True
    option_spec = {"log": directives.flag, "strong": directives.unchanged}

    def run(self):
        """Return a table in which each number has its bar."""
        note(self.env)
        lines = [line.partition("=") for line in self.content if line.strip()]
        try:
            found = [(name.strip(), lead(cell_of(address))) for name, _, address in lines]
        except ValueError as error:
            raise self.error(f"bars: {error}") from error
        shares = shares_of([number_in(text) for _, text in found], log="log" in self.options)
        rows = "".join(
            f"<tr{' class=strong' if name == self.options.get('strong') else ''}>"
            f'<th scope="row">{escape(name)}</th>'
            f'<td><span class="bar" style="--share: {share:.4f}"></span> {escape(text)}</td></tr>'
            for (name, text), share in zip(found, shares, strict=True)
        )
        return [nodes.raw("", f'<table class="bars">{rows}</table>', format="html")]


class ResultFigure(SphinxDirective):
    """A panel of a stored figure."""

    required_arguments = 2
    option_spec = {"title": directives.flag}

    def run(self):
        """Return its SVG, and its legend in words."""
        id, number = self.arguments
        path = RESULTS / f"{id}.svg"
        self.env.note_dependency(str(path))
        note(self.env)
        about = {one["id"]: one for one in known()["figure"]}
        if id not in about:
            raise self.error(f"result-figure: there is no figure {id!r}")
        try:
            svg, legend = panel_of(path, int(number), self.env.new_serialno("stored figure"))
        except ValueError as error:
            raise self.error(f"result-figure: {id}: {error}") from error
        alt = escape(
            f"{result_of(id)['title']}. {about[id]['sees']}".replace("\n", " "), quote=True
        )
        svg = svg.replace("<svg ", f'<svg role="img" aria-label="{alt}" ', 1)
        return [nodes.raw("", f'<div class="stored-figure">{legend}{svg}</div>', format="html")]


def setup(app):
    """Register the directives and roles."""
    app.add_role("result", Result())
    app.add_role("result-lead", ResultLead())
    app.add_role("outcome", Outcome())
    app.add_directive("claim", Claim)
    app.add_directive("outcomes", Outcomes)
    app.add_directive("bars", Bars)
    app.add_directive("result-figure", ResultFigure)
