"""Benchmarks of both packages beside the measured limits of the machine; see README.md."""
