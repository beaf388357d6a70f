"""refimpl/graph on kernels."""
