"""Attack with a perceptron on several signals."""

from collections.abc import Sequence
from dataclasses import replace

from sklearn.base import BaseEstimator
from sklearn.neural_network import MLPClassifier

from .._core.needs import BOTH
from .._core.sklearn import at_least
from .._core.types import Seed
from ..base import LearnedAttack
from ..signals import Signal, Signals

SIX_SIGNALS = (
    "max_softmax",
    "modified_entropy",
    "loss",
    "gradient_norm_w",
    "gradient_norm_x",
    "adversarial_distance_linf",
)


class EnsembleAttack(LearnedAttack):
    """Classify members by several signals, learned from known members.

    A perceptron with 40, 40, 20 and 10 hidden units reads the signals, scaled to [0, 1]. With
    signals of outputs only, the victim can be any classifier or regressor. With scikit-learn's own
    tools, a :class:`~sklearn.ensemble.StackingClassifier` over attacks serves the same purpose.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Model under attack, in a :class:`~sklearn.frozen.FrozenEstimator`. If None, the predictions
        stored by :meth:`skmia.Records.with_outputs` are used, which suffice for signals of outputs.
    signals : sequence of str or Signal, default=SIX_SIGNALS
        Signals that the perceptron reads. By default the six of the thesis: largest probability,
        modified entropy, loss, gradient norms with respect to parameters and inputs, adversarial
        distance. They require a victim with gradients, see :func:`skmia.victims.open_white_box`.
    attack_estimator : classifier, default=None
        Unfitted classifier with ``predict_proba``. If None, the perceptron is used.
    max_iter : int, default=300
        Maximum number of epochs of the perceptron.
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
    skmia.signals.Signals : The matrix of signals, for a Pipeline.

    Notes
    -----
    One sentence of the thesis lists five signals; its table and figures have six.

    References
    ----------
    del Grosso Guzman, G. (2023). Leakage of sensitive data from deep neural networks. PhD thesis.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.attacks import EnsembleAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> victim = RandomForestClassifier(20, random_state=0).fit(members.X, members.y)
    >>> signals = ["loss", "entropy", "correctness"]
    >>> attack = EnsembleAttack(FrozenEstimator(victim), signals=signals, cv=2, random_state=0)
    >>> bool(attack.fit(records, membership).score(records, membership) > 0.5)
    True
    """

    _parameter_constraints = {
        **LearnedAttack._parameter_constraints,
        "signals": [list, tuple],
        "max_iter": [at_least(1)],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        signals: Sequence[str | Signal] = SIX_SIGNALS,
        attack_estimator: BaseEstimator | None = None,
        max_iter: int = 300,
        cross_fit: bool = True,
        cv: int = 5,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.signals = signals
        self.attack_estimator = attack_estimator
        self.max_iter = max_iter
        self.cross_fit = cross_fit
        self.cv = cv
        self.random_state = random_state

    def _needs(self):
        return replace(Signals(signals=self.signals).needs(), known=BOTH)

    def _collect(self, records):
        return [Signals(self.victim, self.signals).fit_transform(records)]

    def _make_classifier(self):
        return MLPClassifier((40, 40, 20, 10), max_iter=self.max_iter)
