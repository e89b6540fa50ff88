"""Test of whether attacks find more than if membership had been assigned at random."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import betainc

from ..._core.containers import find_rows
from ..._core.metric_inputs import RATE_TOLERANCE, check_finite_vector, check_judged, check_rate
from ..._core.moments import cut
from ..._core.numbers import check_count, show, to_array
from ..._core.pvalues import format_pvalue
from ..._core.randomness import check_random_state
from ..._core.types import ArrayLike, Seed
from ..._core.validation import check_membership
from ...metrics import center_ranks, check_resolution, find_highest
from .._measure import EVERY_ROW, EVERYONE, FEWEST, OVERALL, get_people
from .._permutations import count_permutations
from ._base import ALWAYS, CHANCE, STATED, BaseCheck
from ._units import draw_labelings, make_units, order_units, pack_masks

# Number of counts, of four bytes, that are held at a time.
_MOST_COUNTS = 1 << 21

# Number of numbers that are described at a time.
_MOST_NUMBERS = 1 << 20

# Up to this number, all records are kept in order.
_MOST_KEPT = 1 << 17

# Share of values that are not 0 from which sums are products with a dense matrix, and its cells.
_DENSE, _MOST_DENSE = 1 / 16, 1 << 22


class TopCounter:
    """Count members among the highest scores, as long as few non-members are among them."""

    def __init__(self, load, rates):
        self._load, self._rates = load, np.asarray(rates)
        self._n_records = len(load()[0])
        # More records come into play where members take the highest places; all are sorted then.
        n_likely = int(4 * self._rates.max(initial=0) * self._n_records)
        self._sort(min(self._n_records, max(_MOST_KEPT, n_likely)))

    def _sort(self, n_kept):
        """Keep the columns of the highest scores, and where runs of equal ones end."""
        scores, (columns, turned) = self._load()
        order = find_highest(scores, n_kept)
        ordered = scores[order]
        # A threshold takes all records of one score, or none.
        ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
        self._ends = ends[: np.searchsorted(ends, n_kept)].copy()
        kept = order[:n_kept]
        self._columns, self._turned = columns[kept], None if turned is None else turned[kept]

    def compute_tprs(self, labels, n_members):
        # labels (n_labelings, n_columns), n_members (n_labelings,) -> tprs (n_labelings, n_rates):
        # True positive rates; 0 without members
        n_others = self._n_records - n_members
        allowed = np.floor((self._rates + RATE_TOLERANCE) * n_others[:, None])
        false = self._count_false(labels, allowed.max(axis=1))
        if false is None:
            middle = len(labels) // 2
            halves = slice(None, middle), slice(middle, None)
            return np.concatenate([self.compute_tprs(labels[i], n_members[i]) for i in halves])
        ends = self._ends[: np.searchsorted(self._ends, false.shape[1])]
        found = np.zeros(allowed.shape)
        for j in range(len(self._rates)):
            n_runs = (false[:, ends] <= allowed[:, [j]]).sum(axis=1)
            last = ends[np.maximum(n_runs, 1) - 1] if len(ends) else np.zeros(len(false), dtype=int)
            inside = last + 1 - false[np.arange(len(false)), last]
            found[:, j] = np.where(n_runs > 0, inside, 0)
        return found / np.maximum(n_members, 1)[:, None]

    def _count_false(self, labels, allowed):
        """Count non-members among the first 1, 2, ... records until they exceed what is allowed.

        At low rates these are few of the records, so counting all of them would waste time. None if
        the counts of so many labelings would take too much memory.
        """
        n_records = self._n_records
        width = int(min(n_records, 2 * allowed.max() + 100))
        while len(labels) == 1 or len(labels) * width <= _MOST_COUNTS:
            if width > len(self._columns):
                self._sort(n_records)
            turned = self._turned if self._turned is None else self._turned[:width]
            is_member = labels[:, self._columns[:width]]
            is_false = ~is_member if turned is None else is_member == turned
            false = np.cumsum(is_false, axis=1, dtype=np.int32)
            if width == n_records or (false[:, -1] > allowed).all():
                return false
            width = min(n_records, 2 * width)
        return None


class ScoredPart(NamedTuple):
    """Scores of one attack on a part of the records."""

    attack: str
    scope: str
    group: str
    rows: Any  # positions of the records, or the slice of all
    n_records: int
    rates: list  # false positive rates


class MeasuredLabelings(NamedTuple):
    """Numbers by labeling, of shape (n_labelings, n_numbers), and the steps in which they move."""

    numbers: np.ndarray  # NaN without members or non-members
    steps: np.ndarray  # half of a step

    @classmethod
    def join(cls, several):
        return cls(*map(np.concatenate, zip(*several)))


class TailProbabilities(NamedTuple):
    """Tail probabilities of one number by labeling; small if the number is extreme."""

    upper: np.ndarray
    lower: np.ndarray
    least: float  # the upper tail that a number of 1 would have in the first labeling


class PartRuler:
    """AUCs and TPRs of several parts."""

    def __init__(self, parts, scores, labelings, units):
        self._tops = [
            TopCounter(partial(_load_part_scores, part, scores, labelings), part.rates)
            if part.rates
            else None
            for part in parts
        ]
        rows = [part.rows for part in parts]
        self._n_records = np.array([part.n_records for part in parts])
        self._sums = LinearSums(
            (center_ranks(scores[part.attack][part.rows]) for part in parts),
            rows,
            self._n_records,
            labelings,
        )
        self._sizes = LinearSums(map(_ones, self._n_records), rows, self._n_records, labelings)
        self._n_units, self._units = self._n_records, self._sizes  # if each record is a unit
        if units.max() + 1 < len(units):
            everyone = np.arange(len(units))
            rows = [everyone[some][np.unique(units[some], return_index=True)[1]] for some in rows]
            self._n_units = np.array([len(some) for some in rows])
            self._units = LinearSums(map(_ones, self._n_units), rows, self._n_units, labelings)

    def measure(self, labels):
        """Measure the AUC of each part, and then its TPRs.

        Shapes: labels (n_labelings, n_columns).
        """
        bits = labels.astype(np.float64)
        n_members = self._sizes.compute(bits)
        units = n_members if self._units is self._sizes else self._units.compute(bits)
        pairs = n_members * (self._n_records - n_members)
        excess = self._sums.compute(bits) / (2 * np.maximum(pairs, 1))
        numbers, steps = [], []
        for place, top in enumerate(self._tops):
            undefined = pairs[:, [place]] == 0
            inside = units[:, [place]]
            outside = self._n_units[place] - inside
            found = [0.5 + excess[:, [place]]]
            by = [0.5 / np.maximum(inside * outside, 1)]
            if top is not None:
                found.append(top.compute_tprs(labels, n_members[:, place]))
                by.append(np.repeat(0.5 / np.maximum(inside, 1), found[-1].shape[1], axis=1))
            numbers.append(np.where(undefined, np.nan, np.hstack(found)))
            steps.append(np.hstack(by).astype(np.float32))
        return MeasuredLabelings(np.hstack(numbers), np.hstack(steps))


def _load_part_scores(part, scores, labelings):
    return scores[part.attack][part.rows], labelings.take(part.rows)


def _ones(n):
    return np.broadcast_to(1.0, n)


class LinearSums:
    """Sums of values over the members of each part, by labeling."""

    def __init__(self, values, rows, sizes, labelings):
        # Of few records, as in most parts, sparse rows would take longer than all that follows.
        n_cells = len(rows) * labelings.n_columns
        is_dense = sizes.sum() > _DENSE * n_cells and n_cells <= _MOST_DENSE
        add = _add_columns if is_dense else _sum_columns
        self._constant, several = [], []
        for numbers, some in zip(values, rows, strict=True):
            columns, turned = labelings.take(some)
            if turned is not None:
                blocks = cut(len(columns))
                self._constant.append(sum(numbers[rows][turned[rows]].sum() for rows in blocks))
            several.append(add(numbers, columns, turned, labelings.n_columns))
        self._matrix = np.stack(several) if is_dense else sparse.vstack(several, format="csr")

    def compute(self, bits):
        """Return the sums of shape (n_labelings, n_parts)."""
        sums = (self._matrix @ bits.T).T
        return sums + np.array(self._constant) if self._constant else sums


def _add_columns(numbers, columns, turned, n_columns):
    """Return a row of the sums of the numbers of each column."""
    row = np.zeros(n_columns)
    for i in cut(len(numbers)):
        signed = numbers[i] if turned is None else np.where(turned[i], -numbers[i], numbers[i])
        row += np.bincount(columns[i], signed, n_columns)
    return row


def _sum_columns(numbers, columns, turned, n_columns):
    """Return a sparse row; numbers of the same column are added, which may give a stored 0."""
    if len(numbers) > n_columns:
        row = _add_columns(numbers, columns, turned, n_columns)
        columns, numbers = np.arange(n_columns), row
    elif turned is not None:
        numbers = np.where(turned, -numbers, numbers)
    index = columns.astype(np.int32)
    entries = np.array(numbers), index, np.array([0, len(index)], dtype=np.int32)
    row = sparse.csr_array(entries, shape=(1, n_columns))
    row.sum_duplicates()
    return row


def compute_tails(numbers, steps, mean, variance, both=True):
    """Compute how extreme a number is among all labelings, on one scale for all numbers.

    By the Beta law with the mean and variance over the labelings, see permutation_test, after
    moving each number half a step towards the middle. The scale decides how the numbers are weighed
    against each other, not whether a p-value is valid: it is the same for all labelings.

    both: whether the lower tail is asked for; it is 1 otherwise.
    """
    ones = np.ones(len(numbers))
    if variance == 0:
        return TailProbabilities(ones, ones, 1.0)
    weight = np.clip(mean * (1 - mean) / variance - 1, 1e-6, 1e12)
    above, below = weight * mean, weight * (1 - mean)
    undefined = np.isnan(numbers)

    def compute(first, second, ends):
        # Most numbers are shared by many labelings, and the law takes longer than to find them.
        values, places = np.unique(np.clip(ends, 0, 1), return_inverse=True)
        return np.where(undefined, 1.0, betainc(first, second, values)[places])

    upper = compute(below, above, 1 - numbers + steps)
    lower = compute(above, below, numbers + steps) if both else ones
    least = float(betainc(below, above, min(float(steps[0]), 1.0)))
    return TailProbabilities(upper, lower, least)


@dataclass(frozen=True)
class PermutationResult:
    """Numbers of the attacks, and their distribution if membership is assigned at random.

    Attributes
    ----------
    pvalue : float
        P-value of the most significant number, corrected for the selection: the smallest
        ``pvalue_adjusted``.
    frame : DataFrame of one row per number
        Its columns are:

        - ``attack``;
        - ``scope`` and ``group``: part of the records, "overall" and "all" for all of them;
        - ``metric`` ("auc" or "tpr"), and for a TPR the largest FPR allowed, ``max_fpr``;
        - ``estimate``;
        - ``null_mean``, ``null_sd``, ``null_low`` and ``null_high``: mean, standard deviation and
          2.5% and 97.5% quantiles of the number under permuted membership;
        - ``pvalue``: one-sided, large if the estimate is not above its null;
        - ``pvalue_adjusted``: the same, corrected for the number of rows;
        - ``pvalue_least``: adjusted p-value of an estimate of 1; if it is large, the part has too
          few records;
        - ``pvalue_below`` of an AUC: p-value of the lower tail, corrected for the number of AUCs,
          small if scores seem to have the wrong sign. Signs are never reversed.
    n_permutations : int
        Number of permutations; no p-value is smaller than ``1 / (1 + n_permutations)``.
    n_units : int
        Number of units that were permuted: records, or groups of them.
    n_mixed : int
        Number of groups with both members and non-members, whose records were permuted among
        themselves.
    """

    pvalue: float
    frame: pd.DataFrame
    n_permutations: int
    n_units: int
    n_mixed: int


def permutation_test(
    membership: ArrayLike,
    scores: ArrayLike | Mapping[str, ArrayLike],
    *,
    max_fprs: Sequence[float] = (),
    subsets: Sequence[tuple[str, str, ArrayLike]] = (),
    judged: Mapping[str, ArrayLike] | None = None,
    n_permutations: int = 999,
    group_by: ArrayLike | None = None,
    random_state: Seed = None,
) -> PermutationResult:
    """Test whether attacks separate members from non-members better than chance.

    Membership is permuted, which keeps the number of members, and the AUC of every attack and its
    TPR at low FPRs are computed again, over all records and over parts of them. A p-value is the
    share of these numbers that reach the real one, with the real one counted among them. It is
    therefore valid for any number of records and of permutations. All numbers see the same
    permutations. For the adjusted p-values, the most extreme number of each permutation is compared
    (single-step max-T), which keeps the chance of any false finding at the level however the
    numbers depend on each other.

    The null hypothesis is that the scores would have been the same if other records had been the
    members. The test assumes that the members *were* drawn at random from the records, with each
    set of that size equally likely; with `group_by`, each set of that many whole groups. If they
    were not, a small p-value may come from the way they were drawn (:func:`blind_baseline`).

    Parameters
    ----------
    membership : array-like of shape (n,)
        1 for the records that the victim was trained on, 0 for others.
    scores : array-like of shape (n,) or mapping of str to array-like of shape (n,)
        Finite scores by the name of the attack; higher means more likely a member. A single array
        is called ``score``.
    max_fprs : sequence of float, default=()
        False positive rates at which the true positive rates are also tested. They detect an attack
        that is certain about a few members, which an AUC hardly shows.
    subsets : sequence of (scope, group, mask), default=()
        Parts of the records that are also tested: two names, and a boolean array of shape (n,). A
        part needs at least 2 members and 2 non-members, and is tested at those `max_fprs` at which
        its non-members allow ten false positives.
    judged : mapping of str to array-like of shape (n,), default=None
        By attack, a boolean for each record that it can judge; its numbers leave out the others.
    n_permutations : int, default=999
        Number of permutations. 50,000 records, 4 attacks and 2 rates take seconds.
    group_by : array-like of shape (n,), default=None
        Person or group of each record, if the records of a group were assigned to one side
        together. The records of a group move together; groups may differ in size. If a group holds
        both members and non-members, its records exchange membership among themselves.
    random_state : int, RandomState instance or None, default=None
        Controls the permutations. Pass an int for reproducible results, which do not depend on the
        order of the records.

    Returns
    -------
    result : PermutationResult
        Overall p-value and a table of the numbers.

    Raises
    ------
    ValueError
        If membership does not hold 0 or 1 for each record and both of them, attacks are missing,
        scores are not finite or not one per record, `n_permutations` is not positive, a group lacks
        a name, or a mask is not one boolean per record.

    See Also
    --------
    skmia.metrics.auc_interval : Estimates the AUC with a confidence interval.

    Notes
    -----
    The AUC is the probability that a random member outscores a random non-member, with ties counted
    half. A TPR is the largest at a threshold that keeps the FPR. To compare numbers of different
    kinds, each is expressed as a tail probability of the Beta law with its mean and variance over
    the permutations and the truth together, so that nothing depends on which of them is the truth.
    In units of standard deviations, the AUC of a small group, which cannot exceed 1, could never
    stand out among the others. If a permutation leaves a part without members or without
    non-members, its numbers count as their mean. Ranks are computed once and their sums are exact,
    so a permutation with exactly the same AUC counts as one that reaches it.

    Of more than 200,000 records, or groups of them, only some permutations are drawn from. Members
    are paired with non-members at random, the pairs form 100,000 bundles, and a permutation
    exchanges the membership within all pairs of random bundles. Given the pairs, all these are
    equally likely if membership was assigned at random, so the p-values are as valid. All records
    count. With as many members as non-members, numbers vary as much as under free permutations. The
    power decreases with the imbalance of the two sides, at most to that of half of the smaller
    side, and the mean of the null lies between chance and the estimate.

    References
    ----------
    .. [1] Phipson, B. and Smyth, G. K. (2010). Permutation P-values Should Never Be Zero.
           Statistical Applications in Genetics and Molecular Biology 9(1).
    .. [2] Westfall, P. H. and Young, S. S. (1993). Resampling-Based Multiple Testing. Wiley.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.report import permutation_test
    >>> rng = np.random.default_rng(0)
    >>> membership = np.arange(200) % 2
    >>> noise = rng.normal(size=200)
    >>> result = permutation_test(
    ...     membership, {"strong": noise + membership, "blind": noise}, random_state=0
    ... )
    >>> result.pvalue
    0.001
    >>> (result.frame.set_index("attack")["pvalue_adjusted"] <= 0.05).to_dict()
    {'strong': True, 'blind': False}
    """
    membership = to_array(membership, "membership", "hold one value for each record")
    membership = check_membership(membership, membership.size)
    scores = _check_scores(scores, len(membership))
    check_count(n_permutations, "n_permutations")
    rates = [check_rate(rate, "max_fprs") for rate in np.atleast_1d(to_array(max_fprs, "max_fprs"))]
    subsets = _check_subsets(subsets, len(membership))
    judged = check_judged(judged, scores, len(membership))
    parts = _list_permuted_parts(membership, list(scores), rates, subsets, judged)
    units = make_units(membership, group_by)
    inside = pack_masks([mask for _, _, mask in subsets], units)
    ranks = map(center_ranks, scores.values())
    units = order_units(units, [*inside, _ones(len(membership)), *ranks])
    seed = check_random_state(random_state).randint(2**31 - 1)
    labelings = draw_labelings(units, n_permutations, np.random.default_rng(seed))
    ruler = PartRuler(parts, scores, labelings, units.places)
    frame = _compare_permutations(
        MeasuredLabelings.join([ruler.measure(some) for some in labelings.blocks]), parts
    )
    return PermutationResult(
        pvalue=float(frame["pvalue_adjusted"].min()),
        frame=frame,
        n_permutations=int(n_permutations),
        n_units=len(units.is_member),
        n_mixed=units.n_mixed,
    )


def _check_scores(scores, n_records):
    if not isinstance(scores, Mapping | pd.DataFrame):
        scores = {"score": scores}
    if len(scores.keys()) == 0:
        raise ValueError("scores must hold at least one attack; got none.")
    checked = {}
    for name, values in scores.items():
        checked[name] = check_finite_vector(values, f"The scores of {name!r}")
        if len(checked[name]) != n_records:
            raise ValueError(
                f"The scores of {name!r} need one value for each of {n_records} records; "
                f"got {len(checked[name])}."
            )
    return checked


def _check_subsets(subsets, n_records):
    try:
        subsets = [(scope, group, np.asarray(mask)) for scope, group, mask in subsets]
    except (TypeError, ValueError):
        raise ValueError(f"subsets must hold (scope, group, mask); got {show(subsets)}.") from None
    for scope, group, mask in subsets:
        if mask.dtype != bool or mask.shape != (n_records,):
            raise ValueError(
                f"subsets must hold a boolean mask for each of {n_records} records; that of "
                f"{scope!r}, {group!r} has dtype {mask.dtype} and shape {mask.shape}."
            )
    return subsets


def _list_permuted_parts(membership, attacks, rates, subsets, judged):
    """List what is measured: each attack on all records, and on each part that is large enough."""
    parts = []
    everyone = np.broadcast_to(np.True_, len(membership))
    for scope, group, mask in [(OVERALL, EVERYONE, everyone), *subsets]:
        is_overall = mask is everyone
        if scope == OVERALL and not is_overall:
            continue
        known = []
        for attack in attacks:
            inside = mask if judged is None else mask & np.asarray(judged[attack])
            rows = EVERY_ROW if inside.all() else find_rows(inside)
            # Attacks that judge the same records share them.
            rows = next((other for other in known if np.array_equal(other, rows)), rows)
            known.append(rows)
            sides = membership[rows]
            n_members = np.count_nonzero(sides)
            n_others = len(sides) - n_members
            if is_overall:
                parts.append(ScoredPart(attack, scope, group, rows, len(sides), rates))
            elif min(n_members, n_others) >= FEWEST:
                resolved = [rate for rate in rates if check_resolution(n_others, rate, "ignore")]
                parts.append(ScoredPart(attack, scope, group, rows, len(sides), resolved))
    return parts


def _compare_permutations(measured, parts):
    """Compare the first row of numbers, the truth, with all of them."""
    names = [
        (part.attack, part.scope, part.group, metric, rate)
        for part in parts
        for metric, rate in [("auc", np.nan), *(("tpr", rate) for rate in part.rates)]
    ]
    names = dict(zip(("attack", "scope", "group", "metric", "max_fpr"), zip(*names)))
    is_auc = np.array(names["metric"]) == "auc"
    n_labelings, n_numbers = measured.numbers.shape
    best, worst = np.ones((2, n_labelings))
    described, firsts = [], []
    for block in cut(n_numbers, max(1, _MOST_NUMBERS // n_labelings)):
        numbers = np.ascontiguousarray(measured.numbers[:, block].T)
        means, variances = np.nanmean(numbers, axis=1), np.nanvar(numbers, axis=1)
        for place, steps in enumerate(measured.steps[:, block].T, start=block.start):
            here = place - block.start
            own = numbers[here], steps, means[here], variances[here]
            tails = compute_tails(*own, both=is_auc[place])
            np.minimum(best, tails.upper, out=best)
            if is_auc[place]:
                np.minimum(worst, tails.lower, out=worst)
            firsts.append((tails.upper[0], tails.least, tails.lower[0]))
        described.append(_describe_null(np.where(np.isnan(numbers), means[:, None], numbers)))
    adjusted, least, below = np.transpose(firsts)
    columns = dict(zip(_NULL, np.concatenate(described, axis=1), strict=True))
    columns["pvalue_adjusted"] = _count_reached(best, adjusted)
    # The truth itself would reach it, as it does in each other p-value.
    columns["pvalue_least"] = np.maximum(_count_reached(best, least), 1 / n_labelings)
    columns["pvalue_below"] = np.where(is_auc, _count_reached(worst, below), np.nan)
    # Sort by part of the records; within a part, the AUCs of all attacks precede their TPRs.
    places = {name: place for place, name in enumerate(dict.fromkeys(part[1:3] for part in parts))}
    part = [places[name] for name in zip(names["scope"], names["group"])]
    order = np.lexsort([~is_auc, part])
    names = {name: [values[place] for place in order] for name, values in names.items()}
    return pd.DataFrame(names | {name: values[order] for name, values in columns.items()})


def _count_reached(extremes, tails):
    """Share of labelings whose most extreme number is at least as extreme as each of these."""
    return np.searchsorted(np.sort(extremes), tails, side="right") / len(extremes)


_NULL = "estimate", "null_mean", "null_sd", "null_low", "null_high", "pvalue"


def _describe_null(numbers):
    """Describe rows of numbers by labeling; return an array of shape (6, n_numbers)."""
    null, estimate = numbers[:, 1:], numbers[:, 0]
    sd = null.std(axis=1, ddof=min(1, null.shape[1] - 1))
    ends = np.quantile(null, [0.025, 0.975], axis=1)
    pvalue = (numbers >= estimate[:, None]).mean(axis=1)
    return np.array([estimate, null.mean(axis=1), sd, *ends, pvalue])


class PermutationCheck(BaseCheck):
    """The numbers under permuted membership, compared with those under the true one."""

    name = "permuted membership"
    part = "permutations"
    record_seconds, least_seconds, record_numbers = 1.3e-5, 0.04, 130
    # Of more records, bundles are permuted.
    most_held, takes_sample = 200_000, True
    role = CHANCE
    presence = ALWAYS
    passed = "Each result is compared with chance"
    warned = ""

    def ask(self, case, run, findings):
        n_nonmembers = int((~case.membership).sum())
        result = permutation_test(
            case.membership,
            run.scores,
            max_fprs=[rate for rate in case.fprs if check_resolution(n_nonmembers, rate, "ignore")],
            subsets=case.subsets,
            judged=run.tested,
            n_permutations=count_permutations(case.level),
            group_by=get_people(case.records, case.membership),
            random_state=case.seeds["checks"],
        )
        lowest = 2 * result.frame["pvalue_adjusted"].min()
        p, n_results = format_pvalue(lowest, 2 / (1 + result.n_permutations)), len(result.frame)
        most = f"The most significant of {n_results:,} results has"
        most = most if n_results > 1 else "The only result has"
        text = (
            f"Membership was permuted {result.n_permutations:,} times. {most} {p}, two-sided"
            f"{' and corrected for all of them' if n_results > 1 else ''}."
        )
        return self.answer(STATED, text, result)
