"""What the processor can do, asked of the processor itself.

This module is compiled for any processor, so that it can say that the others are not.
"""

cdef extern from *:
    """
    /* What the other modules may use: setup.py asks the compiler. Nothing is known without it. */
    #ifndef GNN_NEEDS
    #define GNN_NEEDS(X)
    #endif
    #ifndef GNN_ARCH
    #define GNN_ARCH
    #endif
    #define GNN_TEXT(words) #words
    #define GNN_EXPANDED(words) GNN_TEXT(words)
    static const char *gnn_arch = GNN_EXPANDED(GNN_ARCH);

    #define GNN_MAY(name) if (number-- == 0) return name;
    static const char *gnn_needed(int number) {
        GNN_NEEDS(GNN_MAY)
        return NULL;
    }
    #define GNN_LACKS(name) if (!__builtin_cpu_supports(name) && number-- == 0) return name;
    static const char *gnn_lacked(int number) {
    #if defined(__GNUC__) && defined(__x86_64__)
        __builtin_cpu_init();
        GNN_NEEDS(GNN_LACKS)
    #endif
        return NULL;
    }

    /* Compilers that know the levels by name; what others build is for every processor. */
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
    const char* gnn_arch
    const char* gnn_needed(int number)
    const char* gnn_lacked(int number)
    bint gnn_has_v3()
    bint gnn_has_v4()


def arch():
    """Return the -march that the kernels of level "base" were compiled with; "" without one."""
    return gnn_arch.decode()


def needed():
    """Return the instruction sets of x86-64 that these kernels may use, as compilers name them."""
    return listed(gnn_needed)


def lacked():
    """Return those of them that this processor does not have."""
    return listed(gnn_lacked)


cdef list listed(const char* (*name_of)(int)):
    """Return the names that a function gives to 0, 1, .. until NULL."""
    found = []
    while name_of(len(found)) != NULL:
        found.append(name_of(len(found)).decode())
    return found


def levels():
    """Return the levels of x86-64 above the second that this processor has, the highest first."""
    found = []
    if gnn_has_v4():
        found.append("x86-64-v4")
    if gnn_has_v3():
        found.append("x86-64-v3")
    return found
