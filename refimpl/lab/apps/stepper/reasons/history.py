"""Why an iteration of FreshGNN does what it does."""

import numpy as np

from refimpl.history.policy import stable_count
from refimpl.lab.apps.stepper.whys import Table, counted, listed


def of_layers(mfg):
    """Say what was sampled."""
    sizes = listed([f"{len(nodes)} in layer {l}" for l, nodes in enumerate(mfg.nodes[:-1])])
    return f"{named('root', mfg.nodes[-1])}; {sizes}"


def named(word, nodes):
    """Return "node 3", "nodes 3 and 4" or "no node"."""
    nodes = np.asarray(nodes).tolist()
    return f"{word}{'s' * (len(nodes) > 1)} {listed(nodes)}" if nodes else f"no {word}"


def of_found(mfg, slots, l):
    """Say what a layer's look-up found."""
    found = mfg.nodes[l][slots[l] >= 0]
    return f"layer {l}: found are {len(found)} of {len(slots[l])}, {named('node', found)}"


def of_pruned(mfg, live):
    """Say what pruning leaves."""
    spared = np.setdiff1d(mfg.nodes[0], mfg.nodes[0][live.order[0]])
    return (
        f"{len(live.order[0])} of {len(mfg.nodes[0])} inputs are needed still; spared: "
        f"{named('node', spared)}"
    )


def of_normal(V, normal):
    """Say which rows are computed and which are read."""
    parts = [
        f"layer {l}: computed {listed(V[l][normal[l]]) or 'none'}, "
        f"read {listed(V[l][~normal[l]]) or 'none'}"
        for l in range(1, len(V))
    ]
    return "; ".join(parts)


def of_read(l, V, normal, h_cache):
    """Say which rows are read."""
    if h_cache is None:
        return f"nothing of layer {l} is cached: all its rows are computed"
    return f"layer {l}: {named('node', V[l][~normal[l]])} from the cache, as constants"


def of_loss(loss, L):
    """Say what the loss is."""
    return f"the loss is {loss:.4f}; its gradient by the rows of layer {L}"


def of_gradients(l, V, G):
    """Say whose gradients there are now."""
    if l == 1:
        return "back through layer 1: the gradients of its weights"
    return f"back through layer {l}: gradients of {named('node', V[l - 1])} in layer {l - 1}"


def of_norms(l, rows):
    """Say the norms of a layer's gradients."""
    pairs = zip(rows[0].tolist(), rows[1].tolist(), strict=True)
    return f"norms in layer {l}: " + listed([f"{norm:.2g} of {v}" for v, norm in pairs])


def of_update(updates, l, V):
    """Say what an update did."""
    low, admitted, evicted = updates[l]
    return f"{low} of {len(V[l])} stable: {admitted} admitted, {evicted} evicted"


BATCHES: Table = {
    "message_flow_graphs": {
        "roots = gnn": lambda roots: f"the epoch has {counted(len(roots), 'batch', 'batches')}",
        "for _, mfg": lambda mfg, taken: (
            f"the next batch, {named('root', mfg.nodes[-1])}" if taken else "the epoch is over"
        ),
        "yield mfg": lambda mfg: f"its neighbours, {len(mfg.nodes[0])} nodes in the lowest layer",
    },
    "FreshIterations.open_iteration": {
        "i, held": lambda i: f"iteration {i}",
        "step = run": lambda step, held: (
            f"{step.inputs} inputs sampled, {len(step.nodes[0])} needed, {sum(held)} of them held: "
            f"{len(step.nodes[0]) - sum(held)} loaded"
        ),
    },
    "Trainer.update": {
        "self.state.iterations += 1": lambda self: f"{self.state.iterations} iterations are done",
    },
}
ITERATION: Table = {
    "fresh_iteration": {
        "mfg = checked": of_layers,
        "for l in cached_layers: # 6": lambda l, taken: (
            f"layer {l} may be in the cache" if taken else ""
        ),
        "slots[l] = cache": of_found,
        "live = gnn": of_pruned,
        "normal = (None": of_normal,
        "H = [load": lambda mfg, V: (
            f"features of {len(V[0])} inputs out of {len(mfg.nodes[0])}: {named('node', V[0])}"
        ),
        "for l in range(1": lambda l, taken: f"layer {l}" if taken else "",
        "h_cache =": of_read,
        "h_normal =": lambda l, V, normal: f"layer {l}: {named('node', V[l][normal[l]])} computed",
        "loss, G_L": of_loss,
        "G[l - 1] =": of_gradients,
        "cache.begin_update": lambda cache, i: (
            f"entries written now get the stamp {i}; the header is at slot {cache.head}"
        ),
        "for l in cached_layers: # 19": lambda l, taken: (
            f"the entries of layer {l}" if taken else ""
        ),
        "rows = V": of_norms,
        "updates[l] =": of_update,
    }
}


def of_owner(entries, s, known, first_key, node):
    """Say whose slot it is."""
    if not 0 <= s < len(entries.back):
        return f"node {node} has no slot"
    key = int(entries.back[s])
    if known:
        return f"slot {s} has key {key}, that of node {node}"
    return f"slot {s} has {f'key {key}' if key >= 0 else 'no key'}, not {first_key + node}: lost"


