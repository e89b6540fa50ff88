"""Columns of a table as numbers or as one of a list of values, and back."""

from collections.abc import Mapping
from numbers import Integral

import numpy as np
import pandas as pd

from ..._core.numbers import show
from ...defenses.private_input import column_values, validate_rows
from ._layout import Layout

# Most values that a column has without being told which.
MOST_VALUES = 128


class Columns:
    """How the columns of a table are read, and how drawn rows become such a table.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n_rows, n_features)
        A table.
    estimator : estimator
        Has ``columns``, ``lower`` and ``upper``.
    may_look : bool
        Whether values of columns that are not numbers may be read off the table.

    Attributes
    ----------
    layout : Layout
    values : list
        For each column its values as an Index, or None for numbers.
    """

    def __init__(self, X, estimator, may_look):
        is_frame = isinstance(X, pd.DataFrame)
        self._names = X.columns if is_frame else None
        self._dtypes = list(X.dtypes) if is_frame else getattr(X, "dtype", None)
        named = _read_named(X, estimator.columns, getattr(X, "columns", ()))
        if is_frame:
            if estimator.columns != "number":
                named = {**_look(X, named, may_look), **named}
            X = _replace_by_codes(X, named)
        coded = _validate(estimator, X, named)
        if coded.shape[1] <= (most := max(named, default=-1)):
            raise ValueError(f"columns has {most}, which is not a column of X.")
        self.values = [named.get(place) for place in range(coded.shape[1])]
        if is_frame:
            self._dtypes = [_public_type(*pair) for pair in zip(self._dtypes, self.values)]
        else:
            for place, values in named.items():
                if values is not None:
                    coded[:, place] = _codes(pd.Series(coded[:, place]), values, place)
        self._read_ranges(coded, estimator, named)

    def _read_ranges(self, coded, estimator, named):
        """Numbers in [0, 1]; whole numbers of a short range become values."""
        is_number = np.array([values is None for values in self.values])
        names = [] if self._names is None else list(self._names)
        lower, upper = (
            _ends(name, getattr(estimator, name), is_number, names) for name in ("lower", "upper")
        )
        lower[~is_number], upper[~is_number] = 0, [len(v) - 1 for v in self.values if v is not None]
        _check_ranges(coded, lower, upper)
        if estimator.columns != "number":
            for place in np.flatnonzero(is_number):
                if place not in named and (values := self._whole(place, lower, upper)) is not None:
                    coded[:, place] -= values[0]
                    self.values[place] = values
                    lower[place], upper[place] = 0, len(values) - 1
        self.lower, self.span = lower, upper - lower
        self.layout = Layout([1 if v is None else len(v) for v in self.values])
        scaled = np.divide(coded - lower, self.span, out=np.zeros_like(coded), where=self.span > 0)
        # A column of one value is a number that is always 0.
        self._rows = np.where(self.layout.is_number, np.clip(scaled, 0, 1), coded)

    def take_rows(self):
        """The table in the form of the layout, which is not kept."""
        return self.__dict__.pop("_rows")

    def _whole(self, place, lower, upper):
        """The whole numbers of the range of a column of whole numbers; None if there are many."""
        dtype = self._dtypes if self._names is None else self._dtypes[place]
        if dtype is None or not pd.api.types.is_integer_dtype(dtype):
            return None
        first, last = np.ceil(lower[place]), np.floor(upper[place])
        # An empty range has no rows, and far from 0 there are gaps between floats.
        if not 0 <= last - first < MOST_VALUES or max(abs(first), abs(last)) > 2.0**52:
            return None
        return pd.Index(np.arange(first, last + 1))

    def restore(self, rows):
        """A table like the one given, of rows in the form of the layout."""
        numbers = self.lower + self.span * rows
        columns = []
        for place, values in enumerate(self.values):
            if values is None:
                columns.append(numbers[:, place])
            else:
                codes = rows[:, place].round().astype(int) if len(values) > 1 else 0
                columns.append(values[np.broadcast_to(codes, len(rows))])
        if self._names is not None:
            typed = [_as_type(*parts) for parts in zip(columns, self._dtypes)]
            return pd.concat(typed, axis=1, keys=self._names)
        made = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
        is_whole = self._dtypes is not None and self._dtypes.kind in "biu"
        return made.round().astype(self._dtypes) if is_whole else made


def _read_named(X, columns, names):
    """Values of columns by place, None for numbers, as the user names them."""
    if isinstance(columns, str):
        return {}
    names, named = list(names), {}
    for column, values in columns.items():
        place = names.index(column) if column in names else column
        n_columns = len(names) or np.inf
        if isinstance(place, bool) or not isinstance(place, Integral) or not 0 <= place < n_columns:
            raise ValueError(f"columns has {show(column)}, which is not a column of X.")
        named[int(place)] = _read_values(values, column)
    return named


