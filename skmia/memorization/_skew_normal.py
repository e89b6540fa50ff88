"""The skew-normal distribution: its fit, and its lower tail far beyond any sample."""

import numpy as np
from scipy import optimize, special, stats

# Below it the distribution function loses digits, and is integrated on a logarithmic scale.
_TAIL = 1e-4
_NODES, _WEIGHTS = special.roots_laguerre(80)
_LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)
_STEEPEST = 1000.0


def _log_density(z, shape):
    return np.log(2) - z**2 / 2 - _LOG_ROOT_2PI + special.log_ndtr(shape * z)


def _hazard(z):
    """Density over distribution function of the normal."""
    return np.exp(-(z**2) / 2 - _LOG_ROOT_2PI - special.log_ndtr(z))


def skew_normal_logcdf(x, shape, loc, scale):
    """Logarithm of the distribution function, in nats, also where it underflows.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Points at which to evaluate the function.
    shape, loc, scale : float
        Parameters as scipy has them.

    Returns
    -------
    logcdf : ndarray of shape (n,)
    """
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
    """Maximum likelihood, from the moments on.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Sample.

    Returns
    -------
    shape, loc, scale : float
        Parameters as scipy has them.
    """
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
