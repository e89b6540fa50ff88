"""Bounds of the gradients of a critic, as functions of its weights."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from .._core.metric_inputs import check_option
from .._core.numbers import check_number, check_numbers
from .._core.types import ArrayLike

__all__ = ["critic_gradient_bounds", "gradient_penalty_bounds"]

# Share by which an interval is widened: far more than rounding can move a number of 64 bits.
SLACK = 1e-9


def gradient_bounds(weights, biases, negative_slope, sizes=None):
    """Return the bounds of the gradient of a critic's answer to one row, by interval propagation.

    A block of a row adds one of its weights to a sum of the first layer, so that it reaches from
    the smallest to the largest of them; their number plays no part.

    Take weights of shape (n_out, n_in), biases of shape (n_out,); return bounds: lower and upper
    ends for each parameter, in the order weight, bias, weight, bias, ..., weight and in the shapes
    given.
    """
    sizes = np.ones(weights[0].shape[1], int) if sizes is None else np.asarray(sizes)
    first = _FirstLayer(weights[0], biases[0], sizes)
    inputs, slopes = _forward(first, weights, biases, negative_slope)
    bounds = [tuple(end[None] for end in inputs[-1])]
    above = (weights[-1][0], weights[-1][0])  # of the gradient with respect to a layer's output
    for layer in range(len(weights) - 2, -1, -1):
        bias = _multiply(slopes[layer], above)
        if layer:
            weight = _multiply([end[None] for end in inputs[layer]], [end[:, None] for end in bias])
            above = _multiply_interval(weights[layer].T, bias)
        else:
            weight = first.bound(negative_slope, above)
        bounds[:0] = [weight, bias]
    return [_widen(low, high, np.maximum(abs(low), abs(high))) for low, high in bounds]


class _FirstLayer:
    """Sums of the first layer over the columns of a row."""

    def __init__(self, weight, bias, sizes):
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.weight, self.is_number = weight, sizes == 1
        # What each column adds to a sum. A number may be 0; of a block, one place is 1.
        lowest, highest = (end.reduceat(weight, starts, axis=1) for end in (np.minimum, np.maximum))
        lowest = np.where(self.is_number, np.minimum(lowest, 0), lowest)
        highest = np.where(self.is_number, np.maximum(highest, 0), highest)
        size = np.maximum(abs(lowest), abs(highest)).sum(axis=1) + abs(bias)
        ends = lowest.sum(axis=1) + bias, highest.sum(axis=1) + bias
        self.low, self.high = _widen(*ends, size)
        # For each weight, the largest sum in which it takes part.
        self.with_place = self.high[:, None] - np.repeat(highest, sizes, axis=1) + weight
        self.is_in_block = np.repeat(~self.is_number, sizes)

    def bound(self, negative_slope, above):
        """Return bounds for the weights.

        An input in [0, 1] times a slope, times the gradient above.

        The input and the slope are not free of each other. Where the weight of a number is
        negative, the sum stays above 0 only as long as the number is below high / -weight.
        """
        high = self.high[:, None]
        with np.errstate(divide="ignore", over="ignore"):
            free = np.where(self.weight < 0, high / np.maximum(-self.weight, 0), 1.0)
        most = np.where(high > 0, np.clip(free, negative_slope, 1), negative_slope)
        # In a block the input is 1 or there is no gradient.
        in_block = np.where(self.with_place > 0, 1.0, negative_slope)
        most = np.where(self.is_in_block, in_block, most)
        low, high = (end[:, None] for end in above)
        return most * np.minimum(low, 0), most * np.maximum(high, 0)


def _forward(first, weights, biases, negative_slope):
    """Return the intervals of what enters each layer but the first, and of the slopes there."""
    inputs, slopes = [None], []
    ends = first.low, first.high
    for layer in range(len(biases)):
        if layer:
            weight, bias = weights[layer], biases[layer]
            low, high = _multiply_interval(weight, inputs[-1])
            size = abs(weight) @ np.maximum(*np.abs(inputs[-1])) + abs(bias)
            ends = _widen(low + bias, high + bias, size)
        # A slope of 1 for sure only where the sum is above 0: at 0 it is the other one.
        slopes.append(tuple(np.where(end > 0, 1.0, negative_slope) for end in ends))
        inputs.append(tuple(np.where(end > 0, end, negative_slope * end) for end in ends))
    return inputs, slopes


def _multiply_interval(weight, interval):
    """Return the interval of ``weight @ x`` for x in an interval."""
    low, high = interval
    positive, negative = np.maximum(weight, 0), np.minimum(weight, 0)
    return positive @ low + negative @ high, positive @ high + negative @ low


def _multiply(first, second):
    """Return the interval of the product of numbers in two intervals."""
    products = [factor * other for factor in first for other in second]
    return np.minimum.reduce(products), np.maximum.reduce(products)


def _widen(low, high, size):
    return low - SLACK * size, high + SLACK * size


def penalty_bounds(weights, norm):
    """Return the largest Frobenius norm of the penalty's gradient, for each layer.

    The formula is that of gradient_penalty_bounds.

    Shapes: weights (n_out, n_in).
    """
    kind = 2 if norm == "spectral" else None
    norms = np.array([np.linalg.norm(weight, kind) for weight in weights])
    slopes = 1.0 if norm == "spectral" else np.prod([len(layer) ** 0.5 for layer in weights[:-1]])
    others = [np.prod(np.delete(norms, layer)) for layer in range(len(norms))]
    top = np.prod(norms) * slopes
    return 2 * max(top - 1, 1) * np.array(others) * slopes * (1 + SLACK)


def critic_gradient_bounds(
    weights: Sequence[ArrayLike],
    biases: Sequence[ArrayLike],
    *,
    negative_slope: float = 0.2,
    sizes: Sequence[int] | None = None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the bounds of the gradient of a critic's answer to one row, for all rows.

    They follow from the weights alone, by interval arithmetic. ``DPWassersteinGAN`` scales its
    noise by them instead of clipping gradients.

    Parameters
    ----------
    weights : sequence of array-like of shape (n_out, n_in)
        Weights of each layer. The last layer has one unit.
    biases : sequence of array-like of shape (n_out,)
        Biases of each layer but the last, which has none.
    negative_slope : float, default=0.2
        Slope of the leaky ReLU after each layer but the last for negative numbers, in [0, 1].
    sizes : sequence of int, default=None
        Number of inputs of each column of a row: 1 for a number in [0, 1], more for a block with
        a single 1. If None, all columns are numbers.

    Returns
    -------
    bounds : list of tuple (low, high) of ndarray
        Ends of the gradient with respect to each parameter, in the order weight, bias, weight,
        bias, ..., weight and in the shapes given.

    Raises
    ------
    ValueError
        If shapes do not follow one another, or a number is out of range.

    See Also
    --------
    gradient_penalty_bounds : Bounds of the gradient of the penalty on the slope.

    Notes
    -----
    With one hidden layer every bound is attained by some row. With more they are wider than need
    be: intervals forget that units depend on each other. The slides mix indices and factors of the
    four products; the formulas here were derived again and are tested on all rows of small tables.

    References
    ----------
    Pedersen, J. (2022). Privacy Preservation and Evaluation in Machine Learning. PhD defense,
    Rensselaer Polytechnic Institute, section 3.1.2.

    Examples
    --------
    >>> from skmia.synthetic.critic_bounds import critic_gradient_bounds
    >>> bounds = critic_gradient_bounds([[[2.0, -1.0]], [[3.0]]], [[0.5]])
    >>> low, high = bounds[-1]  # of the last weight: the output of the hidden unit
    >>> low.round(6), high.round(6)
    (array([[-0.1]]), array([[2.5]]))
    """
    weights = _check_critic_weights(weights)
    negative_slope = check_number(negative_slope, "negative_slope", "a number in [0, 1]", 0, 1)
    biases = [check_numbers(bias, "biases", "finite numbers") for bias in biases]
    hidden = [(len(weight),) for weight in weights[:-1]]
    if [bias.shape for bias in biases] != hidden:
        raise ValueError(
            f"biases must have the shapes {hidden}, one for each layer but the last; got "
            f"{[bias.shape for bias in biases]}."
        )
    if sizes is not None:
        n_inputs = weights[0].shape[1]
        sizes = check_numbers(sizes, "sizes", "integers of at least 1", 1)
        if sizes.ndim != 1 or (sizes % 1).any() or sizes.sum() != n_inputs:
            raise ValueError(
                f"sizes must be integers of at least 1 with the sum {n_inputs}, the number of "
                f"inputs; got {sizes.tolist()}."
            )
        sizes = sizes.astype(np.intp)
    return gradient_bounds(weights, biases, negative_slope, sizes)


