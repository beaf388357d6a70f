"""The command line `minibatch-gnn`, also `python -m refimpl` and `python -m fastimpl`."""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from refimpl._support.mpi_start import begun, exit_status
from refimpl._support.require import shown
from refimpl.lab.apps.compare import compare, compare_options
from refimpl.lab.apps.completion import add_completion, print_completion
from refimpl.lab.apps.config_file import with_file, with_preset
from refimpl.lab.apps.conformance import command as conformance
from refimpl.lab.apps.convert import convert_command, convert_options
from refimpl.lab.apps.course import command as exercise
from refimpl.lab.apps.errors import (
    Interrupted,
    Terminated,
    UserError,
    ended_in_order,
    message_of,
    warnings_said,
)
from refimpl.lab.apps.info import info
from refimpl.lab.apps.option import add_options, flags_of, naming_flags, typed_integer
from refimpl.lab.apps.options import RUN, groups, run_options, train_options
from refimpl.lab.apps.predict import predict, predict_options
from refimpl.lab.apps.ranks import check_same, ranks, starting, together
from refimpl.lab.apps.results import add_overwrite, output_name
from refimpl.lab.apps.run import train
from refimpl.lab.apps.sample import sample, sample_options
from refimpl.lab.apps.sampler_options import PARAMETERS
from refimpl.lab.apps.stepper import command as trace
from refimpl.lab.apps.terminal import STANDARD_OUTPUT, escaped_output
from refimpl.lab.training.config import suggestion
from refimpl.lab.training.presets import OF_THE_PAPERS, PRESETS
from refimpl.lab.training.settings import to_json

if TYPE_CHECKING:
    from refimpl.lab.apps.option import Options
    from refimpl.loader.mpi import MPIComm

    Commands: TypeAlias = argparse._SubParsersAction["Parser"]
    Work: TypeAlias = Callable[[], int | None]  # gives the exit status, or None for 0

LEFT = {  # commands that are part of a checkout now: what runs them there
    "bench": "pytest bench",
    "figure": "python -m bench figure",
}
SHOWN = (
    "data",
    "config",
    "preset",
    "model",
    "method",
    "sampler",
    "layers",
    "hidden",
    "epochs",
    "lr",
    "dropout",
    "seed",
    "dtype",
    "threads",
    "impl",
)
OF_TRAIN = (*SHOWN[:8], "batch-size", "fanouts", *SHOWN[8:], "out", "resume", "overwrite")
OF_COMPARE = tuple(name for name in SHOWN if name not in ("impl", "epochs"))
OF_COMPARE += ("batch-size", "fanouts", "rounds", "out", "overwrite")
SCALING = "By default the sizes of subgraphs depend on the size of the graph."


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, shown like all others by `main`.

    With `common`, options by name, ``--help`` shows these alone, a line each; ``--help-all`` shows
    all of them.
    """

    common: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def show_first(self, common: tuple[str, ...], notes: tuple[str, ...]) -> None:
        """Let ``--help`` show the options of these names, then notes, and ``--help-all`` all."""
        self.common, self.notes = common, notes
        self.add_argument("--help-all", action=HelpAll, help="show all options, and exit")

    def format_help(self) -> str:
        """Return what ``--help`` shows."""
        if not self.common:
            return super().format_help()
        shown = {name: self._option_string_actions[f"--{name}"] for name in self.common}
        rows = [_short(action) for action in shown.values()]
        width = max(len(typed) for typed, _ in rows)
        lines = [f"  {typed:{width}}  {text}" for typed, text in rows]
        first, *_ = textwrap.wrap(self.description or "", 10_000)
        about = textwrap.fill(first.partition(". ")[0].rstrip(".") + ".", 98)
        usage = self.format_usage().rstrip()
        more = f"All options, with their defaults: {self.prog} --help-all"
        return "\n".join([usage, "", about, "", *lines, "", *self.notes, "", more, ""])

    def format_all(self) -> str:
        """Return the help on all options."""
        return super().format_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse; the parser of the command itself complains of what it does not know."""
        if sum(word.partition("=")[0] == "--columns" for word in args or ()) > 1:
            self.error("argument --columns: give it once, with commas between the columns")
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            flags = [word.partition("=")[0] for word in unknown if word.startswith("-")]
            close = suggestion(flags[0], self._option_string_actions) if flags else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{close}")
        return found, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a word that is none of the choices, and name the nearest."""
        if action.choices is not None and value not in action.choices:
            close = suggestion(value, action.choices)
            known = ", ".join(action.choices)
            raise argparse.ArgumentError(
                action, f"invalid choice: {shown(value)} (choose from {known}){close}"
            )

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (see {self.prog} --help)")


class HelpAll(argparse.Action):
    """Show the help on all options, and exit."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(
        self, parser: Any, namespace: object, values: object, option_string: str | None = None
    ) -> None:
        """Show it."""
        print(parser.format_all(), end="")
        parser.exit()


