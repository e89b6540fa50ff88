"""Gaussian noise with a separate standard deviation in each column."""

from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .._core.sklearn import Interval, StrOptions
from .._core.types import Seed
from ._exact_noise import discrete_normal
from ._gaussian import CALIBRATION, count_scale, discrete_multiplier
from ._grid import choose_exponents, count_steps
from ._mechanisms import NoiseMechanism
from .private_input import DELTA, column_values

_NUMBER = Interval(Real, None, None, closed="neither")


class NonSphericalGaussianMechanism(NoiseMechanism):
    """Mechanism with normal noise that is scaled to the known range of each column.

    Where one record can move a column across its whole range, columns of narrow ranges need less
    noise than wide ones for the same (epsilon, delta).

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of each row that ``transform`` returns, in nats, above 0.
    delta : float, default=1e-5
        Above 0 and below 1; far below one over the number of records.
    lower, upper : float or array-like of shape (n_features,), default=None
        Ends of the range of each column, given without looking at the data. ``transform`` moves
        values outside to the nearer end, so that the claim holds.
    widths : float or array-like of shape (n_features,), default=None
        Instead of the ends, the most that one record changes each column; then no value is moved,
        and the claim is the user's. For the mean of B values it is the range divided by B.
    allocation : {"proportional", "minimum_trace"}, default="proportional"
        Standard deviations in proportion to the widths, or to their square roots, which has the
        smallest sum of variances for the same budget.
    calibration : {"exact", "classic"}, default="exact"
        See :func:`gaussian_sigma`; the published mechanism is the classic one, for epsilon below 1.
    random_state : int, RandomState instance or None, default=None
        If None, every call draws new noise from the operating system. A seed makes the sequence of
        calls after ``fit`` repeatable, and is a key that takes the noise off again: for tests.

    Attributes
    ----------
    sigma_ : ndarray of shape (n_features,)
        Standard deviation of the noise of each column; 0 where the width is 0.
    widths_ : ndarray of shape (n_features,)
        The most that one record changes each column.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if all are strings.

    See Also
    --------
    GaussianMechanism : Mechanism with the same noise in all columns.

    Notes
    -----
    With widths w of k columns and the standard deviation t that a sensitivity of 1 needs, the
    variances are ``k * t**2 * w**2`` (proportional) or ``t**2 * w * w.sum()`` (minimum trace).
    Either way the change of all columns at once, each divided by its standard deviation, has a norm
    of at most 1 / t. The proportional variances sum to what the spherical mechanism of the
    sensitivity ``norm(w)`` adds; the minimum-trace variances sum to ``t**2 * w.sum()**2``, which is
    never more.

    What a row is, and why two calls never add the same noise, is said in
    :class:`LaplaceMechanism`. Each column has a public grid of its own, on which exact discrete
    noise is added in integers, as in :class:`GaussianMechanism`.
    :ref:`The limits of the guarantee <privacy_limits>` has what is
    not covered.

    References
    ----------
    Pedersen, J. (2022). Privacy preservation and evaluation in machine learning. PhD defense,
    Rensselaer Polytechnic Institute.

    Examples
    --------
    >>> from skmia.defenses import NonSphericalGaussianMechanism
    >>> row = [[0.2, 700.0]]
    >>> for allocation in ("proportional", "minimum_trace"):
    ...     mechanism = NonSphericalGaussianMechanism(
    ...         lower=0, upper=[1, 1000], allocation=allocation
    ...     )
    ...     print(mechanism.fit(row).sigma_.round(1))
    [   5.3 5275.9]
    [ 118.  3732.5]
    """

    _parameter_constraints = {
        **NoiseMechanism._parameter_constraints,
        "delta": [DELTA],
        "lower": [_NUMBER, "array-like", None],
        "upper": [_NUMBER, "array-like", None],
        "widths": [Interval(Real, 0, np.inf, closed="left"), "array-like", None],
        "allocation": [StrOptions({"proportional", "minimum_trace"})],
        "calibration": [CALIBRATION],
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        lower: float | ArrayLike | None = None,
        upper: float | ArrayLike | None = None,
        *,
        widths: float | ArrayLike | None = None,
        allocation: Literal["proportional", "minimum_trace"] = "proportional",
        calibration: Literal["exact", "classic"] = "exact",
        random_state: Seed = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.lower = lower
        self.upper = upper
        self.widths = widths
        self.allocation = allocation
        self.calibration = calibration
        self.random_state = random_state

    def _calibrate(self, n_features):
        self._bounds = self._check_bounds(n_features)
        if self._bounds is None:
            self.widths_ = column_values("widths", self.widths, n_features)
            if self.widths_.min() < 0:
                raise ValueError(f"widths must be 0 or more; got {self.widths_.min()}.")
        else:
            with np.errstate(over="ignore"):
                self.widths_ = self._bounds[1] - self._bounds[0]
        unit = discrete_multiplier(self.epsilon, self.delta, n_features, self.calibration)
        noisy = self.widths_ > 0
        self._exponents = np.zeros(n_features, dtype=int)
        self._steps = np.zeros(n_features, dtype=np.int64)
        self.sigma_ = np.zeros(n_features)
        if not noisy.any():
            return
        widths = self.widths_[noisy]
        exponents = choose_exponents(
            unit * self._allocate(widths, n_features), "The standard deviation of the noise"
        )
        # What a column can move by on its grid, which is rounded up.
        steps = [count_steps(width, k) for width, k in zip(widths, exponents)]
        sigma = unit * self._allocate(np.ldexp(np.array(steps, float), exponents), n_features)
        self._exponents[noisy] = exponents
        self._steps[noisy] = count_scale(np.ldexp(sigma, -exponents))
        self.sigma_[noisy] = np.ldexp(self._steps[noisy].astype(np.float64), exponents)

    def _allocate(self, widths, n_features):
        """Standard deviations for a noise multiplier of 1."""
        if self.allocation == "proportional":
            return np.sqrt(n_features) * widths
        # The square roots are computed separately because the product can leave double precision.
        return np.sqrt(widths) * np.sqrt(widths.sum())

    def _check_bounds(self, n_features):
        """The two ends of each column, or None when there are widths."""
        given = (self.lower is not None, self.upper is not None, self.widths is not None)
        if given == (False, False, True):
            return None
        if given != (True, True, False):
            raise ValueError("Pass either both lower and upper, or widths.")
        lower = column_values("lower", self.lower, n_features)
        upper = column_values("upper", self.upper, n_features)
        if (crossed := lower > upper).any():
            column = crossed.argmax()
            raise ValueError(
                f"lower must not be above upper; got {lower[column]} and {upper[column]} in "
                f"column {column}."
            )
        return lower, upper

    def _limit(self, X):
        return X if self._bounds is None else np.clip(X, *self._bounds)

    _sample = staticmethod(discrete_normal)
