"""A small data set with communities, as files and as a Dataset; and what a run left behind."""

import json
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from refimpl.lab.data.loading import load_dataset
from refimpl.profiling import PARTS

NODES, CLASSES, FEATURES = 200, 4, 12


def write_graphsaint(folder, multilabel=False):
    """Write a GraphSAINT folder: 200 nodes in 4 communities, a node without edges among them."""
    rng = np.random.default_rng(5)
    member = rng.integers(0, CLASSES, NODES)
    likely = np.where(member[:, None] == member, 0.12, 0.01)
    upper = np.triu(rng.random((NODES, NODES)) < likely, 1)
    upper[7, :] = upper[:, 7] = False
    full = upper | upper.T
    train, val, test = np.split(rng.permutation(NODES), [130, 160])
    inside = np.isin(np.arange(NODES), train)
    folder.mkdir(parents=True, exist_ok=True)
    sp.save_npz(folder / "adj_full.npz", sp.csr_array(full.astype(np.float32)))
    kept = full & inside[:, None] & inside
    sp.save_npz(folder / "adj_train.npz", sp.csr_array(kept.astype(np.float32)))
    means = rng.normal(size=(CLASSES, FEATURES))
    np.save(folder / "feats.npy", means[member] + 2 * rng.normal(size=(NODES, FEATURES)))
    classes = {str(v): int(c) for v, c in enumerate(member)}
    if multilabel:
        classes = {
            v: [int(c == k or c == (k + 1) % 4) for k in range(4)] for v, c in classes.items()
        }
    (folder / "class_map.json").write_text(json.dumps(classes))
    roles = {"tr": train.tolist(), "va": val.tolist(), "te": test.tolist()}
    (folder / "role.json").write_text(json.dumps(roles))
    return folder


def tiny_dataset(folder, dtype="float32"):
    """Return that data set, written to `folder` first; its features, in memory, may be changed."""
    data = load_dataset(write_graphsaint(folder), dtype=dtype)
    return replace(data, features=np.array(data.features))


def arrays_of(checkpoint):
    """Return the bytes of every array of a checkpoint, and its meta data without the times."""
    with np.load(checkpoint) as file:
        arrays = {k: (file[k].dtype, file[k].tobytes()) for k in file.files if k != "meta"}
        meta = json.loads(file["meta"].item())
    for record in meta["history"]:
        for part in PARTS:
            del record[part]
    return arrays, meta


def same_run(a, b, *, but=("pool", "threads", "background")):
    """Assert that two checkpoints hold one run, settings that never change a result apart."""
    (arrays_a, meta_a), (arrays_b, meta_b) = arrays_of(a), arrays_of(b)
    for meta in (meta_a, meta_b):
        for name in but:
            meta["settings"].pop(name, None)  # not all apply with every method
        for counts in meta["loads"] if "features_in" in but else ():
            del counts["bytes"]  # the file has them in the dtype of the run
    assert meta_a == meta_b
    assert len(arrays_a) > 4
    assert arrays_a == arrays_b
