"""Test of whether attacks find more than if membership had been assigned at random."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..._core.checks import check_finite_vector, check_judged, check_rate
from ..._core.numbers import check_count, show, to_array
from ..._core.pvalues import format_pvalue
from ..._core.randomness import check_random_state
from ..._core.types import Seed
from ..._core.validation import check_membership
from ...metrics._membership import check_resolution
from ..evidence import count_permutations
from ..groups import EVERYONE, OVERALL, get_people
from ..measure import FEWEST
from ._labelings import draw_labelings
from ._numbers import Measured, Part, Ruler, center_ranks, compute_tails
from ._units import make_units, order_units, pack_masks
from .base import STATED, BaseCheck


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

    Of more than 200,000 records, or groups of them, only some permutations are drawn from.
    Members are paired with non-members at random, the pairs form 100,000 bundles, and a permutation
    exchanges the membership within all pairs of random bundles. Given the pairs, all these are
    equally likely if membership was assigned at random, so the p-values are as valid. All records
    count. With as many members as non-members, numbers vary as much as under free permutations.
    The more unequal the two sides, the more power is lost, up to that of half of the smaller side,
    and the mean of the null lies between chance and the estimate.

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
    parts = _list_parts(membership, list(scores), rates, subsets, judged)
    units = _arrange_units(membership, scores, subsets, group_by)
    seed = check_random_state(random_state).randint(2**31 - 1)
    labelings = draw_labelings(units, n_permutations, np.random.default_rng(seed))
    ruler = Ruler(parts, scores, labelings, units.places)
    frame = _compare(Measured.join([ruler.measure(some) for some in labelings.blocks]), parts)
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
    checked = []
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
        checked.append((scope, group, mask))
    return checked


def _list_parts(membership, attacks, rates, subsets, judged):
    """List what is measured: each attack on all records, and on each part that is large enough."""
    parts = []
    everyone = np.ones(len(membership), dtype=bool)
    for scope, group, mask in [(OVERALL, EVERYONE, everyone), *subsets]:
        is_overall = mask is everyone
        if scope == OVERALL and not is_overall:
            continue
        known = []
        for attack in attacks:
            inside = mask if judged is None else mask & np.asarray(judged[attack])
            rows = np.flatnonzero(inside)
            # Attacks that judge the same records share them.
            rows = next((other for other in known if np.array_equal(other, rows)), rows)
            known.append(rows)
            n_members = int(membership[rows].sum())
            n_nonmembers = len(rows) - n_members
            if not is_overall and min(n_members, n_nonmembers) < FEWEST:
                continue
            resolved = [
                rate
                for rate in rates
                if is_overall or check_resolution(n_nonmembers, rate, "ignore")
            ]
            parts.append(Part(attack, scope, group, rows, resolved))
    return parts


def _arrange_units(membership, scores, subsets, group_by):
    units = make_units(membership, group_by)
    ranks = [center_ranks(values) for values in scores.values()]
    inside = pack_masks([mask for _, _, mask in subsets], units)
    return order_units(units, [*inside, np.ones(len(membership)), *ranks])


def _compare(measured, parts):
    """Compare the first row of numbers, the truth, with all of them."""
    names = [
        (part.attack, part.scope, part.group, metric, rate)
        for part in parts
        for metric, rate in [("auc", np.nan), *(("tpr", rate) for rate in part.rates)]
    ]
    names = dict(zip(("attack", "scope", "group", "metric", "max_fpr"), zip(*names)))
    is_auc = np.array(names["metric"]) == "auc"
    best, worst = np.ones((2, len(measured.numbers)))
    rows, firsts = [], []
    for place, column in enumerate(measured.numbers.T):
        tails = compute_tails(column, measured.steps[:, place])
        np.minimum(best, tails.upper, out=best)
        if is_auc[place]:
            np.minimum(worst, tails.lower, out=worst)
        firsts.append((tails.upper[0], tails.least, tails.lower[0]))
        rows.append(_describe_null(np.where(np.isnan(column), np.nanmean(column), column)))
    adjusted, least, below = np.transpose(firsts)
    frame = pd.DataFrame(names).join(pd.DataFrame(rows))
    frame["pvalue_adjusted"] = _count_reached(best, adjusted)
    frame["pvalue_least"] = _count_reached(best, least)
    frame["pvalue_below"] = np.where(is_auc, _count_reached(worst, below), np.nan)
    # Sort by part of the records; within a part, the AUCs of all attacks precede their TPRs.
    places = {name: place for place, name in enumerate(dict.fromkeys(part[1:3] for part in parts))}
    part = [places[name] for name in zip(names["scope"], names["group"])]
    return frame.iloc[np.lexsort([~is_auc, part])].reset_index(drop=True)


def _count_reached(extremes, tails):
    """Share of labelings whose most extreme number is at least as extreme as each of these."""
    return np.searchsorted(np.sort(extremes), tails, side="right") / len(extremes)


def _describe_null(numbers):
    null = numbers[1:]
    low, high = np.quantile(null, [0.025, 0.975])
    return {
        "estimate": numbers[0],
        "null_mean": null.mean(),
        "null_sd": null.std(ddof=min(1, len(null) - 1)),
        "null_low": low,
        "null_high": high,
        "pvalue": (numbers >= numbers[0]).mean(),
    }


class PermutationCheck(BaseCheck):
    """The numbers under permuted membership, compared with those under the true one."""

    name = "permuted membership"
    part = "permutations"

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
        p = format_pvalue(lowest, 2 / (1 + result.n_permutations))
        text = (
            f"Membership was permuted {result.n_permutations:,} times. The most significant of "
            f"{len(result.frame):,} results has {p}, two-sided and corrected for all of them."
        )
        return self.answer(STATED, text, result)
