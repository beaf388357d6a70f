"""Data sets made of arrays, tables and graphs of other libraries."""

import sys
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

from refimpl import Dataset
from refimpl.lab.apps.cli import main
from refimpl.lab.data.label_encoding import encoded
from refimpl.lab.data.loading import load_dataset
from refimpl.lab.data.splits import drawn_parts

pytestmark = pytest.mark.runs
pytestmark = [
    pytestmark,
    pytest.mark.filterwarnings("ignore:ignored .* self-loop"),
]

EDGES = [(0, 1), (1, 2), (2, 3), (3, 3)]
FEATURES = np.array([[1.0, 0], [2, 0], [3, 1], [4, 1], [5, 1]])
EDGE_FILE = "from,to\nann,bob\nbob,cat\ncat,dan\ndan,dan\n"
NODE_FILE = (
    "name,age,club,tall,split\n"
    "ann,1,x,0,train\nbob,2,y,0,train\ncat,3,x,1,val\ndan,4,y,1,test\neve,5,,1,\n"
)


def same(data, names=None, classes=("x", "y")):
    """Assert that a data set is the one of the two files; there are many ways to say so."""
    A = data.graph.to_scipy().toarray() > 0
    assert {tuple(pair) for pair in np.argwhere(A).tolist()} == {
        (u, v) for a, b in EDGES[:-1] for u, v in ((a, b), (b, a))
    }
    np.testing.assert_array_equal(data.features, FEATURES)
    assert data.labels.tolist() == [0, 1, 0, 1, -1] and data.class_names == classes
    assert [part.tolist() for part in (data.train, data.val, data.test)] == [[0, 1], [2], [3]]
    assert (None if data.node_names is None else data.node_names.tolist()) == names
    assert data.setting == "transductive"
    np.testing.assert_array_equal(data.scaling[0], [1.5, 0])  # of the training rows


@pytest.fixture
def files(tmp_path):
    edges, nodes = tmp_path / "edges.csv", tmp_path / "people.csv"
    edges.write_text(EDGE_FILE)
    nodes.write_text(NODE_FILE)
    return edges, nodes


NAMES = ["ann", "bob", "cat", "dan", "eve"]


def test_from_arrays():
    parts = {"train": [1, 0], "val": [2], "test": np.arange(5) == 3}
    labels = np.array(["x", "y", "x", "y", None], object)
    same(Dataset.from_arrays(EDGES, FEATURES, labels, **parts))
    numbers = Dataset.from_arrays(EDGES, FEATURES, np.array([0, 1, 0, 1, np.nan]), **parts)
    same(numbers, classes=None)


def test_from_csv(files):
    data = Dataset.from_csv(*files, label="club")
    same(data, NAMES)
    assert data.name == "people"
    same(load_dataset(files[0], features=files[1], labels="club"), NAMES)


def test_from_networkx():
    G = nx.Graph()
    parts = ["train", "train", "val", "test", None]
    for name, row, club, part in zip(NAMES, FEATURES, "xyxy ", parts, strict=True):
        G.add_node(name, features=row, club=club.strip() or None, split=part)
    G.add_edges_from((NAMES[u], NAMES[v]) for u, v in EDGES)
    same(Dataset.from_networkx(G, label="club"), NAMES)
    with pytest.raises(ValueError, match="node 'ann' must have the attribute 'rows'"):
        Dataset.from_networkx(G, features="rows")


def test_from_pandas(files):
    pandas = pytest.importorskip("pandas")
    edges, nodes = (pandas.read_csv(path) for path in files)
    same(Dataset.from_pandas(edges, nodes, id="name", label="club"), NAMES)
    same(Dataset.from_pandas(edges, nodes.set_index("name"), label="club"), NAMES)
    for label, message in (("clubs", "nodes must have a column 'clubs'"),):
        with pytest.raises(ValueError, match=message):
            Dataset.from_pandas(edges, nodes, id="name", label=label)


def masks():
    return {f"{part}_mask": np.isin(np.arange(5), ids) for part, ids in PARTS.items()}


