"""Find the cached embeddings of some nodes that may still be used."""

import numpy as np


def cache_lookup(entries, layer, ids, oldest):
    """Return the slots of the entries of some nodes that are valid.

    FreshGNN, Algorithm 1 line 7. Embeddings of all layers share one buffer of slots. The key of
    node v in layer l is (l - 1) n + v, for n nodes. The map says in which slot the entry of (l, v)
    was put; but when a slot is given to another key, nobody tells the map. So a slot has to be
    asked whose it is now. An entry is valid if

    - the map names a slot, and there is such a slot (0 to how many there are - 1),
    - the key in it is that of (layer, v),
    - its stamp, the iteration in which it was written, is not below `oldest`.

    Parameters
    ----------
    entries : Entries
        entries.slot_of[layer - 1, v] is the map, -1 where there is none; entries.back[s] and
        entries.stamp[s] are the key and the stamp of slot s; entries.rows[s] the embedding.
    layer : int
        From 1.
    ids : (k,) integer array
        The nodes.
    oldest : int

    Returns
    -------
    (k,) int32 array
        -1 where there is no valid entry.
    """
    n = entries.slot_of.shape[1]
    slots = np.full(len(ids), -1, np.int32)
    for j, v in enumerate(ids.tolist()):
        s = entries.slot_of[layer - 1, v]
        if not 0 <= s < len(entries.back):
            continue
        if entries.back[s] == (layer - 1) * n + v and entries.stamp[s] >= oldest:
            slots[j] = s
    return slots


# ---- what follows is the course's ----

PAGE = "learn/fresh_cache"
REFERENCE = "refimpl.history.entries:cache_lookup"
BESIDE = "The reference is the same loop."
STEPPER = ("cache", "lookup", "")
HINTS = (
    "n is how many nodes the map has: `entries.slot_of.shape[1]`.",
    "Ask for the slot's range first: -1 as an index would be the last slot.",
    "Three conditions: 0 <= s < len(entries.back), entries.back[s] == the key, "
    "entries.stamp[s] >= oldest.",
)
MISTAKES = (
    (
        "entries.back[s] == (layer - 1) * n + v and entries",
        "entries",
        "trusts the map, and does not ask whose slot it is now",
        "The map names a slot that went to another node since",
    ),
    (
        " and entries.stamp[s] >= oldest",
        "",
        "does not look at the stamp",
        "An entry older than the oldest stamp asked for",
    ),
    (
        "entries.stamp[s] >= oldest",
        "entries.stamp[s] > oldest",
        "refuses an entry that is just as old as allowed",
        "yours is -1: one is missing there",
    ),
    (
        "entries.back[s] == (layer - 1) * n + v",
        "entries.back[s] == v",
        "takes the node for the key, which names the layer too",
        "Key (l - 1) n + v",
    ),
    (
        "        if not 0 <= s < len(entries.back):\n            continue\n",
        "",
        "does not ask whether there is such a slot",
        "A buffer without slots",
    ),
)
