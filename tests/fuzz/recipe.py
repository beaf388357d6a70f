"""From a seed and a number to a call: always the same one."""

import random
from functools import partial

from scipy.sparse import issparse

import fastimpl
import refimpl
from fuzz.fickle import FickleInt
from fuzz.mutations import WILD, changed, changes_of, walk

# What a caller may ask for and wait for: up to these sizes time or memory is in proportion, and the
# fuzzer asks for less. Beyond them a call must be refused.
MOST = 2**31 - 1
ASKED_FOR = {
    ("any", "n"): MOST,  # nodes, or steps
    ("any", "b"): MOST,
    ("any", "h"): MOST,
    ("any", "r"): MOST,
    ("any", "sizes"): MOST,
    ("any", "count"): MOST,
    ("any", "floats"): 2**48,
    ("any", "layers"): 2**16,
    ("any", "workers"): 2**10,
    ("any", "pool"): MOST,
    ("SubgraphPool", "size"): MOST,
    ("calibrate", "entries"): MOST,
    ("calibrate", "repeats"): MOST,
    ("dashboard", "eta"): 2**32,
    ("estimate_counts", "coverage"): 1e6,
    ("floyd", "f"): MOST,
    ("kronecker", "scale"): 30,
    ("partition_order", "Q"): MOST,
    ("partition_plan", "f"): MOST,
    ("pick_without_replacement", "m"): MOST,
    ("pin_tile", "eta"): 2**32,
    ("plan_performance", "rounds"): MOST,
    ("reverse_pagerank", "iterations"): MOST,
}
ENOUGH = 300  # of anything


def recipe_of(seed, number, starts):
    """Return the recipe of case `number`: a callable, a start, changes, and threads."""
    rng = random.Random(f"{seed} {number}")
    names = sorted([*starts, *(name for name in fastimpl.compiled if name in starts)])
    name = names[number % len(names)]
    start = rng.choice(sorted(starts[name]))
    recipe = {"name": name, "start": start, "changes": [], "threads": rng.choice((1, 2, 3, 4))}
    args = starts[name][start](refimpl)
    for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 2, 3))):
        change = drawn(rng, name, args)
        if change:
            recipe["changes"].append(change)
    return recipe


def drawn(rng, name, args):
    """Return [path, kind] of a change to a valid call; None if there is nothing to change."""
    places = [place for place in walk(args) if not is_frame(*place)]
    if not places:
        return None
    while True:
        path, value = rng.choice(places)
        fitting = sorted(changes_of(value))
        arrays = [key for key in args if key != path[0] and type(args[key]) is type(value)]
        if arrays and len(path) == 1 and rng.random() < 0.05:
            other = rng.choice(arrays)
            if fits(name, path, partial(args.get, other)):
                return [list(path), f"same as {other}"]
        if fitting and rng.random() < 0.6:
            kind = rng.choice(fitting)
        else:
            kind = f"wild {rng.choice(sorted(WILD))}"
        if allowed(name, path, value, kind):
            return [list(path), kind]


def is_frame(path, _):
    """Whether a part says how a call is written, and is no argument: `*parts`, methods, ..."""
    return path in (("calls",), ("parts",), ("options",)) or (path[0] == "calls" and len(path) < 4)


def allowed(name, path, value, kind):
    """Whether a change asks for no more than a fuzzer can wait for."""
    if callable(value) and not isinstance(value, type) and kind in ("wild function", "wild type"):
        return False  # what the caller's own function returns is the caller's
    return fits(name, path, partial(changed, kind, value))


def fits(name, path, made):
    """Whether an argument's new value, which `made` returns, asks for no more than that."""
    argument = [key for key in path if isinstance(key, str)][-1]
    limit = ASKED_FOR.get((name, argument), ASKED_FOR.get(("any", argument)))
    if limit is None:
        return True
    try:
        value = made()
        if issparse(value):  # to compare a damaged one ends the process
            return True
        value = int(value.real) if isinstance(value, FickleInt) else value  # its own digits
        return not ENOUGH < value <= limit
    except Exception:  # no number
        return True
