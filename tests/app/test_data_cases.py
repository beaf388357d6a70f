"""Tables, splits, labels and weights as people have them: each is read rightly or refused.

The data set of all cases: the path a-b-c-d-e, features 1 to 5, classes p and q in turn, three
training nodes, one for validation and one for test.
"""

import gzip
import json
import re
import warnings
from types import SimpleNamespace
from typing import NamedTuple

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import fastimpl
import refimpl
from refimpl.graph import WeightedGraph
from refimpl.lab.data.convert import convert

pytestmark = pytest.mark.filterwarnings("default")

NAMES = ["a", "b", "c", "d", "e"]
X = [1.5, 2, 3, 4, 5]
EDGES = {"source": ["a", "b", "c", "d"], "target": ["b", "c", "d", "e"]}
SPLIT = ["train", "train", "train", "val", "test"]
MASKS = {
    "train_mask": [1, 1, 1, 0, 0],
    "val_mask": [0, 0, 0, 1, 0],
    "test_mask": [0, 0, 0, 0, 1],
}
CODES, PARTS = [0, 1, 0, 1, 0], [[0, 1, 2], [3], [4]]
DRAWN = "drawn"


def nodes(**changes):
    """Return the columns of the table of nodes; None takes one away."""
    columns = {"id": NAMES, "label": list("pqpqp"), "split": SPLIT, "x": X} | changes
    return {title: cells for title, cells in columns.items() if cells is not None}


def titled(columns, **titles):
    """Return columns under other titles, in the same order."""
    return {titles.get(title, title): cells for title, cells in columns.items()}


class Case(NamedTuple):
    """Columns, what is said of them, and what comes of it."""

    name: str
    edges: dict = EDGES
    nodes: dict = nodes()
    options: dict = {}
    refused: str | None = None
    ignored: tuple = ()
    labels: list = CODES
    classes: tuple | None = ("p", "q")
    parts: object = PARTS
    features: list | None = None
    weights: list | None = None
    formats: tuple = ("csv", "convert", "pandas")


def masked(*parts, **changes):
    return nodes(split=None, **{f"{part}_mask": MASKS[f"{part}_mask"] for part in parts}, **changes)


