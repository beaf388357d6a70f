"""Where two answers differ, and in what way: the same numbers in another order, one too many, .."""

import math
import re
from typing import Any, NamedTuple

import numpy as np

from refimpl.lab.apps.conformance.encode import number

ROUNDING = 1e-9  # relative; above this it is another number
SMALL = 3  # differences of a single number that may be no chance
STEP = re.compile(r"\w+|\[[\d, ]*\]")


class Difference(NamedTuple):
    """The first difference of two answers.

    Attributes
    ----------
    at : str
        The array, list or number that differs, such as "result.popped".
    place : tuple of int
        Where in it; empty of a number, or where the shapes differ.
    want, got : JSON values
        Of the whole array, list or number; `MISSING` where there is none.
    """

    at: str
    place: tuple
    want: Any
    got: Any


MISSING = object()


def locate(case, answer, difference):
    """Return the Difference that `judge` found between a case and an answer in words."""
    at = difference.partition(": ")[0]
    index: tuple[int, ...] = ()
    want, got = _root(case), _root(answer)
    steps = STEP.findall(at)
    while steps:
        step = steps.pop(0)
        if not step.startswith("["):
            want, got = inside(want, step), inside(got, step)
            continue
        index = tuple(int(part) for part in re.findall(r"\d+", step))
        if is_list(want) and isinstance(want[index[0]], dict | list) and index[0] < length(got):
            want, got, index = want[index[0]], items(got)[index[0]], ()
            continue
        at = at[: at.rindex(step)]
        break
    return Difference(at, index, want, got)


def _root(answer):
    """Return all of an answer as named values."""
    changed = answer.get("changed")
    parts = {
        "result": answer.get("result"),
        "changed": None if changed is None else {"fields": changed},
        "states": [{"fields": state} for state in answer.get("states", ())],
    }
    return {"fields": parts}


def inside(value, name):
    """Return a part of named values, or `MISSING`."""
    if not isinstance(value, dict):
        return MISSING
    parts = value.get("graph", value.get("fields"))
    return parts.get(name, MISSING) if isinstance(parts, dict) else MISSING


def is_array(value):
    """Whether a JSON value is an array with its shape."""
    return isinstance(value, dict) and "data" in value


def is_list(value):
    """Whether a JSON value is a list."""
    return isinstance(value, list)


def items(value):
    """Return the items of a list, or of an array, or []; the number alone where it has no axis."""
    if is_array(value):
        return np.reshape(np.array(value["data"], object), value["shape"] or -1).tolist()
    return value if is_list(value) else []


def length(value):
    """Return how many items `items` returns."""
    return len(items(value))


def numbers(value):
    """Return the numbers in a number, a list or an array, as a flat list; None if it is none."""
    if is_array(value):
        return [number(x) for x in value["data"]]
    if is_list(value):
        parts = [numbers(part) for part in value]
        return None if None in parts else [x for part in parts for x in part]
    plain = number(value)
    return [plain] if isinstance(plain, int | float) else None


def shape(value):
    """Return the shape of a number, a list or an array; () where it has none."""
    if is_array(value):
        return tuple(value["shape"])
    if is_list(value):
        return (len(value), *(shape(value[0]) if value else ()))
    return ()


def in_words(found):
    """Return what is peculiar about a Difference, as sentences: [] if nothing is."""
    want, got = found.want, found.got
    if got is MISSING:
        return [f"Your answer has no {found.at.rpartition('.')[2]}."]
    if got is None and want is not None:
        return ["Yours is None: is a `return` missing, or a part of the result?"]
    ours, theirs = numbers(got), numbers(want)
    if ours is None or theirs is None:
        return []
    if shape(want) != shape(got) and len(shape(want)) != len(shape(got)):
        return [f"Yours is {kind(got)}, and {kind(want)} is wanted."]
    if len(ours) != len(theirs):
        return [*_of_length(theirs, ours)]
    if dtype(want) != dtype(got) and is_array(want) and is_array(got):
        right = "The numbers are right, but yours" if _equal(ours, theirs) else "Yours"
        return [f"{right} is {dtype(got)}, and {dtype(want)} is wanted."]
    if _equal(ours, theirs):
        return [f"The numbers are right, but yours is {dtype(got)} and {dtype(want)} is wanted."]
    return [*_of_values(want, got, theirs, ours)]


def kind(value):
    """Return what kind of value this is, in words."""
    if is_array(value):
        dims = len(value["shape"])
        return {0: "a single number", 1: "an array"}.get(dims, f"an array of {dims} dimensions")
    return "a list" if is_list(value) else "a single number"


def dtype(value):
    """Return the dtype of an array, or what stands for one."""
    return value["dtype"] if is_array(value) else kind(value)


def _of_length(theirs, ours):
    more = len(ours) - len(theirs)
    which = "more" if more > 0 else "fewer"
    yield f"Yours has {abs(more)} {which}: {len(ours)}, not {len(theirs)}."
    if len(set(ours)) == len(set(theirs)) and set(ours) == set(theirs):
        yield "They are the same numbers, some of them more than once."
    elif ours[: len(theirs)] == theirs:
        yield "The numbers that are wanted stand in front."
    elif theirs[: len(ours)] == ours:
        yield "Yours are right as far as they go."


