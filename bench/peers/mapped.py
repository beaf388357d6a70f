"""Steps of GraphSAGE in torch, with the features of a folder of `convert` mapped.

Run by an interpreter that has torch: ``python -m bench.peers.mapped JSON``. Neighbours are sampled
by fastimpl from the mapped graph; gathering features and the layers are torch's. The answer is a
line of JSON: the seconds of each step.
"""

import json
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
import torch

import fastimpl
from refimpl.loader import open_features


class Sage(torch.nn.Module):
    """The layers of GraphSAGE with mean aggregation, neighbours' part and own part side by side."""

    def __init__(self, widths):
        super().__init__()
        pairs = list(zip(widths[:-2], widths[1:-1], strict=True))
        self.neigh, self.own = (
            torch.nn.ModuleList(torch.nn.Linear(a, b // 2, bias=False) for a, b in pairs)
            for _ in range(2)
        )
        self.last = torch.nn.Linear(widths[-2], widths[-1])

    def forward(self, blocks, X):
        for block, neigh, own in zip(blocks, self.neigh, self.own, strict=True):
            mean = block @ X
            X = torch.relu(torch.cat([neigh(mean), own(X[: len(mean)])], dim=1))
        return self.last(X)


def means(block):
    """Return the sparse matrix that takes the mean over each row of a block."""
    lengths = block.end - block.start
    offsets = torch.from_numpy(np.append(block.start, block.end[-1:]))
    values = torch.from_numpy(np.repeat(1 / np.maximum(lengths, 1), lengths).astype(np.float32))
    shape = len(lengths), block.n_src
    return torch.sparse_csr_tensor(offsets, torch.from_numpy(block.indices), values, shape)


def main(folder, steps, batch, fanouts, hidden, readahead):
    """Train; return the seconds of each step.

    Unless `readahead` is true, the system is told to expect random reads of features.
    """
    dataset = fastimpl.load_dataset(folder)
    mapped = open_features(Path(folder, "features.npy"), readahead=readahead)
    X = torch.from_numpy(mapped)
    y = torch.from_numpy(np.asarray(dataset.labels[dataset.train], np.int64))
    order = np.random.default_rng(0).permutation(len(dataset.train))
    model = Sage([X.shape[1], *[hidden] * len(fanouts), dataset.classes])
    adam = torch.optim.Adam(model.parameters())
    seconds = []
    for step in range(steps):
        begin = perf_counter()
        chosen = order[step * batch : (step + 1) * batch]
        roots = dataset.train[chosen]
        mfg = fastimpl.sample_mfg(dataset.graph, roots, fanouts, seed=0, epoch=0, batch=step)
        inputs = X[torch.from_numpy(mfg.nodes[0].astype(np.int64))].float()
        loss = torch.nn.functional.cross_entropy(
            model([means(block) for block in mfg.blocks], inputs), y[chosen]
        )
        adam.zero_grad()
        loss.backward()
        adam.step()
        seconds.append(perf_counter() - begin)
    return seconds


if __name__ == "__main__":
    print(json.dumps(main(**json.loads(sys.argv[1]))))