INTS, WITH_NAN = [0, 1, 0, 1, 0], [0, 1, 0, 1, float("nan")]
FILES = ("csv", "convert")
CASES = [
    Case("plain"),
    # titles of ends
    *[
        Case(f"ends {u} {v}", titled(EDGES, source=u, target=v))
        for u, v in [("src", "dst"), ("u", "v"), ("from", "to"), ("Source", "TARGET"), ("s", "t")]
    ],
    Case("target first", {"target": EDGES["target"], "source": EDGES["source"]}),
    Case("weight first", {"weight": [3, 1, 2, 9], **EDGES}, weights=[3, 1, 2, 9]),
    Case("Edge_Weight last", EDGES | {" Edge_Weight": [1, 0.5, 1, 1]}, weights=[1, 0.5, 1, 1]),
    Case(
        "weight and time last",
        EDGES | {"Weight": [1, 1, 1, 1], "time": [3, 4, 5, 6]},
        ignored=('ignored column "time" of .*edges',),
    ),
    Case(
        "two columns of weights",
        EDGES | {"Weight": [1, 2, 1, 1], "w": [3, 4, 5, 6]},
        ignored=('ignored columns "Weight", "w" of .*edges.*: weights are read from one column',),
    ),
    Case(
        "a weight of 0",
        EDGES | {"weight": [1, 0, 1, 1]},
        ignored=("ignored the weights in .*weight.*positive and finite, but edge 1 has 0",),
    ),
    Case(
        "a weight that is text",
        EDGES | {"weight": ["1", "2", "much", "1"]},
        ignored=("ignored the weights in .*weight",),
    ),
    Case(
        "an edge with two weights",
        {
            "source": [*EDGES["source"], "b"],
            "target": [*EDGES["target"], "a"],
            "weight": [1, 2, 1, 1, 5],
        },
        ignored=(
            "ignored the weights in .*: the edge between nodes 0 and 1 has the weights 1 and",
        ),
    ),
    Case(
        "a self-loop",
        {"source": [*EDGES["source"], "b"], "target": [*EDGES["target"], "b"]},
        ignored=("ignored 1 self-loop of .*edges",),
    ),
    Case(
        "row numbers of pandas before edges",
        {"": [0, 1, 2, 3], **EDGES},
        ignored=('ignored column "" of .*edges',),
    ),
    Case("two pairs of ends", EDGES | titled(EDGES, source="u", target="v"), refused="edges.*pair"),
    Case(
        "two pairs, one named",
        EDGES | {"u": [0, 0, 0, 0], "v": [0, 0, 0, 0]},
        options={"ends": ("source", "target")},
        ignored=('ignored columns "u", "v"',),
    ),
    Case(
        "three unknown titles",
        {"p": [1, 2, 3, 4], **titled(EDGES, source="s", target="t")},
        refused="edges",
    ),
    Case(
        "one end and a weight", {"source": EDGES["source"], "weight": [1, 2, 3, 4]}, refused="edges"
    ),
    Case(
        "three unknown titles, named",
        {"p": [1, 2, 3, 4], **titled(EDGES, source="s", target="t")},
        options={"ends": ("s", "t")},
        ignored=('ignored column "p"',),
    ),
    Case("a named end is missing", options={"ends": ("source", "to")}, refused="edges.*'to'"),
    Case("no node", EDGES | {"target": ["b", "c", "d", "z"]}, refused="edges.*'z'"),
    # titles of nodes
    *[
        Case(f"names in {title}", nodes=titled(nodes(), id=title))
        for title in ("node", "Name", "node_id")
    ],
    *[
        Case(f"classes in {title}", nodes=titled(nodes(), label=title))
        for title in ("y", "Class", "LABEL ")
    ],
    Case("features first", nodes={"x": X, **nodes()}),
    Case(
        "row numbers before nodes",
        nodes={"": range(5), **nodes()},
        ignored=('ignored column "" of .*nodes',),
    ),
    Case("names under row numbers' title", nodes={"": NAMES, **nodes(id=None)}, formats=FILES),
    Case("label and y", nodes=nodes(y=INTS), refused="'label', 'y'"),
    Case("label and y, named", nodes=nodes(y=INTS), options={"label": "label"}, features=[X, INTS]),
    Case(
        "label and y, ignored",
        nodes=nodes(y=INTS),
        options={"ignore": ["y"]},
        ignored=('ignored column "y"',),
    ),
    Case("id and node", nodes=nodes(node=range(5)), refused="'id', 'node'"),
    Case("id and node, named", nodes=nodes(node=X), options={"id": "id"}, features=[X, X]),
    Case("no label", nodes=titled(nodes(), label="kind"), refused="nodes.*'label'"),
    Case("no label, named", nodes=titled(nodes(), label="kind"), options={"label": "kind"}),
    Case("a named column is missing", options={"label": "kind"}, refused="nodes.*'kind'"),
    Case("no names", nodes=titled(nodes(), id="who"), refused="nodes.*'who'", formats=FILES),
    Case("no names, named", nodes=titled(nodes(), id="who"), options={"id": "who"}),
    Case("a name twice", nodes=nodes(id=["a", "b", "c", "d", "d"]), refused="distinct"),
    Case(
        "an empty name", nodes=nodes(id=["a", "b", "c", "d", ""]), refused="line 6", formats=FILES
    ),
    # features
    Case(
        "NaN",
        nodes=nodes(x=[1, 2, "nan", 4, 5]),
        refused='nodes.csv.*"x".*line 4.*nan',
        formats=FILES,
    ),
    Case("empty", nodes=nodes(x=[1, 2, 3, "", 5]), refused='nodes.csv.*"x".*line 5', formats=FILES),
    Case("NaN, pandas", nodes=nodes(x=WITH_NAN), refused="'x'.*row 4 is nan", formats=("pandas",)),
    Case(
        "complex",
        nodes=nodes(z=[1j] * 5),
        ignored=('ignored column "z"',),
        formats=("pandas",),
    ),
    Case(
        "durations",
        nodes=nodes(z=np.arange(5).astype("m8[s]")),
        ignored=('ignored column "z"',),
        formats=("pandas",),
    ),
    Case("inf", nodes=nodes(x=[1, 2, 3, 4, float("inf")]), refused="finite"),
    Case(
        "a word",
        nodes=nodes(x=[1, 2, "two", 4, 5]),
        refused='nodes.csv.*"x".*line 4.*two',
        formats=FILES,
    ),
    Case(
        "digits with underscores", nodes=nodes(x=[1, 2, "3_0", 4, 5]), refused="3_0", formats=FILES
    ),
    Case("truth", nodes=nodes(t=[True, False, True, True, False]), features=[X, [1, 0, 1, 1, 0]]),
    Case(
        "words, in pandas",
        nodes=nodes(city=NAMES),
        formats=("pandas",),
        ignored=('ignored column "city" of nodes',),
    ),
    Case("words, in files", nodes=nodes(city=NAMES), formats=FILES, refused='"city".*line 2'),
    # splits
    *[
        Case(f"parts {words}", nodes=nodes(split=[words[0]] * 3 + list(words[1:])))
        for words in [
            ("train", "valid", "test"),
            ("Train", "Val", "Test"),
            (" train", "validation ", "test"),
            ("TRAINING", "dev", "testing"),
        ]
    ],
    *[
        Case(
            f"unknown part {word}",
            nodes=nodes(split=["train"] * 3 + [word, "test"]),
            refused="split.*train, val",
        )
        for word in ("holdout", 0, 1, 2, "none")
    ],
    Case("numbers as parts", nodes=nodes(split=[0, 0, 0, 1, 2]), refused="split.*(row 0|line 2)"),
    Case("empty part", nodes=nodes(split=["train"] * 3 + ["", "test"]), parts=[[0, 1, 2], [], [4]]),
    Case(
        "nothing for training",
        nodes=nodes(split=["", "", "", "val", "test"]),
        refused="split.*train",
    ),
    Case("no split", nodes=nodes(split=None), parts=DRAWN),
    Case("masks", nodes=masked("train", "val", "test")),
    Case(
        "masks in words",
        nodes=nodes(split=None, **{k: [bool(v) for v in m] for k, m in MASKS.items()}),
    ),
    Case(
        "two masks",
        nodes=masked("train", "test"),
        parts=[[0, 1, 2], [], [4]],
        ignored=("no .*val_mask",),
    ),
    *[
        Case(
            f"masks called {titles[0]}",
            nodes=nodes(split=None, **dict(zip(titles, MASKS.values(), strict=True))),
        )
        for titles in (
            ("train", "val", "test"),
            ("is_train", "is_val", "is_test"),
            ("Train", "Validation", "TEST"),
        )
    ],
    Case("a feature called test", nodes=titled(nodes(), x="test")),
    Case("masks and train", nodes=masked("train", "val", "test", train=INTS), refused="train_mask"),
    Case("train of numbers", nodes=nodes(split=None, train=X), refused="train.*1.5"),
    Case("no training mask", nodes=masked("val", "test"), refused="train_mask"),
    Case(
        "masks that overlap",
        nodes=masked("train", "val") | {"test_mask": [1, 0, 0, 0, 0]},
        refused="node 0",
    ),
    Case(
        "a mask of twos",
        nodes=masked("train", "val") | {"test_mask": [0, 0, 0, 0, 2]},
        refused="test_mask.*2",
    ),
    Case("masks and split", nodes=nodes(**MASKS), refused="split.*train_mask"),
    Case(
        "masks and split, named",
        nodes=nodes(**MASKS),
        options={"split": "split"},
        ignored=('"train_mask"',),
    ),
    Case("fold, named", nodes=titled(nodes(), split="fold"), options={"split": "fold"}),
    # labels
    Case("integers", nodes=nodes(label=INTS), classes=("0", "1"), formats=FILES),
    Case("integers in pandas", nodes=nodes(label=INTS), classes=None, formats=("pandas",)),
    Case(
        "NaN as class",
        nodes=nodes(split=None, label=WITH_NAN),
        labels=[0, 1, 0, 1, -1],
        classes="any",
        parts=DRAWN,
    ),
    Case(
        "-1 as class",
        nodes=nodes(split=None, label=[0, 1, 2, 1, -1]),
        labels=[0, 1, 2, 1, -1],
        classes="any",
        parts=DRAWN,
    ),
    Case("-1 and 1", nodes=nodes(label=[-1, 1, -1, 1, -1]), refused="-1 and 1"),
    Case(
        "-1 and 1, two classes",
        nodes=nodes(label=[-1, 1, -1, 1, -1]),
        options={"minus_one": "class"},
        classes=("-1", "1"),
    ),
    Case(
        "-1 and 1, unknown",
        nodes=nodes(split=None, label=[-1, 1, -1, 1, 1]),
        options={"minus_one": "unknown"},
        labels="unknown where -1",
        classes="any",
        parts=DRAWN,
    ),
    Case(
        "an unknown class in a part",
        nodes=nodes(label=["p", "q", "p", "q", ""]),
        refused="test must have nodes with known",
    ),
    Case(
        "empty class",
        nodes=nodes(split=None, label=["p", "q", "p", "q", ""]),
        labels=[0, 1, 0, 1, -1],
        parts=DRAWN,
    ),
    Case(
        "words with digits and underscores",
        nodes=nodes(label=["1_0", "10", "1_0", "10", "1_0"]),
        labels=[1, 0, 1, 0, 1],
        classes=("10", "1_0"),
    ),
    Case("halves", nodes=nodes(label=[0, 1, 0, 1, 0.5]), refused="label.*0.5"),
    Case("an infinite class", nodes=nodes(label=[0, 1, 0, 1, float("inf")]), refused="label.*inf"),
    Case(
        "words that may be unknown",
        nodes=nodes(label=["NA", "q", "NA", "q", "NA"]),
        classes=("NA", "q"),
        ignored=('"NA" is a class',),
    ),
    Case(
        "None as a word",
        nodes=nodes(label=["None", "q", "None", "q", "None"]),
        classes=("None", "q"),
        ignored=('"None" is a class',),
    ),
]


