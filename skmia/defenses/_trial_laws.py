"""Laws of the number of trials of a private search, and what the best of them costs.

A search that releases the best of a fixed number of trials costs about the sum of them. Where the
number is random and secret, it costs little more than two or three (Papernot and Steinke, 2022).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from .._core.accountant import ORDERS, find_delta

# A uniform number of 53 bits does not reach further into the tail of a law than this.
_LEAST_TAIL = 2.0**-54


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
    def gamma(self):
        """Parameter of the law at its mean."""
        low, high = -0.5, -1e-9
        while self._compute_mean(low) < self.mean:
            low *= 2
        return float(np.exp(brentq(lambda log: self._compute_mean(log) - self.mean, low, high)))

    def _compute_mean(self, log_gamma):
        """Return the mean number of trials at the logarithm of gamma."""
        rest = -np.expm1(log_gamma)
        if self.eta == 0:
            return rest / (-log_gamma * np.exp(log_gamma))
        return self.eta * rest / (np.exp(log_gamma) * -np.expm1(self.eta * log_gamma))

    def draw(self, uniform):
        """Return the number of trials for a uniform number in [0, 1)."""
        log_gamma, rest = np.log(self.gamma), 1 - self.gamma
        share = rest / -log_gamma
        if self.eta != 0:
            share = self.eta * rest / np.expm1(-self.eta * log_gamma)
        n_trials, left = 1, 1 - uniform - share
        while left > 0 and share > _LEAST_TAIL:
            share *= rest * (n_trials + self.eta) / (n_trials + 1)
            n_trials, left = n_trials + 1, left - share
        return n_trials

    def spend(self, divergences):
        """Rényi divergences of the best of all trials from those of one, of shape (n_orders,).

        Theorem 2; its second order may be any, so the best of all is taken.
        """
        again = (1 - 1 / ORDERS) * divergences - np.log(self.gamma) / ORDERS
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

    def draw(self, uniform):
        """Return the number of trials for a uniform number in [0, 1)."""
        share = np.exp(-self.mean)
        n_trials, left = 0, 1 - uniform - share
        while left > 0 and (share > _LEAST_TAIL or n_trials < self.mean):
            n_trials += 1
            share *= self.mean / n_trials
            left -= share
        return n_trials

    def spend(self, divergences):
        """Rényi divergences of the best of all trials from those of one, of shape (n_orders,).

        Theorem 6: one trial is (epsilon, delta)-private with exp(epsilon) = 1 + 1 / (order - 1).
        """
        delta = find_delta(divergences, np.log1p(1 / (ORDERS - 1)))
        return divergences + self.mean * delta + np.log(self.mean) / (ORDERS - 1)
