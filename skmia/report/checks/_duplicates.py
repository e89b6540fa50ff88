"""Non-members that are copies, or near copies, of members."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse

from ..._core.containers import find_rows, in_memory, is_frame, is_tensor, take_rows, to_numpy
from ..._core.features import code_cells, split_columns
from ..._core.hashing import mark_shared_prints
from ..._core.numbers import SMALLEST, as_series, check_number, to_array
from ..._core.pvalues import format_pvalue, is_significant
from ..._core.randomness import check_random_state
from ..._core.records import Records
from ..._core.text import count_nouns, inflect_word
from ..._core.types import ArrayLike, Seed
from ..._core.validation import check_sides
from ...metrics import Interval, resolvable_fpr, share_interval
from .._measure import get_people
from .._permutations import count_permutations
from .._words import format_rate
from ._base import ALWAYS, BLIND, NOT_RUN, PASSED, WARNING, WITHOUT_FEATURES, BaseCheck, NextStep
from ._permutation import permutation_test

# A categorical column with fewer categories than this is encoded in a dense array.
_FEW_CATEGORIES = 64
_BLOCK_ELEMENTS = 1 << 20


class RowPoints:
    """Rows as points: each column divided by its standard deviation.

    A point has coordinates in a dense array and others in a sparse one. They are computed for the
    rows that are requested: for all rows, they would be several times as large as X.
    """

    def __init__(self, X, known=None):
        self._X = X
        table = in_memory(X if known is None else take_rows(X, known))
        self._sparse = _SparseScale(table) if sparse.issparse(table) else None
        columns = split_columns(table)
        kinds = [] if columns is None else enumerate(map(_CodedColumn, columns))
        self._kinds = [(j, kind) for j, kind in kinds if not kind.is_constant]
        self._n_codes = [kind.n_codes for _, kind in self._kinds if kind.n_codes]
        read = self._read(table)
        one_unit = not sparse.issparse(table) and not is_frame(table) and table.ndim > 2
        self._numbers = _StandardizedNumbers(read[0], one_unit)
        self._all = read if known is None else None

    def _read(self, table):
        """Return numbers in an array, the codes of other columns, and what is sparse."""
        if self._sparse is not None:
            return np.empty((table.shape[0], 0)), [], self._sparse.apply(table)
        columns = split_columns(table)
        if columns is None:
            table = to_numpy(table) if is_tensor(table) else table
            return table.reshape(len(table), int(np.prod(table.shape[1:]))), [], None
        read = [kind.read(columns[j]) for j, kind in self._kinds]
        numbers, codes = ([one for one in read if one.dtype.kind == kind] for kind in "fi")
        return np.column_stack(numbers or [np.empty((len(table), 0))]), codes, None

    def take(self, rows, dtype):
        """Compute the coordinates of some rows.

        Return dense of shape (k, d); wide of shape (k, e).
        """
        if self._all is None:
            numbers, codes, wide = self._read(in_memory(take_rows(self._X, rows)))
        else:
            numbers, codes, wide = self._all
            numbers, codes = numbers[rows], [column[rows] for column in codes]
            wide = None if wide is None else wide[rows]
        dense, further = [self._numbers.scale(numbers, dtype)], [] if wide is None else [wide]
        for column, n_codes in zip(codes, self._n_codes, strict=True):
            if n_codes <= _FEW_CATEGORIES:
                dense.append((column[:, None] == np.arange(n_codes)) * np.sqrt(dtype(0.5)))
            else:
                further.append(_one_hot(column, n_codes))
        further = [matrix.astype(dtype) for matrix in further]
        return np.hstack(dense), sparse.hstack(further, format="csr") if further else None


class _StandardizedNumbers:
    """Columns of numbers, centered and divided by their standard deviation."""

    def __init__(self, values, one_unit):
        found = np.empty((4, values.shape[1]))
        step = max(1, _BLOCK_ELEMENTS // len(values))
        for start in range(0, values.shape[1], step):
            part = values[:, start : start + step].astype(np.float64)
            found[:, start : start + step] = _summarize_columns(part)
        self._median, self._mean, self._scale, n_missing = found
        self._has_missing = np.flatnonzero((n_missing > 0) & (n_missing < len(values)))
        varies = self._scale > 0
        if one_unit and varies.any():
            largest = self._scale.max()
            self._scale[varies] = largest * np.sqrt(np.mean((self._scale / largest) ** 2))
        self._kept = slice(None) if varies.all() else np.flatnonzero(varies)

    def scale(self, values, dtype):
        values = values.astype(np.float64)
        missing = ~np.isfinite(values)
        if missing.any():
            values = np.where(missing, self._median, values)
        kept = self._kept
        # Division comes first, because a difference of very large numbers could overflow.
        values = values[:, kept] / self._scale[kept] - self._mean[kept] / self._scale[kept]
        return np.hstack([values, missing[:, self._has_missing]]).astype(dtype)


def _summarize_columns(values):
    """Return the median; mean and standard deviation after imputation; number of missing values."""
    missing = ~np.isfinite(values)
    medians = np.zeros(values.shape[1])
    for j in np.flatnonzero(missing.any(axis=0) & ~missing.all(axis=0)):
        medians[j] = np.median(values[~missing[:, j], j])
    values = np.where(missing, medians, values)
    largest = np.abs(values).max(axis=0)
    largest[largest == 0] = 1
    values /= largest  # because squares of very large numbers would overflow
    scale = np.where(values.min(axis=0) < values.max(axis=0), values.std(axis=0), 0)
    return medians, values.mean(axis=0) * largest, scale * largest, missing.sum(axis=0)


class _SparseScale:
    """Divides a sparse matrix by standard deviations without centering, so that zeros stay zero."""

    def __init__(self, X):
        X, missing = _as_finite(X)
        n_rows, n_columns = X.shape
        self._largest = np.zeros(n_columns)
        np.maximum.at(self._largest, X.indices, np.abs(X.data))
        self._largest[self._largest == 0] = 1
        X.data /= self._largest[X.indices]
        mean = np.bincount(X.indices, X.data, n_columns) / n_rows
        square = np.bincount(X.indices, (X.data - mean[X.indices]) ** 2, n_columns)
        n_zeros = n_rows - np.bincount(X.indices, minlength=n_columns)
        scale = np.sqrt((square + n_zeros * mean**2) / n_rows)
        varies = X.max(axis=0).toarray().ravel() > X.min(axis=0).toarray().ravel()
        self._factor = np.where(varies, 1 / np.where(varies, scale, 1), 0)
        self._has_missing = missing.any()

    def apply(self, X):
        X, missing = _as_finite(X)
        absent = sparse.csr_array((missing.astype(np.float64), X.indices, X.indptr), shape=X.shape)
        X.data /= self._largest[X.indices]
        X.data *= self._factor[X.indices]
        return sparse.hstack([X, absent], format="csr") if self._has_missing else X


def _as_finite(X):
    """Return a copy with 0 for values that are not finite, and where these were."""
    X = sparse.csr_array(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    missing = ~np.isfinite(X.data)
    X.data[missing] = 0
    return X, missing


def _one_hot(codes, n_codes):
    ones = np.full(len(codes), np.sqrt(0.5))
    entries = ones, codes, np.arange(len(codes) + 1)
    return sparse.csr_array(entries, shape=(len(codes), n_codes))


class _CodedColumn:
    """Reads numbers and times as floats and anything else as codes, with one for missing values."""

    def __init__(self, column):
        column = as_series(column, infers=True)
        self._is_time = column.dtype.kind in "mM"
        is_number = pd.api.types.is_numeric_dtype(column.dtype) and column.dtype.kind != "c"
        # No codes: numbers, times, and a column of one category, which does not count.
        self._known, self.n_codes, self.is_constant = None, 0, False
        if not self._is_time and not is_number:
            distinct = np.asarray(code_cells(column.astype(object))[1], dtype=object)
            self.is_constant = len(distinct) < 2
            self._known = pd.Index(distinct[~pd.isna(distinct)], dtype=object, tupleize_cols=False)
            # Two more: missing values, and what was not there when the categories were learned.
            self.n_codes = 0 if self.is_constant else len(self._known) + 2

    def read(self, column):
        if self._known is not None:
            cells = as_series(column).astype(object)
            codes = self._known.get_indexer(cells).astype(np.int64)
            codes[codes < 0] = self.n_codes - 1
            codes[cells.isna().to_numpy()] = self.n_codes - 2
            return codes
        column = as_series(column, infers=True)
        if self._is_time:
            times = np.full(len(column), np.nan)
            times[column.notna()] = column.dropna().astype(np.int64)
            return times
        if not pd.api.types.is_numeric_dtype(column.dtype):
            column = pd.to_numeric(column, errors="coerce")
        return column.to_numpy(dtype=np.float64, na_value=np.nan)


_MOST_PAIRS = 100
_BLOCK_QUERIES = 1 << 22

# Of more records, the scales and categories of columns are learned from a sample. They are only
# units of distances, and are known to less than a percent.
_MOST_KNOWN = 100_000
_MOST_KNOWN_ELEMENTS = 1 << 24

# The search compares each query with each member. An audit of very many members has fewer queries,
# which show a share of copies of a tenth to a few percent.
_MOST_COMPARED = 2_500_000_000
_QUERIES = 500, 5000

# In float32 the error of a squared distance is about 1e-6 of the squared lengths of the vectors.
# Distances below this share of the lengths are therefore computed again in float64.
_RESOLVED = 1e-2

# Share of copies above which the reader is warned. The AUC moves by at most half of this share,
# tables of few distinct values have copies by nature, and 7% are near by chance in one dimension.
MANY = 0.1

# Share of each side without a copy, from which on the attacks can be judged on these records alone:
# the standard error of an AUC is then at most twice that of all records. So many records are enough
# in any table: they show the least AUC, or one below, that an audit of few records shows.
_ENOUGH, _ENOUGH_RECORDS = 0.25, 100

# Random parts of the records that those without a copy are compared with, and the share of parts
# that must reach their numbers so that copies explain nothing.
_N_PARTS, _USUAL = 399, 0.1


@dataclass(frozen=True)
class Duplicates:
    """Copies of members among the non-members, as returned by :func:`find_duplicates`.

    Attributes
    ----------
    n_exact : int
        Number of records, on either side, with an exact copy (x, y) on the other side.
    n_queried : int
        Number of non-members without an exact copy whose nearest member was searched for.
    n_near : int
        Number of these that lie closer to their nearest member than `tolerance` times the typical
        distance.
    share_near : Interval
        ``n_near / n_queried`` with its Clopper-Pearson interval, as fractions; by person if the
        records have a field ``group_by``. The estimate is NaN if nothing was queried.
    typical_distance : float
        Median distance of a queried non-member from the nearest member; NaN if nothing was queried.
    tolerance : float
        The requested tolerance.
    pairs : DataFrame
        At most 100 pairs, the closest first: positions ``nonmember`` and ``member`` in the records,
        their ``distance``, and ``relative``, the distance divided by the typical distance (NaN if
        the typical distance is 0).
    n_equal : int
        Number of the `n_near` non-members that have the features of a member, with another label.
    """

    n_exact: int
    n_queried: int
    n_near: int
    share_near: Interval
    typical_distance: float
    tolerance: float
    pairs: pd.DataFrame
    n_equal: int = 0


def find_duplicates(
    records: Records,
    membership: ArrayLike,
    *,
    tolerance: float = 0.1,
    max_queries: int = 5000,
    confidence_level: float = 0.95,
    random_state: Seed = None,
) -> Duplicates:
    """Find non-members that are copies, or nearly copies, of members.

    A non-member that is a copy of a member is not a real non-member: an attack that identifies it
    is counted as wrong. Copies on both sides make the leakage look smaller than it is, and show
    that the two sides were not kept apart.

    Distances are Euclidean and use only the features, so a copy with another label is at
    distance 0. In a table, each column of numbers (including booleans and times) is divided by its
    standard deviation, and two different categories (text, objects) are at distance 1. Each value
    of an array without columns, such as one text per record, is a category. A missing or infinite
    value is replaced by the median of its column (0 in a sparse matrix), and whether it was missing
    counts as a category. Constant columns do not count. In an array or tensor of more than two
    dimensions, such as images, all numbers have the same unit, so columns are not scaled
    separately. Records are exact copies if all their features and labels are equal, whatever the
    tolerance.

    Parameters
    ----------
    records : Records of n records
        Records with or without task labels.
    membership : array-like of shape (n,)
        1 for the records that the victim was trained on, 0 for others.
    tolerance : float, default=0.1
        Largest distance that counts as near, as a fraction in (0, 1) of the typical distance of a
        non-member from the nearest member.
    max_queries : int, default=5000
        Maximum number of non-members, drawn at random, whose nearest member is searched for. Time
        and memory grow with it.
    confidence_level : float, default=0.95
        Confidence level of the interval, in (0, 1).
    random_state : int, RandomState instance or None, default=None
        Controls which non-members are drawn if there are more than `max_queries`. Pass an int for
        reproducible results.

    Returns
    -------
    duplicates : Duplicates
        Numbers of copies, the share of near copies with an interval, and the closest pairs.

    Raises
    ------
    TypeError, ValueError
        If records are missing, membership does not hold 0 or 1 for each of them and both of them,
        or a parameter is out of range.

    See Also
    --------
    blind_baseline : Checks whether the two sides come from different populations.

    Notes
    -----
    Some non-members are near a member by chance. In d dimensions with a constant density, their
    share is ``1 - 2 ** -(tolerance ** d)``, or about ``ln 2 * tolerance ** d``: 7% in one dimension
    and 0.7% in two for a tolerance of 0.1, and almost none in more dimensions. The dimension is the
    intrinsic dimension of the data, not the number of columns; columns of few distinct values act
    like fewer dimensions.

    If at least half of the queried records lie at distance 0 from a member, as in tables of a few
    categories, the typical distance is 0 and near copies cannot be distinguished: `n_near` is 0. In
    general, a typical distance that is itself a distance between copies hides them.

    X is read in blocks. If there are more than 100,000 records, the standard deviations, medians
    and categories of columns are those of the queried records and of a random sample of at most
    100,000.

    A column of noise or an identifier keeps near copies apart; leave out columns that are not
    features.

    The interval assumes that the queried records are independent. With a field ``group_by``, it is
    computed for the number of independent records that would vary as much as these people do.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia import Records
    >>> from skmia.report import find_duplicates
    >>> rng = np.random.default_rng(0)
    >>> members, others = rng.normal(size=(300, 8)), rng.normal(size=(200, 8))
    >>> others[:10] = members[:10] + 0.001
    >>> records = Records(np.vstack([members, others]))
    >>> found = find_duplicates(records, np.repeat([1, 0], [300, 200]))
    >>> found.n_exact, found.n_near, found.share_near.estimate
    (0, 10, 0.05)
    >>> closest = found.pairs.head(10)
    >>> (closest["nonmember"] - closest["member"]).unique()
    array([300])
    """
    membership = check_sides(records, membership, labels=False, targets=True)
    check_number(tolerance, "tolerance", "a fraction in (0, 1)", SMALLEST, np.nextafter(1, 0))
    check_number(max_queries, "max_queries", "a whole number from 1 on", 1, whole=True)
    copied = mark_shared_prints(records.fingerprint, membership)
    queried = find_rows(~membership & ~copied)
    known = None
    if len(queried) > max_queries or len(records) > _MOST_KNOWN:
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        if len(queried) > max_queries:
            queried = np.sort(rng.choice(queried, max_queries, replace=False))
        if len(records) > _MOST_KNOWN:
            known = _choose_known(records.X, queried, rng)
    points = RowPoints(records.X, known)
    nearest, distances = _find_nearest(points, queried, find_rows(membership))
    typical = float(np.median(distances)) if len(queried) else np.nan
    near = distances < tolerance * typical
    people = records.fields.get("group_by")
    people = None if people is None else to_array(people, "group_by")[queried]
    return Duplicates(
        n_exact=int(copied.sum()),
        n_queried=len(queried),
        n_near=int(near.sum()),
        share_near=share_interval(near, people, confidence_level=confidence_level),
        typical_distance=typical,
        tolerance=float(tolerance),
        pairs=_list_copied_pairs(queried, nearest, distances, typical),
        n_equal=int((near & (distances == 0)).sum()),
    )


def _choose_known(X, queried, rng):
    """Return rows from which the scales of columns are learned, among them the queries."""
    n_wanted = _MOST_KNOWN_ELEMENTS // max(1, int(np.prod(X.shape[1:])))
    n_wanted = min(_MOST_KNOWN, max(n_wanted, _QUERIES[1]))
    drawn = rng.choice(X.shape[0], n_wanted, replace=False, shuffle=False)
    # A category that only queries have would otherwise be the same as other unknown ones.
    return np.union1d(drawn, queried)


def _list_copied_pairs(queried, nearest, distances, typical):
    order = np.argsort(distances, kind="stable")[:_MOST_PAIRS]
    distances = distances[order]
    relative = distances / typical if typical > 0 else np.full(len(order), np.nan)
    pairs = {"nonmember": queried[order], "member": nearest[order]}
    return pd.DataFrame(pairs | {"distance": distances, "relative": relative})


def _find_nearest(points, queried, members):
    """Return the nearest member of each queried row, and its distance.

    Matrix products in float32 find it fast. A distance that is small compared with the lengths of
    the two vectors is inaccurate, and small distances matter most, so these rows are searched again
    in float64.
    """
    nearest, square, lengths = _search(points, queried, members, np.float32)
    unresolved = np.flatnonzero(square < _RESOLVED * lengths)
    nearest[unresolved] = _search(points, queried[unresolved], members, np.float64)[0]
    return nearest, _measure_distances(points, queried, nearest)


def _search(points, queried, members, dtype):
    """Return the nearest members by matrix products, with squared distances and squared lengths."""
    queries, wide_queries = points.take(queried, dtype)
    own = _square(queries, wide_queries)
    nearest = np.zeros(len(queried), dtype=np.intp)
    smallest = np.full(len(queried), np.inf, dtype=dtype)
    lengths = np.zeros(len(queried), dtype=dtype)
    rows = np.arange(len(queried))
    step = max(1, _BLOCK_QUERIES // max(1, len(queried), queries.shape[1]))
    for start in range(0, len(members) if len(queried) else 0, step):
        block = members[start : start + step]
        others, wide_others = points.take(block, dtype)
        theirs = _square(others, wide_others)
        gaps = queries @ others.T
        if wide_queries is not None:
            gaps += (wide_queries @ wide_others.T).toarray()
        gaps *= -2
        gaps += theirs
        best = gaps.argmin(axis=1)
        found = gaps[rows, best] + own
        closer = found < smallest
        nearest[closer] = block[best[closer]]
        smallest[closer] = found[closer]
        lengths[closer] = own[closer] + theirs[best[closer]]
    return nearest, smallest, lengths


def _square(dense, wide):
    square = np.einsum("ij,ij->i", dense, dense)
    return square if wide is None else square + np.asarray(wide.multiply(wide).sum(axis=1)).ravel()


def _measure_distances(points, queried, nearest):
    """Return distances as norms of differences, which are exactly 0 for equal records."""
    distances = np.empty(len(queried))
    for start in range(0, len(queried), 500):
        block = slice(start, start + 500)
        query, wide_query = points.take(queried[block], np.float64)
        member, wide_member = points.take(nearest[block], np.float64)
        wide = None if wide_query is None else wide_query - wide_member
        distances[block] = np.sqrt(_square(query - member, wide))
    return distances


class DuplicatesCheck(BaseCheck):
    """Whether copies on the other side of the split can hide a leak.

    An attack scores equal records alike, so copies on both sides move its AUC towards one half. A
    coarse table has such copies by chance. They hide nothing if the attacks find no leak among the
    records without a copy either, and enough records have none. These are the records whose
    features no other record has, on whatever side: which records they are does not depend on
    membership, so that a permutation test of them is valid. Near copies that are not equal cannot
    be left out in this way.
    """

    name = part = "duplicates"
    record_seconds, cell_seconds, record_numbers, copies_table = 5e-6, 1e-7, 20, True
    takes_sample = True
    role = BLIND
    presence = ALWAYS
    passed = "Few records are on both sides"
    warned = "Many records are on both sides"
    meaning = (
        "Many records have an exact or near copy on the other side, and an attack scores copies "
        "alike."
    )
    # Removed from one side alone, they would leave the rare rows there, which are told apart.
    step = NextStep(
        "Remove copies that are on both sides.",
        "From both sides: every row that has an equal one on the other side.",
    )

    def ask(self, case, run, findings):
        n_records = len(case.records)
        if not case.records.has_features:
            return self.answer(NOT_RUN, WITHOUT_FEATURES)
        n_queries = int(np.clip(_MOST_COMPARED // max(case.membership.sum(), 1), *_QUERIES))
        settings = {"max_queries": n_queries, "random_state": case.seeds["checks"]}
        found = find_duplicates(case.records, case.membership, **settings)
        drawn = " that were drawn at random" if found.n_queried == n_queries else ""
        text, near = "", 0.0
        if found.n_exact:
            text += (
                f"{found.n_exact:,} of {n_records:,} records "
                f"{inflect_word(found.n_exact, 'has', 'have')} an exact copy on the other side; an "
                "attack scores both copies alike. "
            )
        if found.n_queried:
            near = found.share_near.low
            text += (
                f"{found.n_near:,} of {found.n_queried:,} non-members{drawn} "
                f"({format_rate(*found.share_near)}) "
                f"{inflect_word(found.n_near, 'is a near duplicate', 'are near duplicates')} of a "
                "member, at least ten times closer than typical. "
            )
        if near <= MANY and found.n_exact <= MANY * n_records:
            return self.answer(PASSED, f"{text}A warning is given above {100 * MANY:g}%.", found)
        hides, why = _judge_rest(case, run)
        apart = near * (1 - found.n_equal / max(found.n_near, 1))
        return self.answer(WARNING if hides or apart > MANY else PASSED, text + why, found)


def _judge_rest(case, run):
    """Return whether the copies may hide a leak, given the records without a copy, and why."""
    prints = Records(case.records.X).fingerprint
    rest = ~pd.Series(prints).duplicated(keep=False).to_numpy()
    members = case.membership[rest]
    have = inflect_word(len(members), "has", "have")
    text = f"{count_nouns(len(members), 'record')} {have} features that no other record has"
    sides = (members.sum(), case.membership), ((~members).sum(), ~case.membership)
    if any(n_left < min(_ENOUGH * side.sum(), _ENOUGH_RECORDS) for n_left, side in sides):
        return True, f"{text}, which is too few to judge the attacks on them alone."
    scores, tested = dict(run.scores), dict(run.tested)
    if run.file_scores is not None:
        scores["file"], tested["file"] = run.file_scores, np.ones(len(rest), dtype=bool)
    people = get_people(case.records, case.membership)
    result = permutation_test(
        members,
        {name: values[rest] for name, values in scores.items()},
        max_fprs=[rate for rate in case.fprs if resolvable_fpr(int((~members).sum())) <= rate],
        judged={name: mask[rest] for name, mask in tested.items()},
        n_permutations=count_permutations(case.level),
        group_by=None if people is None else to_array(people, "group_by")[rest],
        random_state=case.seeds["checks"],
    )
    p = format_pvalue(2 * result.pvalue, 2 / (1 + result.n_permutations))
    tail = (1 - case.level) / 2
    if not is_significant(result.pvalue, tail):
        return False, f"{text}, and the attacks find no leakage among them ({p})."
    found = result.frame[is_significant(result.frame["pvalue_adjusted"], tail)]
    text += f", and the attacks find members among them ({p})"
    parts = ComparedParts(rest, case.membership, case.seeds["checks"])
    reached = min(
        parts.compare(scores[row["attack"]], tested[row["attack"]], row["metric"], row["max_fpr"])
        for row in found.to_dict("records")
    )
    if reached > _USUAL:
        text += ", as many as among other records"
        return False, f"{text}: {format_pvalue(reached, 1 / (1 + _N_PARTS))} for more."
    return True, f"{text}."


class ComparedParts:
    """Records without a copy beside random parts of all records, with as many of each side.

    If copies hide a leak, the attacks are stronger where no record has a copy. If they are as
    strong on any other part, a number of all records is no lower for the copies.
    """

    def __init__(self, rest, membership, seed):
        self._membership, rng = membership, check_random_state(seed)
        sides = [np.flatnonzero(membership == side) for side in (True, False)]
        counts = [int(rest[side].sum()) for side in sides]
        self._parts = [rest]
        for _ in range(_N_PARTS):
            part = np.zeros(len(rest), dtype=bool)
            for side, n in zip(sides, counts, strict=True):
                part[rng.choice(side, n, replace=False)] = True
            self._parts.append(part)

    def compare(self, scores, judged, metric, max_fpr):
        """Return the share of parts whose AUC, or TPR at a rate, reaches that of the records."""
        rows = np.flatnonzero(judged)
        _, codes = np.unique(-scores[rows], return_inverse=True)  # the highest score first
        n_codes, inside = codes.max() + 1, self._membership[rows]
        numbers = []
        for part in self._parts:
            own = part[rows]
            caught, mistaken = (
                np.bincount(codes[own & (inside == side)], minlength=n_codes)
                for side in (True, False)
            )
            numbers.append(_measure_part(caught, mistaken, metric, max_fpr))
        return float(np.mean(np.asarray(numbers) >= numbers[0] - 1e-12))


def _measure_part(caught, mistaken, metric, max_fpr):
    """Return an AUC, or a TPR at a rate, of the numbers of members and others with each score."""
    below = np.cumsum(mistaken)
    if not below[-1] or not caught.sum():
        return 0.0
    if metric == "auc":
        return float(caught @ (below[-1] - below + 0.5 * mistaken) / caught.sum() / below[-1])
    allowed = below <= max_fpr * below[-1] + 1e-9
    return float(caught[allowed].sum() / caught.sum())
