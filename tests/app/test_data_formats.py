"""Every format of data sets: recognised by its own samples only, and converted to what it loads."""

import importlib
import re
import warnings

import numpy as np
import pytest
from docs_ext import DOCS
from fuzz.formats import make, name_of, source_of

from refimpl.graph import WeightedGraph
from refimpl.lab.data.convert import convert
from refimpl.lab.data.formats import FORMATS, format_of
from refimpl.lab.data.geom_gcn import EDGES
from refimpl.lab.data.geom_gcn import NODES as GEOM_NODES
from refimpl.lab.data.sources import FromElsewhere

IDS = [name_of(form) for form in FORMATS]


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """Return the samples of each format: folders by variant."""
    root = tmp_path_factory.mktemp("samples")
    make(root, IDS)
    return {name: sorted((root / name).iterdir()) for name in IDS}


@pytest.mark.parametrize("form", FORMATS, ids=IDS)
def test_a_format_recognises_its_own_samples_only(samples, form):
    own = [source_of(form, folder)[0] for folder in samples[name_of(form)]]
    assert own and all(format_of(source) is form for source in own)
    for other in FORMATS:
        if other is not form:
            sources = [source_of(other, folder)[0] for folder in samples[name_of(other)]]
            assert not any(form.recognises(source) for source in sources), name_of(other)


