"""Exposure of canaries among all candidates."""

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from scipy import optimize, special, stats
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.copies import CopiesParameters
from .._core.metric_inputs import check_finite_vector
from .._core.numbers import as_numbers, check_numbers, show
from .._core.randomness import check_random_state
from .._core.sklearn import HasMethods, StrOptions, at_least
from .._core.sklearn import Interval as RealInterval
from .._core.tokens import PAD
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, FloatOrArray, Seed, TokenModel
from ..metrics import Interval, clopper_pearson
from ..metrics import Interval as Estimate
from ._format import CanaryFormat
from ._model import (
    CHUNK,
    check_sequence_model,
    check_token_rows,
    is_model,
    next_bits,
    sum_bits,
    token_bits,
)
from ._texts import read_matrix

# A float each: above it an enumeration takes gigabytes.
MOST_CANDIDATES = 100_000_000


class CandidateList:
    """Explicit list of candidates, with the methods of a format.

    Rows of candidates that differ in length end with -1.
    """

    def __init__(self, candidates):
        self._rows = np.unique(check_token_rows(read_matrix(candidates, "candidates")), axis=0)
        self.n_candidates = len(self._rows)

    def encode(self, sequences):
        rows = check_token_rows(read_matrix(sequences))
        width = self._rows.shape[1]
        if (rows[:, width:] == PAD).all():  # padding does not count
            rows = rows[:, :width]
        missing = max(0, width - rows.shape[1])
        return np.pad(rows, ((0, 0), (0, missing)), constant_values=PAD)

    def sample(self, n_samples, *, random_state=None):
        rng = check_random_state(random_state)
        return self._rows[rng.randint(self.n_candidates, size=n_samples)]

    def position(self, sequences):
        numbers = {row.tobytes(): number for number, row in enumerate(self._rows)}
        tokens = self.encode(sequences)
        position = [numbers.get(row.tobytes()) for row in tokens]
        if None in position:
            missing = tokens[position.index(None)].tolist()
            raise ValueError(f"The sequence {missing} is not among the candidates.")
        return position

    def candidates(self, start=0, stop=None):
        return self._rows[start:stop]


def as_candidates(candidates):
    """Return a format as it is, anything else as a list of candidates."""
    return candidates if isinstance(candidates, CanaryFormat) else CandidateList(candidates)


def measure_log_perplexity(model, sequences):
    """Return the log-perplexity of sequences under a model, or by a function of the user."""
    if is_model(model):
        return sum_bits(model, sequences)
    bits = as_numbers(model(sequences), "What log_perplexity returns", "an array of numbers")
    if bits.shape != (len(sequences),) or np.isnan(bits).any():
        raise ValueError(
            f"log_perplexity must return a number for each of {len(sequences)} sequences; got an "
            f"array of shape {bits.shape}{' with NaN' if np.isnan(bits).any() else ''}."
        )
    return bits


def measure_all(model, candidates):
    """Return the log-perplexity of every candidate, in the order of their positions."""
    if candidates.n_candidates > MOST_CANDIDATES:
        raise ValueError(
            f"The {candidates.n_candidates} candidates are too many to query each of them; choose "
            "method='sampling' or 'skew_normal'."
        )
    if is_model(model) and isinstance(candidates, CanaryFormat):
        return _walk_tree(model, candidates)
    starts = range(0, candidates.n_candidates, CHUNK)
    parts = (candidates.candidates(start, start + CHUNK) for start in starts)
    return np.concatenate([measure_log_perplexity(model, part) for part in parts])


def _walk_tree(model, secrets):
    """Return the bits of all candidates, with one question for each beginning that they share."""
    given = np.array([[choice[0] for choice in secrets.choices[: secrets.n_given]]], dtype=np.intp)
    bits = token_bits(model, given, 0).sum(axis=1) if secrets.n_given else np.zeros(1)
    last = max(i for i, choice in enumerate(secrets.choices) if len(choice) > 1)
    prefixes = given
    for i in range(secrets.n_given, last + 1):
        choice = secrets.choices[i]
        steps = _in_chunks(
            lambda part, choice=choice: next_bits(model, part, choice)[:, choice], prefixes
        )
        bits = (bits[:, None] + steps).ravel()
        if i < last:
            tail = np.tile(choice, len(prefixes))
            prefixes = np.column_stack([np.repeat(prefixes, len(choice), axis=0), tail])
    if last + 1 == len(secrets):
        return bits
    starts = range(0, secrets.n_candidates, CHUNK)
    ends = [
        token_bits(model, secrets.candidates(start, start + CHUNK), last + 1).sum(axis=1)
        for start in starts
    ]
    return bits + np.concatenate(ends)


