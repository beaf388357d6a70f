from refimpl.lab.dgl import *
from refimpl.lab.dgl import __all__ as __all__