def _of_values(want, got, theirs, ours):
    close = [_close(a, b) for a, b in zip(theirs, ours, strict=True)]
    if all(close):
        yield "They differ by rounding only: the formula is right, in another order of operations."
        return
    if not any(_finite(ours)) and any(_finite(theirs)):
        yield "Yours are infinite or NaN: something overflowed, or was divided by 0."
    elif not all(_finite(ours)) and all(_finite(theirs)):
        yield "Some of yours are infinite or NaN: something overflowed, or was divided by 0."
    if len(ours) > 1 and sorted(map(float, ours)) == sorted(map(float, theirs)):
        yield _same_numbers(want, got, theirs, ours)
        return
    if len(set(ours)) > 1 and ours[1:] == theirs[:-1]:
        yield "Yours stand one place too far behind."
        return
    if len(set(ours)) > 1 and ours[:-1] == theirs[1:]:
        yield "Yours stand one place too far in front."
        return
    pattern = _pattern(theirs, ours) if all(_finite(theirs + ours)) else None
    if pattern is None:
        yield from _of_bits(theirs, ours)
    wrong = close.count(False)
    if pattern:
        yield f"{'Yours is' if len(ours) == 1 else 'Each of yours is'} {pattern}."
    elif none := _none(theirs, ours):
        yield none
    elif wrong < len(close):
        first = close.index(False)
        tail = " The first of them are right." if first > len(close) / 2 else ""
        yield f"{wrong} of {len(close)} numbers differ.{tail}"


def _same_numbers(want, got, theirs, ours):
    if len(shape(want)) == 2:
        a, b = (np.array(v, float).reshape(shape(want)) for v in (theirs, ours))
        for name, x in (("rows", b), ("columns", b.T)):
            y = a if name == "rows" else a.T
            if sorted(x.tolist()) == sorted(y.tolist()):
                return f"The {name} are right, but stand in another order."
    backwards = " (yours is backwards)" if ours == theirs[::-1] else ""
    return f"They are the right numbers in another order{backwards}."


def _pattern(theirs, ours):
    """Return in what way every number differs alike from the one that is wanted, or None."""
    gaps = {_round(b - a) for a, b in zip(theirs, ours, strict=True)}
    if all(isinstance(gap, int) and gap % 2**64 == 0 for gap in gaps):
        return "a multiple of 2**64 away: it was not taken modulo 2**64"
    gap, *others = gaps
    if not others and (len(ours) > 1 or gap in (-SMALL, -2, -1, 1, 2, SMALL)):
        return f"{abs(gap):.6g} too {'large' if gap > 0 else 'small'}"
    pairs = [(a, b) for a, b in zip(theirs, ours, strict=True) if a or b]
    if all(a and b for a, b in pairs) and pairs:
        ratios = {_round(b / a) for a, b in pairs}
        ratio, *others = ratios
        simple = len(pairs) > 1 or _round(max(abs(ratio), 1 / abs(ratio))) in (1, 2, 3, 4)
        if not others and simple and abs(ratio - 1) > 1e-6:
            if ratio == -1:
                return "right but for its sign"
            return f"{ratio:.6g} times what is wanted"
    if all(abs(a) == abs(b) for a, b in pairs) and isinstance(theirs[0], float) and len(pairs) > 1:
        return "right but for the signs of some"
    if all(b == max(a, 0) for a, b in pairs):
        return "0 where a negative number is wanted"
    if all(a == max(b, 0) for a, b in pairs):
        return "right where it is not negative: negative ones should be 0"
    return None


def _none(theirs, ours):
    """Return what is to be said where -1 stands for nothing."""
    odd = [(a, b) for a, b in zip(theirs, ours, strict=True) if a != b]
    if all(isinstance(x, int) for x in (*theirs, *ours)) and len(theirs) > 1:
        if all(a == -1 for a, _ in odd):
            return "Where they differ, -1 is wanted: there should be none."
        if all(b == -1 for _, b in odd):
            return "Where they differ, yours is -1: one is missing there."
    return None


def _of_bits(theirs, ours):
    """Yield which bits of words of 64 bits are right, where the upper or the lower ones are."""
    if not any(isinstance(x, int) and x >= 2**53 for x in theirs):
        return
    if not all(isinstance(x, int) and 0 <= x < 2**64 for x in ours):
        return
    odd = 0
    for a, b in zip(theirs, ours, strict=True):
        odd |= a ^ b
    low = (odd & -odd).bit_length() - 1
    if odd.bit_length() <= 48:
        yield f"The upper {64 - odd.bit_length()} of 64 bits are right, those below are not."
    elif low >= 16:
        yield f"The lower {low} of 64 bits are right, those above are not."


def _round(x):
    return x if isinstance(x, int) else float(f"{x:.9g}")


def _finite(values):
    return [isinstance(x, int) or math.isfinite(x) for x in values]


def _close(a, b):
    if isinstance(a, bool | int) and isinstance(b, bool | int):
        return a == b
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    if math.isinf(a) or math.isinf(b):
        return a == b
    return abs(a - b) <= ROUNDING * max(abs(a), abs(b))


def _equal(ours, theirs):
    return all(a == b or (a != a and b != b) for a, b in zip(ours, theirs, strict=True))
