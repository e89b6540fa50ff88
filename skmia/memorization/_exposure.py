"""Exposure of canaries among all candidates."""

import math
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.numbers import show
from .._core.randomness import check_random_state
from .._core.sklearn import HasMethods, StrOptions, at_least, validate_params_of
from .._core.types import Seed, TokenModel
from ..metrics import Interval, clopper_pearson
from ..metrics import Interval as Estimate
from ._candidates import as_candidates, measure, measure_all
from ._format import CanaryFormat
from ._model import check_model, is_model
from ._skew_normal import fit_skew_normal, skew_normal_logcdf


class Exposure(BaseEstimator):
    """Exposure of canaries, which measures how much a sequence model has memorized them.

    A canary is a random sequence that is put into the training data. If the model finds it less
    perplexing than the other candidates that might have been drawn, it has memorized the canary.
    The exposure is the number of bits by which the model makes it easier to guess: 0 for the last
    of the candidates, log2 of their number for the first.

    Parameters
    ----------
    log_perplexity : SequenceModel or callable
        The model; one that is an estimator in a :class:`~sklearn.frozen.FrozenEstimator`. Or a
        function that takes sequences, an array of shape (n, length), and returns the log-perplexity
        of each in bits.
    candidates : CanaryFormat or array-like of shape (n, length)
        All candidates from which the canary was drawn. Equal candidates count once.
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
    Canaries that the model was not trained on have a mean exposure of log2(e) = 1.44 bits, with a
    standard deviation of as much, if the candidates are many and not tied. A single canary
    therefore says little at a small exposure: more than t bits have a probability of 2^-t.

    A model is asked once for each beginning that candidates of a format share, so that "exact"
    takes about a tenth as long for digits as asking for all candidates one by one.

    References
    ----------
    Carlini, N., Liu, C., Erlingsson, Ú., Kos, J. and Song, D. (2019). The secret sharer: evaluating
    and testing unintended memorization in neural networks. USENIX Security.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from skmia.memorization import CanaryFormat, Exposure, NGramModel, insert_canaries
    >>> secrets = CanaryFormat("pin ####", "0123456789", alphabet="0123456789 pin")
    >>> others = secrets.sample(200, random_state=0)
    >>> canary = secrets.encode(["pin 1234"])
    >>> training = insert_canaries(others, canary, n_insertions=20, random_state=0)
    >>> model = NGramModel(4).fit(training)
    >>> exposure = Exposure(FrozenEstimator(model), secrets).fit()
    >>> exposure.exposure("pin 1234") == exposure.max_exposure_
    True
    >>> exposure.score_samples(["pin 5678", "pin 9081"]).round(1)
    array([0.7, 0.9])
    """

    _parameter_constraints = {
        "log_perplexity": [HasMethods("next_log_proba"), callable],
        "candidates": [CanaryFormat, "array-like"],
        "method": [StrOptions({"exact", "sampling", "skew_normal"})],
        "ties": [StrOptions({"first", "last"})],
        "n_samples": [at_least(2)],
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
        random_state: Seed = None,
    ) -> None:
        self.log_perplexity = log_perplexity
        self.candidates = candidates
        self.method = method
        self.ties = ties
        self.n_samples = n_samples
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
        validate_params_of(self)
        if is_model(self.log_perplexity):
            check_model(self.log_perplexity)
        self._candidates = as_candidates(self.candidates)
        self.n_candidates_ = self._candidates.n_candidates
        self.max_exposure_ = math.log2(self.n_candidates_)
        if self.method == "exact":
            self.log_perplexities_ = measure_all(self.log_perplexity, self._candidates)
        else:
            rng = check_random_state(self.random_state)
            sample = self._candidates.sample(self.n_samples, random_state=rng)
            self.log_perplexities_ = measure(self.log_perplexity, sample)
        self._sorted = np.sort(self.log_perplexities_)
        if self.method == "skew_normal":
            self.skew_normal_ = fit_skew_normal(self.log_perplexities_)
            test = stats.kstest(self._sorted, stats.skewnorm(*self.skew_normal_).cdf)
            self.ks_statistic_, self.ks_pvalue_ = float(test.statistic), float(test.pvalue)
        return self

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Exposure of each canary.

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
        if self.method == "exact":
            return self.max_exposure_ - np.log2(self.rank(X))
        bits = self._measure_canaries(X)
        if self.method == "skew_normal":
            return -skew_normal_logcdf(bits, *self.skew_normal_) / np.log(2) + 0.0
        with np.errstate(divide="ignore"):
            return -np.log2(self._count_below(bits) / self.n_samples) + 0.0

    def exposure(self, canary: str | ArrayLike) -> float:
        """Exposure of a single canary.

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
        """Rank of each canary among all candidates, with ``method="exact"``.

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
        if self.method != "exact":
            raise ValueError(f"Ranks need method='exact'; got {show(self.method)}.")
        # Looked up, not asked for again: an answer that differs in the last digit would put the
        # canary behind itself.
        bits = self.log_perplexities_[self._candidates.position(X)]
        if self.ties == "first":
            return 1 + np.searchsorted(self._sorted, bits, side="left")
        return np.searchsorted(self._sorted, bits, side="right")

    def exposure_interval(
        self, canary: str | ArrayLike, *, confidence_level: float = 0.95
    ) -> Interval:
        """Exposure of a single canary with the uncertainty of the sample.

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
        if self.method == "exact":
            return Estimate(*[self.exposure(canary)] * 3)
        if self.method == "skew_normal":
            raise ValueError(
                "An extrapolation has no interval because it depends on the fitted distribution; "
                "see ks_statistic_, or choose method='sampling'."
            )
        below = int(self._count_below(self._measure_canaries([canary]))[0])
        low, high = clopper_pearson(below, self.n_samples, confidence_level=confidence_level)
        with np.errstate(divide="ignore"):
            low, high = -np.log2([high, low]) + 0.0
        return Estimate(self.exposure(canary), float(low), float(high))

    def _measure_canaries(self, canaries):
        self._candidates.position(canaries)  # refuses what is not a candidate
        return measure(self.log_perplexity, self._candidates.encode(canaries))

    def _count_below(self, bits):
        return np.searchsorted(self._sorted, bits, side="right")
