"""Data that would be read as something else without a word: it is understood, refused or named."""

import json
import warnings
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from ogb_folders import NODES, WIDTH, ogb_parts, spoil, write_ogb_binary, write_ogb_text, write_text
from test_cli import one_error
from test_data_cases import BOTH, FEATURES, MATRIX, arrays, of_networkx, of_pyg, write_graphsaint
from test_sources import of_dgl
from trained_models import trained

import refimpl
from refimpl.graph import WeightedGraph
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.preparing import facts_of
from refimpl.lab.data.convert import convert
from refimpl.lab.data.label_encoding import encoded
from refimpl.typed import TypedGraph

CODES = np.array([0, 1, 0, 1, 0])
MASK = [False, False, False, False, True]
PATH = [(0, 1), (1, 2), (2, 3), (3, 4)]
EDGES = "source,target\n5,4\n4,3\n3,2\n2,1\n"  # nodes are called 5, 4, 3, 2, 1
ROWS = [("5", "p", 1, 9), ("4", "q", 2, 7), ("3", "p", 3, 8), ("2", "q", 4, 6), ("1", "p", 5, 5)]


def tables(folder, titles="id,label,age,height", rows=ROWS, edges=EDGES):
    """Write a pair of tables; return what load_dataset takes."""
    folder.mkdir(exist_ok=True)
    lines = [titles, *(",".join(map(str, row)) for row in rows)]
    (folder / "nodes.csv").write_text("\n".join(lines) + "\n")
    (folder / "edges.csv").write_text(edges)
    return {"source": folder / "edges.csv", "features": folder / "nodes.csv"}


def said_by(make):
    """Return what `make` returns, and the warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        made = make()
    return made, [str(warning.message) for warning in found]


# ---- what a model was trained on, and what it is used on ----------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The file of a model of the tables."""
    folder = tmp_path_factory.mktemp("model")
    data = refimpl.load_dataset(**tables(folder))
    refimpl.save_model(folder / "m.npz", trained(refimpl, data, method="full"))
    return folder / "m.npz"


def predict(model, given, *options):
    data = ["--data", given["source"]]
    data += ["--features", given["features"]] if "features" in given else []
    return main([*map(str, ["predict", model, "--impl", "refimpl", *data, *options])])


