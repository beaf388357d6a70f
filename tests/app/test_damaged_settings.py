"""Settings that no run wrote, in a checkpoint: `--resume` goes on, or names it or an option."""

import json
import sys
import warnings

import numpy as np
import pytest

from refimpl.lab.apps.cli import main

pytestmark = pytest.mark.runs

WRONG = (2**62, -1, 0, -0.5, 1e300, "", "x", [], [1], {}, None, True)
KINDS = {  # of each, the settings that no kind before it has with the same value
    "fresh": ["--method", "fresh", "--batch-size", "9", "--buffer", "600"],
    "frontier": ["--sampler", "frontier"],
    "workers": ["--workers-a-step", "2"],
    "mixhop": ["--model", "mixhop"],
    "gat": ["--model", "gat", "--sampler", "random-walk"],
}


def trained(kind, folder, capfd):
    """Train one epoch in a folder; return the arrays and the meta of its checkpoint."""
    options = ["--data", "karate", "--hidden", "4", "--epochs", "1", *KINDS[kind]]
    assert main(["train", "--out", str(folder), *options]) == 0, capfd.readouterr().err
    with np.load(folder / "checkpoint.npz") as file:
        arrays = {name: file[name] for name in file.files if name != "meta"}
        return arrays, json.loads(file["meta"].item())


@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_with_every_wrong_value(kind, tmp_path, capfd, monkeypatch):
    for module in ("matplotlib", "matplotlib.figure"):  # no curve is drawn
        monkeypatch.setitem(sys.modules, module, None)
    damaged_before = []
    for name in list(KINDS)[: list(KINDS).index(kind)]:
        damaged_before += trained(name, tmp_path / name, capfd)[1]["settings"].items()
    folder = tmp_path / kind
    arrays, meta = trained(kind, folder, capfd)
    path = folder / "checkpoint.npz"
    before = {file: file.read_bytes() for file in folder.iterdir()}
    unnamed = []
    for name, good in meta["settings"].items():
        if (name, good) in damaged_before:
            continue
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
