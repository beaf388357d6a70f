"""Which embedding in the cache is valid in which iteration (FreshGNN section 4.1.2)."""

import numpy as np

STALENESS = ("stamp", "header_only")
ANY_AGE = 0  # no stamp is lower


def oldest_stamp(i, t_stale, staleness):
    """Return the lowest stamp of an entry that is valid in iteration `i` (E-V6).

    With staleness "header_only" none is too low, as in the public code (E-V11).
    """
    if t_stale is None or staleness == "header_only":
        return ANY_AGE
    return i - t_stale


def is_valid(entries, slots, oldest):
    """Return which of some slots hold an entry with a stamp of at least `oldest`, bool.

    `slots` is an index: numbers of slots, or a slice. A slot whose entry was taken out, or whose
    node was written elsewhere since, has no key.
    """
    return (entries.back[slots] >= 0) & (entries.stamp[slots] >= oldest)


def vacate(gnn, entries, layer, ids):
    """Free the slots of a `layer`'s entries of `ids`, each given once, of any age; return them."""
    slots = gnn.history.cache_lookup(entries, layer, ids, ANY_AGE)
    slots = slots[slots >= 0]
    entries.back[slots] = -1
    return slots


def take_out(gnn, entries, layer, ids, oldest):
    """Take a `layer`'s entries of `ids` out; return how many had a stamp of at least `oldest`."""
    slots = vacate(gnn, entries, layer, ids)
    entries.slot_of[layer - 1, ids] = -1
    return int(np.count_nonzero(entries.stamp[slots] >= oldest))
