from refimpl.profiling import *
from refimpl.profiling import __all__ as __all__
