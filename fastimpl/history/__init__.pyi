from refimpl.history import *
from refimpl.history import __all__ as __all__
