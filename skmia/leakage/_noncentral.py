"""Logarithm of the distribution function of noncentral chi-square laws, far into the tails."""

import numpy as np
from scipy.special import erfcx, log_ndtr
from scipy.stats import ncx2

# Standard deviations beyond which scipy's series underflow, overflow or take seconds.
_FAR = 12.0

# Mean beyond which they take seconds anywhere, and the signed root is normal to 1e-4.
_LARGE = 1e9

# Values of 0 are taken for this one, so that all logarithms are finite.
_FLOOR = 1e-300


def ncx2_logcdf(x, df, nc):
    """Log of Pr[chi'^2_df(nc) <= x], finite for all x of 0 and above.

    Beyond 12 standard deviations it is the saddlepoint approximation of Lugannani and Rice; for the
    df and nc of a released mean its relative error is about 1e-6 of the probability.
    """
    x = np.maximum(x, _FLOOR)
    w, v = _saddlepoint(x, df, nc)
    if df + nc > _LARGE:
        return log_ndtr(w)
    logcdf = np.empty_like(x)
    lowest, highest = w < -_FAR, w > _FAR
    logcdf[lowest] = _log_tail(-w[lowest], -v[lowest])
    logcdf[highest] = -np.exp(_log_tail(w[highest], v[highest]))
    low, high = ~lowest & (w < 0), ~highest & (w >= 0)
    logcdf[low] = np.log(ncx2.cdf(x[low], df, nc))
    logcdf[high] = np.log1p(-ncx2.sf(x[high], df, nc))
    return logcdf


def _saddlepoint(x, df, nc):
    """Signed root of the deviance at x, which is about normal, and its correction."""
    # The slope of the cumulant generating function is x at e / (2 + 2 e).
    inverse = 2 * x / (df + np.sqrt(df**2 + 4 * x * nc))
    e = inverse - 1
    log = np.where(e < -0.5, np.log(inverse), np.log1p(np.maximum(e, -0.5)))
    w = np.sign(e) * np.sqrt(df * (e - log) + nc * e**2)
    return w, e / 2 * np.sqrt(2 * df + 4 * nc * (1 + e))


def _log_tail(w, v):
    """Log of the probability beyond a positive signed root."""
    mills = np.sqrt(np.pi / 2) * erfcx(w / np.sqrt(2))
    return -(w**2) / 2 - np.log(2 * np.pi) / 2 + np.log(mills - 1 / w + 1 / v)
