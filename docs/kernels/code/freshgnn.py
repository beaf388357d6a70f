"""FreshGNN's policy, and the entries of its cache."""

import copy
import math

from arrays import (
    all_within,
    are_distinct,
    has_shape,
    is_floats,
    is_integers,
    is_like,
    is_mask,
)
from forms import is_array, is_integer, is_named, is_real

MOST = 2**31 - 1


def gradient_norms(G):
    norms = []
    for row in G:
        total = 0.0
        for x in row:  # from left to right, in float64
            total += x * x
        norms.append(math.sqrt(total))
    return norms


def select_stable(score, ids, p):
    m = len(score)
    k = int(p * m + 1e-9)  # in float64, rounded down
    ranked = sorted(range(m), key=lambda j: (score[j], ids[j], j))
    low = [False] * m
    for j in ranked[:k]:
        low[j] = True
    return low


def cache_lookup(entries, layer, ids, oldest):
    return [valid_slot(entries, layer, v, oldest) for v in ids]


def valid_slot(entries, layer, v, oldest):
    n = entries.slot_of.shape[1]
    key = (layer - 1) * n + v
    s = entries.slot_of[layer - 1][v]
    if not 0 <= s < len(entries.back):  # -1: there is no entry
        return -1
    if entries.back[s] != key:  # the slot went to another key since
        return -1
    if entries.stamp[s] < oldest:
        return -1
    return s


def cache_read(rows, slots):
    return [rows[s] for s in slots]


def cache_admit(entries, layer, ids, values, slots, i, take, states):
    for j in range(len(ids)):  # of a node that comes twice, the later slot stays
        row = j if take is None else take[j]
        write_entry(entries, layer, ids[j], slots[j], values[row], i)
        states.append({"entries": copy.deepcopy(entries)})


def write_entry(entries, layer, v, s, value, i):
    n = entries.slot_of.shape[1]
    entries.rows[s] = list(value)
    entries.back[s] = (layer - 1) * n + v
    entries.stamp[s] = i
    entries.slot_of[layer - 1][v] = s


def cache_fetch(features, rank, ids, held):
    most, d = features.shape
    rows, hit = [], []
    for v in ids:
        hit.append(0 <= rank[v] < held)
        if hit[-1]:
            rows.append(features[most - 1 - rank[v]])  # the hottest stands last
        else:
            rows.append([0.0] * d)
    return [rows, hit]


def cache_update(
    cache,
    layer,
    ids,
    score,
    comp,
    values,
    i,
    p,
    rank_base,
    gradient_evict,
    allow,
):
    if rank_base == "all":
        low = select_stable(score, ids, p)
    else:
        low = stable_among_new(score, ids, comp, p)
    unstable, stable_new = [], []
    for j in range(len(ids)):
        if not low[j]:
            unstable.append(ids[j])
        elif comp[j] and (allow is None or allow[j]):
            stable_new.append(j)
    evicted = cache.evict(layer, unstable, i) if gradient_evict else 0
    admitted = cache.admit(layer, [ids[j] for j in stable_new], values, i, stable_new)
    return {"low": sum(low), "admitted": admitted, "evicted": evicted}


def stable_among_new(score, ids, comp, p):
    """Only computed rows are ranked; a cached one is held against the last stable one."""
    m = len(ids)
    new = [j for j in range(m) if comp[j]]
    stable = select_stable([score[j] for j in new], [ids[j] for j in new], p)
    low = [False] * m
    last = (-math.inf, -1)
    for k in range(len(new)):
        low[new[k]] = stable[k]
        if stable[k]:
            last = max(last, (score[new[k]], ids[new[k]]))
    for j in range(m):
        if not comp[j]:
            if p == 1 or len(new) == 0:
                low[j] = p > 0
            else:
                low[j] = (score[j], ids[j]) < last
    return low


def fair_share(mfg, needed):
    charges = [[1.0 if x else 0.0 for x in needed]]
    for block in mfg.blocks:
        n_dst = len(block.start)
        consumers = [0] * block.n_src
        for i in range(n_dst):
            consumers[i] += 1  # a node's own next layer
            for j in range(block.start[i], block.end[i]):
                consumers[block.indices[j]] += 1
        portion = []
        for u in range(block.n_src):
            portion.append(charges[-1][u] / max(consumers[u], 1))
        charge = []
        for i in range(n_dst):
            total = portion[i]  # its own first, then in the order of the entries
            for j in range(block.start[i], block.end[i]):
                total += portion[block.indices[j]]
            charge.append(total)
        charges.append(charge)
    return charges


def check_gradient_norms(G):
    yield "type", "`G` is no array of float32 or float64", not is_floats(G)
    yield "value", "`G` is no matrix", not has_shape(G, None, None)


def check_select_stable(score, ids, p):
    yield "type", "`score` is no array of float32 or float64", not is_floats(score)
    yield "type", "`ids` is no array of integers", not is_integers(ids)
    yield "type", "`p` is no number", not is_real(p)
    yield "value", "`score` has not one dimension", not has_shape(score, None)
    yield "value", "`ids` has not one id for each score", not has_shape(ids, len(score))
    yield "value", "an id is below 0", not all_within(ids, 0, 2**63)
    yield "value", "not 0 <= `p` <= 1", not 0 <= p <= 1


