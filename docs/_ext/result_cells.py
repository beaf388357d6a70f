"""Cells of docs/results by their address, as the slides name them. Nothing here needs Sphinx."""

import json
import re
from math import log10
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results"
NUMBER = re.compile(r"[+-]?[\d,]+(?:\.\d+)?")


def cell_of(address):
    """Return the text of a cell, by "ID; cell; ..; column"; raise ValueError if it is not one."""
    id, *wanted, column = (part.strip() for part in address.split(";"))
    if not (RESULTS / f"{id}.json").is_file():
        raise ValueError(f"{address!r}: docs/results has no {id!r}")
    result = json.loads((RESULTS / f"{id}.json").read_text(encoding="utf-8"))
    titles, (column, _, name) = result["titles"], column.partition(" > ")
    column, _, count = column.partition(" #")
    columns = [at for at, title in enumerate(titles) if title == column]
    if len(columns) != 1 and not (count.isdigit() and 1 <= int(count) <= len(columns)):
        raise ValueError(f"{address!r} names no single column of {id}: {titles}")
    rows = [row for row in result["table"] if all(has(row, titles, cell) for cell in wanted)]
    if len(rows) != 1:
        raise ValueError(f"{address!r} names {len(rows)} rows of {id}, not one")
    cell = rows[0][columns[int(count or 1) - 1]]
    if not name:
        return cell
    found = re.search(rf"{re.escape(name)}: ([^;)]+)", cell)
    if found is None:
        raise ValueError(f"{address!r}: there is no {name!r} in {cell!r}")
    return found[1]


def has(row, titles, cell):
    """Return whether a row has a cell, "column=text" in that column, other text in any."""
    column, mark, text = cell.partition("=")
    return row[titles.index(column)] == text if mark and column in titles else cell in row


def lead(text):
    """Return a cell without what stands in brackets behind its number."""
    return text.partition(" (")[0]


def number_in(text):
    """Return the first number of a cell."""
    return float(NUMBER.search(text)[0].replace(",", ""))


def shares_of(numbers, *, log=False):
    """Return how long each bar is, the longest being 1; by powers of ten with `log`."""
    if not log:
        return [number / max(numbers) for number in numbers]
    least = log10(min(numbers)) - 0.3
    return [(log10(number) - least) / (log10(max(numbers)) - least) for number in numbers]