def test_nodes_with_names_are_asked_for_by_name(model, tmp_path, capfd):
    """They are called 1 to 5, so that numbers from 0 would be other nodes."""
    given, asked = tables(tmp_path / "t"), tmp_path / "asked"
    asked.write_bytes(b"\xef\xbb\xbf4\r\n 1\n\n")
    assert predict(model, given, "--nodes", asked, "--out", tmp_path / "o.csv") == 0
    lines = (tmp_path / "o.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["node", "4", "1"]
    capfd.readouterr()
    asked.write_text("4\n0\n")
    assert predict(model, given, "--nodes", asked) == 2
    assert "asked, line 2: must be the name of a node" in one_error(capfd)


def test_classes_of_other_names_are_refused(model, tmp_path, capfd):
    rows = [(name, {"p": "q", "q": "r"}[label], *xs) for name, label, *xs in ROWS]
    assert predict(model, tables(tmp_path / "t", rows=rows)) == 2
    assert "class 0 is 'p' in the model and 'q' in" in one_error(capfd)


OTHER_ORDER = "id,label,height,age"


def test_columns_in_another_order_are_refused(model, tmp_path, capfd):
    given = tables(tmp_path / "t", OTHER_ORDER)
    convert(folder=tmp_path / "made", **given)
    for source in (given, {"source": tmp_path / "made"}):
        assert predict(model, source) == 2
        assert "feature 0 is 'age' in the model and 'height' in" in one_error(capfd)
    convert(folder=tmp_path / "right", **tables(tmp_path / "t"))
    assert predict(model, {"source": tmp_path / "right"}) == 0


def test_columns_of_pandas_in_another_order_are_refused(gnn, model, tmp_path):
    pandas = pytest.importorskip("pandas")
    edges, nodes = (pandas.read_csv(path) for path in tables(tmp_path).values())
    data = gnn.Dataset.from_pandas(edges, nodes)
    assert data.feature_names == ("age", "height")
    kept, X = gnn.load_model(model), nodes[["age", "height"]]
    found = gnn.predict(kept, data.graph, X)
    np.testing.assert_array_equal(found, gnn.predict(kept, data.graph, data.features))
    with pytest.raises(ValueError, match=r"features must have the columns \['age', 'height'\]"):
        gnn.predict(kept, data.graph, X[["height", "age"]])


def test_titles_of_features_are_checked_in_files(model, tmp_path):
    with np.load(model) as file:
        held = dict(file)
    for titles in (["age"], ["age", 3], "ab"):
        meta = json.loads(held["meta"].item()) | {"feature_names": titles}
        np.savez(tmp_path / "m.npz", **(held | {"meta": np.array(json.dumps(meta))}))
        with pytest.raises((ValueError, TypeError), match="m.npz.*feature_names"):
            refimpl.load_model(tmp_path / "m.npz")
    convert(folder=tmp_path / "made", **tables(tmp_path / "t"))
    path = tmp_path / "made" / "meta.json"
    meta = json.loads(path.read_text())
    assert meta["feature_names"] == ["age", "height"]
    for titles in (["age"], ["age", 3], None):
        path.write_text(json.dumps(meta | {"feature_names": titles}))
        with pytest.raises(ValueError, match=r"meta\.json.*feature_names"):
            refimpl.load_dataset(tmp_path / "made")


def test_classes_of_another_kind_are_not_scored(gnn):
    pytest.importorskip("sklearn", minversion="1.6")
    y = np.array([0, 1, 0, 1, 0])
    made = gnn.NodeClassifier(model="mlp", method="full", epochs=1, hidden=4)
    made.fit(FEATURES, y, progress=False)
    assert made.score(FEATURES, y) == made.score(FEATURES, y.astype(bool))
    with pytest.raises(ValueError, match="y must have classes as in fit, of dtype int64, got <U"):
        made.score(FEATURES, y.astype(str))


@pytest.mark.parametrize("change", ["features", "weights", "types"])
def test_other_features_weights_or_types_are_other_data(gnn, tmp_path, change):
    """A run that is resumed goes on with the data that it began with."""
    if change == "types":
        data = gnn.load_dataset("typed")
        types = np.roll(data.graph.edge_types, 1)
        graph = TypedGraph(data.graph, types, data.graph.relations, data.graph.node_types)
        other = replace(data, graph=graph)
    else:
        weighted = "source,target,weight\n5,4,2\n4,3,2\n3,2,1\n2,1,3\n"
        data = gnn.load_dataset(**tables(tmp_path / "t", edges=weighted))
        rows = [ROWS[0], ("4", "q", 2, 7.5), *ROWS[2:]] if change == "features" else ROWS
        weighted = weighted if change == "features" else weighted.replace("5,4,2", "5,4,1")
        other = gnn.load_dataset(**tables(tmp_path / "o", rows=rows, edges=weighted))
    facts, others = facts_of(data), facts_of(other)
    assert facts == facts_of(data)
    assert [name for name in facts if facts[name] != others[name]] == ["digest"]


def test_samples_without_values_are_named(gnn):
    pytest.importorskip("sklearn", minversion="1.6")
    made = gnn.NodeClassifier(model="mlp", method="full", epochs=1, hidden=4)
    y = ["p", "q", None, "q", "p"]
    for given in (y, np.array(y, object)):
        with pytest.raises(ValueError, match="y must have a class for each sample, but sample 2"):
            made.fit(FEATURES, given)
    for name, given in (("y", {"y": CODES}), ("X", {"X": FEATURES[:, 0]})):
        masked = np.ma.masked_array(given[name], MASK)
        masked = masked[:, None] if name == "X" else masked
        with pytest.raises(ValueError, match=f"{name} must have no masked entries"):
            made.fit(**({"X": FEATURES, "y": CODES} | {name: masked}))


# ---- arrays and graphs --------------------------------------------------------------------------


def test_only_a_list_of_edges_may_lack_nodes(gnn):
    assert arrays(gnn, PATH[:3]).graph.n == arrays(gnn, np.array(PATH[:3])).graph.n == 5
    few = gnn.as_graph(PATH[:3], symmetrize=True)
    typed = TypedGraph(few, np.arange(few.e) % 2, 2)
    for source in (few, typed, few.to_scipy(), (few.indptr, few.indices), nx.path_graph(4)):
        with pytest.raises(ValueError, match="features must have a row for each of 4 nodes, got 5"):
            arrays(gnn, source)


def test_parts_that_are_none_are_empty(gnn):
    assert arrays(gnn, val=None).val.size == 0
    y = np.array([0, 1, 0, 1, 0])
    parts = gnn.Dataset.from_arrays(PATH, FEATURES, y, train=None, val=None, test=None)
    assert parts.train.size == 3


def test_large_integers_are_not_rounded(gnn, tmp_path):
    """float32 has the same number for all of these times."""
    times = 1_700_000_000 + np.arange(5)[:, None]
    data = arrays(gnn, features=times)
    assert data.dtype == np.float32 and data.features.tolist() == times.tolist()
    assert len(np.unique(data.inputs())) == 5
    assert arrays(gnn, features=-times).features.tolist() == (-times).tolist()
    for small in (np.arange(5)[:, None], np.array([[2**24], [-(2**24)], [0], [1], [2]])):
        assert arrays(gnn, features=small).features.dtype == np.float32
    folder = write_graphsaint(tmp_path / "g", [0, 1, 0, 1, 0])
    np.save(folder / "feats.npy", times)
    convert(folder, tmp_path / "made")
    for source in (folder, tmp_path / "made"):
        assert gnn.load_dataset(source).features.tolist() == times.tolist()


@pytest.mark.parametrize("name", ["features", "labels", "train"])
def test_masked_entries_are_refused(gnn, name):
    given = {"features": FEATURES[:, 0], "labels": np.array([0, 1, 0, 1, 0]), "train": np.arange(5)}
    if name == "train":
        given["train"] = np.ma.masked_array([True, True, False, False, True], MASK)
    else:
        given[name] = np.ma.masked_array(given[name], MASK)
    given["features"] = given["features"][:, None]
    with pytest.raises(ValueError, match=f"{name} must have no masked entries"):
        gnn.Dataset.from_arrays(PATH, val=[], test=[], **given)
    with pytest.raises(ValueError, match="source must have no masked entries"):
        gnn.as_graph(np.ma.masked_array(PATH, np.array(PATH) == 4))
    assert arrays(gnn, features=np.ma.masked_array(FEATURES, False)).features.tolist()


@pytest.mark.parametrize("kind", [sp.coo_array, sp.csr_array])
def test_entries_at_one_place_are_added(gnn, kind):
    """As in SciPy; a path of weights 1, each given as two halves but for the last."""
    A = sp.coo_array(MATRIX)
    row, col = (np.concatenate([end, end[end < 9]]) for end in A.coords)
    halves = np.where(np.minimum(row, col) == 3, 0.25, 0.5)
    twice = sp.coo_array((halves, (row, col)), A.shape)
    if kind is sp.csr_array:
        order = np.lexsort((col, row))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row))])
        twice = sp.csr_array((halves[order], col[order], indptr), A.shape)
    assert twice.nnz == 16
    graph = arrays(gnn, twice).graph
    assert isinstance(graph, WeightedGraph)
    weights = sp.csr_array((graph.weights, graph.indices, graph.indptr)).toarray()
    np.testing.assert_array_equal(weights, twice.toarray())
    assert not isinstance(arrays(gnn, twice.astype(bool)).graph, WeightedGraph)


