"""Readable reference implementations; docs/algorithms.toml maps each paper line to its code."""

import sys

from refimpl import typed
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
from refimpl.history import cache, hotness, performance, policy
from refimpl.history.compaction import LiveLayers, live_layers
from refimpl.history.entries import Entries, cache_admit, cache_fetch, cache_lookup, cache_read
from refimpl.history.feature_files import IoCounters, io_counters, open_features, write_features
from refimpl.history.feature_store import FeatureStore
from refimpl.history.features import (
    Fetched,
    FetchPlan,
    Message,
    Trace,
    build_plan,
    fetch_one_sided,
    fetch_two_sided,
    gather_rows,
    one_sided_seconds,
    two_sided_seconds,
)
from refimpl.history.hotness import SamplingProfile, degree_hotness, fair_share
from refimpl.history.mpi import DistributedFeatures, MPIComm, SimComm
from refimpl.history.performance import PerformancePlan
from refimpl.history.policy import PolicyCounts, row_norms, select_stable
from refimpl.history.pruning import PruneResult, io_saving, prune_mfg
from refimpl.history.rounds import Topology, Transfer, pairwise_exchange, round_bound, schedule
from refimpl.history.simulation import Simulation, simulate
from refimpl.layers.dense import DenseGradients, dense_backward, dense_forward
from refimpl.layers.gat import GatGradients, GatOutput, gat_backward, gat_forward
from refimpl.layers.gcn import GcnGradients, GcnOutput, gcn_backward, gcn_forward
from refimpl.layers.mixhop import (
    MixHopGradients,
    MixHopOutput,
    mixhop_backward,
    mixhop_forward,
)
from refimpl.layers.rgcn import RgcnGradients, RgcnOutput, rgcn_backward, rgcn_forward
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
from refimpl.samplers.importance import (
    ImportanceLaw,
    ImportanceSample,
    fastgcn_sample,
    importance_law,
    ladies_sample,
)
from refimpl.samplers.layer import layer_sample
from refimpl.samplers.multiple_walks import multiple_walks
from refimpl.samplers.neighbor import epoch_batches, sample_mfg, sample_mfg_many
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
from refimpl.streams import (
    as_seed,
    below,
    floyd,
    key,
    mix,
    permutation,
    pick_without_replacement,
    uniform,
)
from refimpl.training import methods, model, pool, prefetch
from refimpl.training.checkpoints import load_checkpoint, save_checkpoint
from refimpl.training.clusters import grow_clusters
from refimpl.training.config import TrainConfig
from refimpl.training.datasets.dataset import Dataset
from refimpl.training.datasets.generators import kronecker, power_law
from refimpl.training.datasets.karate import karate
from refimpl.training.datasets.loading import load_dataset
from refimpl.training.model import Model, load_model, save_model
from refimpl.training.scaling import scaled_sampler
from refimpl.training.trainer import EpochRecord, TrainResult, TrainState
from refimpl.typed import TypedGraph, relation_blocks

calibrate = bind(calibration.calibrate, sys.modules[__name__])
BidirectionalCache = bind(cache.BidirectionalCache, sys.modules[__name__])
StaticSplitCache = bind(cache.StaticSplitCache, sys.modules[__name__])
policy_update = bind(policy.policy_update, sys.modules[__name__])
Prefetcher = bind(prefetch.Prefetcher, sys.modules[__name__])
plan_performance = bind(performance.plan_performance, sys.modules[__name__])
profile = bind(hotness.profile, sys.modules[__name__])
reverse_pagerank = bind(hotness.reverse_pagerank, sys.modules[__name__])
estimate_counts = bind(normalization.estimate_counts, sys.modules[__name__])
predict = bind(model.predict, sys.modules[__name__])
relation_norms = bind(typed.relation_norms, sys.modules[__name__])
SubgraphPool = bind(pool.SubgraphPool, sys.modules[__name__])
make_trainer = bind(methods.make_trainer, sys.modules[__name__])
train = bind(methods.train, sys.modules[__name__])

