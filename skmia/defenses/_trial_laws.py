"""Laws of the number of trials of a private search, and what the best of them costs.

A search that releases the best of a fixed number of trials costs about the sum of them. Where the
number is random and secret, it costs little more than two or three (Papernot and Steinke, 2022).
"""

import math
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from .._core.accountant import ORDERS, find_delta

# Digits of a probability: each of the million steps may err by 1e-50.
_DIGITS = 50
# Distance of two uniform numbers of 53 bits, and half of that of two of 106: none is 0.
_UNIFORM_STEP, _HALF_STEP = Decimal(2.0**-53), Decimal(2.0**-107)


def _exact_numbers(digits):
    """Return a context whose numbers have so many digits, and exponents as small as exp(-1e6)."""
    return localcontext(Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX))


def _count_trials(first, share, compute_ratio, uniform, finer):
    """Return the number of trials whose share of the law holds a uniform number from above.

    Between two numbers of 106 bits, the law is rounded: the total variation between the law and
    what is drawn is below ``k * 2**-106 + P(more than k trials)`` for every k, so below
    ``2 * sqrt(mean) * 2**-53``, which is 2.3e-13 for a mean of a million.

    Parameters
    ----------
    first : int
        Smallest number of trials.
    share : Decimal
        Its probability.
    compute_ratio : callable
        From a number of trials to its probability over that of one trial less.
    uniform, finer : float
        Numbers in [0, 1) of 53 bits: the upper and the lower half of the uniform number.
    """
    left = 1 - Decimal(uniform) - Decimal(finer) * _UNIFORM_STEP - _HALF_STEP - share
    n_trials = first
    while left > 0:
        n_trials += 1
        share *= compute_ratio(n_trials)
        left -= share
    return n_trials


@dataclass(frozen=True)
class NegativeBinomialTrials:
    """Truncated negative binomial law: at least one trial; ``eta`` 1 is geometric, 0 logarithmic.

    Parameters
    ----------
    mean : float
        Mean number of trials, above 1.
    eta : float
        Shape, above -1. The smaller it is, the less a search costs and the more the number varies.
    """

    mean: float
    eta: float

    @cached_property
    def log_gamma(self):
        """Logarithm of the parameter gamma of the law at its mean."""
        goal, low, high = math.log(self.mean), -0.5, -1e-14
        while self._compute_log_mean(low) < goal:
            low *= 2
        if self._compute_log_mean(high) > goal:  # a mean of 1 up to rounding errors
            return high
        return brentq(lambda log: self._compute_log_mean(log) - goal, low, high, xtol=1e-20)

    def _compute_log_mean(self, log_gamma):
        """Return the logarithm of the mean number of trials at the logarithm of gamma."""
        power = -abs(self.eta * log_gamma)
        bend = power / math.expm1(power) if power else 1.0
        rest = math.log(bend * math.expm1(log_gamma) / log_gamma)
        return rest - log_gamma * (1 + min(self.eta, 0))

    def draw(self, uniform, finer=0.0):
        """Return the number of trials for a uniform number in [0, 1) and its further bits."""
        eta, log_gamma = Decimal(self.eta), Decimal(self.log_gamma)
        # gamma**-eta - 1 of a small eta loses as many digits as eta has zeros.
        with _exact_numbers(_DIGITS - min(0, eta.adjusted())):
            rest = 1 - log_gamma.exp()
            share = rest / -log_gamma if not eta else eta * rest / ((-eta * log_gamma).exp() - 1)
            return _count_trials(1, share, lambda k: rest * (k - 1 + eta) / k, uniform, finer)

    def spend(self, divergences):
        """Rényi divergences of the best of all trials from those of one, of shape (n_orders,).

        Theorem 2; its second order may be any, so the best of all is taken.
        """
        again = (1 - 1 / ORDERS) * divergences - self.log_gamma / ORDERS
        return divergences + (1 + self.eta) * again.min() + np.log(self.mean) / (ORDERS - 1)


@dataclass(frozen=True)
class PoissonTrials:
    """Poisson law of the number of trials, which can be 0.

    Parameters
    ----------
    mean : float
        Mean number of trials.
    """

    mean: float

    def draw(self, uniform, finer=0.0):
        """Return the number of trials for a uniform number in [0, 1) and its further bits."""
        mean = Decimal(self.mean)
        with _exact_numbers(_DIGITS):
            return _count_trials(0, (-mean).exp(), lambda k: mean / k, uniform, finer)

    def spend(self, divergences):
        """Rényi divergences of the best of all trials from those of one, of shape (n_orders,).

        Theorem 6: one trial is (epsilon, delta)-private with exp(epsilon) = 1 + 1 / (order - 1).
        """
        delta = find_delta(divergences, np.log1p(1 / (ORDERS - 1)))
        return divergences + self.mean * delta + np.log(self.mean) / (ORDERS - 1)
