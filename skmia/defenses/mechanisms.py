"""Mechanisms that add noise for differential privacy."""

import math
import warnings
from abc import ABC, abstractmethod
from fractions import Fraction
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .._core.accountant import MOST_COLUMNS
from .._core.callers import level_of_user
from .._core.containers import is_tensor, to_numpy
from .._core.matrix import check_class_column, check_container
from .._core.metric_inputs import check_option
from .._core.numbers import check_number, to_array
from .._core.sklearn import Interval, StrOptions
from .._core.tradeoff import privacy_profile
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, Seed
from ..exceptions import PrivacyWarning
from ._exact_noise import (
    GRID_BITS,
    LARGEST_SCALE,
    add_on_grid,
    choose_exponents,
    count_grid_steps,
    discrete_laplace,
    discrete_normal,
    seeded_words,
    system_words,
)
from ._ledger import PrivacyLedger
from .schema import DeclaredSchema, ValuesColumn, find_range_ends, name_features

__all__ = [
    "GaussianMechanism",
    "LaplaceMechanism",
    "NonSphericalGaussianMechanism",
    "gaussian_sigma",
]

# Constraints of parameters.
FINITE_POSITIVE = Interval(Real, 0, np.inf, closed="neither")
DELTA = Interval(Real, 0, 1, closed="neither")


def validate_rows(estimator, *arrays, **settings):
    """Validate rows as ``validate_data`` does."""
    check_container(arrays[0], "X")
    arrays = [to_numpy(array) if is_tensor(array) else array for array in arrays]
    try:
        found = validate_data(estimator, *arrays, **settings)
        X = found[0] if len(arrays) == 2 else found
        if X.dtype.kind not in "biuf":  # categories come through as objects
            X = check_array(X, dtype=np.float64, allow_nd=True)
        return (X, found[1]) if len(arrays) == 2 else X
    except TypeError as error:  # numpy's message says the type of a value alone
        raise TypeError(f"X must hold numbers: {error}") from None
    except ValueError as error:
        # Numpy's message about a string quotes it.
        if "convert" not in str(error).lower() and "array element" not in str(error):
            raise
    except OverflowError:
        raise ValueError("X must hold numbers; some are too large for double precision.") from None
    raise ValueError("X must hold numbers; it has strings, which need an encoding first.")


def check_label_types(y, classes):
    """Check that labels and classes are both numbers or both something else.

    In a list of numbers a single string makes strings of all, so that no row would have a known
    label any more.
    """
    are_numbers = [labels.dtype.kind in "biuf" for labels in (y, classes)]
    if are_numbers[0] != are_numbers[1]:
        raise ValueError(
            "Labels and classes must both be numbers or both be strings; a list that mixes the two "
            "is a list of strings."
        )


def read_classes(classes, y):
    """Return the labels that were declared, in order, or with a warning those of the rows."""
    if classes is None:
        warnings.warn(
            "classes were read off y, which epsilon_ does not cover: give all labels as classes.",
            PrivacyWarning,
            stacklevel=level_of_user(),
        )
        return np.unique(y)
    classes = np.unique(check_class_column(classes, "classes"))
    if len(classes) < 2:
        raise ValueError(f"classes must hold two labels or more; got {classes.tolist()}.")
    check_label_types(y, classes)
    return classes


def column_values(name, values, n_features, names=()):
    """Return one value for each column, of one for all or of as many as there are columns.

    A Series whose index holds the names of the columns has values by name.
    """
    if isinstance(values, pd.Series) and values.index.is_unique and {*values.index} == {*names}:
        values = values.loc[list(names)]
    values = to_array(values, name, "be a number or one for each column", np.float64)
    if values.shape not in ((), (n_features,)):
        raise ValueError(
            f"{name} must be a number or one for each of {n_features} columns; got an array of "
            f"shape {values.shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite.")
    return np.broadcast_to(values, (n_features,)).copy()


def choose_target_delta(target_delta, n_rows):
    """Return the delta as given, or a tenth of one over the number of rows."""
    if target_delta is None:
        return 0.1 / n_rows
    if target_delta >= 1 / n_rows:
        warnings.warn(
            f"target_delta={target_delta:g} is not below one over the number of rows, "
            f"{n_rows}: releasing a row at random would satisfy it.",
            PrivacyWarning,
            stacklevel=level_of_user(),
        )
    return target_delta


