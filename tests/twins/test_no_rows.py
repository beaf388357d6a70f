"""Products without rows, of widths at which many rows would be taken in parts."""

import numpy as np
import pytest
from comparison import assert_twins
from layer_cases import LAYERS, make_parameters
from strategies import random_block


@pytest.mark.parametrize("width", [1, 64, 300])
def test_a_sparse_product_without_rows(width):
    block = random_block(np.random.default_rng(0), 0, 5)
    assert_twins("spmm", block, np.ones(block.e, np.float32), np.ones((5, width), np.float32))


@pytest.mark.parametrize(
    "layer", [layer for layer in LAYERS if layer.hop_count == 1 and not layer.loops], ids=repr
)
def test_a_layer_without_rows(gnn, layer):
    block = random_block(np.random.default_rng(0), 0, 5)
    hops = (gnn.adjacency.block_norm("row", block, dtype=np.float64),)
    P = make_parameters(layer, 5, 300)
    for way in layer.ways:
        out = layer.forward(gnn, hops, P, way)
        assert layer.output(out).shape == (0, layer.width)
        gradients = layer.backward(gnn, hops, P, out, np.ones((0, layer.width)), way)
        assert not gradients["X"].any() and gradients["X"].shape == (5, 300)
