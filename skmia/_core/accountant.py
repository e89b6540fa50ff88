"""Privacy accounting of noisy gradient steps on Poisson samples, as opacus does it.

Neighbors differ by one row that is replaced with one that contributes nothing: with one row more or
less, the rate, the number of steps and the noise would also differ, and the accounting does not
cover two mechanisms that differ in these.
"""

import math
import warnings
from contextlib import contextmanager
from functools import cache, lru_cache

import numpy as np
from scipy.special import binom, log_ndtr

from .optional import import_optional
from .tradeoff import privacy_budget

# The orders of opacus, and larger ones for much noise: its own end at 63.
_ORDERS = [1 + tenths / 10 for tenths in range(1, 100)] + [*range(12, 64)]
_ORDERS = (*_ORDERS, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1000)
ORDERS = np.array(_ORDERS, dtype=np.float64)
_WHOLE = [int(order) for order in _ORDERS if order == int(order)]
_BROKEN = [order for order in _ORDERS if order != int(order)]

# Largest noise of the search, its maximum number of trials, and those before it halves.
_MOST_NOISE, _MOST_TRIALS, _FIRST_TRIALS = 1e6, 60, 10

# Squares of noise beyond this, and of one over it, come near the ends of double precision.
_MOST_COUNTED = 1e100

# Of the exact privacy of normal noise: the share of the shift, times 1 + 1 / epsilon, that pays for
# terms that cancel, the range of epsilon in which that is enough, and the total variation between a
# release of up to MOST_COLUMNS columns with the discrete law and one with the normal law.
_CANCELLED, _LEAST_EXACT, _MOST_EXACT = 3e-14, 1e-6, 30.0
MOST_COLUMNS = 10**6
_LAW_DISTANCE = 7e-26 * MOST_COLUMNS


# Distributions of the privacy loss of more steps than this take minutes.
_MOST_PRV_STEPS = 10**6


def spent_epsilon(history, delta, name, pure=(), curves=()):
    """Compute epsilon of a number of steps, and of releases with an epsilon and no delta.

    history: noise, rate and number of steps; pure: epsilon and number of releases; curves: Rényi
    divergences of searches at the orders.

    Return epsilon: at least 0; infinite with a step without noise, or with next to none.
    """
    steps = _add_up_steps(history)
    if any(noise < 1 / _MOST_COUNTED for noise, _, _ in steps):
        return math.inf
    # Of releases without a delta the epsilons add up as well, which is less for few of them.
    alone = math.fsum(epsilon * n for epsilon, n in pure)
    curve = sum((n * np.array(_step_curve(noise, rate)) for noise, rate, n in steps), np.zeros(1))
    curve = sum(curves, curve)
    of_steps = convert_divergences(curve, delta) if steps or curves else 0.0
    epsilon = alone + of_steps
    if pure:
        curve = curve + sum(n * _pure_curve(epsilon) for epsilon, n in pure)
        epsilon = min(epsilon, convert_divergences(curve, delta))
    if name == "prv" and of_steps > 0 and not curves:
        epsilon = min(epsilon, alone + _ask_prv(steps, delta, error=_error_at(of_steps)))
    return epsilon


def _add_up_steps(history):
    """Return the steps of the same noise and rate together, none without a step."""
    numbers = {}
    for noise, rate, n in history:
        # More noise than can be computed with costs no more than a little less of it.
        key = min(noise, _MOST_COUNTED), rate
        numbers[key] = numbers.get(key, 0) + n
    return tuple((*key, n) for key, n in numbers.items() if n)


# Each model of a pool and each fold of a search asks for the same steps, which takes longer than to
# train a small net.
@lru_cache(maxsize=4096)
def _step_curve(noise, rate):
    """Return the Rényi divergence of a step at each order."""
    if rate == 1:
        return tuple(order / (2 * noise**2) for order in _ORDERS)
    whole = zip(_WHOLE, _sum_whole_orders(noise, rate), strict=True)
    broken = zip(_BROKEN, _sum_broken_orders(noise, rate), strict=True)
    logs = {**dict(whole), **dict(broken)}
    return tuple(logs[order] / (order - 1) for order in _ORDERS)


# The sums of Mironov et al. (2019, section 3.3), term by term as opacus adds them up, so that the
# last bits are the same. It asks scipy for the parts of each term alone, which takes many times as
# long where the series of an order has thousands of terms.


def _sum_whole_orders(noise, rate):
    """Return the logarithm of A, by the binomial theorem, at each order that is a whole number."""
    found = []
    for order, coefs in zip(_WHOLE, _list_whole_coefs(), strict=True):
        i = np.arange(order + 1)
        logs = coefs + i * math.log(rate) + (order - i) * math.log(1 - rate)
        total = -math.inf
        for term in (logs + (i * i - i) / (2 * noise**2)).tolist():
            total = _add_logs(total, term)
        found.append(total)
    return found


