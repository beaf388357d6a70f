"""refimpl/samplers on kernels."""
