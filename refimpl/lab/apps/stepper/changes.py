"""What a step changed, in words: read aloud by a screen reader, and written under the code."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refimpl.lab.apps.stepper.recipe import Panel

MOST = 4  # changes of a panel named one by one


def changes(panel: Panel, before: Any, after: Any, most: int = MOST) -> str:
    """Return what is new in the state `after` of `panel`, as a sentence; "" if nothing is.

    Parameters
    ----------
    panel : Panel
    before : state or None
        None if the panel had none yet.
    after : state
    most : int
        So many changes are named, and the others counted.

    Returns
    -------
    str
    """
    if before == after:
        return ""
    words = {"graph": _graph, "array": _array, "table": _table, "counters": _counters}
    parts = words[panel.kind](panel, before, after)
    if not parts:
        return f"{panel.title} redrawn."
    more = f", and {len(parts) - most} more" if len(parts) > most else ""
    return f"{panel.title}: {'; '.join(parts[:most])}{more}."


def value_text(value: Any) -> str:
    """Return a value of a cell as the page draws it."""
    if value is None:
        return "·"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def spoken(value: Any) -> str:
    """Return a value of a cell as it is read out."""
    return "empty" if value is None else value_text(value)


def _graph(panel: Panel, before: Any, after: Any) -> list[str]:
    old = before or {"roles": {}, "notes": {}, "edges": []}
    news: dict[str, list[str]] = {}
    for node in panel.fixed["positions"]:
        role = after["roles"].get(node)
        if role != old["roles"].get(node):
            label = panel.fixed["roles"][role][1] if role else "plain"
            news.setdefault(label, []).append(node)
    parts = [f"{label} {', '.join(nodes)}" for label, nodes in news.items()]
    notes = after["notes"].items()
    parts += [f"{node} is {text}" for node, text in notes if old["notes"].get(node) != text]
    gone = old["notes"].items()
    parts += [f"{node} no longer {text}" for node, text in gone if node not in after["notes"]]
    new_edges = [edge for edge in after["edges"] if edge not in old["edges"]]
    if new_edges:
        parts.append("edges " + ", ".join("–".join(edge) for edge in new_edges[:MOST]))
    return parts


def _array(panel: Panel, before: Any, after: Any) -> list[str]:
    old = dict(before or [])
    parts = [f"{name} gone" for name in old if name not in dict(after)]
    for name, cells in after:
        known = old.get(name)
        if known is None or len(known) != len(cells):
            parts.append(f"{name} has {len(cells)} cell{'s' * (len(cells) != 1)}")
            continue
        new = [i for i, (a, b) in enumerate(zip(known, cells, strict=True)) if a[0] != b[0]]
        for run in _runs(new, cells):
            where = f"{run[0]}" if len(run) == 1 else f"{run[0]} to {run[-1]}"
            parts.append(f"{name} {where} is {spoken(cells[run[0]][0])}")
        parts += _marks(name, known, cells)
    return parts


def _marks(name: str, before: Any, after: Any) -> list[str]:
    """Return what marks were set, and which are gone from the row."""
    old, new = ([mark for *_, mark in cells] for cells in (before, after))
    moves = enumerate(zip(old, new, strict=True))
    parts = [f"{mark} at {name} {i}" for i, (was, mark) in moves if mark and mark != was]
    gone = [(mark, i) for i, mark in enumerate(old) if mark and mark not in new]
    return parts + [f"no {mark} at {name} {i}" for mark, i in gone]


def _runs(positions: list[int], cells: list[Any]) -> Iterator[list[int]]:
    """Yield lists of neighbouring positions whose cells have one value."""
    keyed = [(i - k, spoken(cells[i][0])) for k, i in enumerate(positions)]
    for _, run in groupby(range(len(positions)), key=keyed.__getitem__):
        yield [positions[k] for k in run]


def _table(panel: Panel, before: Any, after: Any) -> list[str]:
    old = {_name(row): row for row in before or []}
    parts = [f"{name} gone" for name in old if name not in {_name(row) for row in after}]
    first, *others = panel.fixed["columns"]
    for row in after:
        known = old.get(_name(row), [[None]] * len(row))
        new = [
            f"{column} {spoken(b[0])}"
            for column, a, b in zip(others, known[1:], row[1:], strict=True)
            if a[0] != b[0]
        ]
        if new:
            parts.append(f"{first} {_name(row)}, {', '.join(new)}")
    return parts


def _name(row: list[Any]) -> str:
    return spoken(row[0][0])


def _counters(panel: Panel, before: Any, after: Any) -> list[str]:
    return [f"{name} {value}" for name, value in after.items() if (before or {}).get(name) != value]
