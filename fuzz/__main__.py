"""``python -m fuzz NAME``, one of those below: all take --help."""

import importlib
import sys

NAMES = ("calls", "files", "guided", "kills", "links", "ranks", "soak")


def main(argv):
    """Run one fuzzer; return its exit status."""
    if not argv or argv[0] not in NAMES:
        print(f"usage: python -m fuzz {{{','.join(NAMES)}}} [options]", file=sys.stderr)
        return 2
    return importlib.import_module(f"fuzz.{argv[0]}").main(argv[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
