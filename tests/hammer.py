"""Kernels called while another thread changes their arrays; a program for a process of its own.

``python hammer.py KERNEL CALLS`` prints how many calls returned and how many were refused. A kernel
that trusts a number after it was checked reads or writes far outside its arrays, and dies.
"""

import random
import sys
import threading
import time

import numpy as np

import fastimpl as gnn

COUNT, ROWS, WIDTH = 30_000, 1000, 16
FAR = 2**31 - 1  # times the bytes of a row: outside of whatever there is
rng = np.random.default_rng(1)


def ids(dtype=np.int64, high=ROWS):
    """Return (ids in [0, high), the same with every other one far away)."""
    good = rng.integers(0, high, COUNT).astype(dtype)
    bad = good.copy()
    bad[::2] = FAR
    return good, bad


def ring(n):
    """Return a graph whose node v has the neighbours v - 1 and v + 1."""
    nodes = np.arange(n)
    edges = np.column_stack([nodes, (nodes + 1) % n])
    return gnn.as_graph(edges, symmetrize=True)


def entries():
    """Return a cache's entries of COUNT slots, node v's in slot v."""
    slots, stamp = np.arange(COUNT, dtype=np.int32), np.zeros(COUNT, np.int32)
    return gnn.history.Entries(np.zeros((COUNT, WIDTH)), slots[None], slots.astype(int), stamp)


def cache_read():
    rows = np.zeros((ROWS, WIDTH))
    good, bad = ids(np.int32)
    return good, bad, lambda slots: gnn.history.cache_read(rows, slots)


