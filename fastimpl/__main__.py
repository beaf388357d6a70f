"""`python -m fastimpl`: the command line, on the implementation that is to be run."""

import sys

from refimpl.lab.apps.cli import main

if __name__ == "__main__":
    sys.exit(main(impl="fastimpl", prog="python -m fastimpl"))
