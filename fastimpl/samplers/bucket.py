"""refimpl/samplers/bucket.py on a kernel."""

from fastimpl.samplers._bucket import KERNEL
from fastimpl.samplers.frontier import frontier_call
from fastimpl.samplers.sampling import sampler_twin
from refimpl.samplers.bucket import bucket_arguments


@sampler_twin(KERNEL)
def bucket(graph, main, probe, *, m, n, deg_cap=None, include="pushed"):
    return frontier_call(*bucket_arguments(graph, main, probe, m, n, deg_cap, include))
