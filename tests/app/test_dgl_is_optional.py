"""Loaders for DGL where it is not installed, or does not run, and what they cost others."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.runs
EXTRA = r"pip install 'minibatch-gnn\[dgl\]', on Python 3.10 or 3.11 \("


def test_importing_the_packages_imports_no_dgl():
    code = (
        "import sys, fastimpl.lab.dgl, refimpl.lab.apps.cli;"
        "sys.exit('torch' in sys.modules or 'dgl' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def asked_for(gnn):
    """Yield calls that need DGL."""
    yield lambda: gnn.lab.dgl.DataLoader(None, [0], gnn.lab.dgl.NeighborSampler([2]))
    yield lambda: gnn.lab.dgl.SubgraphDataLoader(None, gnn.Sampler("edge", b=2))
    yield gnn.load_dataset("karate").to_dgl


@pytest.mark.parametrize("missing", ["torch", "dgl"])
def test_without_torch_or_dgl_the_extra_is_named(gnn, monkeypatch, missing):
    for module in [name for name in sys.modules if name.startswith(f"{missing}.")]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, missing, None)
    for call in asked_for(gnn):
        with pytest.raises(ImportError, match=EXTRA):
            call()


def test_a_dgl_without_libraries_for_this_torch_is_named(gnn, monkeypatch, tmp_path):
    """As DGL 2.1 fails beside torch 2.13."""
    (tmp_path / "dgl.py").write_text("raise FileNotFoundError('no library for torch 2.13')")
    for module in [name for name in sys.modules if name.partition(".")[0] == "dgl"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.syspath_prepend(tmp_path)
    for call in asked_for(gnn):
        with pytest.raises(ImportError, match=f"{EXTRA}no library for torch 2.13"):
            call()
