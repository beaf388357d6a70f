"""The peers' side: steps, dense products and sparse products by torch and torch_geometric."""

import platform
import warnings

import numpy as np
import torch
import torch_geometric

from bench.peers.geometric import Geometric
from bench.peers.hand_written import HandWritten
from bench.peers.protocol import serve

LR = 0.01
STEPS = {"PyG": Geometric, "torch": HandWritten}
warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
torch.sparse.check_sparse_tensor_invariants.disable()


class Step:
    """A training step by a contestant: forward, backward, fused Adam."""

    def __init__(self, case, contestant):
        with np.load(case["path"]) as arrays:
            self.model = STEPS[contestant](case, {name: arrays[name] for name in arrays.files})
        self.loss, self.adam = None, None

    def backward(self):
        self.loss = self.model.backward()

    def answer(self):
        """Return loss and gradients of the first step."""
        self.backward()
        gradients = self.model.gradients().items()
        return {
            "loss": self.loss.item(),
            **{name: grad.numpy() for name, grad in gradients},
        }

    def __call__(self):
        self.backward()
        if self.adam is None:
            self.adam = torch.optim.Adam(self.model.parameters().values(), lr=LR, fused=True)
        self.adam.step()


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
    """A sparse x dense product; `way` is one of `WAYS_THEIRS` in `measure`."""

    def __init__(self, case, way):
        with np.load(case["path"]) as arrays:
            indptr, indices = (torch.from_numpy(arrays[name]) for name in ("indptr", "indices"))
            data, X = torch.from_numpy(arrays["data"]), torch.from_numpy(arrays["X"])
        index = torch.int32 if "32-bit" in way else torch.int64
        A = torch.sparse_csr_tensor(indptr.to(index), indices.to(index), data, (len(X), len(X)))
        by_columns = X.T.contiguous().T if "columns" in way else None
        buffer = torch.empty_like(X) if "buffer" in way else None
        self.result = None
        if way == "reducing kernel":
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


def versions():
    """Return what runs here."""
    return {
        "Python": platform.python_version(),
        "torch": torch.__version__,
        "torch_geometric": torch_geometric.__version__,
        "BLAS": next(
            part.split("=")[1]
            for part in torch.__config__.show().replace("\n", ",").split(",")
            if "BLAS_INFO" in part
        ),
        "capability": torch.backends.cpu.get_cpu_capability(),
    }


if __name__ == "__main__":
    serve({"step": Step, "dense": Dense, "product": Product}, versions=versions)
