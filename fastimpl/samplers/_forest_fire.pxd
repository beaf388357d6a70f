from fastimpl.samplers._walker cimport Method

cdef Method forest_fire
