"""Every format that is read: small valid files of it, and what reading and using them means.

``samples/FORMAT/VARIANT`` has the files of each format of data sets. Files of our own formats are
written when they are needed.
"""

import contextlib
import dataclasses
import functools
import io
import json
import shutil
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import scipy.sparse as sp

import fastimpl
import refimpl
from refimpl._support.untrusted_files import map_npy
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.conformance import vectors
from refimpl.lab.data.convert import convert
from refimpl.lab.data.formats import FORMATS
from refimpl.lab.data.karate import karate
from refimpl.lab.data.verifying import checksum
from refimpl.lab.training import checkpoints
from refimpl.lab.training.config import config_from
from refimpl.lab.training.model import TrainedModel

SAMPLES = Path(__file__).parent / "samples"
NODES = "nodes.csv"
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


def make(folder, names):
    """Write valid files of some formats to ``folder/FORMAT/VARIANT``."""
    for name in names:
        if name in WRITERS:
            WRITERS[name](folder / name)
        else:
            shutil.copytree(SAMPLES / name, folder / name)


def read(folder):
    """Return the files of a folder by their names in it."""
    paths = (path for path in Path(folder).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(paths)}


def folder_in(folder, name):
    """Return the path of a folder in another one, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


# ---- data sets ---------------------------------------------------------------------------------


def name_of(form):
    """Return what samples and found cases of a data format are called."""
    return type(form).__name__.lower()


def source_of(form, folder):
    """Return the path in a sample that a data format recognises, and the options it needs."""
    (source,) = [p for p in [folder, *folder.iterdir()] if p.name != NODES and form.recognises(p)]
    return source, {"features": folder / NODES} if form.edges_only else {}


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
    graph = refimpl.TypedGraph(data.graph, np.arange(data.graph.e) % 3, 3, np.arange(n) % 2)
    values = {"graph": graph, "induced": None, "setting": "inductive"}
    dataclasses.replace(data, **values).save(folder_in(folder, "typed"))


def load_saved(folder):
    """Open a folder of plain arrays of a stranger, who gives the checksums that they have."""
    with contextlib.suppress(Exception):  # then the package has to say what is wrong
        meta = json.loads((folder / "meta.json").read_bytes())
        for name, entry in meta["arrays"].items():
            with (folder / f"{name}.npy").open("rb") as file:
                entry["blake2b"] = checksum(map_npy(file))
        (folder / "meta.json").write_text(json.dumps(meta))
    return refimpl.load_dataset(folder, verify=True)


def load_data(form, folder):
    """Load a data set, and convert it in little memory: the same data set, or the same refusal."""
    source, more = source_of(form, folder)
    loaded, refused = None, None
    try:
        loaded = refimpl.load_dataset(source, **more)
    except (ValueError, TypeError, OSError) as error:
        refused = error
    with tempfile.TemporaryDirectory() as place:
        made = Path(place, "made")
        try:
            convert(source, made, memory=2000, **more)
        except (ValueError, TypeError, OSError):
            if refused is None:
                raise RuntimeError("it can be loaded, but not converted") from None
            raise
        if refused is not None:
            if name_of(form) == "graphsaint":  # `convert` skips members that it does not need
                raise refused
            raise RuntimeError(f"it can be converted, but not loaded: {refused}")
        compare(loaded, refimpl.load_dataset(made, verify=True), "converted")
    return loaded


def load_tables(folder):
    """Load two tables, also with their columns and rows in another order: the same, or refused."""
    found = load_data(next(form for form in FORMATS if name_of(form) == "tables"), folder)
    with tempfile.TemporaryDirectory() as other:
        for name in ("edges", "nodes"):
            data = (folder / f"{name}.csv").read_bytes()
            Path(other, f"{name}.csv").write_bytes(turned(data, name == "edges"))
        try:
            again = refimpl.load_dataset(Path(other, "edges.csv"), features=Path(other, NODES))
        except ValueError:
            return found  # without titles the order is all that tells columns apart
        compare(found, again, "with columns in another order")
    return found


def turned(data, rows_too):
    """Return a table with its columns, and its rows if asked for, in reverse; quoted ones as is."""
    text = data.decode()
    separator = max(",;\t", key=text.count)
    rows = [line.split(separator) for line in text.splitlines()]
    if '"' in text or len({len(row) for row in rows}) != 1:
        return data
    rows = [rows[0], *(rows[:0:-1] if rows_too else rows[1:])]
    return "".join(separator.join(row[::-1]) + "\n" for row in rows).encode()


def compare(one, two, how):
    """Raise RuntimeError unless two data sets are the same except for the order of features."""
    weights = [getattr(data.graph, "weights", np.ones(data.graph.e)) for data in (one, two)]
    same = {
        "names": np.array_equal(one.node_names, two.node_names),
        "labels": np.array_equal(one.labels, two.labels),
        "classes": one.class_names == two.class_names,
        "graph": np.array_equal(one.graph.indices, two.graph.indices),
        "features": sorted(one.features.T.tolist()) == sorted(two.features.T.tolist()),
        "weights": np.array_equal(*weights),
        **{p: np.array_equal(getattr(one, p), getattr(two, p)) for p in ("train", "val", "test")},
    }
    if not all(same.values()):
        raise RuntimeError(f"{how} it has other {min(same, key=same.get)}")


def use_data(gnn, data):
    """Train on it for a moment."""
    if not isinstance(data.train_graph, refimpl.TypedGraph) and data.graph.n < 100:
        with gnn.make_trainer(data, config_from({**SMALL, "method": "full"})) as trainer:
            trainer.step()


# ---- what training leaves ----------------------------------------------------------------------


def write_checkpoints(folder):
    """Write a checkpoint of each kind of run."""
    data = refimpl.load_dataset("karate")
    for name, options in RUNS.items():
        (folder / name).mkdir(parents=True)
        with fastimpl.make_trainer(data, config_from({**SMALL, **options})) as trainer:
            trainer.epoch()
            path = folder / name / "checkpoint.npz"
            checkpoints.save_checkpoint(path, trainer.state, {"name": name})


def load_checkpoint(folder):
    """Load a checkpoint."""
    state, _ = checkpoints.load_checkpoint(folder / "checkpoint.npz")
    return config_from({**SMALL, **RUNS[folder.name]}), state


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
    for name, options in MODELS.items():
        write_model(folder / name, options)


def write_model(folder, options):
    """Train a model; write it to a folder."""
    folder.mkdir(parents=True)
    data, config = refimpl.load_dataset("karate"), config_from({**SMALL, **options})
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
        out = ["--out", folder / name, "--data", "karate", "--hidden", 4, "--epochs", 1]
        by_command("train", *out, *options)
        for path in (folder / name).iterdir():
            if path.name != "checkpoint.npz":
                path.unlink()


def load_run(folder):
    """Go on with a run by the command line."""
    by_command("train", "--resume", "--out", folder, "--epochs", 2)


def by_command(*argv):
    """Run a command line; raise a ValueError if it refuses, by a file's name or an option's."""
    without_curves = mock.patch.dict(sys.modules, {"matplotlib.figure": None})  # they take longest
    unheard, said = contextlib.redirect_stdout(io.StringIO()), io.StringIO()
    with unheard, contextlib.redirect_stderr(said), without_curves:
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
    write_model(folder / "club", {})
    sp.save_npz(folder / "club" / "graph.npz", karate().to_scipy())
    np.save(folder / "club" / "feats.npy", refimpl.load_dataset("karate").features)
    (folder / "club" / "nodes.txt").write_text("3\n0\n33\n")


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


def nothing(gnn, loaded):
    """Do no more with what was loaded."""


OURS = {  # what writes valid files, loads them, and uses what was loaded
    "checkpoint": (write_checkpoints, load_checkpoint, use_checkpoint),
    "model": (write_models, load_model, use_model),
    "run": (write_runs, load_run, nothing),
    "features": (write_features, load_features, use_features),
    "inputs": (write_inputs, load_inputs, nothing),
    "vectors": (write_vectors, vectors.load, nothing),
}
WRITERS = {"saved": write_saved, **{name: write for name, (write, *_) in OURS.items()}}
LOADERS = {
    **{name_of(form): (functools.partial(load_data, form), use_data) for form in FORMATS},
    "saved": (load_saved, use_data),
    "tables": (load_tables, use_data),
    **{name: (load, use) for name, (_, load, use) in OURS.items()},
}
LOADERS["typed"] = LOADERS["graphsaint"]
