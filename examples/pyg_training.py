"""A GraphSAGE of PyG's layers on neighbours sampled here: python examples/pyg_training.py

Needs the extra `pyg`: python -m pip install -e '.[pyg]'. The loader gives every layer its own
matrix (`adjs`), which is faster than `edge_index`: docs/howto/from_pyg.md has both, and the times.
"""

import argparse
import importlib

import torch
from torch.nn.functional import cross_entropy
from torch_geometric.nn import SAGEConv
from torch_geometric.transforms import ToSparseTensor


class SAGE(torch.nn.Module):
    """SAGEConv after SAGEConv, each with a matrix of its own: targets by sources."""

    def __init__(self, sizes):
        super().__init__()
        self.convs = torch.nn.ModuleList(map(SAGEConv, sizes, sizes[1:]))

    def forward(self, x, adjs):
        """Return a row for each target of the last matrix."""
        for layer, (conv, adj) in enumerate(zip(self.convs, adjs, strict=True)):
            x = x.relu() if layer else x
            x = conv((x, x[: len(adj)]), adj)  # the first sources are the targets
        return x


def train(model, loader, epochs):
    """Train a model on the roots of every batch; print the mean loss of each epoch."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        total = count = 0
        for batch in loader:
            labels = batch.y[: batch.batch_size]  # the first nodes of a batch are its roots
            loss = cross_entropy(model(batch.x, batch.adjs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, count = total + loss.item() * batch.batch_size, count + batch.batch_size
        print(f"epoch {epoch + 1}: loss {total / count:.3f}")


@torch.no_grad()
def accuracy(model, data):
    """Return the share of test nodes whose class is predicted, from all their neighbours."""
    model.eval()
    adj_t = ToSparseTensor(layout=torch.sparse_csr)(data).adj_t
    right = model(data.x, [adj_t] * len(model.convs)).argmax(dim=1) == data.y
    return right[data.test_mask].float().mean().item()


def main():
    """Train on a data set and print the accuracy."""
    parser = argparse.ArgumentParser(
        description="Train a GraphSAGE of PyG's layers on our loader's batches."
    )
    parser.add_argument("--data", default="communities", help="a data set with one class a node")
    parser.add_argument("--impl", default="fastimpl", help="fastimpl or refimpl")
    parser.add_argument("--epochs", type=int, default=5, help="how often to go through the roots")
    parser.add_argument("--workers", type=int, default=2, help="processes that sample ahead")
    arguments = parser.parse_args()
    gnn = importlib.import_module(arguments.impl)
    dataset = gnn.load_dataset(arguments.data)
    if dataset.multilabel:
        raise SystemExit("--data must have one class a node")
    data = dataset.to_pyg()
    torch.manual_seed(0)  # of the model's weights and of the loader's draws
    loader = gnn.lab.pyg.NeighborLoader(
        data,
        num_neighbors=[10, 5],
        input_nodes=data.train_mask,
        batch_size=128,
        shuffle=True,
        num_workers=arguments.workers,
        adjs=True,
    )
    model = SAGE([data.num_node_features, 64, dataset.classes])
    train(model, loader, arguments.epochs)
    print(f"test accuracy: {accuracy(model, data):.4f}")


if __name__ == "__main__":
    main()
