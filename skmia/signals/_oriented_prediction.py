"""Predictions that are not on the scale of their labels, in the direction of a member."""

from dataclasses import dataclass

import numpy as np

from ._base import AnswerSignal
from ._confidence import log_sigmoid, sigmoid

# Labels that share a direction, and the fewest records of such a bin.
_MOST_BINS, _FEWEST_IN_BIN = 24, 20

# Standard errors by which the direction of the label must explain more than that of the residual.
_LEAST_EVIDENCE = 4.0


@dataclass(frozen=True)
class OrientedPrediction(AnswerSignal):
    """Prediction in the direction in which training on a record moves it.

    A pool compares predictions where training does not move them toward the labels, such as the
    hazards of a Cox regression on signed times, scores of a ranking, and log odds of a regressor on
    0 and 1. The prediction, or its logarithm, is the margin of a label with the sign `directions`.

    Parameters
    ----------
    edges : tuple of n_bins - 1 floats
        Labels between which bins end, in ascending order.
    directions : tuple of n_bins floats
        1 for labels whose records raise their prediction in training, -1 for others.
    is_log : bool
        Whether the logarithm of the prediction is compared, as of positive ones.
    middle : float, default=0.0
        Prediction, or logarithm, that counts as 0.
    scale : float, default=1.0
        What margins are divided by to make them log odds.

    Examples
    --------
    >>> from skmia import Outputs
    >>> from skmia.signals import OrientedPrediction
    >>> signal = OrientedPrediction((0.0,), (-1.0, 1.0), is_log=True)
    >>> signal(Outputs([1.0, 2.0, 2.0], kind="value"), [-3.0, -3.0, 5.0]).round(3)
    array([-0.   , -0.693,  0.693])
    """

    edges: tuple[float, ...]
    directions: tuple[float, ...]
    is_log: bool
    middle: float = 0.0
    scale: float = 1.0
    name = "oriented_prediction"
    reads = ("value",)

    def _evaluate(self, outputs, y):
        bins = np.searchsorted(self.edges, np.asarray(y, np.float64), side="right")
        moved = scale_prediction(np.asarray(outputs.values, np.float64), self.is_log) - self.middle
        return np.asarray(self.directions)[bins] * moved / self.scale

    def log_likelihood(self, values: np.ndarray, scale: float | None = None) -> np.ndarray:
        return log_sigmoid(values)

    def likelihood(self, values: np.ndarray, scale: float | None = None) -> np.ndarray:
        return sigmoid(values)


def scale_prediction(values, is_log):
    """Return predictions, or their logarithms."""
    return np.log(np.maximum(values, np.finfo(float).tiny)) if is_log else values


def orient_predictions(predictions, inside, y):
    r"""Return how predictions are compared where residuals are the wrong measure, or None.

    On records where they differ, the gap between the mean predictions of IN and of OUT models has
    either the sign of the residual or the sign that it has on other records of a similar label.

    Shapes: predictions (n_models, n), inside (n_models, n), y (n,).
    """
    n_in = inside.sum(axis=0)
    judged = np.flatnonzero((n_in > 0) & (n_in < len(inside)))
    if len(judged) < 4 * _FEWEST_IN_BIN:
        return None
    predictions, inside, y = predictions[:, judged], inside[:, judged], y[judged]
    is_log = bool((predictions > 0).all())
    compared = scale_prediction(predictions, is_log)
    gap = _mean_of(compared, inside) - _mean_of(compared, ~inside)
    level = (_mean_of(predictions, inside) + _mean_of(predictions, ~inside)) / 2
    edges = _cut_labels(y)
    n_bins = len(edges) + 1
    bins, fold = np.searchsorted(edges, y, side="right"), np.arange(len(y)) % 2
    direction = np.empty(len(y))
    for one in (0, 1):  # from the records of the other fold
        learned = _find_directions(gap[fold != one], bins[fold != one], n_bins)
        direction[fold == one] = learned[bins[fold == one]]
    more = gap * (direction - np.sign(y - level))
    if not more.sum() > _LEAST_EVIDENCE * np.sqrt(np.square(more).sum()):
        return None
    directions = _find_directions(gap, bins, n_bins)
    middle = float(np.median(compared))
    return OrientedPrediction(tuple(edges.tolist()), tuple(directions.tolist()), is_log, middle)


def _mean_of(values, chosen):
    """Return the mean over the chosen models, of shape (n,)."""
    return np.where(chosen, values, 0).sum(axis=0) / chosen.sum(axis=0)


def _cut_labels(y):
    """Return edges between bins of labels: distinct ones if they are few."""
    distinct = np.unique(y)
    n_bins = min(_MOST_BINS, len(y) // _FEWEST_IN_BIN)
    if len(distinct) <= n_bins:
        return (distinct[1:] + distinct[:-1]) / 2
    return np.unique(np.quantile(y, np.linspace(0, 1, n_bins + 1)[1:-1]))


def _find_directions(gap, bins, n_bins):
    return np.where(np.bincount(bins, gap, n_bins) >= 0, 1.0, -1.0)
