from refimpl.optimizers import *
from refimpl.optimizers import __all__ as __all__
