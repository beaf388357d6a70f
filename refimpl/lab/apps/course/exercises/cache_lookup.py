"""Find the cached embeddings of some nodes that may still be used."""

import numpy as np


def cache_lookup(entries, layer, ids, oldest):
    """Return the slots of the entries of some nodes that are valid."""
    n = entries.slot_of.shape[1]
    slots = np.full(len(ids), -1, np.int32)
    for j, v in enumerate(ids.tolist()):
        s = entries.slot_of[layer - 1, v]
        if not 0 <= s < len(entries.back):
            continue
        if entries.back[s] == (layer - 1) * n + v and entries.stamp[s] >= oldest:
            slots[j] = s
    return slots
