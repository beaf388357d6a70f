"""FreshGNN's cache of embeddings and features."""

import numpy as np

import refimpl
from refimpl.lab.apps.stepper.recipe import Panel, Recipe, array_state, cell, table_state
from refimpl.lab.backend import find

NODES, WIDTH, FLOATS, T_STALE, STABLE = 7, 2, 9, 2, 0.75
DEGREES = (3, 1, 2, 5, 7, 6, 4)  # how hot the nodes' features are
BATCHES = (  # nodes of layer 1 in an iteration, and the norms of their gradients
    ((0, 1, 2, 5), (1, 2, 3, 8)),
    ((1, 3, 4), (9, 1, 2)),
    ((0, 2, 6), (2, 1, 8)),
    ((1, 2, 3, 4), (9, 2, 1, 8)),
)
MOST = max(len(ids) for ids, _ in BATCHES)
VALID, OLD, LOST = range(3)  # entries, by colour
STATES = "", "old", "lost"
EMBEDDING, FEATURE = 0, 3  # what floats are, by colour


def fresh_iterations(seed):
    """Return the cache after four iterations on one layer, and the embeddings of each.

    Nothing is random: `seed` is there as in the other recipes.
    """
    cache = refimpl.BidirectionalCache(
        NODES, WIDTH, WIDTH, 1, FLOATS, t_stale=T_STALE, header="cycle", dtype="float64"
    )
    cache.fill(100 + np.repeat(np.arange(NODES, dtype=float), WIDTH).reshape(-1, WIDTH), DEGREES)
    return cache, [
        fresh_iteration(cache, i, np.array(ids), np.array(norms, float))
        for i, (ids, norms) in enumerate(BATCHES)
    ]


def fresh_iteration(cache, i, ids, norms):
    """Return the embeddings of one iteration: 3.1 is what node 3 gets in iteration 1."""
    slots = cache.lookup(1, ids, i)
    computed = slots < 0
    H = np.repeat(ids + i / 10, WIDTH).reshape(-1, WIDTH)
    H[~computed] = cache.read(slots[~computed])
    cache.begin_update(i)
    update = find(refimpl, "policy_update")
    counts = update(cache, 1, ids, norms, computed, H, i, p=STABLE)
    return H[:, 0], counts


def view_cache(stack):
    """Return the states of the panels of `CACHE`."""
    now = stack.within("fresh_iteration")
    cache = now["cache"]
    found = cache.lookup(1, np.arange(NODES), now["i"])  # as a reader would find them now
    states = {
        "buffer": array_state(floats=_floats(cache, stack.within("cache_admit").get("s"))),
        "slots": array_state(**_slots(cache.entries, cache.head, found)),
        "map": array_state(slot_of=_map(cache.entries, found)),
        "counters": {
            "iteration": now["i"],
            "header": cache.head,
            "admitted": cache.admitted,
            "evicted": cache.evicted,
            "lost": cache.lost,
            "features held": cache.feature_rows,
        },
    }
    if "computed" not in now:
        states["lookup"] = _table(_looked_up(cache, now, stack.within("cache_lookup")), 5)
    if "counts" not in now:
        states["policy"] = _table(_ranked(now, stack.within("update_with"), found), 5)
    return states


def _table(rows, width):
    """Return the state of a table of as many rows as the largest batch has."""
    rows = [[cell(value) for value in row] for row in rows]
    return table_state(rows + [[cell(None)] * width] * (MOST - len(rows)))


def _floats(cache, writing):
    """Return the cells of the buffer; `writing` is the slot that is written to now."""
    cells = [cell(None)] * FLOATS
    for v in np.flatnonzero(cache.rank < cache.feature_rows):
        first = FLOATS - (int(cache.rank[v]) + 1) * WIDTH
        for c in range(first, first + WIDTH):
            cells[c] = cell(f"{cache.arena[c]:.0f}", FEATURE, f"x of {v}")
    for s, v in enumerate(cache.entries.back):
        if v >= 0 or s == writing:
            for c in range(s * WIDTH, (s + 1) * WIDTH):
                cells[c] = cell(f"{cache.arena[c]:.1f}", EMBEDDING, f"slot {s}")
    return cells


