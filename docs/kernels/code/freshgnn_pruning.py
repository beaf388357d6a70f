"""FreshGNN's pruning: a message-flow graph without what only cached embeddings needed."""

from arrays import entries, has_shape, is_mask, is_switch, named
from forms import is_named
from freshgnn import check_message_flow_graph

LAYOUTS = ("csr2", "csr", "csr_batched", "coo", "coo_compact")


def prune_mfg(mfg, hit, uses_self, layout):
    L = len(mfg.blocks)
    live, comp, blocks = [None] * (L + 1), [None] * L, [None] * L
    live[L] = [True] * len(mfg.nodes[L])  # the roots
    ops, touched_bytes = 0, 0
    for l in range(L, 0, -1):
        block = mfg.blocks[l - 1]
        computed = []
        needed = [False] * block.n_src
        for i in range(len(block.start)):
            computed.append(live[l][i] and not hit[l - 1][i])
            if computed[i]:
                for j in entries(block, i):
                    needed[block.indices[j]] = True
                if uses_self:
                    needed[i] = True
        comp[l - 1], live[l - 1] = computed, needed
        blocks[l - 1] = without_rows(block, computed, layout)
        counted, size = work(block, computed, layout)
        ops += counted
        touched_bytes += size
    return named(
        "PruneResult",
        mfg=named("MFG", nodes=mfg.nodes, blocks=blocks),
        live=live,
        comp=comp,
        ops=ops,
        touched_bytes=touched_bytes,
    )


def without_rows(block, computed, layout):
    """The block with no entries but in computed rows."""
    if layout != "csr2":
        kept = []
        for i in range(len(computed)):
            kept.append(entries(block, i) if computed[i] else [])
        return packed(block, kept, block.indices, block.n_src)
    end = list(block.end)
    for i in range(len(computed)):
        if not computed[i]:
            end[i] = block.start[i]  # one store; nothing moves
    return named(
        "Block",
        start=block.start,
        end=end,
        indices=block.indices,
        n_src=block.n_src,
        edge_ids=block.edge_ids,
    )


def packed(block, kept, indices, n_src):
    """A block of some rows of entries, one behind the other."""
    start, end, places = [], [], []
    for row in kept:
        start.append(len(places))
        places += row
        end.append(len(places))
    edge_ids = None
    if block.edge_ids is not None:
        edge_ids = [block.edge_ids[j] for j in places]
    found = [indices[j] for j in places]
    return named(
        "Block",
        start=start,
        end=end,
        indices=found,
        n_src=n_src,
        edge_ids=edge_ids,
    )


def work(block, computed, layout):
    """The numbers compared or stored to remove rows that are packed, and their bytes.

    A bound of a row has 8 bytes, an entry 4, with an edge id 12.
    """
    n = len(computed)
    lengths = [block.end[i] - block.start[i] for i in range(n)]
    removed = [i for i in range(n) if lengths[i] > 0 and not computed[i]]
    e = sum(lengths)
    gone = sum(lengths[i] for i in removed)
    entry = 4 if block.edge_ids is None else 12
    if layout == "csr2":
        return len(removed), 8 * len(removed)
    if layout == "csr_batched":  # all bounds and all entries that stay are written once
        return n + e - gone, 8 * n + entry * (e - gone)
    if layout == "csr":  # row after row: bounds behind it change, entries behind it move
        bounds = sum(n - i for i in removed)
        moved = sum(sum(lengths[i + 1 :]) for i in removed)
        return bounds + moved, 8 * bounds + entry * moved
    row_of = []  # of each entry: the first half of its pair
    for i in range(n):
        row_of += [i] * lengths[i]
    compared = 0
    for i in removed:
        compared += comparisons(row_of, i) + comparisons(row_of, i + 1)
    if layout == "coo":  # found by searching, and marked in a byte each
        return compared + gone, 4 * compared + gone
    stay = e - gone  # "coo_compact": all marks are read, the pairs that stay written
    return compared + gone + e + stay, 4 * compared + gone + e + (entry + 4) * stay


