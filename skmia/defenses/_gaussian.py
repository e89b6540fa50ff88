"""Gaussian noise with the same standard deviation in all columns."""

from typing import Literal

import numpy as np

from .._core.checks import check_option
from .._core.numbers import check_number
from .._core.sklearn import StrOptions
from .._core.tradeoff import privacy_profile
from .._core.types import Seed
from ._exact_noise import LARGEST_SCALE, discrete_normal
from ._grid import GRID_BITS, choose_exponents
from ._mechanisms import NoiseMechanism
from .private_input import DELTA, FINITE_POSITIVE

CALIBRATION = StrOptions({"exact", "classic"})

# Below this the two terms of the privacy profile cancel in double precision. Above, they cancel in
# part: the share of a shift that is given up for it is this times 1 + 1 / epsilon, more than twice
# the largest error that was seen against 60 digits.
_LEAST_EPSILON, _CANCELLED = 1e-9, 3e-14

# Total variation between the discrete normal law and the rounded normal one, times scale**2.
_ROUNDING = 0.0202

# Share of delta that may go to the difference of these two laws.
_MOST_ROUNDING = 2.0**-10


def _check_budget(epsilon, delta, sensitivity):
    """The three numbers as floats."""
    allowed = f"finite and at least {_LEAST_EPSILON:g}"
    epsilon = check_number(epsilon, "epsilon", allowed, _LEAST_EPSILON)
    below_1 = np.nextafter(1, 0)
    delta = check_number(delta, "delta", "above 0 and below 1", np.nextafter(0, 1), below_1)
    smallest = np.nextafter(0, 1)
    sensitivity = check_number(sensitivity, "sensitivity", "finite and above 0", smallest)
    return float(epsilon), float(delta), float(sensitivity)


def _largest_shift(epsilon, delta):
    """The largest distance of two means, in standard deviations, whose profile stays at delta."""
    # The profile grows from 0 to 1 with the shift; both ends are found by doubling.
    low = high = 1.0
    while privacy_profile(epsilon, low) > delta:
        low /= 2
    while privacy_profile(epsilon, high) <= delta:
        high *= 2
    while (middle := np.sqrt(low * high)) > low and middle < high:
        if privacy_profile(epsilon, middle) <= delta:
            low = middle
        else:
            high = middle
    return low * (1 - _CANCELLED * (1 + 1 / epsilon))


def gaussian_sigma(
    epsilon: float,
    delta: float,
    sensitivity: float = 1.0,
    method: Literal["exact", "classic"] = "exact",
) -> float:
    """Standard deviation of normal noise that makes a release (epsilon, delta)-private.

    Parameters
    ----------
    epsilon : float
        Privacy budget in nats, at least 1e-9.
    delta : float
        Above 0 and below 1.
    sensitivity : float, default=1.0
        Largest change of the release by one record, in the Euclidean norm (L2).
    method : {"exact", "classic"}, default="exact"
        ``"exact"`` is the smallest standard deviation there is. ``"classic"`` is
        ``sensitivity * sqrt(2 * log(1.25 / delta)) / epsilon``, for epsilon below 1.

    Returns
    -------
    sigma : float

    Raises
    ------
    ValueError
        If a number is outside its range; with ``"classic"`` and an epsilon of 1 or more.

    See Also
    --------
    GaussianMechanism : Mechanism that adds the noise.

    Notes
    -----
    Exact noise solves ``Phi(s / 2 - epsilon / s) - exp(epsilon) * Phi(-s / 2 - epsilon / s) =
    delta`` for ``s = sensitivity / sigma``, by bisection, and ends on the private side.

    In the classic formula sigma is proportional to the sensitivity and to 1 / epsilon. O'Dell
    (2023) prints it with the variance in the place of sigma.

    References
    ----------
    Balle, B. and Wang, Y.-X. (2018). Improving the Gaussian mechanism for differential privacy:
    analytical calibration and optimal denoising. ICML.

    Dwork, C. and Roth, A. (2014). The algorithmic foundations of differential privacy, appendix A.

    Examples
    --------
    >>> from skmia.defenses import gaussian_sigma
    >>> round(gaussian_sigma(0.5, 1e-5), 4)
    7.0318
    >>> round(gaussian_sigma(0.5, 1e-5, method="classic"), 4)
    9.6896
    """
    epsilon, delta, sensitivity = _check_budget(epsilon, delta, sensitivity)
    if check_option(method, "method", ("exact", "classic")) == "exact":
        return float(sensitivity / _largest_shift(epsilon, delta))
    if epsilon >= 1:
        raise ValueError(
            "The classic calibration is proven for epsilon below 1 only, the exact one for all; "
            f"got epsilon={epsilon}."
        )
    return float(sensitivity * np.sqrt(2 * np.log(1.25 / delta)) / epsilon)


