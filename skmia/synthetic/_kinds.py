"""What the columns of several tables hold, and how values of several types become comparable.

``read_plainly`` gives each column of a table a type of pandas that says what it holds, and
``unify`` gives a column one type in all tables, or refuses it. In both of them a missing value
stays missing.
"""

from decimal import Decimal
from enum import Enum
from numbers import Real
from typing import NamedTuple
from uuid import UUID

import numpy as np
import pandas as pd

from .._core.escaping import visible

_NUMBERS, _DATES, _DURATIONS, _TRUTH_VALUES = "numbers", "dates", "durations", "truth values"
_NUMBER_CATEGORIES = "categories of numbers"
# Kinds of columns of objects, as pandas infers them.
_INFERRED = {
    **dict.fromkeys(("integer", "floating", "mixed-integer-float"), _NUMBERS),
    "boolean": _TRUTH_VALUES,
    "string": "text",
}
_MIXED = ("mixed", "mixed-integer")
_OF_NUMBERS = _NUMBERS, _DATES, _DURATIONS  # that become numbers
# Beginning of the kinds of which no two values are compared.
_OTHER = "values of "
# Squares of larger numbers overflow, and models hold numbers in single precision.
_LARGEST = 2.0**100
# Floats hold all smaller whole numbers.
_EXACT = 2**53
_MOST_SHOWN = 3


def is_number_dtype(dtype):
    """Return whether a type is of numbers; truth values are categories."""
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


def read_plainly(table):
    """Return a table whose columns have the type of what they hold.

    Databases and files give dates, decimal numbers and spans of time as objects, and numbers
    beside texts; pandas has types for months, intervals and categories of all of these.
    """
    places = [place for place, dtype in enumerate(table.dtypes) if not _is_plain(dtype)]
    columns = {place: _read_column(table.iloc[:, place]) for place in places}
    changed = {place: part for place, part in columns.items() if part is not None}
    if not changed:
        return table
    parts = [changed.get(place, table.iloc[:, place]) for place in range(table.shape[1])]
    return pd.concat(parts, axis=1).set_axis(table.columns, axis=1)


def _is_plain(dtype):
    """Return whether columns of a type hold what it says."""
    others = pd.CategoricalDtype, pd.PeriodDtype, pd.IntervalDtype
    return not (isinstance(dtype, others) or pd.api.types.is_object_dtype(dtype))


def _read_column(part):
    """Return a column in the type of its values, or None if it has it."""
    dtype = part.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        values = dtype.categories.to_series().reset_index(drop=True)
        read = _read_column(values)
        values = values if read is None else read
        if is_number_dtype(values.infer_objects().dtype):
            return None  # codes
        return values.reindex(part.cat.codes.where(part.cat.codes >= 0)).set_axis(part.index)
    if isinstance(dtype, pd.PeriodDtype):
        return part.dt.to_timestamp()
    if isinstance(dtype, pd.IntervalDtype):
        return part.astype(object).map(str, na_action="ignore")
    if _is_plain(dtype):
        return None
    inferred = pd.api.types.infer_dtype(part, skipna=True)
    if inferred == "date":  # also times beside dates
        days = part.where(part.notna(), None).to_numpy()  # pd.NA is no date
        return pd.Series(days.astype("datetime64[us]"), index=part.index)
    if inferred not in (*_MIXED, "decimal"):
        return None
    types = set(part.dropna().map(type))
    if _are_all(types, Real, Decimal):
        return part.where(part.notna(), None).astype(float)
    if _are_all(types, str, int, float, np.number, np.bool_):
        return part.map(_spell, na_action="ignore")
    if _are_all(types, UUID, Enum, tuple):
        return part.map(str, na_action="ignore")
    return None


def _are_all(types, *wanted):
    return all(issubclass(one, wanted) for one in types)


def _spell(value):
    is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value) if is_whole else value)


def unify(tables):
    """Return tables whose columns can be compared: equal values are equal, whatever their types.

    Numbers of several types become floats of the lowest precision among them; dates and durations
    become days. Very large numbers are scaled, which changes none of the results.
    """
    unified, _ = unify_frames(list(tables.values()), list(tables), is_scaled=True)
    return dict(zip(tables, unified))


class HeldValues(NamedTuple):
    """What a column of unified tables holds."""

    kind: str
    least: int = 0  # from which whole numbers are counted that floats do not tell apart

    def show(self, value):
        """Return a unified number as a value of the tables."""
        if self.kind == _DATES:
            return str(np.datetime64(0, "s") + np.timedelta64(round(86400 * value), "s"))
        if self.kind == _DURATIONS:
            return pd.Timedelta(days=value)
        return self.least + round(value) if self.least else value


def unify_frames(frames, names, *, is_shifted=True, is_scaled=False):
    """Return tables of the same columns in the same order, as :func:`unify`, and what they hold.

    names: of the tables. is_shifted: whether long whole numbers are counted from the smallest of
    these tables; is_scaled: whether very large numbers are scaled.
    """
    columns, held = [], []
    inferred = [frame.infer_objects().reset_index(drop=True).items() for frame in frames]
    for column, *given in zip(frames[0].columns, *inferred):
        parts = [part for _, part in given]
        parts, kind = _find_kind(parts, column, names)
        least = _find_least_long(parts) if is_shifted and kind in _OF_NUMBERS else 0
        columns.append(_convert(parts, kind, column, names, least, is_scaled))
        held.append(HeldValues(kind, least))
    made = [pd.DataFrame(dict(enumerate(parts))) for parts in zip(*columns)]
    return [frame.set_axis(frames[0].columns, axis=1) for frame in made], held


