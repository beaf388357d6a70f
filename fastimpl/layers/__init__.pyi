from refimpl.layers import *
from refimpl.layers import __all__ as __all__
