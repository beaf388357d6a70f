from refimpl.adjacency import *
from refimpl.adjacency import __all__ as __all__
