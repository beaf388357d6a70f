"""``python -m wheels build``: what is published; ``python -m wheels try``: what runs where."""

import argparse
import sys
from pathlib import Path

from wheels.build import LEVELS, build


def main(arguments=None):
    """Run a command line."""
    parser = argparse.ArgumentParser(prog="python -m wheels", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("build", help="the source distribution, and a wheel for each Python")
    made.add_argument("pythons", nargs="*", help="interpreters with pip")
    made.add_argument("--out", type=Path, default=Path("dist"), help="folder (default: dist)")
    made.add_argument("--arch", default=LEVELS, help=f"MINIBATCH_GNN_ARCH (default: {LEVELS})")
    options = parser.parse_args(arguments)
    for path in build(options.pythons, options.out, options.arch):
        print(f"{path}: {path.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    sys.exit(main())
