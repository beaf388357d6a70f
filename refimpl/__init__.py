"""Readable reference implementations; docs/algorithms.toml maps each paper line to its code."""

import sys

from refimpl._bind import bind
from refimpl.adjacency import (
    Adjacency,
    add_self_loops,
    block_norm,
    loop_norm,
    row_norm,
    sym_norm,
)
from refimpl.block import MFG, Block, transpose_block
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
from refimpl.cost_models.layer_sampling import (
    LayerSamplingCases,
    forward_work,
    graph_sampling_work,
    layer_sampling_cases,
    layer_sampling_work,
    unique_nodes,
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
from refimpl.cost_models.theorem2 import Theorem2, g_comm, g_comp, theorem2, theorem2_Qf
from refimpl.graph import Counters, Graph, Subgraph, as_graph, induced_subgraph, transpose_perm
from refimpl.layers.dense import DenseGradients, dense_backward, dense_forward
from refimpl.layers.gat import GatGradients, GatOutput, gat_backward, gat_forward
from refimpl.layers.gcn import GcnGradients, GcnOutput, gcn_backward, gcn_forward
from refimpl.layers.mixhop import (
    MixHopGradients,
    MixHopOutput,
    mixhop_backward,
    mixhop_forward,
)
from refimpl.layers.rows import (
    RowL2Output,
    RowStandardizeGradients,
    RowStandardizeOutput,
    dropout,
    row_l2_backward,
    row_l2_forward,
    row_standardize_backward,
    row_standardize_forward,
)
from refimpl.layers.sage import SageGradients, SageOutput, sage_backward, sage_forward
from refimpl.losses import Loss, sigmoid_cross_entropy, softmax_cross_entropy
from refimpl.metrics import f1_micro
from refimpl.optimizers import adam_step
from refimpl.partition import (
    Plan,
    feature_propagate,
    partition_order,
    partition_plan,
)
from refimpl.profiling import Profile
from refimpl.propagation import spmm, spmm_t
from refimpl.samplers import normalization
from refimpl.samplers.alias import AliasTable, alias_build, alias_draw
from refimpl.samplers.bucket import bucket
from refimpl.samplers.clip import clip_nodes
from refimpl.samplers.dashboard import dashboard
from refimpl.samplers.edge import edge
from refimpl.samplers.forest_fire import forest_fire
from refimpl.samplers.frontier import frontier
from refimpl.samplers.layer import layer_sample
from refimpl.samplers.multiple_walks import multiple_walks
from refimpl.samplers.nodes import NodeSample
from refimpl.samplers.normalization import SamplingCounts, aggregator, loss_weights
from refimpl.samplers.pin_tile import pin_tile
from refimpl.samplers.random_walk import random_walk
from refimpl.samplers.sampling import Sampler, sample_many
from refimpl.scheduling import (
    ChainOrder,
    Macs,
    chain_macs,
    chain_order,
    dense_macs,
    gat_macs,
    mixhop_depth,
    mixhop_macs,
)
from refimpl.streams import as_seed, below, key, mix, pick_without_replacement, uniform
from refimpl.training import model, pool, trainer
from refimpl.training.checkpoints import load_checkpoint, save_checkpoint
from refimpl.training.config import TrainConfig, scaled_sampler
from refimpl.training.datasets.dataset import Dataset
from refimpl.training.datasets.generators import kronecker, power_law
from refimpl.training.datasets.karate import karate
from refimpl.training.datasets.loading import load_dataset
from refimpl.training.model import Model, load_model, save_model
from refimpl.training.trainer import EpochRecord, TrainResult, TrainState

calibrate = bind(calibration.calibrate, sys.modules[__name__])
estimate_counts = bind(normalization.estimate_counts, sys.modules[__name__])
predict = bind(model.predict, sys.modules[__name__])
SubgraphPool = bind(pool.SubgraphPool, sys.modules[__name__])
Trainer = bind(trainer.Trainer, sys.modules[__name__])
train = bind(trainer.train, sys.modules[__name__])

__all__ = [
    "Adjacency",
    "AliasTable",
    "Block",
    "Calibration",
    "ChainOrder",
    "CleanupModels",
    "Cleanups",
    "Counters",
    "Dataset",
    "DenseGradients",
    "EpochRecord",
    "GatGradients",
    "GatOutput",
    "GcnGradients",
    "GcnOutput",
    "Graph",
    "LayerSamplingCases",
    "Loss",
    "MFG",
    "Macs",
    "Model",
    "MixHopGradients",
    "MixHopOutput",
    "NodeSample",
    "Plan",
    "Profile",
    "RowL2Output",
    "RowStandardizeGradients",
    "RowStandardizeOutput",
    "SageGradients",
    "SageOutput",
    "SampleCosts",
    "Sampler",
    "SamplingCounts",
    "Subgraph",
    "SubgraphPool",
    "Theorem1Steps",
    "Theorem2",
    "TrainConfig",
    "TrainResult",
    "TrainState",
    "Trainer",
    "adam_step",
    "add_self_loops",
    "aggregator",
    "alias_build",
    "alias_draw",
    "as_graph",
    "as_seed",
    "below",
    "block_norm",
    "bucket",
    "calibrate",
    "chain_macs",
    "chain_order",
    "cleanups_from_graph",
    "clip_nodes",
    "dashboard",
    "dense_backward",
    "dense_forward",
    "dense_macs",
    "dropout",
    "edge",
    "estimate_counts",
    "expected_rounds",
    "f1_micro",
    "feature_propagate",
    "forest_fire",
    "forward_work",
    "frontier",
    "g_comm",
    "g_comp",
    "gat_backward",
    "gat_forward",
    "gat_macs",
    "gcn_backward",
    "gcn_forward",
    "graph_sampling_work",
    "induced_subgraph",
    "karate",
    "key",
    "kronecker",
    "layer_sample",
    "layer_sampling_cases",
    "layer_sampling_work",
    "load_checkpoint",
    "load_dataset",
    "load_model",
    "loop_norm",
    "loss_weights",
    "memory_factor",
    "mix",
    "mixhop_backward",
    "mixhop_depth",
    "mixhop_forward",
    "mixhop_macs",
    "multiple_walks",
    "partition_order",
    "partition_plan",
    "pick_without_replacement",
    "pin_tile",
    "power_law",
    "predict",
    "predicted_cleanups",
    "predicted_moves",
    "random_walk",
    "row_l2_backward",
    "row_l2_forward",
    "row_norm",
    "row_standardize_backward",
    "row_standardize_forward",
    "sage_backward",
    "sage_forward",
    "sample_cost",
    "sample_cost_from_graph",
    "sample_many",
    "save_checkpoint",
    "save_model",
    "scaled_sampler",
    "sigmoid_cross_entropy",
    "size_biased_degree",
    "softmax_cross_entropy",
    "spmm",
    "spmm_t",
    "sym_norm",
    "theorem1_pmax",
    "theorem1_pmax_lanes",
    "theorem1_speedup",
    "theorem1_steps",
    "theorem2",
    "theorem2_Qf",
    "train",
    "transpose_block",
    "transpose_perm",
    "uniform",
    "unique_nodes",
]
