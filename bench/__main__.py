"""``python -m bench run`` measures speed, ``report`` prints it, ``accuracy`` trains and scores.

``samplers`` and ``peers`` measure larger things and print them at once.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from bench import accuracy, samplers
from bench.peers import command as peers
from bench.report import ReportError, load, render

HERE = Path(__file__).parent
RESULTS = Path("bench", "results.json")


def main(argv=None):
    """Run a command line; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run the benchmarks and save their times")
    run.add_argument("--out", type=Path, help=f"JSON file to write (default: {RESULTS})")
    run.add_argument(
        "--quick", action="store_true", help="run each once on its smallest input; save nothing"
    )
    run.add_argument(
        "--force-noisy", action="store_true", help="measure although the machine is busy"
    )
    run.add_argument("-k", metavar="EXPR", help="only benchmarks whose name matches (pytest -k)")
    report = commands.add_parser("report", help="print a saved run as a Markdown table")
    report.add_argument("file", type=Path, nargs="?", default=RESULTS, help=f"default: {RESULTS}")
    scores = commands.add_parser("accuracy", help="train with several seeds; print test scores")
    scores.add_argument("--train", default="", help="options of `minibatch-gnn train`, every row")
    scores.add_argument("--row", action="append", help="options of a row; may be repeated")
    scores.add_argument("--seeds", type=int, default=3, help="seeds 0, 1, .. (default: 3)")
    commands.add_parser("samplers", help="print the speed of all samplers on three large graphs")
    peers.add_options(
        commands.add_parser("peers", help="print steps and products beside torch_geometric's")
    )
    options = parser.parse_args(argv)
    if options.command == "accuracy":
        print(accuracy.table(options.train, options.row or [""], options.seeds), end="")
        return 0
    if options.command == "samplers":
        print(samplers.report(), end="")
        return 0
    if options.command == "peers":
        return peers.run(options)
    if options.command == "report":
        try:
            print(render(load(options.file)), end="")
        except ReportError as error:
            print(f"python -m bench report: {error}", file=sys.stderr)
            return 2
        return 0
    if options.quick and (options.out or options.force_noisy):
        parser.error("--quick measures nothing: it takes neither --out nor --force-noisy")
    return measure(options)


def measure(options):
    """Run pytest on the benchmarks; return its exit status."""
    command = [sys.executable, "-m", "pytest", "-o", "python_files=bench_*.py", str(HERE)]
    command += ["-p", "no:cacheprovider"]
    if options.k:
        command += ["-k", options.k]
    if options.quick:
        return subprocess.call([*command, "-q", "--quick", "--benchmark-disable"], cwd=HERE.parent)
    if options.force_noisy:
        command.append("--force-noisy")
    out = (options.out or HERE.parent / RESULTS).absolute()
    if not out.parent.is_dir():
        print(f"python -m bench run: there is no folder {out.parent} for --out", file=sys.stderr)
        return 2
    written = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        quiet = ["--benchmark-quiet", f"--benchmark-json={written}"]
        status = subprocess.call([*command, *quiet], cwd=HERE.parent)
        if status == 0:
            written.replace(out)
            print(f"wrote {out}; now: python -m bench report {out}")
        return status
    finally:
        written.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