def bound_rounding(bits, length):
    """Return by how much equal log-perplexities of so many tokens may differ by rounding.

    With u half the spacing of floats next to 1, a sum of n positive terms has a relative error of
    (n - 1) u and each logarithm in bits one of 3 u; a probability that was rounded once moves its
    logarithm by u nats. Two sums differ by twice as much.
    """
    slack = (length + 2) * np.finfo(np.float64).eps * (np.abs(bits) + 2)
    return np.where(np.isinf(bits), 0.0, slack)


def _in_chunks(function, rows):
    return np.concatenate([function(rows[i : i + CHUNK]) for i in range(0, len(rows), CHUNK)])


# Below it the distribution function loses digits, and is integrated on a logarithmic scale.
_TAIL = 1e-4
_NODES, _WEIGHTS = special.roots_laguerre(80)
_LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)
_STEEPEST = 1000.0


def _log_density(z, shape):
    return np.log(2) - z**2 / 2 - _LOG_ROOT_2PI + special.log_ndtr(shape * z)


def _hazard(z):
    """Return the density over distribution function of the normal."""
    return np.exp(-(z**2) / 2 - _LOG_ROOT_2PI - special.log_ndtr(z))


def skew_normal_logcdf(x, shape, loc, scale):
    """Return the logarithm of the distribution function, in nats, also where it underflows."""
    z = (np.asarray(x, dtype=np.float64) - loc) / scale
    with np.errstate(divide="ignore", invalid="ignore"):
        logcdf = np.log(stats.skewnorm.cdf(z, shape))
    slope = -z + shape * _hazard(shape * z)
    deep = ~(logcdf > np.log(_TAIL)) & (slope > 0) & np.isfinite(z)
    if deep.any():
        # The density falls at least exponentially towards the tail, at the rate it has at z.
        at, rate = z[deep, None], slope[deep, None]
        terms = _log_density(at - _NODES / rate, shape) + _NODES + np.log(_WEIGHTS)
        logcdf[deep] = special.logsumexp(terms, axis=1) - np.log(rate[:, 0])
    return logcdf


def _start_from_moments(z):
    """Shape, location and scale with the sample's mean, variance and, if possible, skewness."""
    skewness = np.clip(stats.skew(z), -0.99, 0.99)
    power = np.abs(skewness) ** (2 / 3)
    delta = np.sign(skewness) * np.sqrt(np.pi / 2 * power / (power + (2 - np.pi / 2) ** (2 / 3)))
    shape = delta / np.sqrt(1 - delta**2)
    scale = np.sqrt(1 / (1 - 2 * delta**2 / np.pi))
    return np.array([shape, -scale * delta * np.sqrt(2 / np.pi), np.log(scale)])


def _negative_likelihood(parameters, z):
    shape, loc, log_scale = parameters
    u = (z - loc) * np.exp(-log_scale)
    hazard = _hazard(shape * u)
    value = log_scale - _log_density(u, shape).mean()
    gradient = np.array(
        [
            (hazard * u).mean(),
            (u - shape * hazard).mean() * np.exp(-log_scale),
            (u**2 - shape * hazard * u).mean() - 1,
        ]
    )
    return value, -gradient


def fit_skew_normal(values):
    """Return the maximum likelihood, from the moments on."""
    with np.errstate(over="ignore", invalid="ignore"):  # of which the next lines tell
        mean, spread = values.mean(), values.std()
    if not np.isfinite(spread) or spread <= 1e-12 * max(1.0, abs(mean)):
        raise ValueError(
            "A skew-normal distribution is fitted to log-perplexities that are finite and not all "
            f"equal; got a mean of {mean:g} and a standard deviation of {spread:g}."
        )
    z = (values - mean) / spread
    start = _start_from_moments(z)
    # The likelihood is flat at shape 0, so that a start there would stay there.
    starts = [start] if abs(start[0]) > 0.5 else [np.array([s, 0.0, 0.0]) for s in (-1.0, 1.0)]
    bounds = [(-_STEEPEST, _STEEPEST), (None, None), (None, None)]
    fits = [
        optimize.minimize(
            _negative_likelihood, guess, args=(z,), jac=True, method="L-BFGS-B", bounds=bounds
        )
        for guess in starts
    ]
    shape, loc, log_scale = min(fits, key=lambda fit: fit.fun).x
    return float(shape), float(mean + spread * loc), float(spread * np.exp(log_scale))


