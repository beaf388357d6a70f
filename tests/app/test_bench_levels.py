"""The benchmark of levels: what a level's process does, and the table of all."""

import importlib
from types import SimpleNamespace

import numpy as np
import pytest

pytestmark = pytest.mark.runs


@pytest.fixture
def levels(monkeypatch):
    """The benchmark, as if this build had two levels, both in this process."""
    module = importlib.import_module("bench.levels")
    side = importlib.import_module("bench.levels_side")

    class Here(side.Side):
        """A level's process; the faster one takes half as long."""

        def __init__(self, level):
            super().__init__()
            self.name, self.answered = level, lambda digest: digest

        def __call__(self, name, *arguments):
            done = self.name if name == "level" else getattr(self, name)(*arguments)
            if name == "round":
                done = [2.0 if self.name == "base" else 1.0 for _ in done]
            return self.answered(done) if name == "answer" else done

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(module._processor, "levels", lambda: ["x86-64-v4", "x86-64-v3"])
    monkeypatch.setattr(module._levels, "built", lambda: ["x86-64-v3"])
    monkeypatch.setattr(module, "started", Here)
    module.Here = Here
    return module


def report(module, only):
    return list(module.report(SimpleNamespace(only=only, quick=True)))


def test_ratios_are_of_the_times_that_were_taken(levels):
    text = report(levels, "transpose_*")
    rows = [line for line in text if line.startswith("| transpose_")]
    assert len(rows) == 2  # of a graph and of a block
    assert all(row.endswith("| 2,000 | 1,000 | 2.0x |") for row in rows)
    assert text[-1].startswith("base / x86-64-v3: geometric mean 2.0x, at most 2.0x (transpose_")
    assert text[-1].endswith("above 1.3: 2 of 2.")


def test_other_bits_end_the_run(levels, monkeypatch):
    def wrong(level):
        here = levels.Here(level)
        here.answered = lambda digest: digest + level
        return here

    monkeypatch.setattr(levels, "started", wrong)
    with pytest.raises(levels.UsageError, match="x86-64-v3 and base differ in bits"):
        report(levels, "transpose_perm")


def test_a_build_for_one_processor_is_refused(levels, monkeypatch):
    monkeypatch.setattr(levels._levels, "built", lambda: [])
    with pytest.raises(levels.UsageError, match="MINIBATCH_GNN_ARCH=x86-64-v2,x86-64-v3"):
        report(levels, "*")


def test_a_kernel_that_is_not_there_is_refused(levels):
    with pytest.raises(levels.UsageError, match="no kernel 'transposed'"):
        report(levels, "transposed")


def test_a_process_asks_for_its_level(levels):
    """In a process of its own, on the one build that is here."""
    module = importlib.reload(levels)
    with module.started("base") as side:
        assert side("make", "transpose_perm", "tiny")
        assert len(side("answer", 0, True)) == 32
        assert all(seconds > 0 for seconds in side("round", 0))


def test_a_digest_depends_on_each_number_and_its_kind():
    digest = importlib.import_module("bench.levels_side").digest
    one = np.arange(3.0)
    values = [one, one.astype(np.float32), one[:2], [one, 1], {"a": one, "b": 2}, one + 1e-15, -one]
    assert len({digest(value) for value in values}) == len(values)
    assert digest([one, one]) == digest((one, one.copy()))
    with pytest.raises(TypeError, match="set"):
        digest({1, 2})
