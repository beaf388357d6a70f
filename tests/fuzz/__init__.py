"""Random inputs for both packages, as long as one likes: ``python tests/fuzz NAME [--help]``."""

PATIENCE = 20  # seconds of the clock for a second of the processor: others use the machine, too