def discrete_multiplier(epsilon, delta, n_features, method):
    """Noise multiplier of the discrete normal law on a grid of ``2**-GRID_BITS`` times its scale.

    A normal variate that is added to a grid value and rounded to the grid keeps the guarantee of
    the variate, and the discrete normal law is within a known total variation of it, which is taken
    off delta. Where that is too much (of a tiny delta, or at a large epsilon, which multiplies it),
    the multiplier comes from the law's zero-concentrated privacy, which is exact on the grid.
    """
    rounding = n_features * _ROUNDING / 2.0 ** (2 * (GRID_BITS - 1))
    with np.errstate(over="ignore"):
        taken = (1 + np.exp(float(epsilon))) * rounding
    if taken <= _MOST_ROUNDING * delta:
        return gaussian_sigma(epsilon, delta - taken, method=method)
    gaussian_sigma(epsilon, delta, method=method)  # checks the settings
    return _concentrated_multiplier(epsilon, delta)


def _concentrated_multiplier(epsilon, delta):
    """The least multiplier z for which rho = 1 / (2 z^2) implies (epsilon, delta)."""
    gaps = np.logspace(-6, 8, 2000)  # the order of Renyi divergence, less 1; each gives a bound
    orders = 1 + gaps
    fixed = -np.log(gaps) + orders * np.log1p(-1 / orders) - gaps * epsilon

    def is_private(multiplier):
        return (fixed + gaps * orders / (2 * multiplier**2)).min() <= np.log(delta)

    low, high = 1e-8, 1e12
    while high / low > 1 + 1e-12:
        middle = np.sqrt(low * high)
        low, high = (low, middle) if is_private(middle) else (middle, high)
    return float(high)


class GaussianMechanism(NoiseMechanism):
    """Mechanism with normal noise, which is (epsilon, delta)-differentially private.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of each row that ``transform`` returns, in nats, above 0.
    delta : float, default=1e-5
        Above 0 and below 1; far below one over the number of records.
    sensitivity : float, default=1.0
        Largest change of a row of X by one record, in the Euclidean norm over its columns (L2).
        This is a claim of the user that cannot be checked.
    calibration : {"exact", "classic"}, default="exact"
        The smallest noise, or the textbook formula for epsilon below 1; see
        :func:`gaussian_sigma`.
    random_state : int, RandomState instance or None, default=None
        If None, every call draws new noise from the operating system. A seed makes the sequence of
        calls after ``fit`` repeatable, and is a key that takes the noise off again: for tests.

    Attributes
    ----------
    sigma_ : float
        Standard deviation of the noise of each value: :func:`gaussian_sigma`, and a little
        more for rounding to the grid.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if all are strings.

    See Also
    --------
    NonSphericalGaussianMechanism : Less noise for columns that one record changes less.
    gaussian_sigma : Standard deviation of the noise.

    Notes
    -----
    What a row is, and why two calls never add the same noise, is said in
    :class:`LaplaceMechanism`. As there, values are rounded to a public grid and exact discrete
    noise is added in integers. The discrete normal law has the guarantee of the normal one up to
    the total variation between the two, less than ``7e-26`` a column, which delta pays for; at a
    large epsilon or a tiny delta its zero-concentrated privacy is used, at somewhat more noise.
    :ref:`The limits of the guarantee <privacy_limits>` has what is
    not covered.

    References
    ----------
    Canonne, C., Kamath, G. and Steinke, T. (2020). The discrete Gaussian for differential privacy.
    NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.defenses import GaussianMechanism
    >>> ages = np.random.default_rng(0).uniform(18, 90, size=1000)
    >>> mean = [[ages.mean()]]  # one record moves it by (90 - 18) / 1000 at most
    >>> mechanism = GaussianMechanism(epsilon=0.5, sensitivity=0.072, random_state=0).fit(mean)
    >>> round(mechanism.sigma_, 3)
    0.506
    >>> bool(abs(mechanism.transform(mean) - mean)[0, 0] < 4 * mechanism.sigma_)
    True
    """

    _parameter_constraints = {
        **NoiseMechanism._parameter_constraints,
        "delta": [DELTA],
        "sensitivity": [FINITE_POSITIVE],
        "calibration": [CALIBRATION],
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        sensitivity: float = 1.0,
        *,
        calibration: Literal["exact", "classic"] = "exact",
        random_state: Seed = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.sensitivity = sensitivity
        self.calibration = calibration
        self.random_state = random_state

    _sample = staticmethod(discrete_normal)

    def _calibrate(self, n_features):
        unit = discrete_multiplier(self.epsilon, self.delta, n_features, self.calibration)
        exponent = choose_exponents(unit * self.sensitivity, "The standard deviation of the noise")
        # Rounding moves each column by a step at most, all of them by sqrt(n_features).
        sensitivity = np.ldexp(self.sensitivity, -exponent) + np.sqrt(n_features)
        steps = count_scale(unit * sensitivity)
        self.sigma_ = float(np.ldexp(float(steps), int(exponent)))
        self._exponents = np.full(n_features, exponent)
        self._steps = np.full(n_features, steps, dtype=np.int64)


def count_scale(sigma):
    """Whole numbers of steps that are no less than standard deviations in steps."""
    steps = np.ceil(sigma)
    if np.max(steps, initial=0) > LARGEST_SCALE:
        raise ValueError("epsilon is too small for so many columns in one row.")
    return steps.astype(np.int64)