def check(case, data):
    """Assert that a data set is that of a case."""
    A = data.graph.to_scipy().toarray() > 0
    assert np.array_equal(A, np.eye(5, k=1) + np.eye(5, k=-1) > 0)
    assert isinstance(data.graph, WeightedGraph) == (case.weights is not None)
    if case.weights is not None:
        weighted = sp.csr_array((data.graph.weights, data.graph.indices, data.graph.indptr))
        assert weighted.diagonal(1).tolist() == weighted.diagonal(-1).tolist() == case.weights
    wanted = [X] if case.features is None else case.features
    np.testing.assert_array_equal(data.features, np.array(wanted, float).T)
    if case.labels == "unknown where -1":
        assert (data.labels >= 0).tolist() == [label != -1 for label in case.nodes["label"]]
    else:
        assert data.labels.tolist() == case.labels
    if case.classes != "any":
        assert data.class_names == case.classes
    parts = [part.tolist() for part in (data.train, data.val, data.test)]
    if case.parts == DRAWN:
        assert sorted(sum(parts, [])) == np.flatnonzero(data.labels >= 0).tolist()
    else:
        assert parts == case.parts


def as_text(columns, separator=","):
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    return "".join(separator.join(map(str, row)) + "\n" for row in rows)


def from_files(case, folder, gnn, read):
    (folder / "edges.csv").write_text(as_text(case.edges))
    (folder / "nodes.csv").write_text(as_text(case.nodes))
    said = dict(case.options)
    columns = {name: said.pop(name) for name in ("id", "split", "ignore") if name in said}
    columns |= dict(zip(("source", "target"), said.pop("ends", ()), strict=False))
    more = {"labels": said.pop("label", None), "columns": columns or None, **said}
    return read(gnn, folder / "edges.csv", features=folder / "nodes.csv", **more)