@pytest.mark.parametrize("form", FORMATS, ids=IDS)
def test_a_sample_is_converted_to_what_is_loaded(samples, gnn, form, tmp_path):
    for folder in samples[name_of(form)]:
        source, more = source_of(form, folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = gnn.load_dataset(source, **more)
            convert(source, tmp_path / folder.name, **more)
        made = gnn.load_dataset(tmp_path / folder.name, verify=True)
        assert loaded.graph.n > 8 and len(loaded.train)
        for name in ("features", "labels", "train", "val", "test", "node_names"):
            one, two = getattr(loaded, name), getattr(made, name)
            assert (one is None) == (two is None), name
            if one is not None:
                np.testing.assert_array_equal(np.asarray(one).astype(two.dtype), two, name)
        assert loaded.class_names == made.class_names and loaded.setting == made.setting
        for one, two in ((loaded.graph, made.graph), (loaded.train_graph, made.train_graph)):
            assert np.array_equal(one.indptr, two.indptr)
            assert np.array_equal(one.indices, two.indices)
            np.testing.assert_array_equal(weights_of(one), weights_of(two))


def test_the_page_has_a_row_for_every_format_and_constructor():
    """The directive makes the rows of FORMATS; those of constructors are written in it."""
    pytest.importorskip("sphinx")
    make = importlib.import_module("api_reference").data_formats
    page = (DOCS / "data.md").read_text()
    rows = page.partition("```{data-formats}\n")[2].partition("```")[0].splitlines()
    made = {f"`{name}`" for name in vars(FromElsewhere) if name.startswith("from_")}
    assert {row.split("|")[1].strip() for row in rows} == made
    table = make("\n".join(rows))
    for form in FORMATS:
        assert all(form.contents) and f"| {form.name} | {form.sign} |" in table
    with pytest.raises(ValueError, match="7 cells: '| a |'"):
        make("| a |")


# ---- files as people have them -------------------------------------------------------------------

NODES = "id,label,x\n1,p,1.5\n2,q,2\n3,p,3\n4,q,4\n"  # of the path 1-2-3-4
MTX = "%%MatrixMarket matrix coordinate real symmetric\n% by hand\n4 4 3\n2 1 2\n3 2 0.5\n4 3 1\n"
ONE_WAY = MTX.replace("symmetric", "general")
LIST = "# by hand\n1 2 {'weight': 2}\n2 3 {'weight': 0.5}\n4 3 {}\n"
CONTENT = "1\t1.5\tp\n2\t2\tq\n3\t3\tp\n4\t4\tq\n"
CITES = "1\t2\n3\t2\n3\t4\n"
GEOM = "node_id\tfeature\tlabel\n3\t4\t1\n0\t1.5\t0\n2\t3\t0\n1\t2\t1\n"
GEOM_EDGES = "node_id\tnode_id\n1\t0\n1\t2\n3\t2\n"
WEIGHTED, PLAIN = [2, 0.5, 1], None
TEXT = {  # by format: the files, the source among them, and the weights that they have
    "mtx": ({"e.mtx": MTX, "n.csv": NODES}, "e.mtx", WEIGHTED),
    "edgelist": ({"e.edgelist": LIST, "n.csv": NODES}, "e.edgelist", WEIGHTED),
    "linqs": ({"c.content": CONTENT, "c.cites": CITES}, "", PLAIN),
    "geom": ({GEOM_NODES: GEOM, EDGES: GEOM_EDGES}, "", PLAIN),
}
E, L = "e.mtx", "e.edgelist"
# format, file, what is there, what is there instead; what a refusal says; or what a warning says
REFUSED = [
    ("mtx", E, "symmetric", "hermitian", "e.mtx.*line 1.*'hermitian'"),
    ("mtx", E, "real", "complex", "e.mtx.*line 1.*'complex'"),
    ("mtx", E, "coordinate", "array", "e.mtx.*line 1.*array"),
    ("mtx", E, MTX, "", "e.mtx.*line 1"),
    ("mtx", E, "4 4 3", "4 4", "e.mtx.*line 3.*three numbers"),
    ("mtx", E, "4 4 3", "4 5 3", "e.mtx.*line 3 must have 4 rows and 4 columns"),
    ("mtx", E, "4 4 3", "4 4 2", "e.mtx.*2 entries, as it says, got 3"),
    ("mtx", E, "4 3 1", "5 3 1", r"e.mtx.*line 6.*\[1, 4\], got '5'"),
    ("mtx", E, "4 3 1", "4 0 1", r"e.mtx.*line 6.*\[1, 4\], got '0'"),
    ("mtx", E, "4 3 1", "4 3", "e.mtx.*line 6.*real"),
    ("mtx", E, "4 3 1", "4 3 1_0", "e.mtx.*line 6.*'1_0'"),
    ("mtx", E, "4 3 1", "4 3 nan", "e.mtx.*line 6.*'nan'"),
    ("mtx", E, "4 3 1", "٤ 3 1", "e.mtx.*line 6.*'٤'"),
    ("mtx", "n.csv", "4,q", "0,q", "e.mtx.*rows are numbered from 1 to 4.*n.csv.*no '4'"),
    ("mtx", "n.csv", "4,q,4\n", "", "e.mtx.*line 3 must have 3 rows"),
    ("mtx", "n.csv", "4,q,4", "4,q,x", "n.csv.*line 5 has 'x'"),
    ("edgelist", L, "4 3 {}", "4 5 {}", "e.edgelist.*line 4.*'5' is none: .*n.csv"),
    ("edgelist", L, "4 3 {}", "4", "e.edgelist.*line 4.*two names.*'4'"),
    ("edgelist", L, "4 3 {}", "4 3#1 {}", "e.edgelist.*line 4.*'3#1'"),
    ("edgelist", L, "4 3 {}", "4 3 7", "e.edgelist.*line 4.*'4 3 7'"),
    ("edgelist", L, "4 3 {}", "4 3 {'weight': print()}", "e.edgelist.*line 4.*print"),
    ("edgelist", L, "4 3 {}", "4 3 {'time': 3}", "e.edgelist.*line 4.*time"),
    ("edgelist", L, LIST, "# nothing\n", "e.edgelist.*at least one edge"),
    ("linqs", "c.content", "4\t4\tq", "3\t4\tq", "c.content: line 4.*another name, got '3'"),
    ("linqs", "c.content", "4\t4\tq", "4\tx\tq", "c.content: line 4.*'x'"),
    ("linqs", "c.content", "4\t4\tq", "4\t4\t1\tq", "c.content.*line 4 must have 3 values"),
    ("linqs", "c.content", "4\t4\tq", "4\t4\t", "c.content: line 4 must have a class"),
    ("linqs", "c.cites", "\n3\t4", "\n3\t4\t1", "c.cites.*line 3 must have 2 values"),
    ("linqs", "c.cites", CITES, "7\t8\n", "c.cites must have an edge between nodes of .*c.content"),
    ("geom", GEOM_NODES, "node_id", "id", f"{GEOM_NODES}.*line 1.*node_id, feature, label"),
    ("geom", GEOM_NODES, "3\t4\t1", "4\t4\t1", f"{GEOM_NODES} must have the nodes .*no 3"),
    ("geom", GEOM_NODES, "3\t4\t1", "2\t4\t1", f"{GEOM_NODES}: line 4 has the node 2 again"),
    ("geom", GEOM_NODES, "3\t4\t1", "3\t4\t-1", f"{GEOM_NODES}: line 2: label.*'-1'"),
    ("geom", GEOM_NODES, "2\t3\t0", "2\t3,5\t0", f"{GEOM_NODES}: line 4 must have as many"),
    ("geom", EDGES, "3\t2", "4\t2", f"{EDGES}: line 4: node_id.*got '4'"),
    ("geom", EDGES, "node_id\tnode_id\n", "", f"{EDGES}: line 1 must be the titles"),
]
READ = [
    ("mtx", E, MTX, MTX, ()),
    ("mtx", E, MTX, ONE_WAY, ("graph in .*e.mtx is directed",)),
    ("mtx", E, MTX, ONE_WAY.replace("4 4 3", "4 4 6") + "1 2 2\n2 3 0.5\n3 4 1\n", ()),
    ("mtx", E, "4 4 3", "4 4 4\n2 2 9", ("ignored 1 self-loop of .*e.mtx",)),
    ("mtx", "n.csv", NODES, NODES.replace(",", "\t"), ()),
    ("edgelist", L, LIST, LIST, ()),
    ("edgelist", L, "2}", "2.0 } # heavy", ()),
    ("linqs", "c.cites", CITES, CITES, ()),
    (
        "linqs",
        "c.cites",
        CITES,
        CITES + "4\t9\n",
        ("ignored 1 edge of .*'9' of line 4",),
    ),
    ("linqs", "c.cites", CITES, CITES + "4\t4\n", ("ignored 1 self-loop of .*c.cites",)),
    ("geom", EDGES, GEOM_EDGES, GEOM_EDGES, ()),
    ("geom", EDGES, "3\t2", "3\t2\n2\t3\n0\t0", ("ignored 1 self-loop of",)),
]


def load_text(gnn, folder, form, file, old, new):
    """Load the files of a format, one of them with other text."""
    files, source, weights = TEXT[form]
    assert old in files[file]
    for name, text in (files | {file: files[file].replace(old, new, 1)}).items():
        (folder / name).write_text(text)
    more = {"features": folder / "n.csv"} if source else {}
    return gnn.load_dataset(folder / source, **more), weights


@pytest.mark.parametrize(
    ("form", "file", "old", "new", "said"), REFUSED, ids=lambda v: repr(v)[:20]
)
def test_what_is_malformed_is_refused(gnn, tmp_path, form, file, old, new, said):
    with pytest.raises(ValueError, match=said):
        load_text(gnn, tmp_path, form, file, old, new)


@pytest.mark.parametrize(("form", "file", "old", "new", "said"), READ, ids=lambda v: repr(v)[:20])
def test_what_is_well_formed_is_read(gnn, tmp_path, form, file, old, new, said):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        data, weights = load_text(gnn, tmp_path, form, file, old, new)
    assert len(found) == len(said)
    for warning, pattern in zip(found, said, strict=True):
        assert re.search(pattern, str(warning.message))
    matrix = data.graph.to_scipy().toarray() > 0
    assert np.array_equal(matrix, np.eye(4, k=1) + np.eye(4, k=-1) > 0)
    assert data.features.tolist() == [[1.5], [2], [3], [4]]
    assert data.labels.tolist() == [0, 1, 0, 1]
    names = [] if data.node_names is None else data.node_names.tolist()
    if form == "geom":
        assert names == [] and data.class_names is None
    else:
        assert names == ["1", "2", "3", "4"] and data.class_names == ("p", "q")
    held = weights_of(data.graph)
    assert (held is None) == (weights is None)
    if held is not None:
        assert held.tolist() == np.repeat(weights, 2).tolist()  # 12 21 23 32 34 43, by rows


def test_a_split_of_geom_gcn_is_named_where_there_are_several(gnn, tmp_path):
    masks = np.eye(3, 4, dtype=bool)
    for number in "01":
        parts = dict(zip(("train_mask", "val_mask", "test_mask"), masks, strict=True))
        np.savez(tmp_path / f"g_split_0.6_0.2_{number}.npz", **parts, more=masks)
        masks = masks[::-1]
    for name, text in TEXT["geom"][0].items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=r"several splits.*_0\.2_0, g_split_0\.6_0\.2_1"):
        gnn.load_dataset(tmp_path)
    with pytest.raises(ValueError, match="must have the split 'x'"):
        gnn.load_dataset(tmp_path, split="x")
    with pytest.warns(UserWarning, match=r"ignored more of .*_1\.npz"):
        data = gnn.load_dataset(tmp_path, split="g_split_0.6_0.2_1")
    assert [part.tolist() for part in (data.train, data.val, data.test)] == [[2], [1], [0]]
    np.savez(tmp_path / "g_split_0.6_0.2_1.npz", train_mask=masks[0], val_mask=masks[1])
    with pytest.raises(ValueError, match=r"_1\.npz.*test_mask must be 0 and 1.* of 4 nodes"):
        gnn.load_dataset(tmp_path, split="g_split_0.6_0.2_1")


def test_a_split_of_geom_gcn_is_in_one_place(gnn, tmp_path):
    (tmp_path / "splits").mkdir()
    for name, text in TEXT["geom"][0].items():
        (tmp_path / name).write_text(text)
    for place in (tmp_path, tmp_path / "splits"):
        np.savez(place / "g_split_0.npz", train_mask=np.ones(4, bool))
    with pytest.raises(ValueError, match="must have each split once"):
        gnn.load_dataset(tmp_path)


def test_files_of_edges_need_nodes_and_have_no_titles(gnn, tmp_path):
    for name, text in (TEXT["mtx"][0] | TEXT["edgelist"][0]).items():
        (tmp_path / name).write_text(text)
    for name in (E, L):
        with pytest.raises(ValueError, match=f"{name}.*needs a table of nodes: give features"):
            gnn.load_dataset(tmp_path / name)
        for said in ({"titles": "no"}, {"columns": {"source": "a", "target": "b"}}):
            with pytest.raises(ValueError, match=f"must be left out: .*{name} has no titles"):
                gnn.load_dataset(tmp_path / name, features=tmp_path / "n.csv", **said)


def weights_of(graph):
    return graph.weights if isinstance(graph, WeightedGraph) else None
