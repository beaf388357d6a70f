"""The table of what each format of data sets may contain, made from the code.

```{data-formats}
| `from_pyg` | a `Data` | `edge_index` | .. |
```

The rows in the directive, of sources that are no files, come after those of the formats.
"""

from generated import directive, table

from refimpl.lab.data.formats import FORMATS, Contents

TITLES = ("format", "recognised by", *Contents._fields)
WIDTHS = (3, 3, 5, 5, 4, 4, 4)


def data_formats(content):
    """Return the table, which ends in the rows that are `content`."""
    lines = [(form.name, form.sign, *form.contents) for form in FORMATS]
    text = table(TITLES, lines, WIDTHS).rstrip("\n")
    rows = [row for row in content.splitlines() if row]
    wrong = next((row for row in rows if len(cells(row)) != len(TITLES)), None)
    if wrong is not None:
        raise ValueError(f"a row must have {len(TITLES)} cells: {wrong!r:.80}")
    body, fence = text.rsplit("\n", 1)
    return "\n".join([body, *rows, fence, ""])


def cells(row):
    """Return the cells of a row of a table in Markdown."""
    return row.strip().strip("|").split("|")


def setup(app):
    app.add_directive("data-formats", directive(data_formats))
    return {"parallel_read_safe": True}
