"""A chart of a table: its numbers as bars, above the table itself.

```{charted-table} What the bars show
:bars: ms, 1 thread | ms, 2 threads

| sampler | ms, 1 thread | ms, 2 threads |
| --- | ---: | ---: |
| `frontier` | 2.92 | 1.81 |
```

    :bars:   heads of columns that become bars, side by side in each row, between "|"
    :label:  heads of columns whose text names a row (default: the first column)
    :unit:   what stands behind each number
    :only:   a regular expression that the name of a row must fit to be drawn
    :most:   the number at which bars are cut off, with a mark
    :one:    a flag: draw a line at 1, where two are level
    :fold:   a flag: the table is folded away

The numbers are read from the table, so they stand in one place.
"""

import re

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

NUMBER = re.compile(r"[~*]*(-?\d[\d,]*(?:\.\d+)?)(?:x|%)?[*!]*")


def heads(text):
    """Return what stands between the bars of an option."""
    return [part.strip() for part in directives.unchanged_required(text).split("|")]


class ChartedTable(SphinxDirective):
    """See the module."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {
        "bars": heads,
        "label": heads,
        "unit": directives.unchanged,
        "only": directives.unchanged,
        "most": float,
        "one": directives.flag,
        "fold": directives.flag,
    }

    def run(self):
        parsed = self.parse_content_to_nodes()
        tables = [table for node in parsed for table in node.findall(nodes.table)]
        if len(tables) != 1 or "bars" not in self.options:
            raise self.error("charted-table: needs `:bars:` and one table as its content")
        try:
            rows = rows_of(tables[0], self.options)
        except ValueError as error:
            raise self.error(f"charted-table: {error}") from error
        chart = nodes.raw("", bars(self.arguments[0], rows, self.options), format="html")
        if "fold" not in self.options:
            return [chart, *parsed]
        summary = "<details class='folded'><summary>The table</summary>"
        ends = (nodes.raw("", text, format="html") for text in (summary, "</details>"))
        return [chart, next(ends), *parsed, next(ends)]


def rows_of(table, options):
    """Return (name, [(head, number, text), ..]) for each row that is drawn.

    Raises
    ------
    ValueError
        If the table has no such column, or there is nothing to draw.
    """
    head, *body = [
        [entry.astext().strip() for entry in row.findall(nodes.entry)]
        for row in table.findall(nodes.row)
    ]
    for name in [*options["bars"], *options.get("label", ())]:
        if name not in head:
            raise ValueError(f"no column {name!r}; the table has {', '.join(head)}")
    labels = [head.index(name) for name in options.get("label", head[:1])]
    columns = [head.index(name) for name in options["bars"]]
    rows = []
    for cells in body:
        name = ", ".join(cells[i] for i in labels)
        if not re.search(options.get("only", ""), name):
            continue
        numbers = [(head[i], number(cells[i]), cells[i]) for i in columns]
        drawn = [bar for bar in numbers if bar[1] is not None]
        if drawn:
            rows.append((name, drawn))
    if not rows:
        raise ValueError("no row with a number")
    return rows


def number(text):
    """Return the number that a cell begins with, or None."""
    found = NUMBER.match(text)
    return float(found[1].replace(",", "")) if found else None


def bars(title, rows, options):
    """Return the chart as HTML; what it shows is in the table, so it is hidden from readers."""
    top = max(value for _, numbers in rows for _, value, _ in numbers)
    top = min(top, options.get("most", top))
    names = options["bars"]
    unit = f" {options['unit']}" if options.get("unit") else ""
    parts = [f"<figure class='bars'><figcaption>{escaped(title)}</figcaption>"]
    if len(names) > 1:
        keys = (f"<li class='b{i}'>{escaped(name)}</li>" for i, name in enumerate(names))
        parts.append(f"<ul class='bar-key' aria-hidden='true'>{''.join(keys)}</ul>")
    line = f" style='--one: {1 / top:.4f}'" if "one" in options else ""
    parts.append(f"<div class='bar-rows{' with-one' if line else ''}' aria-hidden='true'{line}>")
    for name, numbers in rows:
        drawn = "".join(
            f"<span class='bar b{names.index(head)}{' cut' if value > top else ''}' "
            f"style='--share: {min(value, top) / top:.4f}'><i></i>"
            f"<b>{escaped(text)}{escaped(unit)}</b></span>"
            for head, value, text in numbers
        )
        parts.append(f"<span class='bar-name'>{escaped(name)}</span><span>{drawn}</span>")
    return "".join([*parts, "</div></figure>"])


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def setup(app):
    app.add_directive("charted-table", ChartedTable)
