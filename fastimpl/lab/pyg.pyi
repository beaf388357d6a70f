from refimpl.lab.pyg import *
from refimpl.lab.pyg import __all__ as __all__
