"""What the processor can do, asked of the processor itself."""

cdef extern from *:
    """
    #if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
    static int gnn_has_v3(void) {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi")
            && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
    }
    static int gnn_has_v4(void) {
        return gnn_has_v3() && __builtin_cpu_supports("avx512f")
            && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd")
            && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    }
    #else
    static int gnn_has_v3(void) { return 0; }
    static int gnn_has_v4(void) { return 0; }
    #endif
    """
    bint gnn_has_v3()
    bint gnn_has_v4()


def levels():
    """Return the levels of x86-64 above the second that this processor has, the highest first."""
    found = []
    if gnn_has_v4():
        found.append("x86-64-v4")
    if gnn_has_v3():
        found.append("x86-64-v3")
    return found
