"""Threads of models: one for small ones of the package, and in audits of small tables."""

import sys
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from threading import Lock

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _find_libraries(n_modules):
    found = ThreadpoolController()
    # A limiter restores all libraries of its controller, also those that it has not limited.
    return found, {name: found.select(user_api=name) for name in ("openmp", "blas")}


def find_thread_pools():
    """Return the controller of the libraries with threads that are loaded.

    Searching for the libraries takes longer than a small tree, so the result is cached until
    further modules, which may bring further libraries, are imported.
    """
    return _find_libraries(len(sys.modules))[0]


def _find_pools_of(user_api):
    return _find_libraries(len(sys.modules))[1][user_api]


def on_one_thread(is_own=True):
    """Keep OpenMP to one thread in this Python thread; do nothing for a model of the user.

    The trees and searches of the package are small, so that threads gain little. If other programs
    use the cores, the threads wait for each other ten times as long as they work. The number of
    threads of OpenMP belongs to the Python thread that sets it, unlike that of BLAS, which all of
    them share: attacks in several threads do not undo each other's limit.
    """
    return _find_pools_of("openmp").limit(limits=1) if is_own else nullcontext()


_BLAS = Lock()


@contextmanager
def all_on_one_thread(is_light):
    """Keep OpenMP and BLAS to one thread while what is computed is light.

    BLAS has one number of threads for the whole process. Of several Python threads the first alone
    sets and restores it: another one would take its limit for what was there before.
    """
    is_first = is_light and _BLAS.acquire(blocking=False)
    try:
        with _find_pools_of("blas").limit(limits=1) if is_first else nullcontext():
            with on_one_thread(is_light):
                yield
    finally:
        if is_first:
            _BLAS.release()
