"""Declarations of a private table without looking at it: names, types, ranges, values, classes."""

import datetime
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from .._core.containers import in_memory, is_frame, is_tensor, to_numpy
from .._core.matrix import check_container
from .._core.numbers import check_number, show
from .._core.types import ArrayLike, Rows

__all__ = ["DeclaredSchema", "NumberColumn", "ValuesColumn"]

# Whole numbers up to here are exact in double precision.
_LARGEST_WHOLE = 2.0**53

# Cells of other kinds than numbers, texts and dates; equal to nothing.
_FOREIGN = object()


@dataclass(frozen=True)
class NumberColumn:
    """Column of numbers in a public range.

    Parameters
    ----------
    lower, upper : float
        Ends of the range, to which numbers are clipped.
    whole : bool, default=False
        Whether numbers are rounded to whole numbers.
    missing : float, default=None
        Number that replaces a missing cell. If None, a row with a missing cell does not fit.

    See Also
    --------
    DeclaredSchema : Such columns by their names.

    Examples
    --------
    >>> from skmia.defenses.schema import NumberColumn
    >>> NumberColumn(18, 90, whole=True).lower
    18
    """

    lower: float
    upper: float
    whole: bool = False
    missing: float | None = None

    def __post_init__(self) -> None:
        most = _LARGEST_WHOLE if self.whole else np.finfo(float).max / 2
        for name in ("lower", "upper"):
            check_number(getattr(self, name), name, f"from {-most:g} to {most:g}", -most, most)
        lower, upper = find_range_ends(self)
        if lower > upper:
            what = "hold a whole number" if self.whole else "not be empty"
            raise ValueError(f"The range must {what}; got {self.lower} to {self.upper}.")
        if self.missing is not None:
            allowed = "a number of the range, or None"
            check_number(self.missing, "missing", allowed, self.lower, self.upper)

    def _read(self, column):
        """Return the numbers of a column, and which cells are numbers."""
        numbers = _read_column_numbers(column)
        if self.missing is not None:
            numbers[_are_missing(column)] = self.missing
        fits = ~np.isnan(numbers)
        lower, upper = find_range_ends(self)
        numbers = np.clip(np.where(fits, numbers, lower), lower, upper)
        return np.round(numbers) if self.whole else numbers, fits


@dataclass(frozen=True)
class ValuesColumn:
    """Column whose cells have one of a list of values.

    Parameters
    ----------
    values : array-like of shape (n_values,)
        All values that a cell can have, each once, with None if it can be missing.

    See Also
    --------
    DeclaredSchema : Such columns by their names.

    Examples
    --------
    >>> from skmia.defenses.schema import ValuesColumn
    >>> ValuesColumn(["baker", "clerk", None]).values
    ('baker', 'clerk', None)
    """

    values: Iterable[Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _check_values(self.values, "values"))

    def _read(self, column):
        """Return the places of values of a column, and which cells have one."""
        places = _find_cell_places(column, self.values)
        return np.maximum(places, 0).astype(np.float64), places >= 0


