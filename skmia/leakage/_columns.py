"""Extraction of a column of X that is not a feature."""

import numpy as np
import pandas as pd

from .._core.visible import visible


def take_column(X, column, parameter):
    """Take one column out of a table or a matrix.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n, d)
        Table that holds the column.
    column : int or str
        Position, or name in a DataFrame.
    parameter : str
        Parameter that names the column, for messages.

    Returns
    -------
    rest : DataFrame or ndarray of shape (n, d - 1)
        The other columns.
    values : ndarray of shape (n,)
        Values of the column.

    Raises
    ------
    ValueError
        If the column does not exist, is the only one, or lacks values.
    """
    X = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    if isinstance(column, str):
        if column not in X.columns:
            known = ", ".join(map(visible, X.columns))
            raise ValueError(
                f"{parameter}={column!r} is not a column of X; its columns are {known}."
            )
        column = X.columns.get_loc(column)
    elif not -X.shape[1] <= column < X.shape[1]:
        raise ValueError(
            f"{parameter}={column} is not a column of X, which has {X.shape[1]} columns."
        )
    if X.shape[1] == 1:
        raise ValueError(f"X has no feature other than the column {parameter}={column}.")
    values = X.iloc[:, column]
    missing = values.isna().to_numpy()
    if missing.any():
        raise ValueError(
            f"The column {parameter}={column} lacks {missing.sum()} of {len(X)} values, "
            f"first at position {missing.argmax()}."
        )
    return X.drop(columns=X.columns[column]), values.to_numpy()