__all__ = [
    "Adjacency",
    "AliasTable",
    "BidirectionalCache",
    "Block",
    "Calibration",
    "ChainOrder",
    "CleanupModels",
    "Cleanups",
    "Counters",
    "Dataset",
    "DenseGradients",
    "DistributedFeatures",
    "Entries",
    "EpochRecord",
    "FeatureStore",
    "FetchPlan",
    "Fetched",
    "GatGradients",
    "GatOutput",
    "GcnGradients",
    "GcnOutput",
    "Graph",
    "IoCounters",
    "ImportanceLaw",
    "ImportanceSample",
    "LayerSamplingCases",
    "LiveLayers",
    "Loss",
    "MFG",
    "MPIComm",
    "Macs",
    "Message",
    "MixHopGradients",
    "MixHopOutput",
    "Model",
    "NodeSample",
    "PerformancePlan",
    "Plan",
    "PolicyCounts",
    "Prefetcher",
    "Profile",
    "PruneResult",
    "RgcnGradients",
    "RgcnOutput",
    "RowL2Output",
    "RowStandardizeGradients",
    "RowStandardizeOutput",
    "SageGradients",
    "SageOutput",
    "SampleCosts",
    "Sampler",
    "SamplingCounts",
    "SamplingProfile",
    "SimComm",
    "Simulation",
    "StaticSplitCache",
    "Subgraph",
    "SubgraphPool",
    "Theorem1Steps",
    "Theorem2",
    "Topology",
    "Trace",
    "TrainConfig",
    "TrainResult",
    "TrainState",
    "Transfer",
    "TypedGraph",
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
    "build_plan",
    "cache_admit",
    "cache_fetch",
    "cache_lookup",
    "cache_read",
    "calibrate",
    "chain_macs",
    "chain_order",
    "cleanups_from_graph",
    "clip_nodes",
    "dashboard",
    "degree_hotness",
    "dense_backward",
    "dense_forward",
    "dense_macs",
    "dropout",
    "edge",
    "epoch_batches",
    "estimate_counts",
    "expected_rounds",
    "f1_micro",
    "fair_share",
    "fastgcn_sample",
    "feature_propagate",
    "fetch_one_sided",
    "fetch_two_sided",
    "floyd",
    "forest_fire",
    "forward_work",
    "frontier",
    "g_comm",
    "g_comp",
    "gat_backward",
    "gat_forward",
    "gat_macs",
    "gather_rows",
    "gcn_backward",
    "gcn_forward",
    "graph_sampling_work",
    "grow_clusters",
    "importance_law",
    "induced_subgraph",
    "io_counters",
    "io_saving",
    "karate",
    "key",
    "kronecker",
    "ladies_sample",
    "layer_sample",
    "layer_sampling_cases",
    "layer_sampling_work",
    "live_layers",
    "load_checkpoint",
    "load_dataset",
    "load_model",
    "loop_norm",
    "loss_weights",
    "make_trainer",
    "memory_factor",
    "mix",
    "mixhop_backward",
    "mixhop_depth",
    "mixhop_forward",
    "mixhop_macs",
    "multiple_walks",
    "one_sided_seconds",
    "open_features",
    "pairwise_exchange",
    "partition_order",
    "partition_plan",
    "permutation",
    "pick_without_replacement",
    "pin_tile",
    "plan_performance",
    "policy_update",
    "power_law",
    "predict",
    "predicted_cleanups",
    "predicted_moves",
    "profile",
    "prune_mfg",
    "random_walk",
    "relation_blocks",
    "relation_norms",
    "reverse_pagerank",
    "rgcn_backward",
    "rgcn_forward",
    "round_bound",
    "row_l2_backward",
    "row_l2_forward",
    "row_norm",
    "row_norms",
    "row_standardize_backward",
    "row_standardize_forward",
    "sage_backward",
    "sage_forward",
    "sample_cost",
    "sample_cost_from_graph",
    "sample_many",
    "sample_mfg",
    "sample_mfg_many",
    "save_checkpoint",
    "save_model",
    "scaled_sampler",
    "schedule",
    "select_stable",
    "sigmoid_cross_entropy",
    "simulate",
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
    "two_sided_seconds",
    "uniform",
    "unique_nodes",
    "write_features",
]
