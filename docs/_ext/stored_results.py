"""What docs/results holds: figures, verdicts, cells, times. Needs no Sphinx; tests read it too."""

import json
import re
from functools import cache
from math import log10

from paper_lines import DOCS, tomllib

from bench.figures import experiment
from bench.markdown import ratio, significant
from bench.report import rows_of

RESULTS = DOCS / "results"
REPORT = RESULTS / "reports" / "kernels.json"
PACKAGES = "refimpl", "fastimpl"
NUMBER = re.compile(r"[+-]?[\d,]+(?:\.\d+)?")


@cache
def known():
    """Return docs/results.toml."""
    return tomllib.loads((DOCS / "results.toml").read_text(encoding="utf-8"))


@cache
def result_of(id):
    """Return what `python -m bench figure` wrote about a figure."""
    return json.loads((RESULTS / f"{id}.json").read_text(encoding="utf-8"))


@cache
def run():
    """Return the stored run of the kernels."""
    return json.loads(REPORT.read_text(encoding="utf-8"))


def verdict_of(claim):
    """Return the figure that judges a claim, and its verdict."""
    for id in experiment.ABOUT:
        for verdict in result_of(id)["verdicts"]:
            if verdict["claim"] == claim:
                return id, verdict
    raise ValueError(f"there is no claim {claim!r}")


def result(address):
    """Return the text of a cell, by "ID; cell; ..; column"; raise ValueError if it is not one."""
    id, *wanted, column = (part.strip() for part in address.split(";"))
    if not (RESULTS / f"{id}.json").is_file():
        raise ValueError(f"{address!r}: docs/results has no {id!r}")
    titles, (column, _, name) = result_of(id)["titles"], column.partition(" > ")
    if titles.count(column) != 1:
        raise ValueError(f"{address!r} names no single column of {id}: {titles}")
    rows = [row for row in result_of(id)["table"] if all(has(row, titles, one) for one in wanted)]
    if len(rows) != 1:
        raise ValueError(f"{address!r} names {len(rows)} rows of {id}, not one")
    cell = rows[0][titles.index(column)]
    if not name:
        return cell
    found = re.search(rf"{re.escape(name)}: ([^;)]+)", cell)
    if found is None:
        raise ValueError(f"{address!r}: there is no {name!r} in {cell!r}")
    return found[1]


def result_lead(address):
    """Return the number of a cell, without the words in brackets after it."""
    return result(address).partition(" (")[0]


def has(row, titles, cell):
    """Return whether a row has a cell, "column=text" in that column, other text in any."""
    column, mark, text = cell.partition("=")
    return row[titles.index(column)] == text if mark and column in titles else cell in row


def number_in(text):
    """Return the first number of a cell."""
    return float(NUMBER.search(text)[0].replace(",", ""))


def shares_of(numbers, *, log=False):
    """Return how long each bar is, the longest being 1; by powers of ten with `log`."""
    if not log:
        return [number / max(numbers) for number in numbers]
    least = log10(min(numbers)) - 0.3
    return [(log10(number) - least) / (log10(max(numbers)) - least) for number in numbers]


def measured(path):
    """Return the milliseconds or the speed-up of "GROUP / NAME", or raise ValueError."""
    group, _, name = (part.strip() for part in path.partition("/"))
    rows = [row for row in rows_of(run()) if row.group == group]
    if rows and name == "speed-up":
        return ratio(rows[0].speed_up(*reversed(PACKAGES)))
    if not rows or name not in rows[0].times:
        raise ValueError(f"{REPORT.name} has no {path!r}")
    return significant(1e3 * rows[0].times[name].median)
