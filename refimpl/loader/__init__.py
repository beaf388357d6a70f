"""Loading features: by one-sided reads, in rounds (FreshGNN section 6)."""

from refimpl.loader.direct_reads import read_rows
from refimpl.loader.distributed import DistributedFeatures
from refimpl.loader.features import (
    Fetched,
    FetchPlan,
    Message,
    Trace,
    fetch_one_sided,
    fetch_two_sided,
    one_sided_seconds,
    plan_fetch,
    two_sided_seconds,
)
from refimpl.loader.files import BytesRead, io_counters, open_features, write_features
from refimpl.loader.gathering import gather_rows
from refimpl.loader.lookahead import RowCache, Window, window_of
from refimpl.loader.lookahead_features import LookaheadFeatures
from refimpl.loader.lookahead_graph import LookaheadGraph
from refimpl.loader.mpi import MPIComm
from refimpl.loader.rounds import Topology, Transfer, pairwise_exchange, plan_rounds, round_bound
from refimpl.loader.simulation import Simulation, simulate
from refimpl.loader.store import FeatureStore
from refimpl.loader.threads import SimComm

__all__ = [
    "DistributedFeatures",
    "FeatureStore",
    "FetchPlan",
    "Fetched",
    "LookaheadFeatures",
    "LookaheadGraph",
    "RowCache",
    "Window",
    "BytesRead",
    "MPIComm",
    "Message",
    "SimComm",
    "Simulation",
    "Topology",
    "Trace",
    "Transfer",
    "plan_fetch",
    "fetch_one_sided",
    "fetch_two_sided",
    "gather_rows",
    "io_counters",
    "one_sided_seconds",
    "open_features",
    "pairwise_exchange",
    "round_bound",
    "plan_rounds",
    "read_rows",
    "simulate",
    "two_sided_seconds",
    "window_of",
    "write_features",
]
