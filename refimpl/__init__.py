"""Readable reference implementations; docs/algorithms.toml maps each paper line to its code."""

import sys

from refimpl._bind import bind
from refimpl.adjacency import Adjacency, row_norm
from refimpl.cost_models import calibration
from refimpl.cost_models.calibration import Calibration
from refimpl.cost_models.cleanups import (
    CleanupModels,
    Cleanups,
    cleanups_from_graph,
    predicted_cleanups,
    predicted_moves,
    size_biased_degree,
)
from refimpl.cost_models.sampling import (
    SampleCosts,
    expected_rounds,
    memory_factor,
    sample_cost,
    sample_cost_from_graph,
)
from refimpl.cost_models.theorem1 import (
    Theorem1Steps,
    theorem1_pmax,
    theorem1_pmax_lanes,
    theorem1_speedup,
    theorem1_steps,
)
from refimpl.graph import Counters, Graph, Subgraph, as_graph, induced_subgraph, transpose_perm
from refimpl.layers.dense import DenseGradients, dense_backward, dense_forward
from refimpl.layers.sage import SageGradients, SageOutput, sage_backward, sage_forward
from refimpl.losses import Loss, sigmoid_cross_entropy, softmax_cross_entropy
from refimpl.metrics import f1_micro
from refimpl.optimizers import adam_step
from refimpl.profiling import Profile
from refimpl.propagation import spmm
from refimpl.samplers import normalization
from refimpl.samplers.alias import AliasTable, alias_build, alias_draw
from refimpl.samplers.bucket import bucket
from refimpl.samplers.clip import clip_nodes
from refimpl.samplers.dashboard import dashboard
from refimpl.samplers.edge import edge
from refimpl.samplers.forest_fire import forest_fire
from refimpl.samplers.frontier import frontier
from refimpl.samplers.multiple_walks import multiple_walks
from refimpl.samplers.nodes import NodeSample
from refimpl.samplers.normalization import SamplingCounts, aggregator, loss_weights
from refimpl.samplers.pin_tile import pin_tile
from refimpl.samplers.random_walk import random_walk
from refimpl.samplers.sampling import Sampler, sample_many
from refimpl.scheduling import Macs, SageOrder, sage_macs, sage_order
from refimpl.streams import as_seed, below, key, mix, pick_without_replacement, uniform
from refimpl.training import pool, trainer
from refimpl.training.checkpoints import load_checkpoint, save_checkpoint
from refimpl.training.config import TrainConfig, scaled_sampler
from refimpl.training.datasets.dataset import Dataset
from refimpl.training.datasets.generators import kronecker, power_law
from refimpl.training.datasets.karate import karate
from refimpl.training.datasets.loading import load_dataset
from refimpl.training.trainer import EpochRecord, TrainResult, TrainState

calibrate = bind(calibration.calibrate, sys.modules[__name__])
estimate_counts = bind(normalization.estimate_counts, sys.modules[__name__])
SubgraphPool = bind(pool.SubgraphPool, sys.modules[__name__])
Trainer = bind(trainer.Trainer, sys.modules[__name__])
train = bind(trainer.train, sys.modules[__name__])

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