def _sum_broken_orders(noise, rate):
    """Return the logarithm of A, by a series for each side of the middle, at the other orders."""
    sums = dict.fromkeys(_BROKEN, (-math.inf, -math.inf))
    left, start, stop = _BROKEN, 0, 32
    while left:
        going_on = []
        for order, *terms in zip(left, *_list_terms(left, start, stop, noise, rate), strict=True):
            below, above = sums[order]
            for is_added, one, other in zip(*terms, strict=True):
                combine = _add_logs if is_added else _subtract_logs
                below, above = combine(below, one), combine(above, other)
                if one < -30 and other < -30:
                    break
            else:
                going_on.append(order)
            sums[order] = below, above
        left, start, stop = going_on, stop, 4 * stop
    return [_add_logs(*sums[order]) for order in _BROKEN]


def _list_terms(orders, start, stop, noise, rate):
    """Return which terms of the series are positive, and the logarithms of those of each side."""
    signs, coefs = _list_broken_coefs(tuple(orders), start, stop)
    i = np.arange(start, stop)
    j = np.array(orders)[:, None] - i
    middle = noise**2 * math.log(1 / rate - 1) + 0.5
    sides = []
    for n_with, n_without, gap in ((i, j, i - middle), (j, i, middle - j)):
        logs = coefs + n_with * math.log(rate) + n_without * math.log(1 - rate)
        tails = math.log(2) + log_ndtr(-(gap / (math.sqrt(2) * noise)) * 2**0.5)
        moved = (n_with * n_with - n_with) / (2 * noise**2)
        sides.append((logs + moved + (math.log(0.5) + tails)).tolist())
    return signs, *sides


@cache
def _list_whole_coefs():
    """Return the logarithms of the binomial coefficients of each whole order."""
    return [[math.log(one) for one in binom(order, range(order + 1))] for order in _WHOLE]


@lru_cache(maxsize=16)
def _list_broken_coefs(orders, start, stop):
    """Return which binomial coefficients of orders are positive, and their logarithms."""
    coefs = binom(np.array(orders)[:, None], np.arange(start, stop))
    return (coefs > 0).tolist(), np.array([[*map(math.log, row)] for row in np.abs(coefs)])


def _add_logs(one, other):
    if one < other:
        one, other = other, one
    return one if other == -math.inf else math.log1p(math.exp(other - one)) + one


def _subtract_logs(one, other):
    if other == -math.inf or one == other:
        return one if other == -math.inf else -math.inf
    try:
        return math.log(math.expm1(one - other)) + other
    except OverflowError:
        return one


def _pure_curve(epsilon):
    """Return the largest Rényi divergence at each order of a release with an epsilon and no delta.

    It is that of randomized response (Bun and Steinke, 2016), and at most order * epsilon**2 / 2.
    """
    orders = ORDERS
    most = np.minimum(epsilon, orders * epsilon**2 / 2)
    if epsilon < 0.01:  # where the terms below cancel, and it is next to that
        return most
    both = np.logaddexp((orders - 1) * epsilon, -orders * epsilon) - np.log1p(np.exp(-epsilon))
    return np.minimum(most, both / (orders - 1))


def convert_divergences(curve, delta):
    """Return the epsilon at delta of Rényi divergences at all orders (Balle et al., 2020)."""
    orders = ORDERS
    found = curve - np.log(delta * orders) / (orders - 1) + np.log1p(-1 / orders)
    # Where delta alone covers what the steps show, it goes below 0.
    return math.inf if np.isnan(found).all() else max(0.0, float(np.nanmin(found)))


def total_epsilon(steps, releases, pure, delta, name, curves=()):
    """Compute epsilon of steps of trainings and of releases of mechanisms together.

    steps: noise, rate and number; releases: noise of the discrete normal law, and number; curves:
    Rényi divergences of searches at the orders.
    """
    history = [*steps, *((noise, 1, n) for noise, n in releases)]
    bound = spent_epsilon(history, delta, "rdp", pure, curves)
    # Rényi divergences of the discrete law are those of the normal one. Other accounting is about
    # the normal law, and the distance between the two is taken off delta.
    n_releases = sum(n for _, n in releases)
    if bound > _MOST_EXACT or not history or curves:
        return bound
    left = delta - _LAW_DISTANCE * n_releases * (1 + math.exp(bound))
    if left <= 0:
        return bound
    if not steps:  # then all are one release with less noise
        shift = math.sqrt(math.fsum(n / min(noise, _MOST_COUNTED) ** 2 for noise, n in releases))
        exact = max(_LEAST_EXACT, float(privacy_budget(left, shift)))
        exact = float(privacy_budget(left, shift * (1 + _CANCELLED * (1 + 1 / exact))))
        alone = math.fsum(epsilon * n for epsilon, n in pure)
        return min(bound, alone + max(_LEAST_EXACT, exact))
    return min(bound, spent_epsilon(history, left, name, pure))


