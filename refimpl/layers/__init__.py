"""Layers: the forward pass of each, and its gradients written out by hand."""

from refimpl.layers.dense import DenseGradients, dense_backward, dense_forward
from refimpl.layers.gat import GatGradients, GatOutput, gat_backward, gat_forward
from refimpl.layers.gcn import GcnGradients, GcnOutput, gcn_backward, gcn_forward
from refimpl.layers.mixhop import MixHopGradients, MixHopOutput, mixhop_backward, mixhop_forward
from refimpl.layers.relations import relation_norms
from refimpl.layers.rgcn import RgcnGradients, RgcnOutput, rgcn_backward, rgcn_forward
from refimpl.layers.rows import (
    RowL2Output,
    dropout,
    row_l2_backward,
    row_l2_forward,
)
from refimpl.layers.sage import SageGradients, SageOutput, sage_backward, sage_forward

__all__ = [
    "DenseGradients",
    "GatGradients",
    "GatOutput",
    "GcnGradients",
    "GcnOutput",
    "MixHopGradients",
    "MixHopOutput",
    "RgcnGradients",
    "RgcnOutput",
    "RowL2Output",
    "SageGradients",
    "SageOutput",
    "dense_backward",
    "dense_forward",
    "dropout",
    "gat_backward",
    "gat_forward",
    "gcn_backward",
    "gcn_forward",
    "mixhop_backward",
    "mixhop_forward",
    "relation_norms",
    "rgcn_backward",
    "rgcn_forward",
    "row_l2_backward",
    "row_l2_forward",
    "sage_backward",
    "sage_forward",
]
