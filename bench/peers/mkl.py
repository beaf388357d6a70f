"""MKL's sparse x dense product through sparse_dot_mkl."""

import os
import sys
from pathlib import Path

import numpy as np
import scipy.sparse

from bench.peers.protocol import serve, versions_of

for _library in sorted(Path(sys.prefix, "lib").glob("libmkl_rt.so*")):  # where pip puts it
    os.environ.setdefault("MKL_RT", str(_library))

import sparse_dot_mkl  # noqa: E402  (it looks for MKL_RT)


class Product:
    """A sparse x dense product, its result new or written to a kept buffer."""

    def __init__(self, case, way):
        with np.load(case["path"]) as held:
            n, X = len(held["X"]), held["X"]
            parts = held["data"], held["indices"].astype(np.int32), held["indptr"].astype(np.int32)
        A = scipy.sparse.csr_matrix(parts, shape=(n, n))
        more = {"out": np.zeros_like(X), "out_scalar": 0.0} if "buffer" in way else {}
        self.result = None
        self.call = lambda: sparse_dot_mkl.dot_product_mkl(A, X, **more)

    def __call__(self):
        self.result = None  # its memory may be used again
        self.result = self.call()

    def answer(self):
        """Return the product."""
        self()
        return {"product": self.result}


def versions():
    """Return what runs here."""
    return {
        **versions_of(("sparse_dot_mkl", "mkl", "scipy")),
        "backend": sparse_dot_mkl.get_version_string().partition(" for ")[0],
    }


if __name__ == "__main__":
    serve({"product": Product}, versions=versions)
