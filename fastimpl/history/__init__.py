"""refimpl/history on kernels.

FreshGNN's Algorithm 1 is `fresh_iteration` in refimpl/history/iteration.py, for both packages; its
lines call the kernels here.
"""

from fastimpl.history.policy import norms_and_rows as _norms_and_rows  # noqa: F401 -- see there
