"""Attack with a neural network on layers, label, loss and gradient."""

from collections.abc import Sequence
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator

from .._core.needs import BOTH, Needs
from .._core.optional import import_optional
from .._core.probabilities import as_columns, posterior_of
from .._core.randomness import isolated_randomness
from .._core.records import Records
from .._core.sklearn import Interval, at_least
from .._core.types import Seed
from ..base import SupervisedAttack
from ..victims import open_white_box


class WhiteBoxAttack(SupervisedAttack):
    """Classify members by layers, label, loss and gradient, learned from known members.

    A net reads the outputs of layers, the label, the loss and the gradient of the loss with respect
    to the weights of the last layer, each through its own component.

    Parameters
    ----------
    victim : fitted estimator
        Classifier under attack, in a :class:`~sklearn.frozen.FrozenEstimator`; see
        :func:`skmia.victims.open_white_box` for those that have gradients and layers.
    layers : sequence of str or int, default=None
        Layers by name or position, see :meth:`skmia.victims.WhiteBox.layer_names`. If None, all
        layers are read.
    learning_rate : float, default=0.001
        Learning rate of the Adam optimizer.
    batch_size : int, default=64
        Number of records per training step.
    max_iter : int, default=50
        Number of epochs.
    device : str, default="cpu"
        Torch device on which the attack's own net is trained.
    cross_fit : bool, default=True
        Whether records given to ``fit`` are scored by a net of the other folds; if False, they are
        refused.
    cv : int, default=5
        Number of folds.
    random_state : int, RandomState instance or None, default=None
        Controls the folds and the net.

    Attributes
    ----------
    offset_ : float
        Threshold of the score, which is the log odds of a member.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    See Also
    --------
    LayerOutputsAttack : Reads only the outputs of layers, and does not need torch.

    Notes
    -----
    Inputs are standardized before they enter the net. Axes of a weight after the first are
    flattened.

    References
    ----------
    Nasr, M., Shokri, R. and Houmansadr, A. (2019). Comprehensive privacy analysis of deep learning:
    passive and active white-box inference attacks. IEEE S&P.

    Examples
    --------
    >>> import torch
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.neural_network import MLPClassifier
    >>> from skmia.attacks import WhiteBoxAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> victim = MLPClassifier(solver="lbfgs", max_iter=2000, random_state=0)
    >>> victim = FrozenEstimator(victim.fit(members.X, members.y))
    >>> attack = WhiteBoxAttack(victim, max_iter=5, cv=2, random_state=0)
    >>> bool(attack.fit(records, membership).score(records, membership) > 0.3)
    True
    """

    _parameter_constraints = {
        **SupervisedAttack._parameter_constraints,
        "layers": [list, tuple, None],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [at_least(1)],
        "max_iter": [at_least(1)],
        "device": [str],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        layers: Sequence[str | int] | None = None,
        learning_rate: float = 0.001,
        batch_size: int = 64,
        max_iter: int = 50,
        device: str = "cpu",
        cross_fit: bool = True,
        cv: int = 5,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.layers = layers
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.device = device
        self.cross_fit = cross_fit
        self.cv = cv
        self.random_state = random_state

    def _needs(self):
        reads = frozenset({"proba", "logits"})
        return Needs(reads, access=frozenset({"gradients", "layers"}), known=BOTH)

    def _collect(self, records):
        import_optional("torch", extra="torch")
        white_box = open_white_box(self.victim)
        inputs = white_box.encode(records.X)
        if white_box.classes is None:
            raise ValueError("WhiteBoxAttack needs a classifier; got a regressor.")
        loss = white_box.loss(inputs, records.y)
        label = np.searchsorted(white_box.classes, records.y)
        one_hot = np.eye(len(white_box.classes), dtype=np.float32)[label]
        gradients = [
            next(iter(found.values())) for _, found in white_box.layer_gradients(inputs, records.y)
        ]
        gradient = np.concatenate(gradients).astype(np.float32)
        gradient = gradient.reshape(*gradient.shape[:2], -1)
        return [*white_box.layer_outputs(inputs, self.layers), one_hot, loss[:, None], gradient]

    def _learn(self, collected, membership, seed):
        from ._white_box_net import WhiteBoxModel

        with isolated_randomness(np.random.SeedSequence(int(seed))):
            return WhiteBoxModel(self.device).fit(
                collected, membership, self.learning_rate, self.batch_size, self.max_iter
            )

    def _judge(self, model, collected):
        return model.log_odds(collected)

    def predict_proba(self, X: Records) -> np.ndarray:
        """Return the probability of membership according to the net.

        Parameters
        ----------
        X : Records of n records
            Labeled records.

        Returns
        -------
        proba : ndarray of shape (n, 2)
            Probabilities of non-membership and membership, given the share of members in ``fit``.
        """
        return as_columns(posterior_of(self.score_samples(X)))
