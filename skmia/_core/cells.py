"""Cells of tables as bytes: equal cells get equal bytes, and different ones different bytes."""

import hashlib
from typing import NamedTuple

import joblib
import numpy as np
import pandas as pd

TOKEN_BYTES = 16
_NUMBER_KINDS = "biufcMm"
_LARGEST_CACHE = 1 << 17


def number_bytes(values):
    """Return the bytes of numbers of shape (n, d), unchanged with two exceptions.

    -0.0 equals 0.0, and all NaN are one.

    Returns
    -------
    cells : ndarray of shape (n, d * width), dtype uint8
    """
    if values.size == 0:
        return np.zeros((len(values), 0), dtype=np.uint8)
    if values.dtype.kind == "c":
        values = np.stack([values.real, values.imag], axis=-1)
    if values.dtype.kind == "f":
        values = values + values.dtype.type(0)
        missing = np.isnan(values)
        if missing.any():
            values[missing] = np.nan
        if values.dtype.itemsize > 8:
            values = _split_long(values)
    values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    return values.reshape(len(values), -1).view(np.uint8)


def _split_long(values):
    # Extended precision has bytes that hold nothing, with whatever was there before.
    mantissa, exponent = np.frexp(values)
    high = mantissa.astype(np.float64)
    low = (mantissa - high).astype(np.float64)
    return np.stack([high, low, exponent.astype(np.float64)], axis=-1)


class Tokens:
    """Sixteen bytes for each object: text, numbers, dates, lists.

    Text is text, however it is held. Numbers are compared as Python compares them, so that 1, 1.0
    and True are equal in a column of objects. All missing values are one.
    """

    def __init__(self):
        self._known = {}

    def encode(self, cells):
        """Tokens of an array of objects of shape (n, d), as uint8 of shape (n, d * 16)."""
        found = b"".join([self._find(cell) for cell in cells.reshape(-1).tolist()])
        return np.frombuffer(found, dtype=np.uint8).reshape(len(cells), -1)

    def _find(self, cell):
        if type(cell) is not str:
            return _hash_object(cell)
        token = self._known.get(cell)
        if token is None:
            if len(self._known) == _LARGEST_CACHE:
                self._known.clear()
            token = self._known[cell] = _hash_object(cell)
        return token


def _hash_object(cell):
    return hashlib.blake2b(_describe(cell), digest_size=TOKEN_BYTES).digest()


def _describe(cell):
    if isinstance(cell, str):
        return b"text " + cell.encode("utf-8", "surrogatepass")
    if isinstance(cell, bytes):
        return b"bytes " + cell
    if isinstance(cell, bool | int | np.integer | np.bool_):
        return b"number %x" % int(cell)
    if isinstance(cell, float | np.floating):
        return _describe_float(cell)
    if cell is None or cell is pd.NaT or cell is pd.NA:
        return b"missing"
    try:
        return b"object " + joblib.hash(cell, hash_name="sha1").encode()
    except Exception as error:  # pickling runs code of the cell's class
        raise TypeError(
            f"A cell holds a {type(cell).__name__}, whose content cannot be read "
            f"({type(error).__name__}: {error}); records are compared by content."
        ) from None


def _describe_float(cell):
    if cell != cell:
        return b"missing"
    as_float = float(cell)
    if as_float != cell:
        return b"long " + repr(cell).encode()
    if as_float.is_integer():
        return b"number %x" % int(as_float)
    return b"number " + as_float.hex().encode()


class Column(NamedTuple):
    """Cells of one type. ``missing`` marks missing cells if the type of numbers has no NaN."""

    type: str
    values: object  # numbers: ndarray; objects: what take_objects reads
    missing: np.ndarray | None = None


OBJECTS = "object"


def as_column(column):
    """The cells of a Series or an array under the name of their type.

    Raises
    ------
    TypeError
        For a structured array.
    """
    if isinstance(column, pd.Series):
        return _from_series(column)
    if column.dtype.kind == "V":
        raise TypeError(
            f"Records of a structured array ({column.dtype}) cannot be compared; use a DataFrame."
        )
    if column.dtype.kind not in _NUMBER_KINDS:
        return Column(OBJECTS, column)
    if column.dtype.kind in "Mm":
        moments = column.astype(column.dtype.newbyteorder("="), copy=False)
        return Column(column.dtype.name, moments.view(np.int64))
    return Column(column.dtype.name, column)


def _from_series(column):
    dtype = column.dtype
    if isinstance(dtype, pd.SparseDtype):
        return as_column(np.asarray(column, dtype=dtype.subtype))
    if isinstance(dtype, pd.DatetimeTZDtype):
        moments = as_column(column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
        return moments._replace(type=f"{moments.type} UTC")
    # pandas' own types of numbers wrap numpy's types.
    held = getattr(dtype, "numpy_dtype", dtype)
    if not isinstance(held, np.dtype) or held.kind not in _NUMBER_KINDS:
        return Column(OBJECTS, column)
    if held is dtype:
        return as_column(column.to_numpy())
    if held.kind not in "biu":
        missing = held.type("NaT" if held.kind in "Mm" else "nan")
        return as_column(column.to_numpy(dtype=held, na_value=missing))
    values = column.to_numpy(dtype=held, na_value=held.type(0))
    return Column(held.name, values, column.isna().to_numpy())


def take_objects(values, rows):
    """Cells of a slice of rows, as an array of objects."""
    if isinstance(values, pd.Series):
        return values.iloc[rows].to_numpy(dtype=object)
    return values[rows].astype(object)
