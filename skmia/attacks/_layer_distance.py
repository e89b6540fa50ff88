"""Base class of attacks that compare the victim's layer outputs with known records."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from .._core.needs import BOTH, Needs
from ..base import SupervisedAttack
from ..victims import open_white_box

# Keeps the ratio finite for a record that lies on a center.
_SMALLEST = 1e-12


class LayerDistanceAttack(SupervisedAttack):
    """Base class of attacks that compare distances to members and non-members, layer by layer.

    The score is a weighted sum over layers of the distance to known non-members divided by the
    distance to known members, with the weights of a logistic regression. With ``cross_fit=True``,
    the regression reads distances to the other half of the known records, because distances to the
    record's own half are too small.

    A subclass implements ``_read(white_box, inputs)``, a list of arrays, one for each layer;
    ``_describe(values, labels, is_last)``, what is learned from known members or non-members; and
    ``_measure(description, values, is_last)``, the distance to it.
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
        white_box.loss(inputs, records.y)  # names an unknown label
        labels = np.searchsorted(white_box.classes, records.y)
        return [*self._read(white_box, inputs), labels]

    def _learn(self, collected, membership, seed):
        *layers, labels = collected
        sides = self._describe_sides(layers, labels, membership)
        if self.cross_fit:
            half = np.random.RandomState(seed).permutation(len(labels)) % 2 == 0
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
