"""The command line `minibatch-gnn`, also `python -m refimpl` and `python -m fastimpl`."""

import argparse
import sys

from refimpl.lab.apps.compare import UNUSED, compare
from refimpl.lab.apps.conformance import command as conformance
from refimpl.lab.apps.errors import Interrupted, UserError
from refimpl.lab.apps.info import info
from refimpl.lab.apps.options import OPTIONS, add_options, flag
from refimpl.lab.apps.predict import PREDICT_OPTIONS, predict
from refimpl.lab.apps.run import FREE, train
from refimpl.lab.apps.sample import SAMPLE_OPTIONS, sample
from refimpl.lab.apps.stepper import command as trace

COMPARE_POOL = 2
SCALING = (
    "By default a subgraph's budget is in proportion to the graph: n is a fifth of its nodes, at "
    "most 8000; the frontier m is an eighth of n, the number of random edges half of n, and "
    "random walks are as many as reach n nodes."
)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, shown like all others by `main`."""

    def error(self, message):
        raise UserError(f"{message} (see {self.prog} --help)")


def build_parser(impl="fastimpl", prog="minibatch-gnn"):
    """Return the parser, with `impl` as the default implementation."""
    parser = Parser(
        prog=prog,
        description="Train graph neural networks on large graphs, step through the algorithms, "
        "and check other implementations of them.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_train(commands, impl)
    _add_predict(commands, impl)
    _add_compare(commands)
    _add_sample(commands, impl)
    _add_info(commands, impl)
    trace.add_parser(commands, impl)
    conformance.add_parser(commands, impl)
    return parser


def _add_train(commands, impl):
    parser = commands.add_parser(
        "train",
        help="train a model and report its F1-micro and where the time went",
        description="Train a model; write metrics.json, history.csv, curve.png and "
        f"checkpoint.npz. {SCALING}",
        allow_abbrev=False,
    )
    add_options(parser, OPTIONS, impl=impl)
    parser.add_argument(
        "--out", metavar="FOLDER", help="folder to write to (default: runs/ and the data's name)"
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on from the checkpoint in the folder, with its settings, to the same bits as "
        "an uninterrupted run; --epochs may be raised, "
        f"{', '.join(map(flag, FREE[:-1]))} and {flag(FREE[-1])} changed "
        "(default: off, start over)",
    )


def _add_predict(commands, impl):
    parser = commands.add_parser(
        "predict",
        help="use a trained model on the nodes of any graph",
        description="Predict labels, probabilities or embeddings with a model that train wrote; "
        "show F1-micro where the nodes have labels. One exact pass over the graph, whatever the "
        "nodes.",
        allow_abbrev=False,
    )
    parser.add_argument("model", metavar="MODEL.npz", help="a model that train wrote")
    add_options(parser, PREDICT_OPTIONS, PREDICT_OPTIONS, impl=impl)
    parser.add_argument(
        "--out",
        metavar="FILE.npy|FILE.csv",
        help="write the predictions to this file, a row a node (default: no file)",
    )


def _add_compare(commands):
    parser = commands.add_parser(
        "compare",
        help="train refimpl and fastimpl side by side: same results? how much faster?",
        description="Train both implementations on the same data, seed and settings, in turns; "
        "show the time of each part, and whether the results agree (exit status 1 if not). "
        + SCALING,
        allow_abbrev=False,
    )
    add_options(parser, _compared(), pool=COMPARE_POOL)
    parser.add_argument(
        "--rounds",
        type=int,
        default=7,
        metavar="COUNT",
        help="rounds of --pool iterations each, of which the median is shown (default: 7)",
    )
    parser.add_argument(
        "--out", metavar="FILE", help="write the table to this file as JSON (default: no file)"
    )


def _add_sample(commands, impl):
    parser = commands.add_parser(
        "sample",
        help="draw subgraphs: what did it take, and how like the graph are they?",
        description="Draw subgraphs; show what the sampler counted, and the structure of the "
        f"subgraphs next to that of the graph. {SCALING}",
        allow_abbrev=False,
    )
    add_options(parser, SAMPLE_OPTIONS, SAMPLE_OPTIONS, impl=impl)
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        help="write sample.json and sample.png to this folder (default: no files)",
    )


def _add_info(commands, impl):
    parser = commands.add_parser(
        "info",
        help="show versions, threads, OpenMP, BLAS and the instruction set",
        description="Show versions, threads, OpenMP, BLAS and the instruction set.",
        allow_abbrev=False,
    )
    add_options(parser, ["impl"], impl=impl)


def _compared():
    """Return the options of `compare`."""
    return [name for name in OPTIONS if name not in UNUSED]


def main(argv=None, *, impl="fastimpl", prog="minibatch-gnn"):
    """Run a command line; return its exit status.

    Parameters
    ----------
    argv : list of str, optional
        Default: ``sys.argv[1:]``.
    impl : str
        The default of ``--impl``.
    prog : str
        How the user calls the program.

    Returns
    -------
    int
        0; 1 if `compare`, `conformance` or ``vectors --check`` finds a difference; 2 for bad
        input; 130 if interrupted.
    """
    try:
        return _run(vars(build_parser(impl, prog).parse_args(argv)), impl, prog) or 0
    except (UserError, OSError) as error:  # an OSError is never the program's fault
        print(f"{prog}: error: {error}", file=sys.stderr)
        return 2
    except Interrupted as stop:
        print(f"{prog}: {stop}", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print(f"{prog}: interrupted", file=sys.stderr)
        return 130


def _run(arguments, impl, prog):
    command, out = arguments["command"], arguments.get("out")
    table = {"sample": SAMPLE_OPTIONS, "predict": PREDICT_OPTIONS}.get(command, OPTIONS)
    given = {name: value for name, value in arguments.items() if name in table}
    defaults = {name: option.default for name, option in table.items()} | {"impl": impl}
    if command == "trace":
        return trace.run(arguments)
    if command in ("conformance", "vectors"):
        return conformance.run(arguments, impl)
    if command == "train":
        return train(given, defaults=defaults, out=out, resume=arguments["resume"], prog=prog)
    if command == "predict":
        return predict(arguments["model"], given, defaults=defaults, out=out)
    if command == "sample":
        return sample(given, defaults=defaults, out=out)
    if command == "compare":
        defaults = {**defaults, "pool": COMPARE_POOL}
        return compare(given, defaults=defaults, rounds=arguments["rounds"], out=out)
    return info(given.get("impl", impl))
