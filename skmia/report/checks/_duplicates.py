"""Non-members that are copies, or near copies, of members."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..._core.numbers import SMALLEST, check_number, to_array
from ..._core.pvalues import format_pvalue
from ..._core.randomness import check_random_state
from ..._core.records import Records
from ..._core.types import Seed
from ..._core.validation import check_membership, check_records
from ...metrics import Interval, resolvable_fpr
from ...metrics._intervals import share_interval
from ..evidence import count_permutations
from ..groups import get_people
from ..text import format_rate
from ._permutation import permutation_test
from ._points import Points
from .base import NOT_RUN, PASSED, WARNING, WITHOUT_FEATURES, BaseCheck

_MOST_PAIRS = 100
_BLOCK_ELEMENTS = 1 << 22

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
_MANY = 0.1

# Share of each side without a copy, from which on the attacks can be judged on these records alone:
# the standard error of an AUC is then at most twice that of all records.
_ENOUGH = 0.25


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
    separately.

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
    check_records(records, labels=False)
    membership = check_membership(membership, len(records))
    _check_parameters(tolerance, max_queries)
    copied = _are_copied(records.fingerprint, membership)
    queried = np.flatnonzero(~membership & ~copied)
    known = None
    if len(queried) > max_queries or len(records) > _MOST_KNOWN:
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        if len(queried) > max_queries:
            queried = np.sort(rng.choice(queried, max_queries, replace=False))
        if len(records) > _MOST_KNOWN:
            known = _choose_known(records.X, queried, rng)
    points = Points(records.X, known)
    nearest, distances = _find_nearest(points, queried, np.flatnonzero(membership))
    typical = float(np.median(distances)) if len(queried) else np.nan
    near = distances < tolerance * typical
    people = records.fields.get("group_by")
    people = np.arange(len(records)) if people is None else to_array(people, "group_by")
    return Duplicates(
        n_exact=int(copied.sum()),
        n_queried=len(queried),
        n_near=int(near.sum()),
        share_near=share_interval(near, people[queried], confidence_level=confidence_level),
        typical_distance=typical,
        tolerance=float(tolerance),
        pairs=_list_pairs(queried, nearest, distances, typical),
        n_equal=int((near & (distances == 0)).sum()),
    )


def _check_parameters(tolerance, max_queries):
    allowed = "a fraction in (0, 1)"
    check_number(tolerance, "tolerance", allowed, SMALLEST, np.nextafter(1, 0))
    check_number(max_queries, "max_queries", "a whole number from 1 on", 1, whole=True)


def _choose_known(X, queried, rng):
    """Rows from which the scales of columns are learned, among them the queries."""
    n_wanted = _MOST_KNOWN_ELEMENTS // max(1, int(np.prod(X.shape[1:])))
    n_wanted = min(_MOST_KNOWN, max(n_wanted, _QUERIES[1]))
    drawn = rng.choice(X.shape[0], n_wanted, replace=False, shuffle=False)
    # A category that only queries have would otherwise be the same as other unknown ones.
    return np.union1d(drawn, queried)


def _are_copied(fingerprint, membership):
    both = np.intersect1d(fingerprint[membership], fingerprint[~membership])
    return np.isin(fingerprint, both)


def _list_pairs(queried, nearest, distances, typical):
    order = np.argsort(distances, kind="stable")[:_MOST_PAIRS]
    distances = distances[order]
    relative = distances / typical if typical > 0 else np.full(len(order), np.nan)
    columns = {
        "nonmember": queried[order],
        "member": nearest[order],
        "distance": distances,
        "relative": relative,
    }
    return pd.DataFrame(columns)


def _find_nearest(points, queried, members):
    """Nearest member of each queried row, and its distance.

    Matrix products in float32 find it fast. A distance that is small compared with the lengths of
    the two vectors is inaccurate, and small distances matter most, so these rows are searched again
    in float64.
    """
    nearest, square, lengths = _search(points, queried, members, np.float32)
    unresolved = np.flatnonzero(square < _RESOLVED * lengths)
    nearest[unresolved] = _search(points, queried[unresolved], members, np.float64)[0]
    return nearest, _measure(points, queried, nearest)


def _search(points, queried, members, dtype):
    """Nearest members by matrix products, with squared distances and squared lengths."""
    queries, wide_queries = points.take(queried, dtype)
    own = _square(queries, wide_queries)
    nearest = np.zeros(len(queried), dtype=np.intp)
    smallest = np.full(len(queried), np.inf, dtype=dtype)
    lengths = np.zeros(len(queried), dtype=dtype)
    rows = np.arange(len(queried))
    step = max(1, _BLOCK_ELEMENTS // max(1, len(queried), queries.shape[1]))
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


def _measure(points, queried, nearest):
    """Distances as norms of differences, which are exactly 0 for equal records."""
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

    name = "duplicates"
    part = "duplicates"

    def ask(self, case, run, findings):
        n_records = len(case.records)
        if not case.records.has_features:
            return self.answer(NOT_RUN, WITHOUT_FEATURES)
        n_queries = int(np.clip(_MOST_COMPARED // max(case.membership.sum(), 1), *_QUERIES))
        found = find_duplicates(
            case.records,
            case.membership,
            max_queries=n_queries,
            random_state=case.seeds["checks"],
        )
        drawn = " that were drawn at random" if found.n_queried == n_queries else ""
        parts = []
        if found.n_exact:
            parts.append(
                f"{found.n_exact:,} of {n_records:,} records have an exact copy with the other "
                "membership; an attack scores both copies alike."
            )
        if found.n_queried:
            parts.append(
                f"{found.n_near:,} of {found.n_queried:,} non-members{drawn} "
                f"({format_rate(*found.share_near)}) are near duplicates of a member, at least "
                "ten times closer than typical."
            )
        near = found.share_near.low if found.n_queried else 0.0
        status = PASSED
        if near > _MANY or found.n_exact > _MANY * n_records:
            hides, text = _judge_rest(case, run)
            apart = near * (1 - found.n_equal / max(found.n_near, 1))
            parts.append(text)
            status = WARNING if hides or apart > _MANY else PASSED
        else:
            parts.append(f"A warning is given above {100 * _MANY:g}%.")
        return self.answer(status, " ".join(parts), found)


def _judge_rest(case, run):
    """Whether the copies may hide a leak, given the records without a copy, and why."""
    places, counts = np.unique(
        Records(case.records.X).fingerprint, return_inverse=True, return_counts=True
    )[1:]
    rest = counts[places] == 1
    members = case.membership[rest]
    text = f"The features of {len(members):,} records are those of no other record"
    sides = (members.sum(), case.membership), ((~members).sum(), ~case.membership)
    if any(n_left < _ENOUGH * side.sum() for n_left, side in sides):
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
    if result.pvalue <= (1 - case.level) / 2:
        return True, f"{text}, and the attacks find members among them ({p})."
    return False, f"{text}, and the attacks find no leakage among them ({p})."
