"""The exact pass in blocks of rows: its bits, what it reads, what memory and files it takes."""

import errno
import os
import platform
import resource
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from tiny_data import write_graphsaint
from trained_models import trained

import fastimpl
import refimpl
from refimpl import TrainConfig, models
from refimpl._support.row_block_products import SIZES, Parts, parts_of, product_of_parts, rows_alike
from refimpl._support.thread_limits import one_blas_thread
from refimpl.lab.apps.cli import main
from refimpl.lab.training.evaluation import UNBOUNDED, Evaluation, full_graph_forward
from refimpl.lab.training.stack import Stack
from refimpl.propagation import matmul
from refimpl.typed import TypedGraph

pytestmark = pytest.mark.runs

PACKAGES = refimpl, fastimpl
N, NARROW, WIDE, CLASSES = 70, 5, 40, 4
MODELS = {
    "gcn": models.Gcn(),
    "sage": models.Sage(),
    "self first": models.Sage(concat="self_first"),
    "sum": models.Sage(concat="sum"),
    "mixhop": models.MixHop(hops=2),
    "no hops": models.MixHop(hops=0),
    "gat": models.Gat(heads=2),
    "gat, row": models.Gat(attention="row"),
    "mlp": models.Mlp(),
    "rgcn": models.Rgcn(relations=3, node_types=2),
    "bases": models.Rgcn(relations=3, bases=2),
}


def graph_of(n, pairs):
    """Return an undirected graph with self-loops, hubs and lonely nodes."""
    rng = np.random.default_rng(3)
    ends = (n * rng.random((pairs, 2)) ** 2).astype(int)
    graph = refimpl.as_graph(ends, n=n, symmetrize=True)
    types = rng.integers(0, 3, graph.e), 3, rng.integers(0, 2, n)
    return TypedGraph(graph, *types)


GRAPH = graph_of(N, 150)


def case(gnn, model, width, dtype, graph=GRAPH, **options):
    """Return a stack, weights and features."""
    config = TrainConfig(model=model, **{"hidden": 12, "bias": True, **options})
    stack, rng = Stack(gnn, config, width, CLASSES, False), np.random.default_rng(5)
    weights = {
        name: rng.standard_normal(shape).astype(dtype) for name, shape in stack.shapes().items()
    }
    return stack, weights, rng.standard_normal((graph.n, width)).astype(dtype)


def same(a, b):
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", MODELS)
def test_any_blocks_of_any_nodes_give_the_bits_of_the_plain_pass(gnn, kind, dtype):
    """Also a second time, when what a block aggregates with has been kept."""
    rng = np.random.default_rng(1)
    last = {"classifier_relu": True} if "hop" in kind else {"classifier": "layer"}
    for width, options in ((NARROW, {"row_l2": True}), (WIDE, last), (WIDE, {**last, "layers": 1})):
        stack, W, X = case(gnn, MODELS[kind], width, dtype, **options)
        plain = full_graph_forward(stack, W, GRAPH, X)
        A = stack.operands(stack.adjacency(GRAPH, dtype=dtype))
        (logits, kept), close = stack.forward(W, A, X), 100 * np.finfo(dtype).eps
        for got, expected in ((plain.logits, logits), (plain.embeddings, kept[stack.top][0])):
            np.testing.assert_allclose(got, expected, close, close * abs(expected).max())
        for memory, count in ((1, 3), (10**4, 20), (10**5, N), (10**6, 9)):
            nodes = rng.permutation(N)[:count]
            evaluation = Evaluation(stack, GRAPH, nodes, dtype=dtype, memory=memory)
            for _ in range(2):
                part = evaluation.run(W, lambda ids, X=X: X[ids], embeddings=True)
                assert same(part.logits, plain.logits[nodes])
                assert same(part.embeddings, plain.embeddings[nodes])
        assert same(evaluation.run(W, lambda ids, X=X: X[ids]).logits, plain.logits[nodes])


def test_an_added_product_has_the_same_bits_in_any_blocks(gnn):
    """Of GraphSAGE's halves that are summed, where sums over neighbours come first."""
    graph = graph_of(90, 400)
    stack, W, X = case(
        gnn, models.Sage(concat="sum"), 20, np.float32, graph, hidden=30, classifier="layer"
    )
    assert stack.layers["layer1"].order.forward == 1
    plain = full_graph_forward(stack, W, graph, X)
    for memory in (1, 3000, 20_000, 200_000):
        evaluation = Evaluation(stack, graph, dtype=np.float32, memory=memory)
        assert same(evaluation.run(W, lambda ids: X[ids]).logits, plain.logits)


