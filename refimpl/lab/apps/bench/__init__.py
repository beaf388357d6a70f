"""Benchmarks of the kernels of any implementation, beside what the machine can do at most."""
