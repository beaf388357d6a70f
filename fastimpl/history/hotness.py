"""refimpl/history/hotness.py on a kernel."""

import numpy as np

from fastimpl._twin import twin
from fastimpl.history import _hotness
from refimpl.history.hotness import share_arguments


@twin
def fair_share(mfg, needed):
    mfg, needed = share_arguments(mfg, needed)
    charges = [needed.astype(np.float64)]
    for block in mfg.blocks:
        charge = np.empty(block.n_dst)
        _hotness.split(block.start, block.end, block.indices, charges[-1], charge)
        charges.append(charge)
    return tuple(charges)
