"""Neighbour sampling, beside torch_geometric's NeighborLoader and DGL where --python has them.

Part of `python -m bench peers`, on a graph and at fan-outs of one's choice. Without an interpreter
that has a peer only this project is measured. Times are wall, and CPU time of the process.
"""

from bench.command import Common, numbers
from bench.peers.environment import interpreters
from bench.peers.jobs import Neighbours, Plan
from bench.peers.measure import measure
from bench.peers.table import peer_lines, render

COMMON = Common(threads=True, rounds=15)
QUICK = {"scale": 10, "batch": 20}


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--python", help="interpreter with torch_geometric and a sampler of it")
    parser.add_argument("--scale", type=int, default=20, help="2^scale nodes (default: 20)")
    parser.add_argument("--batch", type=int, default=1000, help="roots a batch (default: 1000)")
    parser.add_argument("--fanouts", type=numbers(int), default=[20, 15, 10], help="roots first")


def report(options):
    """Yield the table, and say who the peers are."""
    plan = Plan(options.threads, options.rounds)
    job = Neighbours(options.scale, options.batch, tuple(options.fanouts))
    plan.jobs = {kind: [job] if kind == "neighbours" else [] for kind in plan.jobs}
    result = measure(plan, *interpreters(options.python, own=False))
    if options.python:
        options.peer = peer_lines(result)
    yield from render(result)
