"""Training steps and sparse products beside torch and torch_geometric, in turns in one run.

Each contestant is a process of its own: two OpenMP runtimes never share one. Modules that torch's
interpreter loads (`protocol`, `loaders`, `hand_written`, `geometric`, `theirs`) import no module of
this project but each other and `bench.timing`, which imports none.
"""
