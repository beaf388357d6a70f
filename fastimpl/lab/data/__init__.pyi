from refimpl.lab.data import *
from refimpl.lab.data import __all__ as __all__
