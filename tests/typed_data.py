"""A small typed data set, as files."""

import numpy as np
import scipy.sparse as sp
from tiny_data import write_graphsaint


def write_typed(folder, node_types=True):
    """Write the tiny GraphSAINT folder with 3 relations and perhaps 2 types of nodes."""
    write_graphsaint(folder)
    full = sp.load_npz(folder / "adj_full.npz")
    row = np.repeat(np.arange(200), np.diff(full.indptr))
    np.save(folder / "edge_types.npy", ((row + full.indices) % 3).astype(np.uint8))
    if node_types:
        np.save(folder / "node_types.npy", np.arange(200) % 2)
    return folder
