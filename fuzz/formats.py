"""Every format that is read: small valid files of it, and what reading and using them means."""

import contextlib
import dataclasses
import io
import json
import pickle
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import fastimpl
import refimpl
from refimpl._reading import map_npy
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.conformance import vectors
from refimpl.lab.data.convert import convert
from refimpl.lab.data.karate import karate
from refimpl.lab.data.verifying import checksum
from refimpl.lab.training import checkpoints
from refimpl.lab.training.config import config_from
from refimpl.lab.training.model import TrainedModel

PACKAGES = (refimpl, fastimpl)
SMALL = {"hidden": 4, "epochs": 1}
RUNS = {
    "graph": {},
    "full": {"method": "full", "model": "gcn"},
    "fresh": {"method": "fresh", "batch_size": 8, "fanouts": [3, 2], "t_stale": 2, "buffer": 600},
    "cycle": {"method": "fresh", "batch_size": 8, "header": "cycle", "buffer": 600},
    "gas": {"method": "gas", "batch_size": 9, "layers": 3},
    "vrgcn": {"method": "vrgcn", "batch_size": 9, "model": "gcn"},
}
MODELS = {
    "sage": {},
    "bias": {"bias": True, "row_l2": True, "layers": 3, "concat": "self_first"},
    "gcn": {"model": "gcn"},
    "mixhop": {"model": "mixhop", "hops": 3},
    "gat": {"model": "gat", "heads": 2, "attention": "softmax"},
    "mlp": {"model": "mlp", "layers": 1},
}
VECTORS = ("common/mix.json", "jpdc21/transpose_perm.json", "jpdc21/transpose_perm.npz")
PLANETOID_KNOWN = 503


def make(folder):
    """Write valid files of every format to ``folder/FORMAT/VARIANT``."""
    for name, writer in WRITERS.items():
        writer(folder / name)


# ---- data sets ---------------------------------------------------------------------------------


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
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, OSError):
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


def load_attributed(folder):
    """Load the file."""
    return refimpl.load_dataset(folder / "club.npz")


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


def load_folder(folder):
    """Load a data set."""
    return refimpl.load_dataset(folder)


def use_folder(gnn, data):
    """Train on it for a moment."""
    if not isinstance(data.train_graph, refimpl.TypedGraph) and data.graph.n < 100:
        config = config_from({**SMALL, "method": "full"})
        with gnn.make_trainer(data, config) as trainer:
            trainer.step()


# ---- what training leaves ----------------------------------------------------------------------


def club_config(name):
    """Return the configuration of a run by name."""
    return config_from({**SMALL, **RUNS[name]})


def write_checkpoints(folder):
    """Write a checkpoint of each kind of run."""
    data = refimpl.load_dataset("karate")
    for name in RUNS:
        config = club_config(name)
        (folder / name).mkdir(parents=True)
        with fastimpl.make_trainer(data, config) as trainer:
            trainer.epoch()
            path = folder / name / "checkpoint.npz"
            checkpoints.save_checkpoint(path, trainer.state, {"name": name})


def load_checkpoint(folder):
    """Load a checkpoint."""
    state, _ = checkpoints.load_checkpoint(folder / "checkpoint.npz")
    return club_config(folder.name), state


def use_checkpoint(gnn, loaded):
    """Go on for three steps and score."""
    config, state = loaded
    data = refimpl.load_dataset("karate")
    with gnn.make_trainer(data, config, state) as trainer:
        for _ in range(3):
            trainer.step()
        trainer.scores(trainer.state.weights, data.val)
        trainer.result()


def write_models(folder):
    """Write a model of each kind."""
    data = refimpl.load_dataset("karate")
    for name, options in MODELS.items():
        (folder / name).mkdir(parents=True)
        write_model(folder / name, data, config_from({**SMALL, **options}))


def write_model(folder, data, config):
    """Train a model; write it to a folder."""
    model = TrainedModel.trained(data, config, fastimpl.train(data, config).weights)
    refimpl.save_model(folder / "model.npz", model)


def load_model(folder):
    """Load a model."""
    return refimpl.load_model(folder / "model.npz")


def use_model(gnn, model):
    """Predict with it."""
    gnn.predict(model, karate(), np.zeros((34, min(model.features, 1000))))


