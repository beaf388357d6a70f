"""Sampled neighbours: the minibatches of FreshGNN and of layer sampling."""

from arrays import all_within, are_distinct, is_integers, named
from choosing import floyd, permutation, pick_without_replacement
from forms import is_graph, is_integer, is_named, is_word, node_count
from streams import key as key_of

NODES, NEIGHBOR, SHARED, RELATION = 9, 10, 11, 12  # what a key is for: its second part


def epoch_batches(ids, batch_size, seed, epoch):
    order = permutation(key_of([seed, NODES, epoch]), len(ids))
    shuffled = [ids[i] for i in order]
    batches = []
    for first in range(0, len(ids), batch_size):
        batches.append(shuffled[first : first + batch_size])
    return batches


def layer_sample(graph, roots, fanouts, key):
    nodes, blocks = [list(roots)], []
    draws = 0  # of `key`: one stream for all rows of all hops
    for fanout in fanouts:  # the roots' hop first
        rows = []
        for v in nodes[0]:
            row = row_of(graph, v)
            if 0 <= fanout < len(row):
                picked = pick_without_replacement(key, draws, len(row), fanout)
                draws += fanout
                row = [row[i] for i in sorted(picked)]
            rows.append(row)
        add_hop(graph, rows, nodes, blocks)
    return named("MFG", nodes=nodes, blocks=blocks)


def row_of(graph, v):
    """Where the neighbours of v stand in `indices`."""
    return list(range(graph.indptr[v], graph.indptr[v + 1]))


def add_hop(graph, rows, nodes, blocks):
    """Put a hop in front: the sources of the rows, and the block between."""
    dst = nodes[0]
    start, end, edge_ids = [], [], []
    for row in rows:
        start.append(len(edge_ids))
        edge_ids += row
        end.append(len(edge_ids))
    picked = [graph.indices[j] for j in edge_ids]
    src = dst + sorted(set(picked) - set(dst))  # the destinations, then what is new
    place = {src[i]: i for i in range(len(src))}
    indices = [place[u] for u in picked]
    block = named(
        "Block",
        start=start,
        end=end,
        indices=indices,
        n_src=len(src),
        edge_ids=edge_ids,
    )
    nodes.insert(0, src)
    blocks.insert(0, block)


def sample_mfg(graph, roots, fanouts, seed, epoch, batch, mode):
    relations = []
    if is_named(graph, "TypedGraph"):
        relations = graph.edge_types
        graph = graph.graph
    nodes, blocks = [list(roots)], []
    rows = {}
    layer = len(fanouts)
    for fanout in fanouts:  # the last layer's hop, which is the roots', first
        for v in nodes[0]:
            if isinstance(fanout, list):
                name = [seed, RELATION, epoch, batch, layer]
                rows[v] = by_relation(graph, relations, v, fanout, name)
            elif mode == "layered":
                of_node = key_of([seed, NEIGHBOR, epoch, batch, layer, v])
                rows[v] = pick(row_of(graph, v), fanout, of_node)
            elif v not in rows:  # "shared": drawn in the hop after the one that met v
                of_node = key_of([seed, SHARED, epoch, batch, v])
                rows[v] = pick(row_of(graph, v), fanout, of_node)
        add_hop(graph, [rows[v] for v in nodes[0]], nodes, blocks)
        layer -= 1
    return named("MFG", nodes=nodes, blocks=blocks)


def pick(row, fanout, of_node):
    if fanout < 0 or len(row) <= fanout:
        return row  # all; nothing is drawn
    return [row[i] for i in floyd(of_node, len(row), fanout)]


def by_relation(graph, relations, v, fanouts, name):
    drawn = []
    for r in range(len(fanouts)):
        row = [j for j in row_of(graph, v) if relations[j] == r]
        drawn += pick(row, fanouts[r], key_of(name + [r, v]))
    return sorted(drawn)


def sample_mfg_many(graph, batches, fanouts, seed, epoch, first_batch, mode):
    drawn = []
    for i in range(len(batches)):
        batch = first_batch + i
        drawn.append(sample_mfg(graph, batches[i], fanouts, seed, epoch, batch, mode))
    return drawn