def comparisons(row_of, row):
    """How many numbers a binary search for the first entry of a row looks at."""
    low, high, compared = 0, len(row_of), 0
    while low < high:
        middle = (low + high) // 2
        compared += 1
        if row_of[middle] < row:
            low = middle + 1
        else:
            high = middle
    return compared


def live_layers(pruned):
    mfg, live, comp = pruned.mfg, pruned.live, pruned.comp
    L = len(mfg.blocks)
    order, computed, blocks = [None] * (L + 1), [None] * L, [None] * L
    order[L] = [i for i in range(len(live[L])) if live[L][i]]
    for l in range(L, 0, -1):
        computed[l - 1] = [comp[l - 1][i] for i in order[l]]
        rows = [i for i in order[l] if comp[l - 1][i]]
        order[l - 1] = list(rows)  # first those that this layer computes, in its order
        for u in range(len(live[l - 1])):
            if live[l - 1][u] and u not in rows:
                order[l - 1].append(u)
        blocks[l - 1] = renumbered(mfg.blocks[l - 1], rows, order[l - 1])
    return {"order": order, "computed": computed, "blocks": blocks}


def renumbered(block, rows, sources):
    """Some rows of a block, its columns by their place among the sources."""
    place = [None] * block.n_src
    for k in range(len(sources)):
        place[sources[k]] = k
    kept = [entries(block, i) for i in rows]
    return packed(block, kept, [place[u] for u in block.indices], len(sources))


def prune_layers(mfg, hit):
    return live_layers(prune_mfg(mfg, hit, True, "csr2"))


def check_prune_mfg(mfg, hit, uses_self, layout):
    yield from check_message_flow_graph(mfg)
    yield from check_hits(mfg, hit)
    yield "type", "`uses_self` is neither true nor false", not is_switch(uses_self)
    yield (
        "value",
        "`layout` is not `csr2`, `csr`, `csr_batched`, `coo` or `coo_compact`",
        layout not in LAYOUTS,
    )


def check_hits(mfg, hit):
    yield "type", "`hit` is no list of arrays of bool", not is_mask_list(hit)
    yield "value", "`hit` has not one array for each block", len(hit) != len(mfg.blocks)
    yield (
        "value",
        "an array of `hit` is not as long as the nodes of its layer",
        not fit(hit, mfg.nodes[1:]),
    )
    yield "value", "a root is cached", len(hit) > 0 and any(hit[-1])


def is_mask_list(value):
    return isinstance(value, list) and all(is_mask(one) for one in value)


def fit(masks, nodes):
    return all(has_shape(masks[k], len(nodes[k])) for k in range(len(nodes)))


def check_prune_layers(mfg, hit):
    yield from check_message_flow_graph(mfg)
    yield from check_hits(mfg, hit)


def check_live_layers(pruned):
    yield "type", "`pruned` is no `PruneResult`", not is_named(pruned, "PruneResult")
    yield from check_message_flow_graph(pruned.mfg)
    yield (
        "type",
        "`live` or `comp` is no list of arrays of bool",
        not (is_mask_list(pruned.live) and is_mask_list(pruned.comp)),
    )
    nodes = pruned.mfg.nodes
    yield (
        "value",
        "`live` has not one array for each layer, or `comp` for each but the inputs",
        len(pruned.live) != len(nodes) or len(pruned.comp) != len(nodes) - 1,
    )
    yield (
        "value",
        "an array of `live` or `comp` is not as long as the nodes of its layer",
        not (fit(pruned.live, nodes) and fit(pruned.comp, nodes[1:])),
    )
    yield (
        "value",
        "a computed node, or a source of one, is not live in the layer below",
        needs_the_dead(pruned),
    )


def needs_the_dead(pruned):
    for l in range(1, len(pruned.live)):
        block, below = pruned.mfg.blocks[l - 1], pruned.live[l - 1]
        for i in range(len(block.start)):
            if pruned.live[l][i] and pruned.comp[l - 1][i]:
                needed = [i] + [block.indices[j] for j in entries(block, i)]
                if not all(below[u] for u in needed):
                    return True
    return False
