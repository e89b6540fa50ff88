"""Whether this kernel can close files and programs to a process."""

import ctypes
import sys

import pytest


def _has_landlock():
    if sys.platform != "linux":
        return False
    system = ctypes.CDLL(None)
    return system.syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint32(1)) >= 1


LANDLOCK = pytest.mark.skipif(not _has_landlock(), reason="this kernel has no Landlock")
