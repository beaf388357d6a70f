from refimpl.streams import *
from refimpl.streams import __all__ as __all__
