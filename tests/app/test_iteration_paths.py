"""How far a reader follows one iteration of training through the files of refimpl."""

import sys
from functools import cache
from pathlib import Path

import pytest

import refimpl
from refimpl.lab.data.karate import karate_dataset

FOLDER = Path(refimpl.__file__).parent
SUBGRAPHS = refimpl.methods.SampledGraph(sampler=refimpl.Sampler("frontier", m=4, n=9), pool=3)
FRESH = refimpl.methods.Fresh(batch_size=6, fanouts=(3, 3), t_stale=2)


@cache
def kind(code):
    """Return "step" for a function of refimpl that a reader follows, "check" for one that checks.

    None for other code: the decorator of checks, and comprehensions, which some versions of Python
    call as functions.
    """
    file = Path(code.co_filename)
    if (
        not file.is_relative_to(FOLDER)
        or file.stem == "argument_checks"
        or code.co_name.startswith("<")
    ):
        return None
    checks = code.co_name.startswith("check") or code.co_name.endswith("_arguments")
    return "check" if checks or file.stem == "require" else "step"


def path_of(work):
    """Return the files of refimpl that ``work()`` passes through, and its greatest call depth.

    Checks of arguments do not count, nor does what they call.
    """
    files, depths = set(), [0]

    def watch(frame, event, argument):
        if event != "call" or kind(frame.f_code) != "step":
            return
        file, kinds = frame.f_code.co_filename, []
        while frame is not None:
            kinds.append(kind(frame.f_code))
            frame = frame.f_back
        if "check" not in kinds:
            files.add(file)
            depths.append(kinds.count("step"))

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(before)
    return files, max(depths)


@pytest.mark.parametrize(
    ("method", "steps", "most_files", "most_depth"),
    [
        pytest.param(SUBGRAPHS, [0], 27, 14, id="a step that samples subgraphs"),
        pytest.param(SUBGRAPHS, [1, 2], 21, 11, id="a step on a subgraph of the pool"),
        pytest.param(FRESH, range(2, 6), 33, 18, id="a step of FreshGNN"),
    ],
)
def test_an_iteration_is_a_short_path(method, steps, most_files, most_depth):
    """A longer path fails: call a function where it is, rather than through another one."""
    config = refimpl.TrainConfig(model="sage", method=method, layers=2, hidden=4, epochs=9, rng=1)
    paths = []
    with refimpl.make_trainer(karate_dataset(), config) as trainer:
        for step in range(max(steps) + 1):
            path = path_of(trainer.step)
            paths += [path] if step in steps else []
    assert max(len(files) for files, _ in paths) <= most_files
    assert max(depth for _, depth in paths) <= most_depth


def function(file, name, body):
    """Return a function of `inner` that is said to stand in a file of refimpl."""
    names = {}
    exec(compile(f"def {name}(inner):\n    {body}\n", FOLDER / file, "exec"), names)
    return names[name]


def test_another_file_and_another_call_are_counted():
    inner = function("two.py", "inner", "pass")
    files, depth = path_of(
        lambda: function("one.py", "outer", "[inner(0) for _ in range(2)]")(inner)
    )
    assert sorted(Path(file).name for file in files) == ["one.py", "two.py"]
    assert depth == 2


@pytest.mark.parametrize(
    ("file", "name"),
    [("two.py", "graph_arguments"), ("two.py", "checked_mfg"), ("require.py", "word")],
)
def test_checks_and_what_they_call_are_not_counted(file, name):
    check = function(file, name, "inner(0)")
    inner = function("three.py", "inner", "pass")
    files, depth = path_of(
        lambda: function("one.py", "outer", "inner[0](inner[1])")((check, inner))
    )
    assert [Path(file).name for file in files] == ["one.py"]
    assert depth == 1