def cache_read_beside():
    """The good slots ask for a computed row in every other place, the bad ones in each."""
    rows, computed = np.zeros((ROWS, WIDTH)), np.zeros((COUNT // 2, WIDTH))
    good, bad = ids(np.int32)
    good[::2], bad[:] = -1, -1
    return good, bad, lambda slots: gnn.history.cache_read(rows, slots, computed=computed)


def cache_lookup():
    good, bad = ids(np.int32)
    known = entries()
    return good, bad, lambda nodes: gnn.history.cache_lookup(known, 1, nodes, 0)


def cache_admit():
    known, values = entries(), np.ones((COUNT, WIDTH))
    good = np.arange(COUNT, dtype=np.int32)
    bad, nodes = np.full_like(good, FAR), good.copy()
    return good, bad, lambda s: gnn.history.cache_admit(known, 1, nodes, values, s, 1)


def cache_admit_take():
    known, values = entries(), np.ones((COUNT, WIDTH))
    nodes, good = np.arange(COUNT, dtype=np.int32), np.arange(COUNT)
    bad = good + 2**40
    return good, bad, lambda t: gnn.history.cache_admit(known, 1, nodes, values, nodes, 1, take=t)


def cache_update():
    cache = gnn.BidirectionalCache(COUNT, 1, WIDTH, 1, COUNT * WIDTH // 2, t_stale=2)
    score, comp = np.zeros(COUNT), np.ones(COUNT, bool)
    values = np.ones((COUNT, WIDTH), np.float32)
    good = np.arange(COUNT, dtype=np.int32)

    def call(nodes):
        gnn.history.cache_update(cache, 1, nodes, score, comp, values, 1, p=0.5)

    return good, np.full_like(good, FAR), call


def cache_fetch():
    features, rank = np.zeros((ROWS, WIDTH)), np.arange(ROWS, dtype=np.int32)
    good, bad = ids(np.int32)
    return good, bad, lambda nodes: gnn.history.cache_fetch(features, rank, nodes, ROWS)


def gather_rows():
    X = np.zeros((ROWS, WIDTH))
    good, bad = ids()
    return good, bad * 2**10, lambda rows: gnn.loader.gather_rows(X, rows)


def fetch_one_sided():
    store = gnn.loader.FeatureStore.of(np.zeros((COUNT, WIDTH), np.float32), 1)
    plan = gnn.loader.plan_fetch(store, np.arange(COUNT))
    good = plan.rows[0]
    bad = good + 2**40
    return good, bad, lambda rows: gnn.loader.fetch_one_sided(plan._replace(rows=(rows,)))


def induced_subgraph():
    good = np.arange(0, COUNT, 2, dtype=np.int32)
    bad = good + (FAR - COUNT)
    graph = ring(COUNT)
    return good, bad, lambda nodes: gnn.induced_subgraph(graph, nodes)


def sample_mfg():
    good = np.arange(0, COUNT, 2, dtype=np.int32)
    bad = good + (FAR - COUNT)
    graph = ring(COUNT)
    options = {"seed": 0, "epoch": 0, "batch": 0}
    return good, bad, lambda roots: gnn.sample_mfg(graph, roots, [2], **options)


def layer_sample():
    good = np.arange(0, COUNT, 2, dtype=np.int32)
    bad = good + (FAR - COUNT)
    graph = ring(COUNT)
    return good, bad, lambda roots: gnn.samplers.layer_sample(graph, roots, [2], 0)


def spmm_t():
    graph = ring(COUNT)
    good = gnn.transpose_perm(graph).astype(np.int64)
    data, G = np.ones(graph.e), np.ones((COUNT, 1))
    return good, good + 2**40, lambda perm: gnn.propagation.spmm_t(graph, data, perm, G)


def gat_backward():
    A = gnn.adjacency.loop_norm(ring(COUNT))
    X, W, a = np.ones((COUNT, 2)), np.ones((2, 2)), np.ones((1, 2))
    out = gnn.layers.gat_forward(A, X, W, a, a)
    good = A.perm

    def call(perm):
        changed = gnn.Adjacency(A.graph, A.data, A.data_t, A.graph_t, perm)
        return gnn.layers.gat_backward(changed, X, W, a, a, out, out.X_out, need_dx=False)

    return good, good + 2**40, call


def live_layers():
    """More nodes alive than were counted: they are written behind the array made for them."""
    options = {"seed": 0, "epoch": 0, "batch": 0}
    mfg = gnn.sample_mfg(ring(COUNT), np.arange(0, COUNT, 4), [2], **options)
    hit = [np.zeros(len(nodes), bool) for nodes in mfg.nodes[1:]]
    pruned = gnn.history.prune_mfg(mfg, hit)
    good, bad = pruned.live[0], pruned.live[0].copy()
    bad[len(mfg.nodes[1]) :] = False

    def call(live):
        return gnn.history.live_layers(pruned._replace(live=(live, *pruned.live[1:])))

    return good, bad, call


def select_stable():
    """Scores that change between two looks at them: how many are smallest no longer holds."""
    good = np.zeros(COUNT)
    nodes = np.arange(COUNT)

    def call(score):
        assert gnn.history.select_stable(score, nodes, 0.5).sum() == COUNT // 2

    return good, good + 1, call


def feature_propagate():
    graph = ring(200)
    f = 4096
    data, X = np.ones(graph.e), np.ones((200, f))
    plan = gnn.partition.partition_plan(200, f, f, 2**10)
    bad = plan.starts.copy()
    bad[1:-1] = 2**40
    return (
        plan.starts,
        bad,
        lambda starts: gnn.partition.feature_propagate(
            graph, data, X, plan._replace(starts=starts), 2
        ),
    )


KERNELS = {
    call.__name__: call
    for call in (
        cache_read,
        cache_read_beside,
        cache_lookup,
        cache_admit,
        cache_admit_take,
        cache_update,
        cache_fetch,
        gather_rows,
        fetch_one_sided,
        induced_subgraph,
        sample_mfg,
        layer_sample,
        spmm_t,
        gat_backward,
        live_layers,
        select_stable,
        feature_propagate,
    )
}


def hammer(name, calls):
    """Call a kernel while a thread changes its array; return (calls that returned, refused)."""
    good, bad, call = KERNELS[name]()
    array, over = good.copy(), threading.Event()

    def change():
        while not over.is_set():  # the copies run without the GIL, as the kernel does
            for values in (bad, good):
                np.copyto(array, values)
                time.sleep(random.expovariate(5000))  # about as long as a check and a kernel take

    thread = threading.Thread(target=change)
    thread.start()
    returned = 0
    try:
        for _ in range(calls):
            try:
                call(array)
                returned += 1
            except ValueError as refusal:
                assert " must " in str(refusal), refusal
    finally:
        over.set()
        thread.join()
    return returned, calls - returned


if __name__ == "__main__":
    for kernel in sys.argv[2:] or KERNELS:
        print(kernel, end=" ", flush=True)
        print(*hammer(kernel, int(sys.argv[1])), flush=True)
