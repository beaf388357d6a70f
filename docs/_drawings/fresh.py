"""Figures of FreshGNN's pages: the policy, the cache, pruning, and the rounds of loading."""

import numpy as np

import refimpl as gnn
from _drawings.svg import Drawing, Panel
from refimpl.lab.apps.stepper.course import six_nodes

FEATURES = np.array([[2.0, 0], [1, 0], [1, 1], [0, 1], [0, 2], [1, 2]])
IDS = np.arange(4)  # the nodes of layer 1
NORMS = ([0.9, 0.5, 0.2, 0.1], *([[0.9, 0.1, 0.2, 0.5]] * 4))  # of the iterations 0 to 4
P_GRAD, T_STALE, FLOATS = 0.5, 2, 10
AT = {v: 76 + 56 * v for v in range(6)}  # of nodes, from the left


def iterations():
    """Yield what each of five iterations of the worked example reads and leaves in the cache."""
    cache = gnn.BidirectionalCache(
        n=6, d=2, h=2, layers=1, floats=FLOATS, t_stale=T_STALE, dtype="float64"
    )
    hotness = gnn.history.degree_hotness(six_nodes())
    cache.fill(FEATURES, hotness)
    ranked = np.lexsort((np.arange(6), -np.asarray(hotness)))
    for i, norms in enumerate(NORMS):
        slots = cache.lookup(1, IDS, i)
        cache.begin_update(i)
        rows, before = np.full((4, 2), float(i)), set(kept(cache))
        done = gnn.policy_update(cache, 1, IDS, np.array(norms), slots < 0, rows, i, p=P_GRAD)
        yield {
            "i": i,
            "norms": norms,
            "read": IDS[slots >= 0].tolist(),
            "before": before,
            "kept": kept(cache),
            "head": cache.head,
            "features": ranked[: cache.feature_rows].tolist(),
            "counts": done,
        }


def kept(cache):
    """Return {node: (slot, stamp)} of the embeddings that the map leads to."""
    entries, found = cache.entries, {}
    for v in range(6):
        slot = int(entries.slot_of[0, v])
        if slot >= 0 and entries.back[slot] == v:
            found[v] = slot, int(entries.stamp[slot])
    return found


def policy(iteration=1):
    """Return the rows of one iteration by the norm of their gradient, and what becomes of each."""
    state = list(iterations())[iteration]
    stable = int(P_GRAD * len(IDS) + 1e-9)
    order = sorted(IDS.tolist(), key=lambda v: (state["norms"][v], v))
    panel = Panel(330, 214, f"The policy in iteration {iteration}", "")
    panel.note(2, 10, "norm of the gradient")
    told = []
    for rank, v in enumerate(order):
        read, now = v in state["read"], v in state["kept"]
        y, width = 24 + 40 * rank + (24 if rank >= stable else 0), 120 * state["norms"][v]
        becomes = {
            (True, True): "read: stays",
            (True, False): "read: evicted",
            (False, True): "computed: admitted",
            (False, False): "computed: not kept",
        }[read, now]
        panel.node(18, y + 14, str(v), "strong" if now else "plain")
        panel.box(42, y + 4, width, 20, "strong" if rank < stable else "soft")
        panel.words(48 + width, y + 14, f"{state['norms'][v]}", anchor="start", size=12)
        panel.words(328, y + 14, becomes, anchor="end", size=13)
        told.append(f"node {v}, norm {state['norms'][v]}, {becomes}")
    cut = 24 + 40 * stable + 16
    panel.line(2, cut, 328, cut, "dashed")
    panel.note(2, cut - 8, f"stable: the {stable} smallest of {len(IDS)}")
    panel.text = "; ".join(told)
    return Drawing("A row's place in the order of norms decides what becomes of it", [panel])


