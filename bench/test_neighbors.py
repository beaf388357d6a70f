"""Sampled neighbours: of layer sampling, of FreshGNN, and the batches that they start from."""

import numpy as np

from bench import inputs
from bench.answers import as_other
from bench.case import Bench, Task
from refimpl.streams import LAYER, key

FANOUTS = [10, 5]
EPOCH = {"seed": inputs.SEED, "epoch": 0}


def roots_of(size):
    """Return the roots, and how the report names them with the graph."""
    m = inputs.SIZES[size].m
    text = f"{m:,} roots, fan-outs 10 5, of {inputs.graph_text(inputs.parent(size))}"
    return np.arange(m), text


def layer_tasks(size):
    """Yield layer sampling."""
    roots, text = roots_of(size)
    args = {"graph": inputs.parent(size), "roots": roots, "fanouts": FANOUTS}
    yield Task(text, {**args, "key": key(inputs.SEED, LAYER, 0, 0)}, as_other("layer_sample"))


def mfg_tasks(size):
    """Yield a message-flow graph."""
    roots, text = roots_of(size)
    args = {"graph": inputs.parent(size), "roots": roots, "fanouts": FANOUTS, **EPOCH}
    yield Task(text, {**args, "batch": 0}, as_other("sample_mfg"))


def many_tasks(size):
    """Yield message-flow graphs of four batches."""
    roots, text = roots_of(size)
    batches = np.array_split(roots, 4)
    args = {"graph": inputs.parent(size), "batches": batches, "fanouts": FANOUTS, **EPOCH}
    yield Task(f"4 batches of {text}", args, as_other("sample_mfg_many"))


def batch_tasks(size):
    """Yield the batches of an epoch."""
    n = inputs.parent(size).n
    args = {"ids": np.arange(n), "batch_size": inputs.SIZES[size].m, **EPOCH}
    yield Task(f"{n:,} nodes by {inputs.SIZES[size].m:,}", args, as_other("epoch_batches"))


BENCHES = (
    Bench("layer_sample", layer_tasks),
    Bench("sample_mfg", mfg_tasks),
    Bench("sample_mfg_many", many_tasks),
    Bench("epoch_batches", batch_tasks),
)


def test_neighbors(replay):
    """Time each kernel of `BENCHES`."""
    replay()
