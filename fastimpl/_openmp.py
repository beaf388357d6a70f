"""How long OpenMP's threads spin at a barrier before they sleep; imported before any kernel.

By default GCC's runtime spins for milliseconds. Where another program holds a core, each of the
many barriers of an iteration then waits that long for a thread that is not running: training took
up to 40 times as long. A spin of a tenth of a millisecond lasts from one kernel to the next on an
idle machine; `fastimpl._spinning` shortens it on a busy one.
"""

import os

left_to_us = not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys()
if left_to_us:
    os.environ["GOMP_SPINCOUNT"] = "10000"
