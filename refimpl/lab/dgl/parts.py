"""DGL's graph as a Graph, and its blocks and graphs of some nodes and edges.

What belongs to nodes and edges goes over by DGL's own frames: a row is copied when it is asked
for.
"""

from typing import Any, NamedTuple

import numpy as np

from refimpl import _check
from refimpl._foreign import as_array
from refimpl._sources import check_node_count
from refimpl._torch import with_dgl
from refimpl.lab.batches.edges import Numbered, numbered


class Whole(NamedTuple):
    """A graph of DGL, the same as a Graph, and the dtype of its ids.

    Attributes
    ----------
    source : dgl.DGLGraph
    numbered : Numbered
    dtype : numpy.dtype
    """

    source: Any
    numbered: Numbered
    dtype: np.dtype

    @property
    def graph(self):
        return self.numbered.graph

    def ids(self, array):
        """Return ids as a tensor of the graph's type, which nothing else has."""
        torch, _ = with_dgl()
        return torch.from_numpy(array.astype(self.dtype))


def whole(source):
    """Return a graph of DGL with what samplers read; O(e log d) time, d the largest in-degree.

    Raises
    ------
    ImportError
        If torch or DGL is missing.
    TypeError, ValueError
        If `source` is of another kind, has several types of nodes or edges, is a block or not on
        the CPU, or has an edge twice.
    OverflowError
        If it has more than 2**31 - 1 nodes.
    """
    _, dgl = with_dgl()
    if not isinstance(source, dgl.DGLGraph):
        raise TypeError(f"graph must be a dgl.DGLGraph, got {type(source).__name__}")
    if source.is_block or not source.is_homogeneous:
        raise ValueError(
            "graph must have one type of nodes and of edges, and be no block: "
            "see dgl.to_homogeneous"
        )
    if source.device.type != "cpu":
        raise ValueError(f"graph must be on the CPU, got one on {source.device}")
    n = source.num_nodes()
    check_node_count(n)
    sources, targets = (as_array(ids) for ids in source.edges(order="eid"))
    made = numbered(sources.astype(np.int32), targets.astype(np.int32), n)
    if made is None:
        raise ValueError("graph must have no edge twice: see dgl.to_simple")
    for data in (source.ndata, source.edata):
        dict(data)  # copies what the graph itself has not copied yet: threads must not do that
    return Whole(source, made, sources.dtype)


def block_of(held, block, nodes):
    """Return a Block of a sampler as one of DGL.

    Parameters
    ----------
    held : Whole
    block : Block
    nodes : (n_src,) tensor
        The sources; the destinations are the first of them.
    """
    from dgl import create_block
    from dgl.utils import extract_edge_subframes, extract_node_subframes_for_block, set_new_frames

    kind = held.source.canonical_etypes[0]
    made = create_block(
        {kind: ("csc", rows(held, block))},
        num_src_nodes={kind[0]: block.n_src},
        num_dst_nodes={kind[2]: block.n_dst},
    )
    edges = held.ids(held.numbered.edges(block.edge_ids))
    of_nodes = extract_node_subframes_for_block(held.source, [nodes], [nodes[: block.n_dst]])
    of_edges = extract_edge_subframes(held.source, [edges])
    set_new_frames(made, node_frames=of_nodes, edge_frames=of_edges)
    return made


def graph_of(held, sub):
    """Return a Subgraph as a graph of DGL."""
    from dgl import heterograph
    from dgl.utils import extract_edge_subframes, extract_node_subframes, set_new_frames

    kind = held.source.canonical_etypes[0]
    made = heterograph({kind: ("csc", rows(held, sub.graph))}, {kind[0]: sub.graph.n})
    edges = held.ids(held.numbered.edges(sub.edge_ids))
    of_nodes = extract_node_subframes(held.source, [held.ids(sub.nodes)])
    set_new_frames(
        made, node_frames=of_nodes, edge_frames=extract_edge_subframes(held.source, [edges])
    )
    return made


def rows(held, pattern):
    """Return a pattern whose rows stand one behind the other, as DGL takes its columns."""
    indptr = np.append(0, np.cumsum(pattern.degrees()))
    numbers = np.arange(pattern.e)  # DGL takes none for these, and then its sums of edges fail
    return tuple(held.ids(array) for array in (indptr, pattern.indices, numbers))


def names(what, given):
    """Return names of data as a list, or raise; None is none of them."""
    if given is None:
        return []
    listed = () if isinstance(given, str) else _check.sequence(what, given, "names")
    if isinstance(given, str) or not all(isinstance(name, str) for name in listed):
        raise TypeError(f"{what} must be a sequence of names, got {_check.shown(given)}")
    return list(listed)


def check_names(what, wanted, data):
    """Raise unless the data of a graph's nodes or edges have some names."""
    for name in wanted:
        if name not in data:
            has = ", ".join(map(repr, data.keys())) or "nothing"
            raise ValueError(f"{what} must be names of the graph's data: {has}, got {name!r}")
