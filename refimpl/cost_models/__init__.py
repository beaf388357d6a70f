"""The papers' cost models as functions, each with its premises."""

from refimpl.cost_models.calibration import Calibration, calibrate
from refimpl.cost_models.cleanups import (
    CleanupModels,
    Cleanups,
    cleanups_from_graph,
    predicted_cleanups,
    predicted_moves,
    size_biased_degree,
)
from refimpl.cost_models.layer_sampling import (
    WorkBounds,
    forward_work,
    graph_sampling_work,
    layer_sampling_cases,
    layer_sampling_work,
    unique_nodes,
)
from refimpl.cost_models.ranks import (
    ExchangeCounts,
    gradient_exchange,
    parallel_speedup,
    parallel_step_seconds,
)
from refimpl.cost_models.sampling import (
    OperationCosts,
    expected_rounds,
    memory_factor,
    sample_cost,
    sample_cost_from_graph,
)
from refimpl.cost_models.theorem1 import (
    ProofTerms,
    theorem1_pmax,
    theorem1_pmax_lanes,
    theorem1_speedup,
    theorem1_steps,
)
from refimpl.cost_models.theorem2 import TrafficBound, g_comm, g_comp, theorem2, theorem2_Qf

__all__ = [
    "Calibration",
    "CleanupModels",
    "Cleanups",
    "WorkBounds",
    "ExchangeCounts",
    "OperationCosts",
    "ProofTerms",
    "TrafficBound",
    "calibrate",
    "cleanups_from_graph",
    "expected_rounds",
    "forward_work",
    "g_comm",
    "g_comp",
    "gradient_exchange",
    "graph_sampling_work",
    "layer_sampling_cases",
    "layer_sampling_work",
    "memory_factor",
    "parallel_speedup",
    "parallel_step_seconds",
    "predicted_cleanups",
    "predicted_moves",
    "sample_cost",
    "sample_cost_from_graph",
    "size_biased_degree",
    "theorem1_pmax",
    "theorem1_pmax_lanes",
    "theorem1_speedup",
    "theorem1_steps",
    "theorem2",
    "theorem2_Qf",
    "unique_nodes",
]
