from refimpl.loader import *
from refimpl.loader import __all__ as __all__