def converted(gnn, source, **options):
    convert(source, source.parent / "made", **options)
    return gnn.load_dataset(source.parent / "made")


def from_pandas(case, folder, gnn):
    pandas = pytest.importorskip("pandas")
    return gnn.Dataset.from_pandas(
        pandas.DataFrame(case.edges), pandas.DataFrame(case.nodes), **case.options
    )


READERS = {
    "csv": lambda case, folder, gnn: from_files(
        case, folder, gnn, lambda gnn, *a, **k: gnn.load_dataset(*a, **k)
    ),
    "convert": lambda case, folder, gnn: from_files(case, folder, gnn, converted),
    "pandas": from_pandas,
}


def outcome(case, read):
    """Assert that a case is refused, or read rightly with each column named that is ignored."""
    if case.refused is not None:
        with pytest.raises((ValueError, TypeError), match=case.refused):
            read()
        return
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        data = read()
    text = [str(warning.message) for warning in said]
    assert len(text) == len(case.ignored), text
    for pattern in case.ignored:
        assert any(re.search(pattern, line) for line in text), text
    check(case, data)


@pytest.mark.parametrize(
    ("form", "case"),
    [(form, case) for case in CASES for form in case.formats],
    ids=lambda value: getattr(value, "name", value),
)
def test_columns(tmp_path, gnn, form, case):
    outcome(case, lambda: READERS[form](case, tmp_path, gnn))


# ---- files, character by character ---------------------------------------------------------------

