"""Digests of arrays and tables: of all bytes in their order, with types and shapes."""

from hashlib import sha256

import numpy as np
import pandas as pd
from scipy import sparse

from ..._core.containers import is_frame, is_lazy, is_tensor, pack
from ..._core.hashing import OBJECTS, Tokens, as_column, number_bytes, take_objects
from .code import digest_text

_BLOCK_BYTES = 1 << 24
_LAZY_ROWS = 1 << 16  # that are read at once of a table that is not in memory


def digest_table(X):
    """Digest of an array, a DataFrame, a Series, a sparse matrix or a tensor.

    Unlike fingerprints of records, it depends on the container, the order of the rows and the names
    of the columns.

    Parameters
    ----------
    X : ndarray, DataFrame, Series, sparse matrix or tensor

    Returns
    -------
    digest : str
        Hexadecimal digits after a "#".
    """
    whole = sha256()
    for text, values in _list_parts(X):
        whole.update(f"{len(text)}:{text}".encode("utf-8", "surrogatepass"))
        if values is not None:
            _update(whole, values)
    return f"#{whole.hexdigest()}"


def digest_arrays(arrays):
    """Digest of named arrays, independent of their order."""
    named = sorted(arrays.items())
    return digest_text(*(f"{name} {digest_table(values)}" for name, values in named))


def _list_parts(X):
    """Yield descriptions of the parts of a table with their arrays."""
    if is_lazy(X):
        yield f"rows of {X.kind} {X.shape}", None
        for start in range(0, len(X), _LAZY_ROWS):
            yield from _list_parts(X[start : start + _LAZY_ROWS])
    elif is_frame(X):
        yield f"frame {X.shape} {[repr(name) for name in X.columns]}", None
        for j in range(X.shape[1]):
            yield from _list_column(X.iloc[:, j])
    elif isinstance(X, pd.Series):
        yield from _list_column(X)
    elif sparse.issparse(X):
        X = X if X.format in {"csr", "csc"} else X.tocsr()
        yield f"sparse {X.format} {X.shape}", None
        for values in (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)):
            yield from _list_array(values)
    elif is_tensor(X):
        packed = pack(X)
        yield f"tensor {packed.dtype} {packed.shape}", packed.values
    else:
        yield from _list_array(np.asarray(X))


def _list_column(column):
    # Categories decide how a column is encoded, including those that do not occur.
    if isinstance(column.dtype, pd.CategoricalDtype):
        yield f"categories, ordered={column.cat.ordered}", None
        yield from _list_array(np.asarray(column.cat.categories, dtype=object))
        yield from _list_array(column.cat.codes.to_numpy())
        return
    cells = as_column(column)
    yield f"column {column.dtype}", None
    if cells.type == OBJECTS:
        yield from _list_array(take_objects(column, slice(None)))
    else:
        yield from _list_array(cells.values)
    if cells.missing is not None:
        yield from _list_array(cells.missing)


def _list_array(values):
    if values.dtype.kind in {"O", "T"}:
        cells = values.astype(object).reshape(-1, 1)
        kinds = " ".join(type(cell).__name__ for cell in cells[:, 0])
        yield f"objects {values.shape} {kinds}", Tokens().encode(cells)
    elif values.dtype.kind in "fc" and values.real.dtype.itemsize > 8:
        # Numbers in extended precision contain padding bytes with arbitrary content.
        yield f"{values.dtype.str} {values.shape}", number_bytes(values.reshape(1, -1))
    else:
        yield f"{values.dtype.str} {values.shape}", values


def _update(whole, values):
    """Add the bytes of an array; in blocks of rows if it is not contiguous, to save memory."""
    if values.flags.c_contiguous or values.ndim == 0:
        whole.update(np.ascontiguousarray(values).reshape(-1).view(np.uint8))
        return
    step = max(1, _BLOCK_BYTES * len(values) // max(1, values.nbytes))
    for start in range(0, len(values), step):
        whole.update(np.ascontiguousarray(values[start : start + step]).reshape(-1).view(np.uint8))
