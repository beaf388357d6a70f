"""Training on sampled minibatches: one iteration of each kind, whole, and the pool of subgraphs."""

from refimpl.training.graph_iteration import AdamState, MinibatchStep, graph_iteration
from refimpl.training.sampled_iteration import sampled_iteration
from refimpl.training.subgraph_pool import SubgraphPool

__all__ = [
    "AdamState",
    "MinibatchStep",
    "SubgraphPool",
    "graph_iteration",
    "sampled_iteration",
]
