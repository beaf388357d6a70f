"""Histories: for every node, what a layer gave when it was last computed."""

from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl.block import Block, entries_of_rows, sources
from refimpl.lab.training.methods.base import LoadCounts


class Histories:
    """For every node, the output of layers 1, 2, .. when it was last computed; at first 0.

    Parameters
    ----------
    layers : int
        Number of layers that are kept; it may be 0.
    n, width : ints
        Number of nodes, and width of the layers.
    dtype : float32 or float64

    Attributes
    ----------
    rows : (layers, n, width) array
        Layer l is ``rows[l - 1]``.
    """

    def __init__(self, layers, n, width, dtype):
        self.rows = np.zeros((layers, n, width), dtype)

    def read(self, layer, ids):
        """Return a copy of the rows of some nodes in a layer from 1."""
        return self.rows[layer - 1, ids]

    def write(self, layer, ids, values):
        """Put in the rows of some nodes in a layer from 1."""
        self.rows[layer - 1, ids] = values

    def state_dict(self):
        """Return the rows of each layer by its name; not copied."""
        return {f"layer{number}": rows for number, rows in enumerate(self.rows, start=1)}

    def load_state_dict(self, arrays):
        """Take the rows of each layer from what `state_dict` gave, copied.

        Raises
        ------
        TypeError, ValueError
            If the names are others, or an array has another shape or dtype.
        """
        known = self.state_dict()
        if not isinstance(arrays, dict) or arrays.keys() != known.keys():
            raise ValueError(f"arrays must be a dict of {', '.join(known) or 'nothing'}")
        for name, rows in known.items():
            rows[...] = require.floats(name, arrays[name], rows.shape, rows.dtype)


def histories_of(run):
    """Return the histories of a run's state: its own, those of a checkpoint, or none yet."""
    config, found = run.config, run.state.cache
    new = Histories(config.layers - 1, run.graph.n, config.hidden, run.dtype)
    if isinstance(found, Histories):
        if (found.rows.shape, found.rows.dtype) != (new.rows.shape, new.rows.dtype):
            raise ValueError("state.cache must have the histories of this model and data set")
        return found
    if found is not None:  # from a checkpoint
        new.load_state_dict(found)
    elif run.state.iterations and config.layers > 1:
        raise ValueError("state.cache must have the histories of a run that has begun")
    return new


def history_counts(loaded, read, written, row_bytes):
    """Return counts: rows of features loaded, rows of histories read and rows written."""
    return LoadCounts(
        inputs=loaded,
        live=loaded,
        loaded=loaded,
        bytes=loaded * row_bytes,
        lookups=read,
        hits=read,
        admitted=written,
    )


class Neighborhood(NamedTuple):
    """A batch and all nodes next to it.

    Attributes
    ----------
    nodes : (n_src,) int32 array
        The batch in its order, then its other neighbours, ascending.
    block : Block
        From each node of the batch to all of its neighbours, in the order of the graph.
    """

    nodes: np.ndarray
    block: Block


def neighborhood(graph, batch):
    """Return the Neighborhood of `batch`, distinct nodes of `graph`.

    It takes O(e log e) time, where e counts the neighbours of the batch.
    """
    positions, ends = rows_of(graph, batch)
    nodes, indices = sources(batch, graph.indices[positions])
    degrees = graph.degrees(batch)
    block = Block._trusted(ends - degrees, ends, indices, len(nodes))
    return Neighborhood(nodes, block)


def rows_of(graph, nodes):
    """Return where the entries of some rows stand in ``graph.indices``, and where each row ends.

    The second counts in the first: row i is ``positions[ends[i - 1]:ends[i]]``.
    """
    start, end = graph.start[nodes], graph.end[nodes]
    return entries_of_rows(start, end), np.cumsum(end - start)
