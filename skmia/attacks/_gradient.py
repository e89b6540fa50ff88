"""Attack with a classifier on statistics of the gradient of the loss."""

from dataclasses import replace
from typing import Literal

from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from .._core.needs import BOTH
from .._core.sklearn import StrOptions
from .._core.types import Seed
from ..base import LearnedAttack
from ..signals import GradientStatistics


class GradientAttack(LearnedAttack):
    """Classify members by the gradient of the loss, learned from known members.

    A classifier reads seven statistics of the gradient, see
    :class:`skmia.signals.GradientStatistics`.

    Parameters
    ----------
    victim : fitted estimator
        Model under attack, in a :class:`~sklearn.frozen.FrozenEstimator`; see
        :func:`skmia.victims.open_white_box` for those that have gradients.
    wrt : {"parameters", "inputs"}, default="parameters"
        What the gradient is taken with respect to.
    attack_estimator : classifier, default=None
        Unfitted classifier with ``predict_proba``. If None, a logistic regression is used, with
        columns scaled to [0, 1].
    cross_fit : bool, default=True
        Whether records given to ``fit`` are scored by a classifier of the other folds; if False,
        they are refused.
    cv : int, default=5
        Number of folds.
    random_state : int, RandomState instance or None, default=None
        Controls the folds and the classifier.

    Attributes
    ----------
    offset_ : float
        Threshold of the score.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    See Also
    --------
    ThresholdAttack : With ``signal="gradient_norm_w"``, uses only the norm and needs no members.

    References
    ----------
    Rezaei, S. and Liu, X. (2021). On the difficulty of membership inference attacks. CVPR.

    del Grosso Guzman, G. (2023). Leakage of sensitive data from deep neural networks. PhD thesis.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.neural_network import MLPClassifier
    >>> from skmia.attacks import GradientAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> victim = MLPClassifier(solver="lbfgs", max_iter=2000, random_state=0)
    >>> victim = FrozenEstimator(victim.fit(members.X, members.y))
    >>> attack = GradientAttack(victim, random_state=0).fit(records, membership)
    >>> bool(attack.score(records, membership) > 0.3)
    True
    """

    _parameter_constraints = {
        **LearnedAttack._parameter_constraints,
        "wrt": [StrOptions({"parameters", "inputs"})],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        wrt: Literal["parameters", "inputs"] = "parameters",
        attack_estimator: BaseEstimator | None = None,
        cross_fit: bool = True,
        cv: int = 5,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.wrt = wrt
        self.attack_estimator = attack_estimator
        self.cross_fit = cross_fit
        self.cv = cv
        self.random_state = random_state

    def _needs(self):
        return replace(GradientStatistics(wrt=self.wrt).needs(), known=BOTH)

    def _collect(self, records):
        return [GradientStatistics(self.victim, wrt=self.wrt).fit_transform(records)]

    def _make_classifier(self):
        return LogisticRegression(max_iter=1000)
