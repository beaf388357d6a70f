"""The how-to pages: their commands run, their code compiles, and they name what is there."""

import re
import shlex
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from fuzz.formats import make
from numpy.testing import assert_array_equal
from ogb_folders import write_ogb_text
from test_attributed import write_attributed

import fastimpl
import refimpl
from refimpl.lab.apps.cli import main
from refimpl.lab.backend import homes
from refimpl.lab.training.models import MODELS
from refimpl.samplers.nodes import KERNELS

pytestmark = pytest.mark.runs

ROOT = Path(__file__).parents[2]
HOWTO = ROOT / "docs" / "howto"
PAGES = sorted(path.stem for path in HOWTO.glob("*.md"))
CORA = ROOT.parent / "shared" / "data" / "cora"
PATH = re.compile(r"`((?:refimpl|fastimpl|tests|bench|docs)/[\w./]+)`")


def read(page):
    return (HOWTO / f"{page}.md").read_text()


def commands(page):
    """Return the command lines of a page, without those of starters, which have their own tests."""
    lines = re.findall(r"^    minibatch-gnn (.*)$", read(page), re.M)
    return [shlex.split(line) for line in lines if "starter" not in line]


def run_examples(page, monkeypatch):
    """Run the worked examples of a page; return its names, and as `printed` what it printed."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    import worked_examples

    namespace = {"__name__": "__main__"}
    examples = worked_examples.in_page(read(page))
    printed = [worked_examples.run(code, namespace, page) for code in examples]
    return namespace | {"printed": "".join(printed)}


def write_others(folder):
    """Write what the page of graphs calls cora_linqs, texas, graph.mtx and numbered.csv."""
    (folder / "cora_linqs").mkdir()
    rows = [f"p{v}\t{v % 5}\t{v % 7}\t{'abc'[v % 3]}\n" for v in range(120)]
    (folder / "cora_linqs" / "cora.content").write_text("".join(rows))
    cites = [f"p{v}\tp{(v + 1) % 120}\n" for v in range(120)]
    (folder / "cora_linqs" / "cora.cites").write_text("".join(cites))
    make(folder / "made", ("geomgcn", "matrixmarket"))
    texas = (folder / "made" / "geomgcn" / "split").rename(folder / "texas")
    next(texas.glob("splits/*.npz")).rename(texas / "texas_split_0.6_0.2_0.npz")
    (folder / "made" / "matrixmarket" / "pattern" / "graph.mtx").rename(folder / "graph.mtx")
    (folder / "made" / "matrixmarket" / "pattern" / "nodes.csv").rename(folder / "numbered.csv")


def captioned(page):
    """Return the code blocks of a page that say which file they are."""
    found = re.findall(r"```\{code-block\} \w+\n:caption: (\S+)\n\n(.*?)```", read(page), re.S)
    return dict(found)


@pytest.mark.filterwarnings("ignore:ignored")  # self-loops of cora, and names of classes
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_commands_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    todo = commands(page)
    if page == "graphs":
        made = run_examples(page, monkeypatch)
        parts = [made[name] for name in ("graph", "features", "classes", "train", "val", "test")]
        made["write_folder"](tmp_path / "club", *parts)
        names = ("ann", "bob", "cat", "dan", "eve", "fay")
        edges = [f"{u},{v}\n" for u, v in zip(names, names[1:], strict=False)]
        nodes = [f"{name},{v},{'xy'[v % 2]}\n" for v, name in enumerate(names)]
        (tmp_path / "edges.csv").write_text("from,to\n" + "".join(edges))
        (tmp_path / "nodes.csv").write_text("name,age,label\n" + "".join(nodes))
        write_ogb_text(tmp_path / "ogbn_arxiv")
        write_attributed(tmp_path / "amazon_electronics_computers.npz", 120)
        write_others(tmp_path)
        if CORA.is_dir():
            (tmp_path / "cora").symlink_to(CORA, target_is_directory=True)
        else:
            todo = [command for command in todo if "cora" not in command]
    for name, text in captioned(page).items():
        if name.endswith(".toml"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
    if page == "predict":
        sp.save_npz("adj.npz", sp.csr_array(np.array([[0, 1], [1, 0]])))
        np.save("feats.npy", np.arange(100.0).reshape(2, 50))
    assert todo
    for command in todo:
        assert main(command) == 0, (command, capsys.readouterr().err)


def test_predict_prints_the_score_of_training(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scores = []
    for command in commands("predict")[:2]:
        assert main(command) == 0
        scores += re.findall(r"^test .* (0\.\d{4})$", capsys.readouterr().out, re.M)
    assert len(scores) == 2 and scores[0] == scores[1]


def test_the_sampler_is_a_kernel(tmp_path):
    """The code that the page shows is accepted by Cython, next to the declarations it names."""
    pytest.importorskip("Cython", reason="Cython is not installed")
    for path in (ROOT / "fastimpl").rglob("*.pxd"):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text())
    code = captioned("add_a_sampler")
    (pyx,) = (name for name in code if name.endswith(".pyx"))
    (tmp_path / pyx).write_text(code[pyx])
    command = [sys.executable, "-m", "cython", "-3", "-Werror", pyx]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_sampler_is_a_twin(monkeypatch):
    """`sampler_twin` accepts it; the reference draws what the script does, and is registered."""
    code = captioned("add_a_sampler")
    made = run_examples("add_a_sampler", monkeypatch)
    monkeypatch.setitem(KERNELS, "uniform_nodes", None)
    del KERNELS["uniform_nodes"]  # it is registered on the page, and for the page alone
    loaded = {}
    for name in ("refimpl.samplers", "fastimpl.samplers._", "fastimpl.samplers"):
        name = f"{name}uniform_nodes" if name.endswith("_") else f"{name}.uniform_nodes"
        loaded[name] = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, loaded[name])
        loaded[name].KERNEL = None
        exec(code.get(f"{name.replace('.', '/')}.py", ""), vars(loaded[name]))
    reference = loaded["refimpl.samplers.uniform_nodes"].uniform_nodes
    assert KERNELS["uniform_nodes"] is reference
    assert loaded["fastimpl.samplers.uniform_nodes"].uniform_nodes.__doc__ == reference.__doc__
    graph = made["graph"]
    assert_array_equal(reference(graph, 7, n=9).nodes, made["uniform_nodes"](graph, 7, n=9).nodes)


@pytest.mark.parametrize("page", ["port_a_backend", "add_a_sampler", "add_a_layer"])
def test_what_is_tried_uses_public_names_only(page):
    worked = re.findall(r"```\{worked-example\}\n(.*?)```", read(page), re.S)
    assert len(worked) > 2
    for code in worked:
        assert not re.search(r"\bpatch\b|unbound|\._|import _|KERNELS", code)
        for topic, names in re.findall(r"^from refimpl\.([\w.]+) import (.*)$", code, re.M):
            functions = [name for name in names.split(", ") if not name.isupper()]
            found = {homes().get(name) for name in functions}  # domains of keys are constants
            assert found == {topic} or topic == "lab.apps.cli"  # the command line


def test_the_layer_is_right_and_trains(monkeypatch):
    monkeypatch.setitem(MODELS, "shortcut", None)
    del MODELS["shortcut"]  # it is registered on the page, and for the page alone
    made = run_examples("add_a_layer", monkeypatch)
    assert made["printed"].count("of the largest: True") == 2
    assert MODELS["shortcut"] is made["Shortcut"]
    assert min(made["scores"].values()) > 0.7


def test_the_ported_kernel_conforms_and_trains_alike(monkeypatch):
    made = run_examples("port_a_backend", monkeypatch)
    assert made["status"] == 0
    assert made["gnn"].train.unbound is refimpl.train.unbound
    losses = [[record.loss for record in made[who].history] for who in ("ours", "theirs")]
    np.testing.assert_allclose(*losses, rtol=1e-4)


def listed(page, name):
    """Return the files that the tables of a page name, for something called `name`."""
    cells = [line.split("|")[1] for line in read(page).splitlines() if line.startswith("| ")]
    found = {place.replace("NAME", name) for cell in cells for place in PATH.findall(cell)}
    return found | {place for cell in cells for place in re.findall(r"\}`([\w./]+)`", cell)}


def test_listed_files_exist():
    places = listed("add_a_layer", "gcn")
    assert len(places) > 10
    assert not [place for place in places if not (ROOT / place).exists()]


def test_every_file_of_a_sampler_is_shown():
    assert listed("add_a_sampler", "uniform_nodes") == captioned("add_a_sampler").keys()


def test_every_kernel_has_a_stage():
    kernels = re.findall(r"^\| \d+ \| \{doc\}\S+ \| (.*?) \|", read("port_a_backend"), re.M)
    names = re.findall(r"`(\w+)`", " ".join(kernels))
    no_vectors = {"read_rows"}  # it takes the descriptor of an open file
    assert sorted(names) == sorted({*fastimpl.compiled, "BidirectionalCache"} - no_vectors)
