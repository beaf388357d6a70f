"""What a program answered beside what it should have: the first difference."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl.lab.apps.conformance.encode import JsonObject, number

if TYPE_CHECKING:
    from refimpl.lab.apps.conformance.case import Rule

SHORT = 60  # characters of a value in a message


def first_difference(want: Any, got: Any, rule: Rule, at: str = "result") -> str | None:
    """Return where and how `got` differs from `want`, in words; None if it conforms.

    Parameters
    ----------
    want, got : JSON values
        As `encode` makes them. `got` may be simpler: an array may be a list (of lists) of
        numbers, its dtype is then not compared; a type need not be named, but must be the right
        one if it is; fields that are not wanted are ignored.
    rule : Exact or Close
    at : str
        What the value is called.
    """
    if isinstance(want, dict) and "data" in want:
        return _array_difference(want, got, rule, at)
    if isinstance(want, dict):
        wanted = want["graph"] if "graph" in want else want["fields"]
        kind = "Graph" if "graph" in want else want.get("type")
        if kind is not None and isinstance(got, dict) and got.get("type", kind) != kind:
            return f"{at}: want type {kind}, got {short(got['type'])}"
        parts = got.get("graph", got.get("fields")) if isinstance(got, dict) else None
        if not isinstance(parts, dict):
            return f"{at}: want {', '.join(wanted)}, got {short(got)}"
        for name, part in wanted.items():
            if name not in parts:
                return f"{at}.{name}: missing"
            found = first_difference(part, parts[name], rule, f"{at}.{name}")
            if found:
                return found
        return None
    if isinstance(want, list):
        return _list_difference(want, got, rule, at)
    if equal(number(want), number(got), rule, isinstance(number(want), float)):
        return None
    return f"{at}: want {short(want)}, got {short(got)}"


def _list_difference(want: list[Any], got: Any, rule: Rule, at: str) -> str | None:
    if isinstance(got, dict) and "shape" in got:
        got = got.get("data")  # an array where a list will do
    if not isinstance(got, list):
        return f"{at}: want a list of {len(want)}, got {short(got)}"
    for i, (a, b) in enumerate(zip(want, got, strict=False)):
        found = first_difference(a, b, rule, f"{at}[{i}]")
        if found:
            return found
    return None if len(want) == len(got) else f"{at}: want {len(want)} entries, got {len(got)}"


def _array_difference(want: JsonObject, got: Any, rule: Rule, at: str) -> str | None:
    shape, dtype = want["shape"], want["dtype"]
    if isinstance(got, dict) and isinstance(got.get("data"), list):
        if got.get("dtype", dtype) != dtype:
            alike = _array_difference(want, {**got, "dtype": dtype}, rule, at) is None
            said = f"{at}: want dtype {dtype}, got {short(got['dtype'])}"
            return f"{said}; the numbers are right" if alike else said
        data, got_shape = got["data"], got.get("shape", shape)
    elif isinstance(got, list) or not shape:
        data, got_shape = _flat(got)
    else:
        return f"{at}: want an array of {dtype}, shape {shape}, got {short(got)}"
    if got_shape != shape and not (data == [] and math.prod(shape) == 0):
        return f"{at}: want shape {shape}, got {short(got_shape)}"
    if len(data) != len(want["data"]):
        return f"{at}: want {len(want['data'])} numbers, got {len(data)}"
    single, floating = dtype == "float32", dtype.startswith("float")
    for i, pair in enumerate(zip(want["data"], data, strict=True)):
        a, b = (_single(number(x)) if single else number(x) for x in pair)
        if not equal(a, b, rule, floating):
            index = [int(k) for k in np.unravel_index(i, shape)]
            return f"{at}{index or ''}: want {short(pair[0])}, got {short(pair[1])}"
    return None


def _flat(value: Any) -> tuple[list[Any], list[int] | Any]:
    """Return (numbers, shape) of a number or a list of lists; the shape of uneven ones is None."""
    if not isinstance(value, list):
        return [value], []
    parts = [_flat(part) for part in value]
    shapes = [shape for _, shape in parts] or [[]]
    even = shapes[0] is not None and all(shape == shapes[0] for shape in shapes)
    return [x for data, _ in parts for x in data], [len(value), *shapes[0]] if even else None


def _single(x: Any) -> Any:
    """Return the number as float32 holds it: a program may write its shortest form."""
    if isinstance(x, bool | int | float):
        with np.errstate(over="ignore"):
            return float(np.float32(x))
    return x


def equal(want: Any, got: Any, rule: Rule, floating: bool) -> bool | Any:
    """Say whether two numbers, strings or None are the same by the rule."""
    numbers = all(isinstance(x, bool | int | float) for x in (want, got))
    if not numbers:
        return type(want) is type(got) and want == got
    if math.isnan(want):
        return math.isnan(got)
    if rule.rule == "close" and floating and math.isfinite(want) and math.isfinite(got):
        return abs(got - want) <= rule.atol + rule.rtol * abs(want)
    return want == got


def short(value: object) -> str:
    """Return the value for a message, cut if it is long."""
    try:
        text = str(value)[: SHORT + 1]
    except RecursionError:
        text = "something nested too deeply"
    text = "".join(x if x.isprintable() else "\N{REPLACEMENT CHARACTER}" for x in text)
    return text if len(text) <= SHORT else text[: SHORT - 3] + "..."