def of_age(entries, s, known, oldest, cache, i):
    """Say whether an entry may be read."""
    if not known:
        return "no entry: not read"
    stamp = int(entries.stamp[s])
    age = f"stamp {stamp}", f"the oldest that is valid, {oldest}"
    if cache is not None and cache.t_stale is not None:
        age = f"stamp {stamp} + t_stale {cache.t_stale}", f"iteration {i}"
    if stamp < oldest:
        return f"{age[0]} < {age[1]}: too old, not read"
    return f"{age[0]} ≥ {age[1]}: read"


LOOKUP: Table = {
    "cache_lookup": {
        "for j, node": lambda node, taken: f"node {node}" if taken else "",
        "s = entries": lambda s, node: (
            f"the map says slot {s} for node {node}" if s >= 0 else f"the map has no node {node}"
        ),
        "known =": of_owner,
        "if known": of_age,
        "slots[j]": lambda node, s: f"node {node} is read from slot {s}",
    }
}
ADMIT: Table = {
    "cache_admit": {
        "for j, (node": lambda node, s, taken: f"node {node} goes to slot {s}" if taken else "",
        "entries.rows": lambda entries, s: (
            f"slot {s}: {listed([f'{x:.3g}' for x in entries.rows[s]])}"
        ),
        "entries.back": lambda entries, s: f"the key of slot {s} is {entries.back[s]}",
        "entries.stamp": lambda i, s: f"slot {s} was written in iteration {i}",
        "entries.slot_of": lambda node, s: f"the map says slot {s} for node {node}",
    }
}
POLICY: Table = {
    "update_with": {
        "low =": lambda ids, score, p, low: (
            f"p_grad {p:g} × {len(ids)} rows: the {int(low.sum())} smallest norms are stable, "
            f"{named('node', np.sort(ids[low]))}"
        ),
        "admit =": lambda ids, admit: f"stable and computed: {named('node', ids[admit])}",
        "evicted =": lambda ids, low, evicted: (
            f"not stable: {named('node', ids[~low])}; "
            f"{counted(evicted, 'entry', 'entries')} evicted"
        ),
        "admitted =": lambda admitted: f"{counted(admitted, 'entry', 'entries')} written",
    }
}
RANKS: Table = {
    "select_stable": {
        "score, ids, p": lambda score, p: (
            f"⌊{p:g} × {len(score)}⌋ = {stable_count(p, len(score))} rows are stable"
        ),
        "low[np": lambda score, ids, low: (
            f"by (norm, node), the first: {named('node', np.sort(ids[low]))}"
        ),
    }
}


def layer_of(mfg, blocks):
    """Return the layer that `prune_mfg` is at, when so many blocks are done."""
    return len(mfg.blocks) - len(blocks)


def of_computed(mfg, blocks, computed):
    """Say which rows of a layer are computed."""
    layer = layer_of(mfg, blocks)
    return f"layer {layer}, live and not cached: {named('node', mfg.nodes[layer][computed])}"


def of_sources(mfg, blocks, pruned, start, end, taken):
    """Say what a row needs."""
    if not taken:
        return "all rows have been asked"
    below = mfg.nodes[layer_of(mfg, blocks) - 1]
    if start == end:
        return "an empty row needs nothing"
    return f"a row that is computed needs {named('node', below[pruned.indices[start:end]])}"


def of_live(mfg, blocks, needed):
    """Say what is live in the layer below."""
    below = layer_of(mfg, blocks) - 1
    nodes = mfg.nodes[below]
    dead = f"; dead: {listed(nodes[~needed])}" if not needed.all() else ""
    return f"live in layer {below}: {named('node', nodes[needed])}{dead}"


PRUNE: Table = {
    "prune_mfg": {
        "for block, cached": lambda mfg, blocks, taken: (
            f"layer {layer_of(mfg, blocks)}" if taken else "all layers are pruned"
        ),
        "computed =": of_computed,
        "work =": lambda work: f"{counted(work.ops, 'number')} stored, {work.touched_bytes} bytes",
        "needed[: block": lambda computed: (
            f"what is computed needs its own row below: {counted(int(computed.sum()), 'row')}"
        ),
        "for start, end": of_sources,
        "live.insert": of_live,
    },
    "Csr2.empty": {
        "self.end[rows]": lambda rows: (
            f"end = start in {named('row', rows)}: nothing moves"
            if len(rows)
            else "no row is emptied"
        ),
    },
    "Csr.empty": {
        "for i in rows": lambda i, taken: (
            f"row {i} is removed" if taken else "no other row is removed"
        ),
        "start, end =": lambda i, start, end: (
            f"row {i} has {counted(end - start, 'entry', 'entries')}, from {start} on"
        ),
        "array[start": lambda start, end, e: (
            f"entries {end} to {e - 1} move to {start}" if e > end else "no entry stands behind"
        ),
        "self.indptr[i + 1": lambda self, i, start, end: (
            f"{end - start} is taken off {counted(len(self.indptr) - 1 - i, 'pointer')}"
        ),
        "moved +=": lambda moved: f"so far {counted(moved, 'entry', 'entries')} moved",
    },
}
