"""PyG's example programs, each with this project's loader and with another way of training.

The code of a pattern is what a user of PyG writes. Its loaders come from the argument `from_`:
`fastimpl.lab.pyg` here, or a module of the same names, see `bench.patterns`. A pattern trains once
and returns its score on nodes or edges that were not trained on.
"""

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from torch_geometric import nn
from torch_geometric.data import HeteroData
from torch_geometric.utils import degree

from bench.relational import customers_graph, shop
from refimpl.lab.data.communities import communities

HIDDEN = 32
MEAN = "edge_mean"  # 1 / in-degree of an edge's target, which GraphSAINT's norm multiplies


class Net(torch.nn.Module):
    """Two layers of PyG."""

    def __init__(self, conv, sizes):
        super().__init__()
        first, last = zip(sizes, sizes[1:], strict=False)
        self.first, self.last = conv(*first), conv(*last)

    def forward(self, x, edge_index):
        """Return a row for each node."""
        return self.last(self.first(x, edge_index).relu(), edge_index)


class WeightedNet(Net):
    """Two layers of PyG that take weights of edges."""

    def forward(self, x, edge_index, weights):
        """Return a row for each node."""
        return self.last(self.first(x, edge_index, weights).relu(), edge_index, weights)


def fit(model, batches, epochs, loss_of):
    """Train with Adam; `batches` is gone through once an epoch."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        for batch in batches:
            optimizer.zero_grad()
            loss_of(batch).backward()
            optimizer.step()


def plain_data(nodes):
    """Return a graph with communities as a `Data`."""
    return communities(0, nodes=nodes).to_pyg()


def share_right(logits, data):
    """Return the share of the test nodes whose class is predicted."""
    return (logits.argmax(dim=-1) == data.y)[data.test_mask].float().mean().item()


def node_classes(conv, from_, seed, nodes, epochs):
    """GraphSAGE or GAT: classes of nodes by sampled neighbours."""
    data = plain_data(nodes)
    model = Net(conv, (data.num_features, HIDDEN, 10))
    loader = from_.NeighborLoader(
        data, [10, 5], input_nodes=data.train_mask, batch_size=64, shuffle=True, seed=seed
    )

    def loss_of(batch):
        roots = slice(batch.batch_size)
        return cross_entropy(model(batch.x, batch.edge_index)[roots], batch.y[roots])

    fit(model, loader, epochs, loss_of)
    return share_right(model(data.x, data.edge_index), data)


def graphsage(from_, seed, nodes, epochs):
    """GraphSAGE."""
    return node_classes(nn.SAGEConv, from_, seed, nodes, epochs)


def gat(from_, seed, nodes, epochs):
    """GAT."""
    return node_classes(nn.GATConv, from_, seed, nodes, epochs)


def hetero(from_, seed, nodes, epochs):
    """`to_hetero`: classes of papers by sampled papers and authors."""
    data = papers_and_authors(nodes)
    convs = Net(lambda _, width: nn.SAGEConv((-1, -1), width), (-1, HIDDEN, 4))
    model = nn.to_hetero(convs, data.metadata())
    papers = ("paper", data["paper"].train_mask)
    loader = from_.NeighborLoader(
        data, [8, 4], input_nodes=papers, batch_size=64, shuffle=True, seed=seed
    )
    model(data.x_dict, data.edge_index_dict)  # for the sizes of its layers

    def loss_of(batch):
        roots = slice(batch["paper"].batch_size)
        logits = model(batch.x_dict, batch.edge_index_dict)["paper"]
        return cross_entropy(logits[roots], batch["paper"].y[roots])

    fit(model, loader, epochs, loss_of)
    return share_right(model(data.x_dict, data.edge_index_dict)["paper"], data["paper"])


def papers_and_authors(nodes):
    """Return papers of four classes with features of noise, and authors who know their class."""
    rng, data = np.random.default_rng(0), HeteroData()
    of_paper, of_author = rng.integers(0, 4, nodes), rng.integers(0, 4, nodes // 2)
    data["paper"].x = torch.from_numpy(rng.standard_normal((nodes, 8), np.float32))
    mean = rng.standard_normal((4, 8), np.float32)
    noise = rng.standard_normal((len(of_author), 8), np.float32)
    data["author"].x = torch.from_numpy(mean[of_author] + 1.5 * noise)
    data["paper"].y = torch.from_numpy(of_paper)
    paper = np.repeat(np.arange(nodes), 4)
    author = rng.integers(0, len(of_author), len(paper))
    alike = [np.flatnonzero(of_author == c) for c in range(4)]
    wanted = rng.random(len(paper)) < 0.7
    author[wanted] = [rng.choice(alike[c]) for c in of_paper[paper[wanted]]]
    edges = torch.from_numpy(np.stack([author, paper]))
    data["author", "writes", "paper"].edge_index = edges
    data["paper", "rev_writes", "author"].edge_index = edges.flip(0)
    tested = torch.from_numpy(rng.random(nodes) < 0.5)
    data["paper"].train_mask, data["paper"].test_mask = ~tested, tested
    return data


def links(from_, seed, nodes, epochs):
    """Link prediction: edges against pairs at random, by the product of two embeddings."""
    return predicted_links(from_, seed, plain_data(nodes), epochs)


def temporal(from_, seed, nodes, epochs):
    """Temporal link prediction: a node sees what was there before the edge to be predicted."""
    data = plain_data(nodes)
    data.time = torch.randperm(nodes, generator=torch.Generator().manual_seed(0))
    return predicted_links(from_, seed, data, epochs)


def predicted_links(from_, seed, data, epochs):
    """Train on some edges, at their times if nodes have times; return the score on others."""
    known, tested = known_and_tested(data)
    data.edge_index, some, timed = known, some_of(known), {}
    if "time" in data:  # an edge begins with its later node
        begins = data.time[known].max(dim=0).values
        timed = {"edge_label_time": begins[some], "time_attr": "time"}
    model = Net(nn.SAGEConv, (data.num_features, HIDDEN, HIDDEN))
    loader = from_.LinkNeighborLoader(
        data,
        [10, 5],
        edge_label_index=known[:, some],
        neg_sampling="binary",
        batch_size=128,
        shuffle=True,
        seed=seed,
        **timed,
    )

    def loss_of(batch):
        return link_loss(model(batch.x, batch.edge_index), batch)

    fit(model, loader, epochs, loss_of)
    return link_score(model(data.x, data.edge_index), tested)


def link_loss(x, batch):
    """Return the loss of the edges and the pairs of a batch."""
    u, v = batch.edge_label_index
    return binary_cross_entropy_with_logits((x[u] * x[v]).sum(dim=1), batch.edge_label)


def link_score(x, tested):
    """Return the area under the curve of some edges against as many pairs at random."""
    pairs = torch.randint(len(x), tested.shape, generator=torch.Generator().manual_seed(0))
    u, v = torch.cat([tested, pairs], dim=1)
    positive = torch.arange(len(u)) < tested.shape[1]
    return roc_auc_score(positive, (x[u] * x[v]).sum(dim=1).detach())


def some_of(edge_index):
    """Return which edges are trained on: 1,000, or all if there are fewer."""
    made = torch.Generator().manual_seed(0)
    return torch.randperm(edge_index.shape[1], generator=made)[:1000]


def known_and_tested(data):
    """Return nine tenths of the edges, both ways, and the others, each once."""
    u, v = data.edge_index
    number = torch.minimum(u, v) * data.num_nodes + torch.maximum(u, v)
    _, of_pair = number.unique(return_inverse=True)
    made = torch.Generator().manual_seed(0)
    held = (torch.rand(int(of_pair.max()) + 1, generator=made) < 0.1)[of_pair]
    return data.edge_index[:, ~held], data.edge_index[:, held & (u < v)]


def saint(from_, seed, nodes, epochs):
    """GraphSAINT: subgraphs of random walks, with norms; the losses are added."""
    data = plain_data(nodes)
    data[MEAN] = 1 / degree(data.edge_index[1], data.num_nodes)[data.edge_index[1]]
    model = WeightedNet(nn.GraphConv, (data.num_features, HIDDEN, 10))
    for conv in (model.first, model.last):
        conv.aggr_module = nn.aggr.SumAggregation()
    batches = from_.GraphSAINTRandomWalkSampler(
        data, batch_size=nodes // 8, walk_length=2, num_steps=8, sample_coverage=50, seed=seed
    )

    def loss_of(batch):
        logits = model(batch.x, batch.edge_index, batch.edge_norm * batch[MEAN])
        losses = cross_entropy(logits, batch.y, reduction="none") * batch.node_norm
        return losses[batch.train_mask].sum()

    fit(model, batches, epochs, loss_of)
    return share_right(model(data.x, data.edge_index, data[MEAN]), data)


def clusters(from_, seed, nodes, epochs):
    """Cluster-GCN: unions of clusters."""
    data = plain_data(nodes)
    model = Net(nn.SAGEConv, (data.num_features, HIDDEN, 10))
    parts = from_.ClusterData(data, num_parts=16, log=False)
    batches = from_.ClusterLoader(parts, batch_size=2, shuffle=True)

    def loss_of(batch):
        logits = model(batch.x, batch.edge_index)
        return cross_entropy(logits[batch.train_mask], batch.y[batch.train_mask])

    fit(model, batches, epochs, loss_of)
    return share_right(model(data.x, data.edge_index), data)


def relational(from_, seed, nodes, epochs):
    """RelBench: tables with keys and times; will a customer buy well in the weeks to come?"""
    database, tasks = shop(nodes)
    data = customers_graph(database)
    convs = Net(lambda _, width: nn.SAGEConv((-1, -1), width), (-1, HIDDEN, HIDDEN))
    model = nn.to_hetero(convs, data.metadata())
    head = torch.nn.Linear(HIDDEN, 1)
    both = torch.nn.ModuleList([model, head])
    model(data.x_dict, data.edge_index_dict)

    def loader_of(task, **options):
        return from_.NeighborLoader(
            data,
            [16, 8],
            input_nodes=("customers", torch.from_numpy(task.customer)),
            input_time=torch.from_numpy(task.time),
            time_attr="time",
            transform=labelled(torch.from_numpy(task.label)),
            batch_size=64,
            seed=seed,
            **options,
        )

    def logits_of(batch):
        x = model(batch.x_dict, batch.edge_index_dict)["customers"]
        return head(x[: batch["customers"].batch_size]).flatten()

    def loss_of(batch):
        return binary_cross_entropy_with_logits(logits_of(batch), batch["customers"].label)

    fit(both, loader_of(tasks["train"], shuffle=True), epochs, loss_of)
    found = [(b["customers"].label, logits_of(b).detach()) for b in loader_of(tasks["test"])]
    return roc_auc_score(*map(torch.cat, zip(*found, strict=True)))


def labelled(labels):
    """Return a transform that gives a batch the labels of its rows of a task."""

    def transform(batch):
        store = batch["customers"]
        store.label = labels[store.input_id]
        return batch

    return transform


PATTERNS = {
    one.__name__: one
    for one in (graphsage, gat, hetero, links, temporal, saint, clusters, relational)
}
