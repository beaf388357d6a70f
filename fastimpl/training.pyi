from refimpl.training import *
from refimpl.training import __all__ as __all__
