"""Networks of two layers, a classifier and a loss: gradients and counts of the whole."""

from collections import Counter
from functools import cache
from itertools import product

import numpy as np
import pytest
from layer_cases import (
    GATS,
    GRAPH,
    Dense,
    Gcn,
    MixHop,
    Sage,
    make_hops,
    make_parameters,
)
from numpy.testing import assert_allclose
from oracles import differences
from strategies import asymmetric, random_block

import refimpl
from refimpl.lab.backend import find

LOSSES = ["softmax_cross_entropy", "sigmoid_cross_entropy"]
KINDS = [Sage(3, 2), Sage(2, 2, "self_first"), Gcn(4), MixHop(2, 0, 2), *GATS, Dense(4)]
CLASSES = 3


def chain_of_blocks(layer, seed):
    """Return the hops of two layers of this kind on one chain of blocks."""
    rng = np.random.default_rng(seed)
    sizes = [12, 10, 8, 6, 5][-2 * layer.hop_count - 1 :]
    blocks = [
        asymmetric(random_block(rng, n_dst, n_src, loops=layer.loops), seed=seed + n_dst)
        for n_src, n_dst in zip(sizes[:-1], sizes[1:], strict=True)
    ]
    return tuple(blocks[: layer.hop_count]), tuple(blocks[layer.hop_count :])


class Network:
    """Two layers of one kind, and a classifier with or without a ReLU."""

    def __init__(self, gnn, kind, pattern, loss, relu, bias, seed):
        self.gnn, self.loss = gnn, find(gnn, loss)
        self.layers, self.relu = [kind, kind, Dense(CLASSES)], [True, True, relu]
        if pattern == "graph":
            self.hops = [make_hops(kind, "graph", seed), make_hops(kind, "graph", seed + 7), ()]
        else:
            self.hops = [*chain_of_blocks(kind, seed), ()]
        n_src = self.hops[0][0].graph.n_src if self.hops[0] else GRAPH.n
        self.X = np.random.default_rng(seed).normal(size=(n_src, 3))
        self.P = []
        for i, (layer, f) in enumerate(zip(self.layers, self.widths(), strict=True)):
            P = make_parameters(layer, 0, f, bias=bias, seed=seed + i)
            # Halved, so that no loss is flat.
            self.P.append({name: x / 2 for name, x in P.items() if name != "X"})
        top = self.hops[1][-1].graph.n_dst if self.hops[1] else GRAPH.n
        self.labels = np.random.default_rng(seed).integers(0, 2, (top, CLASSES)).astype(float)

    def widths(self):
        """Return the width of each layer's input."""
        return [3, self.layers[0].width, self.layers[1].width]

    def forward(self, ways):
        """Return each layer's parameters with its input, its output, and the loss."""
        X, steps = self.X, []
        for layer, hops, P, way, relu in zip(
            self.layers, self.hops, self.P, ways, self.relu, strict=True
        ):
            P = {**P, "X": X}
            out = layer.forward(self.gnn, hops, P, way, relu)
            X = layer.output(out)
            steps.append((P, out))
        return steps, self.loss(X, self.labels)

    def gradients(self, ways, need_dx=True):
        """Return the gradients of each layer by name; the first one's "X" is the input's."""
        steps, loss = self.forward(ways)
        G, result = loss.gradient, []
        for i in (2, 1, 0):
            grads = self.layers[i].backward(
                self.gnn, self.hops[i], steps[i][0], steps[i][1], G, ways[i], self.relu[i],
                need_dx=need_dx or i > 0,
            )  # fmt: skip
            G = grads["X"]
            result.insert(0, grads)
        return result

    def is_smooth(self):
        """Say whether no ReLU bends near where it is, and a third of each is open.

        By the layers' definitions. A number that is exactly 0 stays so.
        """
        X, met = self.X, []
        for layer, hops, P, relu in zip(self.layers, self.hops, self.P, self.relu, strict=True):
            Z, inside = layer.definition(hops, {**P, "X": X})
            Z = Z + P.get("b", 0)
            met += [*inside, Z] if relu else inside
            if relu and np.mean(Z > 0) < 1 / 3:
                return False
            X = np.maximum(Z, 0) if relu else Z
        values = np.abs(np.concatenate([x.ravel() for x in met]))
        return values[values > 0].min() > 1e-3

    def ways(self):
        """Yield ways for the three layers, such that every way of the kind is taken by both."""
        ways = list(self.layers[0].ways)
        for i, way in enumerate(ways):
            yield [way, ways[-i - 1], None]


@cache
def smooth_seed(*made_with):
    """Return the seed of the first network whose ReLUs no finite difference crosses."""
    return next(seed for seed in range(1000) if Network(refimpl, *made_with, seed).is_smooth())


@cache
def finite_differences(*made_with):
    """Return the gradients of a network by name, layer by layer: of the reference, for both."""
    network = Network(refimpl, *made_with, smooth_seed(*made_with))
    first = next(network.ways())

    def value():
        return network.forward(first)[1].value

    want = [{name: differences(value, x) for name, x in P.items()} for P in network.P]
    want[0]["X"] = differences(value, network.X)
    return want


CASES = list(product(("graph", "block"), LOSSES, (False, True)))
# Each pattern, loss and choice of ReLU and bias with every kind; all together with --runs.
NETWORKS = [
    pytest.param(pattern, loss, on, on, marks=[] if number in (0, 7) else pytest.mark.runs)
    for number, (pattern, loss, on) in enumerate(CASES)
]


@pytest.mark.parametrize("kind", KINDS, ids=repr)
@pytest.mark.parametrize(("pattern", "loss", "relu", "bias"), NETWORKS)
def test_finite_differences(gnn, kind, pattern, loss, relu, bias):
    """By finite differences; errors are measured against the network's largest gradient."""
    made_with = kind, pattern, loss, relu, bias
    network, want = (
        Network(gnn, *made_with, smooth_seed(*made_with)),
        finite_differences(*made_with),
    )
    scale = max(np.abs(x).max(initial=0) for layer in want for x in layer.values())
    assert np.abs(want[0]["X"]).max() > 1e-3 * scale
    for ways in network.ways():
        got = network.gradients(ways)
        for here, there in zip(got, want, strict=True):
            for name in there:
                assert_allclose(here[name], there[name], rtol=0, atol=1e-6 * scale, err_msg=name)


@pytest.mark.parametrize("kind", KINDS, ids=repr)
@pytest.mark.parametrize("need_dx", [False, True])
def test_counters_of_an_iteration(gnn, kind, need_dx):
    """For the network: what its layers and its classifier are said to cost, added up."""
    network = Network(gnn, kind, "graph", LOSSES[0], False, True, 0)
    for ways in network.ways():
        with gnn.profiling.Meter() as profile:
            network.gradients(ways, need_dx)
        want = Counter()
        for i, (layer, hops, f) in enumerate(
            zip(network.layers, network.hops, network.widths(), strict=True)
        ):
            e = hops[0].graph.e if hops else 0
            macs = layer.macs(gnn, ways[i], GRAPH.n, e, f, first=i == 0 and not need_dx)
            want.update(macs._asdict())
        assert profile.macs == dict(want)
