"""A step of torch_geometric's layers under DistributedDataParallel with gloo, on 2 processes.

python -m bench.peers.data_parallel JSON starts both and prints what it measured. The contestants
take turns: one process without it, and both with it, in buckets of each of some sizes. A process
that has nothing to do sleeps.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch.nn import Linear, Module, ModuleList, functional
from torch.nn.parallel import DistributedDataParallel

from bench.peers.geometric import adjacency, layer
from bench.timing import elapsed, in_turns

ALONE = "1 process"
BUCKETS = (25, 1)  # MiB: the default, and one that lets messages begin before the end
NAP = 0.001


class Sage(Module):
    """Two layers and a classifier."""

    def __init__(self, f, hidden, classes):
        super().__init__()
        self.layers = ModuleList(layer("sage", width, hidden)[0] for width in (f, hidden))
        self.top = Linear(hidden, classes, bias=False)

    def forward(self, X, A):
        for made in self.layers:
            X = made(X, A).relu()
        return self.top(X)


class Contestant:
    """A model and its optimiser on one subgraph."""

    def __init__(self, options, held, bucket=None):
        torch.manual_seed(0)
        self.X, self.A = torch.from_numpy(held["X"]), adjacency("sage", held)
        self.labels = torch.from_numpy(held["labels"])
        self.model = Sage(self.X.shape[1], options["hidden"], options["classes"])
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01, foreach=True)
        if bucket is not None:
            self.model = DistributedDataParallel(
                self.model, bucket_cap_mb=bucket, gradient_as_bucket_view=True, static_graph=True
            )

    def steps(self, count):
        """Take some steps."""
        for _ in range(count):
            self.optimizer.zero_grad(set_to_none=True)
            loss = functional.cross_entropy(self.model(self.X, self.A), self.labels)
            loss.backward()
            self.optimizer.step()


def measured(options, rank, folder):
    """Return seconds a step of each contestant in each round."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder}/store", rank=rank, world_size=2)
    held, count = dict(np.load(options["held"])), options["steps"]
    pairs = {bucket: Contestant(options, held, bucket) for bucket in BUCKETS}
    turns = iter(range(10**9))
    if rank:
        while (bucket := _told(folder, next(turns))) is not None:
            pairs[bucket].steps(count)
        return None
    alone = Contestant(options, held)

    def together(bucket, _):
        _tell(folder, next(turns), bucket)
        return elapsed(pairs[bucket].steps, count) / count

    tasks = {f"2 processes, buckets of {b} MiB": partial(together, b) for b in BUCKETS}
    tasks[ALONE] = lambda _: elapsed(alone.steps, count) / count
    found = in_turns(tasks, options["rounds"], warm_up=1)
    _tell(folder, next(turns), None)
    return found


def _tell(folder, turn, what):
    path = Path(folder, f"turn{turn}")
    path.with_suffix(".new").write_text(json.dumps(what))
    path.with_suffix(".new").replace(path)


def _told(folder, turn):
    path = Path(folder, f"turn{turn}")
    while not path.exists():
        time.sleep(NAP)
    return json.loads(path.read_text())


def main():
    """Measure what the argument says; start the other process."""
    options = json.loads(sys.argv[1])
    if "folder" in options:  # the other one
        measured(options, 1, options["folder"])
        return
    with tempfile.TemporaryDirectory() as folder:
        mine = [sys.executable, "-m", "bench.peers.data_parallel"]
        other = subprocess.Popen([*mine, json.dumps({**options, "folder": folder})], env=os.environ)
        found = measured(options, 0, folder)
        if other.wait():
            sys.exit("the other process failed")
    print(json.dumps({"torch": torch.__version__, "found": found}))


if __name__ == "__main__":
    main()
