"""Attack with a classifier on the outputs of the victim's layers."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.neural_network import MLPClassifier

from .._core.needs import BOTH, Needs
from .._core.types import Seed
from ..base import LearnedAttack
from ..victims import open_white_box
from ..victims.layers import check_layers


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
