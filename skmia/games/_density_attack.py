"""Attack that compares the IN and OUT densities of the victim's output."""

from typing import Literal

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator

from .._core.moments import SMALLEST_SPREAD, compute_both_moments
from .._core.sklearn import StrOptions
from .._core.types import Frozen
from ..base import Comparison, PoolAttack, PosteriorMixin
from ..shadow import ShadowPool
from ..signals import Confidence

_LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)


def _sample_spread(moments):
    """Return the standard deviation with divisor n - 1."""
    squares = moments.squares / np.maximum(moments.count - 1, 1)
    return np.maximum(np.sqrt(squares), SMALLEST_SPREAD)


def _log_normal(target, values, chosen, moments):
    spread = _sample_spread(moments)
    return -0.5 * ((target - moments.mean) / spread) ** 2 - np.log(spread) - _LOG_ROOT_2PI


def _log_kernel(target, values, chosen, moments):
    """Return the Gaussian kernels of Scott's width around each value."""
    width = np.maximum(_sample_spread(moments) * moments.count**-0.2, SMALLEST_SPREAD)
    terms = np.where(chosen, -0.5 * ((target[:, None] - values) / width[:, None]) ** 2, -np.inf)
    return logsumexp(terms, axis=1) - np.log(moments.count * width) - _LOG_ROOT_2PI


_DENSITIES = {"normal": _log_normal, "kde": _log_kernel}


class ModelDensityRatio(Comparison):
    """Log ratio of the densities of IN and of OUT models."""

    least, offset = (2, 2), 0.0

    def __init__(self, reads, density):
        self.reads, self.density = reads, density

    def score(self, target, shadows, inside, outside):
        target, shadows = target.astype(np.float64), shadows.astype(np.float64)
        into, out = compute_both_moments(shadows, inside, outside)
        log_in = self.density(target, shadows, inside, into)
        return (log_in - self.density(target, shadows, outside, out)).sum(axis=0)


class DensityAttack(PosteriorMixin, PoolAttack):
    """Attack that compares the densities of an output among IN models and among OUT models.

    For each record, the output for its label is collected from the IN models and from the OUT
    models, and a density is fitted to each sample. The score is the log ratio of the two densities
    at the victim's output.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Model under attack. If None, the predictions stored by :meth:`skmia.Records.with_outputs`
        are used.
    shadows : ShadowPool or int
        A fitted pool, or an unfitted one, which is fitted once on the table that the records given
        to ``fit`` are taken from. A number trains as many clones of the victim, also once for a
        table; for `n_jobs` or a `random_state`, pass a pool.
    density : {"normal", "kde"}, default="normal"
        A normal density with the sample's mean and standard deviation (divisor n - 1), or Gaussian
        kernels of Scott's width, n^(-1/5) standard deviations.
    statistic : {"confidence", "auto"}, default="confidence"
        Signal whose densities are compared: the probability of the label, or with ``"auto"`` the
        signal of the pool, by the kind of the model: the log odds of the label, the margin of a
        model without probabilities, or minus the log residual of a regressor.
    target_fpr : float, default=None
        False positive rate of ``predict``, as measured on shadow models treated as the victim; it
        holds only if the victim was trained like them and on as many records. If None, the
        threshold is 0, where both densities are equal.

    Attributes
    ----------
    offset_ : float
        Threshold of the log ratio.
    pool_ : ShadowPool
        The fitted pool.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    See Also
    --------
    leave_two_unlabeled : Game for which the attack was designed.
    skmia.attacks.LiRA : Attack on the log odds, with variances that need fewer models.

    Notes
    -----
    Standard deviations are at least 1e-6, because samples of equal outputs have none. Several
    queries of a record (augmentations) are assumed to be independent.

    References
    ----------
    Pedersen, J. (2022). Privacy Preservation and Evaluation in Machine Learning. PhD defense,
    Rensselaer Polytechnic Institute.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.games import DensityAttack
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> members = records[membership == 1]
    >>> model = RandomForestClassifier(10, random_state=0).fit(members.X, members.y)
    >>> attack = DensityAttack(model, shadows=8).fit(records)
    >>> bool(attack.score(records, membership) > 0.4)
    True
    """

    _parameter_constraints = {
        **PoolAttack._parameter_constraints,
        "density": [StrOptions(set(_DENSITIES))],
        "statistic": [StrOptions({"auto", "confidence"})],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        shadows: ShadowPool | Frozen | int | None = None,
        *,
        density: Literal["normal", "kde"] = "normal",
        statistic: Literal["confidence", "auto"] = "confidence",
        target_fpr: float | None = None,
    ) -> None:
        self.victim = victim
        self.shadows = shadows
        self.density = density
        self.statistic = statistic
        self.target_fpr = target_fpr

    def _reads(self):
        return "auto" if self.statistic == "auto" else Confidence()

    def _compare(self, records):
        return ModelDensityRatio(self._reads(), _DENSITIES[self.density])