def refuse_crossed(lower, upper):
    """Refuse a range of a column that ends below its beginning."""
    if (crossed := lower > upper).any():
        column = crossed.argmax()
        raise ValueError(
            f"lower must not be above upper; got {lower[column]} and {upper[column]} in column "
            f"{column}."
        )


class NoiseMechanism(TransactionMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):
    """Base class of mechanisms whose ``transform`` adds fresh noise in every call.

    A subclass implements _calibrate, which sets the grid 2**_exponents and the whole number _steps
    of its steps to the scale of the noise of each column (0 where a column gets none), and _sample,
    the law of the noise in steps. For the ledger it sets _noise_multiplier, the noise over the
    sensitivity, and _kind, which says what this is.
    """

    _kind: Literal["normal", "laplace"]

    _parameter_constraints: dict = {
        "epsilon": [FINITE_POSITIVE],
        "schema": [DeclaredSchema, None],
        "ledger": [PrivacyLedger, None],
        "random_state": ["random_state"],
    }

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Compute the scale of the noise; of X only the number of columns counts.

        Parameters
        ----------
        X : array-like of shape (n_releases, n_features)
            Exact values.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator. It holds nothing of the values.
        """
        X = self._read(X, reset=True)
        self._calibrate(X.shape[1])
        # Without a seed each call asks the operating system, so that two copies of a fitted
        # mechanism never add the same noise.
        self._rng = None
        if self.random_state is not None:
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            self._rng = np.random.default_rng(seed)
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Add fresh noise to each row.

        Parameters
        ----------
        X : array-like of shape (n_releases, n_features)
            Exact values, one released vector per row.

        Returns
        -------
        X_private : ndarray of shape (n_releases, n_features)
            Noisy values. Each call is a separate release and costs its epsilon again.

        Raises
        ------
        ValueError, OSError
            If the ``ledger`` refuses the release, or cannot be written: as its method ``record``.
        """
        check_is_fitted(self)
        X = self._limit(self._read(X, reset=False))
        words = system_words if self._rng is None else seeded_words(self._rng)
        noisy = self._steps > 0
        if self.ledger is not None and noisy.any():
            self._write_down(*X.shape)
        released = X.copy()
        noise = self._sample(self._steps[noisy], (len(X), int(noisy.sum())), words)
        released[:, noisy] = add_on_grid(X[:, noisy], noise, self._exponents[noisy])
        return released

    def _read(self, X, reset):
        """Return the numbers of the rows.

        With a schema in its ranges, and the lower end where one is none.
        """
        if self.schema is None:
            return validate_rows(self, X, dtype=np.float64, reset=reset)
        for name, column in self.schema.columns.items():
            if isinstance(column, ValuesColumn):
                raise ValueError(
                    f"A mechanism adds noise to numbers; the schema declares {name!r} as a "
                    "ValuesColumn. Declare a NumberColumn, or leave it out."
                )
        if reset:
            name_features(self, self.schema)
        return self.schema.read_table(X)[0]

    def _write_down(self, n_releases, n_features):
        self.ledger.record(
            kind=self._kind,
            noise_multiplier=self._noise_multiplier if self._rng is None else 0.0,
            sample_rate=1.0,
            n_steps=n_releases * math.ceil(n_features / MOST_COLUMNS),
            n_rows=0,
        )

    def _limit(self, X):
        """Bring values to where the claimed sensitivity holds."""
        return X

    @abstractmethod
    def _calibrate(self, n_features):
        """Set the fitted amount of noise."""

    @staticmethod
    @abstractmethod
    def _sample(scales, shape, words):
        """Draw noise, in steps of the grid."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


class LaplaceMechanism(NoiseMechanism):
    """Mechanism with Laplace noise, which is epsilon-differentially private.

    Each value gets noise with probabilities proportional to ``exp(-|noise| * epsilon /
    sensitivity)``, drawn exactly on a grid of about ``2**-40`` times its scale.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of each row that ``transform`` returns, in nats, above 0.
    sensitivity : float, default=1.0
        Largest change of a row of X by one record, as the sum of the absolute changes over its
        columns (L1). This is a claim of the user that cannot be checked.
    schema : DeclaredSchema, default=None
        Names and ranges of the columns, all numeric, declared without looking at the data. Values
        are clipped to the ranges, and a cell that is not a number is replaced by the lower end,
        without an error.
    ledger : PrivacyLedger, default=None
        Ledger in which each call of ``transform`` is recorded before it returns. Each row of X
        counts as one release; with a ``random_state``, the cost is infinite.
    random_state : int, RandomState instance or None, default=None
        If None, every call draws new noise from the operating system. A seed makes the sequence of
        calls after ``fit`` repeatable, and lets anyone who knows it remove the noise: use it only
        for tests.

    Attributes
    ----------
    scale_ : float
        Scale of the noise that is added: ``sensitivity / epsilon``, and a little more for rounding
        to the grid. The standard deviation of the noise is sqrt(2) times that.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if all are strings.

    See Also
    --------
    GaussianMechanism : Mechanism for a sensitivity in the Euclidean norm.

    Notes
    -----
    Each row of X is one release. If several rows depend on the same record, their epsilons add up.
    If the rows are the records themselves, each is private separately, and the sensitivity is the
    largest distance between any two records. ``transform`` never repeats noise, because the
    difference of two calls would otherwise be exact.

    The ratio of the densities at two neighboring data sets is at most ``exp(+epsilon)``, by the
    triangle inequality. The source prints a minus sign in the exponent.

    The lowest digits of noise in floating-point arithmetic reveal the exact value. Values are
    therefore rounded to multiples of a power of two, which depends only on the parameters, and
    discrete Laplace noise is added in integer arithmetic, with random numbers from the operating
    system. In this arithmetic, epsilon holds exactly. :ref:`The limits of the guarantee
    <privacy_limits>` lists what is not covered, such as the running time of a call.

    References
    ----------
    Dwork, C., McSherry, F., Nissim, K. and Smith, A. (2006). Calibrating noise to sensitivity in
    private data analysis. TCC.

    Canonne, C., Kamath, G. and Steinke, T. (2020). The discrete Gaussian for differential privacy.
    NeurIPS.

    Mironov, I. (2012). On significance of the least significant bits for differential privacy.
    CCS.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.defenses.mechanisms import LaplaceMechanism
    >>> counts = np.array([[120.0], [80.0]])
    >>> mechanism = LaplaceMechanism(epsilon=0.5, random_state=0).fit(counts)
    >>> round(mechanism.scale_, 9)
    2.0
    >>> mechanism.transform(counts).shape
    (2, 1)
    """

    _parameter_constraints = {
        **NoiseMechanism._parameter_constraints,
        "sensitivity": [FINITE_POSITIVE],
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        sensitivity: float = 1.0,
        *,
        schema: DeclaredSchema | None = None,
        ledger: PrivacyLedger | None = None,
        random_state: Seed = None,
    ) -> None:
        self.epsilon = epsilon
        self.sensitivity = sensitivity
        self.schema = schema
        self.ledger = ledger
        self.random_state = random_state

    _sample, _kind = staticmethod(discrete_laplace), "laplace"

    def _calibrate(self, n_features):
        exponent = choose_exponents(self.sensitivity / self.epsilon, "sensitivity / epsilon")
        # Each column can be rounded up by a step.
        steps = count_grid_steps(self.sensitivity, exponent) + n_features - 1
        scale = math.ceil(steps / Fraction(float(self.epsilon)))
        if scale > LARGEST_SCALE:
            raise ValueError(
                f"epsilon={self.epsilon:g} is too small for {n_features} columns in one row."
            )
        self.scale_ = float(np.ldexp(float(scale), int(exponent)))
        self._noise_multiplier = scale / steps
        self._exponents = np.full(n_features, exponent)
        self._steps = np.full(n_features, scale, dtype=np.int64)


CALIBRATION = StrOptions({"exact", "classic"})

# Below this the two terms of the privacy profile cancel in double precision. Above, they cancel in
# part: the share of a shift that is given up for it is this times 1 + 1 / epsilon, more than twice
# the largest error that was seen against 60 digits.
_LEAST_EPSILON, _CANCELLED = 1e-9, 3e-14

# Total variation between the discrete normal law and the rounded normal one, times scale**2.
_ROUNDING = 0.0202

# Share of delta that may go to the difference of these two laws.
_MOST_ROUNDING = 2.0**-10


def _largest_shift(epsilon, delta):
    """The largest distance of two means, in standard deviations, whose profile stays at delta.

    The profile grows from 0 to 1 with the shift; both ends are found by doubling.
    """
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
    """Return the standard deviation of normal noise that makes a release (epsilon, delta)-private.

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
    >>> from skmia.defenses.mechanisms import gaussian_sigma
    >>> round(gaussian_sigma(0.5, 1e-5), 4)
    7.0318
    >>> round(gaussian_sigma(0.5, 1e-5, method="classic"), 4)
    9.6896
    """
    allowed = f"finite and at least {_LEAST_EPSILON:g}"
    epsilon = check_number(epsilon, "epsilon", allowed, _LEAST_EPSILON)
    smallest, below_1 = np.nextafter(0, 1), np.nextafter(1, 0)
    delta = check_number(delta, "delta", "above 0 and below 1", smallest, below_1)
    sensitivity = check_number(sensitivity, "sensitivity", "finite and above 0", smallest)
    if check_option(method, "method", ("exact", "classic")) == "exact":
        return float(sensitivity / _largest_shift(epsilon, delta))
    if epsilon >= 1:
        raise ValueError(
            "The classic calibration is proven for epsilon below 1 only, the exact one for all; "
            f"got epsilon={epsilon}."
        )
    return float(sensitivity * np.sqrt(2 * np.log(1.25 / delta)) / epsilon)


def discrete_multiplier(epsilon, delta, n_features, method):
    """Noise multiplier of the discrete normal law on a grid of ``2**-GRID_BITS`` of its scale.

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
    """Return the least multiplier z for which rho = 1 / (2 z^2) implies (epsilon, delta)."""
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
    schema : DeclaredSchema, default=None
        Names and ranges of the columns, all numeric, declared without looking at the data. Values
        are clipped to the ranges, and a cell that is not a number is replaced by the lower end,
        without an error.
    ledger : PrivacyLedger, default=None
        Ledger in which each call of ``transform`` is recorded before it returns. Each row of X
        counts as one release; with a ``random_state``, the cost is infinite.
    random_state : int, RandomState instance or None, default=None
        If None, every call draws new noise from the operating system. A seed makes the sequence of
        calls after ``fit`` repeatable, and lets anyone who knows it remove the noise: use it only
        for tests.

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
    :class:`LaplaceMechanism` explains what a row is, and why two calls never add the same noise. As
    there, values are rounded to a public grid, and exact discrete noise is added in integer
    arithmetic. The discrete normal distribution has the guarantee of the normal one up to the total
    variation between the two, less than ``7e-26`` per column, which delta accounts for. At a large
    epsilon or a tiny delta, its zero-concentrated privacy is used, with somewhat more noise.
    :ref:`The limits of the guarantee <privacy_limits>` lists what is not covered.

    References
    ----------
    Canonne, C., Kamath, G. and Steinke, T. (2020). The discrete Gaussian for differential privacy.
    NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.defenses.mechanisms import GaussianMechanism
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
        schema: DeclaredSchema | None = None,
        ledger: PrivacyLedger | None = None,
        random_state: Seed = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.sensitivity = sensitivity
        self.calibration = calibration
        self.schema = schema
        self.ledger = ledger
        self.random_state = random_state

    _sample, _kind = staticmethod(discrete_normal), "normal"

    def _calibrate(self, n_features):
        unit = discrete_multiplier(self.epsilon, self.delta, n_features, self.calibration)
        exponent = choose_exponents(unit * self.sensitivity, "The standard deviation of the noise")
        # Rounding moves each column by a step at most, all of them by sqrt(n_features).
        sensitivity = np.ldexp(self.sensitivity, -exponent) + np.sqrt(n_features)
        steps = count_scale(unit * sensitivity)
        self.sigma_ = float(np.ldexp(float(steps), int(exponent)))
        self._noise_multiplier = float(steps / sensitivity)
        self._exponents = np.full(n_features, exponent)
        self._steps = np.full(n_features, steps, dtype=np.int64)


