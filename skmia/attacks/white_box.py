"""Attacks that learn from gradients and layers, or from signals that need gradients."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Literal

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from .._core.groups import locate_labels
from .._core.needs import BOTH, Needs
from .._core.optional import import_optional
from .._core.probabilities import (
    fisher_rao_of_normals,
    fisher_rao_of_probabilities,
)
from .._core.randomness import isolated_randomness
from .._core.sklearn import Interval, StrOptions, at_least, start_adam
from .._core.types import Seed
from ..base import LearnedAttack, PosteriorMixin, SupervisedAttack
from ..signals import GradientStatistics, Signal, Signals
from ..victims import check_layers, open_white_box

__all__ = [
    "EnsembleAttack",
    "FisherRaoAttack",
    "GradientAttack",
    "LayerOutputsAttack",
    "MahalanobisAttack",
    "WhiteBoxAttack",
]

SIX_SIGNALS = (
    "max_softmax",
    "modified_entropy",
    "loss",
    "gradient_norm_w",
    "gradient_norm_x",
    "adversarial_distance_linf",
)
# Keeps the ratio finite for a record that lies on a center.
_SMALLEST = 1e-12


def _read_columns(signals, records):
    """Return an array of the columns, whatever transformers return by the global setting."""
    return signals.set_output(transform="default").fit_transform(records)


class EnsembleAttack(LearnedAttack):
    """Classify members by several signals, learned from known members.

    A perceptron with 40, 40, 20 and 10 hidden units reads the signals, scaled to [0, 1]. With
    signals of outputs only, the victim can be any classifier or regressor. With scikit-learn's own
    tools, a :class:`~sklearn.ensemble.StackingClassifier` over attacks serves the same purpose.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Model under attack. If None, the predictions stored by :meth:`skmia.Records.with_outputs`
        are used, which suffice for signals of outputs.
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
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.attacks.white_box import EnsembleAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> members = records[membership == 1]
    >>> victim = RandomForestClassifier(10, random_state=0).fit(members.X, members.y)
    >>> signals = ["loss", "entropy", "correctness"]
    >>> attack = EnsembleAttack(victim, signals=signals, cv=2, random_state=0)
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
        return [_read_columns(Signals(self.victim, self.signals), records)]

    def _make_classifier(self):
        return MLPClassifier((40, 40, 20, 10), max_iter=self.max_iter)


class GradientAttack(LearnedAttack):
    """Classify members by the gradient of the loss, learned from known members.

    A classifier reads seven statistics of the gradient, see
    :class:`skmia.signals.GradientStatistics`.

    Parameters
    ----------
    victim : fitted estimator
        Model under attack; see :func:`skmia.victims.open_white_box` for those that have gradients.
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
    skmia.attacks.ThresholdAttack : With ``signal="gradient_norm_w"``, uses the norm alone.

    References
    ----------
    Rezaei, S. and Liu, X. (2021). On the difficulty of membership inference attacks. CVPR.

    del Grosso Guzman, G. (2023). Leakage of sensitive data from deep neural networks. PhD thesis.

    Examples
    --------
    >>> from sklearn.neural_network import MLPClassifier
    >>> from skmia.attacks.white_box import GradientAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> victim = MLPClassifier((20,), solver="lbfgs", max_iter=2000, random_state=0)
    >>> victim = victim.fit(members.X, members.y)
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
        return [_read_columns(GradientStatistics(self.victim, wrt=self.wrt), records)]

    def _make_classifier(self):
        return LogisticRegression(max_iter=1000)


class LayerOutputsAttack(LearnedAttack):
    """Classify members by the outputs of the victim's layers, learned from known members.

    A perceptron with 128 and 64 hidden units reads the outputs of the chosen layers; channels of
    images are averaged over their positions. Labels are not used.

    Parameters
    ----------
    victim : fitted estimator
        Model under attack; see :func:`skmia.victims.open_white_box` for those that have layers.
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
    >>> from sklearn.neural_network import MLPClassifier
    >>> from skmia.attacks.white_box import LayerOutputsAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(100, random_state=0)
    >>> members = records[membership == 1]
    >>> victim = MLPClassifier((10,), solver="lbfgs", max_iter=2000, random_state=0)
    >>> victim = victim.fit(members.X, members.y)
    >>> attack = LayerOutputsAttack(victim, cv=2, random_state=0).fit(records, membership)
    >>> attack.score_samples(records).shape
    (100,)
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


