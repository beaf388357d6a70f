"""Raw folders of the Open Graph Benchmark: what is loaded, what is converted, what is refused."""

import gzip

import numpy as np
import pytest
from ogb_folders import (
    NODES,
    WIDTH,
    ogb_parts,
    spoil,
    write_ogb_binary,
    write_ogb_text,
    write_split,
    write_text,
)
from test_convert import converted

from refimpl import Dataset, load_dataset
from refimpl._support import untrusted_files
from refimpl.lab.data.convert import convert

pytestmark = pytest.mark.runs
pytestmark = [
    pytestmark,
    pytest.mark.filterwarnings("ignore:ignored .* self-loop"),
    pytest.mark.filterwarnings("ignore:ignored 'node_year'"),
]


def is_ogb(data, several=False):
    """Assert that a data set is that of `ogb_parts`."""
    edges, features, labels, parts = ogb_parts(several)
    pairs = {(u, v) for a, b in edges.T.tolist() for u, v in ((a, b), (b, a)) if a != b}
    A = data.graph.to_scipy().toarray() > 0
    assert {tuple(pair) for pair in np.argwhere(A).tolist()} == pairs
    np.testing.assert_array_equal(data.features, features)
    expected = labels if several else np.nan_to_num(labels[:, 0], nan=-1)
    np.testing.assert_array_equal(data.labels, expected)
    for name, part in zip(("train", "val", "test"), parts, strict=True):
        assert getattr(data, name).tolist() == sorted(part.tolist())
    np.testing.assert_allclose(data.scaling[0], features[parts[0]].mean(axis=0), rtol=1e-5)
    assert data.setting == "transductive" and data.classes == (4 if several else 6)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("end", [".csv.gz", ".csv"])
def test_ogb_text(tmp_path, several, end):
    folder = write_ogb_text(tmp_path / "arxiv", several, end)
    is_ogb(Dataset.from_ogb(folder), several)
    is_ogb(converted(folder, tmp_path / "graph"), several)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_ogb_binary(tmp_path, several, order, save):
    folder = write_ogb_binary(tmp_path / "papers", several, save, order)
    is_ogb(Dataset.from_ogb(folder), several)
    is_ogb(converted(folder, tmp_path / "graph"), several)


@pytest.mark.parametrize("kind", [np.float16, np.float64, ">f4", np.int16])
def test_ogb_features_keep_their_precision(tmp_path, kind):
    folder = write_ogb_binary(tmp_path / "papers", kind=kind)
    found = converted(folder, tmp_path / "graph")
    assert found.features.dtype == (np.float32 if kind in (">f4", np.int16) else kind)
    converted(folder, tmp_path / "inner", setting="inductive", split=3)


def test_one_of_several_splits(tmp_path):
    folder = write_ogb_text(tmp_path / "arxiv")
    write_split(folder, [np.array([k]) for k in ogb_parts()[3][0][:3]], "other")
    with pytest.raises(ValueError, match="other, time"):
        load_dataset(folder)
    assert converted(folder, tmp_path / "graph", split="other").train.size == 1


BAD = {
    "an id": (
        spoil("data.npz", edge_index=np.array([[0, NODES], [1, 2]])),
        r"data\.npz.*\[0, 60\)",
    ),
    "edges": (spoil("data.npz", edge_index=np.array([[0], [1], [2]])), r"data\.npz.*edge_index"),
    "features": (spoil("data.npz", node_feat=np.zeros((3, 2))), "60"),
    "a feature": (spoil("data.npz", node_feat=np.full((NODES, 2), np.inf)), "finite"),
    "a half": (spoil("data.npz", node_feat=np.full((NODES, 2), np.inf, np.float16)), "finite"),
    "graphs": (spoil("data.npz", num_nodes_list=np.array([30, 30])), "one graph"),
    "labels": (spoil("node-label.npz", node_label=np.full((NODES, 1), 0.5)), r"node-label\.npz"),
    "a label": (spoil("node-label.npz", node_label=np.full((NODES, 1), -2)), r"node-label\.npz"),
    "few labels": (spoil("node-label.npz", node_label=np.zeros((9, 1))), "60"),
    "classes": (spoil("node-label.npz", node_label=np.full((NODES, 1), 2**15)), "32768 classes"),
    "no class": (spoil("node-label.npz", node_label=np.full((NODES, 1), np.nan)), "known"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_ogb_folders_are_refused(tmp_path, case):
    folder = write_ogb_binary(tmp_path / "papers")
    change, said = BAD[case]
    change(folder)
    with pytest.raises(ValueError, match=said):
        convert(folder, tmp_path / "graph")
    assert not list(tmp_path.glob("graph*"))
    with pytest.raises(ValueError, match=str(folder)):
        load_dataset(folder)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("edge", "0,1\n2\n"),
        ("edge", "0,1\n\n2,3\n"),
        ("edge", "0,x\n"),
        ("edge", f"0,{NODES}\n"),
        ("num-node-list", "60\n60\n"),
        ("num-node-list", ""),
        ("node-feat", ""),
        ("node-feat", "1,2\n3\n"),
        ("node-label", "1\n"),
    ],
)
def test_bad_ogb_text_is_refused(tmp_path, name, text):
    folder = write_ogb_text(tmp_path / "arxiv", end=".csv")
    (folder / "raw" / f"{name}.csv").write_text(text)
    for read in (load_dataset, lambda source: convert(source, tmp_path / "graph")):
        with pytest.raises(ValueError, match=str(folder)):
            read(folder)


