"""Privacy accounting of noisy gradient steps on Poisson samples, by opacus.

Neighbors differ by one row that is replaced with one that contributes nothing: with one row more or
less, the rate, the number of steps and the noise would also differ, and the accounting does not
cover two mechanisms that differ in these.
"""

import math
import warnings
from contextlib import contextmanager
from functools import lru_cache

import numpy as np

from .optional import import_optional

# The orders of opacus, and larger ones for much noise: its own end at 63.
_ORDERS = [1 + tenths / 10 for tenths in range(1, 100)] + [*range(12, 64)]
_ORDERS = (*_ORDERS, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1000)
ORDERS = np.array(_ORDERS, dtype=np.float64)

# Largest noise of the search, and its maximum number of trials.
_MOST_NOISE, _MOST_TRIALS = 1e6, 60

# Squares of noise beyond this, and of one over it, come near the ends of double precision.
_MOST_COUNTED = 1e100


def spent_epsilon(history, delta, name):
    """Compute epsilon of a number of steps."""
    # -> epsilon: at least 0; infinite with a step without noise, or with next to none
    # More noise than can be computed with costs no more than a little less of it.
    steps = tuple((min(noise, _MOST_COUNTED), rate, n) for noise, rate, n in history if n)
    if not steps:
        return 0.0
    if any(noise < 1 / _MOST_COUNTED for noise, _, _ in steps):
        return math.inf
    epsilon = _ask("rdp", steps, delta, alphas=_ORDERS)
    if name == "prv" and epsilon > 0:
        epsilon = min(epsilon, _ask_prv(steps, delta, error=_error_at(epsilon)))
    return epsilon


def _error_at(epsilon):
    """Numerical error that costs little of an epsilon, and little time."""
    return max(1e-4, min(0.01, epsilon / 100), epsilon / 1000)


def _ask_prv(steps, delta, error):
    try:
        return _ask("prv", steps, delta, eps_error=error)
    except (MemoryError, RuntimeError, ValueError):  # no grid of its own fits these steps
        return math.inf


# Each model of a pool and each fold of a search asks for the same steps, which takes longer than to
# train a small net.
@lru_cache(maxsize=256)
def _ask(name, steps, delta, **settings):
    accountant = import_optional("opacus.accountants", "dp").create_accountant(mechanism=name)
    accountant.history = list(steps)
    with _without_false_alarms():
        epsilon = float(accountant.get_epsilon(delta, **settings))
    # Where delta alone covers what the steps show, opacus goes below 0; prv can end in NaN.
    return math.inf if math.isnan(epsilon) else max(0.0, epsilon)


def compute_divergences(history):
    """Rényi divergences of a number of steps at the orders, shape (n_orders,)."""
    rdp = import_optional("opacus.accountants.analysis.rdp", "dp")
    total = np.zeros(len(_ORDERS))
    for noise, rate, n_steps in history:
        if n_steps and noise < 1 / _MOST_COUNTED:
            return np.full(len(_ORDERS), np.inf)
        if n_steps:
            settings = {"q": rate, "noise_multiplier": min(noise, _MOST_COUNTED), "steps": n_steps}
            with _without_false_alarms():
                total += np.nan_to_num(rdp.compute_rdp(**settings, orders=_ORDERS), nan=np.inf)
    return total


def convert_divergences(divergences, delta):
    """Epsilon of Rényi divergences at the orders; at least 0, infinite if they are."""
    with np.errstate(over="ignore", invalid="ignore"):
        own = np.log1p(-1 / ORDERS) - (np.log(delta) + np.log(ORDERS)) / (ORDERS - 1)
    return max(0.0, float(np.min(divergences + own)))


def find_delta(divergences, epsilon):
    """The smallest delta at which Rényi divergences at the orders show an epsilon."""
    # epsilon (...,) -> delta (...,)
    epsilon = np.asarray(epsilon, dtype=np.float64)[..., None]
    with np.errstate(over="ignore"):
        logs = (ORDERS - 1) * (divergences - epsilon + np.log1p(-1 / ORDERS)) - np.log(ORDERS)
        return np.minimum(1.0, np.exp(logs.min(axis=-1)))


def choose_noise_multiplier(epsilon, delta, sample_rate, n_steps, name):
    """Find the smallest noise multiplier, to a hundredth of epsilon, that stays within a budget."""

    def search(cost, noise):
        low, high = 0.0, np.inf
        for _ in range(_MOST_TRIALS):
            spent = cost(noise)
            low, high = (low, noise) if spent <= epsilon else (noise, high)
            if 0.99 * epsilon <= spent <= epsilon or low >= _MOST_NOISE:
                break
            # Epsilon falls about as noise rises.
            noise = min(noise * spent / (0.995 * epsilon), _MOST_NOISE)
            if not low < noise < high:
                noise = (low + high) / 2 if high < np.inf else 2 * low
        return high

    steps = sample_rate, n_steps
    noise = search(lambda z: spent_epsilon([(z, *steps)], delta, "rdp"), 1.0)
    if name == "prv":
        error, start = _error_at(epsilon), min(noise, _MOST_NOISE)
        noise = min(noise, search(lambda z: _ask_prv(((z, *steps),), delta, error), start))
    if noise == np.inf:
        raise ValueError(
            f"No noise brings {n_steps} steps at a sampling rate of {sample_rate:.3g} to "
            f"target_epsilon={epsilon} at delta={delta:.3g}; allow more, or train for less."
        )
    return noise


@contextmanager
def _without_false_alarms():
    # At the first or last order the bound is valid, only not the best there could be. With all rows
    # in each step, opacus takes the logarithm of 0 where minus infinity is what is meant.
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        warnings.filterwarnings("ignore", "Optimal order is the")
        yield
