"""Features between the processes of one machine: two-sided, one-sided, in rounds; needs MPI.

The demand is that of real minibatches of neighbour sampling: in step i rank r has minibatch number
i * ranks + r, and needs the rows of its input nodes, of which each rank holds a part. Bandwidth is
the bytes of all rows that change places by the seconds of it: `DistributedFeatures`, the ways in
turns, median and range of the rounds. A model of more devices: python -m bench figure V-fig18.
"""

import statistics

from bench.command import Common, UsageError, numbers
from bench.launching import no_mpi, on_ranks
from bench.markdown import head, line, span

COMMON = Common(rounds=9)
QUICK = {"nodes": 500, "degree": 6, "batch": 20, "features": 8, "steps": 1}


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--nodes", type=int, default=100_000, help="of a power law")
    parser.add_argument("--degree", type=float, default=20, help="mean")
    parser.add_argument("--batch", type=int, default=250)
    parser.add_argument("--fanouts", type=numbers(int), default=[15, 10])
    parser.add_argument("--features", type=int, default=128, help="float32 numbers in a row")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--ranks", type=int, default=2, help="processes that are measured")


def report(options):
    """Yield the table of what MPI takes between processes of this machine, or why there is none."""
    if options.ranks < 2:
        raise UsageError(f"--ranks must be at least 2, got {options.ranks}")
    if options.nodes < options.batch * options.ranks * options.steps:
        raise UsageError("--nodes must be at least --batch x --steps x --ranks")
    missing = no_mpi()
    if missing:
        yield f"**Measured:** nothing: {missing}."
        return
    words = ("nodes", "degree", "batch", "fanouts", "features", "steps", "rounds")
    asked = {word: getattr(options, word) for word in words}
    found = on_ranks(options.ranks, "bench.exchange_ranks", asked)
    title = f"**Measured.** {options.ranks} processes of this machine, {found['mpi']}; "
    yield title + f"{found['bytes'] / 1e6:.1f} MB in {options.steps} steps; median (range)."
    yield ""
    yield from head(["way", "GB a second", "over two-sided, of the same round"])
    for way, seconds in found["seconds"].items():
        rates = [found["bytes"] / 1e9 / one for one in seconds]
        both = zip(found["seconds"]["two-sided"], seconds, strict=True)
        over = [two / one for two, one in both]
        cells = [f"{statistics.median(x):.2f} ({span(x, 2)})" for x in (rates, over)]
        yield line([way, *cells])
