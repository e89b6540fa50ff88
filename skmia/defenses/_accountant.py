"""What noisy gradient steps on Poisson samples cost, as opacus accounts for it."""

import math
import warnings
from contextlib import contextmanager

import numpy as np

from ..utils._optional import import_optional

# The orders of opacus, and larger ones for much noise: its own end at 63.
_ORDERS = [1 + tenths / 10 for tenths in range(1, 100)] + [*range(12, 64)]
_ORDERS += [64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1000]


def make_accountant(name):
    """An accountant of opacus that has seen nothing yet."""
    return import_optional("opacus.accountants", "dp").create_accountant(mechanism=name)


def spent_epsilon(accountant, delta):
    """Epsilon of the steps that an accountant has seen; infinite with a step without noise."""
    if not accountant.history:
        return 0.0
    if any(noise == 0 for noise, _, _ in accountant.history):
        return math.inf
    with _without_false_alarms():
        return float(accountant.get_epsilon(delta, **_settings(accountant.mechanism())))


def find_noise_multiplier(epsilon, delta, sample_rate, n_steps, accountant):
    """The smallest noise multiplier, to a hundredth of epsilon, that stays within a budget."""
    utils = import_optional("opacus.accountants.utils", "dp")
    try:
        with _without_false_alarms():
            return utils.get_noise_multiplier(
                target_epsilon=epsilon,
                target_delta=delta,
                sample_rate=sample_rate,
                steps=n_steps,
                accountant=accountant,
                epsilon_tolerance=min(0.01, epsilon / 100),
                **_settings(accountant),
            )
    except ValueError as error:
        raise ValueError(
            f"No noise brings {n_steps} steps at a sampling rate of {sample_rate:.3g} to "
            f"target_epsilon={epsilon} at delta={delta:.3g}; allow more, or train for less."
        ) from error


def _settings(name):
    return {"alphas": _ORDERS} if name == "rdp" else {}


@contextmanager
def _without_false_alarms():
    # At the first or last order the bound is valid, only not the best there could be. With all rows
    # in each step, opacus takes the logarithm of 0 where minus infinity is what is meant.
    with warnings.catch_warnings(), np.errstate(divide="ignore"):
        warnings.filterwarnings("ignore", "Optimal order is the")
        yield
