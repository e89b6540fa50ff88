"""Checks of a matrix of numbers, with messages that name the column."""

import datetime
import re

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .containers import is_frame, is_tensor, refuse_masked, to_numpy
from .groups import sorted_values
from .numbers import show

# Messages of numpy for values that are not numbers.
_LOW = re.compile("array element|could not convert|inhomogeneous|unique column")
# Types of cells that are not numbers.
_FOREIGN = (str, bytes, np.datetime64, datetime.date, list, tuple, np.ndarray)


def validate_matrix(estimator, X, *args, **checks):
    """Check X as :func:`sklearn.utils.validation.validate_data` does.

    With ``reset=False`` X is compared with that of ``fit``, so that the estimator must be fitted.
    """
    if checks.get("reset") is False:
        check_is_fitted(estimator)
    check_container(X, "X")
    if args:
        refuse_masked(args[0], "y")
    X, *args = (to_numpy(array) if is_tensor(array) else array for array in (X, *args))
    try:
        checked = validate_data(estimator, X, *args, **checks)
    except (ValueError, TypeError, OverflowError) as error:
        # Cells that are not checked are not what is wrong.
        is_of_cells = not checks.get("skip_check_array")
        raise (_explain(X, "X", error) if is_of_cells else error) from None
    if not checks.get("skip_check_array"):
        _refuse_others(checked[0] if args else checked, X, "X", checks)
    return checked


def check_feature_matrix(X, *, input_name="X", **checks):
    """Check X as :func:`sklearn.utils.check_array` does, with the messages of `validate_matrix`."""
    check_container(X, input_name)
    X = to_numpy(X) if is_tensor(X) else X
    try:
        checked = check_array(X, input_name=input_name, **checks)
    except (ValueError, TypeError, OverflowError) as error:
        raise _explain(X, input_name, error) from None
    _refuse_others(checked, X, input_name, checks)
    return checked


def _refuse_others(checked, X, name, checks):
    # scikit-learn accepts a table that only holds dates.
    objects = checked.dtype.kind == "O" and checks.get("dtype", "numeric") == "numeric"
    if objects or checked.dtype.kind in "mM":
        raise _explain(X, name, TypeError("dates are not numbers"))


def check_matrix_and_labels(X, y):
    """Check a matrix of numbers and one class for each of its rows."""
    X, y = check_feature_matrix(X), check_class_column(y, "y")
    check_consistent_length(X, y)
    check_classification_targets(y)
    return X, y


def check_class_column(y, name, *, warn=False):
    """Check a class for each row, of one type, and return them as an array."""
    refuse_masked(y, name)
    try:
        y = column_or_1d(to_numpy(y) if is_tensor(y) else y, warn=warn)
    except (TypeError, OverflowError, UnicodeError):
        raise ValueError(f"{name} must hold one class for each row; got {show(y)}.") from None
    except ValueError as error:
        if not _LOW.search(str(error)):
            raise
        raise ValueError(f"{name} must hold one class for each row; got {show(y)}.") from None
    sorted_values(y, name)
    return y


def check_container(X, name):
    """Refuse masked and structured arrays, and tables with two columns of the same name."""
    refuse_masked(X, name)
    if is_frame(X) and not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()][0]
        raise ValueError(f"{name} has more than one column {twice!r}; give columns unique names.")
    if isinstance(X, np.ndarray) and X.dtype.names:
        raise ValueError(f"{name} is a structured array; give a matrix or a DataFrame.")


def _explain(X, name, error):
    """Return the error, or a clearer one if X holds text, dates or lists."""
    if issparse(X):
        return error  # the message of scikit-learn is clear, and X has no cells to search
    where = _get_foreign(X)
    if where is None:
        # The message of numpy does not name the argument, so its name is added.
        low = isinstance(error, TypeError | OverflowError) or _LOW.search(str(error))
        return ValueError(f"{name} must be a matrix of numbers: {error}") if low else error
    column, value = where
    place = "" if column is None else f" in column {column!r}"
    text = f"{name} must hold numbers; got {show(value)}{place}. Encode or drop the column."
    if isinstance(error, TypeError) and not isinstance(value, str | bytes | list | tuple):
        return TypeError(f"{text} ({error})")
    return ValueError(text)


def _get_foreign(X):
    """Return column and value of the first cell that is not a number, or None."""
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
            if _is_foreign_cell(value):
                return name, value if isinstance(value, list | tuple | dict) else str(value)
    return None


def _is_foreign_cell(value):
    """Return whether numpy cannot convert a cell to a number."""
    if isinstance(value, _FOREIGN) and not isinstance(value, str | np.ndarray):
        return True
    if value is None or isinstance(value, complex | np.complexfloating):
        return False  # missing values are allowed; scikit-learn refuses complex numbers itself
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return True
    return isinstance(value, np.ndarray)
