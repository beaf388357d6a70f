"""GraphSAINT folders, Planetoid's raw files, and bad ones of each."""

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from refimpl.lab.data.convert import convert
from refimpl.lab.data.graphsaint import load_graphsaint
from refimpl.lab.data.loading import load_dataset
from refimpl.lab.data.planetoid import load_planetoid
from refimpl.lab.data.preparation import standardise

pytestmark = pytest.mark.filterwarnings("ignore:ignored .* self-loop")
DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def real(name):
    folder = DATA / name
    if not folder.is_dir():
        pytest.skip(f"no data folder {name}")
    return folder


def matrix(n, edges):
    row, col = np.array([*edges, *((v, u) for u, v in edges)]).T
    return sp.csr_matrix((np.ones(len(row), np.float32), (row, col)), shape=(n, n))


# ---- GraphSAINT folders ------------------------------------------------------------------------

EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 4), (2, 2)]
TRAIN = [4, 1, 2]  # in no order, as in the published files
FEATS = np.array([[1, 5], [2, 5], [3, 5], [70, 6], [8, 5], [9, 9]], np.float32)
CLASSES = {str(v): v % 3 for v in range(6)}


def write_graphsaint(folder, **changes):
    """Write six nodes: training 1, 2, 4, validation 0, test 3; node 5 is isolated, in no role."""
    parts = {
        "adj_full": matrix(6, EDGES),
        "adj_train": matrix(6, [(1, 2), (1, 4), (2, 2)]),
        "feats": FEATS,
        "class_map": CLASSES,
        "role": {"tr": TRAIN, "va": [0], "te": [3]},
        **changes,
    }
    folder.mkdir(exist_ok=True)
    for name in ("adj_full", "adj_train"):
        sp.save_npz(folder / f"{name}.npz", parts[name])
    np.save(folder / "feats.npy", parts["feats"])
    for name in ("class_map", "role"):
        (folder / f"{name}.json").write_text(json.dumps(parts[name]))
    return folder


def test_graphsaint_folder(tmp_path):
    data = load_dataset(write_graphsaint(tmp_path / "tiny"), dtype="float64")
    assert data.name == "tiny" and not data.multilabel
    assert np.array_equal(data.graph.to_scipy().toarray(), matrix(6, EDGES[:-1]).toarray())
    assert [part.tolist() for part in (data.train, data.val, data.test)] == [[1, 2, 4], [0], [3]]
    expected = matrix(3, [(0, 1), (0, 2)]).toarray()  # nodes 1, 2, 4; the self-loop is dropped
    assert np.array_equal(data.train_graph.to_scipy().toarray(), expected)
    assert data.labels.tolist() == [0, 1, 2, 0, 1, 2]
    column = [2, 3, 8]
    expected = (FEATS[:, 0].astype(float) - np.mean(column)) / np.std(column)
    np.testing.assert_allclose(data.inputs(), np.stack([expected, [0, 0, 0, 1, 0, 4]], 1))
    assert load_dataset(str(tmp_path / "tiny")).inputs().dtype == np.float32


def test_graphsaint_multilabel(tmp_path):
    lists = {str(v): [v % 2, 1, 0] for v in range(6)}
    data = load_dataset(write_graphsaint(tmp_path, class_map=lists))
    assert data.multilabel
    assert np.array_equal(data.labels, [[v % 2, 1, 0] for v in range(6)])


def test_graphsaint_training_part_ignores_all_other_nodes(tmp_path):
    clean = load_dataset(write_graphsaint(tmp_path / "clean"))
    poison = FEATS.copy()
    poison[[0, 3, 5]] = -1e6
    edges = [(1, 2), (1, 4), (0, 3), (3, 5)]
    folder = write_graphsaint(tmp_path / "poisoned", feats=poison, adj_full=matrix(6, edges))
    poisoned = load_dataset(folder)
    assert np.array_equal(clean.inputs(clean.train), poisoned.inputs(poisoned.train))
    assert np.array_equal(clean.train_graph.indices, poisoned.train_graph.indices)
    assert np.abs(poisoned.inputs(poisoned.val)).max() > 1e4  # the poison was there


FILES = ("adj_full.npz", "adj_train.npz", "feats.npy", "class_map.json", "role.json")


