from refimpl.cost_models import *
from refimpl.cost_models import __all__ as __all__
