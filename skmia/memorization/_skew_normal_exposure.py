"""Exposure beyond a sample of candidates, by a skew-normal law."""

import numpy as np
from numpy.typing import ArrayLike

from .._core.checks import check_finite_vector
from .._core.numbers import check_numbers
from .._core.types import FloatOrArray
from ._skew_normal import fit_skew_normal, skew_normal_logcdf

_FEWEST = 8


def skew_normal_exposure(log_perplexity: ArrayLike, sample: ArrayLike) -> FloatOrArray:
    r"""Exposure of canaries from the log-perplexities of a sample of candidates.

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
