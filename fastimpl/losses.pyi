from refimpl.losses import *
from refimpl.losses import __all__ as __all__
