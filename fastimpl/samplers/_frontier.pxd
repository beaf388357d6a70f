from fastimpl.samplers._walker cimport Chooser

cdef Chooser frontier
