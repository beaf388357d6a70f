"""The API of refimpl on Cython and OpenMP kernels. `build_info()` says how it was built."""

import sys

from fastimpl import _openmp as _openmp  # isort: skip -- before any kernel loads OpenMP
from fastimpl._build import build_info as build_info
from fastimpl.adjacency import row_norm
from fastimpl.graph import induced_subgraph, transpose_perm
from fastimpl.layers.dense import dense_backward, dense_forward
from fastimpl.layers.sage import sage_backward, sage_forward
from fastimpl.losses import sigmoid_cross_entropy, softmax_cross_entropy
from fastimpl.optimizers import adam_step
from fastimpl.propagation import spmm
from fastimpl.samplers.frontier import frontier
from fastimpl.samplers.pin_tile import pin_tile
from fastimpl.samplers.sampling import sample_many
from fastimpl.streams import below, key, mix, pick_without_replacement, uniform
from refimpl import (
    Adjacency,
    Counters,
    Dataset,
    DenseGradients,
    EpochRecord,
    Graph,
    Loss,
    Macs,
    NodeSample,
    Profile,
    SageGradients,
    SageOrder,
    SageOutput,
    Sampler,
    Subgraph,
    TrainConfig,
    TrainResult,
    TrainState,
    as_graph,
    as_seed,
    f1_micro,
    load_checkpoint,
    load_dataset,
    sage_macs,
    sage_order,
    save_checkpoint,
    scaled_sampler,
)
from refimpl._bind import bind
from refimpl.training import pool, trainer

SubgraphPool = bind(pool.SubgraphPool, sys.modules[__name__])
Trainer = bind(trainer.Trainer, sys.modules[__name__])
train = bind(trainer.train, sys.modules[__name__])

compiled = (
    "adam_step",
    "below",
    "dense_backward",
    "dense_forward",
    "frontier",
    "induced_subgraph",
    "key",
    "mix",
    "pick_without_replacement",
    "pin_tile",
    "row_norm",
    "sage_backward",
    "sage_forward",
    "sample_many",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "spmm",
    "transpose_perm",
    "uniform",
)

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