PARTS = {"train": [0, 1], "val": [2], "test": [3]}


def test_from_pyg():
    """With an object that has what PyG documents of its `Data`."""
    labels = np.array([0, 1, 0, 1, -1])
    kind = type("Data", (SimpleNamespace,), {"__module__": "torch_geometric.data.data"})
    pairs = np.array([*EDGES, *(edge[::-1] for edge in EDGES)]).T
    data = kind(x=FEATURES, y=labels, edge_index=pairs, num_nodes=5, edge_attr=None, **masks())
    same(Dataset.from_pyg(data), classes=None)


def test_from_dgl():
    """With an object that has what DGL documents of its graphs."""
    kept = {"feat": FEATURES, "label": np.array([0, 1, 0, 1, -1]), **masks()}
    pairs = np.array([*EDGES, *(edge[::-1] for edge in EDGES)]).T
    same(Dataset.from_dgl(of_dgl(*pairs, 5, kept)), classes=None)


def of_dgl(u, v, n, data):
    """Return an object that has what DGL documents of its graphs."""
    kind = type("DGLGraph", (SimpleNamespace,), {"__module__": "dgl.heterograph"})
    ends = {"num_nodes": lambda: n, "edges": lambda *a, **k: (u, v)}
    return kind(ndata=data, edata={}, is_homogeneous=True, **ends)


def test_to_dgl(monkeypatch):
    """With stand-ins: a DGL that takes the arrays of CSC, a torch whose tensors are arrays."""

    def graph(data, num_nodes):
        layout, (indptr, indices, edge_ids) = data
        assert layout == "csc" and edge_ids.tolist() == list(range(len(indices)))
        assert {array.dtype for array in data[1]} == {np.dtype(np.int64)}
        return of_dgl(indices, np.repeat(np.arange(num_nodes), np.diff(indptr)), num_nodes, {})

    monkeypatch.setitem(sys.modules, "dgl", SimpleNamespace(graph=graph))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(from_numpy=np.asarray))
    data = Dataset.from_arrays(EDGES, FEATURES, np.array([0, 1, 0, 1, -1]), **PARTS)
    made = data.to_dgl()
    np.testing.assert_array_equal(made.ndata["feat"], data.inputs())
    assert made.ndata["label"].dtype == np.int64
    again = Dataset.from_dgl(made, scaling="none")
    assert (again.graph.to_scipy() != data.graph.to_scipy()).nnz == 0
    assert again.labels.tolist() == data.labels.tolist()
    assert [getattr(again, part).tolist() for part in PARTS] == list(PARTS.values())


