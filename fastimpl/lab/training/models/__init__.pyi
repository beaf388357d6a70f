from refimpl.lab.training.models import *
from refimpl.lab.training.models import __all__ as __all__
