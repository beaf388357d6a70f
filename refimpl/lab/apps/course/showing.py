"""A question, and an answer beside the right one, as text for a terminal."""

import textwrap

from refimpl.lab.apps.conformance.encode import number
from refimpl.lab.apps.course.differences import MISSING, is_array, is_list, items, shape

WIDTH = 96
EDGES, NUMBERS, ROWS = 40, 24, 12  # of a graph, a row and a matrix that are shown whole


def wrapped(text, indent="", then=None):
    """Return the lines of a paragraph."""
    then = indent if then is None else then
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=then) or [indent]


def question(args, indent="  "):
    """Return lines that show arguments by name."""
    width = max([0, *map(len, args)])
    lines = []
    for name, value in args.items():
        first, *rest = described(value)
        lines.append(f"{indent}{name:{width}}  {first}")
        lines += [f"{indent}{'':{width}}  {line}" for line in rest]
    return lines


def described(value):
    """Return the lines that show a JSON value."""
    if is_array(value):
        return _array(value)
    if is_list(value):
        if all(not isinstance(part, dict | list) for part in value):
            shown = value[:NUMBERS]
            more = f", .. ({len(value)} in all)" if len(value) > NUMBERS else ""
            return ["[" + ", ".join(plain(x) for x in shown) + more + "]"]
        lines = [f"a list of {len(value)}"]
        for part in value:
            first, *rest = described(part)
            lines += [f"- {first}", *(f"  {line}" for line in rest)]
        return lines
    if not isinstance(value, dict):
        return [plain(value)]
    if "graph" in value:
        return _graph(value["graph"])
    if value.get("type") == "Block":
        return _block(value["fields"])
    parts = question(value["fields"], "  ")
    return [value.get("type", "named values"), *parts]


def plain(value):
    """Return a number, a text or nothing as Python would write it, short."""
    value = number(value)
    if isinstance(value, float):
        return f"{value:.6g}" if float(f"{value:.6g}") == value or abs(value) < 1e6 else repr(value)
    return repr(value) if isinstance(value, str) else str(value)


