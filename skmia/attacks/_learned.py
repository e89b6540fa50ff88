"""Attack with a classifier on the outputs of the victim's layers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from .._core.needs import BOTH, Needs
from .._core.sklearn import StrOptions, at_least
from .._core.types import Seed
from ..base import LearnedAttack
from ..signals import GradientStatistics, Signal, Signals
from ..victims import check_layers, open_white_box

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


class LayerOutputsAttack(LearnedAttack):
    """Classify members by the outputs of the victim's layers, learned from known members.

    A perceptron with 128 and 64 hidden units reads the outputs of the chosen layers; channels of
    images are averaged over their positions. Labels are not used.

    Parameters
    ----------
    victim : fitted estimator
        Model under attack, in a :class:`~sklearn.frozen.FrozenEstimator`; see
        :func:`skmia.victims.open_white_box` for those that have layers.
    layers : sequence of str or int, default=(-2, -1)
        Layers by name or position, see :meth:`skmia.victims.WhiteBox.layer_names`. If the model has
        fewer layers, all of them are read.
    attack_estimator : classifier, default=None
        Unfitted classifier with ``predict_proba``. If None, the perceptron is used, with columns
        scaled to [0, 1].
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
    WhiteBoxAttack : Also reads labels, losses and gradients.

    References
    ----------
    del Grosso Guzman, G. (2023). Leakage of sensitive data from deep neural networks. PhD thesis.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.neural_network import MLPClassifier
    >>> from skmia.attacks import LayerOutputsAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> victim = MLPClassifier((20,), solver="lbfgs", max_iter=2000, random_state=0)
    >>> victim = FrozenEstimator(victim.fit(members.X, members.y))
    >>> attack = LayerOutputsAttack(victim, cv=2, random_state=0).fit(records, membership)
    >>> attack.score_samples(records).shape
    (1000,)
    """

    _parameter_constraints = {
        **LearnedAttack._parameter_constraints,
        "layers": [list, tuple],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        layers: Sequence[str | int] = (-2, -1),
        attack_estimator: BaseEstimator | None = None,
        cross_fit: bool = True,
        cv: int = 5,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.layers = layers
        self.attack_estimator = attack_estimator
        self.cross_fit = cross_fit
        self.cv = cv
        self.random_state = random_state

    def _needs(self):
        reads = frozenset({"proba", "logits", "value"})
        return Needs(reads, access=frozenset({"layers"}), known=BOTH)

    def _collect(self, records):
        white_box = open_white_box(self.victim)
        inputs = white_box.encode(records.X)
        n_layers = len(white_box.layer_names(inputs[:1]))
        chosen = check_layers(self.layers)
        layers = [
            layer for layer in chosen if isinstance(layer, str) or -n_layers <= layer < n_layers
        ]
        if not layers:
            raise ValueError(
                f"layers={chosen!r} must name at least one layer of the victim, which has "
                f"{n_layers}."
            )
        return [np.column_stack(white_box.layer_outputs(inputs, layers))]

    def _make_classifier(self):
        return MLPClassifier((128, 64))
