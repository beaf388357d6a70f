"""Weights of edges: read, kept, and aggregated with by GCN and GraphSAGE in every method."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from tiny_data import tiny_dataset

from refimpl.lab.data.convert import convert
from refimpl.lab.training.evaluation import Evaluation, full_graph_forward
from refimpl.lab.training.methods.vrgcn import control_variate
from refimpl.lab.training.stack import Stack

pytestmark = pytest.mark.runs
MODELS = ("gcn", "sage")


def drawn(n=30, share=0.15, seed=0):
    """Return symmetric weights of a graph as a dense matrix."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(0.1, 3, (n, n)) * (rng.random((n, n)) < share), 1)
    return W + W.T


def graph_of(gnn, W):
    graph = gnn.as_graph(sp.csr_array(W != 0))
    return gnn.graph.WeightedGraph(graph, W[W != 0])


def by_hand(kind, W):
    """Return the matrix of a model from its definition."""
    sums = W.sum(axis=1)
    if kind == "sage":
        return W / np.where(sums == 0, 1, sums)[:, None]
    root = np.diag(1 / np.sqrt(sums + 1))
    return root @ (W + np.eye(len(W))) @ root


def dense(A, transposed=False):
    pattern, data = (A.graph_t, A.data_t) if transposed else (A.graph, A.data)
    found = np.zeros((pattern.n_dst, pattern.n_src))
    for v in range(pattern.n_dst):
        row = slice(pattern.start[v], pattern.end[v])
        found[v, pattern.indices[row]] += data[row]
    return found


def model_of(gnn, kind):
    return {"gcn": gnn.models.Gcn(), "sage": gnn.models.Sage()}[kind]


@pytest.mark.parametrize("kind", MODELS)
def test_the_whole_matrix_and_its_transpose_are_those_by_hand(gnn, kind):
    W = drawn()
    graph = graph_of(gnn, W)
    A = model_of(gnn, kind).adjacency(gnn, graph, gnn.transpose_perm(graph), np.float64)
    np.testing.assert_allclose(dense(A), by_hand(kind, W), atol=1e-14)
    np.testing.assert_allclose(dense(A, True), by_hand(kind, W).T, atol=1e-14)


@pytest.mark.parametrize("kind", MODELS)
def test_equal_weights_are_those_of_no_weights(gnn, kind):
    """Twice the weight is the same mean; for GCN 1 is the weight of a node itself."""
    W = (drawn() > 0).astype(float)
    plain = gnn.as_graph(sp.csr_array(W))
    perm = gnn.transpose_perm(plain)
    weights = np.full(plain.e, 2.0 if kind == "sage" else 1.0)
    A = model_of(gnn, kind).adjacency(gnn, plain, perm, np.float64)
    B = model_of(gnn, kind).adjacency(
        gnn, gnn.graph.WeightedGraph(plain, weights), perm, np.float64
    )
    np.testing.assert_allclose(A.data, B.data, rtol=1e-14)


@pytest.mark.parametrize("kind", MODELS)
def test_the_expectation_of_sampled_neighbours_is_the_whole_row(gnn, kind):
    W = drawn(12, 0.6)
    graph, model = graph_of(gnn, W), model_of(gnn, kind)
    roots, total, draws = np.arange(12, dtype=np.int32), np.zeros((12, 12)), 4000
    for draw in range(draws):
        mfg = gnn.layer_sample(graph, roots, [2], gnn.streams.key(3, draw))
        A = model.block_operand(gnn, mfg.blocks[0], mfg.nodes[0], graph, np.float64)
        total[:, mfg.nodes[0]] += dense(A)
        np.testing.assert_allclose(dense(A, True), dense(A).T)
    np.testing.assert_allclose(total / draws, by_hand(kind, W), atol=0.03)
    mfg = gnn.layer_sample(graph, roots, [-1], 5)
    A = model.block_operand(gnn, mfg.blocks[0], mfg.nodes[0], graph, np.float64)
    whole = np.zeros((12, 12))
    whole[:, mfg.nodes[0]] = dense(A)
    np.testing.assert_allclose(whole, by_hand(kind, W), atol=1e-14)


