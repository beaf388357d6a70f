"""Write embeddings into slots of a cache."""

from refimpl.lab.apps.course.look import look


def cache_admit(entries, layer, ids, values, slots, i, *, take=None):
    """Write the embeddings of some nodes into slots of the buffer."""
    n = entries.slot_of.shape[1]
    for j, (v, s) in enumerate(zip(ids.tolist(), slots.tolist(), strict=True)):
        entries.rows[s] = values[j if take is None else take[j]]
        entries.back[s] = (layer - 1) * n + v
        entries.stamp[s] = i
        entries.slot_of[layer - 1, v] = s
        look(entries=entries)
