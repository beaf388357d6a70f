"""The options of a run: their defaults, and what the user is told of them."""

import argparse
import importlib
import inspect

from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.history_options import HISTORY_OPTIONS
from refimpl.lab.apps.option import DEFAULTS, Option, methods_of
from refimpl.lab.apps.values import data_source, fanouts
from refimpl.lab.backend import completed
from refimpl.lab.data.loading import BUILT_IN
from refimpl.lab.training.config import METHODS, MODELS
from refimpl.lab.training.scaling import WALK_LENGTH
from refimpl.layers.gat import NORMS
from refimpl.layers.sage import CONCAT
from refimpl.samplers.sampling import KERNELS

DTYPES = ("float32", "float64")
FANOUT_ORDERS = ("roots-first", "code")
SAMPLERS = {name.replace("_", "-"): name for name in KERNELS}
CONCATS = {name.replace("_", "-"): name for name in CONCAT}

# The sampler's parameter behind an option; `clip` works on what any sampler draws.
PARAMETERS = {
    "frontier": "m",
    "budget": "n",
    "eta": "eta",
    "degree_cap": "deg_cap",
    "include": "include",
    "lanes": "lanes",
    "probe_range": "probe_range",
    "overflow": "overflow",
    "edges": "b",
    "edge_method": "method",
    "roots": "r",
    "walk_length": "h",
    "burn": "p_f",
    "clip": "clip",
}


def takers_of(name):
    """Return the samplers that take the option `name`, as the user calls them."""
    return [
        sampler
        for sampler, kernel in SAMPLERS.items()
        if PARAMETERS[name] in {"clip", *inspect.signature(KERNELS[kernel]).parameters}
    ]


def _sampler_option(name, text, shown=None, **form):
    """Return a sampler's option; its default and the samplers that take it are in `text` too."""
    takers = takers_of(name)
    if len(takers) < len(SAMPLERS):
        text = f"{text}; {', '.join(takers)} only"
    if shown is None:
        kernel = inspect.signature(KERNELS[SAMPLERS[takers[0]]])
        shown = str(kernel.parameters[PARAMETERS[name]].default)
    return Option(text, shown=shown, **form)


