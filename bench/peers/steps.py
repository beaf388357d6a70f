"""What the peers over torch share: a step with Adam, and what runs there."""

import warnings

import numpy as np
import torch

from bench.peers.protocol import MissingError, in_a_line, versions_of

LR = 0.01
warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
if hasattr(torch.sparse, "check_sparse_tensor_invariants"):
    torch.sparse.check_sparse_tensor_invariants.disable()


class Step:
    """A training step: forward, backward, Adam.

    Parameters
    ----------
    model : with ``parameters()``, ``backward()`` and ``gradients()``
    compiled : bool
        Whether `torch.compile` makes its ``backward``: here, before anything is timed.

    Raises
    ------
    MissingError
        If it cannot be compiled.
    """

    def __init__(self, model, compiled=False):
        self.model, self.loss, self.adam = model, None, None
        self.backward = torch.compile(model.backward) if compiled else model.backward
        if compiled:
            try:
                self.backward()
            except Exception as error:  # of whatever kind: of the compiler, or of C++
                raise MissingError(f"torch.compile: {in_a_line(error)}") from error

    def answer(self):
        """Return loss and gradients of the first step."""
        loss, gradients = self.backward(), self.model.gradients().items()
        return {"loss": loss.item(), **{name: grad.numpy() for name, grad in gradients}}

    def __call__(self):
        self.backward()
        if self.adam is None:
            self.adam = adam(list(self.model.parameters().values()))
        self.adam.step()


def adam(parameters):
    """Return torch's Adam in one pass, or where it has none on processors, over all at once."""
    try:
        return torch.optim.Adam(parameters, lr=LR, fused=True)
    except RuntimeError:  # torch 2.2
        return torch.optim.Adam(parameters, lr=LR, foreach=True)


def arrays(case):
    """Return the arrays of a case's file by name."""
    with np.load(case["path"]) as held:
        return {name: held[name] for name in held.files}


def versions(*more):
    """Return what runs here: versions, torch's BLAS, and what it takes the processor for."""
    return {
        **versions_of(("torch", *more)),
        "BLAS": next(
            part.split("=")[1]
            for part in torch.__config__.show().replace("\n", ",").split(",")
            if "BLAS_INFO" in part
        ),
        "capability": torch.backends.cpu.get_cpu_capability(),
    }
