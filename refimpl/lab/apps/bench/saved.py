"""A run as it is saved: JSON with all that the report is made of, and CSV with a line a cell."""

import codecs
import csv
import json
import math
from pathlib import Path
from typing import NamedTuple, get_args

from refimpl._files import replacing
from refimpl.lab.apps.bench.measuring import Cell, Row
from refimpl.lab.apps.bench.work import Part
from refimpl.lab.apps.bench.yardsticks import Limit
from refimpl.lab.apps.conformance.compare import short
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.report import write_json

FORMAT = "minibatch-gnn-bench/1"
NUMBERS = "median", "least", "iqr"


class Run(NamedTuple):
    """What a run measured.

    Attributes
    ----------
    impls : list of str
        In the order of the columns.
    threads : list of int
    header : list of str
        What it ran on, as lines of Markdown.
    rows : list of Row
    limits : list of Limit
    notes : list of str
        Why some limits are missing.
    verdict : list of str
        How quiet the machine was, as lines.
    """

    impls: list[str]
    threads: list[int]
    header: list[str]
    rows: list[Row]
    limits: list[Limit]
    notes: list[str]
    verdict: list[str]


def write(run, path):
    """Write a Run as JSON."""
    content = {"format": FORMAT, **run._asdict(), "limits": [one._asdict() for one in run.limits]}
    content["rows"] = [
        {
            **row._asdict(),
            "work": [part._asdict() for part in row.work],
            "cells": [cell._asdict() for cell in row.cells],
        }
        for row in run.rows
    ]
    write_json(Path(path), content)


def read(path):
    """Return the Run that `write` wrote.

    Raises
    ------
    UserError
        If it cannot be read, or is no saved run; it says which file.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is no JSON: {error}") from error
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise UserError(f"{path} is no saved run: want the format {FORMAT!r} (--json writes it)")
    try:
        rows = [_row(**row) for row in content.pop("rows")]
        limits = [_limit(**one) for one in content.pop("limits")]
        made = Run(rows=rows, limits=limits, **content)
        _check(made.threads, list[int])
        for name in ("impls", "header", "notes", "verdict"):
            _check(getattr(made, name), list[str])
        return made
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise UserError(f"{path} is damaged: {error}") from error


def _check(value, kind):
    """Refuse what is not of a type, or a list of one."""
    wanted = next(iter(get_args(kind)), None)
    items = value if wanted else [value]
    right = isinstance(items, list) and all(
        isinstance(item, wanted or kind) and not isinstance(item, bool) for item in items
    )
    if not right:
        raise ValueError(f"want {kind if wanted else kind.__name__}, got {short(value)}")


def _row(work, cells, **about):
    made = [Cell(**cell) for cell in cells]
    for cell in made:
        for name in ("impl", "verdict", "said"):
            _check(getattr(cell, name), str)
        _check(cell.threads, int)
        _check(cell.rounds, int)
        numbers = [getattr(cell, name) for name in NUMBERS]
        if cell.verdict == "timed" and not (
            all(map(_is_number, numbers)) and (cell.median or 0) > 0
        ):
            raise ValueError(f"times of {about.get('kernel')} are {numbers}")
    parts = [Part(**part) for part in work]
    for part in parts:
        _check(part.dtype, str)
        if not all(map(_is_number, part[:-1])):
            raise ValueError(f"the work of {about.get('kernel')} is {short(part)}")
    row = Row(work=parts, cells=made, **about)
    for name in ("kernel", "input", "size"):
        _check(getattr(row, name), str)
    return row


def _limit(**about):
    limit = Limit(**about)
    for name in ("name", "unit", "shape"):
        _check(getattr(limit, name), str)
    _check(limit.threads, int)
    _check(limit.footprint, int)
    if not (_is_number(limit.rate) and limit.rate > 0):
        raise ValueError(f"the rate of {limit.name} is {short(limit.rate)}")
    return limit


def _is_number(x):
    right = isinstance(x, int | float) and not isinstance(x, bool)
    return right and math.isfinite(x) and x >= 0


def write_csv(run, path):
    """Write a line a Cell, every digit kept."""
    with replacing(Path(path)) as file:
        writer = csv.writer(codecs.getwriter("utf-8")(file))
        writer.writerow(["kernel", "input", "size", *Cell._fields])
        for row in run.rows:
            writer.writerows([row.kernel, row.input, row.size, *cell] for cell in row.cells)
