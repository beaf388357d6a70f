"""`python -m refimpl`: the command line, on the implementation that is to be read."""

import sys

from refimpl.lab.apps.cli import main

if __name__ == "__main__":
    sys.exit(main(impl="refimpl", prog="python -m refimpl"))
