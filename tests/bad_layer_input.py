"""What the layers refuse: for each function good arguments, and changes that make them bad."""

import numpy as np
from strategies import block_from_rows, directed_from_edges, graph_from_edges

import refimpl
from refimpl import Adjacency
from refimpl.lab.backend import find
from refimpl.scheduling import ProductOrders

PATH = graph_from_edges(3, {(0, 1), (1, 2)})
ARROW = directed_from_edges(3, {(0, 1)})
A = refimpl.adjacency.row_norm(PATH, refimpl.transpose_perm(PATH))
SHORT = Adjacency(PATH, np.ones(3), np.ones(3), None, np.arange(3))
SINGLE = Adjacency(PATH, np.ones(4, np.float32), np.ones(4, np.float32), None, np.arange(4))
FLAT = Adjacency(PATH, np.ones((4, 1)), np.ones(4), None, np.arange(4))
FORWARD_ONLY = refimpl.adjacency.row_norm(PATH)
LOOPS = refimpl.adjacency.loop_norm(PATH)
ELSEWHERE = Adjacency(PATH, np.ones(4), np.ones(4), graph_from_edges(9, {(7, 8), (5, 8)}))
NO_PATTERN = Adjacency("graph", np.ones(4), np.ones(4), PATH)
LOST = Adjacency(LOOPS.graph, LOOPS.data, LOOPS.data_t, perm=LOOPS.perm + 10**9)
WIDE = refimpl.adjacency.block_norm("row", block_from_rows([[3], [1, 2]], 4))
ORDER = ProductOrders(1, 1, 1)
X, W, B = np.ones((3, 2)), np.ones((2, 4)), np.ones(4)
G = np.ones((3, 4))
VECTORS = np.ones((2, 2))
KEEP, KEY = refimpl.layers.row_l2_forward(X), 7
PLAN = refimpl.partition.partition_plan(3, 2, 2, 2**20)


def good_arguments():
    """Return {function: its keyword arguments}; a backward pass has its forward pass's."""
    sage = {"A": A, "X": X, "W_neigh": W, "W_self": W[:, :2], "order": ORDER, "b": np.ones(6)}
    gcn = {"A": A, "X": X, "W": W, "order": ORDER, "b": B}
    mixhop = {"hops": (A, A), "X": X, "W": [W, W[:, :1], W[:, :0]], "depth": 1, "b": np.ones(5)}
    gat = {"A": LOOPS, "X": X, "W": W, "a_recv": VECTORS, "a_send": VECTORS, "b": B}
    gat |= {"dropout": 0.5, "keys": np.arange(3, dtype=np.uint64)}
    dense = {"X": X, "W": W, "b": B, "relu": True}
    good = {f"{name}_forward": arguments for name, arguments in locals().items()}
    for name, width in {"sage": 6, "gcn": 4, "mixhop": 5, "gat": 4, "dense": 4}.items():
        arguments = good[f"{name}_forward"]
        out = find(refimpl, f"{name}_forward")(**arguments)
        more = {"Y" if name == "dense" else "out": out, "G_out": np.ones((3, width))}
        if name in ("mixhop", "gat", "dense"):
            more["need_dx"] = True
        good[f"{name}_backward"] = {**arguments, **more}
    return {
        **good,
        "sym_norm": {"graph": PATH},
        "loop_norm": {"graph": PATH},
        "add_self_loops": {"graph": PATH},
        "spmm_t": {
            "graph": PATH,
            "data": np.ones(4),
            "transpose_perm": refimpl.transpose_perm(PATH),
            "G": X,
        },
        "row_l2_forward": {"X": X},
        "row_l2_backward": {"out": KEEP, "G": X},
        "dropout": {"X": X, "rate": 0.5, "key": KEY},
        "feature_propagate": {"graph": PATH, "data": np.ones(4), "X": X, "plan": PLAN, "p": 2},
    }


GOOD = good_arguments()


def bad_floats(name, value):
    """Yield wrong shapes and dtypes in place of the float array `value`."""
    yield name, value[1:]
    yield name, value[None]
    yield name, value.astype(np.float32)
    yield name, value.astype(int)
    yield name, None
    yield name, "array"


BAD_X = [*bad_floats("X", X), ("X", X[:, :1]), ("X", X[0])]
BAD_BIAS = [pair for pair in bad_floats("b", B) if pair[1] is not None]
BAD_A = [("A", bad) for bad in (SHORT, SINGLE, FLAT, PATH, None, WIDE)]
BAD_G = [*bad_floats("G_out", G), ("G_out", G[:, :1])]
BAD_ORDER = [("order", ProductOrders(*o)) for o in ((0, 1, 1), (3, 1, 1), (1, 0, 1), (1, 1, 3))]
BAD_ORDER += [("order", order) for order in ((1, 1, 1), 1, None)]
BAD_VECTORS = [
    bad
    for name in ("a_recv", "a_send")
    for bad in (*bad_floats(name, VECTORS), (name, np.ones((2, 1))), (name, np.ones((4, 2))))
]
BAD_HOPS = [(A,), (A, A, A), A, None, (A, "A"), (A, SHORT), (SINGLE, A), (WIDE, A)]
NO_TRANSPOSE = [("A", FORWARD_ONLY), ("A", ELSEWHERE), ("A", NO_PATTERN)]


