"""What may end a kernel before its time: see _interrupts.pxd."""

import os
import threading
from concurrent.futures import CancelledError

from cpython.bytearray cimport PyByteArray_AsString
from cpython.exc cimport PyErr_Occurred

from refimpl._support.thread_limits import unwanted

cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident()

cdef unsigned long main_thread = threading.main_thread().ident


def _forked():
    global main_thread
    main_thread = PyThread_get_thread_ident()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


cdef Watch new_watch():
    """Return a watch for the loops of one call; the thread that calls this starts them."""
    cdef Watch watch
    cdef object flag = unwanted.get()
    watch.stop = 0
    watch.unwanted = PyByteArray_AsString(flag) if flag is not None else NULL
    watch.handles = PyThread_get_thread_ident() == main_thread
    watch.next = milliseconds() + BETWEEN
    return watch


cdef int raise_if_stopped(Watch* watch) except -1:
    """Raise what ended the loops, if anything did: what they have computed is not complete."""
    if not has_stopped(watch):
        return 0
    if PyErr_Occurred() == NULL:
        raise CancelledError("nobody waits for the result")
    return -1
