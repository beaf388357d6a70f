"""Layers: the forward pass of each, and its gradients written out by hand."""
