"""What the processor can do, asked of the processor itself."""

cdef extern from *:
    """
    /* compilers that know the levels by name; what others build is for every processor */
    #if defined(__clang__)
    #define GNN_KNOWS_LEVELS (__clang_major__ >= 18)
    #elif defined(__GNUC__)
    #define GNN_KNOWS_LEVELS (__GNUC__ >= 12)
    #else
    #define GNN_KNOWS_LEVELS 0
    #endif
    #if GNN_KNOWS_LEVELS && defined(__x86_64__)
    static int gnn_has_v3(void) {
        __builtin_cpu_init();
        return __builtin_cpu_supports("x86-64-v3") != 0;
    }
    static int gnn_has_v4(void) {
        __builtin_cpu_init();
        return __builtin_cpu_supports("x86-64-v4") != 0;
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
