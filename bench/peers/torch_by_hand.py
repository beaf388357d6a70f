"""Plain torch: the step written by hand, dense products, sparse products in all its ways."""

import numpy as np
import torch

from bench.peers.autocast import Autocast
from bench.peers.hand_inference import Inference
from bench.peers.hand_written import HandWritten
from bench.peers.protocol import serve
from bench.peers.steps import Step, arrays, versions


class Dense:
    """The dense products of a step and nothing else."""

    def __init__(self, products):
        self.calls = []
        for ta, tb, rows, inner, cols in products:
            A = torch.randn(*((inner, rows) if ta else (rows, inner)))
            B = torch.randn(*((cols, inner) if tb else (inner, cols)))
            self.calls.append((A.T if ta else A, B.T if tb else B, torch.empty(rows, cols)))

    def __call__(self):
        for A, B, C in self.calls:
            torch.mm(A, B, out=C)


class Product:
    """A sparse x dense product; `way` is one of torch's in `bench.peers.jobs.PRODUCTS`."""

    def __init__(self, case, way):
        with np.load(case["path"]) as held:
            indptr, indices = (torch.from_numpy(held[name]) for name in ("indptr", "indices"))
            data, X = torch.from_numpy(held["data"]), torch.from_numpy(held["X"])
        index = torch.int32 if "32-bit" in way else torch.int64
        A = torch.sparse_csr_tensor(indptr.to(index), indices.to(index), data, (len(X), len(X)))
        by_columns = X.T.contiguous().T if "columns" in way else None
        buffer = torch.empty_like(X) if "buffer" in way else None
        self.result = None
        if "reducing" in way:
            self.call = lambda: torch.sparse.mm(A, X, "sum")
        elif buffer is not None:
            self.call = lambda: torch.addmm(buffer, A, X, beta=0, out=buffer)
        else:
            operand = X if by_columns is None else by_columns
            self.call = lambda: torch.sparse.mm(A, operand)

    def __call__(self):
        self.result = None  # its memory may be used again
        self.result = self.call()

    def answer(self):
        """Return the product."""
        self()
        return {"product": self.result.numpy()}


def step(case, way):
    """Return a step, eager, compiled, or by autograd in bfloat16."""
    if way == "autocast":
        return Step(Autocast(case, arrays(case)))
    return Step(HandWritten(case, arrays(case)), compiled=way == "compiled")


if __name__ == "__main__":
    serve(
        {"step": step, "inference": Inference, "dense": Dense, "product": Product},
        versions=versions,
    )