def test_the_bits_do_not_depend_on_threads(other_threads):
    graph = graph_of(3000, 15000)
    for kind in ("sage", "gat", "mixhop", "rgcn"):
        stack, W, X = case(fastimpl, MODELS[kind], WIDE, np.float32, graph)
        plain = full_graph_forward(stack, W, graph, X).logits
        with other_threads():
            assert same(full_graph_forward(stack, W, graph, X).logits, plain)
            blocks = Evaluation(stack, graph, dtype=np.float32, memory=400_000)
            assert len(blocks.plans[-1].blocks) > 3
            assert same(blocks.run(W, lambda ids, X=X: X[ids]).logits, plain)


@pytest.fixture
def other_threads():
    from threadpoolctl import threadpool_limits

    return lambda: threadpool_limits(3)


@pytest.mark.parametrize("kind", ["gcn", "sage"])
def test_the_pass_from_its_definition(gnn, kind):
    """With dense matrices."""
    stack, W, X = case(gnn, MODELS[kind], WIDE, np.float64)
    A = GRAPH.to_scipy().toarray()
    if kind == "gcn":
        A = np.maximum(A, np.eye(N))
        A /= np.sqrt(np.outer(A.sum(axis=1), A.sum(axis=1)))
    else:
        A /= np.maximum(A.sum(axis=1, keepdims=True), 1)
    for layer in ("layer1", "layer2"):
        if kind == "gcn":
            Z = A @ X @ W[f"{layer}.W"]
        else:
            Z = np.hstack([A @ X @ W[f"{layer}.W_neigh"], X @ W[f"{layer}.W_self"]])
        X = np.maximum(Z + W[f"{layer}.b"], 0)
    expected = X @ W["classifier.W"] + W["classifier.b"]
    _, _, X = case(gnn, MODELS[kind], WIDE, np.float64)
    evaluation = Evaluation(stack, GRAPH, [3, 60, 3], dtype=np.float64, memory=5000)
    got = evaluation.run(W, lambda ids: X[ids]).logits
    np.testing.assert_allclose(got, expected[[3, 60, 3]], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("memory", [5000, UNBOUNDED])
@pytest.mark.parametrize("kind", ["gcn", "sage", "mixhop", "gat", "mlp", "rgcn"])
def test_only_nodes_within_reach_are_loaded(gnn, kind, memory):
    path = refimpl.as_graph([(i, i + 1) for i in range(29)], symmetrize=True)
    types = np.zeros(path.e, int), 3, np.arange(30) % 2
    stack, W, X = case(gnn, MODELS[kind], WIDE, np.float32, TypedGraph(path, *types))
    loaded, nodes = set(), [12, 3]

    def load(ids):
        loaded.update(ids.tolist())
        return X[ids]

    evaluation = Evaluation(stack, TypedGraph(path, *types), nodes, dtype=X.dtype, memory=memory)
    evaluation.run(W, load)
    reach = stack.config.reach
    assert loaded == {v for v in range(30) if min(abs(v - node) for node in nodes) <= reach}
    assert reach == {"mixhop": 4, "mlp": 0}.get(kind, 2)


@pytest.mark.parametrize("kind", ["gat", "gcn", "sage"])
def test_a_narrower_layer_multiplies_each_node_once(gnn, kind):
    """Whichever blocks need it: their rows have the same neighbours again and again."""
    rows = []

    def dense_forward(X, W, **options):
        if len(W) == WIDE:
            rows.append(len(X))
        return gnn.dense_forward(X, W, **options)

    backend = refimpl.backend(gnn, dense_forward=dense_forward)
    stack, W, X = case(backend, MODELS[kind], WIDE, np.float32)
    evaluation = Evaluation(stack, GRAPH, dtype=X.dtype, memory=5000)
    assert len(evaluation.plans[1].blocks) > 3
    evaluation.run(W, lambda ids: X[ids])
    assert sum(rows) == N


@pytest.mark.parametrize("kind", ["gcn", "sage", "mixhop", "gat"])
def test_all_passes_over_a_whole_graph_have_its_matrix(gnn, kind):
    made = []

    def once(name):
        def norm(*args, **options):
            made.append(name)
            return getattr(gnn.adjacency, name)(*args, **options)

        return norm

    names = ("row_norm", "sym_norm", "loop_norm")
    kernels = {name: once(name) for name in names}
    stack, W, X = case(refimpl.backend(gnn, **kernels), MODELS[kind], WIDE, np.float32)
    evaluation = Evaluation(stack, GRAPH, dtype=X.dtype, memory=UNBOUNDED)
    for _ in range(2):
        evaluation.run(W, lambda ids: X[ids])
    assert len(made) == 1 and not evaluation.operands
    few = Evaluation(stack, GRAPH, np.arange(3), dtype=X.dtype, memory=UNBOUNDED)
    few.run(W, lambda ids: X[ids])
    assert len(made) == 1 and few.matrix is None


def test_no_nodes_and_one_lonely_node(gnn):
    stack, W, X = case(gnn, models.Gcn(), WIDE, np.float32, refimpl.as_graph([], n=3))
    for nodes in ([], [1]):
        evaluation = Evaluation(stack, refimpl.as_graph([], n=3), nodes, dtype=X.dtype)
        assert evaluation.run(W, lambda ids: X[ids]).logits.shape == (len(nodes), CLASSES)


@pytest.mark.parametrize("kind", ["sage", "gcn", "gat", "mixhop", "rgcn"])
def test_the_bound_on_memory_holds(kind):
    """In the reference, whose arrays Python counts; the graph has 13 bytes a node besides."""
    graph, bound = graph_of(3000, 8000), 2**20
    stack, W, X = case(refimpl, MODELS[kind], WIDE, np.float64, graph, hidden=48)
    Evaluation(stack, GRAPH, dtype=X.dtype).run(W, lambda ids: X[ids])  # trials of the products
    peaks = []
    for memory in (bound, UNBOUNDED):
        tracemalloc.start()
        evaluation = Evaluation(
            stack, graph, np.arange(0, graph.n, 7), dtype=X.dtype, memory=memory
        )
        evaluation.run(W, lambda ids: X[ids])
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    result = 8 * CLASSES * graph.n / 7
    assert peaks[0] < bound + 13 * graph.n + result, peaks
    assert peaks[1] > 2 * peaks[0], peaks


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The folder for temporary files, empty."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_files_go_whatever_happens(gnn, scratch):
    seen = []

    def spmm(*args):
        seen.append(sorted(path.name for path in scratch.rglob("rows*")))
        if fails and len(seen) == 5:
            raise RuntimeError("enough")
        return gnn.spmm(*args)

    stack, W, X = case(refimpl.backend(gnn, spmm=spmm), models.Gcn(), WIDE, np.float32)
    for fails in (False, True):
        seen.clear()
        evaluation = Evaluation(stack, GRAPH, dtype=X.dtype, memory=3000)
        if fails:
            with pytest.raises(RuntimeError, match="enough"):
                evaluation.run(W, lambda ids: X[ids])
        else:
            evaluation.run(W, lambda ids: X[ids])
        assert seen[0] == ["rows0", "rows1"]
        assert not any("rows2" in names and "rows0" in names for names in seen)
        assert list(scratch.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
def test_a_full_disk_is_an_error_that_names_the_file(gnn, scratch):
    stack, W, X = case(gnn, models.Gcn(), WIDE, np.float64)
    evaluation = Evaluation(stack, GRAPH, dtype=X.dtype, memory=3000)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(OSError, match="rows0") as caught:
            evaluation.run(W, lambda ids: X[ids])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.errno == errno.EFBIG
    assert caught.value.filename.startswith(str(scratch))
    assert list(scratch.iterdir()) == []


def depends_on(places, columns=slice(None), least=0):
    """A product of `least` columns or more, some of which depend on the place of a row."""

    def product(A, B, C, rows):
        np.matmul(A, B, out=C)
        if B.shape[1] >= least:
            C[:, columns] += (np.arange(len(C)) % rows % places > 0)[:, None]

    return product


def test_parts_of_a_product_are_as_large_as_their_rows_are_alike():
    found = [parts_of(depends_on(k), np.dtype("f4"), 3, 2) for k in (1, 2)]
    assert found == [Parts(SIZES[0], ()), Parts(1, ())]
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((500, 33)), rng.standard_normal((33, 7))
    C = np.empty((500, 7))
    product_of_parts(lambda A, B, C, rows: np.matmul(A, B, out=C), A, B, C)
    np.testing.assert_allclose(C, A @ B, rtol=1e-12, atol=1e-12)


def test_columns_whose_rows_are_not_alike_are_computed_again():
    """As in OpenBLAS's kernels for Haswell: the first and the last vector, of wide products."""
    rng, b = np.random.default_rng(0), np.arange(21.0)
    A, B, C = rng.standard_normal((500, 33)), rng.standard_normal((33, 21)), np.empty((500, 21))
    edges = depends_on(6, [3, -3], least=16)
    assert parts_of(edges, A.dtype, *B.shape) == Parts(SIZES[0], (slice(0, 8), slice(16, 21)))

    def product(A, B, C, rows, bias=0):
        edges(A, B, C, rows)
        C += bias

    product_of_parts(product, A, B, C, bias=b)
    np.testing.assert_allclose(C, A @ B + b, rtol=1e-12, atol=1e-12)
    unlike = depends_on(6, [3, -3])  # nor are they then
    assert parts_of(unlike, A.dtype, *B.shape) == Parts(1, ())


def test_rows_of_a_product_are_alike(gnn):
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        for inner, cols in ((8, 16), (100, 41), (33, 300), (64, 1), (70, 700)):
            A, B = (rng.standard_normal(s).astype(dtype) for s in ((401, inner), (inner, cols)))
            order = rng.permutation(401)
            with rows_alike():
                whole = gnn.dense_forward(A, B, relu=False)
                assert same(gnn.dense_forward(A[order], B, relu=False), whole[order])
                for count in (1, 7, 200):
                    assert same(gnn.dense_forward(A[-count:], B, relu=False), whole[-count:])
            with one_blas_thread():
                assert same(matmul(A, B), A @ B)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="of these processors")
@pytest.mark.parametrize("core", ["Haswell", "Sandybridge"])
def test_rows_are_alike_in_other_kernels_of_blas(core):
    """OpenBLAS's for Haswell have two ways to round a float32, by its row's place."""
    here = Path(__file__).parent
    code = (
        "import test_evaluation as t; [t.test_rows_of_a_product_are_alike(g) for g in t.PACKAGES]"
    )
    paths = [here, here.parent, here.parents[1]]
    subprocess.run(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "OPENBLAS_CORETYPE": core,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
        },
        check=True,
    )


