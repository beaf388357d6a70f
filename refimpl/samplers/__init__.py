"""Samplers: each draws the nodes of one subgraph; `sampling` induces and numbers them."""
