"""The Fisher-Rao score of out-of-distribution detection, for membership."""

from numbers import Real

import numpy as np
from scipy.special import softmax

from ..utils._sklearn import Interval
from ._layer_distance import LayerDistanceAttack

_N_STEPS, _RATE = 1000, 0.01


def distance_of_distributions(p, q):
    """Fisher-Rao distance of discrete distributions along the last axis.

    Written with a difference, which keeps its digits where the two are close.
    """
    chord = np.linalg.norm(np.sqrt(p) - np.sqrt(q), axis=-1)
    return 4 * np.arcsin(np.minimum(chord / 2, 1))


def distance_of_normals(first, second, std):
    """Fisher-Rao distance of normal distributions of equal diagonal covariance, last axis."""
    scaled = np.abs(first - second) / (2 * np.sqrt(2) * std)
    return 2 * np.sqrt(2) * np.linalg.norm(np.arcsinh(scaled), axis=-1)


def find_centroid(p, start, temperature):
    """Logits whose distribution has the smallest mean distance to the rows of p, by Adam."""
    logits = start.astype(float)
    first, second = np.zeros_like(logits), np.zeros_like(logits)
    root_p = np.sqrt(p)
    for step in range(1, _N_STEPS + 1):
        q = softmax(logits / temperature)
        overlap = root_p @ np.sqrt(q)
        # d = 2 arccos(overlap); the slope of the overlap in the logits follows from the softmax.
        outer = -2 / np.sqrt(np.maximum(1 - overlap**2, 1e-12))
        slope = (root_p.T @ outer) * np.sqrt(q) - q * (outer @ overlap)
        slope /= 2 * temperature * len(p)
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        change = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        logits = logits - _RATE * change
    return logits


class FisherRaoAttack(LayerDistanceAttack):
    r"""Guess "member" where the victim's layers are closer to known members than to others.

    Distances are those of information geometry. A hidden layer's output is the mean of a normal
    distribution, with the standard deviations of the known records around their class means, and
    the distance is that to the nearest class mean; channels of images are averaged over their
    positions. For the logits it is the sum over classes of the distance between the class
    probabilities and the centroid of the class. The score is a weighted sum over layers of the
    distance to the non-members over that to the members.

    Parameters
    ----------
    victim : fitted estimator
        Classifier under attack, in a :class:`~sklearn.frozen.FrozenEstimator`; see
        :func:`skmia.victims.open_white_box` for those that have layers.
    layers : sequence of str or int, default=None
        Hidden layers by name or position, see :meth:`skmia.victims.WhiteBox.layer_names`; None
        reads all but the last. The logits are always read.
    temperature : float, default=1.0
        Divides the logits.
    cross_fit : bool, default=True
        Whether the weights of the layers are learned from distances to other records, and records
        given to ``fit`` are scored by what was learned from the other folds. With False such
        records are refused.
    cv : int, default=5
        Number of folds.
    random_state : int, RandomState instance or None, default=None
        Determines the folds.

    Attributes
    ----------
    weights_ : ndarray of shape (n_layers + 1,)
        Weight of each hidden layer and of the logits.
    offset_ : float
        Threshold of the score.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    See Also
    --------
    MahalanobisAttack : The same idea with another distance.

    Notes
    -----
    The thesis computes a variance and puts it where the distance takes a standard deviation; here
    its root is taken. The sum over the classes of the logits is as printed, though hidden layers
    have a minimum.

    References
    ----------
    Gomes, E. D. C., Alberge, F., Duhamel, P. and Piantanida, P. (2022). Igeood: an information
    geometry approach to out-of-distribution detection. ICLR.

    del Grosso Guzman, G. (2023). Leakage of sensitive data from deep neural networks. PhD thesis,
    equations (2.53) to (2.61).

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.neural_network import MLPClassifier
    >>> from skmia.attacks import FisherRaoAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> victim = MLPClassifier(solver="lbfgs", max_iter=2000, random_state=0)
    >>> victim = FrozenEstimator(victim.fit(members.X, members.y))
    >>> attack = FisherRaoAttack(victim, cv=2, random_state=0).fit(records, membership)
    >>> attack.weights_.shape
    (2,)
    """

    _parameter_constraints = {
        **LayerDistanceAttack._parameter_constraints,
        "layers": [list, tuple, None],
        "temperature": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        victim=None,
        *,
        layers=None,
        temperature=1.0,
        cross_fit=True,
        cv=5,
        random_state=None,
    ):
        self.victim = victim
        self.layers = layers
        self.temperature = temperature
        self.cross_fit = cross_fit
        self.cv = cv
        self.random_state = random_state

    def _fit(self, records, membership):
        super()._fit(records, membership)
        self.weights_ = self._model[1]

    def _read(self, white_box, inputs):
        names = white_box.layer_names(inputs[:1])[:-1] if self.layers is None else self.layers
        hidden = white_box.layer_outputs(inputs, names) if len(names) else []
        return [*(layer.astype(np.float64) for layer in hidden), white_box.logits(inputs)]

    def _describe(self, values, labels, is_last):
        if is_last:
            p = softmax(values / self.temperature, axis=1)
            centroids = np.eye(p.shape[1])  # where they start, and stay without records
            for label in np.unique(labels):
                own = p[labels == label]
                centroids[label] = find_centroid(own, centroids[label], self.temperature)
            return softmax(centroids / self.temperature, axis=1)
        classes, position = np.unique(labels, return_inverse=True)
        means = np.array([values[position == k].mean(axis=0) for k in range(len(classes))])
        std = np.sqrt(np.square(values - means[position]).mean(axis=0))
        varies = std > 0
        return means[:, varies], std[varies], varies

    def _measure(self, description, values, is_last):
        if is_last:
            p = softmax(values / self.temperature, axis=1)
            return sum(distance_of_distributions(p, centroid) for centroid in description)
        means, std, varies = description
        values = values[:, varies]
        return np.min([distance_of_normals(values, mean, std) for mean in means], axis=0)