@pytest.mark.parametrize("value", [0, -1, 1.5, "1GiB"])
def test_a_bound_that_is_none_is_refused(gnn, value):
    with pytest.raises((ValueError, TypeError), match="eval_memory must be"):
        TrainConfig(eval_memory=value)
    model = refimpl.TrainedModel(
        {"layer1.W": np.ones((1, 1)), "classifier.W": np.ones((1, 2))},
        {"model": "mlp", "layers": 1, "hidden": 1},
        1,
        2,
        False,
    )
    with pytest.raises((ValueError, TypeError), match="eval_memory must be"):
        gnn.predict(model, refimpl.as_graph([], n=1), [[1.0]], eval_memory=value)


def test_eval_memory_on_the_command_line_changes_nothing(tmp_path, capsys):
    folder, found = write_graphsaint(tmp_path / "tiny"), []
    for number, memory in enumerate(("1GiB", "20kB")):
        out, table = tmp_path / str(number), tmp_path / f"{number}.npy"
        train = ["train", "--data", folder, "--out", out, "--epochs", 2, "--hidden", 8]
        assert main([*map(str, train), "--eval-memory", memory]) == 0
        predict = [
            "predict",
            out / "model.npz",
            "--data",
            folder,
            "--out",
            table,
            "--nodes",
            "test",
        ]
        assert main([*map(str, predict), "--eval-memory", memory, "--what", "embeddings"]) == 0
        scores = [line.split(",")[3] for line in (out / "history.csv").read_text().splitlines()]
        found.append((scores, table.read_bytes()))
    assert found[0] == found[1]


def test_prediction_takes_what_its_nodes_need(gnn, tmp_path):
    """A feature that is not finite matters where it is read alone."""
    data = refimpl.load_dataset(write_graphsaint(tmp_path / "tiny"), dtype="float64")
    model, whole = trained(gnn, data), np.array(data.features)
    expected = gnn.predict(model, data.graph, whole, what="probabilities", scaled=True)
    near = {0, *data.graph.indices[: data.graph.end[0]].tolist()}
    near |= {int(u) for v in near for u in data.graph.indices[slice(*data.graph.indptr[v : v + 2])]}
    far = min(set(range(data.graph.n)) - near)
    whole[far] = np.nan
    got = gnn.predict(model, data.graph, whole, [0], "probabilities", True, eval_memory=1000)
    assert same(got, expected[[0]])
    with pytest.raises(ValueError, match=f"row {far} is not once scaled"):
        gnn.predict(model, data.graph, whole, scaled=True)