@pytest.mark.parametrize("name", FILES)
def test_graphsaint_missing_file(tmp_path, name):
    (write_graphsaint(tmp_path) / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        load_graphsaint(tmp_path)


@pytest.mark.parametrize("keep", [0, 0.5, 0.97])
@pytest.mark.parametrize("name", FILES)
def test_graphsaint_truncated_file(tmp_path, name, keep):
    path = write_graphsaint(tmp_path) / name
    path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    with pytest.raises(ValueError, match=f"{name} cannot be read as"):
        load_dataset(tmp_path)


def out_of_range():
    """A matrix whose column ids point beyond it: SciPy saves and loads it without a word."""
    bad = matrix(6, EDGES)
    bad.indices[0] = 77
    return bad


def falling_offsets():
    bad = matrix(6, EDGES)
    bad.indptr[2] = 0
    return bad


def with_label(value, node="3"):
    return {**CLASSES, node: value}


LISTS = {str(v): [0, 1] for v in range(6)}
ONE_WAY = sp.csr_matrix((np.ones(1), ([1], [2])), shape=(6, 6))
BAD_GRAPHSAINT = {
    "one way": ("adj_full.npz", {"adj_full": ONE_WAY}, r"symmetric.* \(1, 2\) and \(2, 1\)"),
    "one way, training": ("adj_train.npz", {"adj_train": ONE_WAY}, "must be symmetric"),
    "not square": ("adj_full.npz", {"adj_full": sp.csr_matrix((6, 5))}, "square"),
    "ids beyond": ("adj_full.npz", {"adj_full": out_of_range()}, "cannot be read"),
    "offsets fall": ("adj_full.npz", {"adj_full": falling_offsets()}, "cannot be read"),
    "other size": ("adj_train.npz", {"adj_train": sp.csr_matrix((5, 5))}, "6 nodes .* got 5"),
    "outside tr": ("adj_train.npz", {"adj_train": matrix(6, EDGES)}, "node [03], which is not in"),
    "1-D": ("feats.npy", {"feats": np.zeros(6)}, r"shape \(6, any\), got \(6,\)"),
    "few rows": ("feats.npy", {"feats": np.zeros((5, 2))}, r"shape \(6, any\), got \(5, 2\)"),
    "complex": ("feats.npy", {"feats": FEATS.astype(complex)}, "real numbers, got dtype complex"),
    "strings": ("feats.npy", {"feats": FEATS.astype(str)}, "real numbers, got dtype <U"),
    "objects": ("feats.npy", {"feats": FEATS.astype(object)}, "cannot be read"),
    "NaN": ("feats.npy", {"feats": np.where(FEATS == 70, np.nan, FEATS)}, "finite.* row 3"),
    "infinite": ("feats.npy", {"feats": np.where(FEATS == 9, np.inf, FEATS)}, "finite.* row 5"),
    "labels: a list": ("class_map.json", {"class_map": [1, 2]}, "JSON object, got a list"),
    "labels: no node": ("class_map.json", {"class_map": {"0": 1}}, "no entry for node 1"),
    "labels: extra": ("class_map.json", {"class_map": with_label(0, "6")}, "'6', which is no node"),
    "negative": ("class_map.json", {"class_map": with_label(-1)}, "node 3 must be .* got -1"),
    "beyond": ("class_map.json", {"class_map": with_label(6)}, r"integer in \[0, 6\).* got 6"),
    "real": ("class_map.json", {"class_map": with_label(1.0)}, "node 3 .* got 1.0"),
    "bool": ("class_map.json", {"class_map": with_label(True)}, "node 3 .* got True"),
    "string": ("class_map.json", {"class_map": with_label("1")}, "node 3 .* got '1'"),
    "mixed": ("class_map.json", {"class_map": with_label([0, 1])}, r"node 3 .* got \[0, 1\]"),
    "ragged": ("class_map.json", {"class_map": LISTS | {"4": [0]}}, r"node 4 .*\(2\), got \[0\]"),
    "scalar": ("class_map.json", {"class_map": LISTS | {"4": 1}}, "node 4 .* got 1"),
    "empty": ("class_map.json", {"class_map": dict.fromkeys(LISTS, [])}, "not empty"),
    "a 2": ("class_map.json", {"class_map": LISTS | {"4": [0, 2]}}, "node 4 must hold 0 and 1"),
    "nested": (
        "class_map.json",
        {"class_map": LISTS | {"4": [[0], 1]}},
        "node 4 must hold 0 and 1",
    ),
    "roles: a list": ("role.json", {"role": [[1], [2], [3]]}, "JSON object, got a list"),
    "no te": ("role.json", {"role": {"tr": TRAIN, "va": []}}, "under 'te'"),
    "no list": ("role.json", {"role": {"tr": TRAIN, "va": 0, "te": []}}, "under 'va'"),
    "no training": (
        "role.json",
        {"role": {"tr": [], "va": [0], "te": []}},
        "at least one training",
    ),
    "id beyond": ("role.json", {"role": {"tr": [6], "va": [], "te": []}}, r"\[0, 6\), got 6"),
    "id below": ("role.json", {"role": {"tr": [1], "va": [-1], "te": []}}, r"'va' .* got -1"),
    "real id": ("role.json", {"role": {"tr": [1.0], "va": [], "te": []}}, "got 1.0"),
    "in two": ("role.json", {"role": {"tr": TRAIN, "va": [0], "te": [2]}}, "2 in 'tr' and in 'te'"),
    "twice": ("role.json", {"role": {"tr": [1, 1], "va": [], "te": []}}, "1 in 'tr' and in 'tr'"),
}


@pytest.mark.parametrize(("name", "changes", "words"), BAD_GRAPHSAINT.values(), ids=BAD_GRAPHSAINT)
def test_graphsaint_bad_file(tmp_path, name, changes, words):
    with pytest.raises(ValueError, match=f"{name}.*{words}"):
        load_dataset(write_graphsaint(tmp_path, **changes))


@pytest.mark.parametrize("name", ["class_map.json", "role.json"])
@pytest.mark.parametrize("text", [b"{'0': 1}", b"\xff\xfe\x00", b"[" * 100_000])
def test_graphsaint_not_json(tmp_path, name, text):
    (write_graphsaint(tmp_path) / name).write_bytes(text)
    with pytest.raises(ValueError, match=f"{name} cannot be read as JSON"):
        load_dataset(tmp_path)


class Payload:
    """Makes a folder when unpickled: what a malicious file would do, but harmless."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("name", ["feats.npy", "adj_full.npz"])
def test_graphsaint_never_unpickles(tmp_path, name):
    path = write_graphsaint(tmp_path) / name
    payload = np.array([Payload(tmp_path / "made")])
    if name == "feats.npy":
        np.save(path, payload)
    else:
        np.savez(path, format=payload)
    with pytest.raises(ValueError, match=f"{name} cannot be read"):
        load_dataset(tmp_path)
    assert not (tmp_path / "made").exists()


def test_computers_has_its_published_sizes():
    data = load_dataset(real("computers"))
    assert (data.name, data.graph.n, data.graph.e) == ("computers", 13_752, 491_722)
    assert (data.train_graph.n, data.train_graph.e) == (9_076, 209_744)
    assert data.features.shape == (13_752, 767) and data.classes == 10
    assert (len(data.val), len(data.test)) == (1_650, 3_026)
    isolated = [np.count_nonzero(g.degrees() == 0) for g in (data.graph, data.train_graph)]
    assert isolated == [281, 315] and not data.multilabel
    train = data.inputs(data.train).astype(np.float64)
    np.testing.assert_allclose(train.mean(axis=0), 0, atol=1e-6)


# ---- Planetoid files ---------------------------------------------------------------------------

KNOWN = 503  # three training rows, 500 validation rows
TEST = [507, 503, 505, 504]  # node 506 is in no file


def planetoid_parts():
    rng = np.random.default_rng(0)
    known, test = (sp.csr_matrix(rng.integers(0, 3, (k, 4)).astype(np.float32)) for k in (KNOWN, 4))
    ally = np.eye(3, dtype=np.int32)[rng.integers(0, 3, KNOWN)]
    lists = {v: [] for v in range(508)}
    lists.update({0: [1, 1, 500], 1: [0, 2], 2: [2], 507: [0], 503: [504]})
    ty = np.eye(3, dtype=np.int32)[[2, 0, 1, 2]]
    return {
        "x": known[:2],
        "y": ally[:2],
        "allx": known,
        "ally": ally,
        "tx": test,
        "ty": ty,
        "graph": lists,
        "test.index": TEST,
    }


def write_planetoid(folder, name="tiny", **changes):
    """Write the raw files with the module names of Python 2's NumPy and SciPy."""
    for part, value in {**planetoid_parts(), **changes}.items():
        path = folder / f"ind.{name}.{part}"
        if part == "test.index":
            path.write_text("".join(f"{line}\n" for line in value))
            continue
        data = pickle.dumps(value, protocol=3)
        for new, old in (
            (b"scipy.sparse._csr", b"scipy.sparse.csr"),
            (b"numpy._core", b"numpy.core"),
        ):
            data = data.replace(b"c" + new, b"c" + old)
        path.write_bytes(data)
    return folder


def test_planetoid_files(tmp_path):
    data = load_dataset(write_planetoid(tmp_path), dtype="float64")
    parts = planetoid_parts()
    assert data.name == "tiny" and data.graph.n == 508
    assert np.array_equal(
        data.graph.to_scipy().toarray(),
        matrix(508, [(0, 1), (0, 500), (1, 2), (0, 507), (503, 504)]).toarray() > 0,
    )
    assert data.train.tolist() == [0, 1, 2] and data.test.tolist() == sorted(TEST)
    assert np.array_equal(data.val, np.arange(3, 503))
    assert data.setting == "transductive" and data.train_graph is data.graph
    between = data.with_setting("inductive").train_graph.to_scipy().toarray()
    assert np.array_equal(between, matrix(3, [(0, 1), (1, 2)]).toarray())
    raw = np.zeros((508, 4))
    raw[:KNOWN], raw[TEST] = parts["allx"].toarray(), parts["tx"].toarray()
    np.testing.assert_array_equal(data.features, raw)
    sums = np.maximum(raw.sum(axis=1, keepdims=True), 1)
    np.testing.assert_array_equal(data.inputs(), raw / sums)
    scaled = load_dataset(tmp_path, dtype="float64", scaling="standard").inputs()
    np.testing.assert_array_equal(scaled, standardise(raw, [0, 1, 2]))
    assert np.array_equal(data.targets()[:KNOWN], parts["ally"])
    assert np.array_equal(data.targets(TEST), parts["ty"])
    assert data.labels[506] == -1  # has no class: in no part


def test_planetoid_leaves_nodes_without_a_class_out_of_the_split(tmp_path):
    parts = planetoid_parts()
    for row in (1, 100):
        parts["ally"][row] = 0
    parts["ty"][0] = 0
    data = load_dataset(write_planetoid(tmp_path, **parts))
    assert data.train.tolist() == data.roots.tolist() == [0, 2]
    assert data.test.tolist() == [503, 504, 505] and len(data.val) == 499 and 100 not in data.val


def test_planetoid_statistics_ignore_validation_and_test_rows(tmp_path):
    clean = load_dataset(write_planetoid(tmp_path), scaling="standard")
    allx = planetoid_parts()["allx"].toarray()
    allx[3:] = 1e6
    poisoned = load_dataset(
        write_planetoid(tmp_path, allx=sp.csr_matrix(allx), tx=sp.csr_matrix(allx[3:7])),
        scaling="standard",
    )
    assert np.array_equal(clean.inputs()[:3], poisoned.inputs()[:3])
    assert np.abs(poisoned.inputs()[3:]).max() > 1e4


def test_planetoid_refuses_to_run_what_a_pickle_names(tmp_path):
    payload = Payload(tmp_path / "made")
    for part in ("graph", "allx", "ally", "tx", "ty"):
        (tmp_path / part).mkdir()
        folder = write_planetoid(tmp_path / part, **{part: payload})
        with pytest.raises(ValueError, match=rf"ind\.tiny\.{part} .*\.mkdir, which is refused"):
            load_dataset(folder)
    assert not (tmp_path / "made").exists()
    pickle.loads(pickle.dumps(payload))
    assert (tmp_path / "made").is_dir()  # the payload does work where nothing stops it


@pytest.mark.parametrize("part", ["graph", "allx", "ally", "tx", "ty", "test.index"])
def test_planetoid_missing_or_truncated_file(tmp_path, part):
    path = write_planetoid(tmp_path) / f"ind.tiny.{part}"
    path.write_bytes(path.read_bytes()[: -20 if part != "test.index" else 0])
    with pytest.raises(ValueError, match=rf"ind\.tiny\.{part} "):
        load_dataset(tmp_path)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=rf"ind\.tiny\.{part}"):
        load_planetoid(tmp_path, "tiny")


