"""Which columns are identifiers, and how the columns of the tables are made alike.

``unify_tables`` gives all tables the same columns, and ``fit_columns`` reads values that are
written in different ways alike and names what does not fit.
"""

import difflib
import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..._core.escaping import visible
from ..._core.missing_marks import is_mark
from ..._core.text import compose_accents, count_more, fold_text
from .._neighbors import check_table_widths, is_number_dtype

# Fewer values that are all different show nothing.
_FEWEST = 20
# So many repeats would be expected of whole numbers that were drawn from their range, so that
# numbers without any, by chance in exp(-8) of the tables, are counted.
_EXPECTED_REPEATS = 8.0
# Share of values that may repeat in a column of codes, as where a row stands in a table twice.
_MOST_REPEATS = 0.01
_CODE = re.compile(
    r"\{?[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\}?"  # UUID
    r"|(?=.*\d)[0-9a-f]{8,}"  # hash
    r"|\w*?[^\W\d]+[-_:/#. ]*\d{2,}"  # prefix and number
    r"|[\d-]{7,}",  # long number
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(^|[^a-z])(id|uuid|guid|key|index|idx|nbr|rowid|ssn|mrn|serial)$|^unnamed: \d+$"
)
_TIME = re.compile(r"creat|update|insert|modif|record|timestamp|time_stamp|logged")
_MOST_SHOWN = 3


def find_identifiers(tables):
    """Return columns that name each row, and what they hold, in words.

    The real tables decide; a column that only the synthetic table has is judged by that.
    """
    found = {}
    columns = [name for table in tables.values() for name in table.columns]
    for name in dict.fromkeys(columns):
        known = [tables[key] for key in ("real", "holdout") if name in tables.get(key, ())]
        words = [_recognize(table[name], str(name)) for table in known or [tables["synthetic"]]]
        if None not in words:
            found[name] = words[0]  # of the training table, where the holdout has others
    return found


def _recognize(column, name):
    """Return what identifiers a column holds, or None."""
    known = column.dropna()
    if len(known) < max(_FEWEST, 0.9 * len(column)):
        return None
    dtype, types = known.dtype, pd.api.types
    if types.is_datetime64_any_dtype(dtype):
        return _recognize_times(known, name)
    if types.is_bool_dtype(dtype) or types.is_complex_dtype(dtype):
        return None
    if types.is_numeric_dtype(dtype):
        return _recognize_numbers(known.to_numpy(dtype=float), name)
    if not _is_text_part(known):
        return None
    values = known.astype(object)
    if values.nunique() < (1 - _MOST_REPEATS) * len(values):
        return None  # in any form, as numbers or dates
    return _recognize_texts(values.str.strip(), name)


def _recognize_numbers(values, name):
    """Whole numbers without repeats, of so small a range that they are counted, or so named."""
    if not np.isfinite(values).all() or (values != np.round(values)).any():
        return None
    n = len(values)
    if len(np.unique(values)) < n:
        return None
    is_counted = n * (n - 1) / 2 / (np.ptp(values) + 1) >= _EXPECTED_REPEATS
    return "numbers that count rows" if is_counted or is_named(name) else None


