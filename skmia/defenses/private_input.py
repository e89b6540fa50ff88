"""Validation of private rows, with errors that quote none of their values, and of delta."""

import warnings
from numbers import Real

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from .._core.containers import is_tensor, to_numpy
from .._core.matrix import check_container
from .._core.numbers import to_array
from .._core.sklearn import Interval
from ..exceptions import PrivacyWarning

# Constraints of parameters.
FINITE_POSITIVE = Interval(Real, 0, np.inf, closed="neither")
DELTA = Interval(Real, 0, 1, closed="neither")


def validate_rows(estimator, *arrays, **settings):
    """Validate rows as ``validate_data`` does.

    Parameters
    ----------
    estimator : estimator
    *arrays : array-like
        X, or X and y.
    **settings : dict
        Of ``validate_data``.

    Returns
    -------
    X, y : ndarray
        Without y, X alone.

    Raises
    ------
    ValueError
        Where values are not numbers, among other reasons. That there is an error tells of the rows;
        its text does not quote them, as it ends in logs that others read.
    """
    check_container(arrays[0], "X")
    arrays = [to_numpy(array) if is_tensor(array) else array for array in arrays]
    try:
        found = validate_data(estimator, *arrays, **settings)
        X = found[0] if len(arrays) == 2 else found
        if X.dtype.kind not in "biuf":  # categories come through as objects
            X = check_array(X, dtype=np.float64, allow_nd=True)
        return (X, found[1]) if len(arrays) == 2 else X
    except TypeError as error:  # numpy's message says the type of a value alone
        raise TypeError(f"X must hold numbers: {error}") from None
    except ValueError as error:
        # Numpy's message about a string quotes it.
        if "convert" not in str(error).lower() and "array element" not in str(error):
            raise
    except OverflowError:
        raise ValueError("X must hold numbers; some are too large for double precision.") from None
    raise ValueError("X must hold numbers; it has strings, which need an encoding first.")


def check_label_types(y, classes):
    """Check that labels and classes are both numbers or both something else.

    In a list of numbers a single string makes strings of all, so that no row would have a known
    label any more.
    """
    are_numbers = [labels.dtype.kind in "biuf" for labels in (y, classes)]
    if are_numbers[0] != are_numbers[1]:
        raise ValueError(
            "Labels and classes must both be numbers or both be strings; a list that mixes the two "
            "is a list of strings."
        )


def column_values(name, values, n_features):
    """One value for each column, of one for all or of as many as there are columns."""
    values = to_array(values, name, "be a number or one for each column", np.float64)
    if values.shape not in ((), (n_features,)):
        raise ValueError(
            f"{name} must be a number or one for each of {n_features} columns; got an array of "
            f"shape {values.shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite.")
    return np.broadcast_to(values, (n_features,)).copy()


def choose_delta(target_delta, n_rows):
    """Delta as given, or a tenth of one over the number of rows.

    Parameters
    ----------
    target_delta : float or None
    n_rows : int

    Returns
    -------
    delta : float

    Warns
    -----
    PrivacyWarning
        If it is not below one over the number of rows.
    """
    if target_delta is None:
        return 0.1 / n_rows
    if target_delta >= 1 / n_rows:
        warnings.warn(
            f"target_delta={target_delta:g} is not below one over the number of rows, "
            f"{n_rows}: releasing a row at random would satisfy it.",
            PrivacyWarning,
            stacklevel=3,
        )
    return target_delta
