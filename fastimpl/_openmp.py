"""How long OpenMP's threads spin at a barrier before they sleep; imported before any kernel.

By default GCC's runtime spins for milliseconds. Where another program holds a core, each of the
many barriers of an iteration then waits that long for a thread that is not running: training took
up to 40 times as long. A spin of some tens of microseconds is as fast on an idle machine.
"""

import os

if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
    os.environ["GOMP_SPINCOUNT"] = "2500"
