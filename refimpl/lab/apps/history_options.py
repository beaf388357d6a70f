"""Options of FreshGNN and of the methods that it is compared with."""

from refimpl.history.ring import HEADERS, OVERFLOWS
from refimpl.history.validity import STALENESS
from refimpl.lab.apps.option import DEFAULTS, Option, methods_of
from refimpl.lab.apps.values import NO_LIMIT, age, numbers, size
from refimpl.lab.training.config import CONTROLS, HOTNESS, RANK_BASES, SAMPLE_MODES

PLACES = ("memory", "mmap")  # of features

HISTORY_OPTIONS = {
    "workers": Option(
        "threads that sample the next batches while training runs, 0 for none; never changes a "
        f"result; {methods_of('workers')} only",
        DEFAULTS.workers,
        type=int,
        metavar="COUNT",
    ),
    "features": Option(
        "training reads features in memory, or in a file in the folder, mapped into memory, that "
        "lasts as long as the run; evaluation reads them in memory; never changes a result; "
        f"{methods_of('sample_mode')} and --dtype float32 only",
        PLACES[0],
        choices=PLACES,
    ),
    "half_features": Option(
        f"training reads features in float16; {methods_of('sample_mode')} and --dtype float32 only",
        False,
        type=bool,
    ),
    "p_grad": Option(
        "share of a layer's nodes, those with the smallest gradients, whose embeddings may be "
        f"in the cache; {methods_of('p_grad')} only",
        DEFAULTS.p_grad,
        type=float,
        metavar="SHARE",
    ),
    "t_stale": Option(
        f"use an embedding for at most so many iterations, {NO_LIMIT} for any number; "
        f"{methods_of('t_stale')} only",
        DEFAULTS.t_stale,
        type=age,
        metavar=f"AGE|{NO_LIMIT}",
    ),
    "warmup": Option(
        f"iterations before the first embedding is cached; {methods_of('warmup')} only",
        DEFAULTS.warmup,
        type=int,
        metavar="COUNT",
    ),
    "buffer": Option(
        "bytes for cached embeddings and features together, as 65536, 256MB or 1GiB; "
        f"{methods_of('buffer')} only",
        DEFAULTS.buffer,
        shown=f"{DEFAULTS.buffer >> 20}MiB",
        type=size,
        metavar="SIZE",
    ),
    "hotness": Option(
        "which nodes' features are cached at the start: those with most neighbours, with the "
        "highest reverse PageRank, those that a trial run of the sampling loads most often, or "
        f"none; {methods_of('hotness')} only",
        DEFAULTS.hotness,
        choices=HOTNESS,
    ),
    "header": Option(
        "an embedding goes to the next slot of the buffer that is free (continue), or to one slot "
        "after the other, from the first again every --t-stale iterations, whether they are free "
        f"or not (cycle), as printed; {methods_of('header')} only",
        DEFAULTS.header,
        choices=HEADERS,
    ),
    "buffer_overflow": Option(
        "an embedding that does not fit into the buffer replaces another (wrap), or is not "
        f"cached (drop); {methods_of('overflow')} only",
        DEFAULTS.overflow,
        choices=OVERFLOWS,
    ),
    "control": Option(
        "cache embeddings by their gradients, at random, or those with the largest gradients, to "
        f"see what the gradients are worth; {methods_of('control')} only",
        DEFAULTS.control,
        choices=CONTROLS,
    ),
    "cache_layers": Option(
        f"layers whose embeddings are cached; {methods_of('cache_layers')} only",
        shown="all but the last",
        type=numbers,
        metavar="LAYER,..",
    ),
    "rank_base": Option(
        f"--p-grad is a share of all live rows, or of the new ones; {methods_of('rank_base')} only",
        DEFAULTS.rank_base,
        choices=RANK_BASES,
    ),
    "staleness": Option(
        "an embedding has a stamp that says how old it is, or lasts until the next cycle of the "
        f"buffer overwrites it, as in the public code; {methods_of('staleness')} only",
        DEFAULTS.staleness.replace("_", "-"),
        choices=tuple(name.replace("_", "-") for name in STALENESS),
    ),
    "no_lookup_roots": Option(
        "never read the embeddings of a batch's own nodes from the cache; "
        f"{methods_of('lookup_roots')} only",
        False,
        type=bool,
    ),
    "no_gradient_evict": Option(
        "leave an embedding in the cache when its gradient has become large, as the public code "
        f"does; {methods_of('gradient_evict')} only",
        False,
        type=bool,
    ),
    "performance": Option(
        "cache only embeddings that save more rows for their room than the features they would "
        "take the place of; --hotness profile only",
        DEFAULTS.performance,
        type=bool,
    ),
    "sample_mode": Option(
        "draw a node's neighbours anew for each layer, or once for all; "
        f"{methods_of('sample_mode')} only",
        DEFAULTS.sample_mode,
        choices=SAMPLE_MODES,
    ),
    "beta": Option(
        f"momentum of histories outside the batch; {methods_of('beta')} only",
        DEFAULTS.beta,
        type=float,
        metavar="SHARE",
    ),
    "clusters": Option(
        f"parts that the training graph is cut into; {methods_of('clusters')} only",
        DEFAULTS.clusters,
        type=int,
        metavar="COUNT",
    ),
    "clusters_per_batch": Option(
        f"parts that make a batch; {methods_of('clusters_per_batch')} only",
        DEFAULTS.clusters_per_batch,
        type=int,
        metavar="COUNT",
    ),
    "layer_sizes": Option(
        "nodes drawn for each layer, that of the batch's own neighbours first; "
        f"{methods_of('layer_sizes')} only",
        shown="512 each",
        type=numbers,
        metavar="COUNT,..",
    ),
    "bases": Option(
        "basis matrices that those of all relations are mixtures of, 0 for a matrix for each "
        "relation; R-GCN only",
        DEFAULTS.bases,
        type=int,
        metavar="COUNT",
    ),
    "typed_input": Option(
        "multiply features by a matrix for each type of node before the first layer; R-GCN only",
        False,
        type=bool,
    ),
}