@pytest.mark.parametrize("kind", MODELS)
def test_an_exact_pass_multiplies_by_the_matrix_by_hand(gnn, kind):
    W, f = drawn(), 5
    graph, X = graph_of(gnn, W), np.random.default_rng(1).normal(size=(30, f))
    config = gnn.TrainConfig(model=kind, hidden=8, layers=2)
    stack = Stack(gnn, config, f, 3, False)
    weights, A = stack.initial_weights(4, np.float64), by_hand(kind, W)
    H = X
    for layer in ("layer1", "layer2"):
        if kind == "gcn":
            H = A @ H @ weights[f"{layer}.W"]
        else:
            halves = A @ H @ weights[f"{layer}.W_neigh"], H @ weights[f"{layer}.W_self"]
            H = np.concatenate(halves, axis=1)
        H = np.maximum(H, 0)
    wanted = H @ weights["classifier.W"]
    np.testing.assert_allclose(full_graph_forward(stack, weights, graph, X).logits, wanted)
    nodes = np.array([3, 17])
    blocks = Evaluation(stack, graph, nodes, dtype=np.float64, memory=4000)
    found = blocks.run(weights, lambda ids: X[ids]).logits
    np.testing.assert_array_equal(found, full_graph_forward(stack, weights, graph, X).logits[nodes])


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a data set whose class only the weights of edges tell."""
    import refimpl

    plain = tiny_dataset(tmp_path_factory.mktemp("data") / "tiny")
    row = np.repeat(np.arange(200), plain.graph.degrees())
    same = plain.labels[row] == plain.labels[plain.graph.indices]
    graph = refimpl.graph.WeightedGraph(plain.graph, np.where(same, 4.0, 0.01))
    return plain._changed(graph=graph, induced=None, setting="transductive")


def methods_of(gnn):
    m = gnn.methods
    small = {"batch_size": 50, "fanouts": [3, 3]}
    return {
        "graph": m.SampledGraph(),
        "normalised": m.SampledGraph(normalize="both", coverage=20),
        "loss": m.SampledGraph(normalize="loss", coverage=20),
        "full": m.FullBatch(),
        "layer": m.LayerSampling(**small),
        "neighbor": m.Neighbor(**small),
        "fresh": m.Fresh(**small),
        "gas": m.Gas(batch_size=50),
        "vrgcn": m.VrGcn(batch_size=50),
        "cluster": m.ClusterGcn(clusters=8, clusters_per_batch=2),
        "fastgcn": m.FastGcn(batch_size=50, layer_sizes=(60, 60)),
        "ladies": m.Ladies(batch_size=50, layer_sizes=(60, 60)),
    }


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", methods_of(__import__("refimpl")))
def test_every_method_trains_with_weights(gnn, data, name, kind):
    """Other weights give another result, and weights of 1 the result without any."""
    method = methods_of(gnn)[name]
    if name == "normalised" and kind == "gcn":
        pytest.skip("gcn has no weights of sampled edges")
    config = gnn.TrainConfig(model=kind, method=method, epochs=2, hidden=8)

    def trained(graph):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return gnn.train(data._changed(graph=graph), config, progress=False).weights

    plain = gnn.graph.Graph._trusted(data.graph.indptr, data.graph.indices, True)
    ones = gnn.graph.WeightedGraph(plain, np.ones(plain.e))
    weighted, same, without = trained(data.graph), trained(ones), trained(plain)
    for place, W in without.items():
        np.testing.assert_allclose(same[place], W, rtol=1e-3, atol=1e-4)
    assert any(np.abs(weighted[place] - W).max() > 1e-3 for place, W in without.items())


@pytest.mark.parametrize("kind", MODELS)
def test_vrgcn_corrects_sampled_entries_to_the_matrix_by_hand(gnn, data, kind):
    """Where histories are the rows themselves, a row sums as the full row does."""
    config = gnn.TrainConfig(model=kind, method=methods_of(gnn)["vrgcn"], hidden=8)
    wide = data._changed(dtype=np.dtype(np.float64))
    W = data.graph.to_scipy(data.graph.weights).toarray()
    with gnn.make_trainer(wide, config) as trainer:
        run, P = trainer.run, trainer.iterations.P
        roots = np.arange(0, 200, 3, dtype=np.int32)
        mfg = gnn.layer_sample(data.graph, roots, [2], 9)
        nodes, block = mfg.nodes[0], mfg.blocks[0]
        S = run.block_operand(block, nodes)
        A, outside = control_variate(S, block, roots, data.graph, P)
    found = np.zeros((len(roots), 200))
    np.add.at(found.T, np.concatenate([nodes, outside]), dense(A).T)
    np.testing.assert_allclose(found, by_hand(kind, W)[roots], atol=1e-14)


def test_a_method_without_a_law_is_refused_and_other_models_say_so(gnn, data):
    config = gnn.TrainConfig(model="gcn", method="graphfm", epochs=1, hidden=8)
    with pytest.raises(ValueError, match="method must be another one where edges have weights"):
        gnn.train(data, config)
    for model in ("gat", "mixhop", "mlp"):
        config = gnn.TrainConfig(model=model, epochs=1, hidden=12)
        with pytest.warns(UserWarning, match=f"model {model} ignores the weights of the edges"):
            weights = gnn.train(data, config, progress=False).weights
        plain = gnn.graph.Graph._trusted(data.graph.indptr, data.graph.indices, True)
        without = gnn.train(data._changed(graph=plain), config, progress=False).weights
        for place, W in without.items():
            np.testing.assert_array_equal(weights[place], W)


@pytest.mark.parametrize("setting", ("transductive", "inductive"))
def test_a_folder_keeps_weights(gnn, data, setting, tmp_path):
    given = data.with_setting(setting)
    given.save(tmp_path / "kept")
    found = gnn.load_dataset(tmp_path / "kept", verify=True)
    np.testing.assert_array_equal(found.graph.weights, data.graph.weights)
    wanted = given.train_graph.weights
    np.testing.assert_array_equal(found.train_graph.weights, wanted)
    one = np.load(tmp_path / "kept" / "edge_weights.npy")
    one[0] *= 2
    np.save(tmp_path / "kept" / "edge_weights.npy", one)
    with pytest.raises(ValueError, match=r"edge_weights.npy"):
        gnn.load_dataset(tmp_path / "kept", verify=True)
    again = pickle.loads(pickle.dumps(data.graph))
    np.testing.assert_array_equal(again.weights, data.graph.weights)
    assert repr(again).startswith("WeightedGraph(n=200")


def test_what_a_weighted_graph_refuses(gnn):
    path = gnn.as_graph([(0, 1), (1, 2)], symmetrize=True)
    for weights, error, what in (
        ([1, 2, 3], ValueError, "shape"),
        ([1, 1, 0, 0], ValueError, "positive and finite"),
        ([1, 1, np.inf, np.inf], ValueError, "positive and finite"),
        ([1, 2, 1, 1], ValueError, "same in both directions"),
        (["a"] * 4, TypeError, "real numbers"),
    ):
        with pytest.raises(error, match=what):
            gnn.graph.WeightedGraph(path, weights)
    looped = gnn.as_graph([(0, 0), (0, 1)], symmetrize=True)
    with pytest.raises(ValueError, match="self-loops"):
        gnn.graph.WeightedGraph(looped, np.ones(3))
    with pytest.raises(ValueError, match="undirected"):
        gnn.graph.WeightedGraph(gnn.as_graph([(0, 1)]), [1.0])


EDGES = [(0, 1, 2.0), (1, 2, 0.5), (2, 3, 3.0), (0, 3, 1.0)]
WEIGHTS = np.zeros((4, 4))
for u, v, w in EDGES:
    WEIGHTS[u, v] = WEIGHTS[v, u] = w
FEATURES, LABELS = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])
PARTS = {"train": [0, 1], "val": [2], "test": [3]}


def of_scipy(gnn, folder):
    return gnn.Dataset.from_arrays(sp.csr_array(WEIGHTS), FEATURES, LABELS, **PARTS)


def of_networkx(gnn, folder):
    nx = pytest.importorskip("networkx")
    graph = nx.Graph()
    for v in range(4):
        graph.add_node(v, features=FEATURES[v], label=int(LABELS[v]))
    graph.add_weighted_edges_from(EDGES)
    return gnn.Dataset.from_networkx(graph, **PARTS)


def of_pandas(gnn, folder):
    pd = pytest.importorskip("pandas")
    nodes = pd.DataFrame({"id": range(4), "a": FEATURES[:, 0], "b": FEATURES[:, 1], "y": LABELS})
    edges = pd.DataFrame(EDGES, columns=["source", "target", "weight"])
    return gnn.Dataset.from_pandas(edges, nodes, **PARTS)


def of_csv(gnn, folder):
    lines = ["weight,source,target", *(f"{w},{u},{v}" for u, v, w in EDGES)]
    (folder / "e.csv").write_text("\n".join(lines) + "\n")
    rows = [f"{v},{a},{b},{y}" for v, ((a, b), y) in enumerate(zip(FEATURES, LABELS, strict=True))]
    (folder / "n.csv").write_text("\n".join(["id,a,b,label", *rows]) + "\n")
    return gnn.Dataset.from_csv(folder / "e.csv", folder / "n.csv", **PARTS)


def of_pyg(gnn, folder):
    torch = pytest.importorskip("torch")
    library = pytest.importorskip("torch_geometric.data")
    ends = np.array([(u, v) for u, v, _ in EDGES] + [(v, u) for u, v, _ in EDGES]).T
    given = {
        "x": torch.from_numpy(FEATURES),
        "y": torch.from_numpy(LABELS),
        "edge_index": torch.from_numpy(ends),
        "edge_weight": torch.tensor([w for _, _, w in EDGES] * 2),
    }
    return gnn.Dataset.from_pyg(library.Data(**given), **PARTS)


READERS = (of_scipy, of_networkx, of_pandas, of_csv, of_pyg)


@pytest.mark.parametrize("read", READERS)
def test_readers_carry_weights(gnn, read, tmp_path):
    data = read(gnn, tmp_path)
    np.testing.assert_array_equal(data.graph.to_scipy(data.graph.weights).toarray(), WEIGHTS)
    weights = data.with_setting("inductive").train_graph.weights
    assert weights.tolist() == [2.0, 2.0]  # of the edge between the training nodes


@pytest.mark.parametrize(
    ("change", "why"),
    (
        ({(0, 1): -1.0, (1, 0): -1.0}, "positive and finite, but edge 0 has -1"),
        ({(0, 1): 5.0}, "the edge between nodes 0 and 1 has the weights"),
    ),
)
def test_what_are_no_weights_is_named(gnn, change, why):
    other = WEIGHTS.copy()
    for at, w in change.items():
        other[at] = w
    with pytest.warns(UserWarning, match=f"ignored the weights in 'data' of source: .*{why}"):
        data = gnn.Dataset.from_arrays(sp.csr_array(other), FEATURES, LABELS, **PARTS)
    assert type(data.graph) is gnn.Graph and data.graph.e == 8


def test_convert_keeps_the_weights_of_tables(gnn, tmp_path):
    wanted = of_csv(gnn, tmp_path).graph
    convert(tmp_path / "e.csv", tmp_path / "out", features=tmp_path / "n.csv")
    made = gnn.load_dataset(tmp_path / "out").graph
    assert np.array_equal(made.indices, wanted.indices)
    assert np.array_equal(made.weights, wanted.weights) and made.weights.max() > 1