class WhiteBoxAttack(PosteriorMixin, SupervisedAttack):
    """Classify members by layers, label, loss and gradient, learned from known members.

    A net reads the outputs of layers, the label, the loss and the gradient of the loss with respect
    to the weights of the last layer, each through its own component.

    Parameters
    ----------
    victim : fitted estimator
        Classifier under attack; see :func:`skmia.victims.open_white_box` for those that have
        gradients and layers.
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
    >>> from sklearn.neural_network import MLPClassifier
    >>> from skmia.attacks.white_box import WhiteBoxAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> members = records[membership == 1]
    >>> victim = MLPClassifier((20,), solver="lbfgs", max_iter=2000, random_state=0)
    >>> victim = victim.fit(members.X, members.y)
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
        label = locate_labels(white_box.classes, records.y)[0]
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


def halve_both_sides(membership, rng):
    """Draw a half of the records; both halves hold members and non-members.

    Raises ValueError if there is a single member or a single non-member.
    """
    order = rng.permutation(len(membership))
    half = order % 2 == 0
    for side, name in ((membership, "member"), (~membership, "non-member")):
        rows = np.flatnonzero(side)
        if len(rows) < 2:
            raise ValueError(
                f"cross_fit=True compares with the other half of the known records, and there is "
                f"{len(rows)} {name} to be divided; give more of them, or set cross_fit=False."
            )
        if len(set(half[rows])) == 1:
            half[rows[order[rows].argmin()]] ^= True
    return half


class LayerDistanceAttack(SupervisedAttack):
    """Base class of attacks that compare distances to members and non-members, layer by layer.

    The score is a weighted sum over layers of the distance to known non-members divided by the
    distance to known members, with the weights of a logistic regression. With cross_fit=True, the
    regression reads distances to the other half of the known records, because distances to the
    record's own half are too small. A subclass implements _read(white_box, inputs), a list of
    arrays, one for each layer; _describe(values, labels, is_last), what is learned from known
    members or non-members; and _measure(description, values, is_last), the distance to it.
    """

    def _needs(self):
        reads = frozenset({"proba", "logits"})
        return Needs(reads, access=frozenset({"layers"}), known=BOTH)

    def _fit(self, records, membership):
        super()._fit(records, membership)
        self.weights_ = self._model[1]

    def _collect(self, records):
        white_box = open_white_box(self.victim)
        inputs = white_box.encode(records.X)
        if white_box.classes is None:
            raise ValueError(f"{type(self).__name__} needs a classifier; got a regressor.")
        labels = white_box.outputs(inputs).label_index(records.y)
        return [*self._read(white_box, inputs), labels]

    def _learn(self, collected, membership, seed):
        *layers, labels = collected
        sides = self._describe_sides(layers, labels, membership)
        if self.cross_fit:
            half = halve_both_sides(membership, np.random.RandomState(seed))
            ratios = np.empty((len(labels), len(layers)))
            for rows in (half, ~half):
                rest = [layer[~rows] for layer in layers]
                of_rest = self._describe_sides(rest, labels[~rows], membership[~rows])
                ratios[rows] = self._compute_ratios(of_rest, [layer[rows] for layer in layers])
        else:
            ratios = self._compute_ratios(sides, layers)
        scale = np.maximum(ratios.std(axis=0), _SMALLEST)
        model = LogisticRegression(max_iter=1000).fit(ratios / scale, membership)
        return sides, model.coef_[0] / scale

    def _describe_sides(self, layers, labels, membership):
        last = len(layers) - 1
        return [
            [self._describe(layer[side], labels[side], k == last) for k, layer in enumerate(layers)]
            for side in (membership, ~membership)
        ]

    def _compute_ratios(self, sides, layers):
        """Divide the distance to the non-members by the distance to the members."""
        last, columns = len(layers) - 1, []
        for k, (into, out, layer) in enumerate(zip(*sides, layers, strict=True)):
            to_members = np.maximum(self._measure(into, layer, k == last), _SMALLEST)
            columns.append(self._measure(out, layer, k == last) / to_members)
        return np.column_stack(columns)

    def _judge(self, model, collected):
        sides, weights = model
        return self._compute_ratios(sides, collected[:-1]) @ weights


_RATE = 0.01


def compute_centroids(p, group, start, temperature, max_iter):
    """Compute the logits with the smallest mean distance to the rows of p, group by group.

    Groups are numbered 0, 1, ..., and none is empty; start has one row per group. Groups share the
    steps of Adam and are otherwise independent.
    """
    order = np.argsort(group, kind="stable")
    root_p, group = np.sqrt(p[order]), group[order]
    begins = np.flatnonzero(np.diff(group, prepend=-1))
    scale = 2 * temperature * np.bincount(group)[:, None]
    logits = start.astype(float)
    adam = start_adam([logits], _RATE)
    for _ in range(max_iter):
        scaled = logits / temperature
        root_q = np.exp((scaled - scaled.max(axis=1, keepdims=True)) / 2)
        root_q /= np.sqrt(np.einsum("ij,ij->i", root_q, root_q))[:, None]
        overlap = np.einsum("ij,ij->i", root_p, root_q[group])
        # d = 2 arccos(overlap); the slope of the overlap in the logits follows from the softmax.
        outer = -2 / np.sqrt(np.maximum(1 - overlap**2, 1e-12))
        pull = np.add.reduceat(outer[:, None] * root_p, begins, axis=0)
        push = np.add.reduceat(outer * overlap, begins)[:, None]
        slope = root_q * (pull - root_q * push) / scale
        adam.update_params([logits], [slope])
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
        Classifier under attack; see :func:`skmia.victims.open_white_box` for those that have
        layers.
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
    >>> from sklearn.neural_network import MLPClassifier
    >>> from skmia.attacks.white_box import FisherRaoAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(100, random_state=0)
    >>> members = records[membership == 1]
    >>> victim = MLPClassifier((10,), solver="lbfgs", max_iter=2000, random_state=0)
    >>> victim = victim.fit(members.X, members.y)
    >>> attack = FisherRaoAttack(victim, max_iter=200, cv=2, random_state=0)
    >>> attack = attack.fit(records, membership)
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
        Classifier under attack; see :func:`skmia.victims.open_white_box` for those that have
        layers.
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
    >>> from sklearn.neural_network import MLPClassifier
    >>> from skmia.attacks.white_box import MahalanobisAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> victim = MLPClassifier((20,), solver="lbfgs", max_iter=2000, random_state=0)
    >>> victim = victim.fit(members.X, members.y)
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
