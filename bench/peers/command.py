"""Training steps and sparse products beside torch and torch_geometric.

The peers run in an interpreter of their own: --python, or .bench-peers/, made the first time.
"""

from pathlib import Path

from bench.command import Common, UsageError
from bench.machine import THREADS
from bench.peers import environment
from bench.peers.measure import Plan, measure
from bench.peers.table import render

COMMON = Common(threads=True, rounds=7)
QUICK = {"threads": THREADS[-1:]}


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument(
        "--python",
        type=Path,
        help="interpreter with torch and torch_geometric (default: .bench-peers/, made if needed)",
    )
    parser.add_argument(
        "-k", metavar="TEXT", default="", help='only what has TEXT in its name: "step gat", ..'
    )


def report(options):
    """Measure; yield the tables, and say who the peers are."""
    plan = Plan(options.threads, options.rounds, options.quick, options.k)
    if not plan.steps and not plan.products:
        raise UsageError(f"nothing has {options.k!r} in its name")
    result = measure(plan, environment.interpreter(options.python))
    options.peer = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    yield from render(result)
