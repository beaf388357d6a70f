"""What both packages do where numbers leave their range: infinities and NaN, and no warning.

Kernels in C set flags that nobody reads; NumPy would warn, in the reference alone. A program that
makes errors of warnings must be the same program with either.
"""

import numpy as np

quiet = np.errstate(all="ignore")  # a decorator
