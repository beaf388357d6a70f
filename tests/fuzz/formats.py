"""Every format that is read: small valid files of it, and what reading and using them means."""

import contextlib
import io
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import fastimpl
import refimpl
from fuzz import data_formats
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.conformance import vectors
from refimpl.lab.data.karate import karate
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


def make(folder):
    """Write valid files of every format to ``folder/FORMAT/VARIANT``."""
    for name, writer in WRITERS.items():
        writer(folder / name)


# ---- data sets ---------------------------------------------------------------------------------


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
    **data_formats.SAMPLES,
    "typed": data_formats.write_typed,
    "checkpoint": write_checkpoints,
    "model": write_models,
    "run": write_runs,
    "features": write_features,
    "inputs": write_inputs,
    "vectors": write_vectors,
}
LOADERS = {
    **{name: (load, use_folder) for name, load in data_formats.LOADERS.items()},
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
