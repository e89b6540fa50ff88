"""Rows that all models of a group are asked about, kept on their device."""

import numpy as np
import torch

from .prepare import as_table_rows


class DeviceRows:
    """Moves rows to a device once, instead of once for each model.

    Parameters
    ----------
    tables : list of array-like
        Rows of the job, which stay where they are in memory while the group is trained.
    device : torch device
        Device of the nets.
    room : int
        Bytes that the kept rows may take.
    """

    def __init__(self, tables, device, room):
        self._tables = [X for X in tables if isinstance(X, np.ndarray)]
        self._device, self._room, self._kept = device, room, {}

    def get(self, X, dtype):
        """Return rows as tensors, on the device if they are rows of the job and there is room."""
        if not isinstance(X, np.ndarray) or not any(
            np.may_share_memory(X, t) for t in self._tables
        ):
            return as_table_rows(X, dtype, "cpu")
        # Views of the same memory have the same values, as records are not changed.
        key = X.__array_interface__["data"][0], X.shape, X.strides, X.dtype.str, dtype
        if key not in self._kept:
            rows = as_table_rows(X, dtype, "cpu")
            n_bytes = rows.numel() * rows.element_size()
            if n_bytes > self._room:
                return rows
            self._room -= n_bytes
            self._kept[key] = rows.to(self._device)
        return self._kept[key]


def rows_for(job, device):
    """Return the rows of a job for a device; on a CPU none are kept, as none are moved."""
    room = torch.cuda.mem_get_info(device)[0] // 4 if device.type == "cuda" else 0
    return DeviceRows(job.data.tables, device, room)
