"""Votes of many classifiers with normal noise, and what one vote can change in the answers.

One training row changes the vote of one classifier, from one class to another: two counts by 1,
which is sqrt(2) in the Euclidean norm, and the largest count by 1.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, logsumexp

from .._core.accountant import ORDERS
from ._exact_noise import choose_grids

# Share of the squared shift of all answers that the noise on the largest counts may have.
_SHARE_OF_CHECKS = 1 / 3


@dataclass(frozen=True)
class VotingNoise:
    """Standard deviations of the noise on counts of votes.

    The noise is normal, rounded to steps of at most one vote (``rounded_normal`` in
    ``_exact_noise.py``). Of equal noisy counts, the first class wins.

    Parameters
    ----------
    of_answers : float
        On the counts of each class.
    of_checks : float
        On the largest count, which decides whether a question is answered; infinite if every
        question is.
    """

    of_answers: float
    of_checks: float = math.inf

    @classmethod
    def spread(cls, noise_multiplier, n_answers, n_checks):
        """Return the noise whose answers and checks cost as much as one release with a multiplier.

        Normal releases compose exactly: the squares of shift over noise add up.
        """
        if not n_checks:
            return cls(noise_multiplier * math.sqrt(2 * n_answers))
        of_answers = noise_multiplier * math.sqrt(2 * n_answers / (1 - _SHARE_OF_CHECKS))
        return cls(of_answers, noise_multiplier * math.sqrt(n_checks / _SHARE_OF_CHECKS))

    def answer(self, counts, threshold, most, randomness):
        """Return the class of the largest noisy count of each question, and -1 without an answer.

        Parameters
        ----------
        counts : ndarray of shape (n_questions, n_classes)
            Numbers of votes.
        threshold : float
            Number of votes that the largest noisy count must reach; ignored without checks.
        most : int
            Number of answers after which no further question is answered.
        randomness : PrivateRandomness

        Returns
        -------
        answers : ndarray of int, shape (n_questions,)
        """
        is_answered = np.ones(len(counts), dtype=bool)
        if self.of_checks < math.inf:
            largest = counts.max(axis=1)
            is_answered = _add_noise(largest, self.of_checks, randomness) >= threshold
        is_answered &= np.cumsum(is_answered) <= most
        answers = np.full(len(counts), -1)
        answers[is_answered] = _add_noise(counts[is_answered], self.of_answers, randomness).argmax(
            axis=1
        )
        return answers

    def bound_divergences(self, counts, threshold, most, answers):
        """Return the Rényi divergences of given answers to given votes, shape (n_orders,).

        They are smaller than those of any votes where most classifiers agree, and depend on the
        training rows themselves (Papernot et al., 2018, theorem 6 and proposition 7). A question
        that was withheld costs its check; those after the last of ``most`` answers cost nothing.
        """
        is_answered = answers >= 0
        total = np.zeros(len(ORDERS))
        if self.of_checks < math.inf:
            # As many answers came before each question.
            is_checked = np.cumsum(is_answered) - is_answered < most
            margin = (counts[is_checked].max(axis=1) - threshold) / self.of_checks
            total += _bound_each(log_ndtr(-np.abs(margin)), self.of_checks * math.sqrt(2))
        return total + _bound_each(
            _log_other_classes(counts[is_answered], self.of_answers), self.of_answers
        )


def _add_noise(counts, deviation, randomness):
    """Return counts with normal noise rounded to a grid of which whole numbers are multiples."""
    if deviation == 0 or not counts.size:
        return counts
    scales = np.full(counts.size, float(deviation))
    grids = np.minimum(choose_grids(scales), 1.0)
    noise = randomness.noise_in_steps(scales, grids).reshape(counts.shape)
    return (counts / grids[0] + noise) * grids[0]


def _log_other_classes(counts, deviation):
    """Return the logarithm of a bound of the probability that not the largest count wins."""
    rows = np.arange(len(counts))
    best = counts.argmax(axis=1)
    behind = counts[rows, best][:, None] - counts
    logs = log_ndtr(-behind / (math.sqrt(2) * deviation))
    logs[rows, best] = -np.inf
    return np.minimum(logsumexp(logs, axis=1), math.log1p(-1 / counts.shape[1]))


def _bound_each(log_others, scale):
    """Return the sum of the divergences of releases that cost order / scale**2 at most.

    log_others (n,): logarithms of the probability of anything but the likeliest result.
    """
    log_q, orders = np.maximum(log_others, -700.0)[:, None], ORDERS[None, :]
    plain = np.broadcast_to(orders / scale**2, (len(log_q), len(ORDERS)))
    second = scale * np.sqrt(-log_q)
    first = second + 1
    costs_first, costs_second = first / scale**2, second / scale**2
    with np.errstate(all="ignore"):
        holds = (second > 1) & (orders <= first) & (-log_q > costs_second)
        holds &= log_q <= (second - 1) * costs_second - second * (
            np.log1p(1 / (first - 1)) + np.log1p(1 / (second - 1))
        )
        log_rest = np.log1p(-np.exp(log_q))
        likely = log_rest - np.log1p(-np.exp((log_q + costs_second) * (1 - 1 / second)))
        others = costs_first - log_q / (first - 1)
        both = np.logaddexp(log_rest + (orders - 1) * likely, log_q + (orders - 1) * others)
        bound = np.minimum(plain, np.maximum(both / (orders - 1), 0))
    return np.where(holds, bound, plain).sum(axis=0)
