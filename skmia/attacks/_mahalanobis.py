"""Attack with the Mahalanobis score of out-of-distribution detection."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator

from .._core.types import Seed
from ..victims.layers import check_layers
from ._layer_distance import LayerDistanceAttack


class ClassGaussians:
    """Class means and one shared covariance matrix with divisor N.

    Directions without variance are left out, as in a pseudo-inverse.
    """

    def __init__(self, values, labels):
        classes, position = np.unique(labels, return_inverse=True)
        means = np.array([values[position == k].mean(axis=0) for k in range(len(classes))])
        centered = values - means[position]
        variances, directions = np.linalg.eigh(centered.T @ centered / len(values))
        floor = max(variances.max(), 0) * len(variances) * np.finfo(float).eps
        kept = variances > floor
        self.whitener = directions[:, kept] / np.sqrt(variances[kept])
        self.means = means @ self.whitener

    def measure(self, values):
        """Return the squared distance of each row to the nearest mean."""
        white = values @ self.whitener
        nearest = np.full(len(white), np.inf)
        for mean in self.means:
            np.minimum(nearest, np.square(white - mean).sum(axis=1), out=nearest)
        return nearest


class MahalanobisAttack(LayerDistanceAttack):
    r"""Attack on the Mahalanobis distance of the layer outputs to known records.

    In each layer, the outputs for known members are described by class means and one covariance
    matrix, and the outputs for known non-members likewise; channels of images are averaged over
    their positions. The score is a weighted sum over layers of the squared Mahalanobis distance to
    the nearest class of the non-members over that to the nearest class of the members.

    Parameters
    ----------
    victim : fitted estimator
        Classifier under attack, in a :class:`~sklearn.frozen.FrozenEstimator`; see
        :func:`skmia.victims.open_white_box` for those that have layers.
    layers : sequence of str or int, default=None
        Layers by name or position, see :meth:`skmia.victims.WhiteBox.layer_names`. If None, all
        layers are read.
    cross_fit : bool, default=True
        Whether the weights of the layers are learned from distances to other records, and records
        given to ``fit`` are scored by what was learned from the other folds. If False, such records
        are refused.
    cv : int, default=5
        Number of folds.
    random_state : int, RandomState instance or None, default=None
        Controls the folds.

    Attributes
    ----------
    weights_ : ndarray of shape (n_layers,)
        Weight of each layer.
    offset_ : float
        Threshold of the score.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    See Also
    --------
    FisherRaoAttack : Attack on the Fisher-Rao distance of the layer outputs.

    References
    ----------
    Lee, K., Lee, K., Lee, H. and Shin, J. (2018). A simple unified framework for detecting
    out-of-distribution samples and adversarial attacks. NeurIPS.

    del Grosso Guzman, G. (2023). Leakage of sensitive data from deep neural networks. PhD thesis,
    equation (2.52).

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.neural_network import MLPClassifier
    >>> from skmia.attacks import MahalanobisAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> victim = MLPClassifier(solver="lbfgs", max_iter=2000, random_state=0)
    >>> victim = FrozenEstimator(victim.fit(members.X, members.y))
    >>> attack = MahalanobisAttack(victim, random_state=0).fit(records, membership)
    >>> attack.weights_.shape
    (2,)
    """

    _parameter_constraints = {
        **LayerDistanceAttack._parameter_constraints,
        "layers": [list, tuple, None],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        layers: Sequence[str | int] | None = None,
        cross_fit: bool = True,
        cv: int = 5,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.layers = layers
        self.cross_fit = cross_fit
        self.cv = cv
        self.random_state = random_state

    def _read(self, white_box, inputs):
        layers = white_box.layer_outputs(inputs, check_layers(self.layers))
        return [layer.astype(np.float64) for layer in layers]

    def _describe(self, values, labels, is_last):
        return ClassGaussians(values, labels)

    def _measure(self, description, values, is_last):
        return description.measure(values)
