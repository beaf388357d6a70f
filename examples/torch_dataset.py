"""Sampled subgraphs as batches of a PyTorch model: python examples/torch_dataset.py

Needs the extra `torch`: python -m pip install -e '.[torch]'
"""

import argparse
import importlib
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

POOL = 4  # subgraphs sampled at a time, in parallel


class Batch(NamedTuple):
    """A graph with what its nodes have; edge i goes from source[i] to target[i]."""

    features: torch.Tensor
    labels: torch.Tensor
    source: torch.Tensor
    target: torch.Tensor


class Subgraphs(IterableDataset):
    """Subgraphs 0, 1, .., count - 1 of a run as batches, ready for training.

    Each worker of a DataLoader takes every so-many-th pool, so all of them together give the
    same subgraphs as one. Give the DataLoader multiprocessing_context="spawn": OpenMP's threads
    do not survive a fork, and fastimpl would wait for them for ever.
    """

    def __init__(self, gnn, data, sampler, count, seed=0):
        self.gnn = gnn.__name__  # a worker imports it: a module cannot be sent to a new process
        self.data, self.sampler, self.count, self.seed = data, sampler, count, seed
        self.features = data.inputs(data.train)
        self.labels = data.labels[data.train].astype(np.int64)

    def __iter__(self):
        gnn = importlib.import_module(self.gnn)
        worker = get_worker_info()
        number, workers = (worker.id, worker.num_workers) if worker else (0, 1)
        for first in range(number * POOL, self.count, workers * POOL):
            size = min(POOL, self.count - first)
            for sub in gnn.sample_many(self.data.train_graph, self.sampler, self.seed, first, size):
                yield as_batch(sub.graph, self.features[sub.nodes], self.labels[sub.nodes])


def as_batch(graph, features, labels):
    """Return a Graph of either package, with features and classes, as tensors."""
    target = np.repeat(np.arange(graph.n), graph.degrees())
    arrays = features, labels, graph.indices.astype(np.int64), target
    return Batch(*map(torch.from_numpy, arrays))


class SageLayer(nn.Module):
    """The mean of the neighbours and the node itself, each through its own matrix."""

    def __init__(self, width, wider):
        super().__init__()
        self.neighbours = nn.Linear(width, wider // 2, bias=False)
        self.itself = nn.Linear(width, wider // 2, bias=False)

    def forward(self, x, batch):
        ones = torch.ones(len(batch.target), 1)
        degrees = torch.zeros(len(x), 1).index_add(0, batch.target, ones).clamp(min=1)
        mean = torch.zeros_like(x).index_add(0, batch.target, x[batch.source]) / degrees
        return torch.relu(torch.cat([self.neighbours(mean), self.itself(x)], dim=1))


class Sage(nn.Module):
    """Two layers and a classifier."""

    def __init__(self, width, hidden, classes):
        super().__init__()
        self.layers = nn.ModuleList([SageLayer(width, hidden), SageLayer(hidden, hidden)])
        self.classifier = nn.Linear(hidden, classes)

    def forward(self, batch):
        x = batch.features
        for layer in self.layers:
            x = layer(x, batch)
        return self.classifier(x)


def train(gnn, data, count):
    """Train on `count` subgraphs; return the accuracy on the test nodes of the full graph."""
    torch.manual_seed(0)
    model = Sage(data.features.shape[1], 128, data.classes)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    subgraphs = Subgraphs(gnn, data, gnn.scaled_sampler(data.train_graph), count)
    for number, batch in enumerate(DataLoader(subgraphs, batch_size=None), start=1):
        loss = nn.functional.cross_entropy(model(batch), batch.labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number % 10 == 0:
            print(f"subgraph {number}: {len(batch.labels)} nodes, loss {loss.item():.3f}")
    whole = as_batch(data.graph, data.inputs(), data.labels.astype(np.int64))
    with torch.no_grad():
        right = model(whole).argmax(dim=1) == whole.labels
    return right[torch.from_numpy(data.test)].float().mean().item()


def main():
    """Train on a data set and print the accuracy."""
    parser = argparse.ArgumentParser(description="Train a PyTorch model on sampled subgraphs.")
    parser.add_argument("--data", default="communities", help="a data set with one class a node")
    parser.add_argument("--impl", default="fastimpl", help="fastimpl or refimpl")
    parser.add_argument("--subgraphs", type=int, default=60, help="how many to train on")
    arguments = parser.parse_args()
    gnn = importlib.import_module(arguments.impl)
    data = gnn.load_dataset(arguments.data)
    if data.multilabel:
        raise SystemExit("--data must have one class a node")
    accuracy = train(gnn, data, arguments.subgraphs)
    print(f"test accuracy: {accuracy:.4f}")


if __name__ == "__main__":
    main()
