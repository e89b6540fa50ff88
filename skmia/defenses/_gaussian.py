"""Normal noise of one size."""

import numpy as np

from ..leakage._tradeoff import privacy_profile
from ..utils._sklearn import StrOptions
from ._mechanisms import DELTA, FINITE_POSITIVE, NoiseMechanism

CALIBRATION = StrOptions({"exact", "classic"})


def _check_budget(epsilon, delta, sensitivity):
    if not 0 < epsilon < np.inf:
        raise ValueError(f"epsilon must be finite and above 0; got {epsilon}.")
    if not 0 < delta < 1:
        raise ValueError(f"delta must be above 0 and below 1; got {delta}.")
    if not 0 < sensitivity < np.inf:
        raise ValueError(f"sensitivity must be finite and above 0; got {sensitivity}.")


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
    return low


def gaussian_sigma(epsilon, delta, sensitivity=1.0, method="exact"):
    """Standard deviation of normal noise that makes a release (epsilon, delta)-private.

    Parameters
    ----------
    epsilon : float
        Privacy budget in nats, above 0.
    delta : float
        Above 0 and below 1.
    sensitivity : float, default=1.0
        The most that one record changes the release, in the Euclidean norm (L2).
    method : {"exact", "classic"}, default="exact"
        ``"exact"`` is the smallest standard deviation there is. ``"classic"`` is
        ``sensitivity * sqrt(2 * log(1.25 / delta)) / epsilon``, for epsilon below 1.

    Returns
    -------
    sigma : float

    Raises
    ------
    ValueError
        When a number is outside its range; with ``"classic"`` and an epsilon of 1 or more.

    See Also
    --------
    GaussianMechanism : Adds the noise.

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
    _check_budget(epsilon, delta, sensitivity)
    if method == "exact":
        return float(sensitivity / _largest_shift(epsilon, delta))
    if method != "classic":
        raise ValueError(f"method must be 'exact' or 'classic'; got {method!r}.")
    if epsilon >= 1:
        raise ValueError(
            "The classic calibration is proven for epsilon below 1 only, the exact one for all; "
            f"got epsilon={epsilon}."
        )
    return float(sensitivity * np.sqrt(2 * np.log(1.25 / delta)) / epsilon)


class GaussianMechanism(NoiseMechanism):
    """Release values with normal noise, which is (epsilon, delta)-differentially private.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of each row that ``transform`` returns, in nats, above 0.
    delta : float, default=1e-5
        Above 0 and below 1; far below one over the number of records.
    sensitivity : float, default=1.0
        The most that one record changes a row of X, in the Euclidean norm over its columns (L2).
        It is a claim of the user that nothing here can check.
    calibration : {"exact", "classic"}, default="exact"
        The smallest noise, or that of the textbook for epsilon below 1; see
        :func:`gaussian_sigma`.
    random_state : int, RandomState instance or None, default=None
        None takes new noise from the operating system at every call. A seed makes the sequence of
        calls after ``fit`` repeatable, and is a key that takes the noise off again: for tests.

    Attributes
    ----------
    sigma_ : float
        Standard deviation of the noise of each value.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where they are strings.

    See Also
    --------
    NonSphericalGaussianMechanism : Less noise for columns that one record changes less.
    gaussian_sigma : The standard deviation alone.

    Notes
    -----
    What a row is, and why two calls never add the same noise, is said in
    :class:`LaplaceMechanism`.

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
        self, epsilon=1.0, delta=1e-5, sensitivity=1.0, *, calibration="exact", random_state=None
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.sensitivity = sensitivity
        self.calibration = calibration
        self.random_state = random_state

    def _calibrate(self, n_features):
        self.sigma_ = gaussian_sigma(self.epsilon, self.delta, self.sensitivity, self.calibration)

    def _noise(self, shape, rng):
        return rng.normal(scale=self.sigma_, size=shape)