def write_runs(folder):
    """Write the folder of a run of the command line."""
    fresh = ["--method", "fresh", "--batch-size", "9", "--buffer", "600"]
    for name, options in (("graph", []), ("fresh", fresh)):
        out = ["--out", str(folder / name), "--data", "karate", "--hidden", "4", "--epochs", "1"]
        with without_curves():
            status = main(["train", *out, *options])
        if status:
            raise RuntimeError("the run failed")
        for path in (folder / name).iterdir():
            if path.name != "checkpoint.npz":
                path.unlink()


def load_run(folder):
    """Go on with a run by the command line."""
    by_command("train", "--resume", "--out", folder, "--epochs", 2)


@contextlib.contextmanager
def without_curves():
    """Let runs draw no curve, which would take longest."""
    before = {name: sys.modules.get(name) for name in ("matplotlib", "matplotlib.figure")}
    sys.modules.update(dict.fromkeys(before))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module


def by_command(*argv):
    """Run a command line; raise a ValueError if it refuses, by a file's name or an option's."""
    with contextlib.redirect_stderr(io.StringIO()) as said, without_curves():
        status = main([str(arg) for arg in argv])
    lines = said.getvalue().splitlines()
    if status == 2 and len(lines) == 1:
        raise ValueError(f"{argv}: {lines[0]}" if "--" in lines[0] else lines[0])
    if status:
        raise RuntimeError(f"exit status {status}: {lines}")


# ---- others ------------------------------------------------------------------------------------


def write_features(folder):
    """Write features to map into memory."""
    for name, dtype in (("single", np.float32), ("half", np.float16)):
        (folder / name).mkdir(parents=True)
        X = np.arange(24, dtype=dtype).reshape(6, 4)
        refimpl.loader.write_features(folder / name / "features.npy", X)


def load_features(folder):
    """Map features."""
    return refimpl.loader.open_features(folder / "features.npy")


def use_features(gnn, X):
    """Read some rows."""
    gnn.loader.gather_rows(X, np.arange(min(len(X), 100)))


def write_inputs(folder):
    """Write all that the command line can predict with and for."""
    (folder / "club").mkdir(parents=True)
    data = refimpl.load_dataset("karate")
    sp.save_npz(folder / "club" / "graph.npz", karate().to_scipy())
    np.save(folder / "club" / "feats.npy", data.features)
    (folder / "club" / "nodes.txt").write_text("3\n0\n33\n")
    write_model(folder / "club", data, config_from(SMALL))


def load_inputs(folder):
    """Predict."""
    asked = "--graph", folder / "graph.npz", "--features", folder / "feats.npy"
    by_command("predict", folder / "model.npz", *asked, "--nodes", folder / "nodes.txt")


def write_vectors(folder):
    """Copy some files of test vectors."""
    for name in VECTORS:
        path = folder / "some" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((vectors.FOLDER / name).read_bytes())


def load_vectors(folder):
    """Read the vectors as the conformance runner does."""
    return vectors.load(folder)


def nothing(gnn, loaded):
    """Do no more with what was loaded."""


WRITERS = {
    "planetoid": write_planetoid,
    "graphsaint": write_graphsaint,
    "typed": write_typed,
    "saved": write_saved,
    "ogb": write_ogb,
    "attributed": write_attributed,
    "checkpoint": write_checkpoints,
    "model": write_models,
    "run": write_runs,
    "features": write_features,
    "inputs": write_inputs,
    "vectors": write_vectors,
}
LOADERS = {
    "planetoid": (load_folder, use_folder),
    "graphsaint": (load_folder, use_folder),
    "typed": (load_folder, use_folder),
    "saved": (load_saved, use_folder),
    "ogb": (load_ogb, use_folder),
    "attributed": (load_attributed, use_folder),
    "checkpoint": (load_checkpoint, use_checkpoint),
    "model": (load_model, use_model),
    "run": (load_run, nothing),
    "features": (load_features, use_features),
    "inputs": (load_inputs, nothing),
    "vectors": (load_vectors, nothing),
}


def read(folder):
    """Return the files of a folder by their names in it."""
    paths = (path for path in Path(folder).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(paths)}
