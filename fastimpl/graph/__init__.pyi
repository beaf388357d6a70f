from refimpl.graph import *
from refimpl.graph import __all__ as __all__
