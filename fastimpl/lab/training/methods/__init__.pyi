from refimpl.lab.training.methods import *
from refimpl.lab.training.methods import __all__ as __all__
