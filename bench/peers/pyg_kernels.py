"""torch_geometric's layers, for `pytest bench --impl refimpl,fastimpl,bench.peers.pyg_kernels`."""

import torch
from torch import from_numpy, set_num_threads  # noqa: F401  (called by bench.implementations)
from torch_geometric.nn import GCNConv

from bench.peers import steps
from bench.peers.cases import inputs_at
from bench.peers.geometric import Geometric
from bench.peers.kept import Kept
from bench.peers.torch_kernels import passed, sparse
from refimpl.layers import GcnOutput


def versions():
    """Return the versions of torch_geometric and of what it runs on."""
    return steps.versions("torch_geometric")


def _made(A, W):
    conv = GCNConv(*W.shape, bias=False, normalize=False)
    conv.lin.weight.data = from_numpy(W).T.contiguous()
    return conv, sparse(A.graph, A.data)


_layer = Kept(_made)
_step = Kept(lambda model, size: Geometric(*inputs_at(model, size)))


@torch.no_grad()
def gcn_forward(A, X, W, order):
    """Return A (X W) after ReLU, by a layer that is made once."""
    conv, matrix = _layer(A, W)
    return GcnOutput(conv(from_numpy(X), matrix).relu_().numpy(), None)


def forward_and_backward(model, size):
    """Return loss and gradients of two layers and a classifier, by autograd."""
    return passed(_step(model, size))
