"""Ordinary X, a matrix of numbers, with messages that name the column."""

import datetime

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_array, validate_data

from ._containers import is_frame, refuse_masked

# What cells may hold in place of numbers.
_FOREIGN = (str, bytes, np.datetime64, datetime.date, list, tuple, np.ndarray)


def validate_matrix(estimator, X, *args, **checks):
    """Check X as :func:`sklearn.utils.validation.validate_data` does.

    Raises
    ------
    ValueError
        Beside what scikit-learn refuses: if X is a masked array that hides values, a structured
        array, has two columns of one name, or holds text, dates or lists; the message names the
        column.
    """
    _check_before(X, "X")
    if args:
        refuse_masked(args[0], "y")
    try:
        return validate_data(estimator, X, *args, **checks)
    except (ValueError, TypeError) as error:
        raise _explain(X, "X", error) from None


def check_matrix(X, *, input_name="X", **checks):
    """Check X as :func:`sklearn.utils.check_array` does, with the messages of `validate_matrix`."""
    _check_before(X, input_name)
    try:
        return check_array(X, input_name=input_name, **checks)
    except (ValueError, TypeError) as error:
        raise _explain(X, input_name, error) from None


def _check_before(X, name):
    refuse_masked(X, name)
    if is_frame(X) and not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()][0]
        raise ValueError(f"{name} has more than one column {twice!r}; give columns unique names.")
    if isinstance(X, np.ndarray) and X.dtype.names:
        raise ValueError(f"{name} is a structured array; give a matrix or a DataFrame.")


def _explain(X, name, error):
    """The error, or a better one if X holds text, dates or lists."""
    where = _find_foreign(X)
    if where is None:
        return error
    column, value = where
    place = "" if column is None else f" in column {column!r}"
    return ValueError(f"{name} must hold numbers; got {value!r}{place}. Encode or drop the column.")


def _find_foreign(X):
    """Column and value of the first cell that is not a number, None if there is none."""
    if is_frame(X):
        columns = ((name, X.iloc[:, j]) for j, name in enumerate(X.columns))
    else:
        try:
            X = np.asarray(X, dtype=object)
        except ValueError:  # rows of different lengths
            return None
        if X.ndim > 2:
            return None
        columns = enumerate(X.T) if X.ndim == 2 else [(None, np.atleast_1d(X))]
    for name, values in columns:
        for value in values:
            if _is_foreign(value):
                return name, value if isinstance(value, list | tuple) else str(value)
    return None


def _is_foreign(value):
    if not isinstance(value, _FOREIGN) or value is pd.NaT:
        return False
    if not isinstance(value, str):
        return True
    try:
        float(value)
    except ValueError:
        return True
    return False
