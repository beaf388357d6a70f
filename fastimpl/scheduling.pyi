from refimpl.scheduling import *
from refimpl.scheduling import __all__ as __all__