BAD_RATES = (-0.1, 1, 1.5, np.nan, "0.5", None)
BAD_GRAPH = [("graph", bad) for bad in (ARROW, "graph", None)]


GCN = [*BAD_A, *BAD_X, *bad_floats("W", W), ("W", W[0]), *BAD_BIAS, *BAD_ORDER]
MIXHOP = [
    *(("hops", bad) for bad in BAD_HOPS),
    *BAD_X,
    *(("W", bad) for bad in ([W], [], W, None, [W, W, W[:1]], [W, W, W.astype(np.float32)])),
    *(("depth", bad) for bad in (-1, 3, 1.0, True, None)),
    ("b", np.ones(4)),
    ("b", np.ones(5, np.float32)),
]
GAT = [
    *BAD_A,
    *BAD_X,
    *bad_floats("W", W),
    *BAD_VECTORS,
    *BAD_BIAS,
    *(("norm", bad) for bad in ("mean", None)),
    *(("form", bad) for bad in ("both", None)),
    *(("slope", bad) for bad in (-0.1, np.nan, np.inf, "0.2", None)),
    *(("dropout", bad) for bad in BAD_RATES),
    *(("keys", bad) for bad in (None, 7, np.arange(3), np.zeros(2, np.uint64), "keys")),
]
SAGE = [
    ("concat", "both"),
    ("concat", None),
    ("concat", "sum"),
    ("b", np.ones(5)),
    ("b", np.ones((1, 6))),
    ("b", np.ones(6, np.float32)),
    ("A", WIDE),
]
EPS = [("eps", bad) for bad in (0, -1.0, np.nan, "1", None)]
ROWS_X = [("X", bad) for bad in (X[0], X[None], X.astype(int), X.astype(np.float16), None)]
CHANGES = {
    "sage_forward": SAGE,
    "sage_backward": SAGE,
    "gcn_forward": GCN,
    "gcn_backward": [*GCN, *BAD_G, *NO_TRANSPOSE],
    "mixhop_forward": MIXHOP,
    "mixhop_backward": [
        *MIXHOP,
        ("G_out", np.ones((3, 4))),
        ("G_out", np.ones((3, 5), np.float32)),
        ("hops", (A, FORWARD_ONLY)),
        ("hops", (A, ELSEWHERE)),
        ("depth", 2),
    ],
    "gat_forward": [bad for bad in GAT if bad[0] != "W" or bad[1] is not None],
    "gat_backward": [*GAT, *BAD_G, ("A", refimpl.adjacency.sym_norm(PATH)), ("A", LOST)],
    "dense_forward": [*BAD_BIAS],
    "dense_backward": [*BAD_BIAS],
    "sym_norm": [*BAD_GRAPH, ("dtype", np.float16), ("dtype", int)],
    "loop_norm": [*BAD_GRAPH, ("dtype", np.float16), ("dtype", "numbers")],
    "add_self_loops": BAD_GRAPH,
    "spmm_t": [
        *BAD_GRAPH,
        ("data", np.ones(3)),
        ("data", np.ones(4, int)),
        ("transpose_perm", np.arange(3)),
        ("transpose_perm", np.array([0, 1, 2, 4])),
        ("transpose_perm", np.ones(4)),
        ("transpose_perm", None),
        ("G", X[1:]),
        ("G", X[0]),
        ("G", X.astype(np.float32)),
    ],
    "row_l2_forward": [*ROWS_X, *EPS],
    "row_l2_backward": [
        ("G", X[1:]),
        ("G", X[:, :1]),
        ("G", X.astype(np.float32)),
        ("out", KEEP._replace(Y=X[1:])),
        ("out", KEEP._replace(norms=np.ones(2))),
        ("out", KEEP._replace(norms=np.ones(3, np.float32))),
        *EPS,
    ],
    "dropout": [
        ("key", np.zeros(2, np.uint64)),
        ("key", np.zeros(3, np.int64)),
        *ROWS_X,
        *(("rate", bad) for bad in BAD_RATES),
        *(("key", bad) for bad in (-1, 2**64, 0.5, None)),
    ],
    "feature_propagate": [
        ("data", np.ones(3)),
        ("X", X[1:]),
        ("X", X.astype(np.float32)),
        ("X", np.ones((3, 5))),
        ("plan", None),
        ("plan", PLAN.starts),
        ("p", 0),
        ("p", 1.0),
        ("version", "vldb"),
        ("layout", "A"),
    ],
}


CASES = [
    (name, argument, value) for name, changes in CHANGES.items() for argument, value in changes
]