def count_scale(sigma):
    """Return the whole numbers of steps that are no less than standard deviations in steps."""
    steps = np.ceil(sigma)
    if np.max(steps, initial=0) > LARGEST_SCALE:
        raise ValueError("epsilon is too small for so many columns in one row.")
    return steps.astype(np.int64)


_NUMBER = Interval(Real, None, None, closed="neither")


class NonSphericalGaussianMechanism(NoiseMechanism):
    """Mechanism with normal noise that is scaled to the known range of each column.

    If one record can move each column across its whole range, columns with narrow ranges need less
    noise than columns with wide ranges for the same (epsilon, delta).

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of each row that ``transform`` returns, in nats, above 0.
    delta : float, default=1e-5
        Above 0 and below 1; far below one over the number of records.
    lower, upper : float or array-like of shape (n_features,), default=None
        Ends of the range of each column, given without looking at the data, or by ``schema``. A
        Series whose index holds the names of the columns has them by name. ``transform`` clips
        values to the range, so that the guarantee holds.
    widths : float or array-like of shape (n_features,), default=None
        Instead of the ends, the largest change of each column by one record. Values are then not
        clipped, and the guarantee relies on this claim of the user. For the mean of B values, it is
        the range divided by B.
    allocation : {"proportional", "minimum_trace"}, default="proportional"
        Standard deviations in proportion to the widths, or to their square roots, which has the
        smallest sum of variances for the same budget.
    calibration : {"exact", "classic"}, default="exact"
        See :func:`gaussian_sigma`; the published mechanism is the classic one, for epsilon below 1.
    schema : DeclaredSchema, default=None
        Names and ranges of the columns, all numeric, declared without looking at the data. Values
        are clipped to the ranges, and a cell that is not a number is replaced by the lower end,
        without an error.
    ledger : PrivacyLedger, default=None
        Ledger in which each call of ``transform`` is recorded before it returns. Each row of X
        counts as one release; with a ``random_state``, the cost is infinite.
    random_state : int, RandomState instance or None, default=None
        If None, every call draws new noise from the operating system. A seed makes the sequence of
        calls after ``fit`` repeatable, and lets anyone who knows it remove the noise: use it only
        for tests.

    Attributes
    ----------
    sigma_ : ndarray of shape (n_features,)
        Standard deviation of the noise of each column; 0 where the width is 0.
    widths_ : ndarray of shape (n_features,)
        Largest change of each column by one record.
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
    sensitivity ``norm(w)`` adds, the minimum-trace ones to ``t**2 * w.sum()**2``, which is never
    more. Each column has its own public grid; otherwise, the mechanism works as in
    :class:`GaussianMechanism`, with :ref:`the limits of the guarantee <privacy_limits>`.

    References
    ----------
    Pedersen, J. (2022). Privacy preservation and evaluation in machine learning. PhD defense,
    Rensselaer Polytechnic Institute.

    Examples
    --------
    >>> from skmia.defenses.mechanisms import NonSphericalGaussianMechanism
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
        schema: DeclaredSchema | None = None,
        ledger: PrivacyLedger | None = None,
        random_state: Seed = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.lower = lower
        self.upper = upper
        self.widths = widths
        self.allocation = allocation
        self.calibration = calibration
        self.schema = schema
        self.ledger = ledger
        self.random_state = random_state

    def _calibrate(self, n_features):
        self._bounds = self._read_bounds(n_features)
        if self._bounds is None:
            self.widths_ = self._read_columns("widths", n_features)
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
        steps = [count_grid_steps(width, k) for width, k in zip(widths, exponents)]
        sigma = unit * self._allocate(np.ldexp(np.array(steps, float), exponents), n_features)
        self._exponents[noisy] = exponents
        self._steps[noisy] = count_scale(np.ldexp(sigma, -exponents))
        moved = np.array(steps, float) / self._steps[noisy]
        self._noise_multiplier = float(1 / np.linalg.norm(moved))
        self.sigma_[noisy] = np.ldexp(self._steps[noisy].astype(np.float64), exponents)

    def _allocate(self, widths, n_features):
        """Return the standard deviations for a noise multiplier of 1."""
        if self.allocation == "proportional":
            return np.sqrt(n_features) * widths
        # The square roots are computed separately because the product can leave double precision.
        return np.sqrt(widths) * np.sqrt(widths.sum())

    def _list_conflicting_parameters(self):
        given = (self.lower is not None, self.upper is not None, self.widths is not None)
        if given != (False, False, True):
            if self.schema is not None and any(given):
                yield "The schema has the ranges; leave lower and upper out."
            if self.schema is None and given != (True, True, False):
                yield "Pass either both lower and upper, or widths, or a schema."

    def _read_columns(self, name, n_features):
        names = getattr(self, "feature_names_in_", ())
        return column_values(name, getattr(self, name), n_features, names)

    def _read_bounds(self, n_features):
        """Return the two ends of each column, or None when there are widths."""
        if self.widths is not None:
            return None
        if self.schema is not None:
            ends = [find_range_ends(column) for column in self.schema.columns.values()]
            return tuple(np.transpose(ends))
        lower = self._read_columns("lower", n_features)
        upper = self._read_columns("upper", n_features)
        refuse_crossed(lower, upper)
        return lower, upper

    def _limit(self, X):
        return X if self._bounds is None else np.clip(X, *self._bounds)

    _sample, _kind = staticmethod(discrete_normal), "normal"
