"""The nodes of a subgraph by a frontier that walks: four samplers with one law."""

import math

from choosing import pick_without_replacement
from forms import (
    degree,
    has_one_way_edge,
    is_graph,
    is_integer,
    is_real,
    is_word,
    neighbours,
    node_count,
    node_sample,
)
from streams import below


def frontier(graph, main, probe, m, n, deg_cap, include, states):
    front = pick_without_replacement(main, 0, node_count(graph), m)  # 1
    draws = m  # of `main`, so far
    sample = set(front)  # 2
    popped = []
    pushed = []
    states.append({"frontier": list(front), "sample": sorted(sample)})
    for step in range(n - m):  # 3
        total = 0
        for v in front:
            total += weight(graph, v, deg_cap)
        if total == 0:  # only isolated nodes are left: stop early
            break
        rest = below(probe, step, total)  # 4
        slot = 0
        while rest >= weight(graph, front[slot], deg_cap):
            rest -= weight(graph, front[slot], deg_cap)
            slot += 1
        u = front[slot]
        v = random_neighbour(graph, u, main, draws)  # 5
        draws += 1
        front[slot] = v  # 6
        sample.add(v if include == "pushed" else u)  # 7
        popped.append(u)
        pushed.append(v)
        states.append({"frontier": list(front), "sample": sorted(sample)})
    steps = len(popped)
    return node_sample(graph, sample, popped, pushed, draws=draws, probes=steps, rounds=steps)


def weight(graph, v, deg_cap):
    if deg_cap is None:
        return degree(graph, v)
    return min(degree(graph, v), deg_cap)


def random_neighbour(graph, u, main, draw):
    which = below(main, draw, degree(graph, u))  # among all of them, whatever deg_cap is
    return neighbours(graph, u)[which]


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


def bucket(graph, main, probe, m, n, deg_cap, include):
    front = pick_without_replacement(main, 0, node_count(graph), m)
    draws = m
    members = [[] for _ in range(64)]  # of class j: slots of weight 2**j to 2**(j + 1) - 1
    sums = [0] * 64  # of the weights in each class
    for slot in range(m):
        join(members, sums, slot, weight(graph, front[slot], deg_cap))
    drawn = 0  # of `probe`
    tries = 0
    sample = set(front)
    popped = []
    pushed = []
    for _ in range(n - m):
        total = sum(sums)
        if total == 0:  # only isolated nodes are left: stop early
            break
        rest = below(probe, drawn, total)
        drawn += 1
        j = 63  # the heaviest class first
        while rest >= sums[j]:
            rest -= sums[j]
            j -= 1
        bound = 2 ** (j + 1)
        accepted = False
        while not accepted:
            x = below(probe, drawn, len(members[j]) * bound)
            drawn += 1
            tries += 1
            slot = members[j][x // bound]
            accepted = x % bound < weight(graph, front[slot], deg_cap)
        u = front[slot]
        leave(members, sums, slot, weight(graph, u, deg_cap))
        v = random_neighbour(graph, u, main, draws)
        draws += 1
        front[slot] = v
        join(members, sums, slot, weight(graph, v, deg_cap))
        sample.add(v if include == "pushed" else u)
        popped.append(u)
        pushed.append(v)
    steps = len(popped)
    return node_sample(graph, sample, popped, pushed, draws=draws, probes=tries, rounds=steps)


def class_of(w):
    j = 0
    while 2 ** (j + 1) <= w:
        j += 1
    return j


def join(members, sums, slot, w):
    if w > 0:  # a slot of weight 0 is in no class
        members[class_of(w)].append(slot)
        sums[class_of(w)] += w


def leave(members, sums, slot, w):
    group = members[class_of(w)]
    place = group.index(slot)  # a table of places finds it at once
    last = group.pop()
    if last != slot:
        group[place] = last  # the last one takes its place
    sums[class_of(w)] -= w


def check_frontier(graph, main, probe, m, n, deg_cap, include):
    no_cap = deg_cap is None
    whole = is_integer(main) and is_integer(probe) and is_integer(m) and is_integer(n)
    yield "type", "`graph` is no graph", not is_graph(graph)
    yield "type", "`main`, `probe`, `m` or `n` is no integer", not whole
    yield "type", "`deg_cap` is neither null nor an integer", not (no_cap or is_integer(deg_cap))
    yield "value", "an edge (u, v) stands without (v, u)", has_one_way_edge(graph)
    yield "value", "`main` or `probe` is not in [0, 2**64)", not (is_word(main) and is_word(probe))
    yield "value", "not 1 <= `m` <= number of nodes", not 1 <= m <= node_count(graph)
    yield "value", "not `m` <= `n` < 2**31", not m <= n < 2**31
    yield "value", "`deg_cap` is not in [1, 2**31)", not (no_cap or 1 <= deg_cap < 2**31)
    either = include in ("pushed", "popped")
    yield "value", "`include` is not `pushed` or `popped`: other text, a number, null", not either


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


def check_dashboard(graph, main, probe, m, n, eta, deg_cap, include, lanes, probe_range, overflow):
    yield from check_pin_tile(
        graph, main, probe, m, n, eta, deg_cap, include, lanes, probe_range, overflow
    )


def check_bucket(graph, main, probe, m, n, deg_cap, include):
    yield from check_frontier(graph, main, probe, m, n, deg_cap, include)
    most = 0
    for v in range(node_count(graph)):
        most = max(most, weight(graph, v, deg_cap))
    wide = m * 2 ** most.bit_length() >= 2**53
    yield "value", "`m` times the power of two above the largest weight is 2**53 or more", wide
