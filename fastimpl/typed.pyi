from refimpl.typed import *
from refimpl.typed import __all__ as __all__
