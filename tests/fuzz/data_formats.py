"""Every format of data sets: small valid files of it, and what reading them means."""

import contextlib
import dataclasses
import json
import pickle
import shutil
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import refimpl
from fuzz.columns import load_tables, write_tables  # noqa: F401 as those of the other formats
from refimpl._support.untrusted_files import map_npy
from refimpl.lab.data.convert import convert
from refimpl.lab.data.formats import FORMATS
from refimpl.lab.data.verifying import checksum

PLANETOID_KNOWN = 503
NODES = "nodes.csv"
PARTS = ("train", "val", "test")


def name_of(form):
    """Return what samples, loaders and found cases of a data format are called."""
    return type(form).__name__.lower()


def write_planetoid(folder):
    """Write Planetoid's files, by the names of Python 2 and in a later protocol."""
    rng = np.random.default_rng(0)
    known, test = (
        sp.csr_matrix(rng.integers(0, 2, (k, 4)).astype(np.float32)) for k in (PLANETOID_KNOWN, 4)
    )
    ally = np.eye(3, dtype=np.int32)[rng.integers(0, 3, PLANETOID_KNOWN)]
    lists = {v: [] for v in range(508)} | {0: [1, 1, 500], 1: [0, 2], 2: [2], 507: [0], 503: [504]}
    ty = np.eye(3, dtype=np.int32)[[2, 0, 1, 2]]
    parts = {"x": 0, "allx": known, "ally": ally, "tx": test, "ty": ty, "graph": lists}
    for variant, protocol in (("old", 3), ("new", 4)):
        place = folder / variant
        place.mkdir(parents=True)
        for part, value in parts.items():
            data = pickle.dumps(value, protocol=protocol)
            if protocol == 3:
                data = data.replace(b"cscipy.sparse._csr", b"cscipy.sparse.csr")
                data = data.replace(b"cnumpy._core", b"cnumpy.core")
            (place / f"ind.tiny.{part}").write_bytes(data)
        (place / "ind.tiny.test.index").write_text("507\n503\n505\n504\n")


def write_graphsaint(folder):
    """Write GraphSAINT folders, one for each of SciPy's formats and kind of labels."""
    for form in ("csr", "csc", "coo"):
        write_club(folder / form, form, several=form == "csc")


def write_typed(folder):
    """Write a folder with types of edges and of nodes."""
    data = write_club(folder / "typed", "csr", several=False)
    np.save(folder / "typed" / "edge_types.npy", np.arange(data.graph.e) % 3)
    np.save(folder / "typed" / "node_types.npy", np.arange(data.graph.n) % 2)


def write_club(folder, form, several):
    """Write the karate club as a GraphSAINT folder; return it."""
    data = refimpl.load_dataset("karate")
    folder.mkdir(parents=True)
    inside = np.zeros(data.graph.n, bool)
    inside[data.train] = True
    full = data.graph.to_scipy().toarray()
    matrices = {"adj_full": full, "adj_train": full * inside[:, None] * inside}
    for name, matrix in matrices.items():
        sp.save_npz(folder / f"{name}.npz", getattr(sp, f"{form}_array")(matrix))
    np.save(folder / "feats.npy", data.features)
    classes = {str(v): int(c) for v, c in enumerate(data.labels)}
    if several:
        classes = {v: [c, 1 - c, 1] for v, c in classes.items()}
    (folder / "class_map.json").write_text(json.dumps(classes))
    roles = {"tr": data.train.tolist(), "va": data.val.tolist(), "te": data.test.tolist()}
    (folder / "role.json").write_text(json.dumps(roles))
    return data


def write_saved(folder):
    """Write folders of plain arrays, each with something that the others lack."""
    data = refimpl.load_dataset("karate")
    n = data.graph.n
    data.save(folder_in(folder, "induced"))
    convert("karate", folder_in(folder, "packed"), pack=True)
    refimpl.Dataset(
        name="names",
        graph=data.graph,
        features=data.features.astype(np.float16),
        labels=np.arange(3 * n).reshape(n, 3) % 2,
        train=data.train,
        val=[],
        test=data.test,
        scaling="rows",
        known=np.isin(np.arange(n), np.concatenate([data.train, data.test])),
        class_names=("a", "b", "c"),
        node_names=[f"node {v}" for v in range(n)],
    ).save(folder_in(folder, "names"))
    typed = write_club(folder / "source", "csr", several=False)
    graph = refimpl.TypedGraph(typed.graph, np.arange(typed.graph.e) % 3, 3, np.arange(n) % 2)
    values = {"graph": graph, "induced": None, "setting": "inductive"}
    dataclasses.replace(typed, **values).save(folder_in(folder, "typed"))
    shutil.rmtree(folder / "source")


