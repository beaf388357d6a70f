"""What changes when it is read is read once: nothing crashes, and the first answer counts."""

import importlib
import inspect
import warnings

import numpy as np
import pytest

import refimpl
from refimpl.lab.backend import find, homes

fickle = importlib.import_module("fuzz.fickle")
judge = importlib.import_module("fuzz.judge")
parts = importlib.import_module("fuzz.parts")
STARTS = importlib.import_module("fuzz.starts").starts()
WRITES = importlib.import_module("fuzz.starts").writes()

CHANGES = {
    "FickleArray": fickle.FickleArray,
    "LyingArray": lambda array: array.view(fickle.LyingArray),
    "FickleList": fickle.FickleList,
    "ShrinkingList": fickle.ShrinkingList,
    "FickleInt": fickle.FickleInt,
}
STARTS_OF_EACH = 2


def fitting(value):
    """Return the names of the changes that fit a part of the arguments."""
    if isinstance(value, np.ndarray):
        plain = type(value) is np.ndarray and value.ndim > 0
        return ("FickleArray", "LyingArray") if plain else ()
    if type(value) in (list, tuple):
        return ("FickleList", "ShrinkingList")
    return ("FickleInt",) if type(value) is int else ()


def called(gnn, name, args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return judge.apply(find(gnn, name), args)


def cases_of(name):
    """Yield (start, path, change) for every part of the arguments of some valid calls."""
    for start in sorted(STARTS[name])[:STARTS_OF_EACH]:
        for path, value in parts.walk(STARTS[name][start](refimpl)):
            if not parts.is_frame(path):
                yield from ((start, path, change) for change in fitting(value))


def keeps_numbers(name):
    """Whether a function of numbers or a record of settings keeps an integer as it is given."""
    return homes()[name].startswith("cost_models") or inspect.isclass(find(refimpl, name))


@pytest.mark.parametrize("honest", [1, 2, 3, 4])
@pytest.mark.parametrize("layout", ["csr2", "csr", "coo"])
def test_pruning_reads_its_nodes_once(gnn, layout, honest):
    """The kernel reads as many flags as there are destinations: fewer would be read past."""
    graph = refimpl.as_graph([(0, v) for v in range(1, 4000)], symmetrize=True)
    roots = np.arange(4000)
    mfg = refimpl.sample_mfg(graph, roots, (2, 2), seed=1, epoch=0, batch=0)
    hit = [np.zeros(len(nodes), bool) for nodes in mfg.nodes[1:]]
    hit[0][::3] = True
    want = refimpl.history.prune_mfg(mfg, hit, layout=layout)
    shrinking = mfg._replace(nodes=fickle.ShrinkingList(mfg.nodes, honest))
    got = gnn.history.prune_mfg(shrinking, fickle.ShrinkingList(hit, honest), layout=layout)
    assert not judge.compared(want, got, "result", None)


@pytest.mark.parametrize("name", sorted(STARTS))
def test_the_first_answer_counts(gnn, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    fresh = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed=0: fresh(seed))
    wanted = {}
    for start, path, change in cases_of(name):
        if start not in wanted:
            args = STARTS[name][start](gnn)
            wanted[start] = called(gnn, name, args), args
        args = STARTS[name][start](gnn)
        old = args
        for key in path:
            old = parts.part(old, key)
        try:
            args = parts.replaced(args, path, CHANGES[change](old))
            got = called(gnn, name, args)
        except judge.OURS:
            continue
        if name in judge.MEASURED or (change == "FickleInt" and keeps_numbers(name)):
            continue
        want, kept = wanted[start]
        where = f"{start} {path} {change}"
        assert not judge.compared(want, got, "result", None), where
        for argument in WRITES.get(name, ()):
            found = judge.compared(kept[argument], args[argument], argument, None)
            assert not found or path[0] == argument, f"{where}: {found}"


def test_a_fickle_value_answers_honestly_once():
    array = fickle.FickleArray(np.arange(3))
    assert [len(np.asarray(array)) for _ in range(2)] == [3, 9]
    listed = fickle.FickleList([1, 2])
    assert [list(iter(listed)) for _ in range(2)] == [[1, 2], [10**6] * 4]
    shrinking = fickle.ShrinkingList([np.arange(3), 4])
    assert [len(part) for part in (list(iter(shrinking))[0], shrinking[0])] == [3, 1]
    number = fickle.FickleInt(3)
    assert [int(number) for _ in range(2)] == [3, 10**6]
    assert len(np.zeros(3).view(fickle.LyingArray)) == 6