OPTIONS = {
    "data": Option(
        f"data set: {' or '.join(BUILT_IN)} (built in), or a folder in GraphSAINT's or "
        "Planetoid's format",
        "communities",
        type=data_source,
        metavar="FOLDER|NAME",
    ),
    "impl": Option(
        "implementation, by its import name: fastimpl (to run) or refimpl (to read)",
        "fastimpl",
        metavar="MODULE",
    ),
    "method": Option(
        "train on sampled subgraphs (graph), on batches of nodes with sampled neighbours in each "
        "layer as GraphSAGE does (layer), on the full training graph at once (full), on batches "
        "with sampled neighbours and a cache of embeddings and features as FreshGNN does (fresh), "
        "or so without the cache (neighbor)",
        DEFAULTS.method,
        choices=METHODS,
    ),
    "model": Option(
        "GraphSAGE, GCN, MixHop, GAT, or a stack of as many layers without the graph, as a control",
        DEFAULTS.model,
        choices=MODELS,
    ),
    "layers": Option("number of layers", DEFAULTS.layers, type=int, metavar="L"),
    "hidden": Option(
        "width of a layer's output: both halves of GraphSAGE, all powers of MixHop, all heads of "
        "GAT together",
        DEFAULTS.hidden,
        type=int,
        metavar="WIDTH",
    ),
    "bias": Option("add a vector in every layer", DEFAULTS.bias, type=bool),
    "dropout": Option(
        "share of each layer's input that is set to 0 in training",
        DEFAULTS.dropout,
        type=float,
        metavar="RATE",
    ),
    "row_l2": Option(
        "scale the rows of the last layer's output to length 1 before the classifier",
        DEFAULTS.row_l2,
        type=bool,
    ),
    "concat": Option(
        "which half of a layer's output comes first, the neighbours' or the node's own; "
        "GraphSAGE only",
        DEFAULTS.concat.replace("_", "-"),
        choices=tuple(CONCATS),
    ),
    "hops": Option(
        "K: a layer has the powers 0 .. K of the adjacency side by side; MixHop only",
        DEFAULTS.hops,
        type=int,
        metavar="K",
    ),
    "heads": Option(
        "attention heads of a layer; GAT only", DEFAULTS.heads, type=int, metavar="COUNT"
    ),
    "attention": Option(
        "scale the scores of a node's neighbours by their number (row), by softmax, or not at all; "
        "GAT only",
        DEFAULTS.attention,
        choices=NORMS,
    ),
    "sampler": Option(
        "how the nodes of a subgraph are drawn. Frontier sampling: frontier is the plain "
        "algorithm, dashboard and pin-tile draw from a Dashboard, bucket from classes of weights, "
        "all with one law. Others: edge (random edges), random-walk, multiple-walks (the "
        "frontier's budget, walked independently), forest-fire",
        "pin-tile",
        choices=tuple(SAMPLERS),
    ),
    "frontier": _sampler_option(
        "frontier", "m: nodes in the frontier, or walkers", "an eighth of N", type=int, metavar="M"
    ),
    "budget": _sampler_option(
        "budget",
        "n: a subgraph has at most N nodes",
        "a fifth of the nodes, at most 8000",
        type=int,
        metavar="N",
    ),
    "eta": _sampler_option(
        "eta",
        "length of the Dashboard over the expected number of entries in use, above 1",
        type=float,
    ),
    "degree_cap": _sampler_option(
        "degree_cap",
        "a node competes in the frontier as if it had at most this degree",
        "no cap",
        type=int,
        metavar="DEGREE",
    ),
    "include": _sampler_option(
        "include",
        "which node of a step joins the subgraph: the one reached, or the one left",
        choices=("pushed", "popped"),
    ),
    "lanes": _sampler_option(
        "lanes",
        "probes are counted in rounds of this many; never changes a subgraph",
        type=int,
        metavar="P",
    ),
    "probe_range": _sampler_option(
        "probe_range",
        "probe the whole Dashboard, or only as far as it was filled",
        choices=("capacity", "used"),
    ),
    "overflow": _sampler_option(
        "overflow",
        "a node that does not fit into the Dashboard gets what is left, or the Dashboard grows",
        choices=("truncate", "grow"),
    ),
    "edges": _sampler_option(
        "edges", "b: number of edges drawn", "half of N", type=int, metavar="B"
    ),
    "edge_method": _sampler_option(
        "edge_method",
        "draw an edge as a node's neighbour, or from an alias table of all edges; one law",
        choices=("direct", "alias"),
    ),
    "roots": _sampler_option(
        "roots", "r: number of walks", "N over walk length + 1", type=int, metavar="R"
    ),
    "walk_length": _sampler_option(
        "walk_length", "h: steps of a walk", str(WALK_LENGTH), type=int, metavar="H"
    ),
    "burn": _sampler_option(
        "burn",
        "probability that the fire goes on to one more neighbour",
        type=float,
        metavar="P_F",
    ),
    "clip": _sampler_option(
        "clip",
        "drop random nodes until their number is a multiple of this",
        "no clipping",
        type=int,
        metavar="UNIT",
    ),
    "epochs": Option(
        "length of the run; an epoch ends when as many nodes were seen as the training graph has",
        DEFAULTS.epochs,
        type=int,
        metavar="E",
    ),
    "lr": Option("learning rate of Adam", DEFAULTS.lr, type=float, metavar="RATE"),
    "batch": Option(
        f"nodes in a batch; {methods_of('batch')} only", DEFAULTS.batch, type=int, metavar="COUNT"
    ),
    "fanouts": Option(
        "sample at most so many neighbours of each node in each hop, or all of them; as many "
        f"numbers as layers, for MixHop layers times hops; {methods_of('fanouts')} only; with "
        "--model rgcn and methods fresh and neighbor, 5:10:5 gives each relation its own",
        shown="25, then 10; with --method fresh and neighbor 20, 15, then 10",
        type=fanouts,
        metavar="N,all,..",
    ),
    "fanout_order": Option(
        "how --fanouts is read: the hop from the batch's own nodes first, as papers print it, or "
        f"last, as GraphSAGE's code does; {methods_of('fanouts')} only",
        FANOUT_ORDERS[0],
        choices=FANOUT_ORDERS,
    ),
    "pool": Option(
        "subgraphs or batches sampled at a time, subgraphs in parallel; never changes a result",
        DEFAULTS.pool,
        type=int,
        metavar="COUNT",
    ),
    "background": Option(
        "sample the next subgraphs or batches while training runs; never changes a result",
        DEFAULTS.background,
        type=bool,
    ),
    **HISTORY_OPTIONS,
    "normalize": Option(
        "weight loss and aggregation by how often the sampler picks each node and edge, "
        "estimated before training",
        DEFAULTS.normalize,
        type=bool,
    ),
    "coverage": Option(
        "how often a node is met on average while that is estimated; with --normalize only",
        shown=f"{DEFAULTS.coverage:g}",
        type=float,
        metavar="TIMES",
    ),
    "classifier_relu": Option(
        "put the ReLU that the papers print before the classifier's softmax or sigmoid",
        DEFAULTS.classifier_relu,
        type=bool,
    ),
    "dtype": Option("precision of features and weights", DTYPES[0], choices=DTYPES),
    "seed": Option(
        "seed of initial weights and of sampling; the built-in data sets do not depend on it",
        DEFAULTS.rng,
        type=int,
    ),
    "threads": Option(
        "number of threads; never changes a result", shown="all", type=int, metavar="COUNT"
    ),
}


def flag(name):
    """Return an option's name as the user types it."""
    return "--" + name.replace("_", "-")


def add_options(parser, names, table=OPTIONS, **defaults):
    """Add the options `names` of `table` to `parser`; with `defaults` in place of the usual ones.

    What the user does not give is left out of the namespace, so that it can be told from what
    was given with the value of the default.
    """
    for name in names:
        option = table[name]
        default = defaults.get(name, option.default)
        shown = "off" if default is False else option.shown or default
        form = {"help": f"{option.help} (default: {shown})", "default": argparse.SUPPRESS}
        if option.type is bool:
            parser.add_argument(flag(name), action="store_true", **form)
        else:
            parser.add_argument(
                flag(name),
                type=option.type,
                choices=option.choices,
                metavar=option.metavar,
                **form,
            )


def load_implementation(name):
    """Return the implementation `name`: the module, made complete if it has some kernels only."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise UserError(f"--impl must be an import name, got {name!r}")
    try:
        gnn = importlib.import_module(name)
    except ImportError as error:
        raise UserError(f"--impl {name} cannot be imported: {error}") from error
    try:
        return completed(gnn)
    except ValueError as error:
        raise UserError(f"--impl {error}") from error
