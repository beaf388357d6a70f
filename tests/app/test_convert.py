"""Any data set as a folder of plain arrays: what `convert` writes is what `load_dataset` reads."""

import gzip
import importlib
import json
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from ogb_folders import write_ogb_binary, write_ogb_text
from test_saved_folders import same
from tiny_data import write_graphsaint

from bench.kronecker import write_kronecker
from refimpl import load_dataset
from refimpl.lab.apps.cli import main
from refimpl.lab.data.convert import convert
from refimpl.lab.data.edges import EdgeSorter, write_sorted
from refimpl.lab.data.ogb import lines_about

pytestmark = pytest.mark.runs
pytestmark = [
    pytestmark,
    pytest.mark.filterwarnings("ignore:ignored .* self-loop"),
    pytest.mark.filterwarnings("ignore:ignored 'node_year'"),
]

ROOT = Path(__file__).parents[2]
TINY = 2000  # bytes: some forty keys at a time


def converted(source, folder, memory=TINY, **options):
    """Return what is converted; it is what is loaded, and all in it is as it has to be."""
    convert(source, folder, memory=memory, **options)
    assert [path.name for path in folder.parent.glob(f"{folder.name}*")] == [folder.name]
    assert not list(folder.glob("part-*"))
    for name in ("memory", "feature_dtype", "overwrite"):
        options.pop(name, None)
    found, data = load_dataset(folder, verify=True), load_dataset(source, **options)
    same(found, data)
    assert (found.induced is None) == (data.induced is None and not data.inductive)
    return found


# ---- graphs --------------------------------------------------------------------------------------


@given(st.data())
def test_sorted_files_are_the_graph(tmp_path_factory, data):
    n = data.draw(st.integers(1, 40))
    k = data.draw(st.integers(0, 200))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    hubs = data.draw(st.integers(1, n))
    u, v = rng.integers(0, hubs, k), rng.integers(0, n, k)
    folder = tmp_path_factory.mktemp("graph")
    sorter = EdgeSorter(folder, n, data.draw(st.integers(0, 300)), data.draw(st.integers(1, 4000)))
    sorter.block = data.draw(st.integers(1, 50))
    cuts = np.sort(rng.integers(0, k + 1, 3))
    sorter.add(zip(np.split(u, cuts), np.split(v, cuts), strict=True))
    arrays, facts = write_sorted(sorter, folder)
    A = sp.coo_array((np.ones(k, np.int8), (u, v)), shape=(n, n)).tocsr()
    A = ((A + A.T) > 0).tolil()
    A.setdiag(False)
    A = A.tocsr()
    A.eliminate_zeros()
    A.sort_indices()
    np.testing.assert_array_equal(np.load(folder / "indptr.npy"), A.indptr)
    np.testing.assert_array_equal(np.load(folder / "indices.npy"), A.indices)
    assert facts["max_degree"] == np.diff(A.indptr).max()
    assert (facts["nodes"], facts["entries"], facts["self_loops"]) == (n, A.nnz, False)
    assert sorted(path.name for path in folder.iterdir()) == ["indices.npy", "indptr.npy"]
    assert arrays["indices"]["shape"] == [A.nnz]
    shutil.rmtree(folder)


@pytest.mark.parametrize("memory", [100, 10_000])
def test_one_edge_many_times_and_a_hub(tmp_path, memory):
    """Files that no range of rows makes smaller."""
    sorter = EdgeSorter(tmp_path, 3000, 10, memory)
    sorter.add([(np.full(5000, 7), np.full(5000, 9)), (np.full(3000, 7), np.arange(3000))])
    _, facts = write_sorted(sorter, tmp_path)
    assert facts["max_degree"] == 2999 and facts["entries"] == 2 * 2999
    assert np.load(tmp_path / "indices.npy")[7:].tolist()[:2999] == [
        v for v in range(3000) if v != 7
    ]


