"""From what a model gives to the loss of a record, and back to the model.

A head takes ``raw``, the answers of a model in float64, one row of k numbers for each record.
"""

import numpy as np

from ..._core.numbers import to_array
from ..._core.outputs import Outputs
from ..._core.probabilities import log_sum_exp


class LogLossHead:
    """Softmax and log loss; one column is the logit of the second of two classes."""

    def __init__(self, classes):
        self.classes = classes

    def outputs(self, raw):
        """Return answers as signals read them."""
        return Outputs(self.logits(raw), self.classes, "logits")

    def check_targets(self, y, n):
        """Return the column of the label of each of n records."""
        anything = np.broadcast_to(0.0, (n, len(self.classes)))
        return Outputs(anything, self.classes, "logits").label_index(y)

    def logits(self, raw):
        """Return one logit for each class."""
        return np.column_stack([np.zeros(len(raw)), raw]) if raw.shape[1] == 1 else raw

    def loss(self, raw, target):
        """Return minus the log-probability of the label."""
        others = self._others(raw, target)
        # log(1 + the odds against the label): exact where its probability rounds to 1.
        return np.logaddexp(0, others)

    def cotangent(self, raw, target):
        """Return the gradient of the loss with respect to raw.

        The probabilities less 1 for the label.
        """
        logits, rows = self.logits(raw), np.arange(len(raw))
        residual = np.exp(logits - log_sum_exp(logits)[:, None])
        residual[rows, target] = -np.exp(-np.logaddexp(0, -self._others(raw, target)))
        return self.pull(raw, residual)

    def pull(self, raw, weights):
        """Return the gradient of a weighted sum of logits with respect to raw."""
        return weights[:, 1:] if raw.shape[1] == 1 else weights

    def _others(self, raw, target):
        """Return the log odds of all other classes against the label."""
        logits, rows = self.logits(raw).astype(np.float64), np.arange(len(raw))
        own = logits[rows, target]
        logits[rows, target] = -np.inf
        return log_sum_exp(logits) - own


class ProbabilityHead(LogLossHead):
    """Log loss of a model that gives probabilities; a single column belongs to the second class."""

    def __init__(self, classes, floor):
        super().__init__(classes)
        self.floor = floor

    def logits(self, raw):
        """Return log-probabilities."""
        return np.log(self._proba(raw) + self.floor)

    def loss(self, raw, target):
        return -self.logits(raw)[np.arange(len(raw)), target]

    def cotangent(self, raw, target):
        weights = np.zeros((len(raw), len(self.classes)))
        weights[np.arange(len(raw)), target] = -1
        return self.pull(raw, weights)

    def pull(self, raw, weights):
        """Return the gradient of a weighted sum of log-probabilities with respect to raw."""
        pulled = weights / (self._proba(raw) + self.floor)
        return pulled[:, 1:] - pulled[:, :1] if raw.shape[1] == 1 else pulled

    def _proba(self, raw):
        return np.column_stack([1 - raw, raw]) if raw.shape[1] == 1 else raw


class SquaredErrorHead:
    """Squared residual of a regressor with one target."""

    classes = None

    def outputs(self, raw):
        return Outputs(raw[:, 0], kind="value")

    def check_targets(self, y, n):
        """Return the value of each of n records."""
        y = to_array(y, "y", "hold one number for each record")
        if y.shape != (n,) or y.dtype.kind not in "biuf":
            raise ValueError(
                f"y must hold one number for each of {n} records; "
                f"got an array of {y.dtype} of shape {y.shape}."
            )
        return y.astype(np.float64)

    def loss(self, raw, target):
        return np.square(raw[:, 0] - target)

    def cotangent(self, raw, target):
        return 2 * (raw - target[:, None])
