from refimpl.block import *
from refimpl.block import __all__ as __all__
