"""Thresholds for a target false positive rate, and a warning if it may be missed."""

import warnings

import numpy as np
from scipy import stats

from .._core.asking import unwrap
from ..victims import CallableVictim

# Relative difference of one score that is computed in two ways.
_TIE = 1e-6

# Two-sided level of the test whether the victim is unlike the shadow models. It is so low that a
# victim that was trained like them hardly ever fails.
_LEVEL = 1e-3

# Number of records on which the victim is queried for this test.
_MOST_RECORDS = 2000


def rate_threshold(scores, rate):
    """Return a threshold that at most a given share of the scores reach.

    It lies halfway between two scores. Scores that are equal up to rounding lie on the same side of
    it, so that a tie cannot exceed the share.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Scores of non-members.
    rate : float
        Maximum share of the scores that reach the threshold.

    Returns
    -------
    threshold : float
    """
    scores = np.sort(scores)
    n_allowed = int(rate * len(scores) * (1 + 1e-12))
    highest = scores[len(scores) - 1 - n_allowed]
    next_one = np.searchsorted(scores, highest + _TIE * max(1, abs(highest)), side="right")
    if next_one == len(scores):
        return highest + _TIE * max(1, abs(highest))
    return (highest + scores[next_one]) / 2


def warn_unlike(pool, victim, records, rate):
    """Warn if the victim fits the records unlike any shadow model.

    The mean log-likelihood of the records under the victim is compared with the values under the
    shadow models. They differ if the victim was trained on more or fewer records.
    """
    stored = victim is None or isinstance(unwrap(victim), CallableVictim)
    if stored and "outputs" not in records.fields:
        return
    some = records[:: -(-len(records) // _MOST_RECORDS)]
    signal = pool.stored_[0]
    rows = [pool.victim_values(None if stored else victim, some, signal)[0]]
    rows += list(pool.values(some, signal)[0])
    name, fits = "mean log-likelihood", np.asarray
    if pool.output_kind_ == "label":
        name = "share of correct labels"
    else:
        fits = pool.get_law(signal).log_likelihood
    own, *usual = (fits(row.astype(np.float64)).mean() for row in rows)
    center, spread = np.mean(usual), np.std(usual, ddof=1)
    widest = stats.t.isf(_LEVEL / 2, len(usual) - 1) * np.sqrt(1 + 1 / len(usual))
    if abs(own - center) > max(widest * spread, _TIE):
        warnings.warn(
            f"target_fpr={rate:g} may be missed: the victim fits these records unlike the shadow "
            f"models ({name} {own:.3g}; shadow models {center:.3g}, standard "
            f"deviation {spread:.2g}). The rate holds for a victim that was trained like them and "
            "on as many records, which max_samples of the pool sets.",
            UserWarning,
            stacklevel=5,
        )