def gradient_penalty_bounds(
    weights: Sequence[ArrayLike], *, norm: Literal["spectral", "frobenius"] = "spectral"
) -> np.ndarray:
    """Bounds of the norm of the gradient of the gradient penalty, for each layer of a critic.

    The penalty of a row is ``(norm(J) - 1)**2``, with the gradient J of the critic with respect to
    the row.

    Parameters
    ----------
    weights : sequence of array-like of shape (n_out, n_in)
        Weights of each layer. The last layer has one unit; the others are followed by slopes of at
        most 1, such as a leaky ReLU.
    norm : {"spectral", "frobenius"}, default="spectral"
        Norm of the matrices. Both bounds are valid; the spectral one is several times smaller.

    Returns
    -------
    bounds : ndarray of shape (n_layers,)
        Largest Frobenius norm of the gradient with respect to the weights of each layer.

    Raises
    ------
    ValueError
        If shapes do not follow one another, or norm is none of the two.

    See Also
    --------
    critic_gradient_bounds : Bounds of the gradient of the answer.

    Notes
    -----
    For a layer it is ``2 * max(top - 1, 1)`` times the product of the norms of all other layers,
    with the product ``top`` of the norms of all layers; with the Frobenius norm, both products also
    have the root of the width of each hidden layer as a factor.

    References
    ----------
    Pedersen, J. (2022). Privacy Preservation and Evaluation in Machine Learning. PhD defense,
    Rensselaer Polytechnic Institute, section 3.1.3.

    Examples
    --------
    >>> from skmia.synthetic.critic_bounds import gradient_penalty_bounds
    >>> gradient_penalty_bounds([[[2.0]], [[3.0]]]).round(6)
    array([30., 20.])
    """
    check_option(norm, "norm", ("spectral", "frobenius"))
    return penalty_bounds(_check_critic_weights(weights), norm)


def _check_critic_weights(weights):
    """Return weights as matrices; each takes what the one before gives."""
    weights = [check_numbers(weight, "weights", "finite numbers") for weight in weights]
    shapes = [weight.shape for weight in weights]
    chained = all(len(shape) == 2 and min(shape) > 0 for shape in shapes) and all(
        first[0] == second[1] for first, second in pairwise(shapes)
    )
    if not (shapes and chained and shapes[-1][0] == 1):
        raise ValueError(
            "weights must be matrices of shape (n_out, n_in), each with as many columns as the one "
            f"before has rows, the last with one row; got shapes {shapes}."
        )
    return weights
