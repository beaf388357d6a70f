"""Our side: a step by fastimpl, its dense products on the same BLAS, sparse products."""

import numpy as np
from scipy.linalg import blas

import fastimpl
from bench.peers.cases import Case, stack_of
from bench.peers.protocol import serve
from bench.probes import triad_rate
from fastimpl.propagation import matmul_into, matmul_t_into
from refimpl import Adjacency, as_graph

LR = 0.01


class Step:
    """A training step: forward, backward, Adam."""

    def __init__(self, case):
        with np.load(case["path"]) as arrays:
            held = {name: arrays[name] for name in arrays.files}
        pattern = as_graph((held.pop("indptr"), held.pop("indices")))
        data, data_t, perm = held.pop("data"), held.pop("data_t"), held.pop("perm")
        A = Adjacency(pattern, data, data_t, perm=perm)
        self.X = held.pop("X")
        self.Y = np.eye(case["classes"], dtype=np.float32)[held.pop("labels")]
        self.weights, self.moments, self.t = held, None, 0
        self.stack = stack_of(Case(*(case[name] for name in Case._fields)), fastimpl)
        self.operands = self.stack.operands(A)

    def backward(self):
        """Return loss and gradients."""
        logits, kept = self.stack.forward(self.weights, self.operands, self.X)
        loss = self.stack.loss(logits, self.Y)
        gradients = self.stack.gradients(self.weights, self.operands, kept, loss.gradient)
        return loss.value, gradients

    def answer(self):
        """Return loss and gradients of the first step."""
        loss, gradients = self.backward()
        return {"loss": loss, **gradients}

    def __call__(self):
        _, gradients = self.backward()
        if self.moments is None:
            self.moments = {
                name: (np.zeros_like(W), np.zeros_like(W)) for name, W in self.weights.items()
            }
        self.t += 1
        for name, W in self.weights.items():
            fastimpl.adam_step(W, gradients[name], *self.moments[name], self.t, lr=LR)


class Dense:
    """The dense products of a step and nothing else."""

    def __init__(self, products, face):
        rng = np.random.default_rng(0)
        multiply = {"SciPy": by_scipy, "fastimpl": by_fastimpl}[face]
        self.calls = []
        for ta, tb, rows, inner, cols in products:
            A = rng.standard_normal((inner, rows) if ta else (rows, inner), dtype=np.float32)
            B = rng.standard_normal((cols, inner) if tb else (inner, cols), dtype=np.float32)
            C = np.zeros((rows, cols), np.float32)
            multiply(A, ta, B, tb, C)
            want = (A.T if ta else A)[:3] @ (B.T if tb else B)
            np.testing.assert_allclose(C[:3], want, rtol=1e-3, atol=1e-2)
            self.calls.append((multiply, (A, ta, B, tb, C)))

    def __call__(self):
        for multiply, arguments in self.calls:
            multiply(*arguments)


def by_scipy(A, ta, B, tb, C):
    """C = op(A) op(B), row-major, on BLAS's own threads: it is given the transposes."""
    blas.sgemm(1, B.T, A.T, 0, C.T, trans_a=tb, trans_b=ta, overwrite_c=1)


def by_fastimpl(A, ta, B, tb, C):
    """C = op(A) op(B) as the layers do it."""
    if ta:
        matmul_t_into(A, B, C)
    else:
        matmul_into(A, B, C, transpose_b=tb)


class Product:
    """A sparse x dense product; `way` is one of `WAYS_OURS` in `measure`."""

    def __init__(self, case, way):
        with np.load(case["path"]) as arrays:
            pattern = as_graph((arrays["indptr"], arrays["indices"]))
            data, self.X = arrays["data"], arrays["X"]
        matrix = pattern.to_scipy(data)
        self.result = None
        self.call = {
            "fastimpl": lambda: fastimpl.spmm(pattern, data, self.X),
            "SciPy": lambda: matrix @ self.X,
        }[way]

    def __call__(self):
        self.result = None  # its memory may be used again
        self.result = self.call()

    def answer(self):
        """Return the product."""
        self()
        return {"product": self.result}


if __name__ == "__main__":
    serve({"step": Step, "dense": Dense, "product": Product}, triad=triad_rate)
