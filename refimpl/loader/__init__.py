"""Loading features: by one-sided reads, in rounds (FreshGNN section 6)."""

from refimpl.loader.features import (
    Fetched,
    FetchPlan,
    Message,
    Trace,
    fetch_one_sided,
    fetch_two_sided,
    gather_rows,
    one_sided_seconds,
    plan_fetch,
    two_sided_seconds,
)
from refimpl.loader.files import BytesRead, io_counters, open_features, write_features
from refimpl.loader.mpi import DistributedFeatures, MPIComm, SimComm
from refimpl.loader.rounds import Topology, Transfer, pairwise_exchange, plan_rounds, round_bound
from refimpl.loader.simulation import Simulation, simulate
from refimpl.loader.store import FeatureStore

__all__ = [
    "DistributedFeatures",
    "FeatureStore",
    "FetchPlan",
    "Fetched",
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
    "simulate",
    "two_sided_seconds",
    "write_features",
]
