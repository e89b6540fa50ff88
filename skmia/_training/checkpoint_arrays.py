"""Arrays of finished models that stay in the files of a checkpoint."""

import json
import os
import zipfile
from typing import NamedTuple

import numpy as np

from .._core.filed_array import FiledArray, RowSource
from ..exceptions import CheckpointError
from .digests import digest_arrays

_LOCAL_HEADER = 30  # bytes of the header before a part of a zip file


class ArrayPart(NamedTuple):
    """Place of an array in a file that is not compressed."""

    offset: int
    shape: tuple
    dtype: np.dtype


def list_file_arrays(path):
    """Find the arrays in the file of a model."""
    parts = {}
    with open(path, "rb") as file, zipfile.ZipFile(file) as stored:
        for entry in stored.infolist():
            if entry.compress_type != zipfile.ZIP_STORED:
                raise ValueError("it is compressed")
            file.seek(entry.header_offset + 26)
            extra = np.frombuffer(file.read(4), dtype="<u2").astype(int).sum()
            start = int(entry.header_offset + _LOCAL_HEADER + extra)
            file.seek(start)
            shape, fortran, dtype = _read_header(file)
            if dtype.hasobject or (fortran and len(shape) > 1):
                raise ValueError(f"its array {entry.filename} is not stored as numbers in C order")
            if file.tell() - start + dtype.itemsize * int(np.prod(shape)) != entry.file_size:
                raise ValueError(f"its array {entry.filename} has another size than it says")
            parts[entry.filename.removesuffix(".npy")] = ArrayPart(file.tell(), shape, dtype)
    if not parts:
        raise ValueError("it holds no arrays")
    return parts


def _read_header(file):
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    return np.lib.format.read_array_header_2_0(file)


def map_parts(path):
    """Return the arrays in the file of a model, mapped into memory if they are large."""
    return {name: _map(path, part) for name, part in list_file_arrays(path).items()}


def _map(path, part):
    if not part.shape or not np.prod(part.shape):
        return _read_entries(path, part, 0, int(np.prod(part.shape))).reshape(part.shape)
    return np.memmap(path, part.dtype, "r", part.offset, part.shape)


def _read_entries(path, part, start, stop):
    """Read entries of the flat array from a start to a stop."""
    offset = part.offset + start * part.dtype.itemsize
    with open(path, "rb") as file:
        return np.fromfile(file, part.dtype, stop - start, offset=offset)


class StoredRows(RowSource):
    """Rows of an array that every model of a checkpoint has in its file.

    Row i of model k has the number k * rows_per_model + i.
    """

    def __init__(self, paths, name, n_tail=0):
        self._paths, self._name = list(paths), name
        self._parts, self._metas = [], []
        self._stamps = [_stamp(path) for path in self._paths]
        for path in self._paths:
            parts = list_file_arrays(path)
            self._parts.append(parts[name])
            self._metas.append(_read_meta_entry(path, parts))
        first = self._parts[0]
        n_lead = len(first.shape) - 1 - n_tail
        self.lead, self.n_columns = first.shape[:n_lead], first.shape[n_lead]
        self.tail, self.dtype = first.shape[n_lead + 1 :], first.dtype

    @property
    def rows_per_model(self):
        """Number of rows in the file of each model."""
        return int(np.prod(self.lead))

    def read(self, number, start, stop):
        k, row = divmod(int(number), self.rows_per_model)
        entry, first = int(np.prod(self.tail)), row * self.n_columns
        values = self._read_entries(k, (first + start) * entry, (first + stop) * entry)
        return values.reshape(-1, *self.tail)

    def _read_entries(self, k, start, stop):
        try:
            self._check_same(k)
            values = _read_entries(self._paths[k], self._parts[k], start, stop)
        except OSError as error:
            raise CheckpointError(
                f"{self._paths[k]}, from which the fitted pool reads its signals, cannot be read: "
                f"{error.strerror or error}."
            ) from error
        if len(values) < stop - start:
            raise CheckpointError(f"{self._paths[k]} is shorter than when the pool was fitted.")
        return values

    def _check_same(self, k):
        """Refuse a file that was replaced by one with other contents since the pool was fitted."""
        path, stamp = self._paths[k], _stamp(self._paths[k])
        if stamp == self._stamps[k]:
            return
        # Another process of the same fit may have trained the model as well; its file says the
        # same.
        try:
            is_same = _read_meta_entry(path, list_file_arrays(path)) == self._metas[
                k
            ] and _is_intact(path)
        except OSError:
            raise
        except Exception:  # damaged bytes can raise anything
            is_same = False
        if not is_same:
            raise CheckpointError(f"{path} has changed since the pool was fitted; fit it again.")
        self._stamps[k] = stamp


def _stamp(path):
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


def _is_intact(path):
    """Return whether the arrays of a file are those whose digest it holds."""
    arrays = map_parts(path)
    meta = json.loads(str(arrays.pop("meta")))
    return digest_arrays(arrays) == meta["arrays"]


def _read_meta_entry(path, parts):
    return str(_read_entries(path, parts["meta"], 0, 1)[0])


class StoredBits(StoredRows):
    """Rows of truth values that were packed into bytes."""

    def __init__(self, paths, name, n_columns):
        super().__init__(paths, name)
        self.n_columns, self.dtype = n_columns, np.dtype(bool)

    def read(self, number, start, stop):
        first = start // 8
        packed = self._read_entries(int(number), first, -(-stop // 8))
        return np.unpackbits(packed)[start - 8 * first : stop - 8 * first].view(bool)


def read_stored(paths, name, axis=0, n_tail=0):
    """Return an array of all models that reads their files."""
    rows = StoredRows(paths, name, n_tail)
    numbers = np.arange(len(paths) * rows.rows_per_model).reshape(len(paths), *rows.lead)
    return FiledArray(rows, np.moveaxis(numbers, 0, axis))


def read_stored_bits(paths, name, n_columns):
    """Return truth values of all models that reads their files, of shape (n_models, n_columns)."""
    return FiledArray(StoredBits(paths, name, n_columns), np.arange(len(paths)))
