"""OpenMP and forked processes; and a team of more threads than cores.

A child has the thread that forked, but not the threads that worked for it; GCC's runtime would
wait for them in the next loop. So they are let go before each fork, and both processes start new
ones when they need them. A runtime that cannot let them go stays on one thread in the child;
those of Clang and Intel begin anew by themselves.
"""

import os

cdef extern from *:
    """
    #if defined(_OPENMP)
    #include <omp.h>
    #if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 9
    #define gnn_let_go() (omp_pause_resource_all(omp_pause_soft) == 0)
    #elif defined(__clang__)
    #define gnn_let_go() 1
    #else
    #define gnn_let_go() 0
    #endif
    #define gnn_one_thread() omp_set_num_threads(1)
    static int gnn_team_beside(int team)
    {
        int missing = omp_get_num_procs() + 1 - team;
        return missing > 0 ? missing + 1 : 2;
    }
    static int gnn_outnumber(int team)
    {
        int threads = 0;
        omp_set_dynamic(0);
    #pragma omp parallel num_threads(gnn_team_beside(team)) reduction(+ : threads)
        threads += 1;
        return threads;
    }
    #else
    #define gnn_let_go() 1
    #define gnn_one_thread() ((void)0)
    #define gnn_team_beside(team) 1
    #define gnn_outnumber(team) 1
    #endif
    #if defined(_OPENMP) && defined(__GNUC__) && !defined(__clang__)
    #define GNN_GCC_RUNTIME 1
    #else
    #define GNN_GCC_RUNTIME 0
    #endif
    """
    bint let_go "gnn_let_go"()
    void one_thread "gnn_one_thread"()
    int beside "gnn_team_beside"(int team)
    int outnumber "gnn_outnumber"(int team) nogil
    const bint GNN_GCC_RUNTIME

has_gcc_runtime = bool(GNN_GCC_RUNTIME)

cdef bint free_to_fork = True


def team_beside(int team):
    """Return how many threads the team of `outnumber_cores` has, unless there is a limit."""
    return beside(team)


def outnumber_cores(int team):
    """Run a team that has, with a team of another thread, more threads than the process has cores.

    Return how many threads it had. GCC's runtime keeps them, asleep, until the calling thread ends.
    """
    cdef int threads
    with nogil:
        threads = outnumber(team)
    return threads


def _before():
    global free_to_fork
    free_to_fork = let_go()


def _in_child():
    if not free_to_fork:
        one_thread()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=_in_child)
