"""refimpl/history on kernels."""
