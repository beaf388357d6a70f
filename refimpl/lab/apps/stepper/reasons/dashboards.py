"""Why the Dashboards do what they do."""

import math

import numpy as np

from refimpl.lab.apps.stepper.reasons.samplers import (
    JOINS,
    ROOTS,
    last_draw,
    of_neighbour,
    of_next_step,
)
from refimpl.lab.apps.stepper.whys import Lines, Table, counted, listed


def of_room(eta, m, d, capacity, weight, FS):
    """Say whether the Dashboard had to be made larger for the roots."""
    need, planned = int(weight[FS].sum()), math.ceil(eta * m * d)
    if need > planned:
        return f"the roots need {need} > {planned}: {capacity} entries"
    return f"the roots need {need} ≤ {planned}: {capacity} entries do"


def of_room_for(weight, v_new, board, s=None):
    """Say whether a new node fits behind the last column."""
    need, free = int(weight[v_new]), board.free() if s is None else board.free(s)
    return f"weight {need} > free {free}: clean up" if need > free else fits(need, free)


def fits(need, free):
    return f"weight {need} ≤ free {free}: it fits"


def of_neighbour_popped(graph, deg, main, v_pop, v_new):
    """Say which neighbour was drawn."""
    return of_neighbour(graph, deg, main, v_pop, v_new)


def span(start, end):
    """Return the entries from `start` up to `end`, exclusive, in words."""
    if end <= start:
        return "no entry"
    return f"entry {start}" if end - start == 1 else f"entries {start} to {end - 1}"


