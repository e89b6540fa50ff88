"""The values of candidates from which each threshold may have been computed."""

from typing import NamedTuple

import numpy as np

# A threshold that was moved is taken to lie between two values with at most so many others between.
_MOST_PASSED = 12
# Share of thresholds that are explained as they were made, below which they were moved.
_LEAST_EXPLAINED = 0.1
# Values that more than this many members lie before are out of sight of a threshold, in nats.
_SIGHT = 30.0


class Rule(NamedTuple):
    """What a threshold is.

    Attributes
    ----------
    midpoints : bool
        Whether it can be the midpoint of two consecutive values.
    values : bool
        Whether it can be a value.
    tolerance : float
        Relative error of midpoints.
    """

    midpoints: bool
    values: bool
    tolerance: float = 0.0


MIDPOINT = Rule(midpoints=True, values=False)
VALUE = Rule(midpoints=False, values=True)
# Edges of histogram boosting; NumPy interpolates with a rounding of its own.
_ROUNDED = 4 * np.finfo(np.float64).eps
INNER_EDGE = Rule(midpoints=True, values=False, tolerance=_ROUNDED)
QUANTILE = Rule(midpoints=True, values=True, tolerance=_ROUNDED)
# Borders of CatBoost, whose midpoints are rounded to single precision.
SINGLE_MIDPOINT = Rule(midpoints=True, values=False, tolerance=np.finfo(np.float32).eps / 2)


class Events(NamedTuple):
    """Thresholds of trees that were grown on one sample, and all that explains them.

    A threshold is explained by two values, or by one. Rows in the sample have these values, and no
    row in the sample has a value between them.

    Attributes
    ----------
    kept : float
        Probability that a training row is in the sample.
    candidates, slots : ndarray of shape (n_entries,), dtype int
        Candidate of each entry, and the place of its value among all.
    of_slot : ndarray of shape (n_slots,), dtype int
        Threshold that each value belongs to; values ascend within a threshold.
    others : ndarray of shape (n_slots,)
        How many other people are expected to have the value, if all candidates were members.
    lower, upper, of_pair : ndarray of shape (n_pairs,), dtype int
        Values that explain a threshold, the same twice for one alone; and the threshold.
    n_thresholds, n_explained : int
        Number of thresholds, and of those with an explanation.
    weights : float or ndarray of shape (n_pairs,)
        Likelihood of each threshold, given that a pair explains it, up to a factor.
    sample : int
        Number of the sample, the place of its tree in the model if each tree has its own.
    """

    kept: float
    candidates: np.ndarray
    slots: np.ndarray
    of_slot: np.ndarray
    others: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    of_pair: np.ndarray
    n_thresholds: int
    n_explained: int
    weights: np.ndarray | float = 1.0
    sample: int = 0


def explain(nodes, rule, kept, columns, prior):
    """Find the values from which each threshold may have been computed.

    Parameters
    ----------
    nodes : Nodes
    rule : Rule
    kept : float
        Probability that a training row is in the sample.
    columns : Columns
    prior : float
        Share of members among the candidates.

    Returns
    -------
    events : Events
    """
    event, entry, share = _look_around(nodes, columns, -_SIGHT / np.log1p(-kept * prior))
    values, rows = columns.values[entry], columns.rows[entry]
    new = np.ones(len(entry), dtype=bool)
    new[1:] = (values[1:] != values[:-1]) | (event[1:] != event[:-1])
    slots, first = np.cumsum(new) - 1, np.flatnonzero(new)
    of_slot, n_thresholds = event[first], len(nodes.thresholds)
    # Only a value that some candidate at the node has is one that other people may have there.
    known = np.bincount(slots, rows < columns.n_candidates) > 0
    others = columns.alike[entry[first]] * share[of_slot] * known
    lower, upper = _list_pairs(values[first], of_slot, nodes.thresholds, rule)
    n_explained, weights = len(np.unique(of_slot[lower])), 1.0
    if rule == MIDPOINT and n_explained < _LEAST_EXPLAINED * n_thresholds:
        # Predictions on all training rows stay only if none of them is passed over.
        lower, upper, weights = _list_gaps(values[first], of_slot, nodes.thresholds, known)
        kept = 1.0
    found = lower, upper, of_slot[lower], n_thresholds, n_explained, weights
    return _trim(Events(kept, rows, slots, of_slot, others, *found))


