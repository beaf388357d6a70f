"""Settings that no run wrote, in a checkpoint: `--resume` goes on, or names it or an option."""

import json
import sys
import warnings

import numpy as np
import pytest

from refimpl.lab.apps.cli import main

pytestmark = pytest.mark.runs

WRONG = (2**62, -1, 0, -0.5, 1e300, "", "x", [], [1], {}, None, True)
KINDS = {
    "frontier": ["--sampler", "frontier"],
    "fresh": ["--method", "fresh", "--batch-size", "9", "--buffer", "600"],
    "workers": ["--workers-a-step", "2"],
    "mixhop": ["--model", "mixhop"],
    "gat": ["--model", "gat", "--sampler", "random-walk"],
}


@pytest.fixture(params=KINDS)
def run(request, tmp_path, capfd, monkeypatch):
    """The folder of a run with one epoch, its arrays and its meta; no curve is drawn."""
    for module in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    options = ["--data", "karate", "--hidden", "4", "--epochs", "1", *KINDS[request.param]]
    assert main(["train", "--out", str(tmp_path), *options]) == 0, capfd.readouterr().err
    with np.load(tmp_path / "checkpoint.npz") as file:
        arrays = {name: file[name] for name in file.files if name != "meta"}
        meta = json.loads(file["meta"].item())
    return tmp_path, arrays, meta


def test_every_setting_with_every_wrong_value(run, capfd):
    folder, arrays, meta = run
    path = folder / "checkpoint.npz"
    before = {file: file.read_bytes() for file in folder.iterdir()}
    unnamed = []
    for name in meta["settings"]:
        for value in WRONG:
            damaged = {**meta, "settings": {**meta["settings"], name: value}}
            np.savez(path, meta=json.dumps(damaged), **arrays)
            capfd.readouterr()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                status = main(["train", "--resume", "--out", str(folder), "--epochs", "2"])
            said = capfd.readouterr().err
            if status and not (status == 2 and (str(path) in said or " --" in said)):
                unnamed.append((name, value, status, said))
            for file, content in before.items():
                file.write_bytes(content)
    assert not unnamed, "\n".join(map(str, unnamed))
