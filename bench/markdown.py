"""Tables and numbers of every report."""

import statistics


def table(titles, rows, left=1):
    """Return the lines of a Markdown table.

    Parameters
    ----------
    titles : sequence of str
    rows : iterable of sequences
    left : int
        So many columns hold words; the others hold numbers and stand on the right.
    """
    return [*head(titles, left), *map(line, rows)]


def aligned(titles, rows, left):
    """Return the lines of a Markdown table whose columns stand below each other."""
    cells = [list(map(str, titles)), *(list(map(str, row)) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    padded = [
        [text.ljust(w) if at < left else text.rjust(w) for at, (text, w) in enumerate(pairs)]
        for pairs in (list(zip(row, widths, strict=True)) for row in cells)
    ]
    rule = ["-" * w if at < left else "-" * (w - 1) + ":" for at, w in enumerate(widths)]
    return [line(row) for row in (padded[0], rule, *padded[1:])]


def head(titles, left=1):
    """Return the first two lines of a table, where rows come one by one."""
    return [line(titles), line(["---"] * left + ["---:"] * (len(titles) - left))]


def line(cells):
    """Return a row of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def threads_title(count):
    """Return how a title names a number of threads."""
    return f"{count} thread{'s' if count > 1 else ''}"


def milliseconds(times):
    """Return the median of `Times`, marked where half of the rounds spread over a quarter of it."""
    mark = "~" if times.iqr > times.median / 4 else ""
    return mark + significant(1e3 * times.median)


def significant(x, digits=3):
    """Return x with about that many digits and without an exponent."""
    whole = len(str(int(abs(x))))
    if abs(x) >= 1:
        return f"{x:,.{max(0, digits - whole)}f}"
    return f"{float(f'{x:.{digits}g}'):.10f}".rstrip("0").rstrip(".") or "0"


def ratio(x):
    """Return how many times faster, or larger."""
    return f"{significant(x, 2)}x"


def median_and_range(values, digits=1):
    """Return the median and the range of some values."""
    return f"{statistics.median(values):.{digits}f} ({span(values, digits)})"


def span(values, digits=1, sign=""):
    """Return the smallest and the largest of some values."""
    return f"{min(values):{sign}.{digits}f} to {max(values):{sign}.{digits}f}"