_FEWEST = 8


def skew_normal_exposure(log_perplexity: ArrayLike, sample: ArrayLike) -> FloatOrArray:
    r"""Return the exposure of canaries from the log-perplexities of a sample of candidates.

    A skew-normal distribution with the distribution function F is fitted to the sample by maximum
    likelihood. The exposure is :math:`-\log_2 F(x)`, also far below the smallest value of the
    sample.

    Parameters
    ----------
    log_perplexity : float or array-like of shape (n,)
        Log-perplexities of the canaries, in bits.
    sample : array-like of shape (n_samples,)
        Log-perplexities of candidates that were drawn at random, in bits; at least 8.

    Returns
    -------
    exposure : float or ndarray of shape (n,)
        Exposure in bits, at least 0; higher means more memorized.

    Raises
    ------
    ValueError
        If a number is not finite, or if the sample is too small or all equal.

    See Also
    --------
    Exposure : Measures both with a model, and tests the fit.

    Notes
    -----
    The exposure of candidates cannot be more than the logarithm of their number; the fitted
    distribution does not know this number.

    References
    ----------
    Carlini, N., Liu, C., Erlingsson, Ú., Kos, J. and Song, D. (2019). The secret sharer: evaluating
    and testing unintended memorization in neural networks. USENIX Security.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.memorization import skew_normal_exposure
    >>> sample = np.random.default_rng(0).normal(100, 5, size=2000)
    >>> skew_normal_exposure([100.0, 60.0], sample).round()
    array([ 1., 45.])
    """
    sample = check_finite_vector(sample, "sample")
    if len(sample) < _FEWEST:
        raise ValueError(f"sample must hold {_FEWEST} values or more; got {len(sample)}.")
    bits = check_numbers(log_perplexity, "log_perplexity", "finite numbers")
    logcdf = skew_normal_logcdf(bits.ravel(), *fit_skew_normal(sample))
    exposure = (-logcdf / np.log(2) + 0.0).reshape(bits.shape)
    return float(exposure) if exposure.ndim == 0 else exposure


