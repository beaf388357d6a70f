from refimpl.samplers import *
from refimpl.samplers import __all__ as __all__
