from refimpl.lab.pyg import *
from refimpl.lab.pyg import __all__ as __all__
from refimpl.lab.pyg.loaders import ClusterData as ClusterData
from refimpl.lab.pyg.loaders import ClusterLoader as ClusterLoader
from refimpl.lab.pyg.loaders import GraphSAINTEdgeSampler as GraphSAINTEdgeSampler
from refimpl.lab.pyg.loaders import GraphSAINTNodeSampler as GraphSAINTNodeSampler
from refimpl.lab.pyg.loaders import GraphSAINTRandomWalkSampler as GraphSAINTRandomWalkSampler
from refimpl.lab.pyg.loaders import GraphSAINTSampler as GraphSAINTSampler
from refimpl.lab.pyg.loaders import HGTLoader as HGTLoader
from refimpl.lab.pyg.loaders import HGTSampler as HGTSampler
from refimpl.lab.pyg.loaders import LinkLoader as LinkLoader
from refimpl.lab.pyg.loaders import LinkNeighborLoader as LinkNeighborLoader
from refimpl.lab.pyg.loaders import NeighborLoader as NeighborLoader
from refimpl.lab.pyg.loaders import NeighborSampler as NeighborSampler
from refimpl.lab.pyg.loaders import NodeLoader as NodeLoader
from refimpl.lab.pyg.loaders import ShaDowKHopSampler as ShaDowKHopSampler
