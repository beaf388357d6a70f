"""refimpl/samplers/alias.py on a kernel."""

import numpy as np

from fastimpl._twin import twin
from fastimpl.samplers import _alias
from refimpl.samplers.alias import AliasTable, summed


@twin
def alias_build(weights):
    weights, total = summed(weights)
    p = weights / total * len(weights)
    prob, alias = np.empty(len(p)), np.empty(len(p), np.int64)
    _alias.alias_build(p, prob, alias, np.empty(len(p), np.int64))
    return AliasTable(prob, alias)
