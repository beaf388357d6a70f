"""Readable reference implementations; docs/algorithms.toml maps each paper line to its code.

The names most used stand here; all others in their topics: `refimpl.streams.key`,
`refimpl.cost_models.theorem1_pmax`, `refimpl.lab.data.kronecker`.
"""

from refimpl._support import mpi_start as _mpi_start  # isort: skip  # noqa: F401 -- before all
from refimpl._support import adversarial as _adversarial  # isort: skip  # noqa: F401 -- before any array
from refimpl import (
    adjacency as adjacency,
)
from refimpl import (
    block as block,
)
from refimpl import (
    cost_models as cost_models,
)
from refimpl import (
    graph as graph,
)
from refimpl import (
    history as history,
)
from refimpl import (
    lab as lab,
)
from refimpl import (
    layers as layers,
)
from refimpl import (
    loader as loader,
)
from refimpl import (
    losses as losses,
)
from refimpl import (
    metrics as metrics,
)
from refimpl import (
    optimizers as optimizers,
)
from refimpl import (
    partition as partition,
)
from refimpl import (
    profiling as profiling,
)
from refimpl import (
    propagation as propagation,
)
from refimpl import (
    samplers as samplers,
)
from refimpl import (
    scheduling as scheduling,
)
from refimpl import (
    streams as streams,
)
from refimpl import (
    training as training,
)
from refimpl import (
    typed as typed,
)
from refimpl._version import __version__ as __version__
from refimpl.adjacency import Adjacency
from refimpl.block import MFG, Block
from refimpl.graph import Graph, Subgraph, as_graph, induced_subgraph, transpose_perm
from refimpl.history import BidirectionalCache, fresh_iteration, policy_update, prune_mfg
from refimpl.lab.backend import backend, fill
from refimpl.lab.data import Dataset, load_dataset
from refimpl.lab.training import (
    NodeClassifier,
    Prefetcher,
    TrainConfig,
    TrainedModel,
    TrainResult,
    as_printed,
    load_model,
    make_trainer,
    predict,
    register_layer,
    save_model,
    scaled_sampler,
    train,
)
from refimpl.lab.training import methods as methods
from refimpl.lab.training import models as models
from refimpl.layers import (
    dense_backward,
    dense_forward,
    dropout,
    gat_backward,
    gat_forward,
    gcn_backward,
    gcn_forward,
    mixhop_backward,
    mixhop_forward,
    rgcn_backward,
    rgcn_forward,
    sage_backward,
    sage_forward,
)
from refimpl.losses import sigmoid_cross_entropy, softmax_cross_entropy
from refimpl.metrics import f1_micro
from refimpl.optimizers import adam_step
from refimpl.partition import feature_propagate
from refimpl.propagation import spmm
from refimpl.samplers import (
    Sampler,
    bucket,
    dashboard,
    edge,
    estimate_counts,
    forest_fire,
    frontier,
    layer_sample,
    multiple_walks,
    pin_tile,
    random_walk,
    sample_many,
    sample_mfg,
)
from refimpl.training import SubgraphPool, graph_iteration
from refimpl.typed import TypedGraph

__all__ = [
    "Adjacency",
    "BidirectionalCache",
    "Block",
    "Dataset",
    "Graph",
    "MFG",
    "NodeClassifier",
    "TrainedModel",
    "Prefetcher",
    "Sampler",
    "Subgraph",
    "SubgraphPool",
    "TrainConfig",
    "TrainResult",
    "TypedGraph",
    "adam_step",
    "as_graph",
    "as_printed",
    "backend",
    "bucket",
    "dashboard",
    "dense_backward",
    "dense_forward",
    "dropout",
    "edge",
    "estimate_counts",
    "f1_micro",
    "feature_propagate",
    "forest_fire",
    "fresh_iteration",
    "frontier",
    "gat_backward",
    "gat_forward",
    "gcn_backward",
    "gcn_forward",
    "graph_iteration",
    "induced_subgraph",
    "layer_sample",
    "load_dataset",
    "load_model",
    "make_trainer",
    "methods",
    "mixhop_backward",
    "mixhop_forward",
    "models",
    "multiple_walks",
    "pin_tile",
    "policy_update",
    "predict",
    "prune_mfg",
    "random_walk",
    "register_layer",
    "rgcn_backward",
    "rgcn_forward",
    "sage_backward",
    "sage_forward",
    "sample_many",
    "sample_mfg",
    "save_model",
    "scaled_sampler",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "spmm",
    "train",
    "transpose_perm",
]

fill(__name__)  # what takes an implementation, here and in the topics: this one