def _find_kind(parts, column, names):
    """Return a column of several tables and its kind, which must be one.

    The first table decides whether numbers are categories.
    """
    kinds = [_name_kind(part) if part.count() else None for part in parts]
    found = set(kinds) - {None}
    if found == {_NUMBERS, _TRUTH_VALUES}:
        found = {_NUMBERS}
    if found == {_NUMBERS, _NUMBER_CATEGORIES}:
        found = {next(kind for kind in kinds if kind is not None)}
        parts = [_read_codes(part, found == {_NUMBERS}) for part in parts]
    if len(found) > 1 or any(kind == "complex" or kind.startswith(_OTHER) for kind in found):
        raise ValueError(_refuse(parts, kinds, column, names))
    return parts, found.pop() if found else _NUMBERS


def _convert(parts, kind, column, names, least, is_scaled):
    """Return a column of one kind in one type."""
    if kind == _TRUTH_VALUES:
        return [part.astype(object).where(part.notna(), None) for part in parts]
    if kind not in _OF_NUMBERS:
        return parts
    # Differences of long integers wrap, those of Python do not.
    shifted = [part.astype(object) - least for part in parts] if least else parts
    numbers = [_read_kind_numbers(part, kind) for part in shifted]
    for name, part in zip(names, numbers):
        if np.isinf(part).any():
            raise ValueError(
                f"{name} must hold finite numbers; column {column!r} does not; let "
                "missing values take their place."
            )
    numbers = _round_to_coarsest(numbers, parts)
    return list(map(pd.Series, _scale(numbers) if is_scaled else numbers))


def _read_codes(part, as_numbers):
    """Return categories of numbers as numbers, or numbers as categories."""
    is_category = isinstance(part.dtype, pd.CategoricalDtype)
    if as_numbers and is_category:
        return part.astype(part.dtype.categories.dtype if part.notna().all() else float)
    return part if as_numbers or is_category else part.astype("category")


def _refuse(parts, kinds, column, names):
    each = ", ".join(f"{kind} in {name}" for kind, name in zip(kinds, names) if kind is not None)
    refused = (
        f"The column {column!r} must hold values of one kind in all tables, such as numbers or "
        f"text; got {each}"
    )
    examples = ""
    if _NUMBERS in kinds and "text" in kinds:
        place = kinds.index("text")
        known = parts[place].dropna().astype(str)
        others = known[pd.to_numeric(known.str.strip(), errors="coerce").isna()]
        counts = others.value_counts()
        if len(counts):
            listed = ", ".join(
                f"{visible(value)!r} ({n:,})" for value, n in counts[:_MOST_SHOWN].items()
            )
            more = ", and others" if len(counts) > _MOST_SHOWN else ""
            examples = f"; {len(others):,} of {len(known):,} texts are no numbers: {listed}{more}"
    return f"{refused}{examples}. Convert it in one of them, or leave it out of all tables."


def _find_least_long(parts):
    """Return the smallest of whole numbers that floats do not tell apart; 0 of any others."""
    if not all(pd.api.types.is_integer_dtype(part.dtype) for part in parts):
        return 0
    known = [part.dropna() for part in parts]
    ends = [int(end) for part in known if len(part) for end in (part.min(), part.max())]
    return min(ends) if max(map(abs, ends), default=0) > _EXACT else 0


def _name_kind(part):
    """Return what a column holds, in words."""
    dtype, types = part.dtype, pd.api.types
    if isinstance(dtype, pd.CategoricalDtype):
        if types.is_numeric_dtype(dtype.categories):
            return _NUMBER_CATEGORIES
        part = dtype.categories.infer_objects()
        dtype = part.dtype
    elif types.is_complex_dtype(dtype):
        return "complex"
    elif types.is_bool_dtype(dtype):
        return _TRUTH_VALUES
    elif types.is_numeric_dtype(dtype):
        return _NUMBERS
    elif types.is_datetime64_any_dtype(dtype):
        return _DATES
    elif types.is_timedelta64_dtype(dtype):
        return _DURATIONS
    inferred = types.infer_dtype(part, skipna=True)
    if inferred in _MIXED:
        found = part.dropna().map(type).unique()
        return _OTHER + ("several types" if len(found) > 1 else f"the type {found[0].__name__}")
    return _INFERRED.get(inferred, inferred)


def _read_kind_numbers(part, kind):
    if part.isna().all():
        return np.full(len(part), np.nan)
    if kind == _NUMBERS:
        return part.to_numpy(dtype=float, na_value=np.nan)
    if kind == _DATES and part.dt.tz is not None:
        part = part.dt.tz_convert("UTC").dt.tz_localize(None)
    ticks = part.to_numpy()
    unit, _ = np.datetime_data(ticks.dtype)
    # Counts of the unit, because differences of old dates overflow in some versions of pandas.
    days = ticks.astype(np.int64) / (np.timedelta64(1, "D") / np.timedelta64(1, unit))
    return np.where(np.isnat(ticks), np.nan, days)


def _round_to_coarsest(numbers, parts):
    """Return numbers at the precision of the table that has the lowest."""
    types = [getattr(part.dtype, "numpy_dtype", part.dtype) for part in parts]
    coarse = min((t for t in types if t.kind == "f"), key=lambda t: t.itemsize, default=None)
    if coarse is None or coarse.itemsize == 8:
        return numbers
    with np.errstate(over="ignore"):
        rounded = [part.astype(coarse).astype(float) for part in numbers]
    fits = all(np.isfinite(part[~np.isnan(part)]).all() for part in rounded)
    return rounded if fits else numbers


def _scale(numbers):
    """Return numbers divided by a power of two if they are very large."""
    largest = max(np.abs(part[~np.isnan(part)]).max(initial=0.0) for part in numbers)
    if largest > _LARGEST:
        exponent = int(np.frexp(largest)[1])
        numbers = [np.ldexp(part, -exponent) for part in numbers]
    return numbers
