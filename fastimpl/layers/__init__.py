"""refimpl/layers on kernels."""
