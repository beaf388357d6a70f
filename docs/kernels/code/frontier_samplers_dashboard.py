"""Frontier sampling on a Dashboard of entries that know their column."""

from choosing import pick_without_replacement
from forms import node_count, node_sample
from frontier_samplers import random_neighbour, weight
from frontier_samplers_pin_tile import check_pin_tile, planned_capacity
from streams import below


def dashboard(
    graph, main, probe, m, n, eta, deg_cap, include, lanes, probe_range, overflow, states
):
    roots = pick_without_replacement(main, 0, node_count(graph), m)  # 4 6
    draws = m
    weights = [weight(graph, v, deg_cap) for v in roots]
    capacity = max(planned_capacity(graph, m, eta, deg_cap), sum(weights))  # 1-2
    board = Slots(capacity)
    for i in range(m):  # 8-15
        append_column(board, roots[i], weights[i])
    probes = 0
    rounds = 0
    sample = set(roots)  # 5
    popped = []
    pushed = []
    states.append(slot_state(board, sample))
    for _ in range(n - m):  # 17
        if board.valid == 0:  # only isolated nodes are left: stop early
            break
        limit = len(board.node) if probe_range == "capacity" else board.IA_start[-1]
        tries = 1
        while board.node[below(probe, probes + tries - 1, limit)] == -1:
            tries += 1
        hit = below(probe, probes + tries - 1, limit)
        probes += tries
        rounds += (tries + lanes - 1) // lanes
        u = pop_column(board, hit)  # 18
        v = random_neighbour(graph, u, main, draws)  # 19
        draws += 1
        wanted = weight(graph, v, deg_cap)
        if wanted > len(board.node) - board.IA_start[-1]:  # 20
            clean_up_slots(board)  # 21
        while overflow == "grow" and wanted > len(board.node) - board.IA_start[-1]:
            board.node += [-1] * len(board.node)
            board.offset += [0] * len(board.offset)
            board.column += [-1] * len(board.column)
        room = len(board.node) - board.IA_start[-1]
        if room < wanted:
            board.counts["truncated"] += 1
        append_column(board, v, min(wanted, room))  # 23
        sample.add(v if include == "pushed" else u)  # 24
        popped.append(u)
        pushed.append(v)
        states.append(slot_state(board, sample))
    counted = dict(board.counts, capacity=len(board.node), probes=probes, rounds=rounds)
    return node_sample(graph, sample, popped, pushed, draws=draws, **counted)


class Slots:
    """The Dashboard of three slots an entry, and the index of columns.

    Entry k belongs to `node[k]`, -1 if to none, as part of column `column[k]`. `offset[k]` is how
    far behind the first entry of its column it stands; in the first it is minus their number.
    """

    def __init__(self, capacity):
        self.node = [-1] * capacity
        self.offset = [0] * capacity
        self.column = [-1] * capacity
        self.IA_start = [0]
        self.IA_live = []
        self.valid = 0
        self.counts = {"cleanups": 0, "moved": 0, "truncated": 0}


def append_column(board, v, length):
    first = board.IA_start[-1]
    for k in range(first, first + length):
        board.node[k] = v
        board.offset[k] = k - first if k > first else -length
        board.column[k] = len(board.IA_live)
    board.IA_start.append(first + length)
    board.IA_live.append(True)
    board.valid += length


def pop_column(board, hit):
    first = hit
    if board.offset[hit] > 0:
        first = hit - board.offset[hit]
    length = -board.offset[first]
    v = board.node[first]
    board.IA_live[board.column[first]] = False
    for k in range(first, first + length):
        board.node[k] = -1
    board.valid -= length
    return v


def clean_up_slots(board):
    old = board.IA_start
    live = [i for i in range(len(board.IA_live)) if board.IA_live[i]]
    node, offset = board.node, board.offset
    board.node = [-1] * len(node)
    board.offset = [0] * len(node)
    board.column = [-1] * len(node)
    board.IA_start = [0]
    for j, i in enumerate(live):
        first = board.IA_start[j]
        length = old[i + 1] - old[i]
        for k in range(length):
            board.node[first + k] = node[old[i] + k]
            board.offset[first + k] = offset[old[i] + k]
            board.column[first + k] = j  # columns are numbered anew
        board.IA_start.append(first + length)
    board.IA_live = [True] * len(live)
    board.counts["cleanups"] += 1
    board.counts["moved"] += board.IA_start[-1]


def slot_state(board, sample):
    offset = list(board.offset)
    column = list(board.column)
    for k in range(len(board.node)):
        if board.node[k] == -1:
            offset[k] = 0
            column[k] = -1
    return {
        "node": list(board.node),
        "offset": offset,
        "column": column,
        "IA_start": list(board.IA_start),
        "IA_live": list(board.IA_live),
        "sample": sorted(sample),
    }


def check_dashboard(graph, main, probe, m, n, eta, deg_cap, include, lanes, probe_range, overflow):
    yield from check_pin_tile(
        graph, main, probe, m, n, eta, deg_cap, include, lanes, probe_range, overflow
    )
