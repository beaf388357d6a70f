"""Files of comma-separated values with a line of titles."""

import csv
import io

import numpy as np

from refimpl._support.untrusted_files import reading


def read_table(path):
    """Return the titles and the lines of a file of comma-separated values."""
    titles, *rows = table_lines(path)
    return titles, rows


def table_lines(path):
    """Yield the titles and then the lines of a file of comma-separated values, all as long."""
    with reading(path, "comma-separated values") as file:
        lines = csv.reader(io.TextIOWrapper(file, "utf-8-sig", newline=""))
        titles = next(lines, None)
        if titles is None:
            raise ValueError("it is empty")
        if len(set(titles)) < len(titles):
            raise ValueError("its titles must be distinct")
        yield titles
        for number, row in enumerate(lines, start=2):
            if len(row) != len(titles):
                raise ValueError(f"line {number} must have {len(titles)} values, got {len(row)}")
            yield row


def numbers_of_column(path, title, values):
    """Return a column of a table of nodes as numbers."""
    try:
        return np.array(values, np.float64)
    except ValueError:
        raise ValueError(f"{path}: the column {title!r} must hold numbers") from None
