"""refimpl/history on kernels.

FreshGNN's Algorithm 1 is `fresh_iteration` in refimpl/history/iteration.py, for both packages; its
lines call the kernels here.
"""