def folder_in(folder, name):
    """Return the path of a folder in another one, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def load_saved(folder):
    """Open a folder of plain arrays of a stranger, who gives the checksums that they have."""
    with contextlib.suppress(Exception):  # then the package has to say what is wrong
        meta = json.loads((folder / "meta.json").read_bytes())
        for name, entry in meta["arrays"].items():
            with (folder / f"{name}.npy").open("rb") as file:
                entry["blake2b"] = checksum(map_npy(file))
        (folder / "meta.json").write_text(json.dumps(meta))
    return refimpl.load_dataset(folder, verify=True)


def write_ogb(folder):
    """Write raw folders of the Open Graph Benchmark, of text and binary."""
    data = refimpl.load_dataset("karate")
    rows = np.repeat(np.arange(data.graph.n), data.graph.degrees())
    edges, sizes = np.stack([rows, data.graph.indices]), [data.graph.n]
    labels = np.where(np.arange(data.graph.n) % 9, data.labels, np.nan)[:, None]
    for name in ("text", "binary"):
        raw = folder / name / "raw"
        raw.mkdir(parents=True)
        arrays = {"edge": edges.T, "num-node-list": [sizes], "node-feat": data.features}
        arrays["node-label"] = labels
        if name == "text":
            for part, values in arrays.items():
                np.savetxt(raw / f"{part}.csv.gz", values, "%g", ",")
        else:
            np.savez(
                raw / "data.npz",
                edge_index=edges,
                node_feat=data.features,
                num_nodes_list=sizes,
                num_edges_list=[edges.shape[1]],
            )
            np.savez(raw / "node-label.npz", node_label=labels)
        parts = {"train": data.train, "valid": data.val, "test": data.test}
        for part, nodes in parts.items():
            path = folder / name / "split" / "time" / f"{part}.csv.gz"
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savetxt(path, nodes[nodes % 9 > 0], "%d")


def write_attributed(folder):
    """Write a graph with attributes in one file."""
    data = refimpl.load_dataset("karate")
    (folder / "one").mkdir(parents=True)
    arrays = {"labels": data.labels}
    for name, matrix in (("adj", data.graph.to_scipy()), ("attr", sp.csr_array(data.features))):
        for part in ("data", "indices", "indptr", "shape"):
            arrays[f"{name}_{part}"] = np.asarray(getattr(matrix, part))
    np.savez(folder / "one" / "club.npz", **arrays)


def write_linqs(folder):
    """Write LINQS' two files: names and classes that are words, and that are numbers."""
    data = refimpl.load_dataset("karate")
    pairs = edges_of(data.graph)
    for variant, name, classes in (("words", "v{}".format, "pq"), ("numbers", str, "12")):
        place = folder / variant
        place.mkdir(parents=True)
        rows = [
            [name(v), *(f"{x:g}" for x in data.features[v]), classes[c]]
            for v, c in enumerate(data.labels.tolist())
        ]
        write_lines(place / "club.content", rows, "\t")
        write_lines(place / "club.cites", [[name(u), name(v)] for u, v in pairs], "\t")


def write_geomgcn(folder):
    """Write geom-gcn's folders: with a split, and without."""
    data = refimpl.load_dataset("karate")
    n, pairs = data.graph.n, edges_of(data.graph)
    for variant in ("split", "none"):
        place = folder / variant
        (place / "splits").mkdir(parents=True)
        rows = [[str(v), ",".join(map(str, row)), str(c)] for v, row, c in columns_of(data)]
        titles = ["node_id", "feature", "label"]
        write_lines(place / "out1_node_feature_label.txt", [titles, *rows[::-1]], "\t")
        write_lines(place / "out1_graph_edges.txt", [["node_id"] * 2, *pairs], "\t")
    masks = {f"{part}_mask": np.isin(np.arange(n), getattr(data, part)) for part in PARTS}
    np.savez(folder / "split" / "splits" / "club_split_0.6_0.2_0.npz", **masks)


