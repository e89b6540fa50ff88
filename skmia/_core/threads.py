"""Threads of models: one for the small ones that the package trains for itself."""

import sys
from contextlib import nullcontext
from functools import lru_cache

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _find_libraries(n_modules):
    return ThreadpoolController()


def find_thread_pools():
    """Return the controller of the libraries with threads that are loaded."""
    # Searching for the libraries takes longer than a small tree, so the result is cached until
    # further modules, which may bring further libraries, are imported.
    return _find_libraries(len(sys.modules))


def on_one_thread(is_own=True):
    """Keep OpenMP to one thread in this Python thread; do nothing for a model of the user."""
    # The trees and searches of the package are small, so that threads gain little. If other
    # programs use the cores, the threads wait for each other ten times as long as they work. The
    # number of threads of OpenMP belongs to the Python thread that sets it, unlike that of BLAS,
    # which all of them share: attacks in several threads do not undo each other's limit.
    return find_thread_pools().limit(limits=1, user_api="openmp") if is_own else nullcontext()
