"""The inputs of the kernels' benchmarks: every kernel has some, and any wrong number is noticed."""

import copy
import pickle
import types

import numpy as np
import pytest

import fastimpl
import refimpl
from bench.answers import Differs, alike, fields_of
from bench.case import benches
from bench.inputs import SIZES
from refimpl.lab.apps.conformance import vectors

pytestmark = pytest.mark.runs

BENCHES = {one.kernel: one for one in benches()}
AS_GIVEN = "t", "q", "cache"  # of what a call is given afresh: no arrays that a check looks at
TASKS = [
    pytest.param(one, task, id=f"{name}-{at}")
    for name, one in BENCHES.items()
    for at, task in enumerate(one.tasks("tiny"))
]


def test_every_kernel_has_a_benchmark():
    kernels = {kernel for one in BENCHES.values() for kernel in (one.kernel, *one.parts)}
    with_vectors = {file["function"] for file in vectors.load()}
    of_storage = {"read_rows"}  # python -m bench storage measures it
    assert (set(fastimpl.compiled) | with_vectors) - of_storage == kernels - {
        "training iteration",
        "forward and backward",
    }


@pytest.mark.parametrize("kernel", BENCHES)
def test_inputs_of_each_size_are_right_and_can_be_told_apart(kernel):
    """What takes no longer at a larger size shows nothing."""
    bench, found, amounts = BENCHES[kernel], [], []
    for size in SIZES:
        tasks = list(bench.tasks(size))
        assert tasks
        for task in tasks:
            result, args = called(fastimpl, task, bench)
            task.check(result, args, None if size == "large" else refimpl)
        found += [task.text for task in tasks]
        amounts.append(len(pickle.dumps((tasks[-1].arguments(0), result))))
    assert len(set(found)) == len(found)
    assert amounts[0] < amounts[1] / 4 and amounts[1] < amounts[2] / 4


def called(package, task, bench):
    """Return what a package answers to a task, and the arguments after the call."""
    args = copy.deepcopy(task.arguments(0))
    return task.function(bench.kernel, package)(**args), args


@pytest.mark.parametrize(("one", "task"), TASKS)
def test_a_right_answer_passes_and_any_wrong_number_is_noticed(one, task):
    """In the result, and in the arguments that a call changes."""
    result, args = called(fastimpl, task, one)
    task.check(result, args, refimpl)
    before = task.arguments(0)
    changed = {} if task.turn is None else {k: args[k] for k in task.turn(0) if k not in AS_GIVEN}
    changed = {k: v for k, v in changed.items() if differs(v, before[k])}
    places = [("result", path) for path in leaves(result)]
    places += [(name, path) for name in changed for path in leaves(changed[name])]
    assert places
    noticed = 0
    for name, path in places:
        wrong, others = result, dict(args)
        if name == "result":
            wrong = spoilt(result, path)
        else:
            others[name] = spoilt(args[name], path)
        try:
            task.check(wrong, others, refimpl)
        except Exception:  # as in a run: whatever a check raises, the answer is not right
            noticed += 1
        else:
            assert not must(one, (name, *path)), (name, path)
    assert noticed


def must(one, path):
    """Whether a wrong number has to be noticed: what a layer keeps for itself need not be."""
    own = {
        "sage_forward": {"AX"},
        "sage_backward": {"b"},
        "dense_backward": {"b"},
        "row_norm": {"graph", "graph_t", "perm"},
        "sym_norm": {"graph", "graph_t", "perm"},
        "induced_subgraph": {"counters"},
        "sample_many": {"counters"},
        "training iteration": {"m", "v"},
    }
    return not own.get(one.kernel, set()) & set(map(str, path))


def leaves(value):
    """Yield the path to each number or array of numbers inside a value that is not empty."""
    names = fields_of(value)
    if names:
        for name in names:
            yield from ((name, *path) for path in leaves(getattr(value, name)))
    elif isinstance(value, list | tuple):
        for i, part in enumerate(value):
            yield from ((i, *path) for path in leaves(part))
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from ((key, *path) for path in leaves(part))
    elif np.size(value) and not isinstance(value, str) and value is not None:
        yield ()


def spoilt(value, path):
    """Return a value like this one, with another number at the path."""
    if not path:
        array = np.array(value)
        flat, middle = array.reshape(-1), array.size // 2
        if array.dtype.kind == "f":
            flat[middle] = 1 + 2 * np.abs(flat).max()
        else:
            flat[middle] ^= True
        return array if isinstance(value, np.ndarray) else array.item()
    name, *rest = path
    if isinstance(value, dict):
        return {**value, name: spoilt(value[name], rest)}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(spoilt(v, rest) if i == name else v for i, v in enumerate(value))
    fields = {field: getattr(value, field) for field in fields_of(value)}
    return types.SimpleNamespace(**{**fields, name: spoilt(fields[name], rest)})


def differs(a, b):
    """Whether two values of the same form differ in any number."""
    if isinstance(a, dict):
        return any(differs(a[name], b[name]) for name in a)
    try:
        alike(a, b)
    except Differs:
        return True
    return False