def changed(part, index, value):
    array = planetoid_parts()[part]
    array[index] = value
    return {part: array}


def beyond():
    bad = planetoid_parts()["tx"]
    bad.indices[0] = 99
    return bad


BAD_PLANETOID = {
    "few rows": ("allx", {"allx": sp.csr_matrix((500, 4))}, "over 500 rows"),
    "rows differ": ("ally", {"ally": np.eye(3)[:2]}, r"shape \(503, any\).* got \(2, 3\)"),
    "no columns": (
        "allx",
        {"allx": sp.csr_matrix((503, 0))},
        r"shape \(any, any\).* got \(503, 0\)",
    ),
    "tx rows": ("tx", {"tx": sp.csr_matrix((5, 4))}, r"shape \(4, 4\).* got \(5, 4\)"),
    "tx columns": ("tx", {"tx": sp.csr_matrix((4, 3))}, r"shape \(4, 4\).* got \(4, 3\)"),
    "ty classes": ("ty", {"ty": np.eye(4)}, r"shape \(4, 3\).* got \(4, 4\)"),
    "dense": ("tx", {"tx": np.zeros((4, 4))}, "holds no sparse matrix"),
    "ids beyond": ("tx", {"tx": beyond()}, "cannot be read"),
    "NaN": ("tx", {"tx": sp.csr_matrix(np.full((4, 4), np.nan))}, "finite"),
    "complex": ("tx", {"tx": sp.csr_matrix((4, 4), dtype=complex)}, "dtype c16"),
    "not one-hot": ("ty", changed("ty", 1, [1, 1, 0]), "at most one 1 in a row, but not in row 1"),
    "a 2": ("ally", changed("ally", 9, [2, 0, 0]), "at most one 1 in a row, but not in row 9"),
    "no class": ("ally", changed("ally", slice(0, 3), 0), "at least one training node"),
    "labels sparse": ("ally", {"ally": sp.csr_matrix((503, 3))}, "no array where"),
    "graph a list": ("graph", {"graph": [[1], [0]]}, "no dict"),
    "graph keys": ("graph", {"graph": {0: [1], 2: [0]}}, "no dict"),
    "graph empty": ("graph", {"graph": {}}, "no dict"),
    "neighbour": ("graph", changed("graph", 0, [508]), r"\[0, 508\)"),
    "neighbour real": ("graph", changed("graph", 0, [1.5]), "cannot be read"),
    "neighbours": ("graph", changed("graph", 0, 1), "cannot be read"),
    "test known": ("test.index", {"test.index": [502, 503, 504, 505]}, r"nodes in \[503, 508\)"),
    "test beyond": ("test.index", {"test.index": [508, 503, 504, 505]}, r"nodes in \[503, 508\)"),
    "test twice": ("test.index", {"test.index": [503, 503, 504, 505]}, "each node once"),
    "test words": ("test.index", {"test.index": ["one"]}, "cannot be read as one node a line"),
}


