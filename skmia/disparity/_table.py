"""Tables of vulnerabilities: a row for each round, a column for each group."""

import numpy as np
import pandas as pd

from .._core.numbers import to_array


def check_table(table):
    """Return a table of floats, NaN where a value is missing.

    Parameters
    ----------
    table : DataFrame or array-like of shape (n_rounds, n_groups)
        Columns of an array are numbered from 0.

    Returns
    -------
    table : DataFrame
        A copy.

    Raises
    ------
    ValueError
        If it is not a table of numbers of at least two columns, a name occurs twice, or a value is
        infinite.
    """
    if not isinstance(table, pd.DataFrame):
        table = to_array(table, "The table", "be Records or a row for each round")
        if table.ndim != 2:
            raise ValueError(
                "fit takes Records or a table with a row for each round and a column for each "
                f"group; got an array of shape {table.shape}."
            )
        table = pd.DataFrame(table)
    if table.shape[1] < 2:
        raise ValueError(f"There must be at least 2 groups to compare; got {table.shape[1]}.")
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()][0]
        raise ValueError(f"Each group has one column; {twice!r} has several.")
    try:
        table = table.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"The table must hold numbers: {error}.") from None
    if np.isinf(table.to_numpy()).any():
        raise ValueError("The table must hold finite numbers, or NaN for missing ones; got inf.")
    return table


def drop_incomplete(table):
    """Leave out the rounds that lack a value.

    Raises
    ------
    ValueError
        If fewer than two rounds are complete.
    """
    complete = table.dropna()
    if len(complete) < 2:
        lacking = table.isna().sum()
        worst = f"; group {lacking.idxmax()!r} lacks {lacking.max()}" if lacking.any() else ""
        raise ValueError(
            f"At least 2 rounds need a value of every group; {len(complete)} of {len(table)} have "
            f"one{worst}."
        )
    return complete