def test_what_is_no_graph_or_table_is_named(gnn):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"source": [0], "target": [1]})
    for read, said in (
        (lambda: gnn.Dataset.from_networkx(5), "graph must be a graph of NetworkX, got int"),
        (lambda: gnn.Dataset.from_pyg(5), "data must be a Data of PyG, got int"),
        (lambda: gnn.Dataset.from_dgl(5), "graph must be a graph of DGL, got int"),
        (lambda: gnn.Dataset.from_pandas(5, table), "edges must be a table of pandas, got int"),
        (lambda: gnn.Dataset.from_pandas(table, 5), "nodes must be a table of pandas, got int"),
    ):
        with pytest.raises(TypeError, match=said):
            read()


def test_what_graphs_of_others_hold_besides_is_named(gnn):
    graph = of_networkx(nx.path_graph(5))
    graph.add_edge(0, 1, weight=1, kind="friend")
    _, said = said_by(lambda: gnn.Dataset.from_networkx(graph))
    assert said == ["ignored 'kind' of graph.edges"]
    _, said = said_by(lambda: gnn.Dataset.from_pyg(of_pyg(BOTH, edge_type=np.arange(8), pos=None)))
    assert said == ["ignored 'edge_type' of data"]
    kept = {"feat": FEATURES, "label": np.arange(5) % 2, "year": np.arange(5), "_ID": np.arange(5)}
    graph = of_dgl(*BOTH, 5, kept)
    graph.edata["etype"] = np.arange(8)
    _, said = said_by(lambda: gnn.Dataset.from_dgl(graph))
    assert said == ["ignored 'year' of graph.ndata", "ignored 'etype' of graph.edata"]


# ---- tables -------------------------------------------------------------------------------------


