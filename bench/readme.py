"""Time the rows of the README's speed table; print the table with the machine and the commit."""

import importlib.util
import sys
import textwrap
from pathlib import Path

from bench.markdown import ratio, significant, table
from bench.report import (
    facts_of,
    is_noisy,
    loaded,
    measured,
    parser_of,
    rows_of,
    title_of,
    words_of,
)
from refimpl.lab.apps.errors import UserError

TORCH, PYG = "bench.peers.torch_kernels", "bench.peers.pyg_kernels"
OWN = "fastimpl"
ROWS = (  # kernel and form of `pytest bench`, how the table names it, what it is compared with
    ("pin_tile {}", "`pin_tile`", "refimpl"),
    ("transpose_perm {}", "`transpose_perm`", "refimpl"),
    ("training_iteration {}", "training iteration", "refimpl"),
    ("forward_and_backward {}-gat", "GAT, forward and backward", PYG),
    ("forward_and_backward {}-sage", "GraphSAGE, forward and backward", TORCH),
)
NAMES = {"refimpl": "`refimpl`", PYG: "PyG", TORCH: "torch by hand"}
IN_FULL = {TORCH: 'Code written by hand in PyTorch ("torch by hand")'}
INPUTS = (
    "Inputs: n nodes and e entries of the graph, f features, h hidden units, C classes. In "
    '"m=100 n=800 of n=10,000" the numbers before "of" describe the sample: m roots and n nodes.'
)
TITLES = "kernel", "input", "compared with", "other's ms", "`fastimpl` ms", "speed-up"


def lines_of(run, size="medium"):
    """Return the lines of the README for a run.

    Raises
    ------
    UserError
        If the run lacks a row.
    """
    found = {row.group: row for row in rows_of(run)}
    rows, lost = [], []
    for group, name, other in ROWS:
        row = found.get(group.format(size))
        if row is None or not {other, OWN} <= row.times.keys():
            raise UserError(f"the run has no {group.format(size)!r} of {other} and {OWN}")
        times = [significant(1e3 * row.times[who].median) for who in (other, OWN)]
        speed_up = row.speed_up(OWN, other)
        rows.append([name, row.input, NAMES[other], *times, ratio(speed_up)])
        if speed_up < 1:
            lost.append(f"{IN_FULL.get(other, NAMES[other])} is faster than `fastimpl` for {name}.")
    facts = dict(facts_of(run))
    peers = facts[f"Peer {title_of(PYG)}"].replace("capability", "instructions")  # torch's as well
    own = run["machine_info"]["minibatch_gnn"]["builds"][OWN].get("blas", "unknown")
    machine = (
        f"Medians in milliseconds on {facts['Processor']}. Threads: {facts['Threads']}. BLAS "
        f"libraries loaded: {facts['BLAS']}; `fastimpl` uses {own}. "
        f"NumPy {facts['NumPy']}, SciPy {facts['SciPy']}, "
        f"{facts['minibatch-gnn'].partition(', ')[2]}. PyTorch and PyG: {peers}."
    )
    return [
        *textwrap.wrap(machine, 100),
        "",
        *textwrap.wrap(INPUTS, 100),
        "",
        *table(TITLES, rows, left=3),
        "",
        *lost,
    ]


def main(arguments):
    """Run the command line; return its exit status."""
    parser = parser_of("readme", __doc__)
    parser.add_argument("--quick", action="store_true", help="tiny inputs, as a test")
    parser.add_argument("file", nargs="?", type=Path, help="saved report; none is measured")
    options = parser.parse_args(arguments)
    size = "tiny" if options.quick else "medium"
    try:
        run = loaded(options.file) if options.file else timed(options, size)
        print("\n".join(lines_of(run, size)))
    except UserError as error:
        print(f"python -m bench readme: {error}", file=sys.stderr)
        return 2
    if is_noisy(run):
        print("other programs were running: do not publish these times", file=sys.stderr)
    return 0


def timed(options, size):
    """Return a run of the rows.

    Raises
    ------
    UserError
        If torch_geometric is missing, or a benchmark failed.
    """
    if not importlib.util.find_spec("torch_geometric"):
        raise UserError("torch_geometric is missing: python -m pip install -e '.[peers]'")
    groups = [group.format(size).replace(" ", "-") for group, *_ in ROWS]
    words = [*words_of(options), "-k", " or ".join(groups)]
    status, run = measured(["refimpl", OWN, TORCH, PYG], words)
    if status or run is None:
        raise UserError(f"pytest bench ended with status {status}")
    return run