@pytest.mark.parametrize(("part", "changes", "words"), BAD_PLANETOID.values(), ids=BAD_PLANETOID)
def test_planetoid_bad_file(tmp_path, part, changes, words):
    with pytest.raises(ValueError, match=rf"ind\.tiny\.{part} .*{words}"):
        load_dataset(write_planetoid(tmp_path, **changes))


def test_cora_has_its_published_sizes():
    data = load_dataset(real("cora"))
    assert (data.name, data.graph.n, data.graph.e) == ("cora", 2_708, 10_556)
    assert data.features.shape == (2_708, 1_433) and data.classes == 7
    assert [len(part) for part in (data.train, data.val, data.test)] == [1_208, 500, 1_000]
    assert np.array_equal(data.train, np.arange(1_208)) and data.test[0] == 1_708
    assert data.with_setting("inductive").train_graph.n == 1_208
    counts = [351, 217, 418, 818, 426, 298, 180]  # of the classes, as published
    assert np.bincount(data.labels).tolist() == counts
    public = load_dataset(real("cora"), split="public")
    assert np.bincount(public.labels[public.train]).tolist() == [20] * 7
    assert [len(part) for part in (public.train, public.val, public.test)] == [140, 500, 1_000]


# ---- one door ----------------------------------------------------------------------------------


