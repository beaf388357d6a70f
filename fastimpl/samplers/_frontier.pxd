from fastimpl.samplers._walker cimport Method

cdef Method frontier