@pytest.mark.parametrize("missing", ["torch", "dgl"])
def test_to_dgl_says_what_is_missing(monkeypatch, tmp_path, missing):
    """DGL 2.1 beside torch 2.13 raises FileNotFoundError, another package an ImportError."""
    for name in ("torch", "dgl"):
        monkeypatch.delitem(sys.modules, name, raising=False)
        (tmp_path / f"{name}.py").write_text("" if name != missing else "raise OSError('no lib')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"pip install dgl torch \(no lib\)"):
        load_dataset("karate").to_dgl()


def test_parts_are_drawn_where_none_are_given():
    labels = np.arange(100) % 3
    labels[7] = -1
    data = Dataset.from_arrays(nx.path_graph(100), np.ones((100, 1)), labels)
    assert [len(part) for part in (data.train, data.val, data.test)] == [59, 20, 20]
    every = np.concatenate([data.train, data.val, data.test])
    assert sorted(every) == [v for v in range(100) if v != 7]
    again, other = (drawn_parts(np.arange(100), seed) for seed in (0, 1))
    assert not np.array_equal(again[0], other[0])


def test_words_are_numbered_and_halves_refused():
    codes, names = encoded(np.array(["b", "a", "", None, "b"], object))
    assert codes.tolist() == [1, 0, -1, -1, 1] and names == ("a", "b")
    assert encoded(np.array([[1.0], [np.nan]]))[0].tolist() == [1, -1]
    with pytest.raises(ValueError, match="labels must be whole numbers or words"):
        encoded(np.array([0.5]))


def test_parts_are_given_or_drawn_and_not_both():
    with pytest.raises(ValueError, match="train must be given where val or test is"):
        Dataset.from_arrays(EDGES, FEATURES, np.arange(5) % 2, val=[1])


@pytest.mark.parametrize(
    ("edges", "nodes", "message"),
    [
        (EDGE_FILE, "", "people.csv .* is empty"),
        (EDGE_FILE, NODE_FILE.replace("age", "name"), "people.csv: its titles must be distinct"),
        (EDGE_FILE, NODE_FILE.replace("ann,1", "ann,one"), 'the column "age" must hold numbers'),
        (EDGE_FILE, NODE_FILE.replace("eve,5", "eve"), "line 6 must have 5 values, got 4"),
        (
            EDGE_FILE,
            NODE_FILE.replace("club", "team"),
            "must have a column 'club', got 'name', 'age'",
        ),
        (EDGE_FILE, NODE_FILE.replace("eve", "ann"), "the names of nodes must be distinct"),
        (EDGE_FILE + "ann,zoe\n", NODE_FILE, "edges.csv must name nodes only, but 'zoe' is none"),
        ("from\nann\n", NODE_FILE, "edges.csv must have two columns"),
        (EDGE_FILE, "name,club,age\n", "people.csv must have a line for each node, and has none"),
        (EDGE_FILE, "name,club\nann,x\n", "people.csv must have at least one column of numbers"),
    ],
)
def test_bad_tables_are_refused(tmp_path, edges, nodes, message):
    (tmp_path / "edges.csv").write_text(edges)
    (tmp_path / "people.csv").write_text(nodes)
    with pytest.raises(ValueError, match=message):
        Dataset.from_csv(tmp_path / "edges.csv", tmp_path / "people.csv", label="club")


def test_two_tables_are_enough_to_train(tmp_path, capsys):
    rng = np.random.default_rng(1)
    G = nx.planted_partition_graph(4, 30, 0.3, 0.02, seed=2)
    (tmp_path / "edges.csv").write_text("a,b\n" + "".join(f"n{u},n{v}\n" for u, v in G.edges))
    lines = [f"n{v},{v // 30 + rng.normal():.3f},{v % 7},{'pqrs'[v // 30]}" for v in G]
    (tmp_path / "nodes.csv").write_text("node,x,y,kind\n" + "\n".join(lines) + "\n")
    tables = ["--data", tmp_path / "edges.csv", "--features", tmp_path / "nodes.csv"]
    command = ["train", *tables, "--labels", "kind", "--model", "gcn", "--epochs", 20]
    command += ["--method", "full", "--out", tmp_path / "run", "--lr", 0.05]
    assert main([*map(str, command)]) == 0
    assert "120 nodes" in capsys.readouterr().out
    assert main(["train", "--resume", "--out", str(tmp_path / "run"), "--epochs", "22"]) == 0
    out = tmp_path / "out.csv"
    predict = ["predict", tmp_path / "run" / "model.npz", *tables, "--labels", "kind", "--out", out]
    assert main([*map(str, predict)]) == 0
    titles, *rows = (line.split(",") for line in out.read_text().splitlines())
    assert titles == ["node", "label"] and [row[0] for row in rows] == [f"n{v}" for v in G]
    right = np.mean([row[1] == "pqrs"[v // 30] for v, row in enumerate(rows)])
    assert right > 0.7  # a quarter by chance
    assert main([*map(str, predict[:-1]), str(tmp_path / "p.csv"), "--what", "probabilities"]) == 0
    assert (tmp_path / "p.csv").read_text().startswith("node,p_p,p_q")
    capsys.readouterr()
    assert main(["train", "--data", str(tmp_path / "edges.csv")]) == 2
    assert "give --features NODES.csv" in capsys.readouterr().err
