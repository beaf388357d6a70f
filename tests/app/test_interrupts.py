"""Ctrl-C in the middle of a long kernel: it ends soon, and nothing is harmed."""

import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.runs

if os.name != "posix":
    pytest.skip("the test sends POSIX signals", allow_module_level=True)

SOON = 20  # seconds, of calls that would take minutes

# Rows that share their entries: much work on little memory. No public function makes such a block.
BEFORE = """
import signal, sys, zlib
import numpy as np
import fastimpl, refimpl
from fastimpl import Sampler

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a job in the background

def block(rows, sources, entries):
    start, indices = np.zeros(rows, np.int64), np.arange(entries, dtype=np.int32) % sources
    return refimpl.Block._trusted(start, start + sources, indices, sources, None)

def inputs(graph, f, dtype=np.float64):
    X = np.arange(graph.n_src * f, dtype=dtype).reshape(graph.n_src, f)
    return graph, np.ones(graph.e, dtype), X

edges = np.random.default_rng(1).integers(0, 300, (2000, 2))
GRAPH = refimpl.as_graph(np.concatenate([edges, edges[:, ::-1]]), n=300)
WALKS = Sampler("random_walk", r=100, h=30_000)
FRONTIER = Sampler("frontier", m=100, n=1_000_000)
"""
CALLS = {
    "spmm, row by row": (
        "args = inputs(block(400_000, 20_000, 20_000), 32)",
        "fastimpl.spmm(*args)",
    ),
    "spmm, part by part": (
        "args = inputs(block(1_000_000, 8_000, 8_000_000), 64, np.float32)",
        "fastimpl.spmm(*args)",
    ),
    "feature_propagate": (
        "args = inputs(block(400_000, 20_000, 20_000), 32)\n"
        "plan = fastimpl.partition.partition_plan(20_000, 32, 2, 2**20)",
        "fastimpl.partition.feature_propagate(*args, plan, 2)",
    ),
    "sample_many, walks": ("args = (GRAPH, WALKS, 1, 0, 4_000)", "fastimpl.sample_many(*args)"),
    "sample_many, frontier": (
        "args = (GRAPH, FRONTIER, 1, 0, 4_000)",
        "fastimpl.sample_many(*args)",
    ),
    "a pool in the background": (
        "args = (GRAPH, WALKS, 1)",
        "with fastimpl.SubgraphPool(*args, size=4_000, background=True) as pool: next(pool)",
    ),
}
AFTER = """
def digest():
    arrays = args[1:3] if isinstance(args[1], np.ndarray) else (GRAPH.indptr, GRAPH.indices)
    return [zlib.crc32(array) for array in arrays]

before = digest()
print("ready", flush=True)
try:
    CALL
except KeyboardInterrupt:
    short = Sampler("frontier", m=100, n=200)
    few, same = (gnn.sample_many(GRAPH, short, 1, 0, 3) for gnn in (fastimpl, refimpl))
    assert [s.nodes.tolist() for s in few] == [s.nodes.tolist() for s in same]
    small = inputs(GRAPH, 40)
    assert fastimpl.spmm(*small).tobytes() == refimpl.spmm(*small).tobytes()
    assert digest() == before
    print("interrupted, and well", flush=True)
"""


WORDS = """
import os, signal, sys, threading, time, traceback
import numpy as np
import {impl}

signal.signal(signal.SIGINT, signal.default_int_handler)
words = np.arange(10**8, dtype=np.uint64)
late, places = [], []
for wait in (0.05, 0.1, 0.15):
    def interrupt():
        time.sleep(wait)
        late.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        {impl}.streams.{call}
        thread.join()  # on a machine that is quicker, the interrupt comes here
    except KeyboardInterrupt as error:
        late[-1] = time.monotonic() - late[-1]
        places += [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    thread.join()
print(min(late), any(place.endswith("_streams.pyx") for place in places))
"""


@pytest.mark.parametrize("call", ["uniform(3, words)", "mix(words)", "below(3, words, 9)"])
@pytest.mark.parametrize("impl", ["refimpl", "fastimpl"])
def test_draws_of_many_words_end_within_a_second(impl, call):
    program = WORDS.format(impl=impl, call=call)
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    seconds, in_a_kernel = done.stdout.split()
    assert float(seconds) < 1
    assert in_a_kernel == str(impl == "fastimpl")  # it did not come after the kernel's end


@pytest.mark.parametrize("name", CALLS)
def test_a_long_kernel_ends_soon_after_ctrl_c(name):
    prepare, call = CALLS[name]
    program = "\n".join([BEFORE, prepare, AFTER.replace("CALL", call)])
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment
    ) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            with pytest.raises(subprocess.TimeoutExpired):  # it is under way
                child.wait(2)
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=SOON)
        finally:
            child.kill()
    assert (out, child.returncode) == ("interrupted, and well\n", 0)
