"""Samplers, neighbours, sparse products and training steps beside torch, PyG, DGL, MKL and others.

Each peer runs in an environment of its own under .bench-peers/, which --install makes; what is
not there is named as missing. --python gives an interpreter that has some of them.
"""

from pathlib import Path

from bench.command import Common, UsageError, numbers
from bench.machine import THREADS
from bench.peers.cases import WIDTHS
from bench.peers.environment import PEERS, interpreters
from bench.peers.jobs import Plan
from bench.peers.measure import measure
from bench.peers.table import peer_lines, render

COMMON = Common(threads=True, rounds=9)
QUICK = {"threads": THREADS[-1:]}


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument(
        "--install",
        nargs="?",
        const=",".join(PEERS),
        default="",
        metavar="NAME,..",
        help=f"first install what is not there of {', '.join(PEERS)}; without names, all",
    )
    parser.add_argument("--python", type=Path, help="interpreter to use for each peer that it has")
    parser.add_argument(
        "--hidden",
        type=numbers(int),
        default=WIDTHS[:1],
        help=f"widths of the layers of steps on 8,000 nodes, of {WIDTHS} (default: {WIDTHS[0]})",
    )
    parser.add_argument(
        "-k", metavar="TEXT", default="", help='only what has TEXT in its name: "step gat", ..'
    )


def report(options):
    """Measure; yield the tables, and say who the peers are."""
    install = [name for name in options.install.split(",") if name]
    if unknown := set(install) - set(PEERS):
        raise UsageError(f"--install knows {', '.join(PEERS)}, not {', '.join(sorted(unknown))}")
    if unknown := set(options.hidden) - set(WIDTHS):
        raise UsageError(f"--hidden must be of {WIDTHS}, got {', '.join(map(str, unknown))}")
    plan = Plan(options.threads, options.rounds, options.quick, options.k, options.hidden)
    if not any(plan.jobs.values()):
        raise UsageError(f"nothing has {options.k!r} in its name")
    result = measure(plan, *interpreters(options.python, install))
    options.peer = peer_lines(result)
    yield from render(result)
