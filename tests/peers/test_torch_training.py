"""GCN with few labels on a real graph, beside the same model trained with torch_geometric."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fastimpl
from refimpl.streams import DROPOUT as DROPOUT_STREAM
from refimpl.streams import key

pytestmark = pytest.mark.runs

torch = pytest.importorskip("torch", reason="torch is not installed")
peer = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")

DATA = Path(__file__).parents[3] / "shared" / "data" / "computers"
A_CLASS, HIDDEN, DROPOUT, DECAY, RATE = 20, 16, 0.5, 5e-4, 0.01
TOGETHER, APART = 15, 60  # epochs
SEEDS = range(3)


@pytest.fixture(scope="module")
def dataset():
    if not DATA.is_dir():
        pytest.skip("no data folder computers")
    return fastimpl.load_dataset(DATA, split=A_CLASS, setting="transductive")


def config(seed, **changes):
    settings = {"hidden": HIDDEN, "dropout": DROPOUT, "weight_decay": DECAY, "lr": RATE}
    settings |= {"bias": True, "classifier": "layer", "eval_every": 1000, "rng": seed}
    return fastimpl.TrainConfig(model="gcn", method="full", **settings | changes)


class Peer(torch.nn.Module):
    """The two layers of Kipf and Welling 2017, made of GCNConv with the weights it begins with."""

    def __init__(self, dataset, seed):
        super().__init__()
        graph = dataset.graph
        receiver = np.repeat(np.arange(graph.n), graph.degrees())
        self.edges = torch.tensor(np.stack([graph.indices.astype(np.int64), receiver]))
        self.X, self.Y = torch.tensor(dataset.inputs()), torch.tensor(dataset.labels.astype(int))
        self.rng = np.random.default_rng(seed)
        torch.manual_seed(seed)
        self.one = peer.GCNConv(self.X.shape[1], HIDDEN, cached=True)
        self.two = peer.GCNConv(HIDDEN, dataset.classes, cached=True)

    def keep(self, X, layer, epoch):
        """Drop half of the elements, by random bits: torch's own dropout takes most of the time."""
        bits = self.rng.integers(0, 256, -(-X.numel() // 8), dtype=np.uint8)
        bits = np.unpackbits(bits, count=X.numel()).reshape(X.shape)
        return X * torch.tensor(bits * np.float32(1 / DROPOUT))

    def forward(self, epoch=None):
        """Return the logits of all nodes; without an epoch nothing is dropped."""
        X = self.X if epoch is None else self.keep(self.X, 0, epoch)
        H = self.one(X, self.edges).relu()
        H = H if epoch is None else self.keep(H, 1, epoch)
        return self.two(H, self.edges)

    def fit(self, dataset, epochs):
        """Train; return the loss of each epoch, and the share of test nodes that are right."""
        weight, train = self.one.lin.weight, torch.tensor(dataset.train)
        others = [self.one.bias, self.two.lin.weight, self.two.bias]
        groups = [{"params": [weight], "weight_decay": DECAY}, {"params": others}]
        adam, losses = torch.optim.Adam(groups, lr=RATE), []
        for epoch in range(epochs):
            adam.zero_grad()
            loss = torch.nn.functional.cross_entropy(self(epoch)[train], self.Y[train])
            loss.backward()
            adam.step()
            losses.append(loss.item())
        with torch.no_grad():
            right = self().argmax(dim=1) == self.Y
        return losses, right[torch.tensor(dataset.test)].double().mean().item()


class Alike(Peer):
    """The same with the initial weights and the dropout of this package."""

    def __init__(self, dataset, asked):
        super().__init__(dataset, 0)
        self.asked = asked
        weights = fastimpl.make_trainer(dataset, asked).state.weights
        for number, conv in enumerate((self.one, self.two), start=1):
            conv.lin.weight.data = torch.tensor(weights[f"layer{number}.W"].T.copy())

    def keep(self, X, layer, epoch):
        """Drop what the layer's key says in this epoch, which is a step."""
        mask = key(self.asked.rng, DROPOUT_STREAM, epoch, layer)
        kept = fastimpl.dropout(np.ones(X.shape, np.float32), DROPOUT, mask)
        return X * torch.tensor(kept)


def test_gcn_with_the_same_draws_is_the_same_run(dataset):
    asked = config(0, epochs=TOGETHER)
    result = fastimpl.train(dataset, asked)
    losses, score = Alike(dataset, asked).fit(dataset, TOGETHER)
    ours = [record.loss for record in result.history]
    assert_allclose(ours, losses, rtol=1e-3)
    assert ours[-1] < ours[0] / 2
    assert abs(result.test_f1 - score) <= 0.001


def test_gcn_with_draws_of_its_own_is_as_good(dataset):
    ours = [fastimpl.train(dataset, config(seed, epochs=APART)).test_f1 for seed in SEEDS]
    theirs = [Peer(dataset, seed).fit(dataset, APART)[1] for seed in SEEDS]
    assert abs(np.mean(ours) - np.mean(theirs)) <= 0.005
