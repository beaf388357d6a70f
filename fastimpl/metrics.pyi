from refimpl.metrics import *
from refimpl.metrics import __all__ as __all__