def _slots(entries, head, found):
    """Return the rows of the slots' keys and stamps; "head" is where the next entry goes."""
    keys, stamps = [], []
    for s, v in enumerate(entries.back):  # with one layer, a node is its own key
        mark = "head" if s == head else ""
        if v < 0:
            keys.append(cell(None, mark=mark))
            stamps.append(cell(None))
        else:
            group = OLD if entries.slot_of[0, v] == s else LOST
            group = VALID if found[v] == s else group
            keys.append(cell(v, group, mark))
            stamps.append(cell(entries.stamp[s], group, "dead" if group == LOST else STATES[group]))
    return {"back": keys, "stamp": stamps}


def _map(entries, found):
    """Return the cells of the map from nodes to slots."""
    cells = []
    for v, s in enumerate(entries.slot_of[0]):
        if s < 0:
            cells.append(cell(None))
        else:
            group = VALID if found[v] == s else OLD if entries.back[s] == v else LOST
            cells.append(cell(s, group, STATES[group]))
    return cells


def _looked_up(cache, now, lookup):
    """Yield node, slot by the map, whose slot it is, age and whether it is served."""
    entries, done = cache.entries, len(now["ids"]) if "slots" in now else lookup.get("j", -1)
    slots = now.get("slots", lookup.get("slots"))
    for k, v in enumerate(now["ids"]):
        if k > done:
            yield v, None, None, None, None
            continue
        s = int(entries.slot_of[0, v])
        served = bool(slots[k] >= 0)
        known = (None, None) if s < 0 else (entries.back[s], now["i"] - entries.stamp[s])
        yield v, None if s < 0 else s, *known, served or (None if k == done else False)


def _ranked(now, update, found):
    """Yield node, where its embedding is from, norm, whether it is stable, and its slot now."""
    low = update.get("low")
    for k, v in enumerate(now["ids"]):
        if "computed" not in now:
            yield v, None, None, None, None
            continue
        origin = "computed" if now["computed"][k] else "cached"
        stable = None if low is None else bool(low[k])
        yield v, origin, int(now["norms"][k]), stable, None if found[v] < 0 else found[v]


CACHE = Recipe(
    name="cache",
    title="A cache of embeddings and features",
    algorithms=("vldb24:1",),
    functions={
        "refimpl.lab.apps.stepper.recipes.history:fresh_iteration": None,
        "refimpl.history.entries:cache_lookup": None,
        "refimpl.history.policy:update_with": None,
        "refimpl.history.entries:cache_admit": None,
    },
    call=fresh_iterations,
    view=view_cache,
    panels=(
        Panel(
            "array",
            "buffer",
            "The buffer: embeddings from the left, features from the right",
            "Two floats each. 3.1 is the embedding of node 3 written in iteration 1, 104 the "
            "features of node 4. Embeddings grow over the coldest features.",
            wide=True,
        ),
        Panel(
            "array",
            "map",
            "The map: in which slot a node's embedding was put",
            "Nobody tells a node that its slot went to another: that is lost. Old: written more "
            f"than {T_STALE} iterations ago.",
            wide=True,
        ),
        Panel(
            "array",
            "slots",
            "The slots: whose, written when",
            "A slot counts for a node only if the map says the slot and the slot says the node "
            "(back); otherwise it is dead. The header goes round, and back to slot 0 when a new "
            "cycle begins.",
        ),
        Panel(
            "table",
            "lookup",
            "The lookup of this iteration",
            "Served: the map has a slot, the slot is the node's, and the entry is young enough.",
            {"columns": ["node", "slot", "whose", "age", "served"]},
        ),
        Panel(
            "table",
            "policy",
            "The policy of this iteration",
            "The embeddings with the smallest gradients are stable. Stable and computed: "
            "admitted. Unstable and cached: evicted.",
            {"columns": ["node", "from", "norm", "stable", "slot now"]},
        ),
        Panel(
            "counters",
            "counters",
            "So far",
            "Lost: entries overwritten that could still be read.",
        ),
    ),
    about="Four iterations of FreshGNN on one layer, with 4 slots and the header as printed: an "
    f"entry is served for {T_STALE} iterations after the one that wrote it, and a cycle has "
    f"{T_STALE}. Iteration 1 "
    "evicts node 1, whose gradient is large, and fills the buffer: node 4 is written to slot 0, "
    "over node 0. Iteration 2 finds no node 0, as slot 0 says 4. Iteration 3 is refused node 2, "
    "which is too old, and stores it anew.",
)

RECIPES = (CACHE,)
