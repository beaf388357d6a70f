"""refimpl/samplers/relabelling.py on kernels."""

from fastimpl._buffers import empty
from fastimpl._twin import twin
from fastimpl.samplers import _met_codes
from refimpl.samplers.relabelling import Relabelled, relabel_arguments


@twin
def relabel(known, met):
    known, met = relabel_arguments(known, met)
    codes, places = empty((len(known) + len(met),), "int64"), empty((len(met),), "int32")
    count = _met_codes.relabel(known, met, codes, places)
    return Relabelled(codes[:count].copy(), places)
