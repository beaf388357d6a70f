"""What makes an answer of a benchmark wrong, and what a call may not do to its input."""

import copy

import numpy as np
import pytest

import refimpl
from bench import measuring
from bench.answers import Differs, alike, near, restored, same
from bench.case import benches
from bench.implementations import Package
from bench.work import Part
from refimpl.lab.apps.conformance.protocol import Server
from refimpl.lab.backend import own


def benchmark(kernel):
    (one,) = [one for one in benches() if one.kernel == kernel]
    return one


def checked(kernel, *names):
    """Return the task of a kernel, and the error of each implementation or None."""
    bench = benchmark(kernel)
    task = next(bench.tasks("tiny"))
    before = copy.deepcopy(task.args)
    make = {name: Package(name) for name in names}
    found = measuring.measured(
        names, lambda name: measuring.Calls(make[name], bench, task), timed=False
    )
    return task, before, {name: found[name].error for name in names}


def sorts_its_rows(X, rows, scaling=None, dtype=None):
    found = np.asarray(X)[rows]
    rows.sort()
    return found


def fails_after(X, rows, scaling=None, dtype=None):
    X[...] = 0
    raise NotImplementedError


def test_a_kernel_that_changes_its_input_is_refused_and_spoils_nothing(module):
    module("sorts", gather_rows=sorts_its_rows)
    module("fails", gather_rows=fails_after)
    task, before, errors = checked("gather_rows", "sorts", "fails", "refimpl")
    assert str(errors["sorts"]) == "it changed its argument rows"
    assert isinstance(errors["fails"], measuring.Missing) and errors["refimpl"] is None
    for name in ("rows", "X"):
        np.testing.assert_array_equal(task.args[name], before[name])


def test_what_is_restored():
    for value, spoil in (
        ([1, 2], lambda v: v.append(3)),
        ({"a": np.zeros(2)}, lambda v: v.pop("a")),
        ({"a": [np.array([np.nan, 1.0])]}, lambda v: v["a"][0].fill(0)),
        (Part(np.zeros(2)), lambda v: v.bytes.fill(1)),
    ):
        before = copy.deepcopy(value)
        assert not restored(value, before)
        spoil(value)
        assert restored(value, before) and not restored(value, before)


def test_vectors_and_benchmarks_agree_on_what_a_module_has_of_its_own(module):
    made = module(
        "builds_on_it", transpose_perm=refimpl.transpose_perm, mix=lambda x: refimpl.streams.mix(x)
    )
    graph = {"indptr": [0, 0], "indices": []}
    answer = Server(made).answer({"call": "transpose_perm", "args": {"graph": graph}})
    assert answer == {"skip": "not implemented"}
    package = Package("builds_on_it")
    assert not package.has(benchmark("transpose_perm")) and package.has(benchmark("mix"))
    _, _, errors = checked("transpose_perm", "builds_on_it")
    assert isinstance(errors["builds_on_it"], measuring.Missing)
    assert checked("mix", "builds_on_it")[2] == {"builds_on_it": None}


def test_whole_packages_have_all_of_their_names():
    import fastimpl

    for package in (refimpl, fastimpl, refimpl.backend(refimpl, spmm=print)):
        assert all(own(package, name) for name in ("key", "spmm", "BidirectionalCache"))


@pytest.mark.parametrize(
    ("got", "want", "message"),
    [
        (np.arange(3), np.arange(4), r"x: want shape \[4\], got \[3\]"),
        (np.array([1, 2]), np.array([1, 3]), r"x\[1\]: want 3, got 2"),
        (np.array([1.0]), np.array([1]), "x: want dtype int64, got float64"),
        (np.array([1], np.int32), np.array([1]), "x: want dtype int64, got int32"),
        (np.array([[1.0, np.nan]]), np.array([[1.0, 2.0]]), r"x\[0, 1\]: want 2.0, got nan"),
    ],
)
def test_a_difference_says_where(got, want, message):
    with pytest.raises(Differs, match=message):
        same("x", got, want)
    same("x", want, want)


def test_near_numbers_pass_and_far_ones_do_not():
    near("x", 1.0 + 1e-7, 1.0, rtol=1e-6)
    with pytest.raises(Differs, match="want 1.0"):
        near("x", 1.0 + 1e-5, 1.0, rtol=1e-6)
    with pytest.raises(Differs, match="has no nodes"):
        alike((1, 2), refimpl.induced_subgraph(refimpl.as_graph([(0, 1)], symmetrize=True), [0]))


def test_lists_are_alike_in_length_and_items():
    alike([1, (2, 3)], (1, [2, 3]))
    for wrong in ([1], [1, (2, 4)], 1):
        with pytest.raises(Differs):
            alike(wrong, [1, (2, 3)])
