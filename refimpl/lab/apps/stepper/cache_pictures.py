"""Pictures of FreshGNN's cache: its buffer, its slots, its map, look-ups and the policy's ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl.hints import Ids
from refimpl.lab.apps.stepper.recipe import Panel, array_state, cell, table_state

if TYPE_CHECKING:
    from refimpl.history.cache import BidirectionalCache
    from refimpl.history.entries import Entries
    from refimpl.lab.apps.stepper.recorder import Stack

VALID, OLD, LOST = range(3)  # entries, by colour
STATES = "", "old", "lost"
EMBEDDING, FEATURE = 0, 3  # what floats are, by colour
MAP = Panel(
    "array",
    "map",
    "The map: the slot of a node's embedding",
    "Nobody tells a node that its slot went to another: that is lost. Old: too old to be read.",
    wide=True,
)
SLOTS = Panel(
    "array",
    "slots",
    "The slots: whose, and when",
    "A slot counts for a node only if the map says the slot and the slot says the node (key); "
    "otherwise it is dead. The header is at the slot that it looks at next.",
)
LOOKUP = Panel(
    "table",
    "lookup",
    "The look-up of this iteration",
    "Read: the map has a slot, the slot is the node's, and the entry is young enough.",
    {"columns": ["node", "slot", "whose", "stamp", "read"]},
)
POLICY = Panel(
    "table",
    "policy",
    "The policy of this iteration",
    "The embeddings with the smallest gradients are stable. Stable and computed: admitted. "
    "Unstable and read: evicted.",
    {"columns": ["node", "from", "norm", "stable", "slot now"]},
)


def buffer_cells(cache: BidirectionalCache, writing: int | None = None) -> list[list[Any]]:
    """Return the cells of the buffer; `writing` is the slot that is written to now."""
    cells = [cell(None)] * cache.arena.size
    for v in np.flatnonzero(cache.rank < cache.feature_rows):
        first = cache.arena.size - (int(cache.rank[v]) + 1) * cache.d
        for c in range(first, first + cache.d):
            cells[c] = cell(f"{cache.arena[c]:g}", FEATURE, f"x of {v}")
    for s, key in enumerate(cache.entries.back):
        if key >= 0 or s == writing:
            for c in range(s * cache.h, (s + 1) * cache.h):
                cells[c] = cell(f"{cache.arena[c]:.3g}", EMBEDDING, f"slot {s}")
    return cells


def slot_rows(entries: Entries, oldest: int, head: int | None = None) -> dict[str, list[list[Any]]]:
    """Return the rows of the slots' keys and stamps; "head" is where the next entry goes."""
    keys, stamps = [], []
    for s, key in enumerate(entries.back.tolist()):
        mark = "head" if s == head else ""
        if key < 0:
            keys.append(cell(None, mark=mark))
            stamps.append(cell(None))
            continue
        known = entries.slot_of.ravel()[key] == s
        group = LOST if not known else VALID if entries.stamp[s] >= oldest else OLD
        keys.append(cell(key, group, mark))
        stamps.append(cell(entries.stamp[s], group, "dead" if group == LOST else STATES[group]))
    return {"key": keys, "stamp": stamps}


def map_rows(entries: Entries, oldest: int) -> dict[str, list[list[Any]]]:
    """Return the rows of the map from nodes to slots, one for each layer."""
    layers, n = entries.slot_of.shape
    rows = {}
    for layer, slots in enumerate(entries.slot_of.tolist()):
        cells = []
        for v, s in enumerate(slots):
            if not 0 <= s < len(entries.back):
                cells.append(cell(None))
                continue
            known = entries.back[s] == layer * n + v
            group = LOST if not known else VALID if entries.stamp[s] >= oldest else OLD
            cells.append(cell(s, group, STATES[group]))
        rows["slot_of" if layers == 1 else f"layer {layer + 1}"] = cells
    return rows


def lookup_rows(lookup: Any) -> list[list[Any]]:
    """Return node, slot by the map, whose it is, its stamp and whether it is read, so far."""
    entries, layer, ids = (lookup[name] for name in ("entries", "layer", "ids"))
    done, slots = lookup.get("j", -1), lookup.get("slots")
    rows = []
    for k, v in enumerate(ids.tolist() if isinstance(ids, np.ndarray) else ids):
        s = int(entries.slot_of[layer - 1, v])
        if k > done:
            rows.append([v, None, None, None, None])
        elif not 0 <= s < len(entries.back):
            rows.append([v, None, None, None, False])
        else:
            key = int(entries.back[s])
            whose = None if key < 0 else key % entries.slot_of.shape[1]
            read = bool(slots[k] >= 0) or (None if k == done else False)
            rows.append([v, s, whose, int(entries.stamp[s]), read])
    return rows


def policy_rows(now: dict[str, Any], update: dict[str, Any], found: Ids) -> list[list[Any]]:
    """Return node, where its row is from, norm, whether it is stable, and its slot now."""
    ids, normal = now["V"][1], now.get("normal")
    G, low = now.get("G", [None, None])[1], update.get("low")
    rows = []
    for k, v in enumerate(ids.tolist()):
        origin = None if normal is None else "computed" if normal[1][k] else "read"
        norm = None if G is None else f"{float(np.sqrt((G[k].astype(float) ** 2).sum())):.2g}"
        stable = None if low is None else bool(low[k])
        rows.append([v, origin, norm, stable, None if found[v] < 0 else int(found[v])])
    return rows


def table_of(rows: list[list[Any]], width: int, most: int) -> list[list[list[Any]]]:
    """Return the state of a table of `most` rows, the last of them empty."""
    cells = [[cell(value) for value in row] for row in rows]
    return table_state(cells + [[cell(None)] * width] * (most - len(rows)))


def cache_states(stack: Stack, most: int) -> dict[str, Any]:
    """Return the states of the panels of a cache in an iteration that is under way."""
    now, lookup = stack.within("fresh_iteration"), stack.within("cache_lookup")
    cache, i = now["cache"], now["i"]
    oldest = 0 if cache.t_stale is None else i - cache.t_stale

    def buffer() -> list[list[Any]]:
        return array_state(floats=buffer_cells(cache, stack.within("cache_admit").get("s")))

    def looked_up() -> list[list[list[Any]]] | None:
        if lookup:
            return table_of(lookup_rows(lookup), 5, most)
        return None if "mfg" in now else table_of([], 5, most)

    def policy() -> list[list[list[Any]]] | None:
        if "V" in now and 1 not in now.get("updates", {}):
            found = cache.lookup(1, np.arange(cache.n), i)  # as a reader would find them now
            return table_of(policy_rows(now, stack.within("update_with"), found), 5, most)
        return None if lookup or "mfg" in now else table_of([], 5, most)

    return {
        "buffer": buffer,
        "slots": array_state(**slot_rows(cache.entries, oldest, cache.head)),
        "map": array_state(**map_rows(cache.entries, oldest)),
        "lookup": looked_up,
        "policy": policy,
    }
