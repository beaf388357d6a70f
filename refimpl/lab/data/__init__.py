"""Data to train on: built-in `communities`, GraphSAINT folders, Planetoid's raw files."""
