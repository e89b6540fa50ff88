"""Whether attacks find more than they would if membership had been dealt out at random."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.utils import check_random_state

from ...metrics._checks import check_finite_vector, check_rate
from ...utils._groups import number_groups
from ...utils._validation import check_membership
from ._top import TopCounter

_BLOCK_ELEMENTS = 1 << 22


@dataclass(frozen=True)
class PermutationResult:
    """What the attacks reach, and what they reach when membership is dealt out at random.

    Attributes
    ----------
    pvalue : float
        Of the best number, corrected for the choice among them: the smallest ``pvalue_adjusted``.
    frame : DataFrame of one row per attack and metric
        ``attack``; ``metric`` ("auc" or "tpr") and for a TPR the largest FPR allowed, ``max_fpr``;
        ``estimate``; ``null_mean``, ``null_sd``, ``null_low`` and ``null_high``: mean, standard
        deviation and 2.5% and 97.5% quantiles of the same under permuted membership; ``pvalue``:
        one-sided, large where the estimate is not above its null; ``pvalue_adjusted``: the same,
        corrected for the number of rows; ``pvalue_below``, of AUCs: of the lower tail, corrected
        for the number of attacks, small where scores seem to have the wrong sign. They are never
        turned.
    n_permutations : int
        Permutations drawn; no p-value is smaller than ``1 / (1 + n_permutations)``.
    n_units : int
        What was permuted: records, or groups of them.
    """

    pvalue: float
    frame: pd.DataFrame
    n_permutations: int
    n_units: int


def permutation_test(
    membership, scores, *, max_fprs=(), n_permutations=999, group_by=None, random_state=None
):
    """Test whether attacks tell members from non-members better than chance.

    Membership is dealt out anew at random, with as many members as there are, and the AUC of every
    attack, and its TPR at low FPRs, are computed again. A p-value is the share of these numbers
    that reach the real one, with the real one counted among them, and so it is valid for every
    number of records and of permutations. All attacks see the same permutations: for the adjusted
    p-values the largest number of a permutation, each in its standard deviations, is compared
    (single-step max-T), which keeps the chance of any false finding at the level however the
    numbers depend on each other.

    The hypothesis is that the scores would have been the same had other records been the members.
    It takes for granted that the members *were* drawn at random from the records, each set of
    that size as likely as any other; with `group_by`, each set of that many whole groups. Where
    they were not, a small p-value may come from the way they were drawn
    (:func:`blind_baseline`).

    Parameters
    ----------
    membership : array-like of shape (n,)
        1 for the records that the victim was trained on, 0 for others.
    scores : array-like of shape (n,) or mapping of str to array-like of shape (n,)
        Finite scores, higher = more likely a member, by the name of the attack. A single array is
        called ``score``.
    max_fprs : sequence of float, default=()
        False positive rates at which the true positive rates are tested as well. It finds an attack
        that is sure of a few members, which an AUC hardly notices.
    n_permutations : int, default=999
        Permutations to draw. 50,000 records, 4 attacks and 2 rates take seconds.
    group_by : array-like of shape (n,), default=None
        Who each record belongs to, where all records of one person or group were members together.
        The records of a group move together; groups may differ in size.
    random_state : int, RandomState instance or None, default=None
        Determines the permutations. The result is the same for any order of the records.

    Returns
    -------
    result : PermutationResult
        The overall p-value and a DataFrame of the numbers.

    Raises
    ------
    ValueError
        When membership is not 0 or 1 for each record and both, there is no attack, scores are not
        finite or not one per record, `n_permutations` is not positive, or a group lacks a name or
        holds both members and non-members.

    See Also
    --------
    skmia.metrics.auc_interval : How large the AUC is, with a confidence interval.

    Notes
    -----
    The AUC is the chance that a random member outscores a random non-member, ties counted half; a
    TPR is the largest at a threshold that keeps to the FPR. Means and standard deviations are taken
    over the permutations and the truth together, so that nothing depends on which of them is the
    truth. Ranks are taken once, and sums of them are exact, so that a
    permutation that gives the very same AUC counts as one that reaches it.

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
    membership = check_membership(membership, len(np.atleast_1d(membership)))
    scores = _check_scores(scores, len(membership))
    if not isinstance(n_permutations, Integral) or n_permutations < 1:
        raise ValueError(
            f"n_permutations must be a whole number from 1 on; got {n_permutations!r}."
        )
    rates = [check_rate(rate, "max_fprs") for rate in np.atleast_1d(max_fprs).tolist()]
    ranks = np.column_stack([_centre_ranks(values) for values in scores.values()])
    sums, sizes, is_member, places = _sum_units(ranks, membership, group_by)
    tops = [TopCounter(values, places, rates) for values in scores.values()] if rates else []
    seed = check_random_state(random_state).randint(2**31 - 1)
    labels = _label(is_member, n_permutations, np.random.default_rng(seed))
    numbers = np.concatenate([_find_numbers(part, sums, sizes, tops) for part in labels])
    frame = _compare(numbers, len(scores))
    names = pd.MultiIndex.from_tuples(
        [(name, "auc", np.nan) for name in scores]
        + [(name, "tpr", rate) for name in scores for rate in rates],
        names=["attack", "metric", "max_fpr"],
    )
    frame.index = names
    frame = frame.reset_index()
    return PermutationResult(
        pvalue=float(frame["pvalue_adjusted"].min()),
        frame=frame,
        n_permutations=int(n_permutations),
        n_units=len(sums),
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


def _centre_ranks(scores):
    """Twice the ranks minus their mean: whole numbers, sums of which are exact in any order."""
    return 2 * rankdata(scores) - (len(scores) + 1)


def _sum_units(ranks, membership, group_by):
    """Rank sums, sizes and membership of what is permuted, in an order that is its own.

    Also the place of each record's unit in that order.
    """
    units = np.arange(len(ranks))
    if group_by is None:
        sums, sizes, is_member = ranks, np.ones(len(ranks)), membership
    else:
        _, units = number_groups(group_by, len(ranks))
        sizes = np.bincount(units).astype(np.float64)
        sums = np.column_stack([np.bincount(units, column) for column in ranks.T])
        n_members = np.bincount(units, membership)
        mixed = (n_members > 0) & (n_members < sizes)
        if mixed.any():
            raise ValueError(
                f"{mixed.sum()} of {len(sizes)} groups in group_by hold both members and "
                "non-members; only groups that were members as a whole can be permuted."
            )
        is_member = n_members > 0
    order = np.lexsort([*sums.T, sizes])
    places = np.empty(len(order), dtype=np.intp)
    places[order] = np.arange(len(order))
    return sums[order], sizes[order], is_member[order], places[units]


def _find_excess(labels, sums, sizes):
    """AUC minus one half, of shape (n_labellings, n_attacks), for rows of labels 0.0 and 1.0."""
    n_members = labels @ sizes
    pairs = n_members * (sizes.sum() - n_members)
    return labels @ sums / (2 * pairs[:, None])


def _label(is_member, n_permutations, rng):
    """The truth, and then permutations of it, some at a time: ones and zeros."""
    yield is_member[None].astype(np.float64)
    n_units, n_members = len(is_member), int(is_member.sum())
    step = max(1, _BLOCK_ELEMENTS // n_units)
    for start in range(0, n_permutations, step):
        labels = np.zeros((min(step, n_permutations - start), n_units))
        for row in labels:
            row[rng.choice(n_units, n_members, replace=False, shuffle=False)] = 1
        yield labels


def _find_numbers(labels, sums, sizes, tops):
    """AUCs minus one half and TPRs, of shape (n_labellings, n_numbers)."""
    return np.hstack([_find_excess(labels, sums, sizes), *(top.find_tprs(labels) for top in tops)])


def _compare(numbers, n_attacks):
    """What the first row of numbers is among all of them; the first ones are AUCs."""
    spread = numbers.std(axis=0)
    standard = (numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1)
    best, worst = standard.max(axis=1), standard[:, :n_attacks].min(axis=1)
    null = numbers[1:]
    low, high = np.quantile(null, [0.025, 0.975], axis=0)
    is_auc = np.arange(numbers.shape[1]) < n_attacks
    shift = np.where(is_auc, 0.5, 0)
    columns = {
        "estimate": shift + numbers[0],
        "null_mean": shift + null.mean(axis=0),
        "null_sd": null.std(axis=0, ddof=min(1, len(null) - 1)),
        "null_low": shift + low,
        "null_high": shift + high,
        "pvalue": (numbers >= numbers[0]).mean(axis=0),
        "pvalue_adjusted": (best[:, None] >= standard[0]).mean(axis=0),
        "pvalue_below": np.where(is_auc, (worst[:, None] <= standard[0]).mean(axis=0), np.nan),
    }
    return pd.DataFrame(columns)
