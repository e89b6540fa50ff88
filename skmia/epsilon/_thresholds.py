"""Valid choices of the threshold on scores."""

from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from .._core.checks import check_finite_vector
from .._core.numbers import show
from .._core.randomness import check_random_state
from ..metrics import clopper_pearson

N_SPLITS = 100


class Choice(NamedTuple):
    """The largest bound, at which threshold, and what was counted there."""

    value: float
    threshold: float | None
    counts: dict


class Sides(NamedTuple):
    """Scores of runs with and without the canary, each in ascending order."""

    members: np.ndarray
    others: np.ndarray

    @classmethod
    def of(cls, membership, scores):
        return cls(np.sort(scores[membership]), np.sort(scores[~membership]))

    def errors(self, thresholds):
        """False positives and false negatives where the guess is "member" from a threshold on."""
        false_positives = len(self.others) - np.searchsorted(self.others, thresholds)
        return false_positives, np.searchsorted(self.members, thresholds)

    def candidates(self):
        """Thresholds between neighboring scores, and one above all."""
        scores = np.unique(np.concatenate(self))
        return np.append(scores[:1], np.append(scores[:-1] / 2 + scores[1:] / 2, np.inf))

    def count(self, threshold):
        """What a threshold makes of the runs."""
        false_positives, false_negatives = (int(n) for n in self.errors(threshold))
        return {
            "true_positives": len(self.members) - false_negatives,
            "false_positives": false_positives,
            "n_members": len(self.members),
            "n_nonmembers": len(self.others),
        }

    def halve(self, rng):
        """Two random halves of both sides."""
        orders = [rng.permutation(len(side)) for side in self]
        halves = []
        for part in (slice(0, None, 2), slice(1, None, 2)):
            chosen = (side[np.sort(o[part])] for side, o in zip(self, orders, strict=True))
            halves.append(Sides(*chosen))
        return halves


@lru_cache(maxsize=32)
def upper_limits(n_trials, tail):
    """Clopper-Pearson upper limits for 0 to n_trials errors, each too low with probability tail."""
    errors = np.arange(n_trials + 1)
    _, high = clopper_pearson(errors, n_trials, confidence_level=1 - 2 * tail)
    high.flags.writeable = False
    return high


def _measure_all(sides, thresholds, measure, tail):
    false_positives, false_negatives = sides.errors(thresholds)
    fpr = upper_limits(len(sides.others), tail)[false_positives]
    fnr = upper_limits(len(sides.members), tail)[false_negatives]
    return measure(fpr, fnr)


def best_threshold(sides, thresholds, measure, tail):
    """The threshold with the largest bound, each limit too low with probability tail."""
    values = _measure_all(sides, thresholds, measure, tail)
    best = values.argmax()
    threshold = float(thresholds[best])
    return Choice(float(values[best]), threshold, sides.count(threshold))


def _at_all(sides, measure, alpha, rng):
    # At a threshold with j false positives, the rate is at most the rate above the order statistic
    # of rank j + 1. The limit follows from the distribution of the latter: one statement per count,
    # for all thresholds.
    n_statements = len(sides.members) + len(sides.others)
    return best_threshold(sides, sides.candidates(), measure, alpha / n_statements)


def _at_split(sides, measure, alpha, rng):
    chosen_on, judged_on = sides.halve(rng)
    threshold = best_threshold(chosen_on, chosen_on.candidates(), measure, alpha / 2).threshold
    return best_threshold(judged_on, np.array([threshold]), measure, alpha / 2)


def _at_many_splits(sides, measure, alpha, rng):
    # Half of the bounds are too high with probability 2 (alpha / 2) at most, by Markov.
    values = [_at_split(sides, measure, alpha / 2, rng).value for _ in range(N_SPLITS)]
    counts = {"n_members": len(sides.members), "n_nonmembers": len(sides.others)}
    return Choice(float(np.sort(values)[(N_SPLITS - 1) // 2]), None, counts)


def _at_given(thresholds, sides, measure, alpha, rng):
    return best_threshold(sides, thresholds, measure, alpha / 2 / len(thresholds))


_STRATEGIES = {"bonferroni": _at_all, "split": _at_split, "multisplit": _at_many_splits}


def get_strategy(threshold):
    """The way to a threshold that a parameter asks for.

    Raises
    ------
    ValueError
        If there is none of that name, or a number is not finite.
    """
    if isinstance(threshold, str):
        if threshold not in _STRATEGIES:
            raise ValueError(
                "threshold must be a number, an array of numbers, or one of "
                f"{', '.join(map(repr, _STRATEGIES))}; got {show(threshold)}."
            )
        return _STRATEGIES[threshold]
    given = check_finite_vector(np.atleast_1d(threshold), "threshold")
    if not len(given):
        raise ValueError("threshold must hold at least one number; got none.")
    return partial(_at_given, np.unique(given))


def describe_threshold(threshold):
    """How the threshold was chosen, in words."""
    words = {
        "bonferroni": "corrected for all thresholds",
        "split": "chosen on half of the runs",
        "multisplit": "chosen on half of the runs, median of 100 splits",
    }
    return words[threshold] if isinstance(threshold, str) else "given in advance"


def choose_threshold(membership, scores, measure, threshold, confidence_level, random_state):
    """The largest bound that a threshold gives, valid at a level of confidence.

    Parameters
    ----------
    membership : ndarray of shape (n,), dtype bool
        With the canary or without.
    scores : ndarray of shape (n,)
        Higher means more likely with it.
    measure : callable
        Takes arrays of upper limits of false positive and false negative rates and returns a bound
        for each pair.
    threshold : float, array-like or str
        As of :func:`epsilon_lower_bound`.
    confidence_level : float
        Both limits hold at once with this probability, at all thresholds that were looked at.
    random_state : int, RandomState instance or None
        Draws the halves.

    Returns
    -------
    choice : Choice
    """
    strategy = get_strategy(threshold)
    sides = Sides.of(membership, scores)
    if strategy in (_at_split, _at_many_splits) and (smallest := min(map(len, sides))) < 2:
        raise ValueError(
            f"threshold={threshold!r} needs 2 runs with the canary and 2 without; got "
            f"{smallest} of one kind."
        )
    return strategy(sides, measure, 1 - confidence_level, check_random_state(random_state))
