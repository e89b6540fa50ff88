"""Rates of success, and the risk that remains after comparison with control records."""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from ..._core.numbers import check_count, check_number

# A rate of failure below this one has no ratio.
_NO_RATE = 1e-9


class ExcessRisk(NamedTuple):
    """Risk of an attack in excess of its success on control records.

    Attributes
    ----------
    risk : float
        One minus the ratio of the rates of failure; 0 means that training records are attacked
        no better than control records, 1 that all attacks on training records succeed. NaN if no
        attack on control records fails.
    low, high : float
        Confidence limits, not cut to [0, 1].
    """

    risk: float
    low: float
    high: float


def wilson(successes, trials, confidence_level):
    """Wilson's limits of a rate; the number of successes may be an expected number."""
    if trials == 0:
        return 0.0, 1.0
    rate, z = successes / trials, norm.ppf((1 + confidence_level) / 2)
    center = rate + z**2 / (2 * trials)
    reach = z * np.sqrt(rate * (1 - rate) / trials + z**2 / (4 * trials**2))
    low, high = (center - reach, center + reach) / (1 + z**2 / trials)
    return float(max(low, 0.0)), float(min(high, 1.0))


def excess_risk(
    successes: float,
    n_attacks: int,
    control_successes: float,
    n_controls: int,
    *,
    confidence_level: float = 0.95,
) -> ExcessRisk:
    """Compare successful attacks on training records with those on control records.

    The risk is ``(p_train - p_control) / (1 - p_control)``: the share of the attacks that succeed
    because of the training, among those that fail on control records. Its interval combines
    Wilson's intervals of the two rates of failure into one of their ratio (MOVER-R).

    Parameters
    ----------
    successes : float
        Number of successful attacks on training records; where ties are broken at random, the
        expected number.
    n_attacks : int
        Number of attacks on training records.
    control_successes : float
        Number of successful attacks on control records.
    n_controls : int
        Number of attacks on control records.
    confidence_level : float, default=0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    risk : ExcessRisk
        Risk and confidence limits.

    Raises
    ------
    ValueError
        If a number of successes exceeds the number of attacks, or a number is out of range.

    References
    ----------
    Giomi, M., Boenisch, F., Wehmeyer, C. and Tasnadi, B. (2023). A unified framework for
    quantifying privacy risk in synthetic data. PoPETs.

    Donner, A. and Zou, G. Y. (2012). Closed-form confidence intervals for functions of the normal
    mean and standard deviation. Statistical Methods in Medical Research 21(4).

    Examples
    --------
    >>> from skmia.synthetic import excess_risk
    >>> found = excess_risk(300, 500, 100, 500)
    >>> print(f"{found.risk:.2f} [{found.low:.2f}, {found.high:.2f}]")
    0.50 [0.44, 0.56]
    """
    for name, n in (("n_attacks", n_attacks), ("n_controls", n_controls)):
        check_count(n, name, 0)
    for name, s, n in (
        ("successes", successes, n_attacks),
        ("control_successes", control_successes, n_controls),
    ):
        check_number(s, name, f"a number from 0 to the number of attacks, {n}", 0, n)
    check_number(confidence_level, "confidence_level", "a number in (0, 1)", 0, 1)
    if confidence_level in (0, 1):
        raise ValueError(f"confidence_level must be a number in (0, 1); got {confidence_level}.")
    if n_attacks == 0 or n_controls == 0 or control_successes >= n_controls:
        return ExcessRisk(np.nan, np.nan, np.nan)
    failed, spared = n_attacks - successes, n_controls - control_successes
    q, q0 = failed / n_attacks, spared / n_controls
    low, high = _ratio_limits(
        q,
        q0,
        wilson(failed, n_attacks, confidence_level),
        wilson(spared, n_controls, confidence_level),
    )
    return ExcessRisk(float(1 - q / q0), float(1 - high), float(1 - low))


def _ratio_limits(q, q0, limits, limits0):
    """Limits of q / q0 by the method of variance estimates recovery."""
    (l1, u1), (l0, u0) = limits, limits0
    low, high = 0.0, np.inf
    if 2 * q0 > u0:
        root = max((q * q0) ** 2 - l1 * u0 * (2 * q - l1) * (2 * q0 - u0), 0.0)
        low = (q * q0 - np.sqrt(root)) / (u0 * (2 * q0 - u0))
    if l0 >= _NO_RATE:
        root = max((q * q0) ** 2 - u1 * l0 * (2 * q - u1) * (2 * q0 - l0), 0.0)
        high = (q * q0 + np.sqrt(root)) / (l0 * (2 * q0 - l0))
    return low, high
