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
from gallery import RESULTS, alternative, verdict_of
from generated import directive, plain, read_again, role, table
from result_cells import cell_of, lead, number_in, shares_of
from sphinx.util.docutils import SphinxDirective
from stored_figures import panel_of

OUTCOMES = {
    "holds": "holds",
    "holds weaker": "weaker",
    "does not hold here": "not",
    "cannot be tested here": "untested",
}


def outcome(id):
    """Return what became of a claim, in its own colour."""
    _, found = verdict_of(id)
    return nodes.inline("", found["outcome"], classes=["outcome", OUTCOMES[found["outcome"]]])


def claim(id, content):
    """Return what a paper says, what was found here, and the outcome."""
    _, found = verdict_of(id)
    says = found["says"][0].upper() + found["says"][1:]
    return f"""::::{{container}} claim
:::{{container}} said
**Paper** {plain(says)} ({plain(found["where"])})
:::

:::{{container}} ours
**Here**

{content or plain(found["ours"])}
:::

**Verdict** {{outcome}}`{id}`
::::
"""


def outcomes(claims):
    """Return a table of claims with their outcomes."""
    rows = [(plain(verdict_of(id)[1]["says"]), f"{{outcome}}`{id}`") for id in claims.split()]
    return table(("the paper says", "here"), rows, (5, 2), "outcomes")


class Bars(SphinxDirective):
    """Bars of cells of stored tables."""

    has_content = True
    option_spec = {"log": directives.flag, "strong": directives.unchanged}

    def run(self):
        """Return a table in which each number has its bar."""
        read_again(self.env)
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
        read_again(self.env)
        try:
            alt = escape(alternative(id), quote=True)
            serial = self.env.new_serialno("stored figure")
            svg, legend = panel_of(RESULTS / f"{id}.svg", int(number), serial)
        except (OSError, ValueError) as error:
            raise self.error(f"result-figure: {id}: {error}") from error
        svg = svg.replace("<svg ", f'<svg role="img" aria-label="{alt}" ', 1)
        return [nodes.raw("", f'<div class="stored-figure">{legend}{svg}</div>', format="html")]


def setup(app):
    """Register the directives and roles."""
    app.add_role("result", role(cell_of, "result"))
    app.add_role("result-lead", role(lambda address: lead(cell_of(address)), "result"))
    app.add_role("outcome", role(outcome))
    app.add_directive("claim", directive(claim))
    app.add_directive("outcomes", directive(outcomes))
    app.add_directive("bars", Bars)
    app.add_directive("result-figure", ResultFigure)