def _short(action: Any) -> tuple[str, str]:
    """Return an option as it is typed, and in a line what it says, with its default."""
    said, _, default = action.help.replace("%%", "%").partition(" (default: ")
    who, colon, value = default.rstrip(")").split(";")[0].partition(": ")
    default = f"{value} with --method {who}" if colon else who.split(",")[0]
    form, clause = action.metavar or action.dest.upper(), said.split(";")[0].split(". ")[0]
    if form.startswith("{"):
        form, clause = "NAME", form.strip("{}").replace(",", ", ")
    typed = action.option_strings[-1] + ("" if action.nargs == 0 else f" {form}")
    return typed, f"{clause} ({default})" if default else clause


def build_parser(impl: str = "fastimpl", prog: str = "minibatch-gnn") -> Parser:
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
    _add_convert(commands)
    _add_info(commands, impl)
    trace.add_parser(commands, impl)
    conformance.add_parser(commands, impl)
    exercise.add_parser(commands)
    add_completion(commands)
    return parser


def _add_train(commands: Commands, impl: str) -> None:
    parser = commands.add_parser(
        "train",
        usage="%(prog)s [OPTION ..]",
        help="train a model; report its F1-micro and the time of each part",
        description="Train a model; write metrics.json, history.csv, curve.png, model.npz and "
        f"checkpoint.npz. {SCALING}",
        allow_abbrev=False,
    )
    options = train_options(impl)
    run = add_options(parser, options, groups())[RUN]
    run.add_argument(
        "--out",
        type=output_name,
        metavar="FOLDER",
        help="write the run to this folder (default: runs/ and the name of the data)",
    )
    _add_config(run)
    *others, last = (option.flag for option in options.values() if option.free)
    going_on = run.add_mutually_exclusive_group()
    going_on.add_argument(
        "--resume",
        action="store_true",
        help="continue the run in the folder with its settings. The result is bit-identical to "
        f"an uninterrupted run. You may raise --epochs, and change {', '.join(others)} and "
        f"{last} (default: off)",
    )
    add_overwrite(going_on, "the run in the folder")
    _add_preset(run, parser, options, OF_TRAIN)


def _add_config(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--config",
        metavar="FILE.toml|metrics.json",
        help="read options from this file, a .toml file or the metrics.json of another run. A "
        ".toml file has one option on each line, without the leading hyphens. Options on "
        "the command line override the file (default: no file)",
    )


def _add_preset(
    group: argparse._ArgumentGroup, parser: Parser, options: Options, common: tuple[str, ...]
) -> None:
    """Add ``--preset``, and let ``--help`` say what the papers' presets set."""
    chosen = {
        name: " ".join(options[key].typed(value) for key, value in settings.items())
        for name, settings in PRESETS.items()
    }
    said = "; ".join(f"{name}: {words}" for name, words in chosen.items())
    group.add_argument(
        "--preset",
        choices=tuple(PRESETS),
        metavar="NAME",
        help=f"start from a paper's settings. Other options and a file override them. {said} "
        "(default: no preset)",
    )
    filled = textwrap.TextWrapper(98, subsequent_indent="    ", break_on_hyphens=False)
    notes = (f"  --preset {name} sets {chosen[name]}" for name in OF_THE_PAPERS)
    parser.show_first(common, tuple(map(filled.fill, notes)))