def check_epoch_batches(ids, batch_size, seed, epoch):
    yield "type", "`ids` is no array of integers", not is_integers(ids)
    yield (
        "type",
        "`batch_size`, `seed` or `epoch` is no integer",
        not all(map(is_integer, (batch_size, seed, epoch))),
    )
    yield (
        "value",
        "`ids` has not one dimension, or an id is not in [0, 2**31 - 1)",
        not all_within(ids, 0, 2**31 - 1),
    )
    yield "value", "`batch_size` is below 1", batch_size < 1
    yield "value", "`seed` or `epoch` is not in [0, 2**64)", not (is_word(seed) and is_word(epoch))


def check_layer_sample(graph, roots, fanouts, key):
    yield "type", "`graph` is no graph", not is_any_graph(graph)
    yield "type", "`roots` is no array of integers", not is_integers(roots)
    yield "type", "`fanouts` is no list of integers", not is_integer_list(fanouts)
    yield "type", "`key` is no integer", not is_integer(key)
    yield "value", "a root is no node", not all_within(roots, 0, nodes_in(graph))
    yield "value", "a root comes twice", not are_distinct(roots)
    yield "value", "a fan-out is not in [-1, 2**31)", not all(-1 <= f < 2**31 for f in fanouts)
    yield "value", "`key` is not in [0, 2**64)", not is_word(key)


def is_any_graph(value):
    return is_graph(value) or is_named(value, "TypedGraph")


def nodes_in(graph):
    return node_count(graph if is_graph(graph) else graph.graph)


def is_integer_list(value):
    return isinstance(value, list) and all(map(is_integer, value))


def check_sample_mfg(graph, roots, fanouts, seed, epoch, batch, mode):
    yield from check_fanouts(graph, fanouts, mode)
    yield "type", "`roots` is no array of integers", not is_integers(roots)
    yield (
        "type",
        "`seed`, `epoch` or `batch` is no integer",
        not all(map(is_integer, (seed, epoch, batch))),
    )
    yield "value", "a root is no node", not all_within(roots, 0, nodes_in(graph))
    yield "value", "a root comes twice", not are_distinct(roots)
    yield (
        "value",
        "`seed`, `epoch` or `batch` is not in [0, 2**64)",
        not all(map(is_word, (seed, epoch, batch))),
    )


def check_fanouts(graph, fanouts, mode):
    yield "type", "`graph` is no graph", not is_any_graph(graph)
    yield "type", "`fanouts` is no list", not isinstance(fanouts, list)
    lists = [f for f in fanouts if isinstance(f, list)]
    numbers = [f for f in fanouts if not isinstance(f, list)]
    for some in lists:
        numbers = numbers + some
    yield "type", "a fan-out is no integer", not is_integer_list(numbers)
    yield "value", "a fan-out is not in [-1, 2**31)", not all(-1 <= f < 2**31 for f in numbers)
    yield (
        "value",
        "a fan-out is a list, and `graph` has no relations, or not as many",
        any(len(some) != relation_count(graph) for some in lists),
    )
    yield "value", "a fan-out is a list, and `mode` is not `layered`", lists and mode != "layered"
    yield "value", "`mode` is not `layered` or `shared`", mode not in ("layered", "shared")


def relation_count(graph):
    return None if is_graph(graph) else graph.relations


def check_sample_mfg_many(graph, batches, fanouts, seed, epoch, first_batch, mode):
    yield from check_fanouts(graph, fanouts, mode)
    yield "type", "`batches` is no list", not isinstance(batches, list)
    yield "type", "a batch is no array of integers", not all(map(is_integers, batches))
    yield (
        "type",
        "`seed`, `epoch` or `first_batch` is no integer",
        not all(map(is_integer, (seed, epoch, first_batch))),
    )
    n = nodes_in(graph)
    yield "value", "a root is no node", not all(all_within(b, 0, n) for b in batches)
    yield "value", "a root comes twice in a batch", not all(map(are_distinct, batches))
    yield (
        "value",
        "`seed`, `epoch` or the number of a batch is not in [0, 2**64)",
        not (is_word(seed) and is_word(epoch) and is_word(first_batch))
        or not is_word(first_batch + max(len(batches) - 1, 0)),
    )
