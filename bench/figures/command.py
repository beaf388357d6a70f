"""The papers' figures and tables, measured again, and what held of each claim."""

import argparse
import codecs
import csv
import json
import math
import shlex
import sys
from functools import partial
from pathlib import Path

from bench.figures import experiment, plotting
from bench.figures.experiment import Lab
from bench.figures.runs import RUNS, finish, machine
from refimpl._support.reprs import one_line
from refimpl._support.require import shown
from refimpl._support.whole_files import replacing
from refimpl.lab.apps.cli import Parser, answer
from refimpl.lab.apps.errors import UserError, user_errors
from refimpl.lab.apps.option import typed_integer
from refimpl.lab.apps.options import load_implementation
from refimpl.lab.apps.plots import missing
from refimpl.lab.apps.preparing import MOST_THREADS, limited_threads
from refimpl.lab.apps.progress import Stages
from refimpl.lab.apps.report import table, write_json
from refimpl.lab.apps.results import add_overwrite, output_name, results_in
from refimpl.lab.distributed.launch import available_cores

DESCRIPTION = (
    "Run what a figure or table of the papers shows, at a size for this machine; write its rows "
    "(.csv), its settings, table and verdicts (.json) and its picture (.svg and .png), and say of "
    "each claim of the paper whether it holds here. Stopped, it goes on where it was: a finished "
    "run is kept in the folder and not done again."
)
PROG, IMPL = "python -m bench figure", "fastimpl"
FILES = ("csv", "json", *plotting.FORMATS)
OUT = "figures"
QUICK_OUT = "figures-quick"  # so that a tiny run never takes the place of a whole one


def main(words):
    """Run ``python -m bench figure`` with these words; return its exit status."""
    return answer(lambda: partial(run, vars(parser_of().parse_args(words))), PROG, "figure")


def parser_of():
    """Return the parser of the command."""
    parser = Parser(prog=PROG, description=DESCRIPTION, allow_abbrev=False)
    parser.add_argument(
        "figures",
        nargs="+",
        metavar="ID",
        help='figures, such as V-fig14 or I-tab2; "list" shows them, "all" does all',
    )
    parser.add_argument(
        "--data",
        metavar="SOURCE",
        help="a data set as train takes it, for the figures that take one "
        "(default: one that is made on the spot)",
    )
    parser.add_argument(
        "--out",
        type=output_name,
        metavar="FOLDER",
        help=f"folder to write to (default: {OUT}, or {QUICK_OUT} with --quick)",
    )
    add_overwrite(parser, "figures in the folder")
    parser.add_argument(
        "--quick", action="store_true", help="tiny, to see that it works (default: off)"
    )
    parser.add_argument(
        "--seeds",
        type=typed_integer,
        metavar="COUNT",
        help="train with seeds 0, 1, .. (default: the figure's own; 1 with --quick)",
    )
    parser.add_argument(
        "--size",
        type=typed_size,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another size of the runs, VALUE as in JSON, such as nodes=2000; ID.json lists them "
        "(default: the figure's own; may be given several times)",
    )
    parser.add_argument(
        "--threads",
        type=typed_integer,
        metavar="COUNT",
        help="the most to use (default: one for each core)",
    )
    parser.add_argument(
        "--impl", metavar="NAME", default=IMPL, help=f"implementation (default: {IMPL})"
    )
    parser.add_argument(
        "--again", action="store_true", help="do finished runs once more (default: off)"
    )
    return parser


def run(arguments):
    """Run the command; `arguments` is what the parser gave, as a dict."""
    words = arguments["figures"]
    if words == ["list"]:
        return _list()
    chosen = experiment.find(words)
    for name, most in (("seeds", 1000), ("threads", MOST_THREADS)):
        if arguments[name] is not None and not 1 <= arguments[name] <= most:
            raise UserError(f"--{name} must be in [1, {most}], got {arguments[name]}")
    if words != ["all"]:
        _refuse(chosen, arguments)
    gnn = load_implementation(arguments["impl"])
    labs = [_lab(figure, gnn, arguments) for figure in chosen]
    with user_errors():
        folder = Path(arguments["out"] or (QUICK_OUT if arguments["quick"] else OUT))
    names = tuple(f"{figure.id}.{kind}" for figure in chosen for kind in FILES)
    failed = 0
    keep, inside = not arguments["overwrite"], [f"{RUNS}/{figure.id}" for figure in chosen]
    with results_in(folder, names, keep=keep, inside=inside), limited_threads(arguments["threads"]):
        for figure, lab in zip(chosen, labs, strict=True):
            try:
                _make(figure, lab, folder, arguments)
            except UserError as error:  # of its data: the others may do
                if len(chosen) == 1:
                    raise
                print(f"{figure.id} is left out: {one_line(error)}\n", file=sys.stderr)
                failed += 1
    return 2 if failed else 0


def _refuse(chosen, arguments):
    """Refuse options that would do nothing."""
    data = [figure.id for figure in chosen if figure.data is None and not figure.takes_data]
    seeds = [figure.id for figure in chosen if figure.seeds is None]
    for option, none, why in (
        ("data", data, "it makes its own graphs"),
        ("seeds", seeds, "it does not train with several"),
    ):
        if arguments[option] is not None and none:
            raise UserError(f"--{option} does not apply to {', '.join(none)}: {why}")


def _list():
    figures = experiment.known()
    rows = [(id, ", ".join(figure.also), figure.title) for id, figure in figures.items()]
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    for id, also, title in rows:
        print(f"{id:{widths[0]}}  {also:{widths[1]}}  {title}")
    return 0