def _trim(events):
    """Leave out values beyond the outermost explanation, about which a threshold says nothing."""
    begin, end = np.full(events.n_thresholds, len(events.of_slot)), np.full(events.n_thresholds, -1)
    np.minimum.at(begin, events.of_pair, events.lower)
    np.maximum.at(end, events.of_pair, events.upper)
    places = np.arange(len(events.of_slot))
    used = (places >= begin[events.of_slot]) & (places <= end[events.of_slot])
    seen, moved = used[events.slots], np.cumsum(used) - 1
    return events._replace(
        candidates=events.candidates[seen],
        slots=moved[events.slots[seen]],
        of_slot=events.of_slot[used],
        others=events.others[used],
        lower=moved[events.lower],
        upper=moved[events.upper],
    )


def _look_around(nodes, columns, reach):
    """Threshold and place of each value in sight, and the share of candidates at each node."""
    n_known = columns.n_candidates
    before = np.append(0, np.cumsum(columns.rows[nodes.places] < n_known))
    nearest, reach = before[nodes.splits], np.ceil(reach)
    low = np.maximum(nodes.starts, np.searchsorted(before, nearest - reach, side="right") - 1)
    sizes = np.minimum(nodes.stops, np.searchsorted(before, nearest + reach)) - low
    event = np.repeat(np.arange(len(sizes)), sizes)
    entry = np.arange(sizes.sum()) + np.repeat(low - np.cumsum(sizes) + sizes, sizes)
    return event, nodes.places[entry], (before[nodes.stops] - before[nodes.starts]) / n_known


def _list_pairs(values, event, thresholds, rule):
    """Places of the values that explain thresholds, lower and upper."""
    above = values > thresholds[event]
    n_slots = np.bincount(event, minlength=len(thresholds))
    n_below = np.bincount(event, ~above, minlength=len(thresholds)).astype(np.int64)
    stop = np.cumsum(n_slots)
    split = stop - n_slots + n_below
    lower, upper = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if rule.midpoints:
        left = np.flatnonzero(~above)
        own, wanted = event[left], thresholds[event[left]]
        slack = rule.tolerance * np.abs(wanted)
        low, high = split[own], stop[own]
        # Midpoints grow with the upper value: bisect for the first that is large enough.
        while np.any(low < high):
            middle = np.minimum((low + high) // 2, len(values) - 1)
            small = values[left] / 2 + values[middle] / 2 < wanted - slack
            searching = low < high
            low = np.where(searching & small, middle + 1, low)
            high = np.where(searching & ~small, middle, high)
        inside = low < stop[own]
        left, right, wanted, slack = left[inside], low[inside], wanted[inside], slack[inside]
        fits = np.abs(values[left] / 2 + values[right] / 2 - wanted) <= slack
        lower, upper = left[fits], right[fits]
    if rule.values:
        last = split[n_below > 0] - 1
        last = last[values[last] == thresholds[event[last]]]
        lower, upper = np.append(lower, last), np.append(upper, last)
    return lower, upper


def _list_gaps(values, event, thresholds, known):
    """All pairs of values on either side of thresholds that were moved within a gap.

    A threshold that is uniform in the gap between two values has the density of one over it.
    """
    above = values > thresholds[event]
    n_slots = np.bincount(event, minlength=len(thresholds))
    stop = np.cumsum(n_slots)
    start, split = stop - n_slots, stop - np.bincount(event, above, len(thresholds)).astype(int)
    before = np.append(0, np.cumsum(known))  # further records do not count for others
    lower = _expand(np.maximum(start, np.searchsorted(before, before[split] - _MOST_PASSED)), split)
    reach = before[split[event[lower]]] - before[lower + 1]
    beyond = before[split[event[lower]]] + _MOST_PASSED - reach + 1
    last = np.minimum(stop[event[lower]], np.searchsorted(before, beyond))
    upper = _expand(split[event[lower]], last)
    lower = np.repeat(lower, np.maximum(last - split[event[lower]], 0))
    gaps, least = values[upper] - values[lower], np.full(len(thresholds), np.inf)
    np.minimum.at(least, event[lower], gaps)
    return lower, upper, least[event[lower]] / gaps


def _expand(starts, stops):
    """All whole numbers of some ranges, one range after the other."""
    sizes = np.maximum(stops - starts, 0)
    return np.arange(sizes.sum()) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
