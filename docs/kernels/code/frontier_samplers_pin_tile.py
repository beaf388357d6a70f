"""Frontier sampling on a Dashboard of pins and tiles."""

import math

from choosing import pick_without_replacement
from forms import is_integer, is_real, node_count, node_sample
from frontier_samplers import check_frontier, random_neighbour, weight
from streams import below


def pin_tile(graph, main, probe, m, n, eta, deg_cap, include, lanes, probe_range, overflow, states):
    roots = pick_without_replacement(main, 0, node_count(graph), m)  # 4 6
    draws = m
    weights = [weight(graph, v, deg_cap) for v in roots]
    capacity = max(planned_capacity(graph, m, eta, deg_cap), sum(weights))  # 1-2
    board = first_tiles(roots, weights, capacity)
    probes = 0  # draws of `probe`, so far
    rounds = 0
    sample = set(roots)  # 5
    popped = []
    pushed = []
    states.append(tile_state(board, sample))
    for _ in range(n - m):  # 20
        if board.valid == 0:  # only isolated nodes are left: stop early
            break
        limit = len(board.DB) if probe_range == "capacity" else board.IA_start[-1]
        tries = 1
        while board.DB[below(probe, probes + tries - 1, limit)] == -1:
            tries += 1
        pin = board.DB[below(probe, probes + tries - 1, limit)]
        probes += tries
        rounds += (tries + lanes - 1) // lanes  # rounded up: each step begins a round
        u = board.node[pin]
        unpin(board, pin)  # 21
        v = random_neighbour(graph, u, main, draws)  # 22
        draws += 1
        if weight(graph, v, deg_cap) > free(board):  # 23
            clean_up_tiles(board)  # 24-25
        push_tile(board, v, pin, weight(graph, v, deg_cap), overflow)  # 27 29
        sample.add(v if include == "pushed" else u)  # 28
        popped.append(u)
        pushed.append(v)
        states.append(tile_state(board, sample))
    counted = dict(board.counts, capacity=len(board.DB), probes=probes, rounds=rounds)
    return node_sample(graph, sample, popped, pushed, draws=draws, **counted)


def planned_capacity(graph, m, eta, deg_cap):
    return math.ceil(eta * m * mean_weight(graph, deg_cap))  # (eta * m) * mean, in float64


def mean_weight(graph, deg_cap):
    total = 0
    for v in range(node_count(graph)):
        total += weight(graph, v, deg_cap)
    return total / node_count(graph)  # in float64


class Tiles:
    """The Dashboard: entries with pins, tiles, and the index of columns.

    The tile of entry k is `DB[k]`, -1 if there is none. Tile t is frontier node `node[t]`, which
    owns the entries `start[t]` to `end[t]`, the end exclusive, as column `slot[t]`. Column i begins
    at `IA_start[i]`, is in use if `IA_live[i]` and belongs to tile `IA_tile[i]`; behind the last
    column, at `IA_start[-1]`, free space begins.
    """

    def __init__(self, capacity):
        self.DB = [-1] * capacity
        self.IA_start = [0]
        self.IA_live = []
        self.IA_tile = []
        self.node = []
        self.start = []
        self.end = []
        self.slot = []
        self.valid = 0  # entries in use
        self.counts = {"cleanups": 0, "moved": 0, "truncated": 0}


def first_tiles(roots, weights, capacity):
    board = Tiles(capacity)
    for i in range(len(roots)):
        first = board.IA_start[i]
        last = first + weights[i]
        board.node.append(roots[i])
        board.start.append(first)
        board.end.append(last)
        board.slot.append(i)
        board.IA_start.append(last)
        board.IA_live.append(True)
        board.IA_tile.append(i)
        for k in range(first, last):
            board.DB[k] = i
        board.valid += weights[i]
    return board


def free(board):
    return len(board.DB) - board.IA_start[-1]


def unpin(board, pin):
    for k in range(board.start[pin], board.end[pin]):
        board.DB[k] = -1
    board.IA_live[board.slot[pin]] = False
    board.valid -= board.end[pin] - board.start[pin]


def clean_up_tiles(board):
    old = board.IA_start
    live = [i for i in range(len(board.IA_live)) if board.IA_live[i]]
    tiles = [board.IA_tile[i] for i in live]
    board.DB = [-1] * len(board.DB)
    board.IA_start = [0]
    for j, i in enumerate(live):
        t = tiles[j]
        first = board.IA_start[j]
        last = first + old[i + 1] - old[i]
        for k in range(first, last):
            board.DB[k] = t
        board.start[t] = first
        board.end[t] = last
        board.slot[t] = j
        board.IA_start.append(last)
    board.IA_live = [True] * len(live)
    board.IA_tile = tiles
    board.counts["cleanups"] += 1
    board.counts["moved"] += board.IA_start[-1]


def push_tile(board, v, pin, wanted, overflow):
    while overflow == "grow" and wanted > free(board):
        board.DB += [-1] * len(board.DB)  # twice as long
    first = board.IA_start[-1]
    last = first + min(wanted, free(board))
    if last - first < wanted:
        board.counts["truncated"] += 1
    for k in range(first, last):
        board.DB[k] = pin
    board.node[pin] = v
    board.start[pin] = first
    board.end[pin] = last
    board.slot[pin] = len(board.IA_live)
    board.IA_start.append(last)
    board.IA_live.append(True)
    board.IA_tile.append(pin)
    board.valid += last - first


def tile_state(board, sample):
    tiles = []
    for i in range(len(board.IA_live)):
        tiles.append(board.IA_tile[i] if board.IA_live[i] else -1)
    return {
        "DB": list(board.DB),
        "IA_start": list(board.IA_start),
        "IA_live": list(board.IA_live),
        "IA_tile": tiles,
        "node": list(board.node),
        "start": list(board.start),
        "end": list(board.end),
        "slot": list(board.slot),
        "sample": sorted(sample),
    }


def check_pin_tile(graph, main, probe, m, n, eta, deg_cap, include, lanes, probe_range, overflow):
    yield "type", "`eta` is no number: true and null are none", not is_real(eta)
    yield "type", "`lanes` is no integer", not is_integer(lanes)
    yield from check_frontier(graph, main, probe, m, n, deg_cap, include)
    yield "value", "`eta` is not above 1, or is infinite or NaN", not 1 < eta < math.inf
    too_long = not eta * m * mean_weight(graph, deg_cap) < 2**32
    yield "value", "eta m d is 2**32 or more, where d is the mean weight", too_long
    yield "value", "`lanes` is not in [1, 2**31)", not 1 <= lanes < 2**31
    known = probe_range in ("capacity", "used")
    yield (
        "value",
        "`probe_range` is not `capacity` or `used`: other text, a number, null",
        not known,
    )
    known = overflow in ("truncate", "grow")
    yield "value", "`overflow` is not `truncate` or `grow`: other text, a number, null", not known