def is_named(name):
    """Return whether a column has the name of identifiers."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return _NAMED.search(words) is not None


def _recognize_times(values, name):
    is_named = _TIME.search(name.lower()) is not None
    is_timed = (values.dt.normalize() != values).any()
    ordered = values.is_monotonic_increasing or values.is_monotonic_decreasing
    is_unique = values.nunique() >= (1 - _MOST_REPEATS) * len(values)
    return "times of creation" if is_timed and is_unique and (is_named or ordered) else None


def _recognize_texts(values, name):
    n_values = values.nunique()
    if _DATE.fullmatch(values.iloc[0]) and (dates := _read_date(values)) is not None:
        return _recognize_times(dates, name)
    numbers = pd.to_numeric(values, errors="coerce")
    if numbers.notna().mean() > 0.9:
        # Short numbers are codes, such as zip codes, or measurements, unless they are counted.
        is_long = values.str.fullmatch(r"[\d-]{7,}").all()
        if is_long and n_values >= (1 - _MOST_REPEATS) * len(values):
            return "codes"
        return _recognize_numbers(numbers.to_numpy(dtype=float), name)
    if n_values == len(values):
        is_code = values.map(lambda value: _CODE.fullmatch(value) is not None).mean() > 0.9
        return "codes" if is_code or is_named(name) else "texts that never repeat"
    if n_values >= (1 - _MOST_REPEATS) * len(values):
        is_code = values.map(lambda value: _CODE.fullmatch(value) is not None).mean() > 0.9
        return "codes" if is_code else None
    return None


def count_copied_identifiers(tables, name):
    """Return the rows of each real table whose identifier is in the synthetic table."""
    if any(name not in table for table in tables.values()):
        return None
    spelled = spell_identifiers({key: table[name] for key, table in tables.items()})
    made = spelled.pop("synthetic")
    made = made[pd.notna(made)]
    return {key: pd.Index(part, dtype=object).isin(made) for key, part in spelled.items()}


def spell_identifiers(parts):
    """Return names of rows or persons as text, alike in all tables; None where there is none.

    7 and 7.0 are one name, and so are 7 and "007", "AB-1" and "ab-1" where that lets more of the
    names agree with those of the first table, and makes no two of a table equal. No number is
    rounded, which would make others equal.
    """
    coded = {key: pd.factorize(_spell_names(part)) for key, part in parts.items()}
    if all(_is_short_number(part) for part in parts.values()):
        return {key: np.append(names, [None])[codes] for key, (codes, names) in coded.items()}
    texts = {key: pd.Series(names, dtype=object) for key, (_, names) in coded.items()}
    alike, _ = _read_alike(texts)
    return {
        key: np.append(_spell_names(alike[key]), [None])[codes]  # the code -1 is the last place
        for key, (codes, _) in coded.items()
    }


def _is_short_number(part):
    """Return whether names are whole numbers, which have one spelling, and floats hold all of."""
    if part.dtype.kind not in "iuf":
        return False
    known = part.dropna().to_numpy()
    return bool((known % 1 == 0).all() and (np.abs(known.astype(float)) < 1e15).all())


def _spell_names(part):
    """Return names as text, in which 7 and 7.0 are one person; None where there is none."""
    names = part.astype(object)
    spelled = [
        _spell_name(name) if is_known else None for name, is_known in zip(names, names.notna())
    ]
    return np.array(spelled, dtype=object)


def _spell_name(name):
    is_whole = isinstance(name, float | np.floating) and float(name).is_integer()
    return str(int(name) if is_whole else name).strip()


def unify_tables(frames):
    """Return tables with the same columns in the same order, named by text, with their own types.

    Return tables; identifiers that a table lacks, by name with what they hold.
    """
    named = all(isinstance(name, str) for frame in frames.values() for name in frame.columns)
    frames, lacking = _leave_out_lacking(frames) if named else (frames, {})
    columns = list(frames["real"].columns)
    check_table_widths(list(frames.values()), list(frames))
    # Tests of distances need another row.
    least = 2 if "holdout" in frames else 1
    for name, frame in frames.items():
        if len(frame) < least or not columns:
            rows = "1 row" if least == 1 else f"{least} rows"
            raise ValueError(f"{name} needs at least {rows} and 1 column; got shape {frame.shape}.")
        frame = frame[columns] if named else frame.set_axis(columns, axis=1)
        frames[name] = frame.set_axis(list(map(str, columns)), axis=1).reset_index(drop=True)
    names = frames["real"].columns
    if names.has_duplicates:
        raise ValueError(f"Two columns have the name {names[names.duplicated()][0]!r} as text.")
    return frames, lacking


def _leave_out_lacking(frames):
    """Return tables without the identifiers that not all of them have.

    Other columns must be in all.
    """
    everything = dict.fromkeys(name for frame in frames.values() for name in frame.columns)
    partial = [name for name in everything if not all(name in part for part in frames.values())]
    if not partial or any(frame.columns.has_duplicates for frame in frames.values()):
        for name, frame in frames.items():
            _check_same_columns(frame, list(frames["real"].columns), name)
        return frames, {}
    parts = {name: frame[[c for c in partial if c in frame]] for name, frame in frames.items()}
    found = find_identifiers(parts)
    lacking = {str(name): found[name] for name in partial if name in found}
    left = list(lacking)
    frames = {name: frame.drop(columns=left, errors="ignore") for name, frame in frames.items()}
    for name, frame in frames.items():
        _check_same_columns(frame, list(frames["real"].columns), name)
    return frames, lacking


def _check_same_columns(frame, columns, name):
    lacking = [column for column in columns if column not in frame.columns]
    further = [column for column in frame.columns if column not in columns]
    if lacking:
        raise ValueError(
            f"{name} lacks the column {lacking[0]!r} of real{_propose_names(lacking[0], further)}."
        )
    if further:
        raise ValueError(
            f"{name} has the column {further[0]!r}, which real "
            f"lacks{_propose_names(further[0], [])}."
        )


def _propose_names(column, names):
    """Return words on a name that a column may have by mistake, or on how to leave it out."""
    same = {fold_text(name): name for name in names}
    if fold_text(column) in same:
        other = same[fold_text(column)]
        # Names that look the same are shown by their characters.
        shown = ascii(other) if compose_accents(other) == compose_accents(column) else repr(other)
        return f"; it has {shown}: rename it"
    return f"; rename it, or leave it out of all tables: {column!r}"


class ColumnsFit(NamedTuple):
    """How the columns of the tables fit each other."""

    changed: list  # sentences on columns that are compared in another form
    unfit: list  # sentences on columns whose values do not fit
    left_out: list  # names of columns of which no value fits


def fit_columns(tables):
    """Bring columns to a form in which equal values are equal, and name what does not fit."""
    fitted, fit = {name: {} for name in tables}, ColumnsFit([], [], [])
    for column in tables["real"].columns:
        parts = {name: table[column] for name, table in tables.items()}
        parts, missing = _read_marks(parts)
        parts, words = _read_alike(parts)
        if words or missing:
            words = "; ".join(filter(None, (missing, words)))
            fit.changed.append(f"column {visible(column)!r}: {words}")
        words, is_hopeless = ("", False) if is_named(str(column)) else _name_misfit(parts)
        if words:
            fit.unfit.append(f"column {visible(column)!r}: {words}")
        if is_hopeless:
            fit.left_out.append(column)
        for name, part in parts.items():
            fitted[name][column] = part
    return {name: pd.DataFrame(columns) for name, columns in fitted.items()}, fit


def _read_marks(parts):
    """Return a column of each table without texts for missing values, and words on them.

    A text is one if its table lacks no value and another table, which does, has no such text.
    """
    lacking = [part.dropna() for part in parts.values() if part.isna().any()]
    read, told = {}, []
    for name, part in parts.items():
        if not lacking or part.isna().any() or not _is_text_part(part.infer_objects()):
            continue
        marks = [value for value in part.astype(object).unique() if is_mark(value)]
        marks = [value for value in marks if not any((other == value).any() for other in lacking)]
        if marks:
            read[name] = part.astype(object).where(~part.isin(marks), None)
            listed = " and ".join(repr(visible(value)) for value in marks[:_MOST_SHOWN])
            told.append(f"{listed} in {_list_names([name])}")
    return parts | read, f"{', '.join(told)}: read as missing" if told else ""


def _read_alike(parts):
    """Return a column of each table in one form, and words on what was changed."""
    parts = {name: _as_text_column(part) for name, part in parts.items()}
    texts = [name for name, part in parts.items() if _is_text_part(part)]
    if not texts:
        return _round_alike(parts)
    rest = [parts[name] for name in parts if name not in texts and parts[name].notna().any()]
    if not rest:
        return _read_dates(parts, texts) or _spell_alike(parts)
    for read in (_read_codes, _convert_texts):
        found = read(parts, texts, rest)
        if found is not None:
            return found
    return parts, ""


def _as_text_column(part):
    """Return a column of categories of text as one of text."""
    if isinstance(part.dtype, pd.CategoricalDtype) and _is_text_part(part.astype(object)):
        return part.astype(object)
    return part.infer_objects()


def _is_text_part(part):
    known = part.dropna()
    if not len(known) or pd.api.types.is_numeric_dtype(part.dtype) or part.dtype.kind in "mM":
        return False
    if isinstance(part.dtype, pd.CategoricalDtype):
        return False
    return pd.api.types.infer_dtype(known, skipna=False) == "string"


def _read_codes(parts, texts, rest):
    """Return numbers as text of one length, as in the other tables; None if it is not so."""
    lengths = {len(value) for name in texts for value in parts[name].dropna()}
    digits = all(value.isdigit() for name in texts for value in parts[name].dropna())
    padded = any(value.startswith("0") for name in texts for value in parts[name].dropna())
    if len(lengths) != 1 or not digits or not padded or max(lengths) == 1:
        return None
    width, others = lengths.pop(), [name for name in parts if name not in texts]
    numbers = [part.dropna() for part in rest]
    if not all(pd.api.types.is_numeric_dtype(part.dtype) for part in numbers):
        return None
    if any(((part < 0) | (part >= 10**width) | (part % 1 != 0)).any() for part in numbers):
        return None

    def pad(value):
        return None if pd.isna(value) else str(int(value)).zfill(width)

    read = {name: parts[name].astype(object).map(pad) for name in others}
    shown = _list_names(others)
    return parts | read, f"codes of {width} digits are numbers in {shown}; compared as text"


def _convert_texts(parts, texts, rest):
    """Return texts as the numbers, dates or truth values of the other tables.

    None if they are none.
    """
    types, shown = pd.api.types, _list_names(texts)
    if all(types.is_bool_dtype(part.dtype) for part in rest):
        read, words = _read_truth, "truth values"
    elif all(types.is_numeric_dtype(part.dtype) for part in rest):
        read, words = _read_number, "numbers"
    elif all(types.is_datetime64_any_dtype(part.dtype) for part in rest):
        read, words = _read_date, "dates"
    else:
        return None
    found = {name: read(parts[name]) for name in texts}
    if any(part is None for part in found.values()):
        return None
    return parts | found, f"{words} are text in {shown}; compared as {words}"


def _list_names(names):
    return " and ".join({"real": "the training table"}.get(n, f"the {n} table") for n in names)


_TRUTH = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
_TRUTH |= {"t": True, "f": False, "y": True, "n": False, "1.0": True, "0.0": False}


def _read_truth(part):
    known = part.notna()
    found = part[known].str.strip().str.lower().map(_TRUTH)
    return None if found.isna().any() else found.astype(object).reindex(part.index)


def _read_number(part):
    # Texts of truth values beside numbers are 0 and 1.
    texts = part.str.strip()
    if texts.dropna().str.fullmatch(r"[+-]?\d{1,3}(,\d{3})*(\.\d+)?").all():
        texts = texts.str.replace(",", "")
    numbers = pd.to_numeric(texts, errors="coerce")
    if (numbers.isna() & part.notna()).any():
        numbers = texts.str.lower().map({"true": 1.0, "false": 0.0})
    return None if (numbers.isna() & part.notna()).any() else numbers.astype(float)


_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y")
_FORMATS += ("%Y%m%d", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")
_FORMATS += ("%d.%m.%y", "%d/%m/%y", "%m/%d/%y")
_TIMES = ("", " %H:%M:%S", "T%H:%M:%S", " %H:%M", "T%H:%M", " %H:%M:%S.%f", "T%H:%M:%S.%f")
_DATE = re.compile(
    r"\s*(\d{4}[-/]\d\d?[-/]\d\d?|\d\d?[-/.]\d\d?[-/.](\d\d){1,2}|\d\d? \w+ \d{4}|\w+ \d\d?, \d{4})"
    r"(?!\d).*"
)

_ZERO_OFFSET = r"(?<=\d)(Z|[+-]00:?00)$"
_DIGITS_OF_DATE = re.compile(r"\s*\d{8}\b.*")  # a date beside other dates alone


def _read_date(part):
    """Return the dates of one format, or None if no format, or more than one, reads all of them."""
    texts = part.dropna().astype(object).str.strip().str.replace(_ZERO_OFFSET, "", regex=True)
    first = texts.iloc[:50]
    found = []
    for form in (date + time for date in _FORMATS for time in _TIMES):
        if pd.to_datetime(first, format=form, errors="coerce").notna().all():
            read = pd.to_datetime(texts, format=form, errors="coerce")
            if read.notna().all():
                found.append(read)
    if not found or any((read != found[0]).any() for read in found[1:]):
        return None
    return found[0].reindex(part.index)


def _read_dates(parts, texts):
    """Return the texts of dates as dates; None if they hold none."""
    first = [parts[name].dropna().iloc[0] for name in texts]
    if not any(map(_DATE.fullmatch, first)):
        return None
    if not all(_DATE.fullmatch(text) or _DIGITS_OF_DATE.fullmatch(text) for text in first):
        return None
    found = {name: _read_date(parts[name]) for name in texts}
    if any(part is None for part in found.values()):
        return None
    return parts | found, "texts of dates are compared as dates"


def _strip(value):
    return " ".join(value.split())


def _spell_number(value):
    """Return a number without a sign, zeros and separators that do not change it.

    Other text as it is.
    """
    text = _strip(value)
    if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", text):
        text = text.replace(",", "")
    if not re.fullmatch(r"[+-]?\d+(\.\d*)?", text):
        return text
    if len(text) <= 15:
        return f"{float(text):.15g}"
    # A float has not so many digits.
    whole = re.fullmatch(r"\+?0*(\d+)(\.0*)?", text)
    return text if whole is None else whole[1]


def _spell_float(value):
    """Return a long whole number as a float holds it, such as one of a column with a gap."""
    text = _spell_number(value)
    is_long = text.isdecimal() and 15 < len(text) < 300
    return str(int(float(text))) if is_long else text


_SPELLINGS = {
    "compared without blanks at their ends": _strip,
    "compared without blanks at their ends and in lower case": fold_text,
    "compared as numbers": _spell_number,
    "compared as numbers of 16 digits": _spell_float,
}


def _spell_alike(parts):
    """Texts in a spelling in which more values agree, if it makes no two of a table equal."""
    best, chosen, words = _count_known(parts), parts, ""
    if best == sum(part.notna().sum() for part in parts.values()):
        return parts, ""
    values = {name: part.astype(object) for name, part in parts.items()}
    sizes = {name: part.nunique() for name, part in values.items()}
    for told, spell in _SPELLINGS.items():
        spelled = {name: part.map(spell, na_action="ignore") for name, part in values.items()}
        if all(spelled[name].astype(object).equals(part) for name, part in values.items()):
            continue
        is_lossless = all(part.nunique() == sizes[name] for name, part in spelled.items())
        known = _count_known(spelled)
        if is_lossless and known > best:
            best, chosen, words = known, spelled, told
    if not words:
        return parts, ""
    return chosen, f"{words}, as {_show_change(parts, chosen)}"


def _count_known(parts):
    """Return the rows of all tables whose value the first has, which are the training rows."""
    parts = [part.astype(object) for part in parts.values()]  # pandas searches its texts slowly
    real = parts[0].dropna().unique()
    return sum(int(part.isin(real).sum()) for part in parts)


def _show_change(parts, chosen):
    """Return a value of another table and the value of the training rows that it stands for."""
    first, real = {}, next(iter(parts))
    for value, spelled in zip(parts[real], chosen[real]):
        first.setdefault(spelled, value)
    for name, part in parts.items():
        for value, spelled in zip(part, chosen[name]):
            if isinstance(value, str) and first.get(spelled, value) != value:
                return f"{visible(value)!r} for {visible(first[spelled])!r}"
    return "in a column of other spellings"


_MOST_DECIMALS, _FEWEST_NUMBERS = 8, 10


def _round_alike(parts):
    """Return numbers at the decimals of the table that has the fewest."""
    if not all(_is_number(part) for part in parts.values()):
        return parts, ""
    values = {name: part.to_numpy(dtype=float, na_value=np.nan) for name, part in parts.items()}
    real = np.concatenate([part for name, part in values.items() if name != "synthetic"])
    sides = real, values["synthetic"]
    if min(len(np.unique(side[~np.isnan(side)])) for side in sides) < _FEWEST_NUMBERS:
        return parts, ""
    sides = [side[np.isfinite(side)] for side in sides]
    decimals = [_count_table_decimals(side) for side in sides]
    least = min(decimals)
    is_exact = [bool((side == np.round(side, least)).all()) for side in sides]
    if decimals[0] == decimals[1]:  # but for rounding, as to single precision and back
        decimals = [least + (not exact) for exact in is_exact]
    if decimals[0] == decimals[1] or least > _MOST_DECIMALS:
        return parts, ""
    finer = "the real tables have" if decimals[0] > decimals[1] else "the synthetic table has"
    rounded = {
        name: parts[name]
        if not np.isfinite(part[~np.isnan(part)]).all()
        else pd.Series(np.round(part, least) + 0.0, index=parts[name].index)
        for name, part in values.items()
    }
    where = f"{least} decimals" if least > 0 else f"multiples of {10**-least:,}"
    where = "whole numbers" if least == 0 else where
    return rounded, f"{finer} more digits; compared at {where}"


def _is_number(part):
    types = pd.api.types
    return types.is_numeric_dtype(part.dtype) and not (
        types.is_bool_dtype(part.dtype) or types.is_complex_dtype(part.dtype)
    )


def _count_table_decimals(values):
    """Return decimals of numbers, below 0 for multiples of ten; more than eight count as nine."""
    if not len(values) or np.abs(values).max() > 1e9:
        return 0 if len(values) and (values == np.round(values)).all() else _MOST_DECIMALS + 1
    for decimals in range(-3, _MOST_DECIMALS + 1):
        if np.allclose(values, np.round(values, decimals), rtol=1e-7, atol=10.0**-12):
            return decimals
    return _MOST_DECIMALS + 1


# Share of the rows of a table whose values the training rows have, below which a column is named,
# if the holdout reaches the other share and a value has so many rows.
_FEW_KNOWN, _USUAL, _ROWS_PER_VALUE = 0.5, 0.9, 4


def _name_misfit(parts):
    """Return words on what a column lacks, or has alone in the synthetic table.

    Whether none of its values is that of a real row.
    """
    words, is_hopeless = _name_unknown(parts)
    return "; ".join(filter(None, (_name_missing(parts), words))), is_hopeless


def _name_unknown(parts):
    """Return words on a column whose synthetic values are not those of real rows.

    Whether none is.
    """
    if all(_is_number(part) for part in parts.values()):
        return _name_range(parts), False
    if not all(_is_text_part(part) for part in parts.values()):
        return "", False
    real, made = parts["real"].dropna(), parts["synthetic"].dropna()
    share = made.isin(real.unique()).mean()
    # What a table of the population reaches; of a single table, rows whose value is there twice.
    held = parts.get("holdout")
    usual = real.duplicated(keep=False).mean()
    usual = usual if held is None else held.dropna().isin(real.unique()).mean()
    is_clear = usual >= _USUAL and len(real) >= _ROWS_PER_VALUE * real.nunique()
    # Numbers, and dates of a form that cannot be read, are no values of texts that repeat rarely.
    is_clear |= share == 0 and (_are_numbers(made) != _are_numbers(real) or _are_dates(made, real))
    if not len(made) or share >= _FEW_KNOWN or not is_clear:
        return "", False
    unknown = made[~made.isin(real.unique())].value_counts().index
    close = [(value, _find_close_texts(value, real)) for value in unknown[:20]]
    value, own = max(close, key=lambda pair: pair[1] is not None)
    shown = f"{visible(value)!r}" + (f" for {visible(own)!r}" if own is not None else "")
    if share == 0:
        return f"none of the values of the synthetic table occurs in the real one, {shown}", True
    return (
        f"{100 * (1 - share):.0f}% of the rows of the synthetic table have values that the real "
        f"one lacks, such as {shown}"
    ), False


def _are_numbers(texts):
    return bool(pd.to_numeric(texts.astype(object), errors="coerce").notna().all())


def _are_dates(*columns):
    return all(_DATE.fullmatch(text) for texts in columns for text in texts.iloc[:50])


# Rows of a table of which so many would be missing, as in the other tables, have a missing value,
# but for exp(-20) of the tables.
_EXPECTED_MISSING = 20.0


def _name_missing(parts):
    """Return words on a column that lacks values in the real tables alone, or in the synthetic."""
    shares = {name: part.isna().mean() for name, part in parts.items()}
    own, n = shares.pop("synthetic"), len(parts["synthetic"])
    n_missing = max(min(shares.values()) * n, own * len(parts["real"]))
    if n_missing < _EXPECTED_MISSING:
        return ""
    if own == 0:
        share, lacks, whole = shares["real"], "real", "synthetic"
    elif max(shares.values()) == 0:
        share, lacks, whole = own, "synthetic", "real"
    else:
        return ""
    text = f"{100 * share:.3g}% of the {lacks} values are missing and none of the {whole} ones"
    values = parts[whole]
    others = [part for part in parts.values() if part is not values]
    counts = values[~values.isin(pd.concat(others).unique())].value_counts()
    # If no value is known, it is another column rather than a mark.
    if len(counts) and counts.iloc[0] >= n_missing / 2 and counts.sum() < values.count():
        value = counts.index[0]
        shown = f"{value:g}" if is_number_dtype(counts.index.dtype) else repr(visible(value))
        return f"{text}, where {shown} may stand for them"
    return text


def _find_close_texts(value, real):
    known = real.value_counts().index[:1000]
    folded = {fold_text(other): other for other in known}
    close = difflib.get_close_matches(fold_text(value), list(folded), n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def _name_range(parts):
    values = {name: part.dropna().to_numpy(dtype=float) for name, part in parts.items()}
    real = np.concatenate([part for name, part in values.items() if name != "synthetic"])
    made = values["synthetic"]
    if not len(real) or not len(made) or np.ptp(real) == 0:
        return ""
    if made.min() <= real.max() and made.max() >= real.min():
        return ""
    return (
        f"the numbers of the synthetic table lie from {made.min():.6g} to {made.max():.6g} and the "
        f"real ones from {real.min():.6g} to {real.max():.6g}: another unit?"
    )


def list_briefly(sentences):
    """Return the first sentences and how many more there are, as one that begins with a capital."""
    more = len(sentences) - _MOST_SHOWN
    rest = [count_more(more, "column")] if more > 0 else []
    text = "; ".join([*sentences[:_MOST_SHOWN], *rest])
    return f"{text[:1].upper()}{text[1:]}"
