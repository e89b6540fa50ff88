"""Checks of the input of bounds of epsilon, and their assumptions."""

import numpy as np

from .._core.checks import check_bits, check_finite_vector
from .._core.numbers import SMALLEST, check_count, check_number, show

MULTI_RUN = (
    "runs are independent of each other; those with the canary differ from those without in the "
    "canary alone; the score of a run was fixed before the runs that it is judged on."
)
COINS = (
    "runs are independent of each other, and a fair coin decided for each of them whether it had "
    "the canary; those with the canary differ from those without in the canary alone."
)
ONE_RUN = (
    "each canary took part by an independent fair coin; scores do not depend on the coins but "
    "through what was trained."
)
GAUSSIAN = (
    "what an attacker can reach follows the trade-off curve of two normal laws, of some mu; this "
    "is a model of the mechanism and was not tested; moreover, "
)
INDEPENDENT = (
    "each canary is answered independently of the others by {family}, with the same parameter; "
    "this is a model of the mechanism and was not tested; moreover, "
)


def check_delta(delta):
    """Return delta, a number in [0, 1)."""
    return float(check_number(delta, "delta", "0 or more and below 1", 0, np.nextafter(1, 0)))


def check_choice(value, name, allowed):
    """Return the name of a method, a bound or a family."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {show(value)}.")
    return value


def choose_delta(delta, is_gaussian):
    """Return delta; a Gaussian trade-off has no finite epsilon at a delta of 0."""
    if delta is None:
        return 1e-5 if is_gaussian else 0.0
    if check_delta(delta) == 0 and is_gaussian:
        raise ValueError(
            "A Gaussian trade-off has no finite epsilon at delta=0; pass a larger one."
        )
    return float(delta)


def check_copies(n_copies):
    """Return the number of times that the canary was inserted."""
    return check_count(n_copies, "n_copies")


def check_coins(y_true, y_score):
    """Return coins and scores of canaries; the coins may by chance all be equal."""
    coins, scores = check_bits(y_true, "y_true"), check_finite_vector(y_score, "y_score")
    if len(coins) != len(scores) or not len(coins):
        raise ValueError(
            "y_true and y_score need one value for each of at least one canary; got "
            f"{len(coins)} and {len(scores)}."
        )
    return coins, scores


def noise_of_means(noise_multiplier, max_grad_norm, batch_size):
    """Standard deviation that noise on the sum of clipped gradients stands for, a root of them.

    Raises
    ------
    ValueError
        If one of the three is not a number in its range.
    """
    check_number(noise_multiplier, "noise_multiplier", "finite and 0 or more", 0)
    check_number(max_grad_norm, "max_grad_norm", "finite and above 0", SMALLEST)
    check_number(batch_size, "batch_size", "an integer of 1 or more", 1, whole=True)
    return float(noise_multiplier) * float(max_grad_norm) / float(batch_size) ** 0.5