class DeclaredSchema:
    """Columns and classes of a private table, declared without looking at the data.

    When a file is read, the type of a column is inferred from all of its cells, so a single row can
    change it. With a schema, private estimators do not infer shapes or types from the rows: the
    inputs of a net, the columns and types of a synthetic table, and the meaning of a cell depend
    only on the schema.

    Parameters
    ----------
    columns : dict
        For each column, by its name in a DataFrame, a :class:`NumberColumn` or a
        :class:`ValuesColumn`. Columns of an array are taken in this order.
    classes : array-like of shape (n_classes,), default=None
        All possible labels, for classifiers.

    Attributes
    ----------
    columns : dict
        As given.
    classes : tuple or None
        As given.

    See Also
    --------
    skmia.defenses.DPSGDClassifier, skmia.synthetic.DPWassersteinGAN : Take one as ``schema``.
    skmia.defenses.mechanisms.NonSphericalGaussianMechanism : Takes ranges from it.

    Notes
    -----
    Each cell is read independently of the others and of the inferred type of its column: texts of
    numbers are numbers, true and false are 1 and 0, and a date is its text in ISO 8601. Two
    declared values that are read as the same value, such as "1" and "01", are therefore an error.

    A row with a cell that does not fit (a text or a missing cell in a column of numbers, an
    undeclared value) contributes nothing. There is no error, because it would reveal the row.
    :meth:`count_misfits` counts such cells beforehand; its result depends on the rows and is not
    private.

    Columns that are not declared are ignored. The names of the columns and their order are those of
    the schema.

    Examples
    --------
    >>> import pandas as pd
    >>> from skmia.defenses.schema import DeclaredSchema, NumberColumn, ValuesColumn
    >>> schema = DeclaredSchema(
    ...     {"age": NumberColumn(18, 90, whole=True), "job": ValuesColumn(["clerk", "nurse"])}
    ... )
    >>> table = pd.DataFrame({"age": ["23", "35", "n/a"], "job": ["nurse", "pilot", "clerk"]})
    >>> schema.count_misfits(table).to_dict()
    {'age': 1, 'job': 1}
    """

    def __init__(
        self,
        columns: Mapping[Any, NumberColumn | ValuesColumn],
        *,
        classes: ArrayLike | None = None,
    ) -> None:
        if not isinstance(columns, Mapping) or not columns:
            raise ValueError(
                "columns must be a dictionary from names to a NumberColumn or a ValuesColumn; got "
                f"{show(columns)}."
            )
        for name, column in columns.items():
            if not isinstance(column, NumberColumn | ValuesColumn):
                raise ValueError(
                    f"columns[{name!r}] must be a NumberColumn or a ValuesColumn; got "
                    f"{show(column)}."
                )
        self.columns = dict(columns)
        self.classes = None if classes is None else _check_values(classes, "classes")
        if self.classes is not None and (len(self.classes) < 2 or None in self.classes):
            raise ValueError(
                "classes must hold two labels or more, none of them missing; got "
                f"{list(self.classes)}."
            )

    def __repr__(self) -> str:
        return f"DeclaredSchema({self.columns!r}, classes={self.classes!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeclaredSchema):
            return NotImplemented
        return repr(self) == repr(other)

    __hash__ = None

    def count_misfits(self, X: Rows, y: ArrayLike | None = None) -> pd.Series:
        """Count the cells that do not fit, whose rows contribute nothing.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_rows, n_columns)
            Rows.
        y : array-like of shape (n_rows,), default=None
            Labels.

        Returns
        -------
        counts : Series
            Number of cells by column, and of labels as ``"classes"``. The counts are exact, so show
            them only to people who may see the rows.
        """
        names, counts = list(self.columns), [(~fits).sum() for _, fits in self._read_columns(X)]
        if y is not None:  # a column may have this name as well
            names.append("classes")
            counts.append((self.read_labels(y, self.find_classes()) < 0).sum())
        return pd.Series(counts, pd.Index(names, tupleize_cols=False), dtype=int)

    def read_table(self, X: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Read rows: numbers in their ranges, and places of values.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_rows, n_columns)
            Rows.

        Returns
        -------
        coded : ndarray of shape (n_rows, n_columns)
            Numbers, and places in the list of values; where a cell does not fit, the lower end or
            the first value.
        fits : ndarray of shape (n_rows,)
            Whether all cells of a row fit.
        """
        parts = self._read_columns(X)
        coded = np.stack([numbers for numbers, _ in parts], axis=1)
        return coded, np.all([fits for _, fits in parts], axis=0)

    def encode(self, X: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Read rows as inputs of a net.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_rows, n_columns)
            Rows.

        Returns
        -------
        inputs : ndarray of shape (n_rows, n_inputs)
            In the order of the columns: a number, scaled to [0, 1] by its range, or an input for
            each value, which is 1 for the value of the row. All are 0 where a cell does not fit.
        fits : ndarray of shape (n_rows,)
            Whether all cells of a row fit.
        """
        inputs, whole = [], []
        for column, (found, fits) in zip(self.columns.values(), self._read_columns(X), strict=True):
            whole.append(fits)
            if isinstance(column, NumberColumn):
                lower, upper = find_range_ends(column)
                inputs.append(((found - lower) / (upper - lower or 1.0))[:, None])
            else:
                made = found[:, None] == np.arange(len(column.values))
                inputs.append(made & fits[:, None])
        return np.concatenate(inputs, axis=1, dtype=np.float64), np.all(whole, axis=0)

    def find_classes(self) -> np.ndarray:
        """Return the declared labels as an array, sorted where they are of one type.

        Returns
        -------
        classes : ndarray of shape (n_classes,)
        """
        if self.classes is None:
            raise ValueError("The schema has no classes; give all possible labels as classes.")
        labels = pd.Index(list(self.classes)).to_numpy()
        if all(isinstance(label, str) for label in labels):
            labels = np.array(labels.tolist())
        try:
            return np.unique(labels)
        except TypeError:
            return labels

    def read_labels(self, y: ArrayLike, classes: ArrayLike) -> np.ndarray:
        """Find the places of labels among classes.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Labels.
        classes : array-like of shape (n_classes,)
            Classes.

        Returns
        -------
        codes : ndarray of shape (n_rows,)
            Places; -1 for a label that is not among the classes.
        """
        y = to_numpy(y) if is_tensor(y) else y
        labels = pd.Series(y, dtype=object) if isinstance(y, list | tuple) else y
        if np.ndim(labels) == 2 and np.shape(labels)[1] == 1:
            labels = np.ravel(labels)
        if np.ndim(labels) != 1:
            raise ValueError(f"y must have one label for each row; got shape {np.shape(labels)}.")
        return _find_cell_places(pd.Series(labels), np.asarray(classes, dtype=object))

    def _read_columns(self, X):
        """Return what each column says, and which of its cells fit."""
        check_container(X, "X")
        X = to_numpy(X) if is_tensor(X) else in_memory(X)
        if is_frame(X):
            parts = [_take_column(X, name) for name in self.columns]
        else:
            # numpy would make texts of all cells of a list that has one.
            X = X if isinstance(X, np.ndarray) else np.array(_check_list_of_rows(X), dtype=object)
            if X.ndim != 2 or X.shape[1] != len(self.columns):
                raise ValueError(
                    f"X must have the {len(self.columns)} columns of the schema; got an array of "
                    f"shape {X.shape}."
                )
            parts = [pd.Series(X[:, place]) for place in range(X.shape[1])]
        if len(parts[0]) == 0:
            raise ValueError("X has no rows.")
        return [column._read(part) for column, part in zip(self.columns.values(), parts)]