def _add_predict(commands: Commands, impl: str) -> None:
    parser = commands.add_parser(
        "predict",
        help="apply a trained model to the nodes of any graph",
        description="Predict labels, probabilities or embeddings with a model that train wrote. "
        "If the nodes have labels, also show F1-micro. Predictions come from one "
        "exact pass over the graph.",
        allow_abbrev=False,
    )
    parser.add_argument("model", metavar="MODEL.npz", help="a model that train wrote")
    add_options(parser, predict_options(impl))
    parser.add_argument(
        "--out",
        type=output_name,
        metavar="FILE.npy|FILE.csv",
        help="write the predictions to this file, one row for each node (default: no file)",
    )
    add_overwrite(parser, "that file")


def _add_compare(commands: Commands) -> None:
    parser = commands.add_parser(
        "compare",
        usage="%(prog)s [OPTION ..]",
        help="train with refimpl and fastimpl; compare results and speed",
        description="Train both implementations in turns on the same data, seed and settings. "
        "Show the time of each part, and whether the results agree. If they do not "
        "agree, the exit status is 1. " + SCALING,
        allow_abbrev=False,
    )
    run = add_options(parser, compare_options(), groups())[RUN]
    run.add_argument(
        "--rounds",
        type=typed_integer,
        default=7,
        metavar="COUNT",
        help="time this many rounds of --pool iterations each; show the median (default: 7)",
    )
    run.add_argument(
        "--out",
        type=output_name,
        metavar="FILE",
        help="write the table to this file as JSON (default: no file)",
    )
    add_overwrite(run, "that file")
    _add_config(run)
    _add_preset(run, parser, compare_options(), OF_COMPARE)


def _add_sample(commands: Commands, impl: str) -> None:
    parser = commands.add_parser(
        "sample",
        help="draw subgraphs; report their cost and their similarity to the graph",
        description="Draw subgraphs. Show the sampler's counts, and compare the structure of "
        f"the subgraphs with the graph's. {SCALING}",
        allow_abbrev=False,
    )
    add_options(parser, sample_options(impl))
    _add_config(parser)
    parser.add_argument(
        "--out",
        type=output_name,
        metavar="FOLDER",
        help="write sample.json and sample.png to this folder (default: no files)",
    )
    add_overwrite(parser, "these files in the folder")


def _add_convert(commands: Commands) -> None:
    parser = commands.add_parser(
        "convert",
        help="convert a data set to a folder of memory-mapped arrays",
        description="Convert a data set of any format to a folder of .npy files and meta.json. "
        "Give this folder to --data, which maps it into memory. Folders of "
        "GraphSAINT and OGB, and tables without weights, may be larger than memory.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="the data set to convert, in the forms of --data of train",
    )
    parser.add_argument("folder", type=output_name, metavar="FOLDER", help="the folder to write")
    add_options(parser, convert_options())
    add_overwrite(parser, "the data set in FOLDER")


def _add_info(commands: Commands, impl: str) -> None:
    parser = commands.add_parser(
        "info",
        help="show versions, threads, OpenMP, BLAS and the instruction set",
        description="Show versions, threads, OpenMP, BLAS and the instruction set.",
        allow_abbrev=False,
    )
    add_options(parser, {"impl": run_options(impl)["impl"]._replace(group="")})


