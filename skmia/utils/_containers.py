"""The few questions that the kinds of X answer differently."""

import sys

import numpy as np
import pandas as pd
from scipy import sparse


def is_frame(X):
    return isinstance(X, pd.DataFrame)


def is_tensor(X):
    # A tensor exists only where torch has been imported already: nothing is imported to ask.
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def read_only(rows):
    """A view of an array that cannot be written to; other containers as they are."""
    if not isinstance(rows, np.ndarray):
        return rows
    view = rows.view()
    view.flags.writeable = False
    return view


def as_rows(X):
    """Turn X into one of the supported containers of rows without copying it.

    Raises
    ------
    TypeError
        When X is no container of rows.
    """
    if is_frame(X) or is_tensor(X):
        rows = X
    elif sparse.issparse(X):
        rows = X.tocsr()
    elif hasattr(X, "__len__") or hasattr(X, "__array__"):
        rows = read_only(np.asarray(X))
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
    """Stack containers of one kind below each other."""
    first = parts[0]
    if first is None:
        return None
    if is_frame(first):
        return pd.concat(parts, ignore_index=True)
    if is_tensor(first):
        return sys.modules["torch"].cat(parts)
    if sparse.issparse(first):
        return sparse.vstack(parts, format="csr")
    if hasattr(first, "concat"):
        return first.concat(parts)
    return np.concatenate(parts)


def describe_rows(rows):
    """Kind, shape and type of a container, for messages and reprs."""
    kind = type(rows).__name__
    dtype = f", {rows.dtype}" if hasattr(rows, "dtype") else ""
    return f"{kind}{tuple(rows.shape)}{dtype}"