def find_range_ends(column):
    """Return the ends of the range of a column of numbers, of whole ones if these are."""
    if column.whole:
        return float(np.ceil(column.lower)), float(np.floor(column.upper))
    return float(column.lower), float(column.upper)


def find_type(column):
    """Return the type of a declared column in a table that is released."""
    if isinstance(column, ValuesColumn):
        return pd.Index(list(column.values)).dtype
    return np.dtype(np.int64 if column.whole else np.float64)


def name_features(estimator, schema):
    """Set what estimators of scikit-learn say about columns, from the schema alone."""
    estimator.n_features_in_ = len(schema.columns)
    vars(estimator).pop("feature_names_in_", None)
    if all(isinstance(name, str) for name in schema.columns):
        estimator.feature_names_in_ = np.array(list(schema.columns), dtype=object)


def _check_values(values, name):
    """Return values as a tuple, each once, also as they are read."""
    # Sets have another order in another process.
    unlisted = str | bytes | Mapping | set | frozenset
    is_listed = np.iterable(values) and not isinstance(values, unlisted)
    listed = [None if _is_gap(value) else value for value in values] if is_listed else []
    if not listed:
        raise ValueError(f"{name} must be a list of values; got {show(values)}.")
    seen: dict[Any, Any] = {}
    for value in map(_as_plain, listed):
        key = _read_cell(value)
        if key is _FOREIGN:
            raise ValueError(
                f"{name} must hold numbers, texts, truth values, dates or None; got {show(value)}."
            )
        if key in seen:
            raise ValueError(
                f"{name} must hold each value once; {show(seen[key])} and {show(value)} are read "
                "as the same."
            )
        seen[key] = value
    return tuple(seen.values())


