from refimpl.lab.backend import *
from refimpl.lab.backend import __all__ as __all__
