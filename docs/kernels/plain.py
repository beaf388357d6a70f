"""Steps that NumPy hides in the reference, written as loops for docs/kernels; a test runs them."""

import math

from refimpl.samplers.labor import normal_quantile
from refimpl.streams import LABOR, NEIGHBOR, RELATION, SHARED, floyd, key, uniform


def sample_mfg(graph, roots, fanouts, seed, epoch, batch, mode, batch_dependency):
    nodes, blocks, rows = [list(roots)], [], {}
    for hop, fanout in enumerate(fanouts):  # the roots' hop first, which is layer L
        dst, layer = nodes[0], len(fanouts) - hop
        for v in dst:
            row = range(graph.indptr[v], graph.indptr[v + 1])
            if isinstance(fanout, list):
                name = seed, RELATION, epoch, batch, layer
                rows[v] = by_relation(graph.edge_types, row, fanout, name, v)
            elif mode.startswith("labor"):
                nodes_of_row = [graph.indices[j] for j in row]
                r = [variate(u, seed, epoch, batch, layer, batch_dependency) for u in nodes_of_row]
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


def by_relation(types, row, fanouts, name, v):
    drawn = []
    for r, fanout in enumerate(fanouts):
        drawn += pick([j for j in row if types[j] == r], fanout, key(*name, r, v))
    return sorted(drawn)


def block_norm(kind, block, degrees):
    start, end, indices, data = [], [], [], []
    for v in range(len(block.start)):
        sources = [block.indices[j] for j in range(block.start[v], block.end[v])]
        if kind != "row":  # the node itself, first in its row and only there
            sources = [v] + [u for u in sources if u != v]
        start.append(len(indices))
        for u in sources:
            indices.append(u)
            if kind != "sym":
                data.append(1 / len(sources))
            elif u == v:
                data.append(1 / (degrees[v] + 1))
            else:  # times the degree of v over how many neighbours were sampled
                scale = degrees[v] / (len(sources) - 1)
                data.append(scale / math.sqrt((degrees[u] + 1) * (degrees[v] + 1)))
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