N, E = as_text(nodes()), as_text(EDGES)
UNTITLED = "".join(E.splitlines(keepends=True)[1:])
FILES_AS_TEXT = [  # name, edges, nodes, options, what a refusal says or None
    ("tabs", ("e.tsv", E.replace(",", "\t")), ("n.tsv", N.replace(",", "\t")), {}, None),
    ("tabs in .csv", ("e.csv", E.replace(",", "\t")), ("n.csv", N.replace(",", "\t")), {}, None),
    ("semicolons", ("e.csv", E.replace(",", ";")), ("n.csv", N.replace(",", ";")), {}, None),
    ("compressed", ("e.csv.gz", E), ("n.csv.gz", N), {}, None),
    ("byte-order marks", ("e.csv", "\ufeff" + E), ("n.csv", "\ufeff" + N), {}, None),
    ("empty last lines", ("e.csv", E + "\n\n"), ("n.csv", N + "\n \n"), {}, None),
    (
        "carriage returns",
        ("e.csv", E.replace("\n", "\r\n")),
        ("n.csv", N.replace("\n", "\r\n")),
        {},
        None,
    ),
    ("spaces", ("e.csv", E.replace(",", ", ")), ("n.csv", N.replace(",", " , ")), {}, None),
    ("quotes", ("e.csv", E.replace("a,", '"a",')), ("n.csv", N.replace("p,", '"p",')), {}, None),
    ("unknown titles", ("e.csv", E.replace("source,target", "s,t")), ("n.csv", N), {}, None),
    ("no titles", ("e.csv", UNTITLED), ("n.csv", N), {}, r"e\.csv.*'a,b'.*titles='no'"),
    ("no titles, said", ("e.csv", UNTITLED), ("n.csv", N), {"titles": "no"}, None),
    (
        "no titles, three columns",
        ("e.csv", UNTITLED.replace("\n", ",1\n")),
        ("n.csv", N),
        {"titles": "no", "columns": {"source": "1", "target": "2"}},
        None,
    ),
    (
        "titles that are nodes",
        ("e.csv", E.replace("a,b", "source,b")),
        ("n.csv", N.replace("a,p", "source,p")),
        {},
        r"e\.csv.*'source,target'.*'source' is a node as well.*titles='no'",
    ),
    (
        "titles that are nodes, said",
        ("e.csv", E.replace("a,b", "source,b")),
        ("n.csv", N.replace("a,p", "source,p")),
        {"titles": "yes"},
        None,
    ),
    (
        "titles that are nodes, but an edge",
        ("e.csv", E.replace("a,b\n", "").replace("b,c", "target,c")),
        ("n.csv", N.replace("a,p", "source,p").replace("b,q", "target,q")),
        {"titles": "no"},
        None,
    ),
    (
        "titles alone",
        ("e.csv", "source,target\n"),
        ("n.csv", N),
        {},
        r"e\.csv must have at least one edge",
    ),
    ("an empty file", ("e.csv", ""), ("n.csv", N), {}, r"e\.csv.*empty"),
    (
        "an empty line",
        ("e.csv", E.replace("b,c\n", "\nb,c\n")),
        ("n.csv", N),
        {},
        r"e\.csv.*line 3",
    ),
    ("a short line", ("e.csv", E.replace("b,c", "b")), ("n.csv", N), {}, r"e\.csv.*line 3"),
    ("one column", ("e.csv", "source\na\n"), ("n.csv", N), {}, r"e\.csv must have two columns"),
    ("spaces between", ("e.csv", E.replace(",", " ")), ("n.csv", N), {}, r"e\.csv.*spaces"),
    ("a title twice", ("e.csv", E), ("n.csv", N.replace("split", "x")), {}, r"n\.csv.*'x'"),
    ("no node", ("e.csv", E.replace("d,e", "d,z")), ("n.csv", N), {}, r"e\.csv.*'z'.*line 5"),
    ("latin letters", ("e.csv", E), ("n.csv", b"\xff\xfe" + N.encode()), {}, r"n\.csv"),
]


@pytest.mark.parametrize("read", ["csv", "convert"])
@pytest.mark.parametrize(
    ("name", "edges", "nodes", "options", "refused"),
    FILES_AS_TEXT,
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_files(tmp_path, gnn, read, name, edges, nodes, options, refused):
    for file, text in (edges, nodes):
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / file).write_bytes(gzip.compress(data) if file.endswith(".gz") else data)
    reader = converted if read == "convert" else lambda gnn, *a, **k: gnn.load_dataset(*a, **k)
    ignored = ('ignored column "3"',) if "three" in name else ()
    outcome(
        Case(name, options=options, refused=refused, ignored=ignored),
        lambda: reader(gnn, tmp_path / edges[0], features=tmp_path / nodes[0], **options),
    )


def test_twelve_classes_keep_their_order(tmp_path):
    """0, 1, 2, .. and not 0, 1, 10, 11, 2, .."""
    classes = list(range(12)) * 2
    ring = {"source": range(24), "target": [*range(1, 24), 0]}
    (tmp_path / "e.csv").write_text(as_text(ring))
    (tmp_path / "n.csv").write_text(as_text({"id": range(24), "label": classes, "x": range(24)}))
    found = fastimpl.load_dataset(tmp_path / "e.csv", features=tmp_path / "n.csv")
    assert found.labels.tolist() == classes and found.class_names[2:4] == ("2", "3")
    G = nx.cycle_graph(24)
    for v in G:
        G.nodes[v].update(features=[float(v)], label=np.int64(classes[v]))
    assert fastimpl.Dataset.from_networkx(G).labels.tolist() == classes
    pandas = pytest.importorskip("pandas")
    for column in (
        [float(c) for c in classes[:-1]] + [np.nan],
        pandas.array([*classes[:-1], None], dtype="Int64"),
        pandas.Categorical([*classes[:-1], None]),
    ):
        table = pandas.DataFrame({"x": range(24), "label": column})
        found = fastimpl.Dataset.from_pandas(pandas.DataFrame(ring), table)
        assert found.labels.tolist() == [*classes[:-1], -1]


