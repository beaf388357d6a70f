"""torch, for `pytest bench --impl refimpl,fastimpl,bench.peers.torch_kernels`.

Tensors share the memory of the arrays. Sparse matrices have 32-bit indices, which its MKL takes,
and are made once for their values.
"""

from types import SimpleNamespace

import torch
from torch import from_numpy, set_num_threads  # noqa: F401  (called by bench.implementations)
from torch.nn import functional

from bench.peers.cases import inputs_at
from bench.peers.hand_written import HandWritten, unmasked
from bench.peers.kept import Kept
from bench.peers.steps import versions  # noqa: F401  (called by bench.implementations)
from refimpl import Adjacency
from refimpl.layers import GcnOutput


def sparse(graph, data):
    """Return a matrix in torch's CSR."""
    A = graph.to_scipy(data)
    offsets, columns = (from_numpy(x.astype("int32")) for x in (A.indptr, A.indices))
    return torch.sparse_csr_tensor(offsets, columns, from_numpy(A.data), A.shape)


_of_values = Kept(sparse)
_turned = Kept(lambda graph, data: sparse(graph, data).t().to_sparse_csr())


def spmm(graph, data, X):
    """Return A X."""
    return (_of_values(graph, data) @ from_numpy(X)).numpy()


def spmm_t(graph, data, transpose_perm, G):
    """Return A^T G; the transpose is made once."""
    return (_turned(graph, data) @ from_numpy(G)).numpy()


def gcn_forward(A, X, W, order):
    """Return A (X W) after ReLU, the order of products of the benchmark."""
    product = _of_values(A.graph, A.data) @ (from_numpy(X) @ from_numpy(W))
    return GcnOutput(product.relu_().numpy(), None)


def dense_forward(X, W, relu):
    """Return X W, after ReLU where `relu` says so."""
    rows = _of_values(X.graph, X.data) if isinstance(X, Adjacency) else from_numpy(X)
    product = rows @ from_numpy(W)
    return (product.relu_() if relu else product).numpy()


def dense_backward(X, W, Y, G_out, relu, need_dx):
    """Return the gradients of X and W."""
    X, W, Y, G = (from_numpy(array) for array in (X, W, Y, G_out))
    G = unmasked(G, Y, torch.empty_like(G)) if relu else G
    return SimpleNamespace(X=(G @ W.T).numpy() if need_dx else None, W=(X.T @ G).numpy())


def softmax_cross_entropy(logits, labels):
    """Return the mean loss and its gradient."""
    logits, labels = from_numpy(logits), from_numpy(labels)
    logs = functional.log_softmax(logits, 1)
    value = -(labels * logs).sum().item() / len(logits)
    return SimpleNamespace(value=value, gradient=((logs.exp_() - labels) / len(logits)).numpy())


def sigmoid_cross_entropy(logits, labels):
    """Return the mean loss and its gradient."""
    logits, labels = from_numpy(logits), from_numpy(labels)
    loss = functional.binary_cross_entropy_with_logits(logits, labels, reduction="sum")
    gradient = (logits.sigmoid() - labels) / len(logits)
    return SimpleNamespace(value=loss.item() / len(logits), gradient=gradient.numpy())


def gather_rows(X, rows):
    """Return rows of X."""
    return from_numpy(X).index_select(0, from_numpy(rows)).numpy()


def gradient_norms(G):
    """Return the lengths of rows."""
    return torch.linalg.vector_norm(from_numpy(G), dim=1).numpy()


_step = Kept(lambda model, size: HandWritten(*inputs_at(model, size)))


def forward_and_backward(model, size):
    """Return loss and gradients of two layers and a classifier, without autograd."""
    return passed(_step(model, size))


def passed(step):
    """Return loss and gradients of a model as arrays."""
    loss = step.backward().item()
    return loss, {name: gradient.numpy() for name, gradient in step.gradients().items()}
