"""Intervals of shares and means of records; a person may have several records."""

import numpy as np
from scipy import special

from .._core.checks import check_confidence_level
from .intervals import Interval, beta_limits
from .people import People, Sizes, check_people


def share_interval(hits, groups=None, *, confidence_level=0.95):
    """Return the share of hits, with Clopper-Pearson limits for an effective number of records.

    Parameters
    ----------
    hits : ndarray of shape (n,), dtype bool
    groups : array-like of shape (n,), default=None
        Person of each record. If None, all records are independent.
    confidence_level : float, default=0.95

    Returns
    -------
    interval : Interval
        NaN with the limits 0 and 1 without records.
    """
    tail = (1 - check_confidence_level(confidence_level)) / 2
    if not len(hits):
        return Interval(np.nan, 0.0, 1.0)
    share, people = float(np.mean(hits)), People(check_people(groups, len(hits)))
    size = people.effective_size(np.asarray(hits, dtype=float), share * (1 - share))
    size = Sizes(np.array([size]), people.freedom).trusted(tail)[0]
    return Interval(share, *map(float, beta_limits(share * size, size, tail)))


def mean_interval(values, groups=None, *, confidence_level=0.95):
    """Return the mean with a normal interval, or with Student's t distribution over people.

    Parameters
    ----------
    values : ndarray of shape (n,)
    groups : array-like of shape (n,), default=None
        Person of each record. If None, all records are independent.
    confidence_level : float, default=0.95

    Returns
    -------
    interval : Interval
        Without limits for a single person.
    """
    tail = (1 - check_confidence_level(confidence_level)) / 2
    mean, people = float(np.mean(values)), People(check_people(groups, len(values)))
    if people.alone:
        reach = -special.ndtri(tail) * np.std(values) / np.sqrt(len(values))
    else:
        reach = -special.stdtrit(people.freedom, tail) * people.mean_variance(values) ** 0.5
    return Interval(mean, mean - float(reach), mean + float(reach))
