"""Arrays that are mapped from a file, and travel as the place of their bytes in it."""

import os
from typing import NamedTuple

import numpy as np


class Mapped(NamedTuple):
    """Place of the bytes of an array in a file."""

    path: str
    dtype: np.dtype
    offset: int
    shape: tuple

    def open(self):
        """Map the array, which cannot be written to.

        Raises
        ------
        FileNotFoundError
            If the file does not exist on this machine.
        """
        if not os.path.exists(self.path):
            raise FileNotFoundError(
                f"The records are mapped from {self.path}, which does not exist here; with "
                "on_disk=True all workers must share its file system."
            )
        return np.asarray(np.memmap(self.path, self.dtype, "r", self.offset, self.shape))


def get_place(array):
    """Return where the bytes of an array are in a file.

    Parameters
    ----------
    array : object

    Returns
    -------
    place : Mapped or None
        None if it is not mapped from a file, or not without gaps, or differs from the file.
    """
    if not isinstance(array, np.ndarray) or not array.flags.c_contiguous or array.dtype.hasobject:
        return None
    source = array
    while isinstance(source, np.ndarray) and not _is_whole_map(source):
        source = source.base
    if not isinstance(source, np.memmap) or source.filename is None or source.mode == "c":
        return None
    source.flush()
    offset = source.offset + array.ctypes.data - source.ctypes.data
    return Mapped(os.path.abspath(source.filename), array.dtype, offset, array.shape)


def _is_whole_map(array):
    return isinstance(array, np.memmap) and not isinstance(array.base, np.ndarray)