PLANNED: Lines = {
    "d = graph.weight_sum": lambda graph, deg_cap, d: (
        f"{graph.weight_sum(deg_cap):g} entries over {graph.n} nodes: d = {d:.4g}"
    ),
    "capacity = planned": lambda eta, m, d, capacity: (
        f"η m d = {eta:g} × {m} × {d:.4g} → {capacity} entries"
    ),
    "capacity = max": of_room,
    **ROOTS,
}
PIN_TILE: Table = {
    "pin_tile": {
        **PLANNED,
        "board = Dashboard": lambda m, board: (
            f"{counted(board.valid, 'pin')} of {m} tiles; {board.free()} entries are free"
        ),
        "for _ in range": of_next_step,
        "v_pop, pin =": lambda v_pop, pin: f"node {v_pop} leaves; its tile {pin} has no pins now",
        "v_new =": of_neighbour_popped,
        "if weight": lambda weight, v_new, board: of_room_for(weight, v_new, board),
        "board.cleanup": lambda board: (
            f"{counted(board.valid, 'pin')} at the front; {board.free()} entries are free"
        ),
        "board.add_to": lambda v_new, board: (
            f"node {v_new} is in the frontier; {counted(board.valid, 'pin')} in use"
        ),
        **JOINS,
    },
    "Dashboard.__init__": {
        "self.DB = np.full": lambda capacity: f"{capacity} entries, all nobody's",
        "self.IA_start = np": lambda n: f"room for n + 1 = {n + 1} columns; column 0 starts at 0",
        "self.IA_live = np": lambda: "no column is live yet",
        "for i in range(m): # 8": lambda i, FS, taken: (
            f"root {i} is node {FS[i]}" if taken else "all roots have a column"
        ),
        "self.IA_start[i + 1]": lambda self, i, weights: (
            f"{self.IA_start[i]} + degree {weights[i]}: column {i + 1} starts at "
            f"{self.IA_start[i + 1]}"
        ),
        "self.IA_live[i], self": lambda i: f"column {i} is live, and of tile {i}",
        "for i in range(m): # 13": lambda i, FS, taken: (
            f"the pins of root {i}, node {FS[i]}" if taken else "all roots have their pins"
        ),
        "pin = i": lambda self, i: f"tile {i} is node {self.node[i]}'s",
        "self.DB[self.start[i]": lambda self, i: (
            f"degree {self.end[i] - self.start[i]}: {span(self.start[i], self.end[i])} are pins of "
            f"tile {i}"
        ),
        "self.cnt = m": lambda m: f"{m} columns are in use",
    },
    "Dashboard.pop_frontier": {
        "def pop_frontier": lambda self: (
            f"{self.valid} of {len(self.DB)} entries are pins, each as likely as the other"
        ),
        "tries, idx_pop": lambda: "nothing is hit yet",
        "while idx_pop": lambda tries, taken: (
            f"probe {tries + 1}" if taken else f"probe {tries} has hit"
        ),
        "idx = probe": lambda probe, limit, idx: (
            f"draw {probe.c - 1} of probe is {last_draw(probe)}: × {limit} → entry {idx}"
        ),
        "if self.DB": lambda self, idx: (
            f"entry {idx} is nobody's: again"
            if self.DB[idx] < 0
            else f"entry {idx} is a pin of tile {self.DB[idx]}: hit"
        ),
        "idx_pop = idx": lambda idx: f"entry {idx} wins",
        "pin = int": lambda idx_pop, pin: f"entry {idx_pop} leads to tile {pin}",
        "v_pop, start": lambda pin, v_pop, start, end: (
            f"tile {pin} says node {v_pop}, {span(start, end)}"
        ),
        "self.DB[start:end]": lambda pin, start, end: (
            f"{counted(end - start, 'pin')} of tile {pin} cleared"
        ),
        "self.IA_live": lambda self, pin: f"tile {pin} says column {self.slot[pin]}: not live now",
        "return v_pop": lambda v_pop, pin: f"node {v_pop}, of tile {pin}",
    },
    "Dashboard.cleanup": {
        "def cleanup": lambda self: (
            f"of {self.cnt} columns in use, live: {listed(np.flatnonzero(self.IA_live))}"
        ),
        "DB_new = np": lambda DB_new: f"a second Dashboard of {len(DB_new)} entries, all nobody's",
        "for i in np": lambda i, k, taken: (
            f"column {i} is live" if taken else f"all {counted(k, 'pin')} are moved"
        ),
        "t, length": lambda i, t, length: (
            f"column {i} says tile {t}, and is {counted(length, 'entry', 'entries')} long"
        ),
        "DB_new[k :": lambda k, length, t: (
            f"pins of tile {t} go to {span(k, k + length)}, as many as it had"
        ),
        "self.start[t]": lambda t, k, length, j: (
            f"tile {t} is told: {span(k, k + length)}, column {j}"
        ),
        "self.IA_start[j], self.IA_live[j],": lambda i, j, k: (
            f"column {i} becomes column {j}, which starts at {k}"
        ),
        "self.IA_start[j], self.IA_live[j:]": lambda j, k: (
            f"{counted(j, 'column')} of {k} entries; no other is live"
        ),
        "self.DB, self.cnt": lambda j: f"the second Dashboard is the Dashboard; cnt = {j}",
    },
    "Dashboard.add_to_frontier": {
        "end = start": lambda self, weight, start, end: (
            f"weight {weight}, free {self.free()}: {span(start, end)}"
        ),
        "self.IA_start[i + 1]": lambda i, end: f"column {i} is live and ends before entry {end}",
        "self.node[pin]": lambda v_new, pin, start, end, i: (
            f"tile {pin} is node {v_new}'s: {span(start, end)}, column {i}"
        ),
        "self.DB[start:end]": lambda pin, start, end: (
            f"{counted(end - start, 'pin')} to tile {pin}"
        ),
    },
}
SLOTS: Table = {
    "dashboard": {
        **PLANNED,
        "board = first": lambda board: (
            f"{board.valid} of {board.DB.shape[1]} entries have an owner"
        ),
        "s = m # 16": lambda s: f"{counted(s, 'column')} in use",
        "for _ in range": of_next_step,
        "v_pop = board": lambda v_pop: f"node {v_pop} leaves; its entries are nobody's now",
        "v_new =": of_neighbour_popped,
        "if weight": of_room_for,
        "board.cleanup": lambda board: (
            f"{counted(board.valid, 'entry', 'entries')} at the front, the others are nobody's"
        ),
        "s = m - 1": lambda s: f"without the node that left, {counted(s, 'column')} in use",
        "board.add_to": lambda v_new, board: (
            f"node {v_new} is in the frontier; {counted(board.valid, 'entry', 'entries')} in use"
        ),
        **JOINS,
        "s += 1": lambda s: f"{counted(s, 'column')} in use",
        "return node_sample": lambda Vs: f"the sample is {listed(sorted(Vs))}",
    },
    "first_dashboard": {
        "DB = np": lambda capacity: f"{capacity} entries of three slots, all nobody's",
        "IA_start, IA_live": lambda n: f"room for n + 1 = {n + 1} columns",
        "IA_start[0]": lambda: "column 0 starts at 0 and is live",
        "for i in range(1": lambda i, m, IA_start: (
            ""
            if IA_start[i]
            else f"where column {i if i < m else i - 1} {'starts' if i < m else 'ends'}"
        ),
        "IA_start[i] =": lambda i, IA_start, weights: (
            f"{IA_start[i - 1]} + degree {weights[i - 1]}: column {i} starts at {IA_start[i]}"
        ),
        "IA_live[i] =": lambda i, m: (
            f"column {i} is live" if i != m else f"behind column {m - 1} none is live"
        ),
        "for i in range(m)": lambda i, FS, taken: (
            f"the entries of root {i}, node {FS[i]}" if taken else "all roots have their entries"
        ),
        "k = np": lambda i, IA_start: f"column {i}: {span(*IA_start[i : i + 2])}",
        "DB[0": lambda i, FS, k: f"node {FS[i]} in {counted(len(k), 'entry', 'entries')}",
        "DB[1": lambda k: f"the first says −{len(k)}, how many; the others how far back it is",
        "DB[2": lambda i: f"each says that it is of column {i}",
    },
    "SlotDashboard.pop_frontier": {
        "def pop_frontier": lambda self: (
            f"{self.valid} of {self.DB.shape[1]} entries have an owner, each as likely"
        ),
        "tries, idx_pop": lambda: "nothing is hit yet",
        "while idx_pop": lambda tries, taken: (
            f"probe {tries + 1}" if taken else f"probe {tries} has hit"
        ),
        "idx_p = probe": lambda probe, limit, idx_p: (
            f"draw {probe.c - 1} of probe is {last_draw(probe)}: × {limit} → entry {idx_p}"
        ),
        "if self.DB": lambda self, idx_p: (
            f"entry {idx_p} is nobody's: again"
            if self.DB[0, idx_p] < 0
            else f"entry {idx_p} is node {self.DB[0, idx_p]}'s: hit"
        ),
        "idx_pop = idx_p": lambda idx_p: f"entry {idx_p} wins",
        "v_pop = int": lambda idx_pop, v_pop: f"entry {idx_pop} is of node {v_pop}",
        "offset = int": lambda offset: (
            f"offset {offset}: the first is {offset} back"
            if offset > 0
            else f"offset −{-offset}: it is the first of {-offset}"
        ),
        "idx_start =": lambda idx_pop, offset, idx_start: (
            f"{idx_pop} − {offset}: the first is entry {idx_start}"
            if offset > 0
            else f"the first is entry {idx_start}"
        ),
        "deg = -int": lambda idx_start, deg: (
            f"the first says −{deg}: {span(idx_start, idx_start + deg)}"
        ),
        "self.DB[0": lambda deg: f"{counted(deg, 'entry', 'entries')} cleared",
        "self.IA_live": lambda self, idx_pop: f"column {self.DB[2, idx_pop]} is not live now",
        "return v_pop": lambda v_pop: f"node {v_pop}",
    },
    "SlotDashboard.cleanup": {
        "def cleanup": lambda self, s: (
            f"of {s} columns in use, live: {listed(np.flatnonzero(self.IA_live))}"
        ),
        "DB_new = np": lambda DB_new: (
            f"a second Dashboard of {DB_new.shape[1]} entries, all nobody's"
        ),
        "k = np": lambda start, end, k: (
            f"lengths {listed(end - start)}: the new columns start at {listed(k[:-1])}"
        ),
        "for j in range": lambda j, live, k, taken: (
            f"column {live[j]}" if taken else f"all {k[-1]} entries are moved"
        ),
        "DB_new[:2": lambda j, k, start, end: (
            f"{span(start[j], end[j])} go to {span(k[j], k[j + 1])}: nodes and offsets as they were"
        ),
        "DB_new[2": lambda j, live: f"column {live[j]} becomes column {j}",
        "self.IA_start[": lambda k: f"columns start at {listed(k[:-1])}; free from {k[-1]} on",
        "self.IA_live[": lambda live: f"{counted(len(live), 'column')} live",
        "self.DB = DB_new": lambda: "the second Dashboard is the Dashboard",
    },
    "SlotDashboard.add_to_frontier": {
        "d = min": lambda self, weight, i, d: (
            f"weight {weight}, free {self.free(i)}: {counted(d, 'entry', 'entries')}"
        ),
        "self.IA_start[i + 1]": lambda self, i, d: (
            f"{self.IA_start[i]} + {d}: column {i} is live and ends before {self.IA_start[i + 1]}"
        ),
        "idx = int": lambda i, idx: f"column {i} starts at {idx}",
        "k = np": lambda k: span(k[0], k[-1] + 1),
        "self.DB[0": lambda v_new, d: f"node {v_new} in {counted(d, 'entry', 'entries')}",
        "self.DB[1": lambda d: f"the first says −{d}, how many; the others how far back it is",
        "self.DB[2": lambda i: f"each says that it is of column {i}",
    },
}
