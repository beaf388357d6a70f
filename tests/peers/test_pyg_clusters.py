"""Clusters as PyG's ClusterData and ClusterLoader have them, against induced subgraphs."""

import pytest

pytestmark = pytest.mark.runs

torch = pytest.importorskip("torch", reason="torch is not installed")
pyg = pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
from torch_geometric.data import Data  # noqa: E402


@pytest.fixture(scope="module")
def plain():
    """A directed graph with edges that repeat, loops, and nodes without edges."""
    made = torch.Generator().manual_seed(1)
    edge_index = torch.randint(30, (2, 120), generator=made)
    return Data(x=torch.arange(35.0)[:, None], edge_index=edge_index, edge_attr=torch.arange(120))


def cliques(count, size=6):
    """Return `count` cliques in a row, with one edge from each to the next."""
    blocks = torch.block_diag(*[torch.ones(size, size) - torch.eye(size)] * count)
    for last in range(size - 1, count * size - 1, size):
        blocks[last, last + 1] = blocks[last + 1, last] = 1
    order = torch.randperm(count * size, generator=torch.Generator().manual_seed(3))
    edge_index = blocks[order][:, order].nonzero().T
    return Data(edge_index=edge_index, n_id=torch.arange(len(order)), who=order // size)


def assert_induced(part, data, sparse_format="csr"):
    """A part has all edges of the data between its nodes, in the order of the format."""
    nodes = part.x[:, 0].long()
    inside = torch.isin(data.edge_index, nodes).all(0)
    assert sorted(part.edge_attr.tolist()) == data.edge_attr[inside].tolist()
    assert torch.equal(nodes[part.edge_index], data.edge_index[:, part.edge_attr])
    along = part.edge_index[int(sparse_format == "csc")]
    assert torch.equal(along, along.sort()[0])


@pytest.mark.parametrize("sparse_format", ["csr", "csc"])
@pytest.mark.parametrize("recursive", [False, True])
@pytest.mark.parametrize("parts", [1, 3, 4, 35])
def test_a_cluster_is_an_induced_subgraph(gnn, plain, parts, recursive, sparse_format):
    options = {"sparse_format": sparse_format, "log": False}
    made = gnn.lab.pyg.ClusterData(plain, parts, recursive, **options)
    assert len(made) == parts and str(made) == f"ClusterData({parts})"
    for part in made:
        assert_induced(part, plain, sparse_format)
    sizes = [part.num_nodes for part in made]
    assert sum(sizes) == 35 and max(sizes) - min(sizes) <= 1
    assert len(torch.cat([part.x for part in made]).unique()) == 35


@pytest.mark.parametrize("sparse_format", ["csr", "csc"])
def test_edges_between_clusters_may_be_kept(gnn, plain, sparse_format):
    """They are those from the nodes of a cluster, or into them, and name the node they leave it."""
    options = {"sparse_format": sparse_format, "log": False, "keep_inter_cluster_edges": True}
    made = gnn.lab.pyg.ClusterData(plain, 4, **options)
    everyone = plain.x[made.partition.node_perm, 0].long()
    inner = int(sparse_format == "csc")
    for part in made:
        nodes = part.x[:, 0].long()
        want = torch.isin(plain.edge_index[inner], nodes)
        assert sorted(part.edge_attr.tolist()) == plain.edge_attr[want].tolist()
        ends = plain.edge_index[:, part.edge_attr]
        assert torch.equal(nodes[part.edge_index[inner]], ends[inner])
        assert torch.equal(everyone[part.edge_index[1 - inner]], ends[1 - inner])


@pytest.mark.parametrize("sparse_format", ["csr", "csc"])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_batch_is_a_union_of_clusters_and_all_edges_between(gnn, plain, workers, sparse_format):
    made = gnn.lab.pyg.ClusterData(plain, 5, sparse_format=sparse_format, log=False)
    parts = [frozenset(part.x[:, 0].tolist()) for part in made]
    torch.manual_seed(1)
    options = {"batch_size": 2, "shuffle": True, "num_workers": workers}
    loader = gnn.lab.pyg.ClusterLoader(made, **options)
    assert len(loader) == 3
    met = []
    for batch in loader:
        assert_induced(batch, plain, sparse_format)
        nodes = set(batch.x[:, 0].tolist())
        inside = [part for part in parts if part <= nodes]
        assert sum(map(len, inside)) == len(nodes) == batch.num_nodes
        met += inside
    assert sorted(map(sorted, met)) == sorted(map(sorted, parts))


@pytest.mark.parametrize("recursive", [False, True])
def test_few_edges_are_cut(gnn, recursive):
    """Cliques are found, and numbered by their lowest node."""
    for count in (2, 4):
        data = cliques(count)
        made = gnn.lab.pyg.ClusterData(data, 2, recursive, log=False)
        assert sum(part.num_edges for part in made) == data.num_edges - 2
        assert 0 in made[0].n_id and 0 not in made[1].n_id


def test_halves_are_halved_again(gnn, plain):
    """Which gives other clusters, of the same sizes; both packages have the same."""
    import refimpl

    def parts(package, recursive):
        made = package.lab.pyg.ClusterData(plain, 3, recursive, log=False)
        return [sorted(part.x[:, 0].tolist()) for part in made]

    found = parts(gnn, True)
    assert sorted(map(len, found)) == [11, 12, 12]
    assert found == parts(refimpl, True) != parts(gnn, False)


def test_the_partition_is_saved_and_read(gnn, plain, tmp_path, monkeypatch, recwarn):
    make = gnn.lab.pyg.ClusterData
    kinds = [{}, {"recursive": True}, {"filename": "own.pt"}]
    first = [make(plain, 4, save_dir=str(tmp_path), log=False, **kind) for kind in kinds]
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.pt")}
    assert found == {"part_4/metis.pt", "part_4_recursive/metis.pt", "part_4/own.pt"}
    monkeypatch.setattr(make.unbound, "_metis", None)
    for kind, one in zip(kinds, first, strict=True):
        again = make(plain, 4, save_dir=str(tmp_path), log=False, **kind)
        assert torch.equal(again.partition.node_perm, one.partition.node_perm)
        assert torch.equal(again[1].edge_attr, one[1].edge_attr)
    assert not recwarn.list  # PyG's own reading warns where a file holds more than data
    with pytest.raises(ValueError, match="save_dir has clusters of other data, with 35 nodes"):
        make(cliques(4), 4, save_dir=str(tmp_path), log=False)


def test_what_is_logged_does_not_speak_of_metis(gnn, plain, capsys):
    gnn.lab.pyg.ClusterData(plain, 2)
    assert capsys.readouterr() == ("", "Computing clusters...\nDone!\n")
    gnn.lab.pyg.ClusterData(plain, 2, log=False)
    assert capsys.readouterr() == ("", "")


def test_what_belongs_to_nodes_and_edges_is_cut_along(gnn, plain):
    data = plain.clone()
    data.words, data.pair_index = "all", torch.stack([plain.edge_attr, plain.edge_attr + 1])
    for part in gnn.lab.pyg.ClusterData(data, 3, log=False):
        assert part.words == "all"
        assert torch.equal(part.pair_index, data.pair_index[:, part.edge_attr])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_parts": 0}, ValueError, "num_parts must be in"),
        ({"num_parts": 36}, ValueError, "num_parts must be in"),
        ({"recursive": "yes"}, TypeError, "recursive must be"),
        ({"sparse_format": "coo"}, ValueError, "sparse_format must be"),
        ({"data": Data(x=torch.ones(3, 1))}, ValueError, "data must have an edge_index"),
        (
            {"data": Data(edge_index=torch.tensor([[0], [2]]), num_nodes=2)},
            ValueError,
            r"the targets in edge_index must be in \[0, 2\)",
        ),
    ],
)
def test_what_does_not_fit_is_named(gnn, plain, options, error, message):
    with pytest.raises(error, match=message):
        gnn.lab.pyg.ClusterData(**{"data": plain, "num_parts": 2, "log": False} | options)
