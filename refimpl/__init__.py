"""Readable reference implementations; docs/algorithms.toml maps each paper line to its code."""

import sys

from refimpl._bind import bind
from refimpl.adjacency import Adjacency, row_norm
from refimpl.graph import Counters, Graph, Subgraph, as_graph, induced_subgraph, transpose_perm
from refimpl.layers.dense import DenseGradients, dense_backward, dense_forward
from refimpl.layers.sage import SageGradients, SageOutput, sage_backward, sage_forward
from refimpl.losses import Loss, sigmoid_cross_entropy, softmax_cross_entropy
from refimpl.metrics import f1_micro
from refimpl.optimizers import adam_step
from refimpl.profiling import Profile
from refimpl.propagation import spmm
from refimpl.samplers.frontier import frontier
from refimpl.samplers.nodes import NodeSample
from refimpl.samplers.pin_tile import pin_tile
from refimpl.samplers.sampling import Sampler, sample_many
from refimpl.scheduling import Macs, SageOrder, sage_macs, sage_order
from refimpl.streams import as_seed, below, key, mix, pick_without_replacement, uniform
from refimpl.training import pool, trainer
from refimpl.training.checkpoints import load_checkpoint, save_checkpoint
from refimpl.training.config import TrainConfig, scaled_sampler
from refimpl.training.datasets.dataset import Dataset
from refimpl.training.datasets.loading import load_dataset
from refimpl.training.trainer import EpochRecord, TrainResult, TrainState

SubgraphPool = bind(pool.SubgraphPool, sys.modules[__name__])
Trainer = bind(trainer.Trainer, sys.modules[__name__])
train = bind(trainer.train, sys.modules[__name__])

__all__ = [
    "Adjacency",
    "Counters",
    "Dataset",
    "DenseGradients",
    "EpochRecord",
    "Graph",
    "Loss",
    "Macs",
    "NodeSample",
    "Profile",
    "SageGradients",
    "SageOrder",
    "SageOutput",
    "Sampler",
    "Subgraph",
    "SubgraphPool",
    "TrainConfig",
    "TrainResult",
    "TrainState",
    "Trainer",
    "adam_step",
    "as_graph",
    "as_seed",
    "below",
    "dense_backward",
    "dense_forward",
    "f1_micro",
    "frontier",
    "induced_subgraph",
    "key",
    "load_checkpoint",
    "load_dataset",
    "mix",
    "pick_without_replacement",
    "pin_tile",
    "row_norm",
    "sage_backward",
    "sage_forward",
    "sage_macs",
    "sage_order",
    "sample_many",
    "save_checkpoint",
    "scaled_sampler",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "spmm",
    "train",
    "transpose_perm",
    "uniform",
]