def _array(value):
    data, dims = value["data"], value["shape"]
    kind = f"({value['dtype']})"
    if len(dims) == 2 and 0 < dims[0] <= ROWS and 0 < dims[1] <= NUMBERS:
        cells = [[plain(x) for x in row] for row in items(value)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        rows = ["  ".join(f"{x:>{w}}" for x, w in zip(row, widths, strict=True)) for row in cells]
        return [f"{row}  {kind}" if i == 0 else row for i, row in enumerate(rows)]
    if not data:
        return [f"empty, shape {tuple(dims)} {kind}"]
    shown = "  ".join(plain(x) for x in data[:NUMBERS])
    more = f"  .. {len(data)} in all" if len(data) > NUMBERS else ""
    where = f", shape {tuple(dims)}" if len(dims) > 1 else ""
    return textwrap.wrap(f"{shown}{more}  {kind[:-1]}{where})", WIDTH - 20)


def _ids(value):
    return value["data"] if is_array(value) else value


def _graph(graph):
    indptr, indices = (_ids(graph[part]) for part in ("indptr", "indices"))
    rows = [indices[a:b] for a, b in zip(indptr, indptr[1:], strict=False)]
    edges = [(u, v) for u, row in enumerate(rows) for v in row]
    both = set(edges) == {(v, u) for u, v in edges}
    drawn = [f"{u}-{v}" for u, v in edges if u <= v] if both else [f"{u}->{v}" for u, v in edges]
    size = f"{len(rows)} node{'s' * (len(rows) != 1)}"
    if not drawn:
        return [f"a graph of {size} without edges"]
    if len(drawn) > EDGES:
        return [f"a graph of {size} and {len(drawn)} edges"]
    alone = [str(v) for v, row in enumerate(rows) if not row and not any(v in r for r in rows)]
    lines = wrapped(f"{size}, edges {' '.join(drawn)}")
    if alone:
        lines.append(f"without neighbours: {' '.join(alone)}")
    if len(rows) <= ROWS:
        lines += wrapped(f"neighbours {_rows(rows)}", then="  ")
    return lines


def _rows(rows):
    return " | ".join(f"{v}: {' '.join(map(str, row)) or '-'}" for v, row in enumerate(rows))


def _block(block):
    start, end, indices = (_ids(block[part]) for part in ("start", "end", "indices"))
    rows = [indices[a:b] for a, b in zip(start, end, strict=True)]
    lines = [f"a block of {len(rows)} rows and {block['n_src']} columns, {len(indices)} entries"]
    if len(indices) <= EDGES:
        lines += wrapped(f"rows {_rows(rows)}", then="  ")
    live = sum(map(len, rows))
    if live < len(indices):
        lines.append(f"{len(indices) - live} of the entries belong to no row")
    if len(indices) <= NUMBERS:
        lines += [f"{name} {' '.join(map(str, _ids(block[name])))}" for name in ("start", "end")]
    return lines


def beside(found, indent="  "):
    """Return the lines that show a Difference: what is wanted, and what came, marked."""
    lines = [f"{indent}{found.at}"]
    want, got = found.want, found.got
    if got is MISSING:
        return [*lines, f"{indent}  want   {described(want)[0]}", f"{indent}  yours  nothing"]
    if not _alike(want, got) or len(shape(want)) != len(shape(got)):
        return [*lines, *_one_above_the_other(want, got, indent)]
    if len(shape(want)) == 2 and shape(want) == shape(got) and found.place:
        return [*lines, *_matrices(want, got, found.place, indent)]
    if len(shape(want)) > 1:
        return [*lines, *_one_above_the_other(want, got, indent)]
    at = found.place[0] if found.place else None
    return [*lines, *_in_line(items(want), items(got), at, indent)]


def _alike(want, got):
    return all(is_array(value) or is_list(value) for value in (want, got))


def _one_above_the_other(want, got, indent):
    lines = []
    if not any(isinstance(value, dict | list) for value in (want, got)):
        want, got = repr(number(want)), repr(number(got))
        return [f"{indent}  want   {want}", f"{indent}  yours  {got}"]
    for name, value in (("want", want), ("yours", got)):
        first, *rest = ["nothing"] if value is MISSING else described(value)
        lines.append(f"{indent}  {name:5}  {first}")
        lines += [f"{indent}         {line}" for line in rest]
    return lines


def _in_line(want, got, at, indent):
    """Return two rows whose numbers stand below each other, and a mark below the difference."""
    if any(isinstance(x, dict | list) for x in (*want, *got)):
        return _one_above_the_other(want, got, indent)
    if at is None:
        pairs = zip(want, got, strict=False)
        at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(want), len(got)))
    rows = _told_apart([[number(x) for x in row] for row in (want, got)], at)
    width = max([1, *(len(x) for row in rows for x in row)])
    fit = max((WIDTH - len(indent) - 16) // (width + 1), 1)
    first = max(0, at - fit // 2) if max(map(len, rows)) > fit else 0
    front = "  .. " if first else "  "
    lines = []
    for name, row in zip(("want", "yours"), rows, strict=True):
        cells = " ".join(f"{x:>{width}}" for x in row[first : first + fit]) if row else "nothing"
        lines.append(f"{indent}  {name:5}{front}{cells}{' ..' if len(row) > first + fit else ''}")
    before = len(f"{indent}  {'':5}{front}") + (width + 1) * (at - first) + width - 1
    return [*lines, f"{' ' * before}^ the first difference"]


def _told_apart(rows, at):
    """Return numbers as text, with as many digits as the two at one place need to look unlike."""
    for digits in (6, 10, 17):
        shown = [
            [f"{x:.{digits}g}" if isinstance(x, float) else str(x) for x in row] for row in rows
        ]
        if at >= min(map(len, rows)) or shown[0][at] != shown[1][at]:
            break
    return shown


def _matrices(want, got, index, indent):
    """Return the rows of two matrices around the first difference."""
    row, column = index
    lines = []
    for name, value in (("want", want), ("yours", got)):
        all_rows = items(value)
        near = range(max(0, row - 2), min(len(all_rows), row + 3))
        cells = [[plain(x) for x in all_rows[i]] for i in near]
        widths = [max(map(len, one)) for one in zip(*cells, strict=True)]
        for i, line in zip(near, cells, strict=True):
            marked = [f">{x}<" if (i, j) == (row, column) else f" {x} " for j, x in enumerate(line)]
            text = " ".join(f"{x:>{w + 2}}" for x, w in zip(marked, widths, strict=True))
            lines.append(f"{indent}  {name if i == near[0] else '':5}  row {i:<3} {text}".rstrip())
    return lines
