"""Messages between thresholds: what each says of the candidates, given what the others say."""

import numpy as np
from scipy.special import expit, log_expit, logit

# What one threshold can say, in nats: it can have come about in a way that is not foreseen.
_MOST = 8.0
_LEAST_LIKELY = 1e-8
# Sums of weights are taken in whole units, so that differences of them have no rounding error.
_UNIT = 2.0**-50
N_PASSES = 4
DAMPING = 0.3
# Log odds of further records, so small that they do not count for others.
ABSENT = -80.0
_CERTAIN = 30.0
_LEAST_ODDS = -500.0


def pass_messages(groups, n_candidates, prior, outsiders):
    """Log likelihood ratio of each candidate from all thresholds.

    Parameters
    ----------
    groups : list of Events
    n_candidates : int
    prior : float
        Share of members among the candidates.
    outsiders : float
        Other training rows, for each candidate.

    Returns
    -------
    ratios : ndarray of shape (n_candidates,)
    parts : list of ndarray of shape (n_candidates,)
        What each group says of being in its sample.
    """
    messages = [np.zeros(len(group.candidates)) for group in groups]
    parts = [np.zeros(n_candidates) for _ in groups]
    total, start = np.zeros(n_candidates), logit(prior)
    for n_passed in range(N_PASSES):
        for g, group in enumerate(groups):
            total -= _to_members(parts[g], group.kept)
            odds = _to_sample(start + total, group.kept) + parts[g]
            new = compute_messages(group, odds[group.candidates] - messages[g], outsiders)
            old = DAMPING if n_passed else 0.0
            messages[g] = (1 - old) * new + old * messages[g]
            parts[g] = np.bincount(group.candidates, messages[g], minlength=n_candidates)
            total += _to_members(parts[g], group.kept)
    return total, parts


def _to_members(ratios, kept):
    """Log likelihood ratio of membership from one of being in a sample."""
    return (
        np.log(kept) + np.logaddexp(ratios, np.log1p(-kept) - np.log(kept)) if kept < 1 else ratios
    )


def _to_sample(odds, kept):
    """Turn log odds of membership into log odds of being in a sample."""
    if kept == 1:
        return odds
    share = kept * expit(np.maximum(odds, _LEAST_ODDS))
    return np.log(share) - np.log1p(-share)


def judge(groups, ratios, parts, n_further, prior, outsiders):
    """Log likelihood ratio of further records, each as one more candidate.

    Parameters
    ----------
    groups : list of Events
        Of the candidates and the further records, in this order.
    ratios, parts :
        What was found of the candidates.
    n_further : int
    prior, outsiders : float

    Returns
    -------
    ratios : ndarray of shape (n_further,)
    """
    n, found = len(ratios), np.zeros(n_further)
    for group, part in zip(groups, parts, strict=True):
        others = ratios - _to_members(part, group.kept)
        odds = np.full(n + n_further, ABSENT)
        odds[:n] = _to_sample(logit(prior) + others, group.kept) + part
        further = compute_messages(group, odds[group.candidates], outsiders)
        sums = np.bincount(group.candidates, further, minlength=n + n_further)
        found += _to_members(sums[n:], group.kept)
    return found


def compute_messages(group, odds, outsiders):
    """Log likelihood ratio of being in the sample, for each entry, from its threshold.

    Parameters
    ----------
    group : Events
    odds : ndarray of shape (n_entries,)
        Log odds of being in the sample, from all other thresholds.
    outsiders : float

    Returns
    -------
    messages : ndarray of shape (n_entries,)
    """
    n_slots, lower, upper = len(group.of_slot), group.lower, group.upper
    absent = log_expit(-np.clip(odds, ABSENT, _CERTAIN))
    none_there = np.bincount(group.slots, absent, minlength=n_slots).astype(np.float64)
    none_there -= outsiders * group.kept * group.others
    between = np.append(0, np.cumsum(none_there))
    some_there = -np.expm1(none_there)
    alone = lower == upper
    passed = np.where(alone, 0.0, between[upper] - between[np.minimum(lower + 1, n_slots)])
    weight = (
        group.weights * np.exp(passed) * some_there[lower] * np.where(alone, 1.0, some_there[upper])
    )
    ends, inside, rest = _sum_weights(group, weight)
    with_value = ends / np.maximum(some_there, np.finfo(float).tiny)
    slot = group.slots
    present = rest[slot] + with_value[slot]
    missing = rest[slot] + inside[slot] * np.exp(-absent)
    missing += with_value[slot] * -np.expm1(np.minimum(none_there[slot] - absent, 0.0))
    ratios = np.log(present + _LEAST_LIKELY) - np.log(missing + _LEAST_LIKELY)
    return np.clip(ratios, -_MOST, _MOST)


def _sum_weights(group, weight):
    """Weight of the explanations that end at each value, pass over it, and do neither."""
    n_slots, alone = len(group.of_slot), group.lower == group.upper
    upper, lower = group.upper[~alone], group.lower

    def add(weight):
        ends = np.bincount(lower, weight, minlength=n_slots)
        return ends + np.bincount(upper, weight[~alone], minlength=n_slots)

    units = np.rint(weight / _UNIT)
    whole = np.bincount(group.of_pair, units, minlength=group.n_thresholds)[group.of_slot]
    change = np.bincount(lower[~alone] + 1, units[~alone], minlength=n_slots + 1)
    change[:n_slots] -= np.bincount(upper, units[~alone], minlength=n_slots)
    inside = np.cumsum(change)[:n_slots]
    return add(weight), inside * _UNIT, (whole - add(units) - inside) * _UNIT