def ring():
    """Return the buffer after each iteration: embeddings from the left, features from the right."""
    panels = []
    for state in iterations():
        i = state["i"]
        title = f"iteration {i}: reads {', '.join(map(str, state['read'])) or 'none'}"
        slots = {slot: (v, stamp) for v, (slot, stamp) in state["kept"].items()}
        held = {FLOATS // 2 - 1 - rank: v for rank, v in enumerate(state["features"])}
        panel = Panel(272, 98, title, "")
        panel.head(title)
        told = []
        for place in range(FLOATS // 2):
            x = 4 + 53 * place
            if place in slots:
                v, stamp = slots[place]
                panel.box(x, 24, 52, 40, "strong", (f"h of {v}", f"stamp {stamp}"), size=11)
                told.append(f"slot {place} holds the embedding of node {v}, stamp {stamp}")
            elif place in held:
                panel.box(x, 24, 52, 40, "soft", (f"x of {held[place]}",), size=12)
                told.append(f"place {place} holds the features of node {held[place]}")
            else:
                panel.box(x, 24, 52, 40, "gone", ("free",), size=12)
                told.append(f"place {place} is free")
        x = 4 + 53 * state["head"]
        panel.arrow(x, 88, x, 66, "thin")
        panel.note(x + 6, 84, "header")
        panel.text = f"{'; '.join(told)}. The header is at slot {state['head']}."
        panels.append(panel)
    return Drawing(
        "One buffer of ten numbers: embeddings h from the left, features x from the right", panels
    )


def draw_layers(panel, mfg, states, top=40, down=74):
    """Draw a message-flow graph, the roots above; `states` has a kind for each row by layer."""
    L = len(mfg.blocks)
    places = [
        {int(v): (AT[int(v)], top + down * (L - layer)) for v in nodes}
        for layer, nodes in enumerate(mfg.nodes)
    ]
    for layer, block in enumerate(mfg.blocks, start=1):
        for row, v in enumerate(mfg.nodes[layer].tolist()):
            columns = block.indices[block.start[row] : block.end[row]]
            if states[layer][row] == "strong":
                panel.line(*places[layer][v], *places[layer - 1][v], "dashed")
            for u in mfg.nodes[layer - 1][columns].tolist():
                panel.line(*places[layer][v], *places[layer - 1][u], "thin")
    for layer in range(L + 1):
        y = top + down * (L - layer)
        panel.note(4, y, f"layer {layer}")
        for (v, place), kind in zip(places[layer].items(), states[layer], strict=True):
            panel.node(*place, str(v), kind)


def layers_needed():
    """Return what node 0 needs for three layers: each has the neighbours of the one above."""
    mfg = gnn.sample_mfg(six_nodes(), np.array([0]), (-1, -1, -1), seed=7, epoch=0, batch=0)
    counts = [len(nodes) for nodes in mfg.nodes]
    told = "; ".join(f"layer {l}: nodes {np.sort(mfg.nodes[l]).tolist()}" for l in (3, 2, 1, 0))
    panel = Panel(374, 268, "What one row in layer 3 needs", told)
    states = [["strong"] * len(nodes) for nodes in mfg.nodes]
    states[0] = ["soft"] * counts[0]
    draw_layers(panel, mfg, states, top=22, down=74)
    said = f"One node needs {counts[2]} rows in layer 2, {counts[1]} in layer 1, {counts[0]} below"
    return Drawing(said, [panel])


def pruned():
    """Return the message-flow graph of root 0 before and after node 3 is found in the cache."""
    mfg = gnn.sample_mfg(six_nodes(), np.array([0]), (-1, -1), seed=7, epoch=0, batch=0)
    hit = [np.isin(mfg.nodes[1], [3]), np.array([False])]
    after, panels = gnn.prune_mfg(mfg, hit), []
    whole = [["soft"] * len(mfg.nodes[0]), *(["strong"] * len(nodes) for nodes in mfg.nodes[1:])]
    for title, shown, states in (
        ("Sampled", mfg, whole),
        ("Pruned: node 3 is in the cache", after.mfg, kinds_after(mfg, after)),
    ):
        block, loaded = shown.blocks[0], states[0].count("soft")
        ends = ", ".join(map(str, block.end.tolist()))
        told = f"{title}. {loaded} features are loaded. end of layer 1: {ends}."
        panel = Panel(330, 246, title, told)
        panel.head(title)
        draw_layers(panel, shown, states, top=46, down=70)
        panel.words(4, 216, f"{loaded} features loaded", anchor="start", size=13)
        panel.note(4, 236, f"end of layer 1: {ends}")
        panels.append(panel)
    return Drawing("One write empties row 3; then no row needs node 4", panels)


def kinds_after(mfg, after):
    """Return the kind of each row behind pruning: computed, cached, loaded or dead."""
    states = [["soft" if live else "gone" for live in after.live[0]]]
    for layer in range(1, len(mfg.nodes)):
        rows = zip(after.live[layer], after.comp[layer - 1], strict=True)
        states.append([("strong" if comp else "warm") if live else "gone" for live, comp in rows])
    return states


def rounds():
    """Return four GPUs on two switches, and the five rounds in which each sends to each."""
    topology, panels = gnn.loader.Topology.tree((2, 2)), []
    places = {k: (24 + 56 * k, 112) for k in range(4)} | {4: (52, 66), 5: (164, 66), 6: (108, 20)}
    plan = gnn.loader.plan_rounds(topology, 1 - np.eye(4, dtype=int))
    for number, transfers in enumerate(plan, start=1):
        said = [f"{t.source} \u2192 {t.target}" for t in transfers]
        used = [k for t in transfers for k in topology.routes[t.source, t.target]]
        if len(set(used)) < len(used):
            raise ValueError(f"round {number} uses a link twice")
        panel = Panel(216, 184, f"Round {number} of {len(plan)}", "; ".join(said))
        for a, b, _ in topology.links:
            if a < b:
                panel.line(*places[a], *places[b], "thin")
        for k in used:
            aside(panel, places, *topology.links[k][:2])
        for v, place in places.items():
            if v < topology.devices:
                panel.node(*place, str(v), "soft")
            else:
                words = "host" if v == max(places) else "switch"
                panel.box(place[0] - 26, place[1] - 11, 52, 22, "plain", words, size=12)
        panel.words(108, 148, f"round {number}", kind="bold", size=13)
        panel.words(108, 168, ", ".join(said), size=12)
        panels.append(panel)
    return Drawing(
        "Two pairs of GPUs: each sends to each in five rounds, no link twice in one", panels
    )


def aside(panel, places, a, b):
    """Draw an arrow from a to b, beside the line, so that both directions can be seen."""
    (x1, y1), (x2, y2) = places[a], places[b]
    length = float(np.hypot(x2 - x1, y2 - y1))
    right, down = 4 * (y1 - y2) / length, 4 * (x2 - x1) / length
    panel.arrow(x1 + right, y1 + down, x2 + right, y2 + down, "thick", gap=15)


DRAWINGS = {
    "policy": policy,
    "ring-buffer": ring,
    "layers-needed": layers_needed,
    "pruned": pruned,
    "gpus-and-rounds": rounds,
}
