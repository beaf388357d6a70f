"""Kernels of loading features, compiled."""