def test_too_large_for_half(tmp_path):
    folder = write_ogb_binary(tmp_path / "papers")
    spoil("data.npz", node_feat=np.full((NODES, 2), 1e5))(folder)
    with pytest.raises(ValueError, match="float16"):
        convert(folder, tmp_path / "half", feature_dtype="float16")


def test_an_array_far_larger_than_its_file_is_refused(tmp_path):
    """A megabyte that would become a gigabyte of labels."""
    n = 34
    raw = tmp_path / "raw"
    raw.mkdir()
    nothing = np.zeros((2, 0), np.int64)
    np.savez(raw / "data.npz", edge_index=nothing, node_feat=np.ones((n, 2)), num_nodes_list=[n])
    np.savez_compressed(raw / "node-label.npz", node_label=np.zeros(2**29, np.uint8))
    (tmp_path / "split" / "time").mkdir(parents=True)
    for node, name in enumerate(("train", "valid", "test")):
        (tmp_path / "split" / "time" / f"{name}.csv").write_text(f"{node}\n")
    for read in (load_dataset, lambda source: convert(source, tmp_path / "graph")):
        with pytest.raises(ValueError, match=r"node-label\.npz.*node_label would take"):
            read(tmp_path)


@pytest.mark.parametrize(
    ("file", "row"),
    [
        ("raw/edge", [0, 1]),
        ("raw/num-node-list", [NODES]),
        ("raw/node-feat", [0] * WIDTH),
        ("raw/node-label", [1]),
        ("split/time/train", [0]),
    ],
)
def test_text_far_longer_than_its_file_is_refused(tmp_path, monkeypatch, file, row):
    """Numbers that gzip makes a thousand times smaller are refused, not kept until memory ends."""
    folder = write_ogb_text(tmp_path / "arxiv")
    path = folder / f"{file}.csv.gz"
    write_text(path, [row] * 100_000, str)
    assert path.stat().st_size < 2000
    monkeypatch.setattr(untrusted_files, "LEAST_LIMIT", 2**18)
    made = []
    monkeypatch.setattr(np, "loadtxt", counting(np.loadtxt, made))
    said = rf"{path.name} cannot be read .* its numbers would take \d+ bytes, at most 262144 for"
    for read in (load_dataset, lambda source: convert(source, tmp_path / "graph")):
        made.clear()
        with pytest.raises(ValueError, match=said):
            read(folder)
        most = 2**16 * 8 * len(row)  # of a block
        assert max(made) <= most and sum(made) <= 2**18 + most + 2**14


@pytest.mark.parametrize(
    ("file", "line", "most"),
    [
        ("raw/num-node-list", str(NODES), 1),
        ("raw/node-feat", ",".join("0" * WIDTH), NODES),
        ("raw/node-label", "1", NODES),
        ("split/time/train", "0", NODES),
    ],
)
def test_more_lines_than_there_can_be_are_refused(tmp_path, file, line, most):
    folder = write_ogb_text(tmp_path / "arxiv")
    path = folder / f"{file}.csv.gz"
    path.write_bytes(gzip.compress((line + "\n").encode() * (most + 1)))
    for read in (load_dataset, lambda source: convert(source, tmp_path / "graph")):
        with pytest.raises(ValueError, match=rf"{path.name} .* at most {most} lines"):
            read(folder)


def counting(loadtxt, made):
    """Return np.loadtxt with a list of how many bytes each array takes that it makes."""

    def counted(*args, **options):
        found = loadtxt(*args, **options)
        made.append(found.nbytes)
        return found

    return counted


def test_text_that_compresses_well_is_read(tmp_path):
    """There is no bound on how far text was compressed, but on what is made of it."""
    folder = write_ogb_text(tmp_path / "arxiv")
    zeros = np.zeros((NODES, 20_000), np.int8)
    zeros[:, 0] = np.arange(NODES)
    path = folder / "raw" / "node-feat.csv.gz"
    write_text(path, zeros, str)
    assert 4 * zeros.size > 300 * path.stat().st_size
    np.testing.assert_array_equal(load_dataset(folder, scaling="none").features, zeros)


@pytest.mark.parametrize("write", [write_ogb_text, write_ogb_binary])
def test_more_nodes_than_files_back_are_refused(tmp_path, write):
    folder = write(tmp_path / "graph")
    n = 2**31 - 1
    if write is write_ogb_text:
        write_text(folder / "raw" / "num-node-list.csv.gz", [[n]], str)
    else:
        spoil("data.npz", num_nodes_list=np.array([n]))(folder)
    for read in (load_dataset, lambda source: convert(source, tmp_path / "copy")):
        with pytest.raises(ValueError, match=rf"raw: a graph of {n} nodes would take"):
            read(folder)