def test_load_dataset_says_what_it_looked_for(tmp_path):
    named = "no file or folder 'comunities'.*communities-multilabel"
    with pytest.raises(FileNotFoundError, match=named):
        load_dataset("comunities")
    with pytest.raises(ValueError, match=r"adj_full\.npz.*ind\.NAME\.x.*communities-multilabel"):
        load_dataset(tmp_path)
    (tmp_path / "file.txt").write_text("")
    with pytest.raises(ValueError, match=r"file\.txt must be, or hold, one of meta\.json"):
        load_dataset(tmp_path / "file.txt")
    write_planetoid(tmp_path)
    write_planetoid(tmp_path, name="other")
    with pytest.raises(ValueError, match="one data set, got files of other, tiny"):
        load_dataset(tmp_path)
    write_graphsaint(tmp_path)
    both = r"one data set, got adj_full\.npz \(GraphSAINT\) and ind\.NAME\.x \(Planetoid\)"
    for read in load_dataset, lambda source: convert(source, tmp_path / "out"):
        with pytest.raises(ValueError, match=both):
            read(tmp_path)
    with pytest.raises(TypeError, match="source must be a str or a Path, got int"):
        load_dataset(3)


def test_a_built_in_name_is_no_folder_unless_written_as_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_graphsaint(tmp_path / "communities")
    assert load_dataset("communities").graph.n == 10_000
    assert load_dataset("./communities").graph.n == load_dataset(Path("communities")).graph.n == 6
