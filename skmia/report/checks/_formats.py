"""Check whether the values of members and of non-members are written in one way."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import rankdata
from sklearn.utils import gen_batches

from ..._core.containers import in_memory, is_frame, is_tensor, take_rows, to_numpy
from ..._core.escaping import visible
from ..._core.features import code_cells, split_columns
from ..._core.numbers import as_series, check_count
from ..._core.pvalues import format_pvalue
from ..._core.randomness import check_random_state
from ..._core.records import Records
from ..._core.tokens import hold_tokens
from ..._core.types import ArrayLike, Seed
from ..._core.validation import check_sides
from ._base import (
    DIFFERENCE,
    FORMATS_ERROR,
    NOT_RUN,
    PASSED,
    SOMETIMES,
    WARNING,
    WITHOUT_FEATURES,
    BaseCheck,
    NextStep,
)
from ._units import draw_labelings, make_units, pick_draws

# Permutations after which so many were at least as extreme change nothing at this level.
_N_PERMUTATIONS = 1999
_MANY = 10
_N_TOGETHER = 25  # half of all sides that were written alike need no more

# Bounds of the cost: records, columns that are described one by one, and values in all.
_MOST_RECORDS = 20_000
_MOST_COLUMNS = 100
_MOST_VALUES = 1 << 20

# Numbers that a cache holds, with all that is computed of them.
_N_CACHED = 1 << 14

# Numbers of more decimals than these have no last written digit.
_MOST_DECIMALS = 11

# A decimal number that was read into floating point is this near to it, in units of the precision.
_NEAR = 1.8

# Numbers that stand for a missing value in tables of many kinds.
_CODES = (-1, -9, -99, -999, -9999, 99, 999, 9999)
_WORDS = {"", "na", "n/a", "nan", "none", "null", "?", "-", "missing", "unknown"}

# Characters of a text that are looked at one by one.
_MOST_CHARACTERS = 200

_SECONDS = {
    "day": 86_400,
    "hour": 3600,
    "minute": 60,
    "second": 1,
    "millisecond": 1e-3,
    "microsecond": 1e-6,
}

# What is said of a value that has a feature, and the unit of a feature that is a number.
_SHARES = {
    "missing": "is missing",
    "infinite": "is infinite",
    "at most 0 decimals": "is a whole number",
    "at most 1 decimals": "has at most 1 decimal",
    **{f"at most {k} decimals": f"has at most {k} decimals" for k in range(2, 9)},
    "single precision": "is a number of single precision",
    "half precision": "is a number of half precision",
    "rounding error": "has an error of rounding in its last digits",
    "last digit 5": "ends in the digit 5",
    "multiple of 5": "is a multiple of 5",
    "multiple of 10": "is a multiple of 10",
    "zero": "is exactly 0",
    "negative zero": "is a negative zero",
    **{f"equal to {code}": f"equals {code}" for code in _CODES},
    "word for missing": 'holds a word for a missing value, such as "na" or "none"',
    "first capital": "begins with a capital letter",
    "space at an end": "begins or ends with a space",
    "double space": "has a double space",
    "not ASCII": "has characters that are not ASCII",
    "no text": "is not a text",
    **{f"whole {name}": f"is a whole {name}" for name in _SECONDS},
}
_MEANS = {
    "decimals": "has on average {:.3g} decimals in the members and {:.3g} in the non-members",
    "length": "is on average {:.3g} characters long in the members and {:.3g} in the non-members",
    "capitals": "has on average {:.0%} capitals in the members and {:.0%} in the non-members",
    "digits": "has on average {:.0%} digits in the members and {:.0%} in the non-members",
    "marks": "has on average {:.0%} punctuation in the members and {:.0%} in the non-members",
    "order": "holds numbers with mean rank {:.3g} in the members and {:.3g} in the non-members (of "
    "ranks from 0 to 1)",
    "frequency": "has values that occur {:.3g} times in the members and {:.3g} times in the "
    "non-members (geometric means)",
}
# Logarithms, whose means are shown as geometric means.
_LOGARITHMS = {"length": 1, "frequency": 0}


@dataclass(frozen=True)
class FormatComparison:
    """Comparison of how values are written, as returned by :func:`compare_formats`.

    Attributes
    ----------
    pvalue : float
        Probability of a difference as large as the largest one if membership was assigned at
        random, by permutations.
    statistic : float
        Largest difference between the means of members and non-members, in standard deviations; 0
        if no feature varies.
    text : str or None
        Column and feature of the largest difference, with its values for members and non-members.
    features : DataFrame
        One row for each feature that varies, the largest difference first: ``column``, ``feature``,
        its mean over ``members`` and over ``nonmembers``, and their ``difference`` in standard
        deviations.
    n_permutations : int
        Number of permutations that were drawn.
    """

    pvalue: float
    statistic: float
    text: str | None
    features: pd.DataFrame = field(compare=False)
    n_permutations: int

    @property
    def is_warning(self) -> bool:
        """Whether the p-value is at most .5%."""
        return self.pvalue <= FORMATS_ERROR


def compare_formats(
    records: Records,
    membership: ArrayLike,
    *,
    n_permutations: int = _N_PERMUTATIONS,
    random_state: Seed = None,
) -> FormatComparison:
    """Compare how the values of members and of non-members are written.

    If the two sides were exported in two ways, attacks that compare exact values find the export
    and not the training: a tree whose thresholds have four decimals seems to know the side whose
    values have four decimals. Each column is described by features that are about the form of its
    values:

    - numbers: missing; infinite; number of decimals; whether they differ from a decimal number by
      an error of rounding, as after a conversion; whether single or half precision holds them;
      whether they end in 5, or are multiples of 5 or 10; 0, negative zero, and numbers that often
      stand for a missing value, such as -1 and 999;
    - texts: missing, or a word for it; length; capitals, digits and marks; spaces at the ends and
      double spaces; characters that are not ASCII; the order of the numbers in them;
    - times: missing; whole days, hours, minutes, seconds, milliseconds, microseconds;
    - all of them: how often the same value occurs in the column.

    The statistic is the largest difference of a standardized feature, or of the sum of one feature
    over all columns, between members and non-members. Its p-value is exact under permuted
    membership.

    Parameters
    ----------
    records : Records of n records
        Records; real task labels count as a column. If there are more than 20,000, a random sample
        of this size is used. Records with one value of ``group_by`` exchange their membership
        together. If equal records are on one side more often than by chance, they count as one
        record of each side.
    membership : array-like of shape (n,)
        1 for the records that the victim was trained on, 0 for others.
    n_permutations : int, default=1999
        Number of permutations. Fewer are drawn if ten of them reach the statistic before.
    random_state : int, RandomState instance or None, default=None
        Controls the sample and the permutations. Pass an int for reproducible results.

    Returns
    -------
    comparison : FormatComparison

    Raises
    ------
    ValueError
        If membership does not hold 0 or 1 for each record and both of them, the records are
        sequences of tokens, cells hold lists, or a parameter is out of range.
    TypeError
        If records are missing.

    See Also
    --------
    blind_baseline : Looks for a difference in the values themselves.

    Notes
    -----
    The cost is bounded. Of a table with more than 100 columns, 100 are drawn at random, and fewer
    if there are more than a million values. Arrays of more than two dimensions, such as images, and
    sparse matrices are described over all of their values together, not by column: of images, the
    same random positions are read, and of sparse matrices only the stored values. Texts are looked
    at up to their 200th character. Columns of booleans are only compared in what is missing.

    The position of a record in the table is not a feature. Differences that are visible only in
    the words of a text, in several columns at once, or in columns that were not drawn, are missed.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia import Records
    >>> from skmia.report import compare_formats
    >>> rng = np.random.default_rng(0)
    >>> X, membership = rng.lognormal(size=(400, 3)).round(4), np.arange(400) % 2
    >>> compare_formats(Records(X), membership, random_state=0).is_warning
    False
    >>> X[membership == 1, 2] = X[membership == 1, 2].round(2)  # another export
    >>> compare_formats(Records(X), membership, random_state=0).text
    'column 2 has at most 2 decimals in 100% of the members and 1% of the non-members'
    """
    membership = check_sides(records, membership, labels=False, targets=True)
    check_count(n_permutations, "n_permutations")
    if hold_tokens(records):
        raise ValueError(_TOKENS)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    rows = np.arange(min(len(records), _MOST_RECORDS))
    if len(records) > _MOST_RECORDS:
        rows = np.sort(rng.choice(len(records), _MOST_RECORDS, replace=False))
    people = records.fields.get("group_by")
    people = None if people is None else people[rows]
    kept = pick_draws(records.fingerprint[rows], membership[rows], people)
    rows, people = rows[kept], None if people is None else people[kept]
    table = _FormatTable(*_list_format_features(records, rows, people, rng))
    units = make_units(membership[rows], people)
    return _compare_formats(table, membership[rows], units, n_permutations, rng)


_TOKENS = "The records are sequences of tokens, whose form does not vary."


class _FormatFeature(NamedTuple):
    """A feature of the form of the values of a column."""

    column: str
    kind: str
    values: np.ndarray  # of shape (n,)


class _FormatTable:
    """Standardized features of records, and their sums over columns."""

    def __init__(self, features, n_records):
        features = [one for one in features if one.values.min() < one.values.max()]
        # Shares first: of two equal differences they are easier to understand.
        features.sort(key=lambda one: one.kind not in _SHARES)
        groups = {}
        for place, one in enumerate(features):
            groups.setdefault(one.kind, []).append(place)
        self.sums = {kind: places for kind, places in groups.items() if len(places) > 1}
        self.features = features
        self.values = np.empty((n_records, len(features) + len(self.sums)), dtype=np.float32)
        for place, one in enumerate(features):
            self.values[:, place] = _standardize(one.values)
        for place, columns in enumerate(self.sums.values(), start=len(features)):
            self.values[:, place] = _standardize(self.values[:, columns].sum(axis=1))

    def describe(self, membership, differences):
        """Return features with their means on both sides, the largest difference first."""
        rows = [(one.column, one.kind, *_average_sides(one, membership)) for one in self.features]
        for kind, places in self.sums.items():
            means = np.mean([rows[place][2:] for place in places], axis=0)
            rows.append((_ANY_COLUMN, kind, *means))
        order = np.argsort(-np.abs(np.round(differences, 3)), kind="stable")
        names = ("column", "feature", "members", "nonmembers")
        columns = {name: [rows[row][place] for row in order] for place, name in enumerate(names)}
        return pd.DataFrame(columns | {"difference": differences[order]})


_ANY_COLUMN, _ANY_VALUE = "the average column", "the average value"


def _standardize(values):
    values = values - values.mean(dtype=np.float64)
    scale = values.std(dtype=np.float64)
    return values / scale if scale > 0 else values


def _average_sides(one, membership):
    return tuple(float(one.values[side].mean()) for side in (membership, ~membership))


def _compare_formats(table, membership, units, n_permutations, rng):
    n_features = table.values.shape[1]
    if not n_features:
        return FormatComparison(1.0, 0.0, None, table.describe(membership, np.zeros(0)), 0)
    sums, rows = table.values, np.arange(len(membership))
    if not np.array_equal(units.places, rows):
        entries = np.ones(len(rows), np.float32), (units.places, rows)
        sums = sparse.csr_array(entries, shape=(len(units.is_member), len(rows))) @ sums
    sizes = np.bincount(units.places)

    def measure(labels):
        n_members = labels @ sizes
        pairs = np.maximum(n_members * (len(membership) - n_members), 1)
        found = labels.astype(np.float32) @ sums
        return found * (len(membership) / pairs)[:, None].astype(np.float32)

    differences = measure(units.is_member[None])[0]
    statistic = float(np.abs(differences).max())
    # Sums of the same numbers in another order differ by rounding.
    reached = _draw_permutations(measure, statistic * (1 - 1e-4), units, n_permutations, rng)
    places = np.flatnonzero(reached)[:_MANY]
    done = len(places) == _MANY
    pvalue = _MANY / (places[-1] + 1) if done else (len(places) + 1) / (n_permutations + 1)
    features = table.describe(membership, differences)
    return FormatComparison(
        float(pvalue), statistic, _tell_largest_difference(features.iloc[0]), features, len(reached)
    )


def _draw_permutations(measure, statistic, units, n_permutations, rng):
    """Draw permutations and return which of them reach the statistic, until many do.

    The p-value of Besag and Clifford (1991), of permutations that stop, is at most the level
    exactly if that of all of them is.
    """
    reached = np.zeros(0, dtype=bool)
    while len(reached) < n_permutations and reached.sum() < _MANY:
        n_wanted = min(_N_TOGETHER, n_permutations - len(reached))
        blocks = draw_labelings(units, n_wanted, rng).blocks
        next(blocks)  # the true one
        found = [np.abs(measure(labels)).max(axis=1) >= statistic for labels in blocks]
        reached = np.concatenate([reached, *found])
    return reached


def _tell_largest_difference(row):
    """Return the largest difference in words."""
    kind, means = row["feature"], (row["members"], row["nonmembers"])
    if kind in _SHARES:
        members, others = (f"{100 * mean:.3g}%" for mean in means)
        return (
            f"{row['column']} {_SHARES[kind]} in {members} of the members and {others} of the "
            "non-members"
        )
    means = [np.exp(mean) - _LOGARITHMS[kind] if kind in _LOGARITHMS else mean for mean in means]
    return f"{row['column']} {_MEANS[kind].format(*means)}"


# Columns of records


def _list_format_features(records, rows, people, rng):
    """Return the features of the records at some rows, and the number of these records."""
    X = in_memory(take_rows(records.X, rows))
    units = None if people is None else pd.factorize(as_series(people))[0]
    if sparse.issparse(X):
        features = _describe_stored(X)
    elif not is_frame(X) and X.ndim > 2:
        features = _describe_array(to_numpy(X) if is_tensor(X) else X, rng)
    else:
        features = _list_column_formats(X, units, rng)
    y = None if records.y is None else records.y[rows]
    if y is not None and y.dtype.kind == "f":
        columns = y.reshape(len(rows), -1).T
        for number, column in enumerate(columns):
            name = "the target" if len(columns) == 1 else f"target {number}"
            features += _name_column_features(name, _describe_digits(column[:, None], units))
    return features, len(rows)


def _name_column_features(column, found):
    return [_FormatFeature(column, kind, values[:, 0]) for kind, values in found]


def _describe_stored(X):
    """Return means over the stored values of each record of a sparse matrix."""
    X = sparse.csr_array(X)
    records = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    step = max(1, -(-len(X.data) // _MOST_VALUES))
    records, values = records[::step], X.data[::step]
    counts = np.maximum(np.bincount(records, minlength=X.shape[0]), 1)
    return [
        _FormatFeature(_ANY_VALUE, kind, np.bincount(records, found[:, 0], X.shape[0]) / counts)
        for kind, found in (_describe_digits(values[:, None]) if len(values) else ())
    ]


def _describe_array(X, rng):
    """Return means over some positions of an array of more than two dimensions."""
    X = X.reshape(len(X), int(np.prod(X.shape[1:])))
    X = X[:, _choose_columns(X, X.shape[1], rng)]
    if X.size == 0 or X.dtype.kind not in "iuf":
        return []
    shape = X.shape
    return [
        _FormatFeature(_ANY_VALUE, kind, found.reshape(shape).mean(axis=1))
        for kind, found in _describe_digits(X.reshape(-1, 1))
    ]


def _choose_columns(X, most, rng):
    """Return the positions of columns, all of them if they are few enough."""
    n_columns = X.shape[1]
    most = min(most, max(1, _MOST_VALUES // max(1, len(X))))
    if n_columns <= most:
        return np.arange(n_columns)
    return np.sort(rng.choice(n_columns, most, replace=False))


def _list_column_formats(X, units, rng):
    X = X if is_frame(X) or X.ndim > 1 else X.reshape(-1, 1)
    chosen = _choose_columns(X, _MOST_COLUMNS, rng)
    names = list(X.columns[chosen]) if is_frame(X) else chosen.tolist()
    X = X.iloc[:, chosen] if is_frame(X) else X[:, chosen]
    columns = split_columns(X)
    if columns is None:
        X = to_numpy(X) if is_tensor(X) else X
        columns = [X[:, j] for j in range(X.shape[1])]
    features, numbers = [], {}
    for name, column in zip(names, columns, strict=True):
        name = f"column {visible(str(name))}"
        values, found = _read_column_values(column, units)
        features += _name_column_features(name, found)
        if values is not None:
            numbers.setdefault(values.dtype, []).append((name, values))
    for group in numbers.values():
        block = np.stack([values for _, values in group], axis=1)
        for kind, found in _describe_digits(block, units):
            features += [
                _FormatFeature(name, kind, found[:, j]) for j, (name, _) in enumerate(group)
            ]
    return features


def _read_column_values(column, units):
    """Return the values of a column of numbers, or the features of another one."""
    is_category = isinstance(getattr(column, "dtype", None), pd.CategoricalDtype)
    column = as_series(column.astype(object) if is_category else column, infers=True)
    if column.dtype.kind in "mM":
        return None, list(_describe_times(column, units))
    if pd.api.types.is_bool_dtype(column.dtype):
        return None, [("missing", column.isna().to_numpy()[:, None])]
    is_number = pd.api.types.is_numeric_dtype(column.dtype) and column.dtype.kind != "c"
    if not is_number:
        return None, list(_describe_texts(column, units))
    if column.dtype.kind in "iuf" and isinstance(column.dtype, np.dtype):
        return column.to_numpy(), []
    return column.to_numpy(dtype=np.float64, na_value=np.nan), []


# Features of the form of values: pairs of a kind and an array of the shape of the values


def _describe_digits(values, units=None):
    """Describe numbers of shape (n, d)."""
    yield "frequency", np.column_stack([_log_value_counts(column, units) for column in values.T])
    is_float = values.dtype.kind == "f"
    known = np.isfinite(values) if is_float else np.ones(values.shape, dtype=bool)
    numbers = np.where(known, values, 0)
    if is_float:
        yield "missing", np.isnan(values)
        yield "infinite", np.isinf(values)
        yield from _describe_decimals(numbers, known)
        yield "negative zero", known & (numbers == 0) & np.signbit(numbers)
    for divisor in (5, 10):
        yield f"multiple of {divisor}", known & (numbers % divisor == 0)
    yield "zero", known & (numbers == 0)
    for code in _CODES:
        yield f"equal to {code}", known & (numbers == code)


def _describe_decimals(numbers, known):
    sizes = np.abs(numbers).astype(np.float64)
    with np.errstate(over="ignore"):  # what is too large for half precision is not equal to it
        for name, kind in (("single", np.float32), ("half", np.float16)):
            yield f"{name} precision", known & (numbers.astype(kind) == numbers)
    precision = max(np.finfo(numbers.dtype).eps, np.finfo(np.float64).eps)
    decimals, last, nearest = (
        one.reshape(sizes.shape)
        for one in _count_written_decimals(sizes.ravel(), _NEAR * precision)
    )
    is_exact = nearest.astype(numbers.dtype) == np.abs(numbers)
    yield "rounding error", known & (decimals <= _MOST_DECIMALS) & ~is_exact
    yield "decimals", np.where(known, decimals, 0).astype(np.float32)
    for k in range(9):
        yield f"at most {k} decimals", known & (decimals <= k)
    yield "last digit 5", known & (last == 5)


def _count_written_decimals(sizes, tolerance):
    """Return the number of decimals, last of the written digits, and the number that was written.

    Beyond 11 decimals the first two are 12 and -1.
    """
    decimals = np.full(len(sizes), _MOST_DECIMALS + 1, dtype=np.int8)
    last = np.full(len(sizes), -1, dtype=np.int8)
    nearest = sizes.copy()
    for some in gen_batches(len(sizes), _N_CACHED):
        waiting, left = np.arange(some.start, some.stop), sizes[some]
        for k in range(_MOST_DECIMALS + 1):
            with np.errstate(over="ignore", invalid="ignore"):
                written = np.rint(left * 10.0**k)
                number = written / 10.0**k
                found = np.abs(number - left) <= tolerance * left
            if found.any():
                decimals[waiting[found]] = k
                last[waiting[found]] = np.fmod(written[found], 10)
                nearest[waiting[found]] = number[found]
                waiting, left = waiting[~found], left[~found]
    return decimals, last, nearest


def _log_value_counts(column, units):
    """Logarithm of the number of records, or of people, that have the value of each record."""
    codes = np.unique(column, return_inverse=True)[1]
    return _count_codes(codes, units)


def _count_codes(codes, units):
    if units is not None:
        pairs = np.unique(codes.astype(np.int64) * (units.max() + 1) + units)
        return np.log(np.bincount(pairs // (units.max() + 1)))[codes].astype(np.float32)
    return np.log(np.bincount(codes))[codes].astype(np.float32)


def _describe_times(column, units):
    missing = column.isna().to_numpy()
    if getattr(column.dt, "tz", None) is not None:
        column = column.dt.tz_localize(None)
    ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.dt.unit]
    times = np.zeros(len(column), dtype=np.int64)
    times[~missing] = column[~missing].astype(np.int64)
    yield "missing", missing[:, None]
    yield "frequency", _log_value_counts(np.where(missing, times.min() - 1, times), units)[:, None]
    for name, seconds in _SECONDS.items():
        step = round(seconds * ticks)
        if step > 1:
            yield f"whole {name}", (~missing & (times % step == 0))[:, None]


def _describe_texts(column, units):
    """Describe texts, or objects of any kind as texts, by their distinct values."""
    codes, distinct = code_cells(column.astype(object))
    missing = np.array([_is_missing_cell(cell) for cell in distinct], dtype=bool)
    is_text = np.array([isinstance(cell, str) for cell in distinct], dtype=bool)
    texts = ["" if none else str(cell) for cell, none in zip(distinct, missing, strict=True)]
    found = {
        "missing": missing,
        "no text": ~missing & ~is_text,
        "word for missing": [text.strip().lower() in _WORDS for text in texts] & ~missing,
        "first capital": [text.strip()[:1].isupper() for text in texts],
        "space at an end": [text != text.strip() for text in texts],
        "double space": ["  " in text for text in texts],
        "not ASCII": [not text.isascii() for text in texts],
        "length": np.log1p([len(text) for text in texts]),
    }
    for kind, values in zip(("capitals", "digits", "marks"), _count_characters(texts), strict=True):
        found[kind] = values
    for kind, values in found.items():
        yield kind, np.asarray(values)[codes][:, None]
    yield "frequency", _count_codes(codes, units)[:, None]
    order = _rank_numbers(texts, codes)
    if order is not None:
        yield "order", order[:, None]


def _is_missing_cell(cell):
    return cell is None or cell is pd.NA or cell is pd.NaT or cell != cell


def _count_characters(texts):
    """Return capitals, digits and marks per character of each text."""
    counts = np.zeros((3, len(texts)), dtype=np.float32)
    for place, text in enumerate(texts):
        text = text[:_MOST_CHARACTERS]
        marks = (not (one.isalnum() or one.isspace()) for one in text)
        numbers = sum(map(str.isupper, text)), sum(map(str.isdigit, text)), sum(marks)
        counts[:, place] = np.array(numbers) / max(1, len(text))
    return counts


def _rank_numbers(texts, codes):
    """Rank from 0 to 1 of the number that the digits of a text make; None if few texts have one."""
    digits = [re.sub(r"[^0-9]", "", text[:_MOST_CHARACTERS])[:18] for text in texts]
    numbers = np.array([float(one) if one else np.nan for one in digits])[codes]
    known = np.isfinite(numbers)
    if 2 * known.sum() <= len(numbers):
        return None
    ranks = np.full(len(numbers), 0.5, dtype=np.float32)
    ranks[known] = (rankdata(numbers[known]) - 0.5) / known.sum()
    return ranks


class FormatsCheck(BaseCheck):
    """Whether the values of members and of non-members are written in one way."""

    name = part = "formats"
    record_seconds, cell_seconds, copies_table = 1e-6, 1e-7, True
    most_read = most_held = _MOST_RECORDS
    role = DIFFERENCE
    presence = SOMETIMES
    passed = "Both sides are written in the same way"
    warned = "The sides are written in different ways"
    difference = "their values are written in different ways"
    remedy = (
        "Attacks that compare exact values find this difference. Export both sides in the same way "
        "and run the audit again."
    )
    step = NextStep(
        "Export both sides in the same way.",
        "The same decimals, spelling and missing values, and audit again.",
    )

    def ask(self, case, run, findings):
        if not case.records.has_features:
            return self.answer(NOT_RUN, WITHOUT_FEATURES)
        if hold_tokens(case.records):
            return self.answer(NOT_RUN, _TOKENS)
        seed = case.seeds["checks"]
        found = compare_formats(case.records, case.membership, random_state=seed)
        if found.text is None:
            return self.answer(PASSED, "No feature of how values are written varies.", found)
        p = format_pvalue(found.pvalue, 1 / (1 + _N_PERMUTATIONS))
        if found.is_warning:
            text = f"Members and non-members were written in different ways: {found.text} ({p})."
            return self.answer(WARNING, text, found)
        text = (
            f"Members and non-members are written alike: the largest of {len(found.features):,} "
            f"differences is that {found.text} ({p}; a warning is given at {FORMATS_ERROR:g} or "
            "below)."
        )
        return self.answer(PASSED, text, found)
