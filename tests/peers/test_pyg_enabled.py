"""PyG's own loaders with the samplers of this project, after one line in a user's script."""

import pytest

pytestmark = pytest.mark.runs

torch = pytest.importorskip("torch", reason="torch is not installed")
pyg = pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
from torch_geometric.data import Data, HeteroData  # noqa: E402
from torch_geometric.loader import (  # noqa: E402 -- before they are enabled
    ClusterData,
    ClusterLoader,
    GraphSAINTEdgeSampler,
    GraphSAINTNodeSampler,
    GraphSAINTRandomWalkSampler,
    GraphSAINTSampler,
    HGTLoader,
    ShaDowKHopSampler,
)
from torch_geometric.sampler import HGTSampler  # noqa: E402

CHANGED = (ShaDowKHopSampler, GraphSAINTSampler, ClusterData, HGTSampler)
RING = torch.stack([torch.arange(40), (torch.arange(40) + 1) % 40])
DATA = Data(edge_index=torch.cat([RING, RING.flip(0)], 1), x=torch.arange(40.0)[:, None])


def shop():
    data = HeteroData()
    data["user"].x, data["item"].x = torch.arange(40.0)[:, None], torch.arange(40.0)[:, None]
    data["user", "item"].edge_index = RING
    data["item", "user"].edge_index = RING
    return data


WAYS = {
    "shadow": lambda kinds: kinds.ShaDowKHopSampler(DATA, 2, 1, batch_size=10),
    "node": lambda kinds: kinds.GraphSAINTNodeSampler(DATA, 9, 3, 2, log=False),
    "edge": lambda kinds: kinds.GraphSAINTEdgeSampler(DATA, 9, 3),
    "walk": lambda kinds: kinds.GraphSAINTRandomWalkSampler(DATA, 3, 4, 3),
    "cluster": lambda kinds: kinds.ClusterData(DATA, 4, log=False),
    "clusters": lambda kinds: kinds.ClusterLoader(kinds.ClusterData(DATA, 4, log=False)),
    "hgt": lambda kinds: kinds.HGTLoader(shop(), [3, 2], "user", batch_size=10),
}
THEIRS = {
    kind.__name__: kind
    for kind in (
        ClusterData,
        ClusterLoader,
        GraphSAINTEdgeSampler,
        GraphSAINTNodeSampler,
        GraphSAINTRandomWalkSampler,
        HGTLoader,
        ShaDowKHopSampler,
    )
}


@pytest.fixture
def alone(monkeypatch):
    """No compiled package of PyG is there, as after a plain installation."""
    for name in ("WITH_PYG_LIB", "WITH_TORCH_SPARSE", "WITH_METIS"):
        monkeypatch.setattr(pyg.typing, name, False)
    for place in (pyg.loader.shadow, pyg.sampler.hgt_sampler):
        monkeypatch.setattr(place, "WITH_TORCH_SPARSE", False)


@pytest.mark.parametrize("way", WAYS)
def test_enabled_pygs_classes_draw_as_ours(gnn, alone, way):
    """Also where they were imported by name before."""
    from types import SimpleNamespace

    theirs = SimpleNamespace(**THEIRS)
    before = [dict(vars(kind)) for kind in CHANGED]
    assert gnn.lab.pyg.enable() and gnn.lab.pyg.enable()
    try:
        found = []
        for kinds in (theirs, gnn.lab.pyg):
            torch.manual_seed(5)
            made = WAYS[way](kinds)
            found.append([str(batch.to_dict()) for _ in range(2) for batch in made])
        assert found[0] == found[1]
        half = len(found[0]) // 2
        assert ("cluster" in way) == (found[0][:half] == found[0][half:])
    finally:
        gnn.lab.pyg.disable()
    assert [dict(vars(kind)) for kind in CHANGED] == before


def test_disabled_they_need_pygs_packages_again(gnn, alone):
    gnn.lab.pyg.enable()
    gnn.lab.pyg.disable()
    for way in ("shadow", "hgt", "cluster"):
        with pytest.raises(ImportError, match="requires"):
            from types import SimpleNamespace

            WAYS[way](SimpleNamespace(**THEIRS))


def test_a_version_without_a_name_that_is_given_is_refused():
    from refimpl.lab.pyg.plugs import given

    def collate(self):
        return SparseTensor  # noqa: F821 -- is given

    assert given(collate, SparseTensor=3)(None) == 3
    with pytest.raises(ImportError, match=r"collate does not use METIS; install 'torch_geometric"):
        given(collate, METIS=3)
