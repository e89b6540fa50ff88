"""The tables of an audit: the same columns, which hold values of the same kind."""

import numpy as np
import pandas as pd

from .._neighbors import as_frame, check_columns

_NUMBERS, _DATES, _DURATIONS, _TRUTH = "numbers", "dates", "durations", "truth values"
# Kinds of columns of objects, as pandas infers them.
_INFERRED = {
    **dict.fromkeys(("integer", "floating", "mixed-integer-float"), _NUMBERS),
    "boolean": _TRUTH,
    "string": "text",
    **dict.fromkeys(("mixed", "mixed-integer"), "values of several types"),
}
# Squares of larger numbers overflow, and models hold numbers in single precision.
_LARGEST = 2.0**100
# Floats hold all smaller whole numbers.
_EXACT = 2**53


def read_tables(real, synthetic, holdout):
    """Tables with the same columns in the same order, named by text, with their own types.

    Returns
    -------
    tables : dict of str to DataFrame
        ``"real"``, ``"synthetic"`` and, if there is one, ``"holdout"``.
    """
    given = {"real": real, "synthetic": synthetic}
    given |= {} if holdout is None else {"holdout": holdout}
    frames = {name: as_frame(table, name) for name, table in given.items()}
    columns = list(frames["real"].columns)
    named = all(isinstance(name, str) for frame in frames.values() for name in frame.columns)
    for name, frame in frames.items() if named else ():
        _check_names(frame, columns, name)
    check_columns(list(frames.values()), list(frames))
    # Tests of distances need another row.
    least = 1 if holdout is None else 2
    for name, frame in frames.items():
        if len(frame) < least or not columns:
            rows = "1 row" if least == 1 else f"{least} rows"
            raise ValueError(f"{name} needs at least {rows} and 1 column; got shape {frame.shape}.")
        frame = frame[columns] if named else frame.set_axis(columns, axis=1)
        frames[name] = frame.set_axis(list(map(str, columns)), axis=1).reset_index(drop=True)
    names = frames["real"].columns
    if names.has_duplicates:
        raise ValueError(f"Two columns have the name {names[names.duplicated()][0]!r} as text.")
    return frames


def _check_names(frame, columns, name):
    lacking = [column for column in columns if column not in frame.columns]
    if lacking:
        raise ValueError(f"{name} lacks the column {lacking[0]!r} of real.")
    further = [column for column in frame.columns if column not in columns]
    if further:
        raise ValueError(f"{name} has the column {further[0]!r}, which real lacks.")


def unify(tables):
    """Tables whose columns can be compared: equal values are equal, whatever their types.

    Numbers of several types become floats of the lowest precision among them; dates and durations
    become days. Very large numbers are scaled, which changes none of the results.

    Parameters
    ----------
    tables : dict of str to DataFrame
        As returned by :func:`read_tables`.

    Returns
    -------
    tables : dict of str to DataFrame
    """
    columns = {
        column: _unify_column({name: table[column] for name, table in tables.items()}, column)
        for column in tables["real"].columns
    }
    return {
        name: pd.DataFrame({column: parts[name] for column, parts in columns.items()})
        for name in tables
    }


def _unify_column(parts, column):
    parts = {name: part.infer_objects() for name, part in parts.items()}
    kinds = {name: _name_kind(part) for name, part in parts.items() if part.notna().any()}
    found = set(kinds.values())
    if found == {_NUMBERS, _TRUTH}:
        found = {_NUMBERS}
    if len(found) > 1 or found & {"values of several types", "complex"}:
        each = ", ".join(f"{kind} in {name}" for name, kind in kinds.items())
        raise ValueError(
            f"The column {column!r} must hold values of one kind in all tables, such as numbers or "
            f"text; got {each}."
        )
    kind = found.pop() if found else _NUMBERS
    if kind == _TRUTH:
        return {name: part.astype(object).where(part.notna(), None) for name, part in parts.items()}
    if kind not in (_NUMBERS, _DATES, _DURATIONS):
        return parts
    numbers = {name: _read_numbers(part, kind) for name, part in _shift(parts).items()}
    for name, part in numbers.items():
        if np.isinf(part).any():
            raise ValueError(f"{name} must hold finite numbers; column {column!r} does not.")
    return _scale(_round(numbers, parts))


def _shift(parts):
    """Whole numbers that floats do not tell apart, counted from the smallest of them."""
    if not all(pd.api.types.is_integer_dtype(part.dtype) for part in parts.values()):
        return parts
    known = [part.dropna() for part in parts.values()]
    ends = [int(end) for part in known if len(part) for end in (part.min(), part.max())]
    if max(map(abs, ends), default=0) <= _EXACT:
        return parts
    # Differences of long integers wrap, those of Python do not.
    return {name: part.astype(object) - min(ends) for name, part in parts.items()}


def _name_kind(part):
    """What a column holds, in words."""
    dtype, types = part.dtype, pd.api.types
    if isinstance(dtype, pd.CategoricalDtype):
        if types.is_numeric_dtype(dtype.categories):
            return "categories of numbers"
        part = dtype.categories.infer_objects()
        dtype = part.dtype
    elif types.is_complex_dtype(dtype):
        return "complex"
    elif types.is_bool_dtype(dtype):
        return _TRUTH
    elif types.is_numeric_dtype(dtype):
        return _NUMBERS
    elif types.is_datetime64_any_dtype(dtype):
        return _DATES
    elif types.is_timedelta64_dtype(dtype):
        return _DURATIONS
    inferred = types.infer_dtype(part, skipna=True)
    return _INFERRED.get(inferred, inferred)


def _read_numbers(part, kind):
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


def _round(numbers, parts):
    """Numbers at the precision of the table that has the lowest."""
    types = [getattr(part.dtype, "numpy_dtype", part.dtype) for part in parts.values()]
    coarse = min((t for t in types if t.kind == "f"), key=lambda t: t.itemsize, default=None)
    if coarse is None or coarse.itemsize == 8:
        return numbers
    with np.errstate(over="ignore"):
        rounded = {name: part.astype(coarse).astype(float) for name, part in numbers.items()}
    fits = all(np.isfinite(part[~np.isnan(part)]).all() for part in rounded.values())
    return rounded if fits else numbers


def _scale(numbers):
    """Numbers divided by a power of two if they are very large."""
    largest = max(np.abs(part[~np.isnan(part)]).max(initial=0.0) for part in numbers.values())
    if largest > _LARGEST:
        exponent = int(np.frexp(largest)[1])
        numbers = {name: np.ldexp(part, -exponent) for name, part in numbers.items()}
    return {name: pd.Series(part) for name, part in numbers.items()}