def _error_at(epsilon):
    """Return the numerical error that costs little of an epsilon, and little time."""
    return max(1e-4, min(0.01, epsilon / 100), epsilon / 1000)


def _ask_prv(steps, delta, error):
    if sum(n for _, _, n in steps) > _MOST_PRV_STEPS:
        return math.inf
    try:
        return _ask_accountant("prv", steps, delta, eps_error=error)
    except (MemoryError, RuntimeError, ValueError):  # no grid of its own fits these steps
        return math.inf


@lru_cache(maxsize=256)
def _ask_accountant(name, steps, delta, **settings):
    accountant = import_optional("opacus.accountants", "dp").create_accountant(mechanism=name)
    accountant.history = list(steps)
    with _without_false_alarms():
        epsilon = float(accountant.get_epsilon(delta, **settings))
    # Where delta alone covers what the steps show, opacus goes below 0; prv can end in NaN.
    return math.inf if math.isnan(epsilon) else max(0.0, epsilon)


def compute_divergences(history):
    """Return the Rényi divergences of a number of steps at the orders, shape (n_orders,)."""
    steps = _add_up_steps(history)
    if any(noise < 1 / _MOST_COUNTED for noise, _, _ in steps):
        return np.full(len(_ORDERS), np.inf)
    return sum((n * np.array(_step_curve(noise, rate)) for noise, rate, n in steps), 0 * ORDERS)


def find_delta(divergences, epsilon):
    """Return the smallest delta at which Rényi divergences at the orders show an epsilon.

    Take epsilon of shape (...,); return delta of shape (...,).
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)[..., None]
    with np.errstate(over="ignore"):
        logs = (ORDERS - 1) * (divergences - epsilon + np.log1p(-1 / ORDERS)) - np.log(ORDERS)
        return np.minimum(1.0, np.exp(logs.min(axis=-1)))


def choose_noise_multiplier(epsilon, delta, sample_rate, n_steps, name):
    """Find the smallest noise multiplier, to a hundredth of epsilon, that stays within a budget."""
    steps = sample_rate, n_steps
    noise = _search_noise(lambda z: spent_epsilon([(z, *steps)], delta, "rdp"), epsilon, 1.0)
    if name == "prv":
        error, start = _error_at(epsilon), min(noise, _MOST_NOISE)
        found = _search_noise(lambda z: _ask_prv(((z, *steps),), delta, error), epsilon, start)
        noise = min(noise, found)
    if noise == np.inf:
        raise ValueError(_say_unreachable(epsilon, delta, sample_rate, n_steps, name))
    return noise


def _search_noise(cost, epsilon, noise):
    """Search from a noise for one whose cost is epsilon or little less; infinity without one."""
    low, high = 0.0, np.inf
    for trial in range(_MOST_TRIALS):
        spent = cost(noise)
        low, high = (low, noise) if spent <= epsilon else (noise, high)
        if 0.99 * epsilon <= spent <= epsilon or low >= _MOST_NOISE:
            break
        # Epsilon falls about as noise rises; where it falls faster, the steps hardly shrink.
        noise = min(noise * spent / (0.995 * epsilon), _MOST_NOISE)
        if not low < noise < high or (_FIRST_TRIALS <= trial and high < np.inf):
            noise = (low + high) / 2
    return high


def _say_unreachable(epsilon, delta, sample_rate, n_steps, name):
    whose = "Rényi accounting does not show" if name == "rdp" else "Neither accountant shows"
    least = convert_divergences(np.zeros(1), delta)
    limit, cures = f"a noise multiplier of up to {_MOST_NOISE:g}", "allow more, or train for less"
    if least >= epsilon:
        limit = f"any noise, as Rényi accounting does not go below {least:.2g} at this delta"
        cures = "allow more" if name == "prv" else 'allow more, or try accountant="prv"'
    return (
        f"{whose} target_epsilon={epsilon:g} at delta={delta:.3g} for {n_steps} steps at a "
        f"sampling rate of {sample_rate:.3g} with {limit}; {cures}."
    )


@contextmanager
def _without_false_alarms():
    # At the first or last order the bound is valid, only not the best there could be. With all rows
    # in each step, opacus takes the logarithm of 0 where minus infinity is what is meant.
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        warnings.filterwarnings("ignore", "Optimal order is the")
        yield
