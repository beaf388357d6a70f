"""Answers the conformance kit with the pseudo-code of docs/kernels, so that it cannot be wrong.

    minibatch-gnn conformance --cmd 'python docs/kernels/code/adapter.py'

A kernel is a function or a class of a file beside this one that has a function of checks,
``check_NAME``. The checks yield ("value" or "type", when in words, whether it is so): the first row
that is so refuses the arguments. A kernel takes its arguments by their names, and an empty list
`states` if it has steps to record; it changes its arguments in place if that is what it does.
"""

import importlib
import inspect
import json
import math
import sys
from pathlib import Path

from forms import Array, Graph, Named

FOLDER = Path(__file__).parent
TEXTS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def kernels():
    """Return a dict from the name of each kernel to (module, function or class, its checks)."""
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        if path.stem in ("adapter", "forms"):
            continue
        module = importlib.import_module(path.stem)
        for name, check in vars(module).items():
            if name.startswith("check_") and check.__module__ == path.stem:
                kernel = name.removeprefix("check_")
                if hasattr(module, kernel):
                    found[kernel] = path.stem, getattr(module, kernel), check
    return found


KERNELS = kernels()


def answer(question):
    """Return the answer to a question of the protocol, both dicts."""
    if "hello" in question:
        return {"name": "the pages' pseudo-code", "version": "1"}
    if question["call"] not in KERNELS:
        return {"skip": "not on a page"}
    _, kernel, check = KERNELS[question["call"]]
    args = {name: decode(value) for name, value in question["args"].items()}
    row = refusal(check, args)
    if row is not None:
        return {"error": row[0]}
    given = {"result": None}
    if inspect.isclass(kernel):
        given["result"], given["states"] = call_methods(kernel, args)
    elif "states" in inspect.signature(kernel).parameters:
        states = []
        given["result"] = encode(kernel(**args, states=states))
        given["states"] = [inside(state) for state in states]
    else:
        given["result"] = encode(kernel(**args))
    if question.get("writes"):
        given["changed"] = {name: encode(args[name]) for name in question["writes"]}
    return given


def refusal(check, args):
    """Return the first row of the checks that is so, as (kind, words); None if none is."""
    for kind, words, refused in check(**args):
        if refused:
            return kind, words
    return None


def call_methods(kernel, args):
    """Return what the calls of an object return, and its `state()` before them and after each."""
    calls = args.pop("calls")
    made = kernel(**args)
    states, results = [inside(made.state())], []
    for method, rest in calls:
        results.append(encode(getattr(made, method)(**rest)))
        states.append(inside(made.state()))
    return results, states


def decode(value):
    """Return the value that JSON of the protocol stands for, in the forms of `forms`."""
    if isinstance(value, str):
        if value in TEXTS:
            return TEXTS[value]
        return int(value) if value.removeprefix("-").isdecimal() else value
    if isinstance(value, list):
        return [decode(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "data" in value:
        numbers = [decode(x) for x in value["data"]]
        return Array(rows(numbers, value["shape"]), value["dtype"], value["shape"])
    if "graph" in value:
        return Graph(*(plain(value["graph"][name]) for name in ("indptr", "indices")))
    fields = {name: decode(part) for name, part in value["fields"].items()}
    return Named(value["type"], fields) if "type" in value else fields


def plain(ids):
    """Return a list of numbers, which in a large graph is an array."""
    return list(ids["data"] if isinstance(ids, dict) else ids)


def rows(numbers, shape):
    """Return numbers, row after row, as lists in lists."""
    for size in shape[:0:-1]:
        count = math.prod(shape) // size if size else 0
        numbers = [numbers[i * size : (i + 1) * size] for i in range(count)]
    return numbers if math.prod(shape) or len(shape) < 2 else [[] for _ in range(shape[0])]


def encode(value):
    """Return a value as JSON of the protocol: lists for arrays, `fields` for named parts."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list | tuple):
        return [encode(part) for part in value]
    if isinstance(value, Graph):
        return {"graph": {"indptr": value.indptr, "indices": value.indices}}
    if isinstance(value, Named):
        fields = {name: part for name, part in vars(value).items() if name != "type_name"}
        return {"type": value.type_name, "fields": inside(fields)}
    if isinstance(value, dict):
        return {"fields": inside(value)}
    return value


def inside(fields):
    return {name: encode(part) for name, part in fields.items()}


def main():
    """Answer the questions on standard input until it ends."""
    for line in sys.stdin:
        question = json.loads(line)
        print(json.dumps({"id": question["id"], **answer(question)}), flush=True)


if __name__ == "__main__":
    main()
