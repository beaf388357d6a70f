"""Historical embeddings: the cache, its policies, what they prune, and how features are loaded."""

from refimpl.history.cache import BidirectionalCache
from refimpl.history.compaction import LiveRows, live_layers, prune_layers
from refimpl.history.entries import Entries, cache_admit, cache_fetch, cache_lookup, cache_read
from refimpl.history.hotness import (
    SamplingProfile,
    count_visits,
    degree_hotness,
    fair_share,
    reverse_pagerank,
)
from refimpl.history.iteration import FreshStep, fresh_iteration
from refimpl.history.lazy_iteration import lazy_fresh_iteration
from refimpl.history.performance import PerformancePolicy, plan_performance
from refimpl.history.policy import (
    PolicyCounts,
    cache_update,
    gradient_norms,
    policy_update,
    select_stable,
)
from refimpl.history.pruning import PruneResult, io_saving, prune_mfg
from refimpl.history.static_cache import StaticSplitCache

__all__ = [
    "BidirectionalCache",
    "Entries",
    "FreshStep",
    "LiveRows",
    "PerformancePolicy",
    "PolicyCounts",
    "PruneResult",
    "SamplingProfile",
    "StaticSplitCache",
    "cache_admit",
    "cache_fetch",
    "cache_lookup",
    "cache_read",
    "cache_update",
    "degree_hotness",
    "fair_share",
    "io_saving",
    "fresh_iteration",
    "lazy_fresh_iteration",
    "live_layers",
    "plan_performance",
    "policy_update",
    "count_visits",
    "prune_layers",
    "prune_mfg",
    "reverse_pagerank",
    "gradient_norms",
    "select_stable",
]
