"""Draws made ahead, and probes of both dashboards in lanes; samplers/_probes.h says how."""

from libc.stdint cimport int32_t, int64_t, uint64_t

cdef extern from "fastimpl/samplers/_probes.h":
    ctypedef struct Probes "gnn_probes":
        pass
    void start_probes "gnn_start_probes"(Probes* probes, uint64_t key) noexcept nogil
    int64_t first_hit "gnn_first_hit"(
        Probes* probes, const int32_t* entries, int64_t limit, int width, int64_t* tries
    ) noexcept nogil
    int64_t next_below "gnn_next_below"(Probes* probes, int64_t n) noexcept nogil
    enum: CHUNK "GNN_CHUNK"
    void occupy "gnn_occupy"(
        int32_t* entries, int64_t length, int32_t value, int width
    ) noexcept nogil
    void vacate "gnn_vacate"(int32_t* entries, int64_t length, int width) noexcept nogil
    void no_vectors "gnn_no_vectors"() noexcept nogil
