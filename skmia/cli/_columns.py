"""What a column of one table or several is: numbers, texts, or what a model knows of it."""

import shlex
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._core.escaping import join_names, visible
from .._core.missing_marks import MISSING, is_mark
from .._core.text import compose_accents
from ._numbers import (
    FORMATS,
    PLAIN,
    list_formats,
    read_number,
    strip_affixes,
)
from ._options import CommandError

# A column with as many numbers, and at most so many other values, is one of numbers.
_MOSTLY, _MOST_OTHERS = 0.9, 20
_MOST_SHOWN = 5
# Values by which a column is known for one of texts, without a look at the others.
_FEW = 1000


class ColumnWords(NamedTuple):
    """What is given or known of a column of several tables."""

    name: str
    wanted: str | None  # of ``--read dtype``
    decimals: list  # sign of each table, None if nothing tells
    thousands: list
    has_points: bool  # whether a point can only be the decimal sign
    missing: list  # words of each table that are taken as missing among texts
    known: Any  # KnownColumn of a model, or None


class SettledColumn(NamedTuple):
    """A column as it is in each table, and what is said of it."""

    columns: list
    notes: list
    missing: list  # words that were taken as missing among texts, with their counts


def settle_column(columns, words, read_raw, options):
    """Decide what a column is, of texts as they stand and of what was read as numbers.

    read_raw(place): the texts of the column as they stand in the file of that place.
    """
    known, wanted = words.known, words.wanted
    same = SettledColumn(columns, [], [None] * len(columns))
    if wanted in ("str", "category"):
        return _keep_as_texts([read_raw(place) for place in range(len(columns))], words)
    if wanted is None and is_known_text(known):
        return _as_known([read_raw(place) for place in range(len(columns))], words)
    if not any(map(_is_text_column, columns)):
        return same
    if not all(_is_text_column(one) or one.dtype.kind in "iuf" for one in columns):
        return same
    of_model = wanted is not None or (known is not None and known.kind == "number")
    if not of_model and not _may_be_numbers(columns):
        return _keep_as_texts([read_raw(place) for place in range(len(columns))], words)
    plain = _read_plain(columns, words)
    if plain is not None:
        return plain
    found = _count_kinds_of_values(columns, words)
    verdict = _judge_column(found, words, of_model, options)
    if verdict.form is None:
        raw = [read_raw(place) for place in range(len(columns))]
        texts = _keep_as_texts(raw, words)
        return texts._replace(notes=[*verdict.notes, *texts.notes])
    converted = [_parse_numbers(column, verdict) for column in columns]
    return SettledColumn(converted, verdict.notes, same.missing)


def is_known_text(known):
    """Whether a model has texts or categories in a column, the values of which it may store."""
    if known is None:
        return False
    listed = known.dtype is not None and known.dtype.categories is not None
    return known.kind == "text" or listed


def _is_text_column(column):
    if column.dtype == object:
        return pd.api.types.infer_dtype(column, skipna=True) == "string"
    return isinstance(column.dtype, pd.StringDtype)


