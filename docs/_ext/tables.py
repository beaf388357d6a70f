"""Tables of nodes."""

from docutils import nodes


def table_of(titles, widths, rows, classes=()):
    """Return a table: `rows` of cells under the `titles`. A cell is a node, or a list of some."""
    group = nodes.tgroup(cols=len(titles))
    group += [nodes.colspec(colwidth=width) for width in widths]
    head, body = nodes.thead(), nodes.tbody()
    head += row([nodes.Text(title) for title in titles])
    body += [row(cells) for cells in rows]
    group += [head, body]
    return nodes.table("", group, classes=list(classes))


def row(cells):
    """Return a row of a table, with a paragraph for each cell."""
    line = nodes.row()
    for cell in cells:
        paragraph = nodes.paragraph()
        paragraph += cell
        line += nodes.entry("", paragraph)
    return line
