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
from fastimpl.samplers.alias import alias_build
from fastimpl.samplers.bucket import bucket
from fastimpl.samplers.dashboard import dashboard
from fastimpl.samplers.edge import edge
from fastimpl.samplers.forest_fire import forest_fire
from fastimpl.samplers.frontier import frontier
from fastimpl.samplers.multiple_walks import multiple_walks
from fastimpl.samplers.pin_tile import pin_tile
from fastimpl.samplers.random_walk import random_walk
from fastimpl.samplers.sampling import sample_many
from fastimpl.streams import below, key, mix, pick_without_replacement, uniform
from refimpl import (
    Adjacency,
    AliasTable,
    Calibration,
    CleanupModels,
    Cleanups,
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
    SampleCosts,
    Sampler,
    SamplingCounts,
    Subgraph,
    Theorem1Steps,
    TrainConfig,
    TrainResult,
    TrainState,
    aggregator,
    alias_draw,
    as_graph,
    as_seed,
    cleanups_from_graph,
    clip_nodes,
    expected_rounds,
    f1_micro,
    karate,
    kronecker,
    load_checkpoint,
    load_dataset,
    loss_weights,
    memory_factor,
    power_law,
    predicted_cleanups,
    predicted_moves,
    sage_macs,
    sage_order,
    sample_cost,
    sample_cost_from_graph,
    save_checkpoint,
    scaled_sampler,
    size_biased_degree,
    theorem1_pmax,
    theorem1_pmax_lanes,
    theorem1_speedup,
    theorem1_steps,
)
from refimpl._bind import bind
from refimpl.cost_models import calibration
from refimpl.samplers import normalization
from refimpl.training import pool, trainer

calibrate = bind(calibration.calibrate, sys.modules[__name__])
estimate_counts = bind(normalization.estimate_counts, sys.modules[__name__])
SubgraphPool = bind(pool.SubgraphPool, sys.modules[__name__])
Trainer = bind(trainer.Trainer, sys.modules[__name__])
train = bind(trainer.train, sys.modules[__name__])

compiled = (
    "adam_step",
    "alias_build",
    "below",
    "bucket",
    "dashboard",
    "dense_backward",
    "dense_forward",
    "edge",
    "forest_fire",
    "frontier",
    "induced_subgraph",
    "key",
    "mix",
    "multiple_walks",
    "pick_without_replacement",
    "pin_tile",
    "random_walk",
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
    "AliasTable",
    "Calibration",
    "CleanupModels",
    "Cleanups",
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
    "SampleCosts",
    "Sampler",
    "SamplingCounts",
    "Subgraph",
    "SubgraphPool",
    "Theorem1Steps",
    "TrainConfig",
    "TrainResult",
    "TrainState",
    "Trainer",
    "adam_step",
    "aggregator",
    "alias_build",
    "alias_draw",
    "as_graph",
    "as_seed",
    "below",
    "bucket",
    "calibrate",
    "cleanups_from_graph",
    "clip_nodes",
    "dashboard",
    "dense_backward",
    "dense_forward",
    "edge",
    "estimate_counts",
    "expected_rounds",
    "f1_micro",
    "forest_fire",
    "frontier",
    "induced_subgraph",
    "karate",
    "key",
    "kronecker",
    "load_checkpoint",
    "load_dataset",
    "loss_weights",
    "memory_factor",
    "mix",
    "multiple_walks",
    "pick_without_replacement",
    "pin_tile",
    "power_law",
    "predicted_cleanups",
    "predicted_moves",
    "random_walk",
    "row_norm",
    "sage_backward",
    "sage_forward",
    "sage_macs",
    "sage_order",
    "sample_cost",
    "sample_cost_from_graph",
    "sample_many",
    "save_checkpoint",
    "scaled_sampler",
    "sigmoid_cross_entropy",
    "size_biased_degree",
    "softmax_cross_entropy",
    "spmm",
    "theorem1_pmax",
    "theorem1_pmax_lanes",
    "theorem1_speedup",
    "theorem1_steps",
    "train",
    "transpose_perm",
    "uniform",
]
