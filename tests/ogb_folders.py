"""Small raw folders of the Open Graph Benchmark, of text and binary."""

import gzip

import numpy as np

NODES, WIDTH = 60, 5


def ogb_parts(several=False):
    rng = np.random.default_rng(1)
    edges = rng.integers(0, NODES, (2, 200))
    features = rng.standard_normal((NODES, WIDTH)).astype(np.float32)
    if several:
        labels = rng.integers(0, 2, (NODES, 4)).astype(np.float32)
    else:
        labels = rng.integers(0, 6, (NODES, 1)).astype(np.float32)
    order = rng.permutation(NODES)
    if not several:
        labels[order[40:]] = np.nan
    return edges, features, labels, np.split(order[:40], [20, 30])


def write_text(path, rows, form):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(",".join(form(value) for value in row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def write_split(folder, parts, kind="time"):
    for name, part in zip(("train", "valid", "test"), parts, strict=True):
        write_text(folder / "split" / kind / f"{name}.csv.gz", part[:, None], str)


def write_ogb_text(folder, several=False, end=".csv.gz"):
    edges, features, labels, parts = ogb_parts(several)
    raw = folder / "raw"
    write_text(raw / f"edge{end}", edges.T, str)
    write_text(raw / f"num-node-list{end}", [[NODES]], str)
    write_text(raw / f"num-edge-list{end}", [[edges.shape[1]]], str)
    write_text(raw / f"node-feat{end}", features, lambda x: repr(float(x)))
    write_text(raw / f"node-label{end}", labels, lambda x: repr(float(x)))
    write_split(folder, parts)
    return folder


def write_ogb_binary(folder, several=False, save=np.savez_compressed, order="C", kind=np.float32):
    edges, features, labels, parts = ogb_parts(several)
    raw = folder / "raw"
    raw.mkdir(parents=True)
    save(
        raw / "data.npz",
        edge_index=np.asarray(edges, order=order),
        node_feat=features.astype(kind),
        node_year=np.zeros((NODES, 1), np.int64),
        num_nodes_list=np.array([NODES]),
        num_edges_list=np.array([edges.shape[1]]),
    )
    save(raw / "node-label.npz", node_label=labels)
    write_split(folder, parts)
    return folder


def spoil(name, **values):
    """Return what replaces arrays of an archive of a binary folder."""

    def change(folder):
        path = folder / "raw" / name
        arrays = dict(np.load(path))
        arrays.update(values)
        np.savez(path, **arrays)

    return change