def _read_values(values, column):
    if isinstance(values, str):
        if values == "number":
            return None
    elif np.iterable(values) and not isinstance(values, Mapping | set):
        index = pd.Index(list(values))
        if len(index) and index.is_unique:
            return index
    raise ValueError(
        f"columns[{column!r}] must be 'number' or the values of the column, each once; got "
        f"{show(values)}."
    )


def _look(X, named, may_look):
    """Values of truth values, and of columns that are not numbers where they may be read off."""
    found = {}
    for place, dtype in enumerate(X.dtypes):
        if place in named:
            continue
        if pd.api.types.is_bool_dtype(dtype) and not isinstance(dtype, pd.CategoricalDtype):
            lacks = may_look and X.iloc[:, place].isna().any()
            found[place] = pd.Index([False, True, None] if lacks else [False, True])
        elif pd.api.types.is_datetime64_any_dtype(dtype):
            raise ValueError(
                f"Column {X.columns[place]!r} has dates; turn them into numbers, such as days, or "
                "name their values in columns."
            )
        elif may_look and not pd.api.types.is_numeric_dtype(dtype):
            column = X.iloc[:, place]
            is_listed = isinstance(dtype, pd.CategoricalDtype)
            values = dtype.categories if is_listed else pd.Index(column.dropna().unique())
            if len(values) > MOST_VALUES:
                raise ValueError(
                    f"Column {X.columns[place]!r} has {len(values)} values; drop it, or name its "
                    "values in columns."
                )
            if not is_listed:
                values = values.sort_values()
            found[place] = values.append(pd.Index([None])) if column.isna().any() else values
    return found


def _replace_by_codes(X, named):
    coded = {
        place: _codes(X.iloc[:, place], values, X.columns[place])
        for place, values in named.items()
        if values is not None
    }
    parts = [
        pd.Series(coded[place], index=X.index) if place in coded else X.iloc[:, place]
        for place in range(X.shape[1])
    ]
    return pd.concat(parts, axis=1, keys=X.columns) if parts else X


def _codes(column, values, name):
    """Place of each row's value among the values of a column."""
    codes = values.get_indexer(pd.Index(column))
    if (lacks := values.isna()).any():
        codes = np.where(column.isna(), lacks.argmax(), codes)
    if (codes < 0).any():  # neither the value nor the number of a row: an error is about the data
        raise ValueError(
            f"Column {name!r} has values that columns does not name; name all values that the "
            "column can have, with None where it can lack one."
        )
    return codes.astype(np.float64)


def _validate(estimator, X, named):
    try:
        return np.array(validate_rows(estimator, X, dtype=np.float64))
    except ValueError as error:
        message = str(error)
        if not isinstance(X, pd.DataFrame) or "it has strings" not in message:
            raise
    raise ValueError(
        "X must hold numbers; it has strings or categories in a column whose values are not known. "
        "Name all that it can have in columns, from public knowledge."
    )


def _ends(name, ends, is_number, names):
    """One end of the range of each column, of a number, one for each, or by name."""
    if not isinstance(ends, Mapping):
        return column_values(name, ends, len(is_number))
    places = {names.index(key) if key in names else key: end for key, end in ends.items()}
    found = [places.get(place, None if number else 0) for place, number in enumerate(is_number)]
    if None in found:
        column = found.index(None)
        raise ValueError(f"{name} lacks column {names[column] if names else column!r}.")
    return column_values(name, found, len(is_number))


def _check_ranges(X, lower, upper):
    if (crossed := lower > upper).any():
        raise ValueError(
            f"lower must not be above upper; got {lower[crossed][0]} and {upper[crossed][0]} "
            f"in column {crossed.argmax()}."
        )
    with np.errstate(over="ignore"):
        if not np.isfinite(upper - lower).all():
            raise ValueError("upper - lower must be finite in double precision.")
    # Neither a value nor the number of a row: an error is about the data.
    if (outside := ((lower > X) | (upper < X)).any(axis=0)).any():
        column = outside.argmax()
        raise ValueError(
            f"Column {column} has values outside its range [{lower[column]}, {upper[column]}]; "
            "give public ranges as lower and upper, and cut values to them."
        )


def _public_type(dtype, values):
    """The type of a column without categories that may have been read off the rows."""
    if not isinstance(dtype, pd.CategoricalDtype):
        return dtype
    if values is None:
        return np.dtype(np.float64)
    return pd.CategoricalDtype(values[~values.isna()], dtype.ordered)


def _as_type(column, dtype):
    """A column of the type of the training table."""
    if isinstance(dtype, pd.CategoricalDtype):
        return pd.Series(pd.Categorical(column, dtype=dtype))
    is_whole = pd.api.types.is_integer_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)
    if is_whole and pd.api.types.is_numeric_dtype(column.dtype):
        column = np.round(np.asarray(column, dtype=np.float64))
    return pd.Series(column).astype(dtype)
