"""``python -m bench peers``: options, and where the result goes."""

import json
import os
import sys
from pathlib import Path

from bench.conftest import MAX_LOAD
from bench.peers import environment
from bench.peers.measure import Plan, measure
from bench.peers.protocol import ROOT, ContestantError
from bench.peers.table import render

RESULTS = Path("bench", "results-peers.json")


def add_options(parser):
    """Add the command's options to an argparse parser."""
    parser.add_argument(
        "--python",
        type=Path,
        help="interpreter with torch and torch_geometric (default: .bench-peers/, made if needed)",
    )
    parser.add_argument("--out", type=Path, help=f"JSON file to write (default: {RESULTS})")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="tiny inputs, one round, as a test; save nothing",
    )
    parser.add_argument(
        "-k",
        metavar="TEXT",
        default="",
        help='only what has TEXT in its name: "step gat", ..',
    )
    parser.add_argument(
        "--force-noisy",
        action="store_true",
        help="measure although the machine is busy",
    )


def run(options):
    """Measure, print, save; return the exit status."""
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    if load > MAX_LOAD and not (options.quick or options.force_noisy):
        return fail(f"the load is {load:.2f} a core, above {MAX_LOAD}; wait, or --force-noisy")
    out = (options.out or ROOT / RESULTS).absolute()
    if not out.parent.is_dir():
        return fail(f"there is no folder {out.parent} for --out")
    plan = Plan(options.quick, options.k)
    if not plan.steps and not plan.products:
        return fail(f"nothing has {options.k!r} in its name")
    try:
        result = measure(plan, environment.interpreter(options.python))
    except ContestantError as error:
        return fail(error)
    print(render(result), end="")
    if options.out or not options.quick:
        out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {out}", file=sys.stderr)
    return 0


def fail(message):
    """Say what is wrong; return the exit status of it."""
    print(f"python -m bench peers: {message}", file=sys.stderr)
    return 2