@given(st.integers(0, 2**32))
def test_an_edge_without_its_reverse_is_found(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    n = 20
    dense = rng.random((n, n)) < 0.2
    dense |= dense.T
    u, v = rng.integers(0, n, 2)
    dense[u, v] ^= True
    folder = tmp_path_factory.mktemp("graph")
    sorter = EdgeSorter(folder, n, 10, 500, symmetric=True)
    sorter.add([np.nonzero(dense)])
    if u == v:
        write_sorted(sorter, folder)
    else:
        with pytest.raises(ValueError, match=rf"\({min(u, v)}, {max(u, v)}\)"):
            write_sorted(sorter, folder)
    shutil.rmtree(folder)


@pytest.mark.parametrize("bad", [-1, 5, 2**40])
def test_an_id_out_of_range_is_refused(tmp_path, bad):
    sorter = EdgeSorter(tmp_path, 5, 1, 1000)
    with pytest.raises(ValueError, match=r"\[0, 5\)"):
        sorter.add([(np.array([1, bad]), np.array([0, 0]))])


# ---- every format --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["karate", "communities", "communities-multilabel", "typed"])
def test_built_in(tmp_path, name):
    converted(name, tmp_path / "graph", rng=3)
    converted(name, tmp_path / "rows", scaling="rows", setting="transductive")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Return a folder with data sets that the fuzzer of files damages."""
    folder = tmp_path_factory.mktemp("sources")
    make = importlib.import_module("fuzz.formats").make
    make(folder, ("planetoid", "graphsaint", "typed"))
    return folder


@pytest.mark.parametrize(
    "name", ["planetoid/old", "graphsaint/csr", "graphsaint/csc", "graphsaint/coo", "typed/typed"]
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"setting": "transductive"},
        {"setting": "inductive", "scaling": "rows"},
        {"scaling": "none", "split": 3},
        {"setting": "inductive", "split": 2, "rng": 5},
    ],
)
def test_folders(tmp_path, sources, name, options):
    if "split" in options and name.endswith("csc"):
        pytest.skip("its nodes have several classes")
    converted(sources / name, tmp_path / "graph", **options)


def test_integer_features_are_scaled_as_they_stand(tmp_path, sources):
    """Larger than float32 holds exactly: mean and std are of the integers."""
    folder = shutil.copytree(sources / "graphsaint/csr", tmp_path / "source")
    rng = np.random.default_rng(0)
    np.save(folder / "feats.npy", rng.integers(2**40, 2**41, (34, 3)))
    converted(folder, tmp_path / "graph")


@pytest.mark.parametrize("ending", [".csv", ".npz", ".MTX", ".edgelist"])
def test_a_folder_with_the_name_of_a_file_is_a_folder(tmp_path, ending):
    converted("karate", tmp_path / f"club{ending}")


def test_a_folder_again(tmp_path):
    convert("communities", tmp_path / "one")
    converted(tmp_path / "one", tmp_path / "two", setting="transductive")
    converted(tmp_path / "two", tmp_path / "three", setting="inductive")
    convert(tmp_path / "two", tmp_path / "two", overwrite=True)
    same(
        load_dataset(tmp_path / "two", verify=True),
        load_dataset(tmp_path / "one", setting="transductive"),
    )


# ---- tables --------------------------------------------------------------------------------------

NODE_FILE = (
    "name,age,club,tall,split\n"
    "ann,1,x,0,train\nbob,2,y,0,train\ncat,3,x,1,val\ndan,4,y,1,test\neve,5,,1,\n"
)


@pytest.fixture
def tables(tmp_path):
    (tmp_path / "edges.csv").write_text("from,to\nann,bob\nbob,cat\ncat,dan\ndan,dan\n")
    (tmp_path / "nodes.csv").write_text(NODE_FILE)
    return tmp_path / "edges.csv", {"features": tmp_path / "nodes.csv", "labels": "club"}


def test_tables(tmp_path, tables):
    edges, options = tables
    found = converted(edges, tmp_path / "graph", **options)
    assert found.node_names.tolist() == ["ann", "bob", "cat", "dan", "eve"]
    assert found.class_names == ("x", "y") and found.name == "nodes"
    (tmp_path / "nodes.csv").write_text(
        "\n".join(line.rpartition(",")[0] for line in NODE_FILE.splitlines())
    )
    converted(edges, tmp_path / "drawn", rng=4, setting="inductive", **options)
    converted(edges, tmp_path / "few", rng=4, split=1, **options)


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("edges.csv", "bob,cat", "bob,zoe", r"edges\.csv.*zoe"),
        ("edges.csv", "from,to", "from", "2|two"),
        ("nodes.csv", "3,x", "three,x", "age"),
        ("nodes.csv", "club", "klub", "club"),
        ("nodes.csv", "bob", "ann", "distinct"),
        ("nodes.csv", "bob,2", "bob,nan", "finite"),
    ],
)
def test_bad_tables_are_refused(tmp_path, tables, file, old, new, said):
    edges, options = tables
    path = tmp_path / file
    path.write_text(path.read_text().replace(old, new, 1))
    for read in (load_dataset, lambda source, **o: convert(source, tmp_path / "graph", **o)):
        with pytest.raises(ValueError, match=said) as error:
            read(edges, **options)
        assert str(error.value).count(str(path)) <= 1


# ---- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["karate", "ogb"])
def test_other_precision(tmp_path, source):
    source = source if source == "karate" else write_ogb_binary(tmp_path / "papers")
    convert(source, tmp_path / "half", feature_dtype="float16")
    half, data = load_dataset(tmp_path / "half", verify=True), load_dataset(source)
    assert half.features.dtype == np.float16
    np.testing.assert_array_equal(half.features, data.features.astype(np.float16))
    rows = np.asarray(half.features, np.float64)[half.train]
    np.testing.assert_allclose(half.scaling[0], rows.mean(axis=0))


def test_progress_ends_whole(tmp_path):
    told = {}
    binary, text = write_ogb_binary(tmp_path / "papers"), write_ogb_text(tmp_path / "text")
    for source in (binary, text):
        folder = tmp_path / f"{source.name}-graph"
        convert(source, folder, progress=lambda what, *done: told.update({what: done}), pack=True)
        data = load_dataset(folder)
        edges = told.pop("reading edges")
        rows = ["features", "sorting edges", "packing features"]
        assert told == dict.fromkeys(rows, (1, data.graph.n, "rows"))
        assert edges[0] == 1 and edges[1] >= data.graph.e // 2 and edges[2] == "edges"


def test_memory_is_limited(tmp_path):
    """Of a graph of 2^16 nodes and half a million edges, read in a block."""
    write_kronecker(tmp_path / "source", scale=16, features=4, classes=3)
    peaks = []
    for memory in (2**22, 2**28):
        tracemalloc.start()
        convert(tmp_path / "source", tmp_path / "graph", memory=memory, overwrite=True)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] < 2**25 < peaks[1], peaks


@pytest.mark.parametrize("name", ["edge.csv", "edge.csv.gz"])
def test_lines_are_counted_by_the_beginning(tmp_path, name):
    ids = np.random.default_rng(0).integers(10**6, size=(200_000, 2)).tolist()
    opened = gzip.open if name.endswith("gz") else open
    with opened(tmp_path / name, "wt") as file:
        file.write("".join(f"{u},{v}\n" for u, v in ids))
    assert lines_about(tmp_path / name) == pytest.approx(200_000, rel=0.3)
    (tmp_path / name).write_bytes(b"")
    assert lines_about(tmp_path / name) == 0


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("graphsaint/csr", "asymmetric", "symmetric"),
        ("graphsaint/csr", "outside", "training nodes only"),
        ("typed/typed", "types", "edge_types"),
        ("typed/typed", "unsorted", "adj_full"),
        ("typed/typed", "untyped", "adj_train"),
    ],
)
def test_bad_graphsaint_folders_are_refused(tmp_path, sources, kind, change, said):
    folder = shutil.copytree(sources / kind, tmp_path / "source")
    train = json.loads((folder / "role.json").read_text())["tr"]
    A = sp.load_npz(folder / "adj_full.npz").tocsr()
    inside = sp.load_npz(folder / "adj_train.npz").tolil()
    if change == "asymmetric":
        A = A.tolil()
        A[train[0], train[1]] = 1 - A[train[0], train[1]]
        sp.save_npz(folder / "adj_full.npz", A.tocsr())
    elif change == "outside":
        outside = next(v for v in range(34) if v not in train)
        inside[outside, train[0]] = inside[train[0], outside] = 1
        sp.save_npz(folder / "adj_train.npz", inside.tocsr())
    elif change == "types":
        np.save(folder / "edge_types.npy", np.arange(A.nnz) - 1)
    elif change == "unsorted":
        first = slice(0, A.indptr[1])
        A.indices[first] = A.indices[first][::-1]
        sp.save_npz(folder / "adj_full.npz", A)
    else:
        u, v = next((u, v) for u in train for v in train if u != v and not A[u, v])
        inside[u, v] = inside[v, u] = 1
        sp.save_npz(folder / "adj_train.npz", inside.tocsr())
    with pytest.raises(ValueError, match=said):
        load_dataset(folder)
    with pytest.raises(ValueError, match=said) as caught:
        convert(folder, tmp_path / "graph", memory=TINY)
    assert str(folder) in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == [Path(folder).name]


# ---- the command line ----------------------------------------------------------------------------


def test_command(tmp_path, tables, capsys):
    edges, options = tables
    argv = ["convert", str(edges), str(tmp_path / "graph")]
    argv += ["--features", str(options["features"]), "--labels", "club", "--memory", "1kB"]
    assert main(argv) == 0
    same(load_dataset(tmp_path / "graph"), load_dataset(edges, **options))
    said = capsys.readouterr()
    assert "5 nodes, 6 directed edges, 2 features (float64), 2 classes" in said.out
    assert "2 training, 1 validation, 1 test nodes, transductive" in said.out
    assert not said.err
    assert main(argv) == 2
    assert "--overwrite" in capsys.readouterr().err
    half = [*argv, "--overwrite", "--feature-dtype", "float16", "--setting", "inductive"]
    assert main([*half, "--scaling", "none"]) == 0
    data = load_dataset(tmp_path / "graph")
    assert (data.features.dtype, data.setting, data.scaling) == (np.float16, "inductive", None)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["nowhere", "graph"], "nowhere"),
        (["karate", "graph", "--memory", "0"], "memory"),
        (["karate", "graph", "--memory", "much"], "--memory"),
        (["karate", "graph", "--features", "nodes.csv"], "features"),
        (["karate", "graph", "--split", "public"], "split"),
        (["karate", "graph", "--feature-dtype", "int8"], "--feature-dtype"),
        (["karate", "no/such/graph"], "no/such"),
    ],
)
def test_bad_commands(tmp_path, monkeypatch, capsys, argv, said):
    monkeypatch.chdir(tmp_path)
    assert main(["convert", *argv]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.runs
@pytest.mark.parametrize("method", ["graph", "neighbor", "fresh", "full"])
def test_training_from_a_folder_is_training_from_its_source(tmp_path, capsys, method):
    folder = write_graphsaint(tmp_path / "tiny")
    assert main(["convert", str(folder), str(tmp_path / "graph")]) == 0
    rest = ["--method", method, "--hidden", "8", "--epochs", "2"]
    for data in ("tiny", "graph"):
        argv = ["train", "--data", str(tmp_path / data), "--out", str(tmp_path / f"{data}.run")]
        assert main([*argv, *rest]) == 0
    one, other = (
        json.loads((tmp_path / f"{data}.run" / "metrics.json").read_text())
        for data in ("tiny", "graph")
    )
    assert one["test_f1"] == other["test_f1"] and one["val_f1"] == other["val_f1"]
    with (
        np.load(tmp_path / "tiny.run/model.npz") as mine,
        np.load(tmp_path / "graph.run/model.npz") as yours,
    ):
        for name in mine:
            if mine[name].dtype.kind == "f":
                np.testing.assert_array_equal(mine[name], yours[name])
    run = tmp_path / "graph.run"
    assert main(["train", "--resume", "--out", str(run), "--epochs", "3", "--verify"]) == 0
    model, data = str(run / "model.npz"), str(tmp_path / "graph")
    assert main(["predict", model, "--data", data, "--verify"]) == 0
    capsys.readouterr()
    indices = np.lib.format.open_memmap(tmp_path / "graph/indices.npy", "r+")
    indices[0] = 10**6
    indices.flush()
    for argv in (["predict", model, "--data", data], ["sample", "--data", data]):
        assert main([*argv, "--verify"]) == 2
        assert "indices.npy" in capsys.readouterr().err
    assert main(["convert", data, str(tmp_path / "other"), "--verify"]) == 2
