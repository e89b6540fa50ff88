"""What a stack of attacks on one pool is learned from: their scores, and what they estimate."""

import copy

import numpy as np

from .._core.normal_law import NormalLaw
from ..base import PoolAttack
from ..base._parts import fit_without_threshold
from ..signals import ScaledLogit
from ._calibrated import CalibratedAttack
from ._lira import LiRA
from ._rmia import RMIA


class LogLikelihood(PoolAttack):
    """Log-likelihood of the label under the victim, which needs no shadow model."""

    def __init__(self, victim=None, shadows=None, target_fpr=None):
        self.victim = victim
        self.shadows = shadows
        self.target_fpr = target_fpr

    def _fit_pool(self, records):
        self._law = self.pool_.get_law(self._reads())

    def _score(self, target, shadows, inside, outside):
        return self._law.log_likelihood(target.astype(np.float64)).mean(axis=0)

    def _score_left_out(self, shadows, inside, models, others):
        return self._score(shadows[:, models], None, None, None)


def estimate_level(into, out):
    """Return the middle between the means of two distributions."""
    return (into[0] + out[0]) / 2


def estimate_gap(into, out):
    """Return the difference between the means of two distributions."""
    return into[0] - out[0]


def estimate_spread(into, out):
    """Return the logarithm of the joint spread of two distributions."""
    return np.log(into[1] + out[1]) / 2


class ShownLaw(NormalLaw):
    """A normal law that tells something of the distributions in the place of their log ratio.

    Parameters
    ----------
    show : callable
        Function of the IN and of the OUT distribution, see :class:`NormalLaw`.
    """

    def __init__(self, show):
        super().__init__(shrinks=True)
        self.show = show

    def log_ratio(self, target, laws):
        return np.array([np.broadcast_to(self.show(*both), target[0].shape) for both in laws])


# Features that are not scores of membership by themselves.
_SHOWN = {"level": estimate_level, "gap": estimate_gap, "spread": estimate_spread}

# The feature of similar records, which is none of the record itself.
SIMILAR = "similar_records"


def list_temperatures(pool, temperatures):
    """Return the temperatures that make a difference to the models of a pool."""
    if isinstance(temperatures, str) or pool.signal_ != ScaledLogit.name:
        return list(pool.temperatures_)
    return list(dict.fromkeys(temperatures))


def fit_parts(pool, records, temperatures):
    """Fit attacks on one pool, without thresholds.

    Parameters
    ----------
    pool : ShadowPool
        Fitted pool.
    records : Records of n records
        Records of the pool.
    temperatures : sequence of float or "auto"
        Temperatures of :class:`RMIA`.

    Returns
    -------
    parts : dict of str to attack
        By the name of the feature.
    """
    parts = {
        "lira_raw": LiRA(gap="raw"),
        "lira_pooled": LiRA(variance="pooled"),
        "lira": LiRA(likelihood="normal"),
        "lira_votes": LiRA(),
        "calibrated_out": CalibratedAttack(),
        "calibrated_midpoint": CalibratedAttack(reference="midpoint"),
        "log_likelihood": LogLikelihood(),
    }
    for temperature in list_temperatures(pool, temperatures):
        parts[f"rmia_{temperature:g}"] = RMIA(temperature=temperature)
    for part in parts.values():
        fit_without_threshold(part, pool, records)
    if parts["lira_votes"].likelihood_ == "normal":
        del parts["lira_votes"]
    return parts | _show(parts["lira"])


def _show(lira):
    """Return attacks that show what LiRA estimates, with its priors."""
    shown = {name: copy.copy(lira) for name in _SHOWN}
    for name, attack in shown.items():
        attack._law = ShownLaw(_SHOWN[name])
    return shown


def leave_out(parts, models):
    """Return fitted parts without what these models contribute when they are left out.

    Parameters
    ----------
    parts : dict of str to attack
        As returned by :func:`fit_parts`.
    models : ndarray of shape (n_chosen,)
        Numbers of models.

    Returns
    -------
    parts : dict of str to attack
    """
    own = {name: part for name, part in parts.items() if name not in _SHOWN}
    rest = {name: part._leave_out(models) for name, part in own.items()}
    return rest | _show(rest["lira"])


def list_scores(names):
    """Return the columns of the features that are scores of membership, by name."""
    others = {*_SHOWN, SIMILAR}
    return {name: column for column, name in enumerate(names) if name not in others}