def check_entries_of_a_cache(entries):
    yield "type", "`entries` is no `Entries`", not is_named(entries, "Entries")
    yield (
        "type",
        "`rows` of it is no matrix of float32 or float64",
        not (is_floats(entries.rows) and has_shape(entries.rows, None, None)),
    )
    yield (
        "type",
        "`slot_of` is no matrix of int32, `back` no array of int64, or `stamp` of int32",
        not (
            is_of(entries.slot_of, "int32", 2)
            and is_of(entries.back, "int64", 1)
            and is_of(entries.stamp, "int32", 1)
        ),
    )
    yield (
        "value",
        "`rows`, `back` and `stamp` are not of one length",
        not len(entries.rows) == len(entries.back) == len(entries.stamp),
    )


def is_of(value, dtype, dimensions):
    return is_array(value) and value.dtype == dtype and len(value.shape) == dimensions


def check_cache_lookup(entries, layer, ids, oldest):
    yield from check_entries_of_a_cache(entries)
    yield (
        "type",
        "`layer` or `oldest` is no integer",
        not (is_integer(layer) and is_integer(oldest)),
    )
    yield "type", "`ids` is no array of integers", not is_integers(ids)
    layers, n = entries.slot_of.shape
    yield "value", "`layer` is not in 1 .. layers", not 1 <= layer <= layers
    yield "value", "an id is no node", not all_within(ids, 0, n)
    yield "value", "`oldest` is no integer of 64 bits with a sign", not -(2**63) <= oldest < 2**63


def check_cache_read(rows, slots):
    yield "type", "`rows` is no array of float32 or float64", not is_floats(rows)
    yield "type", "`slots` is no array of integers", not is_integers(slots)
    yield "value", "`rows` is no matrix", not has_shape(rows, None, None)
    yield "value", "a slot is no row", not all_within(slots, 0, len(rows))


def check_cache_admit(entries, layer, ids, values, slots, i, take):
    yield from check_entries_of_a_cache(entries)
    yield "type", "`layer` or `i` is no integer", not (is_integer(layer) and is_integer(i))
    yield (
        "type",
        "`ids`, `slots` or `take` that is not null is no array of integers",
        not (is_integers(ids) and is_integers(slots) and (take is None or is_integers(take))),
    )
    yield (
        "type",
        "`values` is no array of the dtype of `entries.rows`",
        not is_like(values, entries.rows),
    )
    layers, n = entries.slot_of.shape
    places, h = entries.rows.shape
    yield "value", "`layer` is not in 1 .. layers", not 1 <= layer <= layers
    yield "value", "an id is no node", not all_within(ids, 0, n)
    rows = len(ids) if take is None else None
    yield (
        "value",
        "`values` has not one row of h numbers for each id; with `take`, any rows",
        not has_shape(values, rows, h),
    )
    yield (
        "value",
        "`take` has not one row of `values` for each id",
        take is not None and not (has_shape(take, len(ids)) and all_within(take, 0, len(values))),
    )
    yield "value", "`slots` has not one slot for each id", not has_shape(slots, len(ids))
    yield "value", "a slot is not in [0, slots)", not all_within(slots, 0, places)
    yield "value", "a slot comes twice", not are_distinct(slots)
    yield "value", "`i` is not in [0, 2**31)", not 0 <= i <= MOST


def check_cache_fetch(features, rank, ids, held):
    yield "type", "`features` is no array of float32 or float64", not is_floats(features)
    yield (
        "type",
        "`rank` is no array of int32 of one dimension",
        not is_of(rank, "int32", 1),
    )
    yield "type", "`ids` is no array of integers", not is_integers(ids)
    yield "type", "`held` is no integer", not is_integer(held)
    yield "value", "`features` is no matrix", not has_shape(features, None, None)
    yield "value", "an id is no node", not all_within(ids, 0, len(rank))
    yield "value", "`held` is not in 0 .. rows of `features`", not 0 <= held <= len(features)


def check_message_flow_graph(mfg):
    yield "type", "`mfg` is no `MFG`", not is_named(mfg, "MFG")
    lists = isinstance(mfg.nodes, list) and isinstance(mfg.blocks, list)
    yield "type", "`nodes` or `blocks` is no list", not lists
    yield "type", "a block is no block", not all(is_named(b, "Block") for b in mfg.blocks)
    yield (
        "value",
        "`mfg` has not one list of nodes more than blocks",
        (len(mfg.nodes) != len(mfg.blocks) + 1),
    )
    yield (
        "value",
        "a block does not fit the nodes above and below, or has more destinations than sources",
        not blocks_fit(mfg),
    )


def blocks_fit(mfg):
    for l in range(len(mfg.blocks)):
        block = mfg.blocks[l]
        if block.n_src != len(mfg.nodes[l]) or len(block.start) != len(mfg.nodes[l + 1]):
            return False
        if len(block.start) > block.n_src:
            return False
    return True


def check_fair_share(mfg, needed):
    yield from check_message_flow_graph(mfg)
    yield "type", "`needed` is no array of bool", not is_mask(needed)
    yield (
        "value",
        "`needed` has not one truth for each input node",
        not has_shape(needed, len(mfg.nodes[0])),
    )
