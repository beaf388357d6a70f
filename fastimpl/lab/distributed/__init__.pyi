from refimpl.lab.distributed import *
from refimpl.lab.distributed import __all__ as __all__
