"""``python tests/fuzz NAME``, one of those below: all take --help."""

import importlib
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
DRAWN = ("calls", "files", "links")  # by fuzz.driver
NAMES = (*DRAWN, "conversions", "kills", "soak")


def main(argv):
    """Run one fuzzer; return its exit status."""
    if not argv or argv[0] not in NAMES:
        print(f"usage: python tests/fuzz {{{','.join(NAMES)}}} [options]", file=sys.stderr)
        return 2
    fuzzer = importlib.import_module(f"fuzz.{argv[0]}")
    if argv[0] in DRAWN:
        return importlib.import_module("fuzz.driver").main(fuzzer, argv[1:])
    return fuzzer.main(argv[1:])


if __name__ == "__main__":  # `fuzz` and `bench` are the checkout's, the packages as installed
    del sys.path[0]
    sys.path += [str(TESTS), str(TESTS.parent)]
    sys.exit(main(sys.argv[1:]))
