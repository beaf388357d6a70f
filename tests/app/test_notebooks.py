"""The notebooks: run from above in a folder of their own, and stored as they are before that."""

import json
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.runs
FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
NOTEBOOKS = {path.stem: path for path in sorted(FOLDER.glob("*.ipynb"))}
PRINTED = {  # what must be found in what the cells print, in this order
    "sampling": (
        "4 layers read",
        "the same nodes: True",
        "17 neighbours: in",
        "frontier.html",
    ),
    "training": ("sampled subgraphs", "FreshGNN's cache", "share of members"),
    "port": (
        "True",
        "directed: want error 'value', got a result",
        "12/12  conforms",
        "/12  differs",
        "differs: result[0]: want 2",
        "True",
    ),
}
SHOWN = {  # what stands in what the cells show as HTML
    "sampling": ("Dataset karate", "Message-flow graph", "Subgraph"),
    "training": ("Dataset communities", "TrainResult", "TrainedModel"),
    "port": ("Graph",),
}


def read(name):
    return json.loads(NOTEBOOKS[name].read_text())


def test_all_are_known():
    assert NOTEBOOKS.keys() == PRINTED.keys() == SHOWN.keys()


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_they_are_stored_without_outputs(name):
    notebook = read(name)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def first_cell(name):
    code = [cell for cell in read(name)["cells"] if cell["cell_type"] == "code"]
    return "".join(code[0]["source"])


def test_the_first_cell_of_each_installs_what_is_missing(tmp_path, monkeypatch):
    """The magic stands for pip; the rest of the cell is run in and outside of a checkout."""
    (source,) = {first_cell(name) for name in NOTEBOOKS}
    code, magics = re.subn(r"%pip install --quiet (.*)", r"asked.append(f\1)", source)
    assert magics == 1
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    asked = []
    for folder in (FOLDER, tmp_path, "/"):
        monkeypatch.chdir(folder)
        exec(code, {"asked": asked})
    assert asked == [str(FOLDER.parents[1]), "minibatch-gnn", "minibatch-gnn"]
    monkeypatch.undo()
    exec(code, {"asked": asked})
    assert len(asked) == 3  # it is there


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_they_run(name, run_notebook):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    notebook = nbformat.read(NOTEBOOKS[name], as_version=4)
    nbformat.validate(notebook)
    run_notebook(notebook)
    outputs = [one for cell in notebook.cells for one in cell.get("outputs", [])]
    printed = "".join(one.text for one in outputs if one.get("name") == "stdout")
    place = 0
    for words in PRINTED[name]:
        assert words in printed[place:], f"{words!r} is not in {printed[place:]!r}"
        place = printed.index(words, place) + len(words)
    shown = "".join(one.data.get("text/html", "") for one in outputs if "data" in one)
    for words in SHOWN[name]:
        assert words in shown
