"""Adam in one pass over memory. Arguments were checked by fastimpl/optimizers.py."""

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport sqrt, sqrtf

from fastimpl._types cimport TEAM


def adam_step(
    floating[::1] theta,  # INOUT
    const floating[::1] grad,  # IN
    floating[::1] m, floating[::1] v,  # INOUT
    floating lr, floating beta1, floating rest1, floating beta2, floating rest2,  # IN
    floating correct1, floating correct2, floating eps  # IN
):
    """Each operation is rounded on its own, in the reference's order: the same bits."""
    cdef Py_ssize_t i, count = theta.shape[0]
    cdef floating root
    for i in prange(count, nogil=True, schedule="static", use_threads_if=count > TEAM):
        m[i] = beta1 * m[i] + rest1 * grad[i]
        v[i] = beta2 * v[i] + rest2 * (grad[i] * grad[i])
        if floating is double:
            root = sqrt(v[i] / correct2)
        else:
            root = sqrtf(v[i] / correct2)
        theta[i] = theta[i] - lr * (m[i] / correct1) / (root + eps)
