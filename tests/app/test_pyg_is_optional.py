"""Loaders for PyG where torch is not installed, and what they cost where nobody uses them."""

import subprocess
import sys

import numpy as np
import pytest
from strategies import power_law_graph

pytestmark = pytest.mark.runs


def test_importing_the_packages_imports_no_torch():
    code = (
        "import sys, fastimpl.lab.pyg, refimpl.lab.apps.cli;"
        "sys.exit('torch' in sys.modules or 'torch_geometric' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("missing", ["torch", "torch_geometric"])
def test_without_torch_or_pyg_the_extra_is_named(gnn, monkeypatch, missing):
    monkeypatch.delitem(vars(gnn.lab.pyg), "NeighborLoader", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    for module in [name for name in sys.modules if name.startswith(f"{missing}.")]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    with pytest.raises(ImportError, match=r"pip install 'minibatch-gnn\[pyg\]'"):
        gnn.lab.pyg.NeighborLoader  # noqa: B018 -- is made now
    with pytest.raises(ImportError, match=r"pip install 'minibatch-gnn\[pyg\]'"):
        gnn.lab.pyg.enable()
    with pytest.raises(ImportError, match=r"pip install 'minibatch-gnn\[pyg\]'"):
        gnn.lab.pyg.SubgraphLoader(None, gnn.Sampler("edge", b=2))
    graph = power_law_graph(20)
    data = gnn.Dataset(
        "few", graph, np.ones((20, 2)), np.zeros(20, int), [0, 1], [2], [3], classes=1
    )
    with pytest.raises(ImportError, match=r"pip install 'minibatch-gnn\[pyg\]'"):
        data.to_pyg()


def test_a_name_that_no_loader_has_is_not_found(gnn):
    with pytest.raises(AttributeError, match=r"lab\.pyg' has no attribute 'NeighbourLoader'"):
        gnn.lab.pyg.NeighbourLoader  # noqa: B018
