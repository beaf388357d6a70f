from refimpl.partition import *
from refimpl.partition import __all__ as __all__
