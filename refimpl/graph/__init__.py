"""Graphs as compressed rows (CSR), node-induced subgraphs, and the transpose by permutation."""

from refimpl._support.counters import Counters
from refimpl.graph.building import as_graph, from_edges, graph_and_names
from refimpl.graph.csr import Graph
from refimpl.graph.subgraph import Subgraph, induced_subgraph
from refimpl.graph.transpose import transpose_perm
from refimpl.graph.weighted import WeightedGraph

__all__ = [
    "Counters",
    "Graph",
    "Subgraph",
    "WeightedGraph",
    "as_graph",
    "from_edges",
    "graph_and_names",
    "induced_subgraph",
    "transpose_perm",
]