def main(
    argv: Sequence[str] | None = None, *, impl: str = "fastimpl", prog: str = "minibatch-gnn"
) -> int:
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
        0; 1 if `compare`, `conformance`, ``exercise check`` or ``vectors --check`` finds a
        difference; 2 for bad input; 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP; 141 if
        whoever reads what is printed has gone.
    """
    rank, words = 0, [*(sys.argv[1:] if argv is None else argv)]

    def asked() -> Work:
        nonlocal rank
        rank, comm = ranks(words, prog)
        return _asked(words, impl, prog, comm)

    return answer(asked, prog, words[0] if words else None, lambda text: _say(text, rank))


def answer(
    asked: Callable[[], Work],
    prog: str,
    command: str | None,
    say: Callable[[str], object] | None = None,
) -> int:
    """Do what a command line asks for; return the exit status, and say what went wrong.

    Parameters
    ----------
    asked : callable
        Reads the command line; returns a function without arguments, which does the work and
        returns an exit status or None.
    prog : str
    command : str or None
        Its name: the advice depends on it where memory runs out.
    say : callable, optional
        Shows a message; by default on stderr.
    """
    say = say or _say
    try:
        with (
            escaped_output(),
            warnings_said(say, prog),
        ):  # a reader that has gone is noticed here; help leaves here, too
            run = asked()
            with ended_in_order():
                return run() or 0
    except BrokenPipeError:  # as of `.. | head`: no fault, and nobody to tell
        _print_nowhere()
        return 141
    except (UserError, OSError, MemoryError) as error:  # an OSError is never the program's fault
        say(f"{prog}: error: {message_of(error, command)}")
        if getattr(error, "filename", None) == STANDARD_OUTPUT:
            _print_nowhere()
        return 2
    except Interrupted as stop:
        say(f"{prog}: {message_of(stop, command)}")
        return exit_status(stop)
    except KeyboardInterrupt as stop:
        say(f"{prog}: {stop if isinstance(stop, Terminated) else 'interrupted'}")
        return exit_status(stop)


def _print_nowhere() -> None:
    """Let what is still printed, by Python at its end as well, go nowhere."""
    try:
        stdout = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):  # no file: nothing more is written to it
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stdout)
    os.close(nowhere)


def _say(message: str, rank: int = 0) -> None:
    """Show a message; of several processes that were started together rank 0 does."""
    if sys.stderr is not None and rank == 0:
        with suppress(OSError, ValueError):  # full, or closed: there is no other place to say it
            print(message, file=sys.stderr, flush=True)


def _asked(words: list[str], impl: str, prog: str, comm: MPIComm | None) -> Work:
    """Return what a command line asks for, as a function without arguments (collective)."""
    left = None
    try:
        with starting(comm, prog), together(comm, like=True):
            try:
                if words and words[0] in LEFT:
                    raise UserError(
                        f"{words[0]} is no command of the installed package any more: run "
                        f"{LEFT[words[0]]} in a checkout of the project"
                    )
                arguments = vars(build_parser(impl, prog).parse_args(words))
                run = _command(arguments, impl, prog, comm)
            except SystemExit as shown:  # help
                arguments, left = {"command": "help"}, shown
        if comm is not None:
            check_same(comm, {"command": arguments["command"]})
    finally:
        begun()
    if left is not None:
        raise left
    return run


def _command(arguments: dict[str, Any], impl: str, prog: str, comm: MPIComm | None) -> Work:
    """Return what a command does with its arguments, as a function without arguments."""
    command, out = arguments["command"], arguments.get("out")
    if command == "trace":
        return partial(trace.run, arguments)
    if command in ("conformance", "vectors"):
        return partial(conformance.run, arguments, impl)
    if command == "exercise":
        return partial(exercise.run, arguments)
    if command == "completion":
        return partial(print_completion, build_parser(impl, prog), arguments["shell"])
    if command == "info":
        return partial(info, arguments.get("impl", impl))
    if command == "convert":
        given = {key: arguments[key] for key in convert_options() if key in arguments}
        source, folder = arguments["source"], arguments["folder"]
        run: Work = partial(
            convert_command, source, folder, given, overwrite=arguments["overwrite"]
        )
        return _naming(convert_options(), run)
    made = {"train": train_options, "predict": predict_options, "sample": sample_options}
    options = compare_options() if command == "compare" else made[command](impl)
    given = {key: to_json(value) for key, value in arguments.items() if key in options}
    if arguments.get("config") is not None:
        if arguments.get("resume"):
            raise UserError("--config does not apply with --resume: a run has its own settings")
        given = with_file(arguments["config"], options, given, train_options())
    if arguments.get("preset") is not None:
        if arguments.get("resume"):
            raise UserError("--preset does not apply with --resume: a run has its own settings")
        given = with_preset(arguments["preset"], options, given)
    if arguments["overwrite"] and out is None and command != "train":
        raise UserError("--overwrite does not apply without --out")
    form: dict[str, Any] = {"options": options, "out": out, "overwrite": arguments["overwrite"]}
    if command == "train":
        run = partial(train, given, resume=arguments["resume"], prog=prog, comm=comm, **form)
    elif command == "predict":
        run = partial(predict, arguments["model"], given, **form)
    elif command == "sample":
        run = partial(sample, given, **form)
    else:
        run = partial(compare, given, rounds=arguments["rounds"], **form)
    return _naming(options, run)


def _naming(options: Options, run: Work) -> Work:
    """Return `run` with errors that name options as they are typed."""

    def named() -> int | None:
        with naming_flags(flags_of(options, PARAMETERS)):
            return run()

    return named