def _check_list_of_rows(X):
    # An error names no cell.
    if not isinstance(X, list | tuple) or not all(np.iterable(row) for row in X):
        raise ValueError(f"X must be a dense table of rows; got {type(X).__name__}.")
    return [list(row) for row in X]


def _take_column(X, name):
    places = np.flatnonzero([type(own) is type(name) and own == name for own in X.columns])
    if len(places) != 1:
        found = "has no such column" if not len(places) else f"has {len(places)} of them"
        raise ValueError(f"The schema declares the column {name!r}; X {found}.")
    return X.iloc[:, places[0]]


def _read_column_numbers(column):
    """Return the numbers of a column; NaN where a cell is none."""
    if (numbers := _read_typed_numbers(column)) is not None:
        return numbers
    keys = _parse_cells(column)
    return np.array([key if isinstance(key, float) else np.nan for key in keys], dtype=np.float64)


def _find_cell_places(column, values):
    """Return the place of each cell among values; -1 where it has none of them."""
    places = {_read_cell(value): place for place, value in enumerate(values)}
    return np.array([places.get(key, -1) for key in _parse_cells(column)], dtype=np.int64)


def _are_missing(column):
    return np.array([key is None for key in _parse_cells(column)], dtype=bool)


def _read_typed_numbers(column):
    """Return the numbers of a column that has a type of numbers; None of another one."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(dtype):
        return None
    if pd.api.types.is_complex_dtype(dtype):
        return None
    with np.errstate(all="ignore"):  # a warning would tell of the row
        return column.to_numpy(dtype=np.float64, na_value=np.nan).copy()


def _parse_cells(column):
    """Return what the cells of a column say."""
    if (numbers := _read_typed_numbers(column)) is not None:
        return [None if number != number else number for number in numbers.tolist()]
    return [_read_cell(cell) for cell in column.astype(object)]


def _is_gap(cell):
    is_equal_to_itself = not isinstance(cell, Real | np.datetime64) or cell == cell
    return cell is None or cell is pd.NA or cell is pd.NaT or not is_equal_to_itself


def _as_plain(value):
    """Return a scalar of numpy as one of Python, and its dates as dates: item() makes numbers."""
    if isinstance(value, np.datetime64):
        plain = value.item()
        with suppress(ValueError):  # a year that neither can write
            return plain if isinstance(plain, datetime.date) else pd.Timestamp(value)
        return value
    is_plain = not isinstance(value, np.generic) or isinstance(value, np.timedelta64)
    return value if is_plain else value.item()


def _read_cell(cell):
    """Return what a cell says, whatever type was guessed for its column.

    None, a number or a text.
    """
    if _is_gap(cell):
        return None
    if isinstance(cell, str):
        return _parse_text_cell(cell.strip())
    if isinstance(cell, datetime.date | np.datetime64):
        return str(_as_plain(cell)).replace("T", " ").removesuffix(" 00:00:00")
    is_number = isinstance(cell, Real | Decimal | np.bool_)
    if not is_number or isinstance(cell, np.timedelta64):  # which numpy takes for a whole number
        return _FOREIGN
    try:
        number = float(cell)
    except OverflowError:
        return float(np.inf if cell > 0 else -np.inf)
    except ValueError:  # a signaling NaN
        return None
    return None if number != number else number


def _parse_text_cell(text):
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    try:
        number = float(text)
    except ValueError:
        return text or None
    return None if number != number else number
