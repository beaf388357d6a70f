"""Arrays that another thread changes during a call, and mapped files that become shorter.

Each in a process of its own: what goes wrong here ends one.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HAMMER = Path(__file__).parents[1] / "hammer.py"
CALLS = 100

pytestmark = pytest.mark.runs


def test_no_kernel_trusts_an_array_that_another_thread_changes():
    """The last kernel named is the one that died."""
    done = subprocess.run([sys.executable, HAMMER, str(CALLS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {name: (int(a), int(b)) for name, a, b in map(str.split, done.stdout.splitlines())}
    assert len(counts) > 10
    assert all(returned + refused == CALLS for returned, refused in counts.values())
    assert sum(returned for returned, _ in counts.values()) > CALLS


SHORTENED = """
import importlib, os, sys
import numpy as np

name, path = sys.argv[1:]
gnn = importlib.import_module(name)
gnn.loader.write_features(path, np.ones((5000, 16), np.float32))
X = gnn.loader.open_features(path)
store = gnn.loader.FeatureStore.of(X, 2)
plan, ids = gnn.loader.plan_fetch(store, [0, 4999]), np.arange(5000)
cache = gnn.history.BidirectionalCache(5000, 16, 16, 1, floats=16 * 5000, t_stale=None)


def distributed(how):
    def fetch(comm):
        with gnn.loader.DistributedFeatures(comm, X) as features:
            getattr(features, how)([4999])

    gnn.loader.SimComm.run(1, fetch)


gathers = [
    lambda: gnn.loader.gather_rows(X, [4999]),
    lambda: gnn.loader.gather_rows(X[4990:], [9]),
    lambda: gnn.loader.gather_rows(np.asarray(X), [4999]),
    lambda: gnn.loader.fetch_one_sided(plan),
    lambda: gnn.loader.fetch_two_sided(plan),
    lambda: distributed("fetch_one_sided"),
    lambda: distributed("fetch_two_sided"),
    lambda: cache.fill(X, ids),
]
for gather in gathers:
    gather()
os.truncate(path, 4096)
for gather in gathers:
    try:
        gather()
    except OSError as error:
        print(error)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows does not cut mapped files")
def test_a_mapped_file_that_became_shorter(gnn, tmp_path):
    path = tmp_path / "features.npy"
    command = [sys.executable, "-c", SHORTENED, gnn.__name__, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = f"{path} was {5000 * 16 * 4 + 128} bytes long when it was opened, and now is 4096"
    assert done.stdout.splitlines() == [said] * 8
