"""Whether the labels of the records mean the same as the labels of the model."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..._core.escaping import visible
from ..._core.text import count_more, tell_percent
from ._skill import correlate_ranks

# Members of a class in each half; classes with fewer are not judged.
_FEWEST = 10

# The other assignment of answers must be better by this share, beyond this many standard errors.
_GAIN, _N_ERRORS = 0.1, 3.09

# Variance of Fisher's transformation of a rank correlation, times the number of records.
_OF_RANKS = 1.06

# Classes that are named in the warning.
_MOST_NAMED = 3


# A model may be worse than the best constant on purpose, with weights of classes for example. So
# it is asked whether another assignment of its answers to the labels is better. Members alone are
# read, because on non-members a model may be below chance.


def is_reversed(answers, targets, units):
    """Return whether members with higher targets have lower predictions, beyond chance."""
    n_units = len(np.unique(units))
    if n_units < 2 * _FEWEST:
        return False
    with np.errstate(divide="ignore"):
        correlation = np.arctanh(correlate_ranks(answers, targets))
    return bool(correlation + _N_ERRORS * np.sqrt(_OF_RANKS / (n_units - 3)) < 0)


def find_assignment(labels, answers, n_classes, units, rng):
    """Find an assignment of answers to labels that fits members better than their own labels.

    It is found on one half of the members and tested on the other.

    Return moved: the answer that takes the place of each label that another one fits better; empty
    if there is none. None if fewer than two classes have enough members.
    """
    units = np.unique(units, return_inverse=True)[1]
    first = (rng.permutation(units.max() + 1) % 2 == 0)[units]
    halves = first, ~first
    counts = np.stack([np.bincount(labels[half], minlength=n_classes) for half in halves])
    known = np.flatnonzero((counts >= _FEWEST).all(axis=0))
    if len(known) < 2:
        return None
    # Numbers of the known classes; the last one is for answers of another class.
    codes = np.full(n_classes, len(known))
    codes[known] = np.arange(len(known))
    is_known = codes[labels] < len(known)
    halves = [half & is_known for half in halves]
    labels, answers = codes[labels], codes[answers]
    recalls = _measure_recalls(labels[halves[0]], answers[halves[0]], len(known))
    best = linear_sum_assignment(-recalls[:, :-1])[1]
    own = np.flatnonzero(best != np.arange(len(known)))
    if recalls[own, best[own]].sum() <= recalls[own, own].sum():
        return {}
    gain, error = _test_assignment(*(one[halves[1]] for one in (labels, answers, units)), own, best)
    if gain - _N_ERRORS * error <= _GAIN:
        return {}
    return dict(zip(known[own].tolist(), known[best[own]].tolist(), strict=True))


def _measure_recalls(labels, answers, n_classes):
    """Share of the members with each label that have each answer, moved away from 0 and 1."""
    shape = n_classes, n_classes + 1
    pairs = np.bincount(labels * shape[1] + answers, minlength=shape[0] * shape[1]).reshape(shape)
    return (pairs + 0.5) / (pairs.sum(axis=1, keepdims=True) + 0.5 * n_classes)


def _test_assignment(labels, answers, units, own, best):
    """Return the mean gain in recall over the moved classes, with the standard error of units."""
    totals = np.bincount(labels)
    recalls = _measure_recalls(labels, answers, len(best))
    better, worse = recalls[own, best[own]], recalls[own, own]
    # Of records: never 0, because recalls are moved away from 0 and 1.
    variance = ((better + worse - (better - worse) ** 2) / totals[own]).sum()
    turns = (answers == best[labels]).astype(float) - (answers == labels)
    means = np.bincount(labels, turns) / totals
    parts = np.where(np.isin(labels, own), turns - means[labels], 0) / totals[labels]
    variance = max(variance, (np.bincount(units, parts) ** 2).sum())
    return float((better - worse).mean()), float(np.sqrt(variance) / len(own))


def describe_assignment(moved, labels, answers, classes):
    """Name the answer that takes the place of each label, with its share among all members."""
    parts = []
    for label, answer in moved.items():
        share = np.mean(answers[labels == label] == answer)
        name, other = (visible(str(classes[one])) for one in (label, answer))
        parts.append(f"with label {name}, {tell_percent(share)} are predicted as {other}")
    shown = ", and of those ".join(parts[:_MOST_NAMED])
    more = (
        f"; the same holds for {count_more(len(parts) - _MOST_NAMED, 'label')}"
        if len(parts) > _MOST_NAMED
        else ""
    )
    return f"Of the members {shown}{more}."