def _may_be_numbers(columns):
    """Return whether a few values from all over the tables leave it open that they are numbers."""
    texts = [column for column in columns if _is_text_column(column)]
    some = [one.iloc[:: max(len(one) // _FEW, 1)].dropna() for one in texts]
    values = {str(value) for one in some for value in one.unique()}
    fits = [
        bool(list_formats(text)) or is_mark(text) or strip_affixes(text) is not None
        for text in values
    ]
    return sum(fits) >= 0.5 * len(values)


def _read_plain(columns, words):
    """Read numbers with points, if marks of missing values are all that stands beside them."""
    if not words.has_points or any(words.thousands):
        return None
    read, marks, n_values = [], Counter(), 0
    for column, missing in zip(columns, words.missing, strict=True):
        if not _is_text_column(column):
            read.append(column)
            n_values += int(column.notna().sum())
            continue
        codes, texts = pd.factorize(column.to_numpy(dtype=object))
        is_number = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").notna()
        is_number = is_number.to_numpy()
        for place in np.flatnonzero(~is_number):
            text, count = texts[place], int((codes == place).sum())
            if text in MISSING or text in missing:
                continue
            if not is_mark(text):
                return None
            marks[text] += count
            n_values += count
        values = np.full(len(texts) + 1, np.nan)  # the last one is of those without a text
        values[:-1][is_number] = texts[is_number].astype(float)  # to the last bit
        numbers = pd.Series(values[codes], index=column.index)
        n_values += int(numbers.notna().sum())
        is_whole = is_number.any() and pd.to_numeric(texts[is_number]).dtype.kind == "i"
        has_all = is_whole and not numbers.isna().any()
        read.append(numbers.astype("int64") if has_all else numbers)
    if n_values == marks.total():  # whether they are numbers depends on who asks for them
        return None
    notes = [_tell_marks(words.name, n_values, marks)] if marks else []
    return SettledColumn(read, notes, [None] * len(columns))


def _tell_marks(name, n_values, marks):
    return (
        f"column {name!r}: {n_values - marks.total():,} of {n_values:,} values are numbers; not: "
        f"{_show_value_counts(marks)}, taken as missing."
    )


class _ValueCounts(NamedTuple):
    """How often each kind of value stands in a column."""

    n_values: int  # that are not missing
    n_read: int  # numbers that were read as such before
    n_distinct: int  # different numbers in all tables; of many at least so many
    formats: Counter  # numbers by the formats in which they are numbers
    marks: Counter
    others: Counter
    affixed: dict  # texts with a sign of money or percent, and the number in each
    examples: dict  # a text of each group of formats
    decimals: set  # signs of the tables that hold texts, where something tells
    has_zeros: bool  # whether numbers begin with a zero, as codes do


def _count_kinds_of_values(columns, words):
    formats, marks, others, affixed, examples = Counter(), Counter(), Counter(), {}, {}
    n_read, distinct = 0, set()
    has_zeros, decimals = False, set()
    for column, missing, sign in zip(columns, words.missing, words.decimals, strict=True):
        decimals |= {sign} - {None} if _is_text_column(column) else set()
        if not _is_text_column(column):
            n_read += int(column.notna().sum())
            distinct.update(column.dropna().unique()[: _MOST_OTHERS + 1].tolist())
            continue
        for text, count in column.value_counts().items():
            forms = list_formats(text)
            if forms:
                formats[forms] += count
                number = _mean(text)
                distinct.add(text.strip() if number is None else number)
                examples[forms] = max(examples.get(forms, ""), text, key=len)
                stripped = text.strip()
                has_zeros |= len(stripped) > 1 and stripped.isdecimal() and stripped[0] == "0"
            elif text in MISSING or text in missing:
                continue
            elif is_mark(text):
                marks[text] += count
            else:
                stripped = strip_affixes(text)
                if stripped is not None and list_formats(stripped.text):
                    affixed[text] = stripped
                    if stripped.is_english:
                        decimals = {"."}
                others[text] += count
    n_values = n_read + formats.total() + marks.total() + others.total()
    counts = n_values, n_read, len(distinct)
    return _ValueCounts(*counts, formats, marks, others, affixed, examples, decimals, has_zeros)


class _ColumnVerdict(NamedTuple):
    """How a column is read: as numbers of one format, or as texts if there is none."""

    form: Any
    affixed: dict
    notes: list


def _judge_column(found, words, of_model, options):
    """Decide how a column is read, from the counts of its values."""
    name, forms = words.name, found.formats.copy()
    for text, stripped in found.affixed.items():
        forms[list_formats(stripped.text)] += found.others[text]
    notes = [_tell_marks(name, found.n_values, found.marks)] if found.marks else []
    if not forms and not found.n_read:
        if words.wanted is not None and found.others:
            return _judge_left(found, words, found.others, of_model, options)
        is_number = of_model and not found.others
        return _ColumnVerdict(PLAIN, {}, notes) if is_number else _ColumnVerdict(None, {}, [])
    form, ambiguous = _choose_number_format(
        forms, [*found.examples.values(), *found.affixed], words, found.decimals
    )
    left = _count_left(found, form)
    if left:
        return _judge_left(found, words, left, of_model, options)
    if ambiguous:
        _refuse_ambiguous(found, words, options)
    percent = [text for text, one in found.affixed.items() if one.is_percent]
    if percent and (of_model or found.n_read or found.formats):
        raise CommandError(
            f"{options[0]}: column {name!r} holds '{visible(percent[0])}' where numbers are meant, "
            "which can be parts of 1 or of 100; write numbers without the sign"
            + ("" if of_model else f", or read texts with --read {_name_dtype(name)}")
        )
    example = _find_example(found, form)
    if example is not None:
        value = _read_alone(example, form)
        notes.append(f"column {name!r}: '{visible(example)}' is read as {value:.15g}.")
    return _ColumnVerdict(form, found.affixed, notes)


def _count_left(found, form):
    """Count the values that are no numbers of a format, by their text."""
    left = Counter(
        {
            text: count
            for text, count in found.others.items()
            if text not in found.affixed or form not in list_formats(found.affixed[text].text)
        }
    )
    for group, count in found.formats.items():
        if form not in group:
            left[found.examples[group]] += count
    return left


def _judge_left(found, words, left, of_model, options):
    """Read a column in which values are left that are no numbers as texts, or refuse it."""
    name, n_present = words.name, found.n_values - found.marks.total()
    n_numbers = n_present - left.total()
    listed, share = _show_value_counts(left), n_numbers / n_present
    told = f"column {name!r}: {n_numbers:,} of {found.n_values:,} values are numbers"
    if of_model:
        who = "the model has numbers there" if words.wanted is None else "--read dtype asks for"
        raise CommandError(
            f"{options[0]}: column {name!r} holds {listed}, and {who}; "
            f"{_propose_options(name, left, False)}"
        )
    is_category = found.n_distinct <= _MOST_OTHERS  # as children: '0', '1', '2', '3+'
    if share >= _MOSTLY and len(left) <= _MOST_OTHERS and not (found.has_zeros or is_category):
        raise CommandError(f"{options[0]}: {told}; not: {listed}. {_propose_options(name, left)}")
    notes = [f"{told}; not: {listed}. It is read as text."] if share >= 0.5 else []
    return _ColumnVerdict(None, {}, notes)


def _choose_number_format(forms, examples, words, decimals):
    """Return the format that reads most values, and whether another one reads them otherwise."""
    allowed = [form for form in FORMATS if _is_allowed(form, words)] or [PLAIN]
    counts = {
        form: sum(count for group, count in forms.items() if form in group) for form in allowed
    }
    most = max(counts.values())
    best = [form for form in allowed if counts[form] == most]
    others = [
        form
        for form in best
        if any(_read_alone(text, form) != _read_alone(text, best[0]) for text in examples)
    ]
    if not others or (best[0] == PLAIN and words.has_points):
        return best[0], False
    if len(decimals) == 1:
        return next(form for form in best if form.decimal in decimals), False
    return best[0], True


def _read_alone(text, form):
    """Return the number of a text in a format, with a sign of money or without.

    None if it is not one.
    """
    inner = strip_affixes(text)
    number = text if inner is None or list_formats(text) else inner.text
    return read_number(number, form) if form in list_formats(number) else None


def _is_allowed(form, words):
    """Return whether a format agrees with what is given."""
    given = {sign for sign in words.thousands if sign}
    return not given or (form.thousands in ("", *given) and form.decimal not in given)


def _refuse_ambiguous(found, words, options):
    text = next(text for text in [*found.examples.values(), *found.affixed] if {*",."} & {*text})
    sign = "," if "," in text else "."
    other = "." if sign == "," else ","
    number = text if list_formats(text) else strip_affixes(text).text
    raise CommandError(
        f"{options[0]}: column {words.name!r} holds '{visible(text)}', which can be "
        f"{number.replace(sign, '')} or {number.replace(sign, '.')}; --read "
        f"{shlex.quote(f'decimal={other},thousands={sign}')} reads the former, --read "
        f"{shlex.quote(f'decimal={sign}')} the latter"
    )


def _find_example(found, form):
    """Return a text that is another number, or none, to those who do not know its format."""
    texts = [text for text in found.examples.values() if PLAIN not in list_formats(text)]
    texts = [text for text in [*texts, *found.affixed] if _read_alone(text, form) is not None]
    return max(texts, key=lambda text: (form.thousands in text, len(text)), default=None)


def _show_value_counts(counts):
    shown = [f"'{visible(text)}' ({count:,})" for text, count in counts.most_common(_MOST_SHOWN)]
    return join_names(shown, _MOST_SHOWN) + (
        f" and {len(counts) - _MOST_SHOWN:,} others" if len(counts) > _MOST_SHOWN else ""
    )


def _propose_options(name, left, may_be_text=True):
    """Return the options that read a column with values that are not numbers."""
    marks = " ".join(shlex.quote(f"na_values.{name}={text}") for text in left)
    ways = [f"--read {marks} takes them as missing"] if len(left) <= _MOST_SHOWN else []
    if may_be_text:
        ways.append(f"--read {_name_dtype(name)} reads the column as text")
    return ", ".join(ways) if ways else "write numbers, or leave these rows out"


def _name_dtype(name):
    return shlex.quote(f"dtype.{name}=str")


def _parse_numbers(column, verdict):
    """Return the numbers of a column, whole ones if all are."""
    if not _is_text_column(column):
        return column
    texts = column.dropna().unique()
    values = {}
    for text in texts:
        inner = verdict.affixed.get(text)
        number = text if inner is None else inner.text
        if verdict.form in list_formats(number):
            values[text] = read_number(number, verdict.form)
    numbers = pd.to_numeric(column.astype(object).map(values)).astype(float)
    signs = {verdict.form.decimal, "e", "E"}
    is_whole = not any(signs & set(text) for text in texts)
    if is_whole and (numbers.abs() < 2**53).all():  # and none is missing
        return numbers.astype("int64")
    return numbers


def _keep_as_texts(columns, words):
    """Return texts to the last character, without words for missing ones.

    Accents are parts of their letters, unless a model may know the texts as they are.
    """
    read, found = [], []
    for column, missing in zip(columns, words.missing, strict=True):
        if words.wanted == "str" and not _is_text_column(column):
            column = column.map(str, na_action="ignore").astype(object)
        is_missing = column.isin([*missing])
        counts = Counter()
        if is_missing.any():
            counts.update(column[is_missing].value_counts().to_dict())
            counts.pop("", None)
            column = column.mask(is_missing)
        read.append(column if words.known is not None else _compose_column(column))
        found.append(counts or None)
    return SettledColumn(read, [], found)


def _compose_column(column):
    """Return texts with accents as parts of their letters, the same object if they are that."""
    texts = [value for value in column.dropna().unique() if isinstance(value, str)]
    composed = {text: compose_accents(text) for text in texts if not text.isascii()}
    changed = column.isin([text for text, new in composed.items() if new != text])
    return column.mask(changed, column.map(composed)) if changed.any() else column


def _as_known(columns, words):
    """Return texts, or the values that a model knows where one stands for them."""
    known, notes, settled, found = words.known, [], [], []
    values = [] if known.values is None else np.asarray(known.values).tolist()
    lookup = _ValueLookup(values)
    stripped, absent = Counter(), Counter()
    for column, missing in zip(columns, words.missing, strict=True):
        counts = column.astype(object).value_counts()
        changed, lost = {}, Counter()
        for value, count in counts.items():
            new, is_stripped = lookup.find(value)
            if new is not None:
                changed[value] = new
                stripped.update({value: count} if is_stripped else {})
            elif isinstance(value, str) and (value in missing or (values and is_mark(value))):
                changed[value] = np.nan
                lost.update({value: count} if value else {})
            else:
                changed[value] = value
                absent.update({value: count} if values else {})
        settled.append(_replace_values(column, changed, known))
        found.append(lost or None)
    if stripped:
        notes.append(
            f"column {words.name!r}: blanks around {_show_value_counts(stripped)} are left out, "
            f"as the "
            "model knows these values without."
        )
    if absent and known.dtype is not None:
        notes.append(
            f"column {words.name!r}: the categories of the model lack "
            f"{_show_value_counts(absent)}, "
            "taken as missing."
        )
    return SettledColumn(settled, notes, found)


class _ValueLookup:
    """The values that a model knows, found by how they are written or what they mean."""

    def __init__(self, values):
        self._exact = {value: value for value in values}
        self._composed = {
            compose_accents(value): value for value in values if isinstance(value, str)
        }
        self._meant = {}
        for value in values:
            self._meant.setdefault(_mean(value), value)

    def find(self, value):
        """Return the known value that a value stands for, or None, and whether it lost blanks.

        True is 1 to a dict, and a text is never a number.
        """
        if value in self._exact and type(self._exact[value]) is type(value):
            return self._exact[value], False
        if isinstance(value, str) and compose_accents(value.strip()) in self._composed:
            return self._composed[compose_accents(value.strip())], value != value.strip()
        meant = _mean(value)
        return (self._meant.get(meant), False) if meant is not None else (None, False)


def _mean(value):
    """Return a number or a bool in any writing, as a key; None for another text."""
    if str(value).strip().lower() in ("true", "false"):
        return str(value).strip().lower()
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _replace_values(column, changed, known):
    """Return a column with other values, and with the categories of the model if it has them."""
    if known.dtype is not None:
        categories = {*known.dtype.categories}
        changed = {value: new if new in categories else np.nan for value, new in changed.items()}
    values = column.astype(object).map(changed)
    if known.dtype is not None:
        return pd.Series(pd.Categorical(values, dtype=known.dtype), index=column.index)
    if getattr(known, "has_none", False):  # which an encoder tells from NaN
        kept = [None if pd.isna(value) else value for value in values]
        return pd.Series(kept, index=column.index, dtype=object)
    kinds = {type(value) for value in changed.values() if not _is_nan(value)}
    return values.astype(float) if kinds and kinds <= {int, float} else values


def _is_nan(value):
    return isinstance(value, float) and np.isnan(value)
