"""Probes in lanes, for both dashboards; samplers/_probes.h says how."""

from libc.stdint cimport int32_t, int64_t, uint64_t

cdef extern from "fastimpl/samplers/_probes.h":
    ctypedef struct Probes "gnn_probes":
        pass
    void start_probes "gnn_start_probes"(Probes* probes, uint64_t key) noexcept nogil
    int64_t first_hit "gnn_first_hit"(
        Probes* probes, const int32_t* entries, int64_t limit, int width, int64_t* tries
    ) noexcept nogil
