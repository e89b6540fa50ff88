"""Operations that differ between the kinds of X."""

import sys
import warnings
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from .lazy import as_lazy, is_lazy
from .mapped import Mapped
from .visible import visible


def is_frame(X):
    return isinstance(X, pd.DataFrame)


def is_tensor(X):
    # A tensor exists only where torch has been imported already: nothing is imported to ask.
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


@contextmanager
def accepting_read_only():
    """Let torch read arrays of records and memory maps, which are read-only and stay so."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writ")
        yield


def to_numpy(tensor):
    """Return the values of a tensor; bfloat16, which numpy lacks, becomes float32."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()


class PackedTensor(NamedTuple):
    """A tensor as it travels: its own rows only, in bytes that depend on nothing but the content.

    A tensor that is pickled takes along the whole storage that it is a view of, and its address.
    """

    values: np.ndarray
    shape: tuple
    dtype: str
    device: str


def pack(rows):
    """A form of the rows that pickles to equal bytes for equal content."""
    if not is_tensor(rows):
        return rows
    torch = sys.modules["torch"]
    values = rows.detach().cpu().reshape(-1).view(torch.uint8).numpy()
    dtype = str(rows.dtype).removeprefix("torch.")
    return PackedTensor(values, tuple(rows.shape), dtype, str(rows.device))


def unpack(rows):
    """The rows as they were before :func:`pack`, or where they are mapped from."""
    if isinstance(rows, Mapped):
        return rows.open()
    if not isinstance(rows, PackedTensor):
        return rows
    import torch

    tensor = torch.empty(rows.shape, dtype=getattr(torch, rows.dtype))
    tensor.reshape(-1).view(torch.uint8).numpy()[:] = rows.values
    return tensor.to(rows.device)


def read_only(rows):
    """A view of an array that cannot be written to; other containers as they are."""
    if not isinstance(rows, np.ndarray):
        return rows
    view = rows.view()
    view.flags.writeable = False
    return view


def refuse_masked(values, name):
    """Refuse a masked array that hides values, because what is hidden would be read all the same.

    Raises
    ------
    ValueError
        If a value is masked.
    """
    n_hidden = np.ma.count_masked(values) if isinstance(values, np.ma.MaskedArray) else 0
    if n_hidden:
        raise ValueError(
            f"{name} is a masked array that hides {n_hidden} of {values.size} values; fill them "
            "(numpy.ma.MaskedArray.filled) or drop their rows."
        )


def _refuse_bytes(frame):
    """Refuse columns of numpy's bytes, which pandas keeps but can neither count nor compare."""
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if dtype.kind == "S":
            raise ValueError(
                f"Column {visible(name)} of X holds bytes of type {dtype}, with which pandas "
                "cannot work; turn them into text, for example with astype(str)."
            )


def as_rows(X):
    """Turn X into one of the supported containers of rows without copying it.

    Raises
    ------
    TypeError
        If X is not a container of rows.
    ValueError
        If X is a masked array that hides values, or a table with columns of numpy's bytes.
    """
    refuse_masked(X, "X")
    lazy = as_lazy(X)
    if lazy is not None:
        rows = lazy
    elif is_tensor(X):
        rows = X.detach() if X.requires_grad else X  # records are not part of a graph
    elif is_frame(X):
        _refuse_bytes(X)
        rows = X
    elif sparse.issparse(X):
        rows = X.tocsr()
    elif hasattr(X, "__len__") or hasattr(X, "__array__"):
        try:
            rows = read_only(np.asarray(X))
        except ValueError:  # lists of different lengths; text beside bytes
            raise ValueError(
                "X must hold rows of equal length, with one value, text or a number, in each cell."
            ) from None
    else:
        rows = None
    if rows is None or rows.ndim == 0:
        raise TypeError(
            "X must be an array, a DataFrame, a sparse matrix or a torch tensor with one row per "
            f"record; got {type(X).__name__}."
        )
    return rows


def take_rows(rows, key):
    """Rows ``key`` (a slice or an index array) of any supported container."""
    if rows is None:
        return None
    if is_frame(rows):
        return rows.iloc[key]
    if is_tensor(rows) and not isinstance(key, slice):
        return rows[sys.modules["torch"].as_tensor(np.array(key), device=rows.device)]
    return rows[key]


def concat_rows(parts):
    """Stack containers of one kind below each other.

    Raises
    ------
    ValueError
        If their columns differ, or some hold text and others numbers.
    """
    first = parts[0]
    if first is None:
        return None
    if is_lazy(first):
        parts = [part[:] for part in parts]
        first = parts[0]
    if any(is_tensor(part) != is_tensor(first) for part in parts):
        kinds = ", ".join(dict.fromkeys(type(part).__name__ for part in parts))
        raise ValueError(f"Containers of different kinds cannot be joined: {kinds}.")
    if is_frame(first):
        if not all(part.columns.equals(first.columns) for part in parts):
            raise ValueError(
                "Tables can be joined only if they have the same columns in the same order."
            )
        return pd.concat(parts, ignore_index=True)
    if len({tuple(part.shape[1:]) for part in parts}) > 1 and not hasattr(first, "concat"):
        shapes = ", ".join(f"{tuple(part.shape[1:])}" for part in parts)
        raise ValueError(f"Rows can be joined when they have one shape; got rows of {shapes}.")
    if is_tensor(first):
        return sys.modules["torch"].cat(parts)
    if sparse.issparse(first):
        return type(first)(sparse.vstack(parts, format="csr"))  # old scipy gives a matrix always
    if hasattr(first, "concat"):
        return first.concat(parts)
    try:
        rows = np.concatenate(parts)
    except TypeError:  # dates beside numbers
        kinds = " and ".join(dict.fromkeys(str(part.dtype) for part in parts))
        raise ValueError(f"Arrays of these types cannot be joined: {kinds}.") from None
    if rows.dtype.kind in "US" and any(part.dtype.kind not in "US" for part in parts):
        kinds = " and ".join(dict.fromkeys(str(part.dtype) for part in parts))
        raise ValueError(f"Text and numbers cannot be joined in one array: {kinds}.")
    return rows


def describe_rows(rows):
    """Kind, shape and type of a container, for messages and reprs."""
    kind = rows.kind if is_lazy(rows) else type(rows).__name__
    dtype = f", {rows.dtype}" if hasattr(rows, "dtype") else ""
    return f"{kind}{tuple(rows.shape)}{dtype}"
