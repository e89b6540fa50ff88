"""Attack with the Fisher-Rao score of out-of-distribution detection."""

from collections.abc import Sequence
from numbers import Real

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator

from .._core.divergences import fisher_rao_of_normals, fisher_rao_of_probabilities
from .._core.sklearn import Interval, at_least
from .._core.types import Seed
from ._layer_distance import LayerDistanceAttack

_RATE = 0.01


def compute_centroids(p, group, start, temperature, max_iter):
    """Compute the logits with the smallest mean distance to the rows of p, group by group.

    Groups are numbered 0, 1, ..., and none is empty; ``start`` has one row per group. Groups share
    the steps of Adam and are otherwise independent.
    """
    order = np.argsort(group, kind="stable")
    root_p, group = np.sqrt(p[order]), group[order]
    begins = np.flatnonzero(np.diff(group, prepend=-1))
    scale = 2 * temperature * np.bincount(group)[:, None]
    logits = start.astype(float)
    first, second = np.zeros_like(logits), np.zeros_like(logits)
    for step in range(1, max_iter + 1):
        scaled = logits / temperature
        root_q = np.exp((scaled - scaled.max(axis=1, keepdims=True)) / 2)
        root_q /= np.sqrt(np.einsum("ij,ij->i", root_q, root_q))[:, None]
        overlap = np.einsum("ij,ij->i", root_p, root_q[group])
        # d = 2 arccos(overlap); the slope of the overlap in the logits follows from the softmax.
        outer = -2 / np.sqrt(np.maximum(1 - overlap**2, 1e-12))
        pull = np.add.reduceat(outer[:, None] * root_p, begins, axis=0)
        push = np.add.reduceat(outer * overlap, begins)[:, None]
        slope = root_q * (pull - root_q * push) / scale
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        change = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        logits = logits - _RATE * change
    return logits


class FisherRaoAttack(LayerDistanceAttack):
    r"""Attack on the Fisher-Rao distance of the layer outputs to known records.

    Distances are taken from information geometry. A hidden layer's output is treated as the mean of
    a normal distribution, with the standard deviations of the known records around their class
    means, and its distance to the nearest class mean is computed. Channels of images are averaged
    over their positions. For the logits it is the sum over classes of the distance between the
    class probabilities and the centroid of the class. The score is a weighted sum over layers of
    the distance to the non-members divided by the distance to the members.

    Parameters
    ----------
    victim : fitted estimator
        Classifier under attack, in a :class:`~sklearn.frozen.FrozenEstimator`; see
        :func:`skmia.victims.open_white_box` for those that have layers.
    layers : sequence of str or int, default=None
        Hidden layers by name or position, see :meth:`skmia.victims.WhiteBox.layer_names`. If None,
        all layers except the last are read. The logits are always read.
    temperature : float, default=1.0
        Temperature by which the logits are divided.
    max_iter : int, default=1000
        Number of steps of Adam for the centroids of the class probabilities.
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
    weights_ : ndarray of shape (n_layers + 1,)
        Weight of each hidden layer and of the logits.
    offset_ : float
        Threshold of the score.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    See Also
    --------
    MahalanobisAttack : Attack on the Mahalanobis distance of the layer outputs.

    Notes
    -----
    The thesis computes a variance and uses it in place of the standard deviation; here its square
    root is used. The sum over the classes of the logits is as printed, though hidden layers have a
    minimum.

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
        "max_iter": [at_least(1)],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        layers: Sequence[str | int] | None = None,
        temperature: float = 1.0,
        max_iter: int = 1000,
        cross_fit: bool = True,
        cv: int = 5,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.layers = layers
        self.temperature = temperature
        self.max_iter = max_iter
        self.cross_fit = cross_fit
        self.cv = cv
        self.random_state = random_state

    def _read(self, white_box, inputs):
        names = white_box.layer_names(inputs[:1])[:-1] if self.layers is None else self.layers
        hidden = white_box.layer_outputs(inputs, names) if len(names) else []
        return [*(layer.astype(np.float64) for layer in hidden), white_box.logits(inputs)]

    def _describe(self, values, labels, is_last):
        if is_last:
            p = softmax(values / self.temperature, axis=1)
            centroids = np.eye(p.shape[1])  # starting points, kept for classes without records
            found, group = np.unique(labels, return_inverse=True)
            centroids[found] = compute_centroids(
                p, group, centroids[found], self.temperature, self.max_iter
            )
            return softmax(centroids / self.temperature, axis=1)
        classes, position = np.unique(labels, return_inverse=True)
        means = np.array([values[position == k].mean(axis=0) for k in range(len(classes))])
        std = np.sqrt(np.square(values - means[position]).mean(axis=0))
        varies = std > 0
        return means[:, varies], std[varies], varies

    def _measure(self, description, values, is_last):
        if is_last:
            p = softmax(values / self.temperature, axis=1)
            return sum(fisher_rao_of_probabilities(p, centroid) for centroid in description)
        means, std, varies = description
        values = values[:, varies]
        return np.min([fisher_rao_of_normals((values, mean), (std, std)) for mean in means], axis=0)
