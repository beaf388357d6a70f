"""Write embeddings into slots of a cache."""

from refimpl.lab.apps.course.look import look


def cache_admit(entries, layer, ids, values, slots, i, *, take=None):
    """Write the embeddings of some nodes into slots of the buffer.

    FreshGNN, Algorithm 1 line 20. Number j of the list goes to slot slots[j], one after the other:
    its row of `values`, its key (layer - 1) n + v, the stamp i, and into the map the slot. What
    stood in the slot is gone, and its owner's place in the map stays as it is: whoever looks it up
    sees that the key is another one. So writing needs no search, and touches what it writes only.

    Parameters
    ----------
    entries : Entries
        Changed in place: rows, back (keys), stamp and slot_of[layer - 1], the map of a layer.
    layer : int
        From 1.
    ids : (k,) integer array
        The nodes; one may come twice, then the later slot counts.
    values : (k, h) array
        With `take`, any number of rows.
    slots : (k,) integer array
        All different.
    i : int
        This iteration.
    take : (k,) integer array, optional
        Number j is row take[j] of `values`; without it, row j.

    `look(entries=entries)` after each of the list lets `check` show which one went wrong.
    """
    n = entries.slot_of.shape[1]
    for j, (v, s) in enumerate(zip(ids.tolist(), slots.tolist(), strict=True)):
        entries.rows[s] = values[j if take is None else take[j]]
        entries.back[s] = (layer - 1) * n + v
        entries.stamp[s] = i
        entries.slot_of[layer - 1, v] = s
        look(entries=entries)


# ---- what follows is the course's ----

PAGE = "learn/fresh_cache"
REFERENCE = "refimpl.history.entries:cache_admit"
BESIDE = "The reference is the same loop."
STEPPER = ("cache", "rows", "")
HINTS = (
    "Four statements in a loop, one for each array of `entries`.",
    "The function returns nothing: it writes into the arrays that it was given.",
    "`values[j]` without `take`, `values[take[j]]` with it.",
)
MISTAKES = (
    (
        "values[j if take is None else take[j]]",
        "values[j]",
        "does not look at `take`",
        "Values are rows of a larger matrix",
    ),
    (
        "(layer - 1) * n + v",
        "v",
        "takes the node for the key, which names the layer too",
        "Key (l - 1) n + v",
    ),
    (
        "        entries.stamp[s] = i\n",
        "",
        "does not stamp what it writes",
        "stamp",
    ),
    (
        "        entries.rows[s] = values",
        "        entries.slot_of[entries.slot_of == s] = -1\n        entries.rows[s] = values",
        "searches the map for the former owner of the slot and deletes it there: nobody needs that",
        "slot_of",
    ),
    (
        "entries.slot_of[layer - 1, v] = s",
        "entries.slot_of[layer - 2, v] = s",
        "writes into the map of another layer: the first layer is 1, and its row of the map 0",
        "slot_of",
    ),
)
