from refimpl.lab.pyg import *
from refimpl.lab.pyg import __all__ as __all__
from refimpl.lab.pyg.loaders import LinkLoader as LinkLoader
from refimpl.lab.pyg.loaders import LinkNeighborLoader as LinkNeighborLoader
from refimpl.lab.pyg.loaders import NeighborLoader as NeighborLoader
from refimpl.lab.pyg.loaders import NeighborSampler as NeighborSampler
from refimpl.lab.pyg.loaders import NodeLoader as NodeLoader