def _lab(figure, gnn, arguments):
    quick = arguments["quick"]
    sizes = {**figure.full, **(figure.quick if quick else {})}
    return Lab(
        gnn=gnn,
        sizes=changed(figure, sizes, arguments["size"]),
        data=(arguments["data"] or figure.data) if figure.data or figure.takes_data else None,
        seeds=figure.seeds and (arguments["seeds"] or (1 if quick else figure.seeds)),
        threads=arguments["threads"] or available_cores(),
        quick=quick,
    )


def _make(figure, lab, folder, arguments):
    """Do the runs of a figure, write its files, and print its table and verdicts."""
    print(f"{figure.id}: {figure.title}\n\n{figure.about}", flush=True)
    with Stages() as stages:
        show = partial(stages.show, figure.id)
        done = finish(figure, lab, folder, again=arguments["again"], show=show)
    titles, lines = figure.table(lab, done.rows)
    verdicts, panels = figure.judged(lab, done.rows), figure.plot(lab, done.rows)
    _write_rows(folder / f"{figure.id}.csv", done.rows)
    record = _record(figure, lab, done, titles, lines, verdicts)
    write_json(folder / f"{figure.id}.json", {**record, "command": _typed(figure, arguments)})
    drawn = _draw(folder, figure, panels, lab, done)
    print()
    print(table([[str(word) for word in line] for line in (titles, *lines)]))
    for verdict in verdicts:
        print("\n{where}: {says}\n  here: {ours}".format(**verdict))
        if rule := figure.claims[verdict["claim"]].get("rule", figure.rule):
            print(f"  it holds where {rule}")
        print(": ".join(filter(None, (f"  {verdict['outcome']}", verdict["because"]))))
    if lab.quick:
        print("\nquick: these sizes are too small for the verdicts to mean anything")
    if done.noisy:
        print("\nnoisy: other programs ran meanwhile; do not quote these times")
    if done.older:
        print(
            f"\nnote: {done.older} runs are of other code of the figures; --again does them again"
        )
    known = f", {done.kept} of {done.runs} runs were there" if done.kept else ""
    files = ["csv", "json", *drawn]
    names = ", ".join(one_line(folder / f"{figure.id}.{kind}") for kind in files)
    print(f"\nwrote {names} ({done.seconds:.0f} s{known})\n", flush=True)


def _record(figure, lab, done, titles, lines, verdicts):
    settings = {"data": lab.data, "seeds": lab.seeds, "sizes": lab.sizes}
    return {
        "id": figure.id,
        "also": list(figure.also),
        "title": figure.title,
        "date": done.date,
        "seconds": done.seconds,
        "timed": figure.timed,
        "noisy": done.noisy,
        "machine": machine(lab),
        "settings": {"impl": lab.gnn.__name__, **settings},
        "titles": list(titles),
        "table": [[str(word) for word in line] for line in lines],
        "verdicts": verdicts,
    }


def _typed(figure, arguments):
    """Return the command that makes a figure as it was made."""
    words = [*PROG.split(), figure.id, *(["--quick"] if arguments["quick"] else [])]
    for name, there in (
        ("data", figure.data or figure.takes_data),
        ("seeds", figure.seeds),
        ("threads", 1),
    ):
        if there and arguments[name] is not None:
            words += [f"--{name}", str(arguments[name])]
    for name, value in arguments["size"]:
        words += ["--size", f"{name}={json.dumps(value)}"]
    if arguments["impl"] != IMPL:
        words += ["--impl", arguments["impl"]]
    return shlex.join(words)


def _write_rows(path, rows):
    """Write rows as CSV, every digit kept; empty where a row has no such column."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with replacing(path) as file:
        writer = csv.DictWriter(codecs.getwriter("utf-8")(file), columns)
        writer.writeheader()
        writer.writerows(rows)


def _draw(folder, figure, panels, lab, done):
    """Draw the picture; return the kinds of its files, and say why one is missing."""
    data = f"{one_line(lab.data)}, " if lab.data else ""
    note = f"{figure.id}: {data}{lab.gnn.__name__}, {lab.threads} threads, {done.date}"
    drawn = []
    for kind in plotting.FORMATS:
        name = f"{figure.id}.{kind}"
        why = missing(plotting.draw, folder / name, panels, note)
        if why is None:
            drawn.append(kind)
        else:
            print(f"note: no {name}: {why}", file=sys.stderr)
    return drawn


def typed_size(text):
    """Return the name and the value that a user typed; argparse reports the errors."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        form = f"must be NAME=VALUE, VALUE as in JSON, got {shown(text)}"
        raise argparse.ArgumentTypeError(form) from None


def changed(figure, sizes, wanted):
    """Return the sizes of a figure with those that a user wants, [(name, value), ..].

    A size that the figure does not have is refused, and a value of another kind than its own.
    """
    for name, value in wanted:
        if name not in sizes:
            raise UserError(f"--size: {figure.id} has no size {name!r}; it has {', '.join(sizes)}")
        if not _alike(value, figure.full[name]):
            example = json.dumps(figure.full[name])
            got = shown(json.dumps(value))
            raise UserError(f"--size {name} must be of the kind of {example}, got {got}")
    return {**sizes, **dict(wanted)}


def _alike(value, own):
    """Say whether a value has the kind of a figure's own.

    Lists may be longer or shorter; where the figure has an empty one, it is of words.
    """
    if isinstance(own, list):
        kind = own[0] if own else ""
        return isinstance(value, list) and all(_alike(one, kind) for one in value)
    if isinstance(own, dict):
        return (
            isinstance(value, dict)
            and value.keys() == own.keys()
            and all(_alike(value[key], own[key]) for key in own)
        )
    if isinstance(own, str) or isinstance(value, bool):
        return isinstance(value, type(own))
    number = isinstance(value, int if isinstance(own, int) else int | float)
    return number and math.isfinite(value) and value >= 0
