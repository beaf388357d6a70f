"""Why the frontier samplers do what they do: what all three forms have in common."""

from refimpl.lab.apps.stepper.whys import Lines, Table, counted, listed
from refimpl.streams import uniform


def last_draw(stream):
    """Return the last draw of a Stream, as it is shown."""
    return f"{uniform(stream.k, stream.c - 1):.4f}"


def of_neighbour(graph, deg, main, u, u_new):
    """Say which neighbour was drawn."""
    near = graph.indices[graph.indptr[u] : graph.indptr[u + 1]].tolist()
    which = int(uniform(main.k, main.c - 1) * deg[u])
    return (
        f"{last_draw(main)} × {deg[u]} → {which}: neighbour number {which} of node {u}, which has "
        f"{listed(near)}, is node {u_new}"
    )


def of_next_step(n, m, popped, taken):
    """Say which step begins."""
    if not taken:
        return f"all n − m = {n - m} steps are made"
    return f"step {len(popped)} of n − m = {n - m}, from 0 on"


ROOTS: Lines = {
    "FS = main.pick": lambda graph, m, FS: (
        f"m = {m} of {graph.n} nodes, none twice: roots {listed(FS)}"
    ),
    "Vs = set": lambda FS: f"the sample begins with the roots, {listed(sorted(FS.tolist()))}",
}
JOINS: Lines = {
    "Vs.add": lambda include, Vs: f"include is “{include}”: {len(Vs)} different nodes so far",
}
SUBGRAPH: Table = {
    "sample_one": {
        "subgraph = parts": lambda nodes, subgraph: (
            f"{counted(len(nodes), 'node')}, and the edges between them: {subgraph.graph.e // 2}"
        ),
        "return subgraph": lambda subgraph: f"the subgraph of nodes {listed(subgraph.nodes)}",
    }
}


def of_slot(probe, cumulative, slot):
    """Say which slot was drawn."""
    total = int(cumulative[-1])
    draw = int(uniform(probe.k, probe.c - 1) * total)
    return f"{last_draw(probe)} × {total} → {draw}, below {cumulative[slot]}: slot {slot}"


FRONTIER: Table = {
    "frontier": {
        **ROOTS,
        "for _ in range": of_next_step,
        "cumulative =": lambda weight, FS, cumulative: (
            f"degrees {listed(weight[FS])}: running sums {listed(cumulative)}"
        ),
        "slot =": of_slot,
        "u = int": lambda slot, u, deg: f"slot {slot} has node {u}, of degree {deg[u]}",
        "u_new =": of_neighbour,
        "FS[slot] =": lambda FS, slot, u_new: (
            f"node {u_new} takes slot {slot}: the frontier is {listed(FS)}"
        ),
        **JOINS,
    }
}
