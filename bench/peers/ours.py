"""Our side: a step by fastimpl, its dense products on the same BLAS, sparse products, samples."""

import numpy as np
from scipy.linalg import blas

import fastimpl
from bench.peers.cases import Case, Passes, pass_stack
from bench.peers.protocol import serve
from bench.probes import triad_rate
from fastimpl._trials import ROUNDS
from fastimpl.propagation import matmul_into, matmul_t_into
from refimpl import Graph, Sampler, as_graph
from refimpl._support.bfloat16 import bfloat16_products
from refimpl._support.thread_limits import one_blas_thread
from refimpl.lab.training.evaluation import UNBOUNDED, Evaluation

LR = 0.01
NAMES = {"frontier": "bucket", "edge": "edge", "walks": "random_walk"}


class Step(Passes):
    """A training step: forward, backward, Adam; BLAS is held to one thread once, as in training."""

    def __init__(self, case, way="float32"):
        self.in_bfloat16 = way == "bfloat16"
        with np.load(case["path"]) as arrays:
            super().__init__(case, {name: arrays[name] for name in arrays.files}, fastimpl)
        self.moments, self.t = None, 0

    def answer(self):
        """Return loss and gradients of the first step; do some more, for products try both ways."""
        with bfloat16_products(self.in_bfloat16):
            loss, gradients = self.backward()
            for _ in range(2 * ROUNDS):
                self.backward()
        return {"loss": loss, **gradients}

    def __call__(self):
        with one_blas_thread(), bfloat16_products(self.in_bfloat16):
            _, gradients = self.backward()
        if self.moments is None:
            self.moments = {
                name: (np.zeros_like(W), np.zeros_like(W)) for name, W in self.weights.items()
            }
        self.t += 1
        for name, W in self.weights.items():
            fastimpl.adam_step(W, gradients[name], *self.moments[name], self.t, lr=LR)


class Inference:
    """The exact pass over all nodes, as training scores a model, with no bound on memory."""

    def __init__(self, case):
        with np.load(case["path"]) as arrays:
            held = {name: arrays[name] for name in arrays.files}
        graph = as_graph((held.pop("graph_indptr"), held.pop("graph_indices")))
        self.X, self.logits = held.pop("X"), None
        stack = pass_stack(Case(*(case[name] for name in Case._fields)))
        self.weights = {name: held[name] for name in stack.shapes()}
        self.evaluation = Evaluation(stack, graph, dtype=np.float32, memory=UNBOUNDED)

    def __call__(self):
        self.logits = None  # its memory may be used again
        self.logits = self.evaluation.run(self.weights, lambda nodes: self.X).logits

    def answer(self):
        """Return the logits."""
        self()
        return {"logits": self.logits}


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
    """A sparse x dense product; `way` is one of ours in `bench.peers.jobs.PRODUCTS`."""

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
        """Return the product, after some more: the first ones try both ways."""
        for _ in range(2 * ROUNDS + 1):
            self()
        return {"product": self.result}


class Subgraphs:
    """Subgraphs by `sample_many`, one or several in a call."""

    def __init__(self, path, kind, options, _nodes, together):
        with np.load(path) as arrays:
            self.graph = Graph(arrays["indptr"], arrays["indices"])
        self.sampler, self.together, self.next = Sampler(NAMES[kind], **options), together, 0

    def draw(self):
        """Return the next subgraphs; numbers go on, so none is drawn twice."""
        first = self.next
        self.next += self.together
        return fastimpl.sample_many(self.graph, self.sampler, 1, first, self.together)

    def __call__(self):
        self.draw()

    def answer(self):
        """Return a subgraph's nodes and the global ends of its entries."""
        drawn = self.draw()[0]
        rows = np.repeat(drawn.nodes, drawn.graph.degrees())
        return {"nodes": drawn.nodes, "rows": rows, "cols": drawn.nodes[drawn.graph.indices]}


class Batches:
    """`sample_mfg`, batch by batch, or several batches in one call."""

    def __init__(self, path, fanouts, mode, together):
        with np.load(path) as arrays:
            self.graph = Graph(arrays["indptr"], arrays["indices"])
            self.batches = list(arrays["batches"])
        self.fanouts, self.together = fanouts, together
        self.options = {"seed": 1, "epoch": 0, "mode": mode}
        self.next = 0

    def draw(self):
        """Return the graphs of the next batches; numbers go on, so no draw is repeated."""
        first = self.next
        self.next += self.together
        if self.together == 1:
            roots = self.batches[first % len(self.batches)]
            return [
                fastimpl.sample_mfg(self.graph, roots, self.fanouts, batch=first, **self.options)
            ]
        batches = [self.batches[b % len(self.batches)] for b in range(first, self.next)]
        return fastimpl.samplers.sample_mfg_many(
            self.graph, batches, self.fanouts, first_batch=first, **self.options
        )

    def __call__(self):
        self.draw()

    def answer(self):
        """Return (global receiver, sender) of every edge, and the roots, of one batch."""
        mfg = self.draw()[0]
        edges = np.unique(np.concatenate([block.edge_ids for block in mfg.blocks]))
        row = np.searchsorted(self.graph.indptr, edges, side="right") - 1
        return {
            "receivers": row,
            "senders": self.graph.indices[edges],
            "roots": mfg.nodes[-1],
            "nodes": mfg.nodes[0],
        }


if __name__ == "__main__":
    serve(
        {
            "step": Step,
            "inference": Inference,
            "dense": Dense,
            "product": Product,
            "subgraphs": Subgraphs,
            "batches": Batches,
        },
        triad=triad_rate,
    )
