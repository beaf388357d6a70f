"""Loading features: by one-sided reads, in rounds (FreshGNN section 6)."""

from refimpl.loader.features import (
    Fetched,
    FetchPlan,
    Message,
    Trace,
    build_plan,
    fetch_one_sided,
    fetch_two_sided,
    gather_rows,
    one_sided_seconds,
    two_sided_seconds,
)
from refimpl.loader.files import IoCounters, io_counters, open_features, write_features
from refimpl.loader.mpi import DistributedFeatures, MPIComm, SimComm
from refimpl.loader.rounds import Topology, Transfer, pairwise_exchange, round_bound, schedule
from refimpl.loader.simulation import Simulation, simulate
from refimpl.loader.store import FeatureStore

__all__ = [
    "DistributedFeatures",
    "FeatureStore",
    "FetchPlan",
    "Fetched",
    "IoCounters",
    "MPIComm",
    "Message",
    "SimComm",
    "Simulation",
    "Topology",
    "Trace",
    "Transfer",
    "build_plan",
    "fetch_one_sided",
    "fetch_two_sided",
    "gather_rows",
    "io_counters",
    "one_sided_seconds",
    "open_features",
    "pairwise_exchange",
    "round_bound",
    "schedule",
    "simulate",
    "two_sided_seconds",
    "write_features",
]
