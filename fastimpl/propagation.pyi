from refimpl.propagation import *
from refimpl.propagation import __all__ as __all__