# ---- graphs and arrays ---------------------------------------------------------------------------

FEATURES = np.array([X]).T
PATH = nx.path_graph(5)


def of_pyg(edge_index, **parts):
    kind = type("Data", (SimpleNamespace,), {"__module__": "torch_geometric.data.data"})
    parts = {"x": FEATURES, "y": np.array(CODES)} | parts
    return kind(edge_index=edge_index, num_nodes=5, **parts)


def of_networkx(graph, **attributes):
    for v in graph:
        own = {name: values[v] for name, values in attributes.items()}
        graph.nodes[v].update({"features": [X[v]], "label": "pq"[v % 2], "split": SPLIT[v]} | own)
    return graph


BOTH = np.array([(u, v) for a, b in PATH.edges for u, v in ((a, b), (b, a))]).T
ONE_WAY = np.array(PATH.edges).T
MATRIX = nx.to_scipy_sparse_array(PATH, dtype=float)
BOOLS = {name: np.array(mask, bool) for name, mask in MASKS.items()}
IDS = {"train": [0, 1, 2], "val": [3], "test": [4]}


def arrays(gnn, graph=PATH.edges, labels=CODES, features=FEATURES, **options):
    graph = graph if not isinstance(graph, type(PATH.edges)) else list(graph)
    return gnn.Dataset.from_arrays(graph, features, np.array(labels), **(IDS | options))


def twice(gnn):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"label": CODES, "x": X}, index=["a", "b", "c", "d", "a"])
    return gnn.Dataset.from_pandas(pandas.DataFrame(EDGES), table)