def test_numbers_with_zeros_in_front_keep_their_text():
    codes, names = encoded(np.array(["010", "7", "", "010", "9.0"], object))
    assert codes.tolist() == [2, 0, -1, 2, 1] and names == ("7", "9", "010")
    assert encoded(np.array(["1", "1.0", "2"]))[1] == ("1", "2")
    with pytest.raises(ValueError, match="one text for each class, but entry 2 is '07' and .* '7'"):
        encoded(np.array(["7", "8", "07"]))


def test_quotes_after_a_space_are_quotes(gnn, tmp_path):
    rows = [(name, f' "{label}, {label}"', *xs) for name, label, *xs in ROWS]
    data = gnn.load_dataset(**tables(tmp_path, rows=rows))
    assert data.class_names == ("p, p", "q, q")


def test_a_quote_that_is_not_closed_hides_no_nodes(gnn, tmp_path):
    """Nodes 1 and 6 would be part of the class of node 2."""
    rows = [(name, *xs, label) for name, label, *xs in ROWS]
    edges = "source,target\n5,4\n4,3\n3,2\n"
    rows[3] = ("2", 4, 6, '"q')
    with pytest.raises(ValueError, match=r"nodes\.csv .*line 5 has a quote that is not closed"):
        gnn.load_dataset(**tables(tmp_path, "id,age,height,label", rows, edges))
    rows[3] = ("2", 4, 6, '"q\n6"')
    data = gnn.load_dataset(**tables(tmp_path, "id,age,height,label", rows, edges))
    assert data.class_names == ("p", "q", "q\n6") and data.graph.n == 5


def test_a_name_that_may_be_a_comment_is_refused(gnn, tmp_path):
    given = tables(tmp_path, rows=[("#5", *ROWS[0][1:]), *ROWS[1:]])
    path = given["source"].with_suffix(".edgelist")
    for text in ("#5 4\n4 3\n", "4 3\n4 #5\n"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"line [12] may have a comment or the node '#5'"):
            gnn.load_dataset(path, features=given["features"])
    path.write_text("# 5 4\n4 3 #6\n")
    assert gnn.load_dataset(path, features=given["features"]).graph.e == 2


def test_paths_that_are_none_are_named(gnn, tmp_path):
    given = tables(tmp_path)
    with pytest.raises(TypeError, match="features must be a str or a Path, got int"):
        gnn.load_dataset(given["source"], features=5)
    for name, paths in (("edges", (5, given["features"])), ("nodes", (given["source"], 5))):
        with pytest.raises(TypeError, match=f"{name} must be a str or a Path, got int"):
            gnn.Dataset.from_csv(*paths)
    given["features"].write_bytes(given["features"].read_text().encode("utf-16"))
    with pytest.raises(ValueError, match="cannot be read as separated values in UTF-8"):
        gnn.load_dataset(**given)


def test_one_title_to_ignore_is_no_sequence_of_letters(gnn, tmp_path):
    given = tables(tmp_path, "id,label,a,ab")
    pandas = pytest.importorskip("pandas")
    frames = [pandas.read_csv(path) for path in given.values()]
    for read in (
        lambda: gnn.Dataset.from_csv(*given.values(), ignore="ab"),
        lambda: gnn.Dataset.from_pandas(*frames, ignore="ab"),
    ):
        data, said = said_by(read)
        assert data.feature_names == ("a",) and len(said) == 1 and '"ab"' in said[0]
    with pytest.raises(TypeError, match="ignore must be a sequence of titles, got int"):
        gnn.load_dataset(**given, columns={"ignore": 3})


def test_a_node_of_pandas_without_a_name_is_refused(gnn, tmp_path):
    """An edge that lacks an end would lead there."""
    pandas = pytest.importorskip("pandas")
    edges, nodes = (pandas.read_csv(path, dtype={"id": str}) for path in tables(tmp_path).values())
    for frame, column in ((edges, "source"), (nodes, "id")):
        frame[column] = frame[column].astype(object)
        frame.loc[1, column] = None
    with pytest.raises(ValueError, match="nodes: each must have a name, but row 1 has none"):
        gnn.Dataset.from_pandas(edges, nodes)


# ---- files of others ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("class_map.json", '{"0": 0, "1": 1, "2": 0, "3": 1, "4": 0, "1": 0}'),
        ("role.json", '{"tr": [0, 1], "va": [], "te": [], "tr": [2]}'),
    ],
)
def test_keys_that_are_there_twice_are_refused(gnn, tmp_path, file, text):
    folder = write_graphsaint(tmp_path / "g", [0, 1, 0, 1, 0])
    (folder / file).write_text(text)
    for read in (gnn.load_dataset, lambda source: convert(source, tmp_path / "made")):
        with pytest.raises(ValueError, match=f"{file} .*it has the key '(1|tr)' twice"):
            read(folder)


