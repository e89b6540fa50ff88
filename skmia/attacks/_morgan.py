"""Attack on the loss and its response to random changes."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator

from .._core.metric_inputs import RATE_TOLERANCE
from .._core.needs import BOTH, Needs
from .._core.query import query
from .._core.sklearn import Interval
from .._core.types import Seed
from ..base import SupervisedAttack
from ..signals import Loss, Merlin, loss_rounding

# Number of quantiles of the loss that are candidates for the bounds of the window.
_N_BOUNDS = 64


def _compute_edges(loss, rounding):
    """Return candidate bounds between the losses, from minus to plus infinity.

    With a bound at a loss, a rounding error would decide about the record. Each bound is therefore
    the midpoint of two losses that differ by more than rounding, next to a quantile if there are
    many.
    """
    order = np.argsort(loss, kind="stable")
    loss, rounding = loss[order], rounding[order]
    gaps = np.flatnonzero(np.diff(loss) > rounding[1:] + rounding[:-1])
    if len(gaps) > _N_BOUNDS:
        wanted = np.linspace(0, len(loss) - 1, _N_BOUNDS)
        gaps = gaps[np.unique(np.minimum(np.searchsorted(gaps, wanted), len(gaps) - 1))]
    return np.concatenate([[-np.inf], (loss[gaps] + loss[gaps + 1]) / 2, [np.inf]])


def _choose_window(loss, share, rounding, membership, n_changes, target_fpr):
    """Return the bounds and the minimum share of the best rule on records of known membership."""
    edges = _compute_edges(loss, rounding)
    n_bins = len(edges) - 1
    place = np.searchsorted(edges, loss, side="right") - 1
    level = np.rint(share * n_changes).astype(int)
    counts = np.zeros((2, n_bins + 1, n_changes + 1))
    np.add.at(counts, (membership.astype(int), place + 1, level), 1)
    # Up to each edge, with at least each share.
    counts = counts.cumsum(axis=1)[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]
    inside = counts[:, None, 1:] - counts[:, :-1, None]  # from the first bin to the last
    rates = inside / np.bincount(membership.astype(int), minlength=2)[:, None, None, None]
    gain = rates[1] - rates[0] if target_fpr is None else rates[1]
    allowed = np.triu(np.ones((n_bins, n_bins), dtype=bool))[..., None]
    if target_fpr is not None:
        allowed = allowed & (rates[0] <= target_fpr + RATE_TOLERANCE)
    first, last, least = np.unravel_index(np.argmax(np.where(allowed, gain, -2)), gain.shape)
    return edges[first], edges[last + 1], least / n_changes


class MorganAttack(SupervisedAttack):
    """Attack that flags records whose loss lies in a window and rises under small changes.

    The score is the share of random changes that raise the loss (:class:`skmia.signals.Merlin`)
    inside a window of the loss, and -1 outside. The window, and with ``target_fpr`` the smallest
    share, are those of the best rule on the records given to ``fit``.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Classifier or regressor under attack.
    n_changes : int, default=100
        Number of changed copies of each record.
    scale : float, default=0.01
        Standard deviation of the noise, in units of the features.
    target_fpr : float, default=None
        Largest share of known non-members that the rule may flag; the rule with the highest TPR is
        chosen. If None, the rule with the highest advantage is chosen.
    cross_fit : bool, default=True
        Whether records given to ``fit`` are scored by the rule of the other folds; if False, they
        are refused.
    cv : int, default=5
        Number of folds.
    random_state : int, RandomState instance or None, default=None
        Controls the folds.

    Attributes
    ----------
    loss_window_ : tuple of float
        Bounds of the loss; the lower one belongs to the window, the upper one does not.
    offset_ : float
        Threshold of the score.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    See Also
    --------
    ThresholdAttack : With ``signal="merlin"``, uses only the share.

    References
    ----------
    Jayaraman, B., Wang, L., Knipmeyer, K., Gu, Q. and Evans, D. (2021). Revisiting membership
    inference under realistic assumptions. PoPETs.

    Examples
    --------
    >>> from sklearn.neural_network import MLPClassifier
    >>> from skmia.attacks import MorganAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> victim = MLPClassifier(solver="lbfgs", max_iter=2000, random_state=0)
    >>> victim = victim.fit(members.X, members.y)
    >>> attack = MorganAttack(victim, n_changes=20, random_state=0)
    >>> bool(attack.fit(records, membership).score(records, membership) > 0.3)
    True
    """

    _parameter_constraints = {
        **SupervisedAttack._parameter_constraints,
        "n_changes": [Interval(Integral, 1, 1_000_000, closed="both")],
        "scale": [Interval(Real, 0, None, closed="neither")],
        "target_fpr": [Interval(Real, 0, 1, closed="both"), None],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        n_changes: int = 100,
        scale: float = 0.01,
        target_fpr: float | None = None,
        cross_fit: bool = True,
        cv: int = 5,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.n_changes = n_changes
        self.scale = scale
        self.target_fpr = target_fpr
        self.cross_fit = cross_fit
        self.cv = cv
        self.random_state = random_state

    def _needs(self):
        return Needs(frozenset(Merlin.reads), access=frozenset(Merlin.access), known=BOTH)

    def _fit(self, records, membership):
        super()._fit(records, membership)
        self.loss_window_ = self._model[:2]

    def _collect(self, records):
        outputs = query(self.victim, records)
        share = Merlin(self.n_changes, self.scale).of(self.victim, records)
        return [-Loss()(outputs, records.y), share, loss_rounding(outputs, records.y)]

    def _learn(self, collected, membership, seed):
        return _choose_window(*collected, membership, self.n_changes, self.target_fpr)

    def _judge(self, model, collected):
        lower, upper, _ = model
        loss, share, _ = collected
        return np.where((lower <= loss) & (loss < upper), share, -1.0)

    def _learned_offset(self, records, membership):
        if self.target_fpr is None:
            return super()._learned_offset(records, membership)
        return self._model[2]
