from fastimpl.lab.training import methods as methods
from fastimpl.lab.training import models as models
from refimpl.lab.training import *
from refimpl.lab.training import __all__ as __all__
