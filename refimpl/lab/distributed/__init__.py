"""Training by several workers, in one process or in many that MPI connects; JPDC'21 section 8."""

from refimpl.lab.distributed.parts import FeatureParts
from refimpl.lab.training.state import gathered_state

__all__ = ["FeatureParts", "gathered_state"]