class Exposure(TransactionMixin, CopiesParameters, BaseEstimator):
    """Exposure of canaries, which measures how much a sequence model has memorized them.

    A canary is a random sequence that is put into the training data. If the model finds it less
    perplexing than the other candidates that might have been drawn, it has memorized the canary.
    The exposure is the number of bits by which the model makes it easier to guess: 0 for the last
    of the candidates, log2 of their number for the first.

    Parameters
    ----------
    log_perplexity : SequenceModel or callable
        The model itself, such as a :class:`NGramModel`, or a function that takes sequences, an
        array of shape (n, length), and returns the log-perplexity of each in bits.
    candidates : CanaryFormat, or array-like of shape (n, length)
        All candidates from which the canary was drawn. Equal candidates count once. They may differ
        in length, or be what a tokenizer returned; padding does not count.
    method : {"exact", "sampling", "skew_normal"}, default="exact"
        - "exact": the rank of the canary among all candidates.
        - "sampling": the share of a sample of candidates with a log-perplexity of at most the
          canary's. It is infinite if there is none; see :meth:`exposure_interval`.
        - "skew_normal": the probability of a log-perplexity of at most the canary's under a
          skew-normal distribution, fitted to a sample. It reaches beyond the sample, as far as the
          distribution is right.
    ties : {"first", "last"}, default="first"
        With "exact": whether the canary comes before or after candidates of the same
        log-perplexity. "first" is the definition, by which all are fully exposed to a model that
        cannot distinguish them; the two values together say how far ties matter.
    n_samples : int, default=10_000
        Number of candidates drawn for the other two methods, with replacement.
    level : float, default=5.0
        Exposure in bits above which :meth:`predict` says that a canary is memorized. Less than a
        share of ``2 ** -b`` of all candidates have more than b bits, unless they are tied.
    random_state : int, RandomState instance or None, default=None
        Controls the sample.

    Attributes
    ----------
    log_perplexities_ : ndarray of shape (n_candidates,) or (n_samples,)
        Log-perplexity, in bits, of the candidates in order, or of the sample.
    n_candidates_ : int
        Number of candidates.
    max_exposure_ : float
        log2 of their number. A canary with about this exposure can be extracted.
    skew_normal_ : tuple of float
        Shape, location and scale, with "skew_normal".
    ks_statistic_, ks_pvalue_ : float
        Kolmogorov-Smirnov test of the sample against the fitted distribution. The distribution was
        fitted to the same sample, so the p-value is too large; a small p-value refutes the fit.

    Raises
    ------
    ValueError
        If a canary is not a candidate, or the candidates are too many for "exact".

    See Also
    --------
    insert_canaries : Insertion of canaries into training data.
    shortest_path_extraction : Search for the least perplexing candidate.

    Notes
    -----
    Canaries that the model was not trained on have :ref:`1.44 bits on average <exposure>`.

    Sums of the same terms in different orders differ by rounding errors. So log-perplexities that
    differ by at most ``(length + 2) * (bits + 2)`` times the spacing of floats next to 1 count as
    equal: 4e-13 bits for 80 bits in 20 tokens.

    A model is asked once for each beginning that candidates of a format share, so that "exact"
    takes about a tenth as long for digits as asking for all candidates one by one.

    References
    ----------
    Carlini, N., Liu, C., Erlingsson, Ú., Kos, J. and Song, D. (2019). The secret sharer: evaluating
    and testing unintended memorization in neural networks. USENIX Security.

    Examples
    --------
    >>> from skmia.memorization import CanaryFormat, Exposure, NGramModel, insert_canaries
    >>> secrets = CanaryFormat("pin ####", "0123456789", alphabet="0123456789 pin")
    >>> others = secrets.sample(200, random_state=0)
    >>> canary = secrets.encode(["pin 1234"])
    >>> training = insert_canaries(others, canary, n_insertions=20, random_state=0)
    >>> model = NGramModel(4).fit(training)
    >>> exposure = Exposure(model, secrets).fit()
    >>> exposure.exposure("pin 1234") == exposure.max_exposure_
    True
    >>> exposure.score_samples(["pin 5678", "pin 9081"]).round(1)
    array([0.7, 0.9])
    >>> exposure.predict(["pin 5678", "pin 1234"])
    array([0, 1])
    >>> exposure.score(["pin 1234"]) == exposure.max_exposure_
    True
    """

    _subjects = ("log_perplexity",)

    _parameter_constraints = {
        "log_perplexity": [HasMethods("next_log_proba"), callable],
        "candidates": [CanaryFormat, "array-like"],
        "method": [StrOptions({"exact", "sampling", "skew_normal"})],
        "ties": [StrOptions({"first", "last"})],
        "n_samples": [at_least(2)],
        "level": [RealInterval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        log_perplexity: TokenModel
        | BaseEstimator
        | Callable[[np.ndarray], ArrayLike]
        | None = None,
        candidates: CanaryFormat | ArrayLike | None = None,
        *,
        method: Literal["exact", "sampling", "skew_normal"] = "exact",
        ties: Literal["first", "last"] = "first",
        n_samples: int = 10_000,
        level: float = 5.0,
        random_state: Seed = None,
    ) -> None:
        self.log_perplexity = log_perplexity
        self.candidates = candidates
        self.method = method
        self.ties = ties
        self.n_samples = n_samples
        self.level = level
        self.random_state = random_state

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Measure the log-perplexity of the candidates.

        Parameters
        ----------
        X, y : Ignored
            Not used.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        if is_model(self.log_perplexity):
            check_sequence_model(self.log_perplexity)
        self._candidates = as_candidates(self.candidates)
        self.n_candidates_ = self._candidates.n_candidates
        self._length = self._candidates.candidates(0, 1).shape[1]
        self.max_exposure_ = math.log2(self.n_candidates_)
        if self.method == "exact":
            self.log_perplexities_ = measure_all(self.log_perplexity, self._candidates)
        else:
            rng = check_random_state(self.random_state)
            sample = self._candidates.sample(self.n_samples, random_state=rng)
            self.log_perplexities_ = measure_log_perplexity(self.log_perplexity, sample)
        self._sorted, self._method = np.sort(self.log_perplexities_), self.method
        if self.method == "skew_normal":
            self.skew_normal_ = fit_skew_normal(self.log_perplexities_)
            test = stats.kstest(self._sorted, stats.skewnorm(*self.skew_normal_).cdf)
            self.ks_statistic_, self.ks_pvalue_ = float(test.statistic), float(test.pvalue)
        return self

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Return the exposure of each canary.

        Parameters
        ----------
        X : array-like of shape (n, length), or sequence of n str
            Canaries; texts where the candidates are a format of text.

        Returns
        -------
        exposure : ndarray of shape (n,)
            Exposure, in bits; higher means more memorized.
        """
        check_is_fitted(self)
        if self._method == "exact":
            return self.max_exposure_ - np.log2(self.rank(X))
        bits = self._measure_canaries(X)
        if self._method == "skew_normal":
            return -skew_normal_logcdf(bits, *self.skew_normal_) / np.log(2) + 0.0
        with np.errstate(divide="ignore"):
            return -np.log2(self._count_up_to(bits) / len(self._sorted)) + 0.0

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return which canaries are memorized.

        Parameters
        ----------
        X : array-like of shape (n, length), or sequence of n str
            Canaries.

        Returns
        -------
        memorized : ndarray of shape (n,), dtype int
            1 where the exposure is above `level`, otherwise 0.
        """
        return (self.score_samples(X) > self.level).astype(int)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Return the average exposure of canaries; higher means more memorized.

        A search with this score selects the setting under which the canaries are most exposed.

        Parameters
        ----------
        X : array-like of shape (n, length), or sequence of n str
            Canaries.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        score : float
            Mean exposure, in bits. One that is infinite, because no candidate of the sample is as
            little perplexing, counts as ``log2(n_samples)``, which it exceeds.
        """
        exposure = self.score_samples(X)
        most = math.log2(len(self._sorted))
        return float(np.where(np.isposinf(exposure), most, exposure).mean())

    def exposure(self, canary: str | ArrayLike) -> float:
        """Return the exposure of a single canary.

        Parameters
        ----------
        canary : str, or array-like of shape (length,)
            Canary to measure.

        Returns
        -------
        exposure : float
            Exposure of the canary, in bits.
        """
        return float(self.score_samples([canary])[0])

    def rank(self, X: ArrayLike) -> np.ndarray:
        """Return the rank of each canary among all candidates, with ``method="exact"``.

        Parameters
        ----------
        X : array-like of shape (n, length), or sequence of n str
            Canaries.

        Returns
        -------
        rank : ndarray of shape (n,)
            Rank; 1 for the candidate with the lowest log-perplexity.
        """
        check_is_fitted(self)
        if self._method != "exact":
            raise ValueError(f"Ranks need method='exact'; got {show(self._method)}.")
        # Looked up, not asked for again: an answer that differs in the last digit would put the
        # canary behind itself.
        bits = self.log_perplexities_[self._candidates.position(X)]
        if self.ties == "first":
            lowest_tie = bits - bound_rounding(bits, self._length)
            return 1 + np.searchsorted(self._sorted, lowest_tie, side="left")
        return self._count_up_to(bits)

    def exposure_interval(
        self, canary: str | ArrayLike, *, confidence_level: float = 0.95
    ) -> Interval:
        """Return the exposure of a single canary with the uncertainty of the sample.

        Parameters
        ----------
        canary : str, or array-like of shape (length,)
            Canary to measure.
        confidence_level : float, default=0.95
            Confidence level of the exact (Clopper-Pearson) interval of the share of candidates.

        Returns
        -------
        interval : Interval
            ``(estimate, low, high)``, in bits. "exact" has no uncertainty; where nothing
            in the sample is as little perplexing, estimate and high are infinite.
        """
        check_is_fitted(self)
        if self._method == "exact":
            return Estimate(*[self.exposure(canary)] * 3)
        if self._method == "skew_normal":
            raise ValueError(
                "An extrapolation has no interval because it depends on the fitted distribution; "
                "see ks_statistic_, or choose method='sampling'."
            )
        below = int(self._count_up_to(self._measure_canaries([canary]))[0])
        low, high = clopper_pearson(below, len(self._sorted), confidence_level=confidence_level)
        with np.errstate(divide="ignore"):
            low, high = -np.log2([high, low]) + 0.0
        return Estimate(self.exposure(canary), float(low), float(high))

    def _measure_canaries(self, canaries):
        self._candidates.position(canaries)  # refuses what is not a candidate
        return measure_log_perplexity(self.log_perplexity, self._candidates.encode(canaries))

    def _count_up_to(self, bits):
        """Return how many candidates have a log-perplexity of at most these."""
        highest_tie = bits + bound_rounding(bits, self._length)
        return np.searchsorted(self._sorted, highest_tie, side="right")
