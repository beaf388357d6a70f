"""Rows of a layer of which each rank has computed a share, for all ranks to read."""

import numpy as np

from refimpl.loader.distributed import DistributedFeatures


class SharedRows:
    """The shares of all ranks, rank 0's first (collective; so is `close`).

    Parameters
    ----------
    comm : Communicator
    share : InMemory or OnDisk
        The rows that this rank has computed.
    """

    def __init__(self, comm, share):
        self.share = share
        mine = np.ascontiguousarray(share.take(None, slice(None)))
        self.rows = DistributedFeatures(comm, mine)

    def take(self, gnn, at):
        """Return the rows at some places, an array or a slice."""
        at = np.arange(self.rows.n)[at] if isinstance(at, slice) else at
        return self.rows.fetch_one_sided(at).rows

    def close(self):
        """Take the windows away, and forget the rows."""
        self.rows.close()
        self.share.close()
