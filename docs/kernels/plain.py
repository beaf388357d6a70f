"""Steps that NumPy hides in the reference, written as loops for docs/kernels; a test runs them."""

import math

from refimpl.samplers.normal_quantiles import normal_quantile
from refimpl.streams import LABOR, NEIGHBOR, RELATION, SHARED, floyd, key, uniform


def sample_mfg(graph, roots, fanouts, seed, epoch, batch, mode, batch_dependency):
    nodes, blocks, rows = [list(roots)], [], {}
    for hop, fanout in enumerate(fanouts):  # the roots' hop first, which is layer L
        dst, layer = nodes[0], len(fanouts) - hop
        all_rows = {v: range(graph.indptr[v], graph.indptr[v + 1]) for v in dst}
        name = seed, epoch, batch, layer
        if mode[-1] in "123":
            chance = chances(graph, all_rows, fanout, int(mode[-1]))
        for v, row in all_rows.items():
            if isinstance(fanout, list):
                of_relation = seed, RELATION, epoch, batch, layer
                rows[v] = by_relation(graph.edge_types, row, fanout, of_relation, v)
            elif mode[-1] in "123":  # an entry's weight is 1 over its chance
                r = {j: variate(graph.indices[j], *name, batch_dependency) for j in row}
                rows[v] = [j for j in row if chance[j] == 1 or r[j] < chance[j]]
            elif mode.startswith("labor"):
                nodes_of_row = [graph.indices[j] for j in row]
                r = [variate(u, *name, batch_dependency) for u in nodes_of_row]
                rows[v] = by_variates(row, fanout, r, mode)
            elif mode == "layered":
                rows[v] = pick(row, fanout, key(seed, NEIGHBOR, epoch, batch, layer, v))
            elif v not in rows:  # "shared": drawn in the hop after the one that met v
                rows[v] = pick(row, fanout, key(seed, SHARED, epoch, batch, v))
        edge_ids = [j for v in dst for j in rows[v]]
        picked = [graph.indices[j] for j in edge_ids]
        src = dst + sorted(set(picked) - set(dst))  # the destinations, then the new nodes
        place = {u: i for i, u in enumerate(src)}
        end = [sum(len(rows[u]) for u in dst[: i + 1]) for i in range(len(dst))]
        nodes.insert(0, src)
        blocks.insert(0, ([0, *end][: len(dst)], end, [place[u] for u in picked], edge_ids))
    return nodes, blocks


def pick(row, fanout, key_of_node):
    if fanout < 0 or len(row) <= fanout:
        return list(row)  # all; nothing is drawn
    return [row[i] for i in floyd(key_of_node, len(row), fanout)]


def variate(node, seed, epoch, batch, layer, batch_dependency):
    group, place = divmod(batch, batch_dependency)
    drawn = uniform(key(seed, LABOR, epoch, group, layer), node)
    if place == 0:
        return drawn
    angle = place / batch_dependency * math.pi / 2
    later = uniform(key(seed, LABOR, epoch, group + 1, layer), node)
    z = math.cos(angle) * normal_quantile(drawn) + math.sin(angle) * normal_quantile(later)
    return (1 + math.erf(z / math.sqrt(2))) / 2


def by_variates(row, fanout, r, mode):
    if fanout < 0 or len(row) <= fanout:
        return list(row)
    ranked = sorted(range(len(row)), key=lambda i: r[i])
    below = [i for i in ranked if r[i] < fanout / len(row)]
    return sorted(row[i] for i in (below if mode == "labor" else ranked[:fanout]))


def chances(graph, rows, fanout, rounds):
    if fanout == 0:
        return {j: 0 for row in rows.values() for j in row}
    pi = {graph.indices[j]: 1.0 for row in rows.values() for j in row}
    for left in range(rounds, -1, -1):
        c = {v: scale([pi[graph.indices[j]] for j in row], fanout) for v, row in rows.items()}
        greatest = dict.fromkeys(pi, 0)
        for v, row in rows.items():
            for j in row:
                greatest[graph.indices[j]] = max(greatest[graph.indices[j]], c[v])
        if left:
            pi = {t: pi[t] * greatest[t] for t in pi}
    return {j: min(c[v] * pi[graph.indices[j]], 1) for v, row in rows.items() for j in row}


def scale(pi, fanout):
    if fanout < 0 or len(pi) <= fanout:
        return 1.0
    target, c, certain, found = len(pi) ** 2 / fanout, 0, -1, 0
    while certain < found < len(pi):  # the sum of 1 / min(1, c p) becomes the target
        certain = found
        c = sum(1 / p for p in pi if 1 / p >= c) / (target - certain)
        found = sum(1 / p < c for p in pi)
    return c


def by_relation(types, row, fanouts, name, v):
    drawn = []
    for r, fanout in enumerate(fanouts):
        drawn += pick([j for j in row if types[j] == r], fanout, key(*name, r, v))
    return sorted(drawn)


def block_norm(kind, block, degrees):
    start, end, indices, data = [], [], [], []
    for v in range(len(block.start)):
        row = range(block.start[v], block.end[v])
        if kind != "row":
            row = [j for j in row if block.indices[j] != v]
        start.append(len(indices))
        if kind != "row":  # the node itself, first in its row and only there
            indices.append(v)
            data.append(1 / ((degrees[v] if kind == "sym" else len(row)) + 1))
        weights = [1.0 if block.weights is None else block.weights[j] for j in row]
        for j, weight in zip(row, weights, strict=True):
            u = block.indices[j]
            indices.append(u)
            if kind == "sym":  # times the degree of v over how many neighbours were sampled
                root = math.sqrt((degrees[u] + 1) * (degrees[v] + 1))
                value = degrees[v] / len(row) / root
            else:
                value = 1 / (len(row) + (kind == "loop"))
            data.append(value * (weight * len(row) / sum(weights)))
        end.append(len(indices))
    return start, end, indices, data


def fair_share(mfg, needed):
    charges = [[float(x) for x in needed]]
    for block in mfg.blocks:
        rows = [range(*bounds) for bounds in zip(block.start, block.end, strict=True)]
        consumers = [0] * block.n_src
        for i, row in enumerate(rows):
            consumers[i] += 1  # a node's own next layer
            for j in row:
                consumers[block.indices[j]] += 1
        portion = [x / max(count, 1) for x, count in zip(charges[-1], consumers, strict=True)]
        charge = portion[: len(rows)]  # its own first, then in the order of the entries
        for i, row in enumerate(rows):
            for j in row:
                charge[i] += portion[block.indices[j]]
        charges.append(charge)
    return charges