PYTHON = [  # name, what makes it, what a refusal says or None, what warnings say
    ("list of edges", lambda gnn: arrays(gnn), None, ()),
    ("symmetric matrix", lambda gnn: arrays(gnn, MATRIX), None, ()),
    (
        "matrix of one direction",
        lambda gnn: arrays(gnn, nx.to_scipy_sparse_array(nx.DiGraph(list(PATH.edges)))),
        None,
        ("directed",),
    ),
    ("weighted matrix", lambda gnn: arrays(gnn, 2 * MATRIX), None, ()),
    (
        "a Graph of one direction",
        lambda gnn: arrays(gnn, gnn.as_graph(list(PATH.edges))),
        None,
        ("directed",),
    ),
    (
        "a Graph with a self-loop",
        lambda gnn: arrays(gnn, gnn.as_graph([*PATH.edges, (2, 2)], symmetrize=True)),
        None,
        ("ignored 1 self-loop of the graph",),
    ),
    ("NetworkX", lambda gnn: gnn.Dataset.from_networkx(of_networkx(nx.Graph(PATH))), None, ()),
    (
        "NetworkX, directed",
        lambda gnn: gnn.Dataset.from_networkx(of_networkx(nx.DiGraph(list(PATH.edges)))),
        None,
        ("directed",),
    ),
    (
        "NetworkX, valid",
        lambda gnn: gnn.Dataset.from_networkx(
            of_networkx(nx.Graph(PATH), split=["Train", "train ", "train", "valid", "TEST"])
        ),
        None,
        (),
    ),
    (
        "NetworkX, masks",
        lambda gnn: gnn.Dataset.from_networkx(
            of_networkx(nx.Graph(PATH), split=[None] * 5, **MASKS)
        ),
        "both split|train",
        (),
    ),
    (
        "NetworkX, 0 1 2",
        lambda gnn: gnn.Dataset.from_networkx(of_networkx(nx.Graph(PATH), split=[0, 0, 0, 1, 2])),
        "node 0 is 0",
        (),
    ),
    (
        "NetworkX, age",
        lambda gnn: gnn.Dataset.from_networkx(of_networkx(nx.Graph(PATH), age=X)),
        None,
        ('"age"',),
    ),
    (
        "NetworkX, two labels",
        lambda gnn: gnn.Dataset.from_networkx(of_networkx(nx.Graph(PATH), y=CODES)),
        "'label', 'y'",
        (),
    ),
    ("PyG", lambda gnn: gnn.Dataset.from_pyg(of_pyg(BOTH, **BOOLS)), None, ()),
    (
        "PyG, one direction",
        lambda gnn: gnn.Dataset.from_pyg(of_pyg(ONE_WAY, **BOOLS)),
        None,
        ("directed",),
    ),
    (
        "PyG, weights",
        lambda gnn: gnn.Dataset.from_pyg(
            of_pyg(BOTH, edge_weight=np.arange(2.0, 10.0) // 2, **BOOLS)
        ),
        None,
        (),
    ),
    (
        "PyG, no weights of an undirected graph",
        lambda gnn: gnn.Dataset.from_pyg(of_pyg(BOTH, edge_weight=np.arange(1.0, 9.0), **BOOLS)),
        None,
        ("ignored the weights in 'edge_weight' of source: the edge between nodes 0 and 1",),
    ),
    (
        "PyG, attributes of edges",
        lambda gnn: gnn.Dataset.from_pyg(of_pyg(BOTH, edge_attr=np.ones((8, 3)) * 2, **BOOLS)),
        None,
        ("ignored the weights in 'edge_attr' of source: they must have shape",),
    ),
    (
        "PyG, an attribute an edge",
        lambda gnn: gnn.Dataset.from_pyg(
            of_pyg(BOTH, edge_attr=np.arange(2.0, 10.0)[:, None] // 2, **BOOLS)
        ),
        None,
        (),
    ),
    ("PyG, no features", lambda gnn: gnn.Dataset.from_pyg(of_pyg(BOTH, x=None)), "must have x", ()),
    ("PyG, no classes", lambda gnn: gnn.Dataset.from_pyg(of_pyg(BOTH, y=None)), "must have y", ()),
    (
        "PyG, val and test masks",
        lambda gnn: gnn.Dataset.from_pyg(
            of_pyg(BOTH, **{k: v for k, v in BOOLS.items() if k != "train_mask"})
        ),
        "train_mask",
        (),
    ),
    (
        "PyG, ten splits",
        lambda gnn: gnn.Dataset.from_pyg(of_pyg(BOTH, train_mask=np.ones((5, 10), bool))),
        r"train must be 1-D.*train\[:, 0\]",
        (),
    ),
    ("an id too large", lambda gnn: arrays(gnn, train=[0, 5]), "train .*got 5", ()),
    (
        "an empty mask",
        lambda gnn: arrays(gnn, train=np.zeros(5, bool)),
        "train must have at least one node",
        (),
    ),
    (
        "a mask of integers",
        lambda gnn: arrays(gnn, train=np.array([1, 1, 1, 0, 0], "u1")),
        r"train.*astype\(bool\)",
        (),
    ),
    ("NaN", lambda gnn: arrays(gnn, features=np.array([WITH_NAN]).T), "features.*row 4", ()),
    (
        "complex weights",
        lambda gnn: arrays(gnn, MATRIX * 1j),
        None,
        ("ignored the weights in 'data' of source: they must be real",),
    ),
    (
        "NetworkX, ragged",
        lambda gnn: gnn.Dataset.from_networkx(
            of_networkx(nx.Graph(PATH), features=[[1]] * 3 + [[1, 2]] * 2)
        ),
        "'features'.*node 0 has.*node 3",
        (),
    ),
    ("names twice", lambda gnn: twice(gnn), "distinct, but 'a' is there twice", ()),
    ("edges of floats", lambda gnn: arrays(gnn, np.array(PATH.edges, float)), r"astype\(int\)", ()),
    (
        "an infinite label",
        lambda gnn: arrays(gnn, labels=[0, 1, 0, 1, np.inf]),
        "labels.*entry 4 is inf",
        (),
    ),
    ("labels -1 and 1", lambda gnn: arrays(gnn, labels=[-1, 1, -1, 1, -1]), "minus_one", ()),
    (
        "labels -1 and 1, said",
        lambda gnn: arrays(gnn, labels=[-1, 1, -1, 1, -1], minus_one="class"),
        None,
        (),
    ),
    (
        "a target that is too large",
        lambda gnn: gnn.as_graph([(0, 1), (0, 5)], n=3),
        "edge 1 has the target 5",
        (),
    ),
]


@pytest.mark.parametrize(
    ("name", "make", "refused", "said"), PYTHON, ids=lambda v: v if isinstance(v, str) else ""
)
def test_graphs_and_arrays(gnn, name, make, refused, said):
    steps = [1, 2, 3, 4]
    known = {"weighted matrix": [2] * 4, "PyG, weights": steps, "PyG, an attribute an edge": steps}
    weights = known.get(name)
    case = Case(name, refused=refused, ignored=said, classes="any", weights=weights)
    outcome(case, lambda: make(gnn))


@pytest.mark.parametrize("all_three", (True, False))
def test_masks_of_networkx_are_the_split(gnn, all_three):
    """Other masks than the drawn parts: each part is the nodes of its mask."""
    masks = {"train_mask": [0, 1, 0, 1, 0], "val_mask": [0, 0, 0, 0, 1]}
    if all_three:
        masks["test_mask"] = [1, 0, 0, 0, 0]
    graph = of_networkx(nx.Graph(PATH), **masks)
    for v in graph:
        del graph.nodes[v]["split"]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        data = gnn.Dataset.from_networkx(graph)
    parts = [part.tolist() for part in (data.train, data.val, data.test)]
    assert parts == [[1, 3], [4], [0] if all_three else []]
    assert len(said) == (0 if all_three else 1)
    assert data.features.shape == (5, 1)  # no mask is a feature


def test_tables_in_the_old_order_are_told_apart():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match=r"from_pandas\(edges, nodes\)"):
        refimpl.Dataset.from_pandas(pandas.DataFrame(nodes()), pandas.DataFrame(EDGES))


# ---- folders and files of others -----------------------------------------------------------------


def write_graphsaint(folder, classes, weights=MATRIX):
    folder.mkdir()
    sp.save_npz(folder / "adj_full.npz", sp.csr_array(weights))
    inside = sp.lil_array(weights)
    inside[3:] = inside[:, 3:] = 0
    sp.save_npz(folder / "adj_train.npz", sp.csr_array(inside))
    np.save(folder / "feats.npy", FEATURES)
    (folder / "role.json").write_text(json.dumps({"tr": [0, 1, 2], "va": [3], "te": []}))
    table = {str(v): known for v, known in enumerate(classes)}
    (folder / "class_map.json").write_text(json.dumps(table))
    return folder


def both_ways(gnn, source):
    """Return the data set that a source is, and that of its conversion."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = gnn.load_dataset(source), converted(gnn, source)
    return found, [str(warning.message) for warning in said]


def test_null_is_an_unknown_class(tmp_path, gnn):
    found, said = both_ways(gnn, write_graphsaint(tmp_path / "one", [0, 1, 0, 1, None]))
    assert not said and all(data.labels.tolist() == [0, 1, 0, 1, -1] for data in found)


def test_null_is_an_unknown_row(tmp_path, gnn):
    rows = [[0, 1], [1, 1], [0, 0], [1, 0], None]
    found, _ = both_ways(gnn, write_graphsaint(tmp_path / "many", rows))
    for data in found:
        assert data.labels.tolist() == [*rows[:4], [0, 0]]
        assert data.known.tolist() == [True, True, True, True, False]


def test_null_is_refused_in_a_part(tmp_path, gnn):
    folder = write_graphsaint(tmp_path / "val", [0, 1, 0, None, 1])
    with pytest.raises(ValueError, match="val must have nodes with known labels, but not 3"):
        gnn.load_dataset(folder)


def test_other_roles_of_graphsaint_are_named(tmp_path, gnn):
    folder = write_graphsaint(tmp_path / "roles", CODES)
    (folder / "role.json").write_text('{"tr": [0, 1, 2], "va": [], "te": [], "valid": [3]}')
    _, said = both_ways(gnn, folder)
    assert len(said) == 2 and all("ignored 'valid' of" in line for line in said)


def test_weights_of_graphsaint_are_named(tmp_path, gnn):
    _, said = both_ways(gnn, write_graphsaint(tmp_path / "w", CODES, 2 * MATRIX))
    assert len(said) == 4 and all("ignored weights" in line for line in said)
    assert sum("adj_train.npz" in line for line in said) == 2


def test_names_and_weights_of_shchur_et_al(tmp_path, gnn):
    matrices = {"adj": sp.csr_array(3 * MATRIX), "attr": sp.csr_array(FEATURES)}
    arrays = {
        f"{name}_{part}": np.asarray(getattr(matrix, part))
        for name, matrix in matrices.items()
        for part in ("data", "indices", "indptr", "shape")
    }
    names = {"class_names": ["cat", "dog"], "node_names": NAMES}
    np.savez(tmp_path / "pets.npz", labels=np.array(CODES), **arrays, **names)
    found, said = both_ways(gnn, tmp_path / "pets.npz")
    assert said and all('ignored weights "adj_data" of' in line for line in said)
    for data in found:
        assert data.class_names == ("cat", "dog") and data.node_names.tolist() == NAMES


def test_minus_one_is_unknown_in_files_of_shchur_et_al(tmp_path, gnn):
    arrays = {"labels": np.array([-1, 1, 1, 1, 1])}
    for name, matrix in (("adj", sp.csr_array(MATRIX)), ("attr", sp.csr_array(FEATURES))):
        for part in ("data", "indices", "indptr", "shape"):
            arrays[f"{name}_{part}"] = np.asarray(getattr(matrix, part))
    np.savez(tmp_path / "tiny.npz", **arrays)
    data = gnn.load_dataset(tmp_path / "tiny.npz")
    assert data.labels.tolist() == [-1, 1, 1, 1, 1]
    assert 0 not in np.concatenate([data.train, data.val, data.test])


@pytest.mark.parametrize(
    ("name", "said"), [("a.gml", "networkx.read_gml"), ("a.adjlist", "networkx.read_adjlist")]
)
def test_other_formats_are_read_in_python(tmp_path, gnn, name, said):
    (tmp_path / name).write_text("1 2")
    with pytest.raises(ValueError, match=said):
        gnn.load_dataset(tmp_path / name)
