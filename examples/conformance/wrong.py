"""The pages' pseudo-code with one line wrong: a transposition without line 8 of Algorithm 6.

minibatch-gnn conformance --cmd 'python examples/conformance/wrong.py' --only transpose_perm
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "docs" / "kernels" / "code"))

import adapter  # noqa: E402


def transpose_perm(graph):
    perm = [-1] * len(graph.indices)
    free = graph.indptr[:-1]
    for v in range(len(graph.indptr) - 1):
        for j in range(graph.indptr[v], graph.indptr[v + 1]):
            u = graph.indices[j]
            perm[free[u]] = j  # line 8, `free[u] += 1`, should follow
    return perm


page, _, check = adapter.KERNELS["transpose_perm"]
adapter.KERNELS["transpose_perm"] = page, transpose_perm, check
adapter.main()
