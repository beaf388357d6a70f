"""The parts of a data set: what is trained on, what validates, what is tested."""

import numpy as np

from refimpl._support.foreign_graphs import as_array
from refimpl.streams import DATA, key, pick_without_replacement

PARTS = ("train", "val", "test")
SHARES = (60, 20, 20)  # % of the nodes with a class, for each part, where nobody says otherwise
SHUFFLED = 33  # what the draws are for


def drawn_parts(nodes, seed):
    """Return parts of the nodes, drawn: 60%, 20% and 20%."""
    order = nodes[pick_without_replacement(key(seed, DATA, SHUFFLED), 0, len(nodes), len(nodes))]
    cuts = np.cumsum(SHARES)[:2] * len(nodes) // 100
    return [np.sort(part) for part in np.split(order, cuts)]


def parts_masked(masks, options):
    """Return parts from their masks, by name, None for one that is not there; `options` win."""
    if masks["train"] is None or any(part in options for part in PARTS):
        return {}
    return {part: as_array(mask) for part, mask in masks.items() if mask is not None}


def parts_named(found, options):
    """Return parts, by name, from that of each node, or anything else for none; `options` win."""
    names = np.array([name if name in PARTS else None for name in found], dtype=object)
    if all(name is None for name in names) or any(part in options for part in PARTS):
        return {}
    return {part: names == part for part in PARTS}