def columns_of(data):
    """Yield (number, features, class) of each node."""
    return zip(range(data.graph.n), data.features.tolist(), data.labels.tolist(), strict=True)


def write_matrixmarket(folder):
    """Write .mtx files with a table of nodes: a pattern, weights, and both directions."""
    graph = refimpl.load_dataset("karate").graph
    pairs = [(v + 1, u + 1) for u, v in edges_of(graph)]
    weighted = [(v, u, 1 + (u + v) % 3 / 2) for v, u in pairs]
    both = [*weighted, *((u, v, w) for v, u, w in weighted)]
    for variant, kind, entries in (
        ("pattern", "pattern symmetric", pairs),
        ("weights", "real symmetric", weighted),
        ("general", "real general", both),
    ):
        place = folder / variant
        write_nodes(place, range(1, graph.n + 1))
        banner = f"%%MatrixMarket matrix coordinate {kind}".split(" ")
        rows = [banner, ["% of Zachary"], [graph.n, graph.n, len(entries)], *entries]
        write_lines(place / "graph.mtx", rows, " ")


def write_edgelist(folder):
    """Write .edgelist files of NetworkX with a table of nodes: with weights, and without."""
    graph = refimpl.load_dataset("karate").graph
    for variant in ("plain", "weights"):
        place = folder / variant
        write_nodes(place, [f"v{v}" for v in range(graph.n)])
        rows = [
            [f"v{u}", f"v{v}", "{}" if variant == "plain" else f"{{'weight': {1 + (u + v) % 3}}}"]
            for u, v in edges_of(graph)
        ]
        write_lines(place / "graph.edgelist", [["# of Zachary"], *rows], " ")


def write_nodes(folder, names):
    """Write the table of nodes of the karate club, in a new folder."""
    folder.mkdir(parents=True)
    rows = [
        [name, x, "pq"[c]]
        for name, (_, (x, *_), c) in zip(
            names, columns_of(refimpl.load_dataset("karate")), strict=True
        )
    ]
    write_lines(folder / "nodes.csv", [["id", "x", "label"], *rows], ",")


def write_lines(path, rows, separator):
    """Write a file of text, a row a line."""
    path.write_text("".join(separator.join(map(str, row)) + "\n" for row in rows))


def edges_of(graph):
    """Return every edge once, as pairs (u, v) with u < v."""
    rows = np.repeat(np.arange(graph.n), graph.degrees())
    return [(u, v) for u, v in zip(rows.tolist(), graph.indices.tolist(), strict=True) if u < v]


def source_of(form, folder):
    """Return the path in a sample that a data format recognises, and the options it needs."""
    (source,) = [p for p in [folder, *folder.iterdir()] if p.name != NODES and form.recognises(p)]
    return source, {"features": folder / NODES} if form.edges_only else {}


def loader_of(form):
    """Return what loads a sample of a data format."""

    def load(folder):
        source, more = source_of(form, folder)
        return refimpl.load_dataset(source, **more)

    return load


def load_ogb(folder):
    """Load a raw folder, or convert it: the same data set or the same refusal."""
    try:
        loaded = refimpl.load_dataset(folder)
    except (ValueError, OSError):
        loaded = None
    with tempfile.TemporaryDirectory() as place:
        try:
            convert(folder, Path(place, "graph"), memory=2000)
        except (ValueError, OSError):
            if loaded is not None:
                raise RuntimeError("it can be loaded, but not converted") from None
            raise
        if loaded is None:
            raise RuntimeError("it can be converted, but not loaded")
        converted = refimpl.load_dataset(Path(place, "graph"), verify=True)
        if not np.array_equal(converted.graph.indices, loaded.graph.indices):
            raise RuntimeError("it is converted to another graph")
    return loaded


SAMPLES = {name_of(form): globals()[f"write_{name_of(form)}"] for form in FORMATS}
CHECKED = {"saved": load_saved, "tables": load_tables, "ogb": load_ogb}  # in more ways than others
LOADERS = {name_of(form): CHECKED.get(name_of(form)) or loader_of(form) for form in FORMATS} | {
    "typed": loader_of(next(form for form in FORMATS if name_of(form) == "graphsaint"))
}
