"""The course's graph, a triangle with a tail, and the one run that all its figures show."""

from functools import cache

import refimpl as gnn
from refimpl.lab.apps.stepper.course import ETA, SEED, M, N, six_nodes
from refimpl.samplers.dashboard import first_dashboard
from refimpl.samplers.pin_tile import Dashboard
from refimpl.streams import Stream


def keys():
    """Return the keys of the run's two streams: main and probe."""
    return gnn.streams.key(SEED, 0, 0, 0), gnn.streams.key(SEED, 0, 0, 1)


@cache
def frontier_run():
    """Return the steps of frontier sampling, a dict each, the last being what is left.

    `FS` is the frontier before the step, `sums` the running sums of its degrees, `draw` the number
    below the last of these, `slot` the slot chosen, `u` and `new` the nodes that leave and come.
    """
    six, (main, probe) = six_nodes(), keys()
    deg = six.degrees()
    sample = gnn.frontier(six, main, probe, m=M, n=N)
    FS = gnn.streams.pick_without_replacement(main, 0, six.n, M).tolist()
    steps, nodes = [], set(FS)
    for i, (u, new) in enumerate(zip(sample.popped.tolist(), sample.pushed.tolist(), strict=True)):
        sums = [int(deg[FS[: k + 1]].sum()) for k in range(M)]
        draw = int(gnn.streams.below(probe, i, sums[-1]))
        slot = next(k for k in range(M) if draw < sums[k])
        if FS[slot] != u:
            raise ValueError(f"step {i} pops {u}, not slot {slot} of {FS}")
        steps.append(
            {"FS": list(FS), "sums": sums, "draw": draw, "slot": slot, "u": u, "new": new}
            | {"nodes": sorted(nodes)}
        )
        FS[slot] = new
        nodes.add(new)
    return [*steps, {"FS": list(FS), "nodes": sorted(nodes)}]


def dashboard_run(form):
    """Return the Dashboards of the run: after each pop, clean-up and addition, with its name.

    Parameters
    ----------
    form : {"slots", "pins"}
        The Dashboard of IPDPS'19, or that of JPDC'21.

    Returns
    -------
    list of (str, dict)
        "start", "pop", "clean-up" or "add", and copies of the arrays, with the node concerned.
    """
    six, (main, probe) = six_nodes(), map(Stream, keys())
    deg = six.degrees()
    FS = main.pick_without_replacement(six.n, M)
    capacity, slots = int(ETA * M * six.e / six.n), form == "slots"
    if slots:
        board, s = first_dashboard(capacity, FS, deg[FS], N), M
    else:
        board, s = Dashboard(capacity, FS, deg[FS], N), M
    states = [("start", seen(board, s, None, []))]
    for _ in range(N - M):
        first = probe.c
        if slots:
            node, pin = board.pop_frontier(probe, 8, capacity), None
        else:
            node, pin = board.pop_frontier(probe, 8, "capacity")
        probes = [int(gnn.streams.below(probe.k, c, capacity)) for c in range(first, probe.c)]
        states.append(("pop", seen(board, s, node, probes)))
        new = int(six.indices[six.start[node] + main.below(deg[node])])
        if deg[new] > (board.free(s) if slots else board.free()):
            board.cleanup(s) if slots else board.cleanup()
            s = M - 1
            states.append(("clean-up", seen(board, s, new, [])))
        if slots:
            board.add_to_frontier(new, s, deg[new], "truncate")
        else:
            board.add_to_frontier(new, pin, deg[new], "truncate")
        s += 1
        states.append(("add", seen(board, s, new, [])))
    return states


def seen(board, s, node, probes):
    """Return the arrays of a Dashboard as lists, s columns of IA being in use."""
    arrays = {"start": board.IA_start[: s + 1], "live": board.IA_live[:s], "DB": board.DB}
    if board.DB.ndim == 1:
        arrays["tile"] = board.IA_tile[:s]
        arrays["tiles"] = [board.node, board.start, board.end, board.slot]
    lists = {
        name: [row.tolist() for row in array] if name == "tiles" else array.tolist()
        for name, array in arrays.items()
    }
    return lists | {"node": node, "probes": probes}
