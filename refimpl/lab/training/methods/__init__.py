"""The methods: a class for each, with its own settings; its iterations stand beside it."""

from refimpl.lab.training.methods.base import MethodSettings
from refimpl.lab.training.methods.cluster import ClusterGcn
from refimpl.lab.training.methods.fastgcn import FastGcn
from refimpl.lab.training.methods.fresh import Fresh
from refimpl.lab.training.methods.full import FullBatch
from refimpl.lab.training.methods.gas import Gas
from refimpl.lab.training.methods.graph import SampledGraph
from refimpl.lab.training.methods.graphfm import GraphFm
from refimpl.lab.training.methods.ladies import Ladies
from refimpl.lab.training.methods.layer import LayerSampling
from refimpl.lab.training.methods.neighbor import Neighbor
from refimpl.lab.training.methods.prepropagation import Prepropagation
from refimpl.lab.training.methods.vrgcn import VrGcn

__all__ = [
    "ClusterGcn",
    "FastGcn",
    "Fresh",
    "FullBatch",
    "Gas",
    "GraphFm",
    "Ladies",
    "LayerSampling",
    "MethodSettings",
    "Neighbor",
    "Prepropagation",
    "SampledGraph",
    "VrGcn",
]

METHODS: dict[str, type[MethodSettings]] = {
    method.name: method
    for method in (
        *(SampledGraph, LayerSampling, FullBatch, Fresh, Neighbor, Gas, GraphFm, VrGcn),
        *(ClusterGcn, FastGcn, Ladies, Prepropagation),
    )
}