def test_more_rows_than_nodes_are_refused(gnn, tmp_path):
    folder = write_ogb_binary(tmp_path / "papers")
    spoil("data.npz", node_feat=np.ones((NODES + 2, WIDTH)))(folder)
    spoil("node-label.npz", node_label=np.zeros((NODES + 2, 1)))(folder)
    for read in (gnn.load_dataset, lambda source: convert(source, tmp_path / "made")):
        with pytest.raises(ValueError, match=f"for each of {NODES} nodes, got {NODES + 2}"):
            said_by(lambda read=read: read(folder))


@pytest.mark.parametrize("form", ["text", "binary"])
def test_what_folders_of_ogb_hold_besides_is_named(gnn, tmp_path, form):
    if form == "text":
        folder = write_ogb_text(tmp_path / "arxiv")
        write_text(folder / "raw" / "edge-feat.csv.gz", [[1]] * ogb_parts()[0].shape[1], str)
        others = "'edge-feat'"
    else:
        folder, others = write_ogb_binary(tmp_path / "papers"), "'edge-feat.npz', 'node_year'"
        np.savez(folder / "raw" / "edge-feat.npz", edge_feat=np.ones(3))
    for read in (gnn.load_dataset, lambda source: convert(source, tmp_path / "made")):
        _, said = said_by(lambda read=read: read(folder))
        assert f"ignored {others} of {folder / 'raw'}" in said


# ---- the command line ---------------------------------------------------------------------------


def test_sample_does_not_ask_for_an_option_that_it_lacks(tmp_path, capfd):
    given = tables(tmp_path / "t")
    assert main(["sample", "--data", str(given["source"])]) == 2
    line = one_error(capfd)
    assert "edges.csv is a file of edges" in line and "minibatch-gnn convert" in line
    assert "--features" not in line


def test_sizes_say_how_they_are_written(tmp_path, capfd):
    assert main(["convert", "karate", str(tmp_path / "k"), "--memory", "1M"]) == 2
    assert "--memory: invalid value: '1M', not SIZE, such as 1000000, 256MB" in one_error(capfd)


def test_columns_that_are_given_twice_are_refused(tmp_path, capfd):
    """The first would be lost."""
    data = [
        str(path)
        for pair in zip(["--data", "--features"], tables(tmp_path).values(), strict=True)
        for path in pair
    ]
    for command in (["train", *data], ["convert", data[1], "made", *data[2:]]):
        assert main([*command, "--columns", "id=id", "--columns=split=age"]) == 2
        assert "--columns: give it once, with commas" in one_error(capfd)


@pytest.mark.parametrize("out", ["", "no/such.json"])
def test_compare_looks_at_its_file_before_it_trains(tmp_path, capfd, monkeypatch, out):
    monkeypatch.setattr("refimpl.lab.apps.compare.load_data", None)
    assert main(["compare", "--out", str(tmp_path / out)]) == 2
    assert "--out must be" in one_error(capfd)


def test_nothing_is_not_the_current_folder(gnn, tmp_path, capfd, monkeypatch):
    """As of a variable of the shell that is not set."""
    convert("karate", tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    assert gnn.load_dataset(".").name == "karate"
    for read in (gnn.load_dataset, lambda source: convert(source, tmp_path / "made")):
        with pytest.raises(ValueError, match="source must name a file or folder, got ''"):
            read("")
    for command in (["train", "--data", ""], ["sample", "--data", ""], ["convert", "", "made"]):
        assert main(command) == 2
        line = one_error(capfd)
        assert ("--data" in line or "source" in line) and "''" in line


def test_errors_name_the_option_that_was_given(model, tmp_path, capfd):
    assert main(["sample", "--data", "power-law:-10:3"]) == 2
    assert "error: --data power-law:-10:3: " in one_error(capfd)
    assert predict(model, {"source": "karate"}) == 2
    assert "error: karate: features must have 2 columns" in one_error(capfd)
    assert main(["convert", "karate", str(tmp_path / "k"), "--memory", "1.5"]) == 2
    assert "--memory: invalid value: '1.5'" in one_error(capfd)


def test_numbers_with_underscores_are_no_numbers(tmp_path, capfd):
    """Python reads 1_0 as 10."""
    options = {"--fanouts": "1_0,5", "--eval-every": "1_0", "--t-stale": "1_0", "--rounds": "1_0"}
    for option, value in options.items():
        assert main(["train", option, value, "--out", str(tmp_path)]) == 2
        assert f"argument {option}: invalid value: '{value}'" in one_error(capfd)
